"""Correlation along the last axis, for many rows at once: what the resampling tests spend their time on.

In all functions an item that is NaN in x or y is left out of its row, and a row with fewer than two items or without
variation (see `NEGLIGIBLE`) gives NaN; pairwise accuracy counts ties instead. Nothing is validated here; the public
functions have done it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.support.checks import Array
from bsx.support.optional import need

RowStatistic = Callable[[Array, Array], Array]

ALL_PAIRS_UP_TO = 64  # items; above, Kendall's tau by SciPy's sorting, row after row
PAIR_CELLS = 1_000_000  # rows x pairs of items held at once
NEGLIGIBLE = 1e-13
"""A variance up to this share of the mean square is rounding, not variation.

Its root, 3e-7, is about three units in the last place of single precision, in which scores of encoders are computed:
what is the same on one processor differs by so much on another. It is the one limit for all correlations.
"""


def pearson_rows(x: Array, y: Array) -> Array:
    """Return Pearson's r of each row of x (…, n) with that of y (…, n): (…,)."""
    present = ~(np.isnan(x) | np.isnan(y))
    count = np.maximum(present.sum(axis=-1), 1)
    x, y = _centred(x, present, count), _centred(y, present, count)
    return ratio((x * y).sum(axis=-1), (x * x).sum(axis=-1), (y * y).sum(axis=-1))


def spearman_rows(x: Array, y: Array) -> Array:
    """Return Spearman's rho of each row of x (…, n) with that of y (…, n): Pearson of mid-ranks within the row."""
    rank = need("scipy.stats", "Spearman's rho").rankdata
    missing = np.isnan(x) | np.isnan(y)
    # Missing items rank above all others, where they change no rank, and are then taken out again.
    filled = (np.where(missing, np.inf, z) for z in _both_steady(x, y))
    return pearson_rows(*(np.where(missing, np.nan, rank(z, axis=-1)) for z in filled))


def kendall_rows(x: Array, y: Array) -> Array:
    """Return Kendall's tau-b of each row of x (…, n) with that of y (…, n): (…,)."""
    x, y = _both_steady(x, y)
    return _over_pairs(_tau_b, x, y) if x.shape[-1] <= ALL_PAIRS_UP_TO else _row_by_row("b", x, y)


def kendall_c_rows(x: Array, y: Array) -> Array:
    """Return Kendall's tau-c (Stuart 1953) of each row of x (…, n) with that of y (…, n): (…,)."""
    return _row_by_row("c", *_both_steady(x, y))


def pairwise_accuracy_rows(x: Array, y: Array) -> Array:
    """Return the share of item pairs that x (…, n) and y (…, n) order alike (both tied counts as alike): (…,)."""
    return _over_pairs(_accuracy, x, y)


def weighted_pearson(x: Array, y: Array, weights: Array) -> Array:
    """Return Pearson's r of each row of x (k, n) with y (n,) under each row of weights (b, n): (b, k).

    With bootstrap counts as weights these are the correlations in the resamples.
    """
    level_x, level_y = x.mean(axis=-1), y.mean()
    x, y = x - level_x[:, None], y - level_y
    total = weights.sum(axis=-1, keepdims=True)
    mean_x, mean_y = weights @ x.T / total, (weights @ y)[:, None] / total
    square_x, square_y = weights @ (x * x).T / total, (weights @ (y * y))[:, None] / total
    covariance = weights @ (x * y).T / total - mean_x * mean_y
    return ratio(covariance, variance(square_x, mean_x, level_x), variance(square_y, mean_y, level_y))


