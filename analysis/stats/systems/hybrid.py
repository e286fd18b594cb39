"""Hybrid super-sampling: thousands of artificial systems from a few, and the correlation they tend to."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.stats.resample import (
    Clustered,
    Seed,
    block_sizes,
    bootstrap_counts,
    bootstrap_p,
    compared,
    drawn_units,
    percentile_interval,
    sampled_units,
)
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.rowwise import NEGLIGIBLE, clip_variance, ratio
from bsx.analysis.stats.validate import clusters_of, grids, settings
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy


def hybrid_systems(
    metrics: ArrayLike, human: ArrayLike, n: int = 10_000, *, seed: Seed = 1, nan: NanPolicy = "error"
) -> tuple[Array, Array]:
    """Build hybrid systems: each takes every segment from a system drawn at random.

    A hybrid's scores are the means over its segments. The draws are the same for human scores and all metrics. The
    interval of a correlation over hybrids shrinks with n, which is free to choose, and says nothing about other
    segments: for that see `hybrid_correlation_limit`.

    Source: Graham & Liu 2016, section 4.

    Of scores (metrics, systems, segments) and human scores (systems, segments), return those of n hybrids, (metrics, n)
    and (n,). With ``nan="omit"``, a segment is drawn from the systems that have all of its scores, and left out where
    no system has.

    Raises:
        InputError: if shapes differ, values are missing or infinite, or n is not positive.
    """
    scores, _ = _stack({f"metric {i}": x for i, x in enumerate(np.asarray(metrics))}, human, nan)
    if n < 1:
        raise InputError(f"n={n}: at least one hybrid is needed")
    segments = scores.shape[2]
    present = ~np.isnan(scores[0])
    count = present.sum(axis=0)
    # The rows of each segment, those that have it first; then a draw is a number below the segment's count.
    rows = np.argsort(~present, axis=0, kind="stable")
    columns = np.arange(segments)
    flat = scores.reshape(len(scores), -1)
    rng = np.random.default_rng(seed)
    means = []
    for size in block_sizes(n, segments):
        # floor(u * count) < count: u is at most 1 - 2**-53, and counts are small.
        drawn = (rng.random((size, segments)) * count).astype(np.int64)
        cells = rows[drawn, columns] * segments + columns
        means.append(np.stack([np.take(values, cells).mean(axis=1) for values in flat]))
    result = np.concatenate(means, axis=1)
    return result[1:], result[0]


def hybrid_correlation_limit(
    metric: ArrayLike,
    human: ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
    cluster: ArrayLike | None = None,
) -> Estimate:
    """Return the correlation over infinitely many hybrid systems, without drawing any.

    A hybrid's score is a sum of independent draws, one a segment, so covariances add up over segments:
    r = Σ cov_k(h, m) / sqrt(Σ var_k(h) Σ var_k(m)), over the systems of each segment k.

    Source: the limit of Graham & Liu 2016; equal to Pearson's r of scores centred within segments.

    Args:
        metric: scores (systems, segments).
        human: human scores (systems, segments).
        confidence: level of the interval.
        resamples: bootstrap resamples of segments.
        seed: of the bootstrap.
        nan: as in `hybrid_systems`.
        cluster: number of the document that each segment belongs to (segments,); whole documents are then drawn. None:
            segments are independent.

    Returns:
        Estimate; ``n`` counts segments.

    Raises:
        InputError: if shapes differ, values are missing or infinite, or the systems do not differ on any segment.
    """
    settings(resamples=resamples, confidence=confidence)
    scores, clusters = _stack({"metric": metric}, human, nan, cluster)
    values, draws, units = _limits(scores, resamples, seed, clusters)
    return Estimate(
        estimate=values[0],
        ci=percentile_interval(draws[0], confidence, units),
        p=bootstrap_p(draws[0], units=units)[1],
        n=scores.shape[2],
        method=f"limit of pearson over hybrid systems, bootstrap over {sampled_units('segments', clusters)}",
        confidence=confidence,
    )


def compare_hybrid_limits(
    a: ArrayLike,
    b: ArrayLike,
    human: ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
    cluster: ArrayLike | None = None,
) -> Comparison:
    """Compare two metrics' limits of the hybrid correlation over the same bootstrap resamples of segments.

    A test on the hybrids themselves, such as Williams', finds any difference if only enough hybrids are drawn; this one
    asks whether other segments would show it too.

    Source: Koehn 2004 for pairing.

    ``a`` and ``b`` are the metrics' scores (systems, segments). Other arguments and errors: as for
    `hybrid_correlation_limit`.
    """
    settings(resamples=resamples, confidence=confidence)
    scores, clusters = _stack({"a": a, "b": b}, human, nan, cluster)
    values, draws, units = _limits(scores, resamples, seed, clusters)
    over = sampled_units("segments", clusters)
    method = f"difference of limits over hybrid systems, paired bootstrap over {over}"
    return compared(values[0], values[1], draws[0] - draws[1], scores.shape[2], method, confidence, units)


def _limits(scores: Array, resamples: int, seed: Seed, clusters: Clustered = None) -> tuple[list[float], Array, int]:
    """Return each metric's limit, its values (metrics, resamples) over what is resampled, and how much that is.

    ``scores`` are human scores and those of metrics (1 + metrics, systems, segments); ``clusters`` are documents, drawn
    instead of segments.
    """
    centred, squares = scores - np.nanmean(scores, axis=1, keepdims=True), np.nanmean(scores**2, axis=1)
    varying = clip_variance(np.nanmean(centred**2, axis=1), squares) > 0
    h, *metrics = np.where(varying[:, None], centred, 0.0)
    size = squares.sum(axis=-1)
    parts = np.stack([np.nanmean(z, axis=0) for z in (h * h, *(part for m in metrics for part in (h * m, m * m)))])
    total = parts.sum(axis=1)
    if (total[[0, *range(2, len(total), 2)]] <= NEGLIGIBLE * size).any():
        raise InputError("the systems have the same scores on every segment: hybrids of them do not differ")
    sums = [total, *(counts @ parts.T for counts in bootstrap_counts(resamples, parts.shape[1], seed, clusters))]
    limits = []
    for part in sums:
        variance_h, covariance, variance_m = part[..., :1], part[..., 1::2], part[..., 2::2]
        limits.append(ratio(covariance, variance_h, variance_m))
    units = drawn_units(parts.shape[1], clusters)
    return [float(value) for value in limits[0]], np.concatenate(limits[1:]).T, units


def _stack(
    metrics: Mapping[str, ArrayLike], human: ArrayLike, nan: NanPolicy, cluster: ArrayLike | None = None
) -> tuple[Array, Clustered]:
    """Return human and metric scores (1 + metrics, systems, segments), same cells missing, no empty segment.

    Beside them the document of each segment.
    """
    scores = np.stack(grids({"human": human, **metrics}, nan=nan))
    scored = ~np.isnan(scores[0]).all(axis=0)
    kept = None if cluster is None else np.asarray(cluster)[scored]
    return scores[:, :, scored], clusters_of(kept, int(scored.sum()))
