"""Power of a two-sided t test, width of its interval, and the smallest study that reaches either."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bsx.analysis.plan.result import PlanStep, Spread
from bsx.analysis.stats.resample import Clustered
from bsx.analysis.stats.rowwise import clip_variance
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need

MOST = 10**9
"""Units above which a study is not planned."""


def power_of(effect: float, se: float, df: float, alpha: float) -> float:
    """Return the probability that a two-sided t test at level alpha finds an effect, in either direction.

    Source: the noncentral t distribution, as in G*Power (Faul et al. 2007).

    Args:
        effect: its true size.
        se: standard error of its estimate.
        df: degrees of freedom.
        alpha: level.
    """
    if se <= 0:
        return 1.0
    stats = need("scipy.stats", "power")
    shift = effect / se
    if df > 10_000 or shift > 30:
        bound = stats.norm.isf(alpha / 2)
        return float(stats.norm.sf(bound - shift) + stats.norm.cdf(-bound - shift))
    bound = stats.t.isf(alpha / 2, df)
    # Far from the centre SciPy's noncentral t is not a number: the wrong side is then out of reach.
    wrong = stats.nct.cdf(-bound, df, shift)
    right = stats.nct.sf(bound, df, shift)
    if math.isnan(right):
        right = stats.norm.sf(bound - shift)
    return float(right + (0.0 if math.isnan(wrong) else wrong))


def width_of(se: float, df: float, alpha: float) -> float:
    """Return how wide, from end to end, the interval at level 1 - alpha is."""
    return float(2 * need("scipy.stats", "intervals").t.isf(alpha / 2, df) * se)


def detectable(se: float, df: float, alpha: float, power: float) -> float:
    """Return the smallest effect that is found with this power."""
    if se <= 0:
        return 0.0
    search = need("scipy.optimize", "power")
    return float(search.brentq(lambda effect: power_of(effect, se, df, alpha) - power, 0.0, 60 * se, xtol=1e-9 * se))


@dataclass(frozen=True)
class Study:
    """What is looked for, and how much its estimate varies.

    Attributes:
        effect: its size.
        alpha: level of the test.
        spread: of the estimate.
        clustered: whether documents are drawn.
        lost: degrees of freedom that are not left.
    """

    effect: float
    alpha: float
    spread: Spread
    clustered: bool
    lost: int

    def sized(self, count: int) -> PlanStep:
        """Return what a study of so many documents can do, or of so many units where there are none."""
        units = max(count, round(count * self.spread.document_size)) if self.clustered else count
        df, se = max(1, count - self.lost), math.sqrt(self.spread.variance / units)
        power = power_of(self.effect, se, df, self.alpha)
        return PlanStep(units, count if self.clustered else None, power, width_of(se, df, self.alpha))


def smallest(study: Study, power: float) -> PlanStep:
    """Return the smallest study that has this power.

    Raises:
        InputError: if it has more than a thousand million units.
    """
    low, high = study.lost, study.lost + 1
    while study.sized(high).power < power:
        low, high = high, 2 * high
        if high > MOST:
            raise InputError(
                f"effect: so small a one takes more than {MOST:,} units: ask for a larger one", setting="effect"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if study.sized(middle).power >= power else (middle, high)
    return study.sized(high)


def components(values: Array, clusters: Clustered, counts: Array | None = None) -> tuple[Array, Array]:
    """Return the variance of what a unit contributes (units,) and the documents' part of it, each (b,).

    Counts say how often each document, or unit without documents, was drawn (b, G); once unless given.

    What stays inside documents is the mean square within them; the documents' part is what the robust variance of the
    mean, from documents' sums, has beyond it. So the pilot's own standard error is the one over documents that a
    comparison of the same segments has, whether or not large documents hang together as small ones do. With documents
    of one size this is the analysis of variance.

    Source: Searle, Casella & McCulloch 1992 for the parts; Liang & Zeger 1986 for the robust variance.
    """
    places = np.arange(len(values)) if clusters is None else clusters
    size, total, square = (np.bincount(places, weight) for weight in (np.ones(len(values)), values, values**2))
    counts = np.ones((1, len(size))) if counts is None else counts
    groups, n = counts.sum(axis=1), counts @ size
    mean = counts @ total / n
    within = counts @ clip_variance(square - total**2 / size, square)
    squares, crossed = counts @ total**2, mean * (counts @ (total * size))
    robust = squares - 2 * crossed + mean**2 * (counts @ size**2)
    robust = clip_variance(robust, squares + 2 * np.abs(crossed)) * groups / (groups - 1) / n
    if (size == 1).all():
        return robust, np.zeros_like(robust)
    weighted = counts @ size**2 / n
    inside = np.where(n > groups, within / np.maximum(n - groups, 1), 0.0)
    shared = np.maximum(robust - inside, 0.0) / weighted
    return inside + shared, shared
