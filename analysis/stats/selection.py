"""Choosing a model by a metric: how often its favourite is that of human judgments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.resample import CELLS
from bsx.analysis.stats.validate import vectors
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy
from bsx.support.optional import need
from bsx.support.result import Shown

MAX_TIE_CELLS = 200_000_000


@dataclass(frozen=True, repr=False)
class ModelSelection(Shown):
    """What choosing the metric's best of a random sample of systems yields.

    Attributes:
        hits_at_1: probability that no system in the sample has a higher human score than the chosen one.
        mrr: mean of 1 / (human rank of the chosen one in the sample); rank 1 + systems with a higher human score.
        difference: mean human score lost, best in the sample less the chosen one; published tables show 100 times this.
        n: systems.
        sample: systems in a sample.
    """

    hits_at_1: float
    mrr: float
    difference: float
    n: int
    sample: int


def expected_model_selection(
    metric_scores: ArrayLike, human_scores: ArrayLike, sample: int = 100, *, nan: NanPolicy = "error"
) -> ModelSelection:
    """Return the exact expectation over all samples of systems, by counting; no random numbers.

    Systems tied in the metric are chosen with equal probability; one tied with the best by human judgments is a hit.
    Both are exact here, not approximated. For s of N systems drawn without replacement, a system with l others below it
    in the metric is chosen from C(l, s - 1) of the C(N, s) samples; the other quantities follow by the same counting.

    Source: the model selection of Zhang et al. 2020, section 4 (100 of 10,000 hybrid systems), in closed form.

    Args:
        metric_scores: (n,), higher is better.
        human_scores: (n,), higher is better.
        sample: systems to choose from, 1 to n.
        nan: ``error``, or ``omit`` to leave out systems that miss a score.

    Raises:
        InputError: if sizes differ, scores are missing or infinite, the sample does not fit, or ties in the metric are
            so many that exact averaging would take too long (thousands of equal scores).
    """
    m, h = vectors({"metric_scores": metric_scores, "human_scores": human_scores}, nan=nan, minimum=1)
    n, s = len(m), sample
    if not 1 <= s <= n:
        raise InputError(f"sample={sample}: it must lie between 1 and the number of systems, {n}")
    share = partial(_share, n=n, sample=s)
    by_metric = np.sort(m)
    below = np.searchsorted(by_metric, m, side="left")  # how many have a lower score than each item
    tied = np.searchsorted(by_metric, m, side="right") - below  # how many have its own, itself included
    # The best of the sample: sort by human score; the item at place i is the top of C(i, s - 1) samples.
    ordered = np.sort(h)
    best = float(ordered @ share(np.arange(n) + 1, np.arange(n)))
    # A tied item's place among its equals is uniform; sums of binomials over places telescope.
    chosen = share(below + tied, below) / tied
    # Others that human judgments do not prefer to an item, with lower metric and with equal metric.
    worse, equal = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    size = max(1, CELLS // n)
    for start in range(0, n, size):
        part = slice(start, start + size)
        allowed = h[None, :] <= h[part, None]
        worse[part] = np.count_nonzero(allowed & (m[None, :] < m[part, None]), axis=1)
        equal[part] = np.count_nonzero(allowed & (m[None, :] == m[part, None]), axis=1) - 1
    hits = float((share(worse + equal + 1, worse) / (equal + 1)).sum())
    # If l items lie below the chosen one and b of them are preferred, the sum of 1 / (1 + preferred in the sample) over
    # its C(l, s - 1) samples is (C(l + 1, s) - C(l - b, s)) / (b + 1).
    preferred, alone = below - worse, tied == 1
    mrr = float((share(below + 1, worse) / (preferred + 1))[alone].sum())
    rivals = tied - 1 - equal  # equal in the metric, and human judgments prefer them
    if int((tied * (rivals + 1))[~alone].sum()) > MAX_TIE_CELLS:
        raise InputError(
            f"up to {tied.max()} systems have the same metric score: too many ties for the closed form; "
            "take fewer systems, or hybrids"
        )
    for i in np.flatnonzero(~alone):
        # A random order of the tied: t of them end up below item i, r of its rivals among these (hypergeometric).
        t, r = np.arange(tied[i])[:, None], np.arange(rivals[i] + 1)[None, :]
        others = t - r
        possible = (others >= 0) & (others <= equal[i])
        others = np.where(possible, others, 0)
        log_p = _log_binomial(rivals[i], r) + _log_binomial(equal[i], others) - _log_binomial(tied[i] - 1, t)
        p = np.where(possible, np.exp(log_p), 0.0) / tied[i]
        mrr += float((p * share(below[i] + t + 1, worse[i] + others) / (preferred[i] + r + 1)).sum())
    return ModelSelection(
        hits_at_1=min(1.0, hits),  # rounding may exceed the limits by a hair
        mrr=min(1.0, mrr),
        difference=max(0.0, best - float(h @ chosen)),
        n=n,
        sample=s,
    )


def _log_binomial(n: Array | NDArray[np.int64] | int, k: Array | NDArray[np.int64] | int) -> Array:
    """Return log C(n, k)."""
    gammaln = need("scipy.special", "model selection").gammaln
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def _share(upper: NDArray[np.int64], lower: NDArray[np.int64], n: int, sample: int) -> Array:
    """Return (C(upper, s) - C(lower, s)) / C(n, s): the share of samples whose top lies in a range of places."""

    def below(places: NDArray[np.int64]) -> Array:
        enough = places >= sample
        logs = _log_binomial(np.where(enough, places, sample), sample) - _log_binomial(n, sample)
        return np.where(enough, np.exp(logs), 0.0)

    return below(upper) - below(lower)
