"""Seeded resampling in blocks of bounded memory: bootstrap counts and indices, swaps, intervals, p-values.

Items that belong together, such as the segments of a document, are drawn and swapped together: give their ``clusters``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.stats.results import Comparison
from bsx.support.checks import Array
from bsx.support.optional import need

Indices = NDArray[np.int64]
Clustered = NDArray[np.int64] | None
"""Cluster of each item (items,), counted from 0; None where every item is one by itself."""
Seed = int | np.random.Generator
Sampled = Literal["segments", "systems", "both"]
SAMPLED = {"segments": "segments", "systems": "systems", "both": "systems and segments"}
"""What is taken for a random sample, and so resampled: what the interval and the test speak about."""


def sampled_units(sampled: Sampled, documents: Clustered) -> str:
    """Return what is resampled in words: documents, where segments are drawn by them."""
    return SAMPLED[sampled] if documents is None else SAMPLED[sampled].replace("segments", "documents")


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


def cluster_codes(labels: Sequence[Hashable]) -> Indices:
    """Number clusters from 0, in the order in which their names come."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


def drawn_units(items: int, clusters: Clustered = None) -> int:
    """Return how many things are drawn: clusters, or items where there are none."""
    return items if clusters is None else int(clusters.max()) + 1


def bootstrap_indices(resamples: int, items: int, seed: Seed) -> Iterator[Indices]:
    """Yield blocks (b, items) of item numbers drawn with replacement; the blocks' size does not change the draws."""
    rng = np.random.default_rng(seed)
    for size in block_sizes(resamples, items):
        yield rng.integers(items, size=(size, items))


def bootstrap_rows(resamples: int, items: int, seed: Seed, clusters: Clustered = None) -> Iterator[Indices]:
    """Yield one resample after the other as item numbers (n,): n is ``items`` unless clusters differ in size."""
    if clusters is None:
        for block in bootstrap_indices(resamples, items, seed):
            yield from block
        return
    members = [np.flatnonzero(clusters == k) for k in range(drawn_units(items, clusters))]
    for block in bootstrap_indices(resamples, len(members), seed):
        for chosen in block:
            yield np.concatenate([members[k] for k in chosen])


def bootstrap_counts(resamples: int, items: int, seed: Seed, clusters: Clustered = None) -> Iterator[Array]:
    """Yield blocks (b, items): how often each item occurs in each resample, the same draws as `bootstrap_indices`.

    A statistic that is a function of sums over items is then one matrix product for the whole block. With clusters of
    different size, the counts of a resample do not add up to ``items``.
    """
    units = drawn_units(items, clusters)
    for indices in bootstrap_indices(resamples, units, seed):
        rows = np.arange(len(indices))[:, None] * units
        counts = np.bincount((indices + rows).ravel(), minlength=indices.size).reshape(indices.shape)
        yield counts.astype(np.float64) if clusters is None else counts.astype(np.float64)[:, clusters]


def all_counts(resamples: int, items: int, seed: Seed, clusters: Clustered = None) -> Array:
    """Return the blocks of `bootstrap_counts` as one: (resamples, items)."""
    return np.concatenate(list(bootstrap_counts(resamples, items, seed, clusters)))


def swaps(resamples: int, items: int, seed: Seed, clusters: Clustered = None) -> Iterator[NDArray[np.bool_]]:
    """Yield blocks (b, items) of fair coin tosses, one a cluster: which items trade places in each permutation."""
    rng = np.random.default_rng(seed)
    units = drawn_units(items, clusters)
    for size in block_sizes(resamples, items):
        tossed = rng.random((size, units)) < 0.5
        yield tossed if clusters is None else tossed[:, clusters]


FEW_UNITS = 100
"""Of fewer drawn units, percentiles are too close together by 2 % of the interval and more, and are moved apart."""