def weighted_spearman(x: Array, y: Array, weights: Array) -> Array:
    """Return Spearman's rho of each row of x (k, n) with y (n,) under each row of weights (b, n): (b, k).

    With bootstrap counts as weights these are the correlations in the resamples: an item that is drawn twice is two
    that tie.
    """
    total = weights.sum(axis=-1, keepdims=True)

    def centred(z: Array) -> Array:
        order = np.argsort(z, kind="stable")
        _, first, place = np.unique(z[order], return_index=True, return_inverse=True)
        drawn = np.add.reduceat(weights[:, order], first, axis=-1)  # (b, distinct values)
        # Below a mid-rank are all smaller items and half of those that tie; the ranks' mean is half of all.
        ranks = np.empty_like(weights)
        ranks[:, order] = (drawn.cumsum(axis=-1) - drawn / 2)[:, place.reshape(-1)] - total / 2
        return ranks

    of_y = centred(y)
    square_y = (weights * of_y * of_y).sum(axis=-1)
    results = []
    for row in x:
        of_x = centred(row)
        square_x = (weights * of_x * of_x).sum(axis=-1)
        results.append(ratio((weights * of_x * of_y).sum(axis=-1), square_x, square_y))
    return np.stack(results, axis=-1)


def accuracy_of_drawn(x: Array, y: Array, counts: Array) -> Array:
    """Return pairwise accuracy of scores (b, n), or (n,), of systems drawn counts (b, n) times: (b,)."""
    i, j = np.triu_indices(x.shape[-1], k=1)
    return mean_of_drawn_pairs(np.sign(x[..., i] - x[..., j]) == np.sign(y[..., i] - y[..., j]), counts)


def mean_of_drawn_pairs(values: Array | NDArray[np.bool_], counts: Array) -> Array:
    """Return the mean of values (b, pairs), or (pairs,), over the pairs of n systems drawn counts (b, n) times: (b,).

    A pair of a system with itself is left out.
    """
    i, j = np.triu_indices(counts.shape[-1], k=1)
    weights = counts[:, i] * counts[:, j]
    with np.errstate(invalid="ignore"):
        mean: Array = (values * weights).sum(axis=-1) / weights.sum(axis=-1)
    return mean


def varies(values: Array) -> NDArray[np.bool_]:
    """Tell whether rows (…, n) without missing values vary by more than rounding: (…,)."""
    spread = np.square(values - values.mean(axis=-1, keepdims=True)).mean(axis=-1)
    result: NDArray[np.bool_] = spread > NEGLIGIBLE * np.square(values).mean(axis=-1)
    return result


def variance(mean_square: Array, mean: Array, level: Array | np.floating[Any]) -> Array:
    """Return the variance of values, 0 where it is negligible, from the mean of their squares and their mean (…,).

    From both a level was subtracted before, for the sake of precision.
    """
    size = np.maximum(mean_square, mean_square + 2 * level * mean + level * level)
    return clip_variance(mean_square - mean * mean, size)


def clip_variance(variances: ArrayLike, size: ArrayLike) -> Array:
    """Return variances (…,) with 0 for those below 0 and for those of the size of rounding.

    A variance that is 0 or more in exact arithmetic comes out a little above or below where its terms cancel, and which
    depends on the processor. It is clipped where it is made, so that its root is defined and 0 means 0 everywhere. Up
    to `NEGLIGIBLE` of what the terms add up to without their signs, ``size`` (…,), counts as rounding.
    """
    values = np.asarray(variances, dtype=np.float64)
    return np.where(values > NEGLIGIBLE * np.asarray(size), values, 0.0)


def quadratic_form(contrast: Array, covariance: Array) -> float:
    """Return the variance of a contrast (k,) of values with this covariance (k, k); see `clip_variance`."""
    parts = contrast[:, None] * covariance * contrast
    return float(clip_variance(parts.sum(), np.abs(parts).sum()))


