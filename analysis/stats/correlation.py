"""Correlation of two columns with its interval: Pearson, Spearman, Kendall, and pairwise accuracy of system scores.

Signs are kept: a metric that ranks upside down has a negative correlation.
"""

from __future__ import annotations

import math
from itertools import permutations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.stats.preference import share_of_pairs
from bsx.analysis.stats.resample import (
    Clustered,
    Seed,
    bootstrap_counts,
    bootstrap_rows,
    drawn_units,
    percentile_interval,
)
from bsx.analysis.stats.results import Estimate
from bsx.analysis.stats.rowwise import (
    ROWS,
    pairwise_accuracy_rows,
    pearson_rows,
    varies,
    weighted_pearson,
    weighted_spearman,
)
from bsx.analysis.stats.validate import settings, vectors
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy, choice
from bsx.support.optional import need

Interval = Literal["analytic", "leave-one-out", "bootstrap", "none"]
INTERVALS = {
    "analytic": ", Fisher z interval",
    "leave-one-out": ", from the lowest to the highest end of Fisher z intervals with each one left out",
    "bootstrap": ", bootstrap interval",
    "none": "",
}
FEW_ITEMS = 20  # of fewer, no test tells whether tails are heavy, and a single one can carry a correlation
PAIRS_METHOD = "pairwise accuracy, Wilson interval of what the pairs are worth by the jackknife over systems"
EXACT_UP_TO = 8  # items: 40,320 orders
HEAVY_TAILS = 1.3  # of `tail_weight`: 3 % of normal samples of 200 lie above, 76 % of those of t with five degrees