def percentile_interval(draws: Array, confidence: float = 0.95, units: int | None = None) -> tuple[float, float]:
    """Return the percentile interval of draws (resamples,); NaN draws, where the statistic is undefined, are ignored.

    Resamples of few units spread too little, by sqrt((n - 1) / n), and have the normal's tails instead of t's. With
    fewer than `FEW_UNITS`, the percentiles are those of a t distribution, widened so.

    Source: Efron 1979; Hesterberg 2015, section 5.3, for the expanded percentiles.

    Args:
        draws: values of the statistic (resamples,).
        confidence: level.
        units: how many things were drawn: items, or clusters of them; None takes them for many.

    Returns:
        Both ends; NaN if no draw is defined, or there is only one unit.
    """
    defined = draws[~np.isnan(draws)]
    if not defined.size or (units is not None and units < 2):
        return float("nan"), float("nan")
    tail = (1 - confidence) / 2
    if units is not None and units < FEW_UNITS:
        tail = expanded_tail(tail, units)
    low, high = np.percentile(defined, [100 * tail, 100 - 100 * tail])
    return float(low), float(high)


def bootstrap_p(draws: Array, null: float = 0.0, units: int | None = None) -> tuple[float, float]:
    """Return one-sided ("greater than null") and two-sided p-values from bootstrap draws (resamples,).

    One-sided: (b + 1) / (n + 1), b the draws at or below the null value; two-sided: twice the smaller tail. With few
    ``units`` they are corrected as `percentile_interval` is, so that test and interval say the same.
    """
    draws = draws[~np.isnan(draws)]
    below = float((np.count_nonzero(draws <= null) + 1) / (draws.size + 1))
    above = float((np.count_nonzero(draws >= null) + 1) / (draws.size + 1))
    if units is not None and units < FEW_UNITS:
        below, above = (contracted_p(share, units) for share in (below, above))
    return below, min(1.0, 2 * min(below, above))


def few_units(tail: float, units: int) -> float:
    """Return by how much a bootstrap interval of few units is too narrow, as a factor of its standard errors.

    ``tail`` is the share of draws outside one end.
    """
    if not 2 <= units < FEW_UNITS:
        return 1.0
    stats = need("scipy.stats", "intervals")
    return float(np.sqrt(units / (units - 1)) * stats.t.isf(tail, units - 1) / stats.norm.isf(tail))


def expanded_tail(tail: float, units: int) -> float:
    """Return the share of draws that lies outside an end which t, of few units, puts there."""
    if units < 2:
        return 0.0
    stats = need("scipy.stats", "intervals")
    return float(stats.norm.sf(np.sqrt(units / (units - 1)) * stats.t.isf(tail, units - 1)))


def contracted_p(share: float, units: int) -> float:
    """Return the p-value of t, of few units, that a share of draws stands for: the inverse of `expanded_tail`."""
    if units < 2:
        return 1.0
    stats = need("scipy.stats", "tests")
    return float(stats.t.sf(stats.norm.isf(min(share, 1.0)) / np.sqrt(units / (units - 1)), units - 1))


def compared(
    a: float, b: float, draws: Array, n: int, method: str, confidence: float, units: int | None = None
) -> Comparison:
    """Return two values compared by the differences (resamples,) of their paired bootstrap draws.

    ``units`` is how many things were drawn, where they may be few; see `percentile_interval`.
    """
    ends, p = percentile_interval(draws, confidence, units), bootstrap_p(draws, units=units)
    known = {"ci": ends, "n": n, "method": method, "confidence": confidence}
    floor = p[1] < 1 and not ((draws <= 0).any() and (draws >= 0).any())
    return Comparison.of(a, b, p=p[0], p_two_sided=p[1], at_floor=floor, **known)


def permuted(
    a: float,
    b: float,
    draws: Array,
    n: int,
    method: str,
    *,
    plus_one: bool = True,
    ends: tuple[float, float] = (float("nan"), float("nan")),
    confidence: float = 0.95,
) -> Comparison:
    """Return two values compared by the differences (resamples,) that chance alone would give.

    The interval's ends come from elsewhere, if at all.
    """
    p = permutation_p(draws, a - b, plus_one=plus_one)
    two_sided = permutation_p(np.abs(draws), abs(a - b), plus_one=plus_one)
    floor = 1 / (np.count_nonzero(~np.isnan(draws)) + 1)
    known = {"ci": ends, "n": n, "method": method, "confidence": confidence}
    return Comparison.of(a, b, p=p, p_two_sided=two_sided, at_floor=two_sided <= floor < 1, **known)


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
