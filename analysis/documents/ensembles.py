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


class FoldRow(DocumentPart):
    """What one training part taught."""

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
    folds: list[FoldRow] = []
    kept_together: list[str] = []
    units: int = 0
    fitted: int = 0
    omitted: int = 0