def pearson(
    x: ArrayLike,
    y: ArrayLike,
    *,
    interval: Interval = "analytic",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Estimate:
    """Return Pearson's r of two columns.

    Source: Fisher 1921 for the analytic interval: atanh(r) has standard error 1/sqrt(n - 3).

    Args:
        x: metric scores (n,).
        y: human scores (n,).
        interval: ``analytic``; ``leave-one-out``, from the lowest to the highest end of the analytic intervals without
            each one item, for few items of which one may carry the value; ``bootstrap`` (percentiles over resampled
            items) or ``none``.
        confidence: level of the interval.
        resamples: bootstrap resamples.
        seed: of the bootstrap: a number or a NumPy generator.
        nan: ``error``, or ``omit`` to leave out items that miss a value.

    Returns:
        Estimate with the two-sided p of SciPy's exact test.

    Raises:
        InputError: if sizes differ, values are missing or infinite, a column is constant or there are under 3 items.
    """
    return _estimate("pearson", x, y, interval, confidence, resamples, seed, nan)


def spearman(
    x: ArrayLike,
    y: ArrayLike,
    *,
    interval: Interval = "analytic",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Estimate:
    """Return Spearman's rho of two columns; arguments, result and errors as for `pearson`.

    Source: Bonett & Wright 2000 for the analytic interval: atanh(rho) has variance (1 + rho²/2) / (n - 3). Up to eight
    items, p is exact: the share of all orders with such a rho.
    """
    return _estimate("spearman", x, y, interval, confidence, resamples, seed, nan)


def kendall(
    x: ArrayLike,
    y: ArrayLike,
    *,
    variant: Literal["b", "c"] = "b",
    interval: Interval = "analytic",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Estimate:
    """Return Kendall's tau-b or tau-c of two columns; arguments, result and errors otherwise as for `pearson`.

    Source: Kendall 1945 (b), Stuart 1953 (c); Fieller, Hartley & Pearson 1957 for the analytic interval: atanh(tau) has
    variance 0.437 / (n - 4). That holds for few ties; where ties are many, as with grades from 1 to 4, use the
    bootstrap. Tau-c has no analytic interval.

    Args:
        x: metric scores (n,).
        y: human scores (n,).
        variant: ``b`` corrects for ties in both columns, ``c`` suits columns with different numbers of distinct values.
        interval: ``analytic`` and ``leave-one-out`` (tau-b only), ``bootstrap`` or ``none``.
        confidence: level of the interval.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
        nan: ``error`` or ``omit``.
    """
    choice("variant", variant, ("b", "c"))
    if variant == "c" and interval in ("analytic", "leave-one-out"):
        raise InputError("tau-c has no analytic interval: use interval=bootstrap or 'none'")
    return _estimate(f"kendall-{variant}", x, y, interval, confidence, resamples, seed, nan)


def pairwise_accuracy(
    metric: ArrayLike,
    human: ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
    clusters: Clustered = None,
) -> Estimate:
    """Return the share of system pairs that the metric orders as human judgments do.

    A pair tied in both counts as agreement, a pair tied in one as disagreement.

    Source: Kocmi et al. 2021, section 3.2. The interval of fewer than 20 systems is that of `share_of_pairs` in
    `bsx.analysis.stats.preference`; that of more is a bootstrap.

    Args:
        metric: score of each system (systems,).
        human: human score of each system (systems,).
        confidence: level of the interval.
        resamples: bootstrap resamples of systems; a pair of a system with itself is left out of the resample. Where
            scores of segments are at hand, `bsx.analysis.grouped` with ``by="means"`` resamples those.
        seed: of the bootstrap.
        nan: ``error`` or ``omit``.
        clusters: number of each system's family (systems,), drawn as a whole: the interval is a bootstrap then.

    Returns:
        Estimate; ``n`` counts systems; no p-value, as pairs that share a system depend on each other.

    Raises:
        InputError: if sizes differ, values are missing or infinite or there are under 2 systems.
    """
    x, y = vectors({"metric": metric, "human": human}, nan=nan, minimum=2)
    settings(resamples=resamples, confidence=confidence)
    alike = (np.sign(x[:, None] - x) == np.sign(y[:, None] - y)) & ~np.eye(len(x), dtype=bool)
    accuracy, method = float(pairwise_accuracy_rows(x, y)), "pairwise accuracy, bootstrap over systems"
    low = high = accuracy
    if len(x) >= FEW_ITEMS or clusters is not None:
        draws = []
        for counts in bootstrap_counts(resamples, len(x), seed, clusters):
            pairs = counts.sum(axis=1) ** 2 - (counts**2).sum(axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                draws.append(((counts @ alike) * counts).sum(axis=1) / pairs)
        units = None if clusters is None else drawn_units(len(x), clusters)
        low, high = percentile_interval(np.concatenate(draws), confidence, units)
        method = method if clusters is None else method.replace("systems", "families")
    if not low < high:  # few systems, or all pairs alike
        (low, high), method = share_of_pairs(alike.astype(np.float64), confidence), PAIRS_METHOD
    return Estimate(estimate=accuracy, ci=(low, high), n=len(x), method=method, confidence=confidence)


def bootstrap_correlations(
    x: Array, y: Array, statistic: str, *, resamples: int = 1000, seed: Seed = 1, clusters: Clustered = None
) -> Array:
    """Return the correlation of each row of x with y in each bootstrap resample of items, the same for all rows.

    Args:
        x: scores of several metrics (metrics, n), already checked.
        y: human scores (n,).
        statistic: ``pearson``, ``spearman``, ``kendall`` or ``kendall-b``, ``kendall_c`` or ``kendall-c``.
        resamples: how many.
        seed: of the draws.
        clusters: number of the cluster of each item (n,), drawn as a whole; None: items are independent.

    Returns:
        (resamples, metrics); NaN where a resample has no variation.
    """
    if statistic == "pearson":
        return np.concatenate([weighted_pearson(x, y, c) for c in bootstrap_counts(resamples, len(y), seed, clusters)])
    steady = np.stack([row if varies(row) else np.zeros_like(row) for row in x])
    if statistic.startswith("kendall"):
        tau = need("scipy.stats", "Kendall's tau").kendalltau
        variant = "c" if statistic in ("kendall_c", "kendall-c") else "b"
        draws = [
            [tau(row[i], y[i], variant=variant, method="asymptotic").statistic for row in steady]
            for i in bootstrap_rows(resamples, len(y), seed, clusters)
        ]
        return np.array(draws, dtype=np.float64)
    counts = bootstrap_counts(resamples, len(y), seed, clusters)
    return np.concatenate([weighted_spearman(steady, y, block) for block in counts])


def influence(x: Array, y: Array) -> Array:
    """Return what each item of checked columns (n,) adds to Pearson's r, over or below what the others do (n,).

    The sum is 0; squared and summed, over n², it is the variance of r.

    Source: Devlin, Gnanadesikan & Kettenring 1975.
    """
    x, y = ((z - z.mean()) / z.std() for z in (x, y))
    return np.asarray(x * y - float((x * y).mean()) / 2 * (x * x + y * y))


WEIGHTY = 5.0
"""Kurtosis of what units add to an estimate from which the largest of them decide how wide its interval is."""


def worth(added: ArrayLike) -> int:
    """Return how many units of like weight would tell as much about the spread of an estimate as these do.

    Each adds a part to the estimate (units,), as sums of `influence` do. Where few units add most of the variance, it
    is hardly known, as with as few units alone. With a kurtosis up to `WEIGHTY`, as sums of normal scores have it, all
    count. The number belongs into `percentile_interval`.
    """
    parts = np.asarray(added, dtype=np.float64)
    squares = np.square(parts - parts.mean())
    n, total = len(parts), float(np.square(squares).sum())
    if total == 0:
        return n
    return min(n, max(3, int(WEIGHTY * float(squares.sum()) ** 2 / total)))


def tail_weight(x: Array, y: Array) -> float:
    """Return how much more r of checked columns (n,) varies than it would if both were normal; 1 if they are.

    Above `HEAVY_TAILS`, Fisher's interval and the Williams test are too sure of themselves: with the tails of a t
    distribution of five degrees of freedom the interval holds the truth in 82 % instead of 95 % of samples of fifty.

    Source: Steiger & Hakstian 1982: the variance of r's influence function, over (1 - r²)².
    """
    r = float(pearson_rows(x, y))
    if 1 - abs(r) < 1e-9:
        return 1.0
    return float(influence(x, y).var()) / (1 - r * r) ** 2


def without_each(x: Array, y: Array, statistic: str) -> Array:
    """Return the correlation of checked columns (n,) without each one item (n,); NaN where the others do not vary.

    ``statistic`` is as for `bootstrap_correlations`.
    """
    n = len(x)
    kept = np.arange(n)[None].repeat(n, axis=0)[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    return ROWS[statistic.removesuffix("-b").replace("-", "_")](x[kept], y[kept])


def _analytic(statistic: str, value: float, n: int, confidence: float) -> tuple[float, float]:
    """Return the analytic interval of a correlation of n items, whose atanh is normal."""
    lost = 4 if statistic == "kendall-b" else 3
    scale = {"pearson": 1, "spearman": 1 + value * value / 2, "kendall-b": 0.437}[statistic]
    return fisher_interval(value, scale / (n - lost) if n > lost else math.inf, confidence)


def _hull(statistic: str, value: float, x: Array, y: Array, confidence: float) -> tuple[float, float]:
    """Return the lowest and the highest end of the analytic intervals of all items and without each one of them.

    All have the variance for as many items as there are. Ranks in the same order give 1, whose interval has no width:
    the other end is then that of the next smaller value that as many ranks can have.
    """
    n, values = len(x), without_each(x, y, statistic)
    if np.isnan(values).any():  # a single item makes the difference
        return -1.0, 1.0
    steps = {"spearman": 12 / (n * (n * n - 1)), "kendall-b": 4 / (n * (n - 1))}
    largest = 1 - steps.get(statistic, 0.0)
    lowest, highest = min(value, float(values.min())), max(value, float(values.max()))
    near = (min(lowest, largest), max(highest, -largest))
    low, high = (_analytic(statistic, end, n, confidence)[side] for side, end in enumerate(near))
    return (-1.0 if lowest <= -1 else low), (1.0 if highest >= 1 else high)


def fisher_interval(r: float, variance: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return tanh(atanh(r) ± z sqrt(variance)); (-1, 1) if the variance is infinite, (r, r) if r is 1 or -1."""
    if math.isinf(variance):
        return -1.0, 1.0
    if abs(r) >= 1:
        return r, r
    half = float(need("scipy.stats", "confidence intervals").norm.ppf((1 + confidence) / 2)) * math.sqrt(variance)
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


def _estimate(
    statistic: str,
    metric: ArrayLike,
    human: ArrayLike,
    interval: Interval,
    confidence: float,
    resamples: int,
    seed: Seed,
    nan: NanPolicy,
) -> Estimate:
    """Return SciPy's test with the interval asked for."""
    x, y = vectors({"metric": metric, "human": human}, nan=nan, varied=True)
    name = {"pearson": "Pearson's r", "spearman": "Spearman's rho"}.get(statistic, "Kendall's tau")
    stats = need("scipy.stats", name)
    tests = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}
    test = tests[statistic](x, y) if statistic in tests else stats.kendalltau(x, y, variant=statistic[-1])
    choice("interval", interval, INTERVALS)
    settings(resamples=resamples, confidence=confidence)
    value, p = min(1.0, max(-1.0, float(test.statistic))), float(test.pvalue)
    if statistic == "spearman" and len(x) <= EXACT_UP_TO:  # the share of all orders with as strong a rho
        of_x, of_y = (stats.rankdata(z) - (len(z) + 1) / 2 for z in (x, y))
        sums = np.array(list(permutations(of_y))) @ of_x
        p = float(np.mean(np.abs(sums) >= abs(float(of_x @ of_y)) - 1e-9))
    low = high = float("nan")
    if interval == "bootstrap":
        sampled = bootstrap_correlations(x[None], y, statistic, resamples=resamples, seed=seed)
        low, high = percentile_interval(sampled[:, 0], confidence)
    elif interval == "analytic":
        low, high = _analytic(statistic, value, len(x), confidence)
    elif interval == "leave-one-out":
        low, high = _hull(statistic, value, x, y, confidence)
    method = statistic.replace("kendall-", "kendall tau-") + INTERVALS[interval]
    return Estimate(estimate=value, ci=(low, high), p=p, n=len(x), method=method, confidence=confidence)
