"""Is metric a better than metric b? Williams test, paired bootstrap, PERM-BOTH of correlations with human scores."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.correlation import bootstrap_correlations, fisher_interval
from bsx.analysis.stats.resample import CELLS, Seed, compared, permuted, swaps
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.rowwise import ROWS, clip_variance, pearson_rows, ratio
from bsx.analysis.stats.systems.grouped import POOLING, By, Statistic, group_mean, group_values, system_means
from bsx.analysis.stats.validate import clusters_of, grids, settings, vectors
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy, choice
from bsx.support.optional import need

Swap = Literal["cells", "segments", "systems"]
_PERMUTATIONS = {"cells": "PERM-BOTH", "segments": "permutation of segments", "systems": "permutation of systems"}


def williams(
    a: ArrayLike,
    b: ArrayLike,
    human: ArrayLike,
    *,
    confidence: float = 0.95,
    nan: NanPolicy = "error",
) -> Comparison:
    """Test whether metric a's Pearson correlation with human judgments is higher than metric b's on the same items.

    Source: Williams 1959, as Graham & Baldwin 2014, section 4, brought it to metrics; the interval of the difference is
    Zou's (2007, section 3.2).

    Args:
        a: scores of the first metric (n,).
        b: scores of the second (n,).
        human: human scores (n,).
        confidence: level of the interval.
        nan: ``error``, or ``omit`` to leave out items that miss any of the three.

    Returns:
        Comparison of the two correlations; ``statistic`` is t with n - 3 degrees of freedom.

    Raises:
        InputError: if sizes differ, values are missing or infinite, a column is constant or there are under 4 items.
    """
    x, y, h = vectors({"a": a, "b": b, "human": human}, nan=nan, minimum=4, varied=True)
    r_ah, r_bh, r_ab = (float(pearson_rows(*pair)) for pair in ((x, h), (y, h), (x, y)))
    return williams_from_correlations(r_ah, r_bh, r_ab, len(h), confidence=confidence)


def williams_from_correlations(
    r_ah: float, r_bh: float, r_ab: float, n: int, *, confidence: float = 0.95
) -> Comparison:
    """Run the Williams test on three known correlations.

    Source and result: as `williams`.

    Args:
        r_ah: metric a with human judgments.
        r_bh: metric b with human judgments.
        r_ab: metric a with metric b.
        n: items.
        confidence: level of the interval.

    Raises:
        InputError: if a correlation lies outside -1..1, the three cannot occur together, or n is under 4.
    """
    settings(confidence=confidence)
    if n < 4:
        raise InputError(f"the Williams test needs at least 4 items, has {n}")
    if not all(-1 <= r <= 1 for r in (r_ah, r_bh, r_ab)):
        raise InputError(f"correlations must lie between -1 and 1, not {r_ah:g}, {r_bh:g}, {r_ab:g}")
    determinant = 1 - r_ah**2 - r_bh**2 - r_ab**2 + 2 * r_ah * r_bh * r_ab
    if determinant < -1e-9:
        raise InputError(f"no three columns can have the correlations {r_ah:g}, {r_bh:g}, {r_ab:g}")
    determinant = float(clip_variance(determinant, 1 + r_ah**2 + r_bh**2 + r_ab**2 + 2 * abs(r_ah * r_bh * r_ab)))
    difference = r_ah - r_bh
    spread = 2 * determinant * (n - 1) / (n - 3) + ((r_ah + r_bh) / 2) ** 2 * (1 - r_ab) ** 3
    if r_ab < -1 + 1e-12:
        raise InputError("one metric is the other upside down: the Williams test is not defined for them")
    if r_ab > 1 - 1e-12 or difference == 0:  # one metric twice: nothing tells them apart
        t = 0.0
    elif spread == 0:  # human scores are a sum of the two metrics' without any noise
        t = math.copysign(math.inf, difference)
    else:
        t = difference * math.sqrt((n - 1) * (1 + r_ab) / spread)
    # Zou's interval, of two correlations that share a variable.
    (low_a, high_a), (low_b, high_b) = (fisher_interval(r, 1 / (n - 3), confidence) for r in (r_ah, r_bh))
    scale, c = (1 - r_ah**2) * (1 - r_bh**2), 0.0
    if scale > 0:
        c = ((r_ab - r_ah * r_bh / 2) * (1 - r_ah**2 - r_bh**2 - r_ab**2) + r_ab**3) / scale
        c = min(1.0, max(-1.0, c))
    halves = [
        math.sqrt(max(0.0, x * x + y * y - 2 * c * x * y))
        for x, y in ((r_ah - low_a, high_b - r_bh), (high_a - r_ah, r_bh - low_b))
    ]
    distribution = need("scipy.stats", "the Williams test").t
    return Comparison.of(
        r_ah,
        r_bh,
        ci=(difference - halves[0], difference + halves[1]),
        statistic=t,
        p=float(distribution.sf(t, n - 3)),
        p_two_sided=float(2 * distribution.sf(abs(t), n - 3)),
        n=n,
        method="Williams test, Zou interval",
        confidence=confidence,
    )


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    human: ArrayLike,
    *,
    statistic: Literal["pearson", "spearman", "kendall", "kendall_c"] = "pearson",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Comparison:
    """Compare two metrics' correlations with human judgments over the same bootstrap resamples of items.

    p is (1 + resamples in which a is not above b) / (1 + resamples).

    Source: Efron & Tibshirani 1993, chapter 13 (percentile interval); Koehn 2004 for pairing.

    The ``statistic`` is ``pearson``, ``spearman``, ``kendall`` (tau-b) or ``kendall_c`` (tau-c). Other arguments and
    errors: as for `williams`, except that 3 items are enough.
    """
    choice("statistic", statistic, ("pearson", "spearman", "kendall", "kendall_c"))
    settings(resamples=resamples, confidence=confidence)
    x, y, h = vectors({"a": a, "b": b, "human": human}, nan=nan, varied=True)
    first, second = (float(ROWS[statistic](z, h)) for z in (x, y))
    draws = bootstrap_correlations(np.stack([x, y]), h, statistic, resamples=resamples, seed=seed)
    method = f"difference of {statistic}, paired bootstrap"
    return compared(first, second, draws[:, 0] - draws[:, 1], len(h), method, confidence)


def perm_both(
    a: ArrayLike,
    b: ArrayLike,
    human: ArrayLike,
    *,
    by: By = "none",
    statistic: Statistic = "pearson",
    constant: Literal["skip", "zero"] = "skip",
    swap: Swap = "cells",
    resamples: int = 1000,
    plus_one: bool = False,
    scale: Literal["sd", "mad"] = "sd",
    seed: Seed = 1,
    nan: NanPolicy = "error",
    cluster: ArrayLike | None = None,
) -> Comparison:
    """Test whether metric a agrees better with human judgments than metric b by swapping their scores at random.

    Both metrics are standardised over all cells; in each permutation every cell's two scores trade places with
    probability 1/2, and both correlations are computed anew. p is the share of permutations whose difference
    reaches the observed one, without +1, as published. Swapping cells one by one takes the errors of a metric in
    different cells for independent. Where those of one segment or of one system hang together, swap these as a whole.

    Source: Deutsch, Dror & Roth 2021, algorithm 2: PERM-BOTH swaps cells, PERM-INPUT segments, PERM-SYS systems.

    Args:
        a: scores of the first metric, (systems, segments) or, pooled, (n,).
        b: scores of the second, of the same shape.
        human: human scores, of the same shape.
        by: as in `bsx.analysis.grouped`: ``none`` pooled, ``item``, ``sys``, or ``means`` for the system level.
        statistic: ``pearson``, ``spearman``, ``kendall`` (tau-b), ``kendall_c`` (tau-c) or ``pairwise_accuracy``.
        constant: what a group without a defined correlation counts as.
        swap: what trades places: ``cells``, whole ``segments`` or whole ``systems``; items of a vector are cells.
        resamples: permutations.
        plus_one: count the observed order as one more permutation, (b + 1) / (n + 1), so that p is never 0.
        scale: what makes the two metrics' scores alike before they trade places: their standard deviation, as
            published, or their median absolute deviation, which heavy tails leave as it is (the standard deviation
            where more than half of the scores are the same).
        seed: of the permutations.
        nan: ``error``, or ``omit`` to leave out cells that miss any of the three.
        cluster: number of the cluster that each item of a vector (n,) or each segment of a matrix (segments,) belongs
            to, such as its document; whole clusters then trade places. With matrices it needs ``swap="segments"``.

    Returns:
        Comparison without an interval (NaN): a permutation test says nothing about the size of the difference.

    Raises:
        InputError: if shapes differ, values are missing or infinite, a metric is constant, or nothing is defined.
    """
    choice("by", by, POOLING)
    choice("statistic", statistic, tuple(ROWS))
    settings(resamples=resamples)
    choice("swap", swap, ("cells", "segments", "systems"))
    pooled = np.ndim(a) == 1
    if pooled and swap != "cells":
        raise InputError(f"swap={swap!r} needs matrices (systems, segments), a is a vector")
    if pooled and by != "none":
        raise InputError(f"by={by!r} needs matrices (systems, segments), a is a vector")
    columns = {"a": a, "b": b, "human": human}
    if pooled:
        columns = {name: np.asarray(column)[None] for name, column in columns.items()}
    if cluster is not None and not pooled and swap != "segments":
        raise InputError(f"cluster needs swap=segments, not swap={swap}", setting="cluster")
    x, y, h = grids(columns, nan=nan, systems=1 if pooled else 2)
    clusters = clusters_of(cluster, h.shape[1], "items" if pooled else "segments")
    present = ~np.isnan(x)
    vectors({"a": x[present], "b": y[present]}, varied=True)
    choice("scale", scale, ("sd", "mad"))
    x, y = (_standardised(z, scale) for z in (x, y))
    values = [float(group_mean(group_values(z, h, by, statistic), constant)) for z in (x, y)]
    if any(math.isnan(value) for value in values):
        raise InputError(f"no {statistic} is defined: every group is constant or has fewer than two values")
    if by == "means" and swap == "systems":  # the systems' means trade places
        x, y, h = (system_means(z)[:, None] for z in (x, y, h))
        x, y = ((z - z.mean()) / (z.std() or 1.0) for z in (x, y))
    if by == "none" and statistic == "pearson":
        shape = present.shape
        across = np.arange(shape[1]) if clusters is None else clusters
        unit = {"cells": across if pooled else np.arange(present.size), "segments": np.tile(across, shape[0])}
        unit["systems"] = np.repeat(np.arange(shape[0]), shape[1])
        units = unit[swap][present.ravel()]
        parts = [_swapped_pearson(x[present], y[present], h[present], units, resamples, seed)]
    elif (by, swap) in (("item", "segments"), ("sys", "systems")):
        # To swap a whole group swaps its two statistics, which are therefore computed once.
        first, second = (group_values(z, h, by, statistic) for z in (x, y))
        parts = [
            group_mean(np.where(mask, second, first), constant) - group_mean(np.where(mask, first, second), constant)
            for mask in swaps(resamples, len(first), seed, clusters)
        ]
    elif (by, swap) == ("means", "segments"):
        judged = np.maximum((~np.isnan(h)).sum(axis=1), 1)
        (mean_x, mean_y, mean_h), change = (system_means(z) for z in (x, y, h)), np.nan_to_num(y - x).T / judged
        rows, parts = ROWS[statistic], []
        for mask in swaps(resamples, h.shape[1], seed, clusters):
            moved = mask.astype(np.float64) @ change
            parts.append(rows(mean_x + moved, mean_h) - rows(mean_y - moved, mean_h))
    else:
        shape, parts = {"cells": h.shape, "segments": (1, h.shape[1]), "systems": (h.shape[0], 1)}[swap], []
        for block in swaps(resamples, math.prod(shape), seed, clusters):
            # A block of few units may hold many matrices, which are then swapped in parts.
            for part in np.array_split(block, max(1, len(block) * h.size // CELLS)):
                mask = part.reshape(-1, *shape)
                swapped = (np.where(mask, y, x), np.where(mask, x, y))
                first, second = (group_mean(group_values(z, h, by, statistic), constant) for z in swapped)
                parts.append(first - second)
    test = _PERMUTATIONS[swap] if clusters is None else f"permutation of {'clusters' if pooled else 'documents'}"
    method = f"difference of {statistic} ({POOLING[by]}), {test}"
    return permuted(values[0], values[1], np.concatenate(parts), int(present.sum()), method, plus_one=plus_one)


def _standardised(scores: Array, scale: str) -> Array:
    """Return scores, of which some may be missing, without their level and spread."""
    if scale == "mad":
        centred = scores - np.nanmedian(scores)
        spread = float(np.nanmedian(np.abs(centred)))
        if spread > 1e-6 * float(np.nanstd(scores)):
            return np.asarray(centred / spread)
    return np.asarray((scores - np.nanmean(scores)) / np.nanstd(scores))


def _swapped_pearson(x: Array, y: Array, h: Array, units: NDArray[np.int64], resamples: int, seed: Seed) -> Array:
    """Return the difference of pooled Pearson correlations after random swaps of units, by sums: (resamples,)."""
    h = h - h.mean()
    change = np.stack([y - x, y * y - x * x, (y - x) * h], axis=1)  # what a swap adds to a's sums and takes from b's
    number = np.unique(units, return_inverse=True)[1]
    change = np.stack([np.bincount(number, weights=column) for column in change.T], axis=1)
    start_x = np.array([x.sum(), (x * x).sum(), x @ h])
    start_y = np.array([y.sum(), (y * y).sum(), y @ h])
    draws = []
    for mask in swaps(resamples, len(change), seed):
        moved = mask.astype(np.float64) @ change
        correlations = []
        for sums in (start_x + moved, start_y - moved):
            variance = clip_variance(sums[:, 1] - sums[:, 0] ** 2 / len(h), sums[:, 1])
            correlations.append(ratio(sums[:, 2], variance, h @ h))
        draws.append(correlations[0] - correlations[1])
    return np.concatenate(draws)
