"""Are two values the same, for all that matters? Two one-sided tests (TOST) against a margin.

A difference that is not significant may be large all the same: the data may be too few to see it. Equivalence is a
claim of its own, with a test of its own, whose null hypothesis is a difference of at least the margin.
"""

from __future__ import annotations

import math
from typing import Literal

from bsx.analysis.stats.validate import settings
from bsx.errors import InputError
from bsx.support.optional import need

Verdict = Literal["different", "equivalent", "different, equivalent", "undecided"]
"""What the two tests say together; a difference can be significant and too small to matter."""


def equivalence_p(
    difference: float, ends: tuple[float, float], margin: float, *, confidence: float = 0.95, df: float = math.inf
) -> float:
    """Return the p of equivalence: of the null hypothesis that a difference is at least the margin, either way.

    It is the larger of the two one-sided p-values; NaN without an interval. The standard error of each side is that
    which gives the interval its end there, by t with ``df`` degrees of freedom. With the normal (``df`` infinite) for
    an interval that was made with t, the p is a little too large. The margin is the largest difference that does not
    matter, in units of the difference.

    Source: Schuirmann 1987, two one-sided tests.

    Raises:
        InputError: for a margin or a level that is none.

    >>> round(equivalence_p(0.0, (-1.96, 1.96), 1.644854), 3)
    0.05
    """
    if not 0 < margin < math.inf:
        wrong = f"{margin:g} is no margin: give the largest difference that does not matter, greater than 0"
        raise InputError(wrong, setting="margin")
    settings(confidence=confidence)
    t = need("scipy.stats", "the test of equivalence").t
    quantile = float(t.isf((1 - confidence) / 2, df))
    sides = ((margin + difference, difference - ends[0]), (margin - difference, ends[1] - difference))
    results = []
    for distance, half in sides:
        if math.isnan(half):
            return math.nan
        if half <= 0:
            results.append(0.0 if distance > 0 else 1.0)
        else:
            results.append(float(t.sf(distance * quantile / half, df)) if half < math.inf else 1.0)
    return max(results)


def verdict(different: bool, p_equivalence: float, alpha: float) -> Verdict:
    """Return what a test of difference and one of equivalence say together."""
    if p_equivalence < alpha:
        return "different, equivalent" if different else "equivalent"
    return "different" if different else "undecided"
