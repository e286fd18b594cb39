"""What the statistics return: named numbers, never bare floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

from bsx.support.result import Interval, Number, Shown


@dataclass(frozen=True, kw_only=True, repr=False)
class Estimate(Shown):
    """One statistic with its interval.

    Attributes:
        estimate: the value on all data.
        ci: its interval; NaN where none was asked for.
        p: two-sided p-value of "no association"; NaN where the method defines none.
        n: items the value rests on.
        method: statistic and interval in words, e.g. ``"pearson, Fisher z interval"``.
        confidence: level of the interval.
    """

    estimate: Number
    ci: Interval
    p: Number = math.nan
    n: int
    method: str
    confidence: float = 0.95


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison(Shown):
    """A test of two things on the same items: two metrics, two systems, a metric and a control.

    Attributes:
        a: name of the first.
        b: name of the second.
        difference: value of the first less that of the second.
        ci: interval of the difference; NaN where the test gives none.
        p: one-sided p-value; small means "a is better than b".
        p_two_sided: p-value of "they differ".
        n: items both were measured on.
        method: the test in words.
        unit: what is drawn or permuted as a whole, where that is no single item.
        value_a: value of the first; NaN where only the difference is known.
        value_b: value of the second.
        statistic: the test statistic; the difference itself for resampling tests.
        p_adjusted: the p that decides, corrected for the number of tests; None without a correction, and for a
            direction that is not among the corrected tests.
        p_equivalence: of "they differ by the margin or more", corrected likewise; None without a margin.
        at_floor: whether no draw came as far as the data, so that p is the smallest that so many draws can give: an
            upper bound.
        confidence: level of the interval.
    """

    a: str
    b: str
    difference: Number
    ci: Interval
    p: Number
    p_two_sided: Number
    n: int
    method: str
    unit: str = "item"
    value_a: Number = math.nan
    value_b: Number = math.nan
    statistic: Number = math.nan
    p_adjusted: float | None = None
    p_equivalence: float | None = None
    at_floor: bool = False
    confidence: float = 0.95

    @classmethod
    def of(cls, a: float, b: float, **known: Any) -> Self:
        """Return the comparison of two values whose names the caller knows."""
        values = {"difference": a - b, "value_a": a, "value_b": b, "statistic": a - b}
        return cls(**{"a": "a", "b": "b", **values, **known})

    @property
    def decisive(self) -> float:
        """The p to go by: two-sided, and corrected if a correction was asked for."""
        return self.p_two_sided if self.p_adjusted is None else self.p_adjusted
