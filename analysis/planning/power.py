"""Power of a two-sided t test, width of its interval, and the smallest study that reaches either."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bsx.analysis.planning.result import PlanStep, Spread
from bsx.analysis.planning.settings import PlanSettings
from bsx.analysis.stats.resample import Clustered, Indices, all_counts, drawn_units
from bsx.analysis.stats.rowwise import clip_variance
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need

MOST = 10**9
"""Units above which a study is not planned."""
FEWEST = 10
"""Documents, or units without documents, from which a pilot's variance is worth a plan."""


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


def study(units: int, documents: int | None, spread: Spread, lost: int, settings: PlanSettings) -> PlanStep:
    """Return what a study of so many units can do.

    Args:
        units: segments, rows or systems.
        documents: that they come from; None if each stands alone.
        spread: of the estimate.
        lost: degrees of freedom that are not left, of the documents or units.
        settings: effect and alpha.
    """
    df = max(1, (units if documents is None else documents) - lost)
    se = math.sqrt(spread.variance / units)
    judgments = None if spread.judgments is None else round(2 * units * spread.judgments)
    power = math.nan if settings.effect is None else power_of(settings.effect, se, df, settings.alpha)
    return PlanStep(units, documents, judgments, power, width_of(se, df, settings.alpha))


def sized(count: int, spread: Spread, clustered: bool, lost: int, settings: PlanSettings) -> PlanStep:
    """Return the study of so many documents, or of so many units where there are none."""
    if not clustered:
        return study(count, None, spread, lost, settings)
    return study(max(count, round(count * spread.document_size)), count, spread, lost, settings)


def smallest(spread: Spread, clustered: bool, lost: int, settings: PlanSettings) -> PlanStep:
    """Return the smallest study that reaches the power, or the width, that is asked for.

    Raises:
        InputError: if it has more than a thousand million units.
    """

    def enough(count: int) -> bool:
        step = sized(count, spread, clustered, lost, settings)
        return step.width <= settings.width if settings.width is not None else step.power >= settings.power

    low, high = lost, lost + 1
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST:
            name = "width" if settings.width is not None else "effect"
            raise InputError(
                f"{name}: so small a one takes more than {MOST:,} units: ask for a larger one", setting=name
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return sized(high, spread, clustered, lost, settings)


def curve(needed: PlanStep, there: int | None, spread: Spread, lost: int, settings: PlanSettings) -> list[PlanStep]:
    """Return studies from a quarter to three times the smallest one, and one of the pilot's size."""
    clustered = needed.documents is not None
    count = needed.units if needed.documents is None else needed.documents
    counts = {max(lost + 1, round(share * count)) for share in (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3)}
    return [
        sized(count, spread, clustered, lost, settings)
        for count in sorted(counts | ({there} if there is not None else set()))
    ]


def moments(values: Array, noise: Array, clusters: Clustered) -> Array:
    """Return what variances are made of, by cluster: size, sum, sum of squares, and sum of noise variances (4, G)."""
    groups = np.arange(len(values)) if clusters is None else clusters
    return np.stack([np.bincount(groups, weight) for weight in (np.ones(len(values)), values, values**2, noise)])


def components(sums: Array, counts: Array | None = None) -> tuple[Array, Array, Array]:
    """Return total variance, the documents' part of it, and mean noise, each (b,), of documents drawn counts (b, G).

    What stays inside documents is the mean square within them; the documents' part is what the robust variance of the
    mean, from documents' sums, has beyond it. So the pilot's own standard error is the one over documents that a
    comparison of the same segments has, whether or not large documents hang together as small ones do. With documents
    of one size this is the analysis of variance.

    Source: Searle, Casella & McCulloch 1992 for the parts; Liang & Zeger 1986 for the robust variance.
    """
    counts = np.ones((1, sums.shape[1])) if counts is None else counts
    size, total, square, noise = sums
    groups, n = counts.sum(axis=1), counts @ size
    mean = counts @ total / n
    within = counts @ clip_variance(square - total**2 / size, square)
    squares, crossed = counts @ total**2, mean * (counts @ (total * size))
    robust = squares - 2 * crossed + mean**2 * (counts @ size**2)
    robust = clip_variance(robust, squares + 2 * np.abs(crossed)) * groups / (groups - 1) / n
    if (size == 1).all():
        return robust, np.zeros_like(robust), counts @ noise / n
    weighted = counts @ size**2 / n
    inside = np.where(n > groups, within / np.maximum(n - groups, 1), 0.0)
    shared = np.maximum(robust - inside, 0.0) / weighted
    return inside + shared, shared, counts @ noise / n


def interval_of_needed(
    needed: PlanStep, variance: float, drawn: Array, units: int, settings: PlanSettings
) -> tuple[int, int]:
    """Return the interval of the number of units: from the spread of the logarithm of resampled variances.

    Of few units a resample does not show how heavy tails are: the spread is at least that of normal scores.

    Args:
        needed: the smallest study.
        variance: that it rests on.
        drawn: the same from resamples of the pilot (resamples,).
        units: how many things were drawn.
        settings: level of the interval.
    """
    drawn = drawn[drawn > 0]
    if len(drawn) < 2 or variance <= 0:
        return needed.units, needed.units
    half = need("scipy.stats", "intervals").t.isf((1 - settings.confidence) / 2, units - 1)
    half *= max(float(np.log(drawn).std(ddof=1)) * math.sqrt(units / (units - 1)), math.sqrt(2 / (units - 1)))
    ends = [needed.units * math.exp(sign * half) for sign in (-1, 1)]
    return max(1, math.floor(ends[0])), math.ceil(ends[1])


def resampled(
    values: Array, noise: Array, clusters: Clustered, of: Callable[[Array, Array, Array], Array], settings: PlanSettings
) -> Array:
    """Return what a function makes of total variance, the documents' part and noise in resamples of the pilot."""
    units = drawn_units(len(values), clusters)
    counts = all_counts(settings.resamples, units, settings.seed)
    return of(*components(moments(values, noise, clusters), counts))


def refuse_few(units: int, name: str, otherwise: str) -> None:
    """Refuse a pilot whose variance says nothing.

    Raises:
        InputError: naming how many there are.
    """
    if units < FEWEST:
        raise InputError(
            f"a pilot of {units} {name} is too small to plan from: at least {FEWEST} {name}, or {otherwise}"
        )


def sizes(clusters: Indices) -> tuple[float, float]:
    """Return units a document, plain and with each document weighted by its size."""
    held = np.bincount(clusters).astype(np.float64)
    return float(held.mean()), float((held**2).sum() / held.sum())
