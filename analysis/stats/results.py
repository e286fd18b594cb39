"""What the statistics return: named numbers, never bare floats."""

from __future__ import annotations

from dataclasses import dataclass

from bsx.support.result import Number, Shown


@dataclass(frozen=True, repr=False)
class Estimate(Shown):
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

    estimate: Number
    low: Number
    high: Number
    p: Number
    n: int
    method: str
    confidence: float = 0.95


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
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
        p_equivalence: of "they differ by the margin or more", where one was given; small means "they are the same".
    """

    a: Number
    b: Number
    difference: Number
    low: Number
    high: Number
    statistic: Number
    p: Number
    p_two_sided: Number
    n: int
    method: str
    confidence: float = 0.95
    p_equivalence: float | None = None
