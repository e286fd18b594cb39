"""Does the metric order pairs as people do? Pairwise accuracy with ties, calibration of ties, soft pairwise accuracy.

Segment level: pairs of systems on one segment (`pairwise_accuracy_with_ties`, `calibrate_ties`). System level: pairs of
systems by the confidence with which they differ (`soft_pairwise_accuracy`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.resample import Seed, block_sizes, bootstrap_counts, percentile_interval, permutation_p
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.validate import grids, settings
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy, choice
from bsx.support.optional import need

Method = Literal["permutation", "wmt", "normal"]
ROUNDING = 1e-12  # two values of the statistic this close are the same one


@dataclass(frozen=True)
class TiedAccuracy:
    """How often metric and people agree on a pair of systems, a tie being a verdict of its own.

    Attributes:
        acc_eq: (C + T_hm) / all pairs, mean over segments.
        low: lower end of acc_eq's bootstrap interval over segments, at this epsilon.
        high: upper end.
        tau_eq: (C + T_hm - D - T_h - T_m) / all pairs, mean over segments; always ``2 * acc_eq - 1``.
        epsilon: metric differences up to this size are ties.
        concordant: pairs ordered alike, C.
        discordant: pairs ordered the opposite way, D.
        tied_human: pairs tied by people only, T_h.
        tied_metric: pairs tied by the metric only, T_m.
        tied_both: pairs tied by both, T_hm.
        n: all pairs.
        segments: segments with at least one pair.
        method: in words.
        confidence: level of the interval.
    """

    acc_eq: float
    low: float
    high: float
    tau_eq: float
    epsilon: float
    concordant: int
    discordant: int
    tied_human: int
    tied_metric: int
    tied_both: int
    n: int
    segments: int
    method: str
    confidence: float = 0.95


def pairwise_accuracy_with_ties(
    metric: ArrayLike,
    human: ArrayLike,
    *,
    epsilon: float = 0.0,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> TiedAccuracy:
    """Return acc_eq and tau_eq, averaged over segments.

    Source: Deutsch et al. 2023 ("Ties matter"), equations 1 to 3, grouped by item.

    Args:
        metric: scores (systems, segments).
        human: human scores (systems, segments).
        epsilon: metric differences of at most this size count as ties; human scores tie only if equal.
        confidence: level of the interval.
        resamples: bootstrap resamples of segments.
        seed: of the bootstrap.
        nan: ``error``, or ``omit`` to leave out the system x segment cells where either misses a value.

    Raises:
        InputError: if shapes differ, values are missing or infinite, epsilon is negative, or no segment has a pair.
    """
    if not epsilon >= 0:
        raise InputError(f"epsilon={epsilon}: it must be 0 or more")
    settings(resamples=resamples, confidence=confidence)
    pairs = _Pairs.of(*grids({"metric": metric, "human": human}, nan=nan))
    tied, alike = np.abs(pairs.metric) <= epsilon, pairs.alike(epsilon)
    by_segment = np.bincount(pairs.segment, weights=alike * pairs.weight)  # each segment's acc_eq
    draws = [(c @ by_segment) / len(by_segment) for c in bootstrap_counts(resamples, len(by_segment), seed)]
    low, high = percentile_interval(np.concatenate(draws), confidence)
    acc_eq = float(by_segment.mean())
    human_tied = pairs.human == 0
    concordant = int((alike & ~tied).sum())
    return TiedAccuracy(
        acc_eq=acc_eq,
        low=low,
        high=high,
        tau_eq=2 * acc_eq - 1,
        epsilon=float(epsilon),
        concordant=concordant,
        discordant=int((~tied & ~human_tied).sum()) - concordant,
        tied_human=int((human_tied & ~tied).sum()),
        tied_metric=int((tied & ~human_tied).sum()),
        tied_both=int((tied & human_tied).sum()),
        n=len(pairs.human),
        segments=len(by_segment),
        method="acc_eq, mean over segments, bootstrap over segments",
        confidence=confidence,
    )


def calibrate_ties(
    metric: ArrayLike,
    human: ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> TiedAccuracy:
    """Return acc_eq at the epsilon that maximises it: 0 or an observed difference, the smallest of equally good ones.

    All pairs are used. The same epsilon maximises tau_eq. The interval is that of the chosen epsilon: it leaves out the
    (small) optimism of choosing it on the same data.

    Source: Deutsch et al. 2023, section 5 (tie calibration).

    Args and errors: as `pairwise_accuracy_with_ties`.
    """
    x, y = grids({"metric": metric, "human": human}, nan=nan)
    pairs = _Pairs.of(x, y)
    size = np.abs(pairs.metric)
    agrees = (np.sign(pairs.metric) == np.sign(pairs.human)).astype(np.float64)
    order = np.argsort(size, kind="stable")
    # Raising epsilon past a pair's difference makes the pair a tie: right if people tie it, wrong otherwise.
    gain = ((pairs.human == 0) - agrees) * pairs.weight
    value = (agrees * pairs.weight).sum() + np.cumsum(gain[order])
    ends = np.append(np.flatnonzero(np.diff(size[order])), len(order) - 1)  # the last pair of each size
    candidates, values = size[order][ends], value[ends]
    if candidates[0] > 0:
        candidates, values = np.append(0.0, candidates), np.append((agrees * pairs.weight).sum(), values)
    best = float(candidates[np.argmax(values >= values.max() - ROUNDING * pairs.segments)])
    return pairwise_accuracy_with_ties(
        x, y, epsilon=best, confidence=confidence, resamples=resamples, seed=seed, nan="omit"
    )


def compare_ties(
    a: ArrayLike,
    b: ArrayLike,
    human: ArrayLike,
    *,
    epsilon_a: float | None = None,
    epsilon_b: float | None = None,
    resamples: int = 1000,
    plus_one: bool = False,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Comparison:
    """Test whether metric a has a higher acc_eq than metric b by swapping their verdicts on pairs at random.

    Each metric keeps its own epsilon, so scores cannot be swapped; verdicts (right or wrong on a pair) can. p is the
    share of permutations whose difference reaches the observed one, without +1, as published for PERM-BOTH.

    Source: Deutsch, Dror & Roth 2021 (PERM-BOTH), on the pairs of Deutsch et al. 2023.

    Args:
        a: scores of the first metric (systems, segments).
        b: scores of the second.
        human: human scores (systems, segments).
        epsilon_a: the first metric's largest tie; None: calibrated on these data.
        epsilon_b: the second metric's.
        resamples: permutations.
        plus_one: (b + 1) / (n + 1) instead of the plain share.
        seed: of the permutations.
        nan: ``error``, or ``omit`` to leave out cells that miss any of the three.

    Returns:
        Comparison without an interval (NaN); ``n`` counts pairs.

    Raises:
        InputError: if shapes differ, values are missing or infinite, or no segment has a pair.
    """
    settings(resamples=resamples)
    x, y, h = grids({"a": a, "b": b, "human": human}, nan=nan)
    right, values, pairs = [], [], 0
    for scores, epsilon in ((x, epsilon_a), (y, epsilon_b)):
        if epsilon is None:
            epsilon = calibrate_ties(scores, h, resamples=1, nan="omit").epsilon
        found = _Pairs.of(scores, h)
        right.append(found.alike(epsilon) * found.weight / found.segments)
        values.append(float(right[-1].sum()))
        pairs = len(found.human)
    difference = right[0] - right[1]
    matters = difference[difference != 0]
    draws = [block @ matters for block in _signs(resamples, len(matters), np.random.default_rng(seed))]
    observed = values[0] - values[1]
    permuted, nothing = np.concatenate(draws), float("nan")
    return Comparison(
        a=values[0],
        b=values[1],
        difference=observed,
        low=nothing,
        high=nothing,
        statistic=observed,
        p=permutation_p(permuted, observed, plus_one=plus_one),
        p_two_sided=permutation_p(np.abs(permuted), abs(observed), plus_one=plus_one),
        n=pairs,
        method="difference of acc_eq, PERM-BOTH of pairs",
    )


@dataclass(frozen=True)
class _Pairs:
    """All pairs of systems within segments.

    Attributes:
        metric: difference of the metric's scores (pairs,).
        human: difference of the human scores (pairs,).
        segment: number of the segment, counted among those that have pairs (pairs,).
        weight: 1 / pairs of the segment (pairs,).
        segments: how many segments.
    """

    metric: Array
    human: Array
    segment: NDArray[np.int64]
    weight: Array
    segments: int

    def alike(self, epsilon: float) -> NDArray[np.bool_]:
        """Return which pairs the metric, with ties up to epsilon, judges as people do (pairs,)."""
        tied = np.abs(self.metric) <= epsilon
        right: NDArray[np.bool_] = np.where(tied, self.human == 0, np.sign(self.metric) == np.sign(self.human))
        return right

    @classmethod
    def of(cls, metric: Array, human: Array) -> _Pairs:
        i, j = np.triu_indices(len(metric), k=1)
        present = ~np.isnan(metric)
        pair, column = np.nonzero(present[i] & present[j])
        if not len(pair):
            raise InputError("no segment has scores of two systems: there is no pair to order")
        i, j = i[pair], j[pair]
        _, segment, counts = np.unique(column, return_inverse=True, return_counts=True)
        x, y = metric[i, column] - metric[j, column], human[i, column] - human[j, column]
        return cls(x, y, segment.astype(np.int64), 1.0 / counts[segment], len(counts))


def soft_pairwise_accuracy(
    metric: ArrayLike,
    human: ArrayLike,
    *,
    method: Method = "permutation",
    permutations: int = 1000,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Estimate:
    """Return soft pairwise accuracy: 1 - mean |p_human - p_metric| over pairs of systems.

    p is the one-sided p-value of a paired permutation test on segment scores; the same permutations serve all pairs,
    and people and metric alike.

    Source: Thompson, Mathur, Deutsch & Khayrallah 2024, equations 2 and 3.

    Args:
        metric: scores (systems, segments).
        human: human scores (systems, segments).
        method: ``permutation`` draws signs from ``seed``; ``normal`` needs none: p is the upper tail of
            sum(d) / sqrt(sum(d²)), the limit of many segments; ``wmt`` takes generator, single precision and means of
            WMT's tool mt-metrics-eval, whose figures it repeats for 1,000 permutations if systems and segments are in
            the same order (``seed`` is not used, every cell is needed).
        permutations: random sign vectors.
        confidence: level of the interval.
        resamples: bootstrap resamples of segments, for the interval; they take the p-values of ``normal``. Resampled
            systems differ more than the observed ones do, so the interval may lie low.
        seed: of permutations and bootstrap.
        nan: ``error``, or ``omit``: a pair of systems is then compared on the segments that both have.

    Raises:
        InputError: if shapes differ, values are missing or infinite, two systems share no segment, or cells are missing
            with ``method="wmt"``.
    """
    choice("method", method, ("permutation", "wmt", "normal"))
    settings(resamples=min(resamples, permutations), confidence=confidence)
    x, y = grids({"metric": metric, "human": human}, nan=nan)
    if method == "wmt" and np.isnan(x).any():
        raise InputError("method='wmt' needs every system's score of every segment: drop segments or use 'permutation'")
    i, j = np.triu_indices(len(x), k=1)
    differences = [z[i] - z[j] for z in (x, y)]  # each (pairs, segments)
    lonely = np.isnan(differences[0]).all(axis=1)
    if lonely.any():
        first = int(np.argmax(lonely))
        raise InputError(f"systems {i[first]} and {j[first]} share no segment, so they cannot be compared")
    differences = [np.nan_to_num(d, nan=0.0) for d in differences]  # adds nothing to any sum
    rng = np.random.default_rng(seed)
    if method == "normal":
        p = [_upper_tail(d.sum(axis=1), (d * d).sum(axis=1)) for d in differences]
    elif method == "wmt":
        p = _wmt_p_values(x, y, permutations)
    else:
        p = _p_values(differences, _signs(permutations, x.shape[1], rng))
    draws = []
    for counts in bootstrap_counts(resamples, x.shape[1], rng):
        tails = [_upper_tail(counts @ d.T, counts @ (d * d).T) for d in differences]
        draws.append(1 - np.abs(tails[0] - tails[1]).mean(axis=1))
    low, high = percentile_interval(np.concatenate(draws), confidence)
    value = float(1 - np.abs(p[0] - p[1]).mean())
    described = {"permutation": f"{permutations} permutations", "wmt": f"WMT's {permutations} permutations"}
    words = f"soft pairwise accuracy, {described.get(method, 'normal limit')}, bootstrap over segments"
    return Estimate(value, low, high, float("nan"), len(x), words, confidence)


def _signs(permutations: int, segments: int, rng: np.random.Generator) -> Iterator[Array]:
    for size in block_sizes(permutations, segments):
        yield np.where(rng.random((size, segments)) < 0.5, -1.0, 1.0)


def _p_values(differences: list[Array], signs: Iterator[Array]) -> list[Array]:
    """Return the one-sided p-value of each pair for each of the matrices of differences (pairs, segments)."""
    reached = [np.zeros(len(d)) for d in differences]
    drawn = 0
    for block in signs:
        drawn += len(block)
        for d, count in zip(differences, reached, strict=True):
            slack = 1e-12 * np.abs(d).sum(axis=1)
            count += (block @ d.T >= d.sum(axis=1) - slack).sum(axis=0)
    return [count / drawn for count in reached]


def _wmt_p_values(x: Array, y: Array, permutations: int) -> list[Array]:
    """Return one-sided p-values as mt-metrics-eval computes them: its generator, single precision, means."""
    draws = np.random.default_rng(4).random((permutations, x.shape[1]), dtype=np.float32)
    signs = np.rint(draws) * np.float32(2) - np.float32(1)
    i, j = np.triu_indices(len(x), k=1)
    p_values = []
    for scores in (x.astype(np.float32), y.astype(np.float32)):
        observed, permuted = scores.mean(axis=1), signs @ scores.T / np.float32(scores.shape[1])
        reached = permuted[:, i] - permuted[:, j] >= observed[i] - observed[j]
        p_values.append(reached.mean(axis=0))
    return p_values


def _upper_tail(total: Array, squares: Array) -> Array:
    """Return P(Z >= total / sqrt(squares)), and 1 where all differences are zero, as permutations would give."""
    sf = need("scipy.stats", "soft pairwise accuracy").norm.sf
    with np.errstate(invalid="ignore", divide="ignore"):
        p: Array = np.where(squares > 0, sf(total / np.sqrt(squares)), 1.0)
    return p
