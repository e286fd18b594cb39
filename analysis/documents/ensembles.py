"""What ``bsx ensemble`` prints."""

from __future__ import annotations

from bsx.analysis.documents.base import DocumentPart, Interval, Number, ResultDocument


class GainTestRow(DocumentPart):
    """An ensemble against its best member."""

    a: str = "ensemble"
    b: str = ""
    test: str = ""
    difference: Number = None
    ci: Interval = None
    statistic: Number = None
    p: Number = None
    p_two_sided: Number = None


class GainRow(DocumentPart):
    """An ensemble and its members within one group."""

    group: str
    n: int
    members: dict[str, Number]
    ensemble: Number
    best: str = ""
    best_r: Number = None
    gain: Number
    ci: Interval = None
    undefined_resamples: int = 0
    tests: list[GainTestRow] = []


class FoldWeights(DocumentPart):
    """What one training part taught.

    Attributes:
        fold: its name.
        train: rows trained on.
        test: rows scored with it.
        purged: rows left out of training because they share a segment or a text with the test rows.
        weights: metric -> weight.
        best: the member that agrees best with people in the training rows.
        penalty: of ridge, else None.
        fell_back: no member was worth a weight, so all got the same.
    """

    fold: str
    train: int
    test: int
    purged: int
    weights: dict[str, Number]
    best: str
    penalty: Number
    fell_back: bool


class EnsembleDocument(ResultDocument):
    """``bsx ensemble``."""

    how: str
    normalise: str = "none"
    members: list[str]
    lower: list[str] = []
    weights: dict[str, Number] = {}
    groups: list[GainRow]
    average_gain: Number
    average_ci: Interval = None
    average_p: Number = None
    folds: list[FoldWeights] = []
    kept_together: list[str] = []
    units: int = 0
    fitted: int = 0
    omitted: int = 0
