"""Numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Decimal


def figure(value: float, decimals: int) -> str:
    """Return a number rounded to so many decimals; a zero has no sign.

    >>> figure(-0.0596, 2), figure(-0.004, 2)
    ('-0.06', '0.00')
    """
    if not math.isfinite(value):
        return str(value)
    # The detour over 12 decimals makes a half of what is held as a little less or more.
    shown = Decimal(f"{value:.12f}").quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_EVEN)
    return str(abs(shown) if shown == 0 else shown)


def p_value(value: float | None) -> str:
    """Return a p-value with three decimals, or with its order of magnitude if it is smaller; a dash if undefined.

    >>> p_value(0.0421), p_value(3.2e-9), p_value(None)
    ('0.042', '3e-09', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if value == 0:  # smaller than any number that a computer holds
        return "<1e-300"
    return f"{value:.3f}" if value >= 0.0005 else f"{value:.0e}"


SMALL = 0.001
"""P-values below it are all the same to the reader of a sentence."""


def p_range(values: Iterable[float]) -> str:
    """Return the p-values of a claim about one or several tests, for a sentence: the value, or the least and greatest.

    >>> p_range([0.0421]), p_range([0.03, 0.002, 0.004]), p_range([1e-9, 1e-5]), p_range([1e-9, 0.01])
    ('p = 0.042', 'p from 0.002 to 0.030', 'p < 0.001', 'p at most 0.010')
    """
    ends = sorted(value for value in values if not math.isnan(value))
    if not ends:
        return "p not defined"
    if ends[-1] < SMALL:
        return f"p < {SMALL}"
    least, greatest = p_value(ends[0]), p_value(ends[-1])
    if ends[0] < SMALL:
        return f"p at most {greatest}"
    return f"p = {least}" if least == greatest else f"p from {least} to {greatest}"
