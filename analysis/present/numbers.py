"""Numbers as people read them."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal


def figure(value: float, decimals: int, *, truncate: bool = False) -> str:
    """Return a number with so many decimals, rounded, or with the rest cut off as in the tables of Kaster et al. 2021.

    A zero has no sign.

    >>> figure(-0.0596, 2), figure(-0.0596, 2, truncate=True), figure(-0.004, 2)
    ('-0.06', '-0.05', '0.00')
    """
    if not math.isfinite(value):
        return str(value)
    # The detour over 12 decimals keeps 0.29, which is held as 0.28999…, from being cut to 0.28.
    step, mode = Decimal(1).scaleb(-decimals), ROUND_DOWN if truncate else ROUND_HALF_EVEN
    shown = Decimal(f"{value:.12f}").quantize(step, rounding=mode)
    return str(abs(shown) if shown == 0 else shown)


def explained(value: float, decimals: int, *, truncate: bool = False) -> str:
    """Return R² with so many decimals; where figures are cut off, it is rounded to one more decimal first, as there.

    >>> figure(0.7498, 2, truncate=True), explained(0.7498, 2, truncate=True)
    ('0.74', '0.75')
    """
    return figure(round(value, decimals + 1) if truncate else value, decimals, truncate=truncate)


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
