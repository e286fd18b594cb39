"""What a card holds of how often people agree with a metric."""

from __future__ import annotations

from bsx.analysis.documents.base import DocumentPart, Interval, Number


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
