"""How far two sets of levels agree beyond chance: kappa, Krippendorff's alpha; correlation given a third."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.stats.resample import Seed, bootstrap_counts
from bsx.analysis.stats.rowwise import clip_variance
from bsx.support.checks import Array


def weighted_kappa(counts: Array) -> Array:
    """Return Cohen's kappa with quadratic weights; NaN where all items are on one level.

    Source: Cohen 1968, with the weights of Fleiss & Cohen 1973.

    Args:
        counts: items on each pair of levels, which are in order (…, levels, levels).

    Returns:
        Kappas (…,): 1 for perfect agreement, 0 for chance.
    """
    levels = np.arange(counts.shape[-1])
    cost = (levels[:, None] - levels) ** 2
    rows, columns, n = counts.sum(axis=-1), counts.sum(axis=-2), counts.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = (rows[..., :, None] * columns[..., None, :] * cost).sum(axis=(-2, -1)) / n
        return np.where(chance > 0, 1 - (counts * cost).sum(axis=(-2, -1)) / chance, np.nan)


def ordinal_alpha(counts: Array) -> Array:
    """Return Krippendorff's alpha of two raters with the ordinal difference; NaN where all ratings are the same.

    Source: Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section E with the ordinal metric.

    Args:
        counts: items on each pair of levels, which are in order (…, levels, levels).

    Returns:
        Alphas (…,): 1 for perfect agreement, 0 for chance.
    """
    both = counts + np.swapaxes(counts, -1, -2)
    of = both.sum(axis=-1)
    n, middle = of.sum(axis=-1), np.cumsum(of, axis=-1) - of / 2
    cost = (middle[..., :, None] - middle[..., None, :]) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = (of[..., :, None] * of[..., None, :] * cost).sum(axis=(-2, -1)) / (n - 1)
        return np.where(chance > 0, 1 - (both * cost).sum(axis=(-2, -1)) / chance, np.nan)


def partial_pearson(moments: Array) -> Array:
    """Return Pearson's r of the first two of three variables at the same value of the third.

    Source: Yule 1907; the r of what is left of both when each is regressed on the third.

    Args:
        moments: sums of the products of (1, a, b, c) with one another (…, 4, 4).

    Returns:
        Correlations (…,); NaN where one of them does not vary beside the third.
    """
    mean = moments[..., 0, 1:] / moments[..., :1, 0]
    cov = moments[..., 1:, 1:] / moments[..., :1, :1] - mean[..., :, None] * mean[..., None, :]
    raw = (moments[..., 1 + i, 1 + i] / moments[..., 0, 0] for i in range(3))
    a, b, c = (clip_variance(cov[..., i, i], size) for i, size in enumerate(raw))
    ab, ac, bc = cov[..., 0, 1], cov[..., 0, 2], cov[..., 1, 2]
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = (a - ac**2 / c) * (b - bc**2 / c)
        # Rounding alone leaves a little of what the third explains whole.
        defined = rest > 1e-12 * a * b
        r = (ab - ac * bc / c) / np.sqrt(np.where(defined, rest, 1.0))
        return np.where(defined, np.clip(r, -1.0, 1.0), np.nan)


def drawn_sums(values: Array, units: NDArray[np.int64], resamples: int, seed: Seed) -> Iterator[Array]:
    """Yield blocks (b, …) of sums of values over resampled units.

    Args:
        values: of each item (n, …).
        units: number, from 0, of what each item is drawn with (n,).
        resamples: how many.
        seed: of the draws.
    """
    count = int(units.max()) + 1
    sums = np.zeros((count, *values.shape[1:]))
    np.add.at(sums, units, values)
    for counts in bootstrap_counts(resamples, count, seed):
        yield np.tensordot(counts, sums, axes=1)


def level_table(first: NDArray[np.int64], second: NDArray[np.int64], levels: int) -> Array:
    """Return for each item the pair of levels that it is on, as a matrix with a single 1 (n, levels, levels)."""
    result = np.zeros((len(first), levels, levels))
    result[np.arange(len(first)), first, second] = 1
    return result
