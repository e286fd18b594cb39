"""What ``bsx adversarial challenge`` prints."""

from __future__ import annotations

from pydantic import Field

from bsx.analysis.documents.adversarial import TripleTestRow
from bsx.analysis.documents.base import DocumentPart, Interval, Number, ResultDocument


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


class ChallengeExampleRow(DocumentPart):
    """One row of a challenge set; ``scores`` is every metric's score of the good and of the bad translation."""

    row: int | str
    phenomenon: str
    reference: str | None = None
    source: str | None = None
    good: str
    bad: str
    scores: dict[str, tuple[Number, Number]]


class ChallengedMetric(DocumentPart):
    """One metric on a challenge set."""

    overall: ChallengeRow | None = None
    macro: Number = None
    weighted: Number = None
    severities: dict[str, ChallengeRow] = {}
    phenomena: dict[str, PhenomenonRow]


class ChallengeDocument(ResultDocument):
    """``bsx adversarial challenge``: ``metrics`` is metric -> what it does."""

    metrics: dict[str, ChallengedMetric] = Field(min_length=1)
    tests: list[TripleTestRow] = []
    anchor: str = ""
    weights: dict[str, Number] = {}
    examples: list[ChallengeExampleRow] = []
