"""What ``bsx compare`` prints."""

from __future__ import annotations

from bsx.analysis.documents.base import DocumentPart, Interval, Number, ResultDocument


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


class SystemRow(DocumentPart):
    """A system under a metric."""

    system: str
    score: Number
    ci: Interval
    rank: int | None = None


class SystemTestRow(DocumentPart):
    """Two systems compared; ``p_adjusted`` is two-sided."""

    a: str
    b: str
    difference: Number = None
    ci: Interval = None
    p: Number = None
    p_two_sided: Number = None
    p_adjusted: Number = None
    better: str | None = None
    method: str = ""
    people: PeopleStepRow | None = None


class ComparedRow(DocumentPart):
    """All systems under one metric."""

    metric: str
    higher_is_better: bool
    signature: str | None = None
    systems: list[SystemRow]
    tests: list[SystemTestRow]


class CompareDocument(ResultDocument):
    """``bsx compare``."""

    segments: int
    systems: list[str] = []
    baseline: str | None = None
    metrics: list[ComparedRow]
    people: list[PeopleCurveRow] = []
