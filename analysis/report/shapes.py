"""The shapes of result documents, as far as a report reads them; more keys may be there, fewer may not."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

Number = float | None
Interval = tuple[Number, Number] | None


class Shape(BaseModel):
    """A part of a document; keys that a report does not know are kept in ``model_extra``."""

    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=())

    @property
    def more(self) -> dict[str, Any]:
        """Keys beyond those that every such document has."""
        return self.model_extra or {}


class FileRead(Shape):
    """A file that a command read."""

    name: str
    sha256: str


class Provenance(Shape):
    """What `bsx.support.provenance.provenance` writes."""

    kind: str
    command: str
    versions: dict[str, str]
    files: list[FileRead]
    signatures: dict[str, str]


class Content(Shape):
    """What every document has."""

    provenance: Provenance
    settings: dict[str, Any] = {}
    notes: list[str] = []


class MetaFigure(Shape):
    """One metric's agreement with people; the figures are further keys."""

    metric: str
    ci: Interval


class Clusters(Shape):
    """Which metrics nothing with a higher value significantly outperforms."""

    winners: list[str]
    ranks: dict[str, int]


class MetaGroup(Shape):
    """Agreement within one group."""

    group: str
    n: int
    metrics: list[MetaFigure]
    tests: list[dict[str, Any]]
    clusters: Clusters | None


class MetaAverage(Shape):
    """Means over groups."""

    groups: int
    metrics: list[MetaFigure]


class Meta(Content):
    """``bsx meta``."""

    groups: list[MetaGroup]
    average: MetaAverage
    headline: str
    human: str


class SystemScore(Shape):
    """A system under a metric."""

    system: str
    score: Number
    ci: Interval


class ComparedMetric(Shape):
    """All systems under one metric."""

    metric: str
    higher_is_better: bool
    systems: list[SystemScore]
    tests: list[dict[str, Any]]


class Compare(Content):
    """``bsx compare``."""

    segments: int
    metrics: list[ComparedMetric]


class Fit(Shape):
    """The regression of one metric on factors."""

    metric: str
    coef: dict[str, Number]
    ci: dict[str, Interval]
    significant: dict[str, bool]
    r2: Number
    adj_r2: Number
    r2_share: dict[str, Number]
    ci_bootstrap: dict[str, Interval] = {}
    p: dict[str, Number] = {}
    p_adjusted: dict[str, Number] = {}


class Notice(Shape):
    """A warning of a regression."""

    message: str


class Fits(Shape):
    """Regressions of all metrics on the same rows."""

    n: int
    factors: list[str]
    results: list[Fit]
    se: str
    confidence: float
    alpha: float
    correction: str
    warnings: list[Notice]


class FitGroup(Fits):
    """The regressions of one group."""

    group: str


class FactorComparison(Shape):
    """Two metrics' coefficients compared."""

    a: str
    b: str
    by: dict[str, dict[str, Any]]


class Disentangle(Content, Fits):
    """``bsx disentangle``."""

    seed: int | None = None
    bootstrap: int = 0
    groups: list[FitGroup] = []
    tests: dict[str, list[dict[str, Any]]] = {}
    comparison: FactorComparison | None = None


class TripleRate(Shape):
    """How often a metric prefers the paraphrase."""

    metric: str
    n: int
    prefers_paraphrase: int
    ties: int
    rate: Number
    ci: Interval
    mean_margin: Number


class TripleSplit(Shape):
    """The same for triples of some gap in lexical overlap."""

    metric: str
    low: Number
    high: Number
    n: int
    rate: Number
    ci: Interval


class TripleExample(Shape):
    """A triple that fooled a metric."""

    metric: str
    row: int | str
    anchor: str
    paraphrase: str
    nonparaphrase: str
    score_paraphrase: Number
    score_nonparaphrase: Number
    margin: Number


class Triples(Content):
    """``bsx adversarial triples``."""

    results: list[TripleRate]
    tests: list[dict[str, Any]]
    splits: list[TripleSplit] = []
    worst: list[TripleExample] = []


class PairFigure(Shape):
    """A metric as a detector of paraphrases."""

    metric: str
    n: int
    auc: Number
    ci: Interval


class Pairs(Content):
    """``bsx adversarial pairs``."""

    results: list[PairFigure]
    tests: list[dict[str, Any]] = []


class Drop(Shape):
    """What one perturbation of one strength does to a metric's scores."""

    metric: str
    perturbation: str
    strength: Number
    preserves: bool
    n: int
    unchanged: int
    mean_score: Number
    drop: Number
    ci: Interval
    relative_drop: Number
    excess: Number
    excess_ci: Interval
    p: Number


class DropExample(Shape):
    """A perturbed text whose score did not do what it should."""

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


class Perturb(Content):
    """``bsx adversarial perturb``."""

    results: list[Drop]
    worst: list[DropExample] = []
    skipped: list[Any] = []


class EnsembleGroup(Shape):
    """An ensemble and its members within one group."""

    group: str
    n: int
    members: dict[str, Number]
    ensemble: Number
    gain: Number
    ci: Interval = None
    tests: list[dict[str, Any]] = []


class Ensemble(Content):
    """``bsx ensemble``."""

    groups: list[EnsembleGroup]
    average_gain: Number
    how: str
    members: list[Any]
    weights: Any = None
    average_ci: Interval = None
    folds: list[dict[str, Any]] = []


class ScoreEntry(Shape):
    """What a sidecar says of one metric."""

    metric: str
    higher_is_better: bool
    signature: str
    scores: list[dict[str, Any]] = []


class Sidecar(Shape):
    """What lies beside a table of scores; written before bsx kept provenance, it has none."""

    metrics: list[ScoreEntry]
    segments: int | None = None
    provenance: Provenance | None = None


KINDS: dict[str, type[Content]] = {
    "meta": Meta,
    "compare": Compare,
    "disentangle": Disentangle,
    "adversarial-triples": Triples,
    "adversarial-pairs": Pairs,
    "adversarial-perturb": Perturb,
    "ensemble": Ensemble,
}
"""``provenance.kind`` -> shape."""
