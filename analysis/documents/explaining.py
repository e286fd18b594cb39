"""What ``bsx explain`` prints."""

from __future__ import annotations

from bsx.analysis.documents.base import DocumentPart, Interval, Number, ResultDocument


class WordsRow(DocumentPart):
    """A row: its texts, and a number for each word of candidate and source, as white space parts them."""

    candidate: str
    risk: list[Number]
    source: str | None = None
    source_risk: list[Number] | None = None
    reference: list[str] = []


class MarksRow(DocumentPart):
    """How well the risks of one side find the words that people marked, and how far calibrated ones are from shares."""

    side: str
    sentences: int
    left_out: int = 0
    auc: Number
    auc_ci: Interval
    average_precision: Number
    average_precision_ci: Interval
    recall: Number
    recall_ci: Interval
    calibration_error: Number = None
    calibration_error_ci: Interval = None
    excess: Number = None
    excess_ci: Interval = None


class ExplainDocument(ResultDocument):
    """``bsx explain``: ``calibrated`` says of each side whether a risk is a probability of an error."""

    by: str
    method: dict[str, str]
    calibrated: dict[str, bool]
    rows: list[WordsRow]
    marks: list[MarksRow] = []
