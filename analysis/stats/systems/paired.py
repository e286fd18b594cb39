"""Is one system better than another under a metric? Paired bootstrap and approximate randomisation of segments.

Works for any metric that has scores of segments, and for corpus-level metrics such as BLEU through their sufficient
statistics: give the statistics of each segment and a function from their means to the score.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.stats.resample import Seed, bootstrap_counts, percentile_interval, permuted, swaps
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.validate import settings, vectors
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy

Aggregate = Callable[[Array], Array]  # means of sufficient statistics (…, k) -> scores (…,)


def bootstrap_systems(
    a: ArrayLike,
    b: ArrayLike,
    *,
    aggregate: Aggregate | None = None,
    higher_is_better: bool = True,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Comparison:
    """Compare two systems' scores over the same bootstrap resamples of segments.

    The resampled differences are centred on their mean, which gives their spread if the systems were equal; p is the
    share that reaches the observed difference, (b + 1) / (n + 1). sacreBLEU centres absolute differences, which for a
    clear difference is the one-sided p here.

    Source: Koehn 2004; Riezler & Maxwell 2005 for the shift.

    Args:
        a: metric scores of the first system's segments (n,), or sufficient statistics (n, k) with ``aggregate``.
        b: the second system's, same shape, same segments.
        aggregate: from the mean statistics over segments (…, k) to scores (…,); None: the mean of segment scores.
        higher_is_better: False for error rates such as TER: p then speaks of a being lower.
        confidence: level of the difference's interval.
        resamples: how many.
        seed: of the draws.
        nan: ``error``, or ``omit`` to leave out segments that miss a value.

    Returns:
        Comparison; ``p`` one-sided for "a better than b", ``p_two_sided`` for "they differ".

    Raises:
        InputError: if shapes differ, values are missing or infinite, or there are under 2 segments.
    """
    settings(resamples=resamples, confidence=confidence)
    x, y, score = _prepared(a, b, aggregate, nan)
    n = len(x)
    draws = np.concatenate([score(c @ x / n) - score(c @ y / n) for c in bootstrap_counts(resamples, n, seed)])
    low, high = percentile_interval(draws, confidence)
    return _comparison(x, y, score, draws - draws.mean(), higher_is_better, (low, high), "bootstrap", confidence)


def randomise_systems(
    a: ArrayLike,
    b: ArrayLike,
    *,
    aggregate: Aggregate | None = None,
    higher_is_better: bool = True,
    resamples: int = 10_000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Comparison:
    """Compare two systems by letting segments trade places between them at random.

    p is the share of permutations whose difference reaches the observed one, (b + 1) / (n + 1).

    Source: Noreen 1989; Riezler & Maxwell 2005.

    Args, returns and errors: as `bootstrap_systems`, without an interval (NaN).
    """
    settings(resamples=resamples)
    x, y, score = _prepared(a, b, aggregate, nan)
    n = len(x)
    draws = []
    for mask in swaps(resamples, n, seed):
        moved = mask.astype(np.float64) @ (y - x)
        draws.append(score((x.sum(axis=0) + moved) / n) - score((y.sum(axis=0) - moved) / n))
    nowhere = (float("nan"), float("nan"))
    return _comparison(x, y, score, np.concatenate(draws), higher_is_better, nowhere, "approximate randomisation", 0.95)


def _prepared(
    a: ArrayLike, b: ArrayLike, aggregate: Aggregate | None, nan: NanPolicy
) -> tuple[Array, Array, Aggregate]:
    """Return both systems as checked (n, k) and the function from means (…, k) to scores."""
    if aggregate is None:
        x, y = vectors({"a": a, "b": b}, nan=nan, minimum=2)
        return x[:, None], y[:, None], lambda means: means[..., 0]
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.ndim != 2 or x.shape != y.shape:
        raise InputError(f"with aggregate, a and b must be (segments, statistics) alike, not {x.shape} and {y.shape}")
    names = {f"{side}[:, {k}]": z[:, k] for side, z in (("a", x), ("b", y)) for k in range(x.shape[1])}
    columns = vectors(names, nan=nan, minimum=2)
    return np.stack(columns[: x.shape[1]], axis=1), np.stack(columns[x.shape[1] :], axis=1), aggregate


def _comparison(
    x: Array,
    y: Array,
    score: Aggregate,
    null: Array,
    higher_is_better: bool,
    interval: tuple[float, float],
    test: str,
    confidence: float,
) -> Comparison:
    """Return the result, given the differences (resamples,) that chance alone would give."""
    first, second = float(score(x.mean(axis=0))), float(score(y.mean(axis=0)))
    method, sign = f"difference of systems, paired {test} of segments", 1 if higher_is_better else -1
    return permuted(first, second, null, len(x), method, sign=sign, ends=interval, confidence=confidence)
