"""What ``bsx adversarial triples``, ``pairs`` and ``perturb`` print."""

from __future__ import annotations

from bsx.analysis.documents.base import DocumentPart, Interval, Number, ResultDocument


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


class TripleTestRow(DocumentPart):
    """Two metrics on the same triples (McNemar)."""

    a: str
    b: str
    n: int = 0
    only_a: int = 0
    only_b: int = 0
    both: int = 0
    p: Number = None
    p_better: Number = None
    p_corrected: Number = None


class TripleSplitRow(DocumentPart):
    """A metric's rate among triples of some gap in lexical overlap."""

    metric: str
    low: Number
    high: Number
    n: int
    rate: Number
    ci: Interval


class TripleExampleRow(DocumentPart):
    """A triple that fooled a metric; ``scores`` is every metric's score of paraphrase and non-paraphrase."""

    metric: str
    row: int | str
    anchor: str
    paraphrase: str
    nonparaphrase: str
    score_paraphrase: Number
    score_nonparaphrase: Number
    margin: Number
    scores: dict[str, tuple[Number, Number]] = {}


class TriplesDocument(ResultDocument):
    """``bsx adversarial triples``."""

    results: list[TripleRow]
    tests: list[TripleTestRow]
    splits: list[TripleSplitRow] = []
    worst: list[TripleExampleRow] = []


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


class DetectionTestRow(DocumentPart):
    """Two detectors compared (DeLong)."""

    a: str
    b: str
    auc_a: Number = None
    auc_b: Number = None
    difference: Number = None
    ci: Interval = None
    z: Number = None
    p: Number = None
    p_two_sided: Number = None
    p_corrected: Number = None


class HarderRow(DocumentPart):
    """What a metric loses on the harder of two sets."""

    metric: str
    easy: Number
    hard: Number
    drop: Number
    ci: Interval
    p: Number


class DetectionSet(DocumentPart):
    """All metrics on one set of pairs; ``name`` is set for the second set."""

    name: str = ""
    results: list[DetectionRow]
    tests: list[DetectionTestRow] = []


class PairsDocument(ResultDocument, DetectionSet):
    """``bsx adversarial pairs``."""

    against: DetectionSet | None = None
    drops: list[HarderRow] = []


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


class DropExampleRow(DocumentPart):
    """A row on which a metric did worst: did not see a changed meaning, or punished one that stayed.

    Attributes:
        metric: name.
        perturbation: name.
        strength: share of words or letters; None if it has none.
        row: number of the row, from 1.
        reference: the reference.
        original: the clean text.
        perturbed: the changed text.
        score: of the clean text.
        perturbed_score: of the changed text.
        drop: the first minus the second.
        scores: every metric's scores of clean and changed text.
    """

    metric: str
    perturbation: str
    strength: Number
    row: int | str
    reference: str
    original: str
    perturbed: str
    score: Number
    perturbed_score: Number
    drop: Number
    scores: dict[str, tuple[Number, Number]] = {}


class RangeRow(DocumentPart):
    """How far a metric's scores can fall in practice."""

    metric: str
    clean: Number
    unrelated: Number
    range: Number
    n: int


class LeftOutRow(DocumentPart):
    """A perturbation that could not be applied."""

    perturbation: str
    why: str


class PerturbDocument(ResultDocument):
    """``bsx adversarial perturb``."""

    results: list[DropRow]
    worst: list[DropExampleRow] = []
    ranges: list[RangeRow] = []
    left_out: list[LeftOutRow] = []
    skipped: list[dict[str, object]] = []
