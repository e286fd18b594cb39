"""Metric cards: all that was measured of a metric, in one shape, whichever parts were made.

A card holds figures of other families as rows of its own, so that its shape does not change with theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

from bsx.data.lines import NamedFile
from bsx.errors import InputError, UnknownNameError
from bsx.support.result import Interval, Notice, Number, Result

SCHEMA = 4
"""Version of a card's shape; another one is refused where cards are read."""

PartName = Literal[
    "agreement",
    "factors",
    "paraphrase",
    "perturbations",
    "challenge",
    "sentinels",
    "length",
    "invariance",
    "cost",
    "languages",
]
LENGTH = "score per doubling of length"
"""The figure of the part ``length``."""


@dataclass(frozen=True, kw_only=True)
class CardTest:
    """One test of a card: ``p`` is two-sided unless ``method`` says one-sided, ``p_adjusted`` is over all tests.

    ``b`` is the other metric or the sentinel, or what the metric is tested against, such as 0; ``n`` counts the items
    that the figure rests on.
    """

    data: str
    level: str = ""
    group: str = ""
    figure: str
    a: str
    b: str
    difference: float | None = None
    ci: Interval | None = None
    p: Number
    p_adjusted: float | None = None
    method: str = ""
    n: int | None = None


@dataclass(frozen=True, kw_only=True)
class CardPart:
    """What every part has."""

    tests: tuple[CardTest, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AgreementRow:
    """Agreement with human judgments in one group of a table, or its mean over groups; ``others``: further figures.

    ``n`` counts ``items``: rows, or systems at their level; ``sampled`` is what the interval speaks about.
    """

    data: str
    level: str
    group: str
    n: int
    statistic: str
    value: Number
    ci: Interval | None
    rank: int | None
    of: int | None
    others: dict[str, Number]
    method: str
    items: str = "rows"
    sampled: str = ""


@dataclass(frozen=True, kw_only=True)
class AgreementPart(CardPart):
    """Agreement by language pair and level."""

    rows: tuple[AgreementRow, ...]


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """The metric regressed on linguistic factors of one table; dictionaries are keyed by factor."""

    data: str
    group: str
    n: int
    factors: tuple[str, ...]
    coef: dict[str, Number]
    ci: dict[str, Interval | None]
    p: dict[str, Number]
    r2: Number
    r2_ci: Interval | None = None
    r2_share: dict[str, Number]
    se: str = ""
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class InterventionRow:
    """One factor: what scores go with, and what moves them when texts are edited on purpose, on ``n`` texts.

    ``observed`` is the coefficient of scores as they come, ``edited`` that of their falls under edits.
    """

    metric: str
    factor: str
    observed: float | None = None
    observed_se: float | None = None
    observed_ci: Interval | None = None
    observed_p: float | None = None
    edited: float | None = None
    edited_se: float | None = None
    edited_ci: Interval | None = None
    edited_p: float | None = None
    edited_p_adjusted: float | None = None
    difference: float | None = None
    difference_ci: Interval | None = None
    p: float | None = None
    p_adjusted: float | None = None
    data: str
    group: str
    n: int


@dataclass(frozen=True, kw_only=True)
class FactorsPart(CardPart):
    """Factor profiles: what scores go with (observational) and what moves them (interventional)."""

    observational: tuple[ProfileRow, ...]
    interventional: tuple[InterventionRow, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CardPrecision:
    """Average precision with its interval."""

    estimate: Number
    ci: Interval | None


@dataclass(frozen=True, kw_only=True)
class CardThreshold:
    """The accuracy with a threshold."""

    threshold: Number
    in_sample: Number
    cross_validated: Number
    ci: Interval | None
    majority: Number
    folds: int


@dataclass(frozen=True, kw_only=True)
class PairsRow:
    """The metric as a detector of paraphrases on one set of pairs; ``group`` is the language."""

    metric: str
    n: int
    positives: float
    auc: Number
    ci: Interval | None
    p: Number
    average_precision: CardPrecision | None = None
    accuracy: CardThreshold | None = None
    interval: str = ""
    data: str
    group: str


@dataclass(frozen=True, kw_only=True)
class TriplesRow:
    """How often the metric prefers the paraphrase in one set of triples; ``group`` is the language."""

    metric: str
    n: int
    prefers_paraphrase: int
    ties: int
    rate: Number
    ci: Interval | None
    mean_paraphrase: float | None = None
    mean_nonparaphrase: float | None = None
    mean_margin: Number
    margin_ci: Interval | None = None
    p: float | None = None
    p_two_sided: float | None = None
    data: str
    group: str = ""


@dataclass(frozen=True, kw_only=True)
class ParaphrasePart(CardPart):
    """Paraphrase pairs and triples."""

    pairs: tuple[PairsRow, ...] = ()
    triples: tuple[TriplesRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PerturbedRow:
    """What one perturbation of one strength does to the metric's scores of one table's references."""

    metric: str
    perturbation: str
    strength: float | None
    preserves: bool
    n: int
    unchanged: int
    not_applicable: int = 0
    failed: int = 0
    nearer: int = 0
    mean_clean: float | None = None
    mean_score: Number
    drop: Number
    relative_drop: Number
    unnoticed: float | None = None
    excess: Number
    excess_n: int = 0
    p: Number
    p_adjusted: float | None = None
    ci: Interval | None
    excess_ci: Interval | None
    data: str
    group: str = ""


@dataclass(frozen=True, kw_only=True)
class ToldApartRow:
    """How often a changed meaning costs more than the control's change of the same text, which keeps it."""

    data: str
    group: str = ""
    control: str
    n: int
    texts: int
    rate: Number
    ci: Interval | None = None


@dataclass(frozen=True, kw_only=True)
class CardLeftOut:
    """A perturbation that could not be applied."""

    perturbation: str
    why: str


@dataclass(frozen=True, kw_only=True)
class PerturbationsPart(CardPart):
    """Sensitivities to controlled changes."""

    rows: tuple[PerturbedRow, ...]
    overall: tuple[ToldApartRow, ...] = ()
    left_out: tuple[CardLeftOut, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CardChallengeRow:
    """How often the metric scores the good translation above the bad one, on some rows of a challenge set."""

    n: int
    right: int
    tied: int
    items: int = 0
    rate: Number
    ci: Interval | None
    kendall: float | None = None
    drop: float | None = None
    sensitivity: float | None = None
    severity: str = ""


@dataclass(frozen=True, kw_only=True)
class ChallengeSetRow:
    """The metric on one challenge set."""

    overall: CardChallengeRow | None = None
    macro: float | None = None
    weighted: float | None = None
    severities: dict[str, CardChallengeRow] = field(default_factory=dict)
    phenomena: dict[str, CardChallengeRow]
    data: str
    group: str = ""


@dataclass(frozen=True, kw_only=True)
class ChallengePart(CardPart):
    """Challenge sets by phenomenon."""

    sets: tuple[ChallengeSetRow, ...]


@dataclass(frozen=True, kw_only=True)
class SentinelRow:
    """What one sentinel reaches where the metric reached ``metric_value``."""

    sentinel: str
    data: str
    level: str = ""
    group: str = ""
    figure: str
    value: Number
    ci: Interval | None = None
    metric_value: float | None = None
    note: str = ""
    n: int | None = None


@dataclass(frozen=True, kw_only=True)
class SentinelsPart(CardPart):
    """What is trivial: metrics that cannot know anything, beside this one."""

    rows: tuple[SentinelRow, ...]


@dataclass(frozen=True, kw_only=True)
class CardLengthStep:
    """A quarter of the texts by length, and how far their scores lie from the mean at equal human scores, in SDs."""

    low: Number
    high: Number
    n: int
    score: Number


@dataclass(frozen=True, kw_only=True)
class LengthRow:
    """What a doubling of the length of one side goes with in one group of a table, in standard deviations.

    ``slope`` is that of the metric at equal human scores, ``human`` that of the human scores themselves; ``sampled`` is
    what is drawn together: documents, segments or rows, of which there are ``clusters``.
    """

    data: str
    group: str
    side: str
    unit: str
    n: int
    clusters: int
    sampled: str
    slope: Number
    ci: Interval
    p: Number
    human: Number
    human_ci: Interval
    steps: tuple[CardLengthStep, ...]


@dataclass(frozen=True, kw_only=True)
class LengthPart(CardPart):
    """Score against length at equal human scores."""

    rows: tuple[LengthRow, ...]


@dataclass(frozen=True, kw_only=True)
class InvarianceRow:
    """One check: scores that should be the same, or should be the highest.

    Attributes:
        name: of the check.
        what: in words.
        n: rows that could show a difference.
        changed: rows that do.
        largest: largest difference, in the metric's own unit; NaN where nothing could be checked.
        holds: whether none does; None where nothing could be checked.
        kind: ``invariance``; ``determinism``; ``property`` for what need not hold.
        group: language.
        note: why nothing could be checked.
    """

    name: str
    what: str
    n: int
    changed: int
    largest: Number
    holds: bool | None
    kind: str
    group: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class InvariancePart(CardPart):
    """Invariance and determinism."""

    checks: tuple[InvarianceRow, ...]
    tolerance: float


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """What it takes to score; seconds and their range are for 1,000 segments, memory is in MB.

    ``processor`` is the time that processors spent on it; None where a graphics card computes.
    """

    seconds: float
    seconds_range: Interval
    processor: float | None
    processor_range: Interval | None
    start_seconds: float
    memory: float
    memory_before: float
    runs: int


@dataclass(frozen=True, kw_only=True)
class CostPart(CardPart):
    """Cost on one machine, beside chrF in the same run."""

    n: int
    data: str = ""
    group: str = ""
    metric: CostRow
    chrf: CostRow | None = None
    times_chrf: float | None = None
    times_chrf_range: Interval | None = None
    machine: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LanguageRow:
    """One language in which the metric was measured."""

    lang: str
    data: tuple[str, ...]
    segments: int
    truncated: int
    truncated_share: Number
    empty: int
    failed: int
    agreement: float | None
    declared: bool | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LanguagesPart(CardPart):
    """Languages: which the registry declares, which were measured; and how many segments were cut."""

    declared: tuple[str, ...] | str
    source: str = ""
    measured: tuple[LanguageRow, ...]


@dataclass(frozen=True, kw_only=True)
class CardParts:
    """The parts that were made."""

    agreement: AgreementPart | None = None
    factors: FactorsPart | None = None
    paraphrase: ParaphrasePart | None = None
    perturbations: PerturbationsPart | None = None
    challenge: ChallengePart | None = None
    sentinels: SentinelsPart | None = None
    length: LengthPart | None = None
    invariance: InvariancePart | None = None
    cost: CostPart | None = None
    languages: LanguagesPart | None = None

    def made(self) -> dict[str, CardPart]:
        """Return the parts that are there, by name."""
        result = ((item.name, getattr(self, item.name)) for item in fields(self))
        return {name: part for name, part in result if part is not None}


@dataclass(frozen=True, kw_only=True)
class PartStatus:
    """What became of a part: ``made``, ``left out`` or ``failed``, and why."""

    status: Literal["made", "left out", "failed"]
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class CardData:
    """One table that the card rests on, in one language.

    ``sha256`` is the digest of the file, ``rows`` that of the rows that were used; ``human`` is the name of the column
    of human scores, and ``documents`` says whether a column names documents.
    """

    name: str
    kind: str
    n: int
    sha256: str
    languages: tuple[str, ...]
    groups: tuple[str, ...]
    examples: bool
    rows: str
    human: str = ""
    documents: bool = False


@dataclass(frozen=True, kw_only=True)
class FamilyRow:
    """The card's tests, and the family that their p-values are corrected over.

    ``family`` counts the tests of all cards made together, one of two metrics once; None of older cards, each a family
    of its own.
    """

    tests: int
    correction: str
    alpha: float
    significant: int
    family: int | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Card(Result):
    """All that was measured of one metric.

    Attributes:
        schema_version: version of this shape.
        metric: its spec, or the name of the column of published scores.
        of: which of the two it is.
        signature: of the metric, in the first of its languages.
        signatures: language -> signature.
        higher_is_better: whether higher scores are better.
        partial: whether something that was asked for is missing.
        data: the tables that it rests on.
        against: the other metrics of the run.
        status: what became of every part.
        parts: those that were made.
        multiplicity: its tests, and over how many they are corrected.
        warnings: those of `bsx.metrics.learned.seen.seen_notices`; ``table`` among their values says where.
    """

    kind: ClassVar[str] = "card"

    schema_version: int
    metric: str
    of: Literal["metric", "column"]
    signature: str
    higher_is_better: bool
    partial: bool
    data: tuple[CardData, ...]
    against: tuple[str, ...]
    status: dict[str, PartStatus]
    parts: CardParts
    multiplicity: FamilyRow
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class CardRun(Result):
    """The cards of one run, a card for each metric."""

    kind: ClassVar[str] = "cards"

    cards: tuple[Card, ...]

    def __getitem__(self, metric: str) -> Card:
        """Return the card of a metric.

        Raises:
            UnknownNameError: if there is none; names those there are.
        """
        for card in self.cards:
            if card.metric == metric:
                return card
        raise UnknownNameError(f"there is no card of {metric!r}: there are {', '.join(c.metric for c in self.cards)}")


def read_cards(paths: Sequence[str | Path]) -> list[Card]:
    """Read the cards in JSON files, each with one card, or with several under ``cards``.

    Raises:
        InputError: naming a file that holds none, or one of another version.
    """
    return [card for path in paths for card in _cards(path)]


def _cards(path: str | Path) -> Iterator[Card]:
    file = NamedFile(path)
    content: object = file.json()
    several = content.get("cards") if isinstance(content, Mapping) and "cards" in content else [content]
    if not isinstance(several, list) or not several:
        raise InputError("holds no card", file=file.name)
    for item in several:
        version = item.get("schema_version") if isinstance(item, Mapping) else None
        if version is None:
            raise InputError("is no metric card, as bsx card writes them", file=file.name)
        if version != SCHEMA:
            raise InputError(
                f"is a card of version {version!r}, and this bsx reads version {SCHEMA}: make it anew", file=file.name
            )
        try:
            yield Card.from_dict(item)
        except InputError as error:
            raise InputError(f"{error}", file=file.name) from error
