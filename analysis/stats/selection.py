"""Choosing a model by a metric: how often its favourite is that of human judgments, exactly and by sampling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.resample import CELLS, Seed, block_sizes
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
        hits_at_1_error: Monte Carlo standard error of hits_at_1; 0 for the closed form.
        mrr_error: the same of mrr.
        difference_error: the same of difference.
        n: systems.
        sample: systems in a sample.
        repeats: samples drawn; 0 for the closed form.
        method: in words.
    """

    hits_at_1: float
    mrr: float
    difference: float
    hits_at_1_error: float
    mrr_error: float
    difference_error: float
    n: int
    sample: int
    repeats: int
    method: str


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
            so many that exact averaging would take too long (thousands of equal scores); `sample_model_selection`
            draws samples instead.
    """
    m, h = _checked(metric_scores, human_scores, sample, nan)
    n, s = len(m), sample
    share = _Shares(n, s)
    below, tied = _ranks(m)
    # The best of the sample: sort by human score; the item at place i is the top of C(i, s - 1) samples.
    ordered = np.sort(h)
    best = float(ordered @ share(np.arange(n) + 1, np.arange(n)))
    # A tied item's place among its equals is uniform; sums of binomials over places telescope.
    chosen = share(below + tied, below) / tied
    worse, equal = _not_higher(m, h)  # with lower metric, with equal metric: others that human judgments do not prefer
    hits = float((share(worse + equal + 1, worse) / (equal + 1)).sum())
    return ModelSelection(
        hits_at_1=min(1.0, hits),  # rounding may exceed the limits by a hair
        mrr=min(1.0, _expected_reciprocal_rank(share, below, tied, worse, equal)),
        difference=max(0.0, best - float(h @ chosen)),
        hits_at_1_error=0.0,
        mrr_error=0.0,
        difference_error=0.0,
        n=n,
        sample=s,
        repeats=0,
        method="closed form",
    )


def sample_model_selection(
    metric_scores: ArrayLike,
    human_scores: ArrayLike,
    sample: int = 100,
    *,
    repeats: int = 100_000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> ModelSelection:
    """Estimate the same as `expected_model_selection` by drawing samples, as the paper did.

    Source: Zhang et al. 2020, section 4: 100 of 10,000 hybrid systems, 100,000 times.

    ``repeats`` samples are drawn, each without replacement, from ``seed``. Other arguments and errors: as for
    `expected_model_selection`, ties aside.
    """
    m, h = _checked(metric_scores, human_scores, sample, nan)
    if repeats < 2:
        raise InputError(f"repeats={repeats}: at least 2 are needed")
    rng = np.random.default_rng(seed)
    results = np.empty((3, repeats))
    done = 0
    for size in block_sizes(repeats, sample):
        subset = _subsets(size, sample, len(m), rng)
        # The draws come in no particular order of ties, so a random key decides among equal metric scores.
        scores, human = m[subset], h[subset]
        tied = scores == scores.max(axis=1, keepdims=True)
        pick = np.where(tied, rng.random(tied.shape), -1.0).argmax(axis=1)
        chosen = human[np.arange(size), pick]
        higher = np.count_nonzero(human > chosen[:, None], axis=1)
        results[:, done : done + size] = higher == 0, 1 / (1 + higher), human.max(axis=1) - chosen
        done += size
    hits, mrr, difference = (float(value) for value in results.mean(axis=1))
    errors = [float(value) for value in results.std(axis=1, ddof=1) / np.sqrt(repeats)]
    method = f"{repeats} random samples"
    return ModelSelection(hits, mrr, difference, errors[0], errors[1], errors[2], len(m), sample, repeats, method)


def _checked(metric: ArrayLike, human: ArrayLike, sample: int, nan: NanPolicy) -> tuple[Array, Array]:
    m, h = vectors({"metric_scores": metric, "human_scores": human}, nan=nan, minimum=1)
    if not 1 <= sample <= len(m):
        raise InputError(f"sample={sample}: it must lie between 1 and the number of systems, {len(m)}")
    return m, h


class _Shares:
    """(C(upper, s) - C(lower, s)) / C(n, s) by log-gamma: shares of samples whose top lies in a range of places."""

    def __init__(self, n: int, sample: int) -> None:
        self.sample = sample
        self.gammaln = need("scipy.special", "model selection").gammaln
        self.total = self.log_binomial(n, sample)

    def __call__(self, upper: NDArray[np.int64], lower: NDArray[np.int64]) -> Array:
        return self._share(upper) - self._share(lower)

    def _share(self, places: NDArray[np.int64]) -> Array:
        enough = places >= self.sample
        share: Array = np.where(
            enough, np.exp(self.log_binomial(np.where(enough, places, self.sample), self.sample) - self.total), 0.0
        )
        return share

    def log_binomial(self, n: NDArray[np.int64] | int, k: NDArray[np.int64] | int) -> Array:
        """Return log C(n, k)."""
        value: Array = self.gammaln(n + 1.0) - self.gammaln(k + 1.0) - self.gammaln(n - k + 1.0)
        return value


def _ranks(m: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each item how many have a lower score, and how many have its own (itself included)."""
    ordered = np.sort(m)
    below = np.searchsorted(ordered, m, side="left")
    return below, np.searchsorted(ordered, m, side="right") - below


