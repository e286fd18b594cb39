"""What all statistics of detectors start from: checked labels, items by falling score, resamples, perfect detectors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.resample import Seed, all_counts, block_sizes
from bsx.analysis.stats.validate import vectors
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


def binary(columns: dict[str, ArrayLike], nan: NanPolicy) -> tuple[Mask, Array]:
    """Check labels and scores: return which items are positive (n,) and the scores (metrics, n).

    Args:
        columns: name in messages -> (n,); the first holds the labels.
        nan: ``error`` or ``omit``.

    Raises:
        InputError: naming the column and what is wrong with it.
    """
    labels, *scores = vectors(columns, nan=nan, minimum=2)
    name = next(iter(columns))
    wrong = ~np.isin(labels, (0.0, 1.0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(f"{name}: item {at} is {labels[at]:g}, a label must be 0 or 1")
    positive = labels == 1
    if positive.all() or not positive.any():
        raise InputError(
            f"{name}: all {len(labels)} items have the label {int(labels[0])}; both 0 and 1 are needed to tell apart"
        )
    return positive, np.stack(scores)


def clustered(
    columns: dict[str, ArrayLike], cluster: ArrayLike | None, nan: NanPolicy
) -> tuple[Mask, Array, Numbers | None]:
    """Check as `binary` does; return the cluster of each item that is kept too (n,), None if each is its own."""
    if cluster is None:
        return *binary(columns, nan), None
    positive, found = binary({**columns, "cluster": np.asarray(cluster, dtype=np.float64)}, nan)
    of = np.unique(found[-1], return_inverse=True)[1].astype(np.int64)
    if of.max() < 1:
        raise InputError("cluster: all items are in one set: nothing is known about others")
    return positive, found[:-1], None if of.max() + 1 == len(of) else of


def separated(positive: Mask, of: Numbers | None, area: float, confidence: float) -> tuple[float, float, float]:
    """Return interval and two-sided p of two classes that a score tells apart without a mistake."""
    units = [len(np.unique(of[side])) if of is not None else int(side.sum()) for side in (positive, ~positive)]
    end = ((1 - confidence) / 2) ** (1 / min(units))
    low, high = (end, 1.0) if area == 1 else (0.0, 1 - end)
    orders = math.lgamma(sum(units) + 1) - sum(math.lgamma(size + 1) for size in units)
    return low, high, min(1.0, 2 * math.exp(-orders))


def cuts(scores: Array) -> tuple[Numbers, Numbers]:
    """Return the order of falling scores (n,), and where in it each distinct score ends (t,)."""
    order = np.argsort(-scores, kind="stable")
    return order, np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)


def resampled(
    positive: Mask,
    scores: Array,
    of: Numbers | None,
    statistic: Callable[[Array, Array], Array],
    resamples: int,
    seed: Seed,
) -> Array:
    """Return a statistic of resamples (resamples,): of positives and negatives drawn apart, or of clusters.

    ``statistic`` takes how many positives and how many negatives score at least each distinct score, (b, t) each.
    """
    order, ends = cuts(scores)
    sides = [positive[order], ~positive[order]]
    draws, rng = [], np.random.default_rng(seed)
    for size in block_sizes(resamples, len(scores)):
        if of is None:
            counts = np.zeros((size, len(scores)))
            for side in sides:
                counts[:, side] = all_counts(size, int(side.sum()), rng)
        else:
            counts = all_counts(size, int(of.max()) + 1, rng)[:, of[order]]
        with np.errstate(invalid="ignore", divide="ignore"):
            draws.append(statistic(*(np.cumsum(counts * side, axis=1)[:, ends] for side in sides)))
    return np.concatenate(draws)
