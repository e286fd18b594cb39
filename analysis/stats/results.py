"""What the statistics return: named numbers, never bare floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bsx.analysis.render.notebook import Drawn, FewNumbers


@dataclass(frozen=True)
class Estimate(FewNumbers):
    """One statistic with its interval.

    Attributes:
        estimate: the value on all data.
        low: lower end of the confidence interval; NaN where none was asked for.
        high: upper end.
        p: two-sided p-value of "no association"; NaN where the method defines none.
        n: items the value rests on.
        method: statistic and interval in words, e.g. ``"pearson, Fisher z interval"``.
        confidence: level of the interval.
    """

    DRAWN: ClassVar[Drawn] = {"estimate": ("low", "high")}

    estimate: float
    low: float
    high: float
    p: float
    n: int
    method: str
    confidence: float = 0.95


@dataclass(frozen=True)
class Comparison(FewNumbers):
    """Two metrics (or two systems) on the same items.

    Attributes:
        a: value of the first.
        b: value of the second.
        difference: ``a - b``.
        low: lower end of the difference's confidence interval; NaN where the test gives none.
        high: upper end.
        statistic: the test statistic; the difference itself for resampling tests.
        p: one-sided p-value; small means "a is better than b".
        p_two_sided: p-value of "they differ".
        n: items both were measured on.
        method: the test in words.
        confidence: level of the interval.
    """

    DRAWN: ClassVar[Drawn] = {"a": None, "b": None, "difference": ("low", "high")}

    a: float
    b: float
    difference: float
    low: float
    high: float
    statistic: float
    p: float
    p_two_sided: float
    n: int
    method: str
    confidence: float = 0.95