def ratio(covariance: Array, variance_x: Array, variance_y: Array) -> Array:
    """Return covariances over the roots of variances, from -1 to 1; NaN where a variance is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        r: Array = covariance / (np.sqrt(variance_x) * np.sqrt(variance_y))
    return np.where(np.isfinite(r), np.clip(r, -1.0, 1.0), np.nan)


ROWS: dict[str, RowStatistic] = {
    "pearson": pearson_rows,
    "spearman": spearman_rows,
    "kendall": kendall_rows,
    "kendall_c": kendall_c_rows,
    "pairwise_accuracy": pairwise_accuracy_rows,
}


def _centred(x: Array, present: NDArray[np.bool_], count: NDArray[np.int64]) -> Array:
    """Return x less its row's mean, with 0 for what is missing and for whole rows that do not vary."""
    values = np.where(present, x, 0.0)
    mean = values.sum(axis=-1, keepdims=True) / count[..., None]
    centred = np.where(present, values - mean, 0.0)
    size = (values * values).sum(axis=-1, keepdims=True)
    moving = (centred * centred).sum(axis=-1, keepdims=True) > NEGLIGIBLE * size
    return np.where(moving, centred, 0.0)


def _both_steady(x: Array, y: Array) -> list[Array]:
    """Return x and y (…, n), each with 0 in whole rows that do not vary where both are: ranks would order rounding."""
    both = np.broadcast_arrays(x, y)
    present = ~(np.isnan(x) | np.isnan(y))
    count = np.maximum(present.sum(axis=-1), 1)
    moving = (_centred(z, present, count).any(axis=-1, keepdims=True) for z in both)
    return [np.where(moves | np.isnan(z), z, 0.0) for z, moves in zip(both, moving, strict=True)]


def _over_pairs(statistic: RowStatistic, x: Array, y: Array) -> Array:
    """Return a statistic of the signs of all differences within rows of x and y (…, n), in blocks of rows: (…,).

    The signs of an item pair that misses a value are NaN in both.
    """
    x, y = np.broadcast_arrays(x, y)
    shape, n = x.shape[:-1], x.shape[-1]
    missing = np.isnan(x) | np.isnan(y)
    x, y = (np.where(missing, np.nan, z).reshape(-1, n) for z in (x, y))
    i, j = np.triu_indices(n, k=1)
    size = max(1, PAIR_CELLS // max(1, len(i)))
    values = [np.empty(0)]
    for start in range(0, len(x), size):
        signs = (np.sign(z[start : start + size, i] - z[start : start + size, j]) for z in (x, y))
        values.append(statistic(*signs))
    return np.concatenate(values).reshape(shape)


def _tau_b(dx: Array, dy: Array) -> Array:
    dx, dy = np.nan_to_num(dx), np.nan_to_num(dy)
    return ratio((dx * dy).sum(axis=-1), (dx * dx).sum(axis=-1), (dy * dy).sum(axis=-1))


def _accuracy(dx: Array, dy: Array) -> Array:
    pairs = np.count_nonzero(~np.isnan(dx), axis=-1)
    with np.errstate(invalid="ignore"):
        accuracy: Array = np.count_nonzero(dx == dy, axis=-1) / np.asarray(pairs, dtype=np.float64)
    return accuracy


def _row_by_row(variant: str, x: Array, y: Array) -> Array:
    """Return Kendall's tau of what each row of x and y (…, n) has of both, one row after the other: (…,)."""
    present = ~(np.isnan(x) | np.isnan(y))
    rows = zip(*(z.reshape(-1, x.shape[-1]) for z in (x, y, present)), strict=True)
    return np.array([_kendall(variant, row[mask], other[mask]) for row, other, mask in rows]).reshape(x.shape[:-1])


def _kendall(variant: str, x: Array, y: Array) -> float:
    if variant == "b" and len(x) <= ALL_PAIRS_UP_TO:
        return float(_over_pairs(_tau_b, x, y))
    if variant == "c" and min(len(np.unique(x)), len(np.unique(y))) < 2:
        return float("nan")
    tau = need("scipy.stats", "Kendall's tau").kendalltau
    method = "exact" if len(x) == 2 else "asymptotic"  # of the p that comes along, which divides by n - 2
    return float(tau(x, y, variant=variant, method=method).statistic)
