"""What ``bsx card`` prints: a metric's card, in one shape whatever was measured."""

from __future__ import annotations

from typing import Literal

from bsx.analysis.documents.agreement import PeopleCurveRow
from bsx.analysis.documents.base import DocumentPart, Interval, Number, ResultDocument
from bsx.support.result import Notice

SCHEMA = 1
"""Version of a card's shape; another one is refused where cards are read."""

PartName = Literal[
    "agreement",
    "factors",
    "paraphrase",
    "perturbations",
    "challenge",
    "sentinels",
    "invariance",
    "cost",
    "languages",
]


class TripleRow(DocumentPart):
    """How often a metric prefers the paraphrase."""

    metric: str
    n: int
    prefers_paraphrase: int
    ties: int
    rate: Number
    ci: Interval
    mean_paraphrase: Number = None
    mean_nonparaphrase: Number = None
    mean_margin: Number
    margin_ci: Interval = None
    p: Number = None
    p_two_sided: Number = None


class EstimateRow(DocumentPart):
    """A statistic with its interval."""

    estimate: Number
    ci: Interval


class AccuracyRow(DocumentPart):
    """The accuracy of a metric with a threshold."""

    threshold: Number
    in_sample: Number
    cross_validated: Number
    ci: Interval
    majority: Number
    folds: int


class DetectionRow(DocumentPart):
    """A metric as a detector of paraphrases."""

    metric: str
    n: int
    positives: Number = None
    auc: Number
    ci: Interval
    p: Number = None
    average_precision: EstimateRow | None = None
    accuracy: AccuracyRow | None = None


class DropRow(DocumentPart):
    """What one perturbation of one strength does to a metric's scores."""

    metric: str
    perturbation: str
    strength: Number
    preserves: bool
    n: int
    unchanged: int
    not_applicable: int = 0
    failed: int = 0
    nearer: int = 0
    mean_clean: Number = None
    mean_score: Number
    drop: Number
    relative_drop: Number
    unnoticed: Number = None
    excess: Number
    excess_n: int = 0
    p: Number
    p_adjusted: Number = None
    ci: Interval
    excess_ci: Interval


class LeftOutRow(DocumentPart):
    """A perturbation that could not be applied."""

    perturbation: str
    why: str


class ChallengeRow(DocumentPart):
    """How often a metric scores the good translation above the bad one, on some rows."""

    n: int
    right: int
    tied: int
    items: int = 0
    rate: Number
    ci: Interval
    kendall: Number = None
    drop: Number = None
    sensitivity: Number = None


class PhenomenonRow(ChallengeRow):
    """The same on the rows of one phenomenon."""

    severity: str = ""


class ChallengedMetric(DocumentPart):
    """One metric on a challenge set."""

    overall: ChallengeRow | None = None
    macro: Number = None
    weighted: Number = None
    severities: dict[str, ChallengeRow] = {}
    phenomena: dict[str, PhenomenonRow]


class CardTest(DocumentPart):
    """One test of a card: ``p`` is two-sided unless ``method`` says one-sided, ``p_adjusted`` is over all its tests.

    ``b`` is the other metric or the sentinel, or what the metric is tested against, such as 0.
    """

    data: str
    level: str = ""
    group: str = ""
    figure: str
    a: str
    b: str
    difference: Number = None
    ci: Interval = None
    p: Number
    p_adjusted: Number = None
    method: str = ""


class CardPart(DocumentPart):
    """What every part has."""

    tests: list[CardTest] = []
    notes: list[str] = []


class AgreementRow(DocumentPart):
    """Agreement with people in one group of a table, or its mean over groups; ``others`` are further figures."""

    data: str
    level: str
    group: str
    n: int | None = None
    statistic: str
    value: Number
    ci: Interval
    rank: int | None = None
    of: int | None = None
    others: dict[str, Number] = {}
    method: str = ""


class AgreementPart(CardPart):
    """Agreement with people by language pair and level, and how often people agree with a difference that large."""

    rows: list[AgreementRow]
    people: list[PeopleCurveRow] = []


class ProfileRow(DocumentPart):
    """The metric regressed on linguistic factors of one table; dictionaries are keyed by factor."""

    data: str
    group: str
    n: int
    factors: list[str]
    coef: dict[str, Number]
    ci: dict[str, Interval]
    p: dict[str, Number]
    r2: Number
    r2_ci: Interval = None
    r2_share: dict[str, Number]
    se: str = ""
    warnings: list[Notice] = []


class InterventionRow(DocumentPart):
    """One factor: what scores go with, and what moves them when texts are edited on purpose, on ``n`` texts.

    Fields are those of `bsx.analysis.intervening.result.Effect`.
    """

    metric: str
    factor: str
    observed: Number = None
    observed_se: Number = None
    observed_ci: Interval = None
    observed_p: Number = None
    edited: Number = None
    edited_se: Number = None
    edited_ci: Interval = None
    edited_p: Number = None
    edited_p_adjusted: Number = None
    difference: Number = None
    difference_ci: Interval = None
    p: Number = None
    p_adjusted: Number = None
    data: str
    group: str
    n: int


class FactorsPart(CardPart):
    """Factor profiles: what scores go with (observational) and what moves them (interventional)."""

    observational: list[ProfileRow]
    interventional: list[InterventionRow] = []
    left_out: dict[str, str] = {}


