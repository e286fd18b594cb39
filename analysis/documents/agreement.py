"""What ``bsx meta`` prints."""

from __future__ import annotations

from pydantic import SerializerFunctionWrapHandler, model_serializer

from bsx.analysis.documents.base import DocumentPart, Interval, Number, ResultDocument


class MetaMetricRow(DocumentPart):
    """One metric's agreement with people; the figures are further keys, after the name."""

    metric: str
    ci: Interval
    method: str = ""
    wins: int | None = None
    control: bool = False

    @model_serializer(mode="wrap")
    def _figures_second(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        found = handler(self)
        return {"metric": self.metric, **self.more, **{name: found[name] for name in found if name not in self.more}}


class MetaTestRow(DocumentPart):
    """Two metrics compared; ``p`` is one-sided for "a agrees better than b"."""

    a: str
    b: str
    difference: Number = None
    ci: Interval = None
    statistic: Number = None
    p: Number = None
    p_two_sided: Number = None
    p_adjusted: Number = None
    method: str = ""


class ClusterRow(DocumentPart):
    """Which metrics nothing with a higher value significantly outperforms."""

    winners: list[str]
    ranks: dict[str, int]
    alpha: float = 0.05


class MetaGroupRow(DocumentPart):
    """Agreement within one group."""

    group: str
    n: int
    left_out: int = 0
    metrics: list[MetaMetricRow]
    tests: list[MetaTestRow]
    test: str = ""
    clusters: ClusterRow | None
    control_tests: list[MetaTestRow] = []


class MetaAverageRow(DocumentPart):
    """Means over groups."""

    groups: int
    metrics: list[MetaMetricRow]
    tests: list[MetaTestRow] = []
    control_tests: list[MetaTestRow] = []


class MetaDocument(ResultDocument):
    """``bsx meta``."""

    groups: list[MetaGroupRow]
    average: MetaAverageRow
    headline: str
    human: str
    target: str = ""


class JudgmentsDocument(ResultDocument):
    """``bsx meta`` with several columns of human scores."""

    judgments: list[MetaDocument]


class PeopleStepRow(DocumentPart):
    """Pairs whose scores differ by about as much, and how often people agreed with the sign of the difference."""

    low: Number
    high: Number
    n: int
    share: Number
    ci: Interval


class PeopleCurveRow(DocumentPart):
    """How often people agree with a metric by how far two scores differ."""

    metric: str
    level: str
    group: str
    data: str = ""
    pairs: int
    metric_ties: int = 0
    human_ties: int = 0
    confidence: float = 0.95
    steps: list[PeopleStepRow]
