"""Seeded resampling in blocks of bounded memory: bootstrap counts and indices, swaps, intervals, p-values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.stats.results import Comparison
from bsx.support.checks import Array

Indices = NDArray[np.int64]
Seed = int | np.random.Generator
Sampled = Literal["segments", "systems", "both"]
SAMPLED = {"segments": "segments", "systems": "systems", "both": "systems and segments"}
"""What is taken for a random sample, and so resampled: what the interval and the test speak about."""


class DrawOptions(TypedDict):
    """How often is drawn, and from which seed, as keyword arguments."""

    resamples: int
    seed: Seed


class Resampling(DrawOptions):
    """Draws for an interval."""

    confidence: float


CELLS = 1_000_000  # resamples x items held at once: 8 MB for each array of that shape


def block_sizes(resamples: int, items: int) -> Iterator[int]:
    """Yield how many resamples to hold at once, so that a block has at most `CELLS` cells (or is one resample)."""
    size = max(1, CELLS // max(items, 1))
    while resamples > 0:
        yield min(size, resamples)
        resamples -= size


def bootstrap_indices(resamples: int, items: int, seed: Seed) -> Iterator[Indices]:
    """Yield blocks (b, items) of item numbers drawn with replacement; the blocks' size does not change the draws."""
    rng = np.random.default_rng(seed)
    for size in block_sizes(resamples, items):
        yield rng.integers(items, size=(size, items))


def bootstrap_counts(resamples: int, items: int, seed: Seed) -> Iterator[Array]:
    """Yield blocks (b, items): how often each item occurs in each resample, the same draws as `bootstrap_indices`.

    A statistic that is a function of sums over items is then one matrix product for the whole block.
    """
    for indices in bootstrap_indices(resamples, items, seed):
        rows = np.arange(len(indices))[:, None] * items
        yield np.bincount((indices + rows).ravel(), minlength=indices.size).reshape(indices.shape).astype(np.float64)


def all_counts(resamples: int, items: int, seed: Seed) -> Array:
    """Return the blocks of `bootstrap_counts` as one: (resamples, items)."""
    return np.concatenate(list(bootstrap_counts(resamples, items, seed)))


def swaps(resamples: int, items: int, seed: Seed) -> Iterator[NDArray[np.bool_]]:
    """Yield blocks (b, items) of fair coin tosses: which items trade places in each permutation."""
    rng = np.random.default_rng(seed)
    for size in block_sizes(resamples, items):
        yield rng.random((size, items)) < 0.5


def percentile_interval(draws: Array, confidence: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval of draws (resamples,); NaN draws, where the statistic is undefined, are ignored.

    Source: Efron 1979; both ends are NaN if no draw is defined.
    """
    defined = draws[~np.isnan(draws)]
    if not defined.size:
        return float("nan"), float("nan")
    tail = 50 * (1 - confidence)
    low, high = np.percentile(defined, [tail, 100 - tail])
    return float(low), float(high)


def bootstrap_p(draws: Array, null: float = 0.0) -> tuple[float, float]:
    """Return one-sided ("greater than null") and two-sided p-values from bootstrap draws (resamples,).

    One-sided: (b + 1) / (n + 1), b the draws at or below the null value; two-sided: twice the smaller tail.
    """
    draws = draws[~np.isnan(draws)]
    below = (np.count_nonzero(draws <= null) + 1) / (draws.size + 1)
    above = (np.count_nonzero(draws >= null) + 1) / (draws.size + 1)
    return float(below), float(min(1.0, 2 * min(below, above)))


def compared(a: float, b: float, draws: Array, n: int, method: str, confidence: float) -> Comparison:
    """Return two values compared by the differences (resamples,) of their paired bootstrap draws."""
    ends, p = percentile_interval(draws, confidence), bootstrap_p(draws)
    return Comparison(a, b, a - b, *ends, a - b, *p, n, method, confidence)


def permuted(
    a: float,
    b: float,
    draws: Array,
    n: int,
    method: str,
    *,
    plus_one: bool = True,
    sign: int = 1,
    ends: tuple[float, float] = (float("nan"), float("nan")),
    confidence: float = 0.95,
) -> Comparison:
    """Return two values compared by the differences (resamples,) that chance alone would give.

    The interval's ends come from elsewhere, if at all; ``sign`` is -1 where lower is better.
    """
    p = permutation_p(sign * draws, sign * (a - b), plus_one=plus_one)
    two_sided = permutation_p(np.abs(draws), abs(a - b), plus_one=plus_one)
    return Comparison(a, b, a - b, *ends, a - b, p, two_sided, n, method, confidence)


def permutation_p(draws: Array, observed: float, *, plus_one: bool = True) -> float:
    """Return the share of permutation draws (resamples,) that reach the observed value, at least 1 / (n + 1).

    Draws that differ from the observed value by rounding only count as reaching it.

    Source: Phipson & Smyth 2010 for (b + 1) / (n + 1); ``plus_one=False`` gives the plain share b / n.
    """
    draws = draws[~np.isnan(draws)]
    if not draws.size:
        return float("nan")
    slack = 1e-10 * max(abs(observed), float(np.abs(draws).max(initial=0.0)))
    reached = np.count_nonzero(draws >= observed - slack)
    return float((reached + plus_one) / (draws.size + plus_one))