class PairsRow(DetectionRow):
    """The metric as a detector of paraphrases on one set of pairs; ``group`` is the language."""

    data: str
    group: str = ""


class TriplesRow(TripleRow):
    """How often the metric prefers the paraphrase in one set of triples; ``group`` is the language."""

    data: str
    group: str = ""


class ParaphrasePart(CardPart):
    """Paraphrase pairs and triples."""

    pairs: list[PairsRow] = []
    triples: list[TriplesRow] = []


class PerturbedRow(DropRow):
    """What one perturbation does to the metric's scores of one table's references."""

    data: str
    group: str = ""


class ToldApartRow(DocumentPart):
    """How often a changed meaning costs more than the control's change of the same text, which keeps it."""

    data: str
    group: str = ""
    control: str
    n: int
    texts: int
    rate: Number
    ci: Interval = None


class PerturbationsPart(CardPart):
    """Sensitivities to controlled changes."""

    rows: list[PerturbedRow]
    overall: list[ToldApartRow] = []
    left_out: list[LeftOutRow] = []


class ChallengeSetRow(ChallengedMetric):
    """The metric on one challenge set."""

    data: str
    group: str = ""


class ChallengePart(CardPart):
    """Challenge sets by phenomenon."""

    sets: list[ChallengeSetRow]


class SentinelRow(DocumentPart):
    """What one sentinel reaches where the metric reached ``metric_value``."""

    sentinel: str
    data: str
    level: str = ""
    group: str = ""
    figure: str
    value: Number
    ci: Interval = None
    metric_value: Number = None
    note: str = ""


class SentinelsPart(CardPart):
    """What is trivial: metrics that cannot know anything, beside this one."""

    rows: list[SentinelRow]


class InvarianceRow(DocumentPart):
    """One check: scores that should be the same, or should be the highest.

    Attributes:
        name: of the check.
        what: in words.
        n: rows that could show a difference.
        changed: rows that do.
        largest: largest difference, in the metric's own unit.
        holds: whether none does; None where nothing could be checked.
        kind: ``invariance``; ``determinism``; ``property`` for what need not hold.
    """

    name: str
    what: str
    n: int
    changed: int
    largest: Number
    holds: bool | None
    kind: str = "invariance"
    group: str = ""
    note: str = ""


class InvariancePart(CardPart):
    """Invariance and determinism."""

    checks: list[InvarianceRow]
    tolerance: Number


class CostRow(DocumentPart):
    """What it takes to score; seconds and their range are for 1,000 segments, memory is in MB.

    ``processor`` is the time that processors spent on it; None where a graphics card computes.
    """

    seconds: Number
    seconds_range: Interval = None
    processor: Number = None
    processor_range: Interval = None
    start_seconds: Number
    memory: Number
    memory_before: Number = None
    runs: int


class CostPart(CardPart):
    """Cost on one machine, beside chrF in the same run."""

    n: int
    data: str = ""
    group: str = ""
    metric: CostRow
    chrf: CostRow | None = None
    times_chrf: Number = None
    times_chrf_range: Interval = None
    machine: dict[str, object] = {}

    @property
    def times_what(self) -> str:
        """What ``times_chrf`` is a multiple of: processor time, or where something else computes time by the clock."""
        both = self.metric.processor and self.chrf is not None and self.chrf.processor
        return "times the processor time of chrF" if both else "times as long as chrF"


class LanguageRow(DocumentPart):
    """One language in which the metric was measured."""

    lang: str
    data: list[str]
    segments: int
    truncated: int
    truncated_share: Number
    empty: int = 0
    failed: int = 0
    agreement: Number = None
    declared: bool | None = None
    notes: list[str] = []


class LanguagesPart(CardPart):
    """Languages: which the registry declares, which were measured; and how many segments were cut."""

    declared: list[str] | str
    source: str = ""
    measured: list[LanguageRow]


class CardParts(DocumentPart):
    """The parts that were made."""

    agreement: AgreementPart | None = None
    factors: FactorsPart | None = None
    paraphrase: ParaphrasePart | None = None
    perturbations: PerturbationsPart | None = None
    challenge: ChallengePart | None = None
    sentinels: SentinelsPart | None = None
    invariance: InvariancePart | None = None
    cost: CostPart | None = None
    languages: LanguagesPart | None = None

    def made(self) -> dict[str, CardPart]:
        """Return the parts that are there, by name."""
        found = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: part for name, part in found if part is not None}


class PartStatus(DocumentPart):
    """What became of a part: ``made``, ``left out`` or ``failed``, and why."""

    status: Literal["made", "left out", "failed"]
    reason: str = ""


class CardData(DocumentPart):
    """One table that the card rests on."""

    name: str
    kind: str
    n: int
    sha256: str
    languages: list[str] = []
    groups: list[str] = []
    examples: bool = False


class FamilyRow(DocumentPart):
    """All tests of the card as one family."""

    tests: int
    correction: str
    alpha: Number
    significant: int


class CardDocument(ResultDocument):
    """A metric card: ``parts`` holds what was made, ``status`` what became of every part."""

    schema_version: int
    metric: str
    kind: Literal["metric", "column"]
    signature: str
    signatures: dict[str, str] = {}
    higher_is_better: bool = True
    partial: bool
    data: list[CardData]
    against: list[str] = []
    status: dict[str, PartStatus]
    parts: CardParts
    multiplicity: FamilyRow