def _not_higher(m: Array, h: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each item how many others are not preferred to it, with lower metric and with equal metric."""
    worse, equal = np.empty(len(m), dtype=np.int64), np.empty(len(m), dtype=np.int64)
    size = max(1, CELLS // len(m))
    for start in range(0, len(m), size):
        part = slice(start, start + size)
        allowed = h[None, :] <= h[part, None]
        worse[part] = np.count_nonzero(allowed & (m[None, :] < m[part, None]), axis=1)
        equal[part] = np.count_nonzero(allowed & (m[None, :] == m[part, None]), axis=1) - 1
    return worse, equal


def _expected_reciprocal_rank(
    share: _Shares,
    below: NDArray[np.int64],
    tied: NDArray[np.int64],
    worse: NDArray[np.int64],
    equal: NDArray[np.int64],
) -> float:
    """Return the mean of 1 / (human rank of the chosen item).

    If l items lie below the chosen one and b of them are preferred, the sum of 1 / (1 + preferred in the sample) over
    its C(l, s - 1) samples is (C(l + 1, s) - C(l - b, s)) / (b + 1).
    """
    preferred = below - worse
    alone = tied == 1
    total = float((share(below + 1, worse) / (preferred + 1))[alone].sum())
    rivals = tied - 1 - equal  # equal in the metric, and human judgments prefer them
    if int((tied * (rivals + 1))[~alone].sum()) > MAX_TIE_CELLS:
        raise InputError(
            f"up to {tied.max()} systems have the same metric score: too many ties for the closed form; "
            "sample_model_selection draws samples instead"
        )
    log_binomial = share.log_binomial
    for i in np.flatnonzero(~alone):
        # A random order of the tied: t of them end up below item i, r of its rivals among these (hypergeometric).
        t, r = np.arange(tied[i])[:, None], np.arange(rivals[i] + 1)[None, :]
        others = t - r
        possible = (others >= 0) & (others <= equal[i])
        others = np.where(possible, others, 0)
        log_p = log_binomial(rivals[i], r) + log_binomial(equal[i], others) - log_binomial(tied[i] - 1, t)
        p = np.where(possible, np.exp(log_p), 0.0) / tied[i]
        value = share(below[i] + t + 1, worse[i] + others) / (preferred[i] + r + 1)
        total += float((p * value).sum())
    return total


def _subsets(repeats: int, sample: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return random subsets (repeats, sample) of 0..n-1 without repetition.

    Numbers are drawn one after another and repetitions skipped, for all subsets at once; where the sample is most of
    everything, shuffling is quicker.
    """
    if 2 * sample > n:
        return rng.permuted(np.tile(np.arange(n), (repeats, 1)), axis=1)[:, :sample]
    subset = np.sort(rng.integers(n, size=(repeats, sample)), axis=1)
    while True:
        repeated = np.zeros(subset.shape, dtype=bool)
        repeated[:, 1:] = subset[:, 1:] == subset[:, :-1]
        rows = np.flatnonzero(repeated.any(axis=1))
        if not len(rows):
            return subset
        again = repeated[rows]
        part = subset[rows]
        part[again] = rng.integers(n, size=int(again.sum()))
        subset[rows] = np.sort(part, axis=1)
