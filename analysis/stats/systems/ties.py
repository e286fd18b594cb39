"""Does the metric order pairs of outputs as human judgments do? Pairwise accuracy with ties, calibrated; a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.resample import (
    Clustered,
    Seed,
    bootstrap_counts,
    compared,
    percentile_interval,
    permuted,
    sampled_units,
    swaps,
)
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.validate import clusters_of, grids, settings
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy, choice

Grouping = Literal["item", "sys", "none"]
ROUNDING = 1e-12  # two values of the statistic this close are the same one
HUMAN_ROUNDING = 1e-9  # means of human scores this close, as a share of the largest, are the same one
MOST_PAIRS = 2_000_000  # above, pairs are drawn at random
_OVER = {"item": "segments", "sys": "systems", "none": "all cells"}


@dataclass(frozen=True, kw_only=True, repr=False)
class TiedAccuracy(Estimate):
    """How often metric and human judgments agree on a pair of outputs, a tie being a verdict of its own.

    The estimate is acc_eq: (C + T_hm) / all pairs, mean over groups; its interval is over segments, at this epsilon.

    Attributes:
        tau_eq: (C + T_hm - D - T_h - T_m) / all pairs, mean over groups; always ``2 * acc_eq - 1``.
        epsilon: metric differences up to this size are ties.
        chance: what a score that says nothing can reach: calling every pair a tie, or none, whichever is better.
        concordant: pairs ordered alike, C.
        discordant: pairs ordered the opposite way, D.
        tied_human: pairs tied by human judgments only, T_h.
        tied_metric: pairs tied by the metric only, T_m.
        tied_both: pairs tied by both, T_hm.
        segments: segments with at least one pair.
    """

    tau_eq: float
    epsilon: float
    chance: float
    concordant: int
    discordant: int
    tied_human: int
    tied_metric: int
    tied_both: int
    segments: int


def pairwise_accuracy_with_ties(
    metric: ArrayLike,
    human: ArrayLike,
    *,
    epsilon: float | None,
    human_epsilon: float = 0.0,
    by: Grouping = "item",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
    cluster: ArrayLike | None = None,
) -> TiedAccuracy:
    """Return acc_eq and tau_eq, averaged over groups.

    Calibrated, epsilon is the one that maximises both: 0 or an observed difference, the smallest of equally good ones.
    The interval is that of the chosen epsilon: it leaves out the (small) optimism of choosing it on the same data.

    Source: Deutsch et al. 2023 ("Ties matter"), equations 1 to 3, section 3 for the groupings, 5 for calibration.

    Args:
        metric: scores (systems, segments).
        human: human scores (systems, segments).
        epsilon: metric differences of at most this size count as ties; None: calibrated on these data.
        human_epsilon: human differences of at most this size count as ties; those that rounding alone makes always do.
        by: pairs of systems within a segment (``item``), of segments within a system (``sys``), or of any two cells
            (``none``). Of more than two million pairs, as many are drawn at random.
        confidence: level of the interval.
        resamples: bootstrap resamples of segments.
        seed: of the bootstrap.
        nan: ``error``, or ``omit`` to leave out the system x segment cells where either misses a value.
        cluster: number of the document that each segment belongs to (segments,); whole documents are then drawn. None:
            segments are independent.

    Raises:
        InputError: if shapes differ, values are missing or infinite, epsilon is negative, or no group has a pair.
    """
    if epsilon is not None and not epsilon >= 0:
        raise InputError(f"epsilon={epsilon}: it must be 0 or more")
    settings(resamples=resamples, confidence=confidence)
    x, y = grids({"metric": metric, "human": human}, nan=nan)
    pairs = TiedPairs.of(x, y, by, human_epsilon)
    clusters = clusters_of(cluster, x.shape[1])
    epsilon = pairs.best_epsilon() if epsilon is None else epsilon
    tied, alike = np.abs(pairs.metric) <= epsilon, pairs.alike(epsilon)
    drawn_alike = pairs.resampled(alike[None], resamples, seed, clusters)[0]
    acc_eq = pairs.mean(alike)
    human_tied = pairs.human == 0
    tie_share = pairs.mean(human_tied)
    concordant = int((alike & ~tied).sum())
    drawn = "" if pairs.share == 1 else f", {pairs.share:.2%} of the pairs"
    return TiedAccuracy(
        estimate=acc_eq,
        ci=percentile_interval(drawn_alike, confidence, pairs.units(clusters)),
        tau_eq=2 * acc_eq - 1,
        epsilon=float(epsilon),
        chance=max(tie_share, (1 - tie_share) / 2),
        concordant=concordant,
        discordant=int((~tied & ~human_tied).sum()) - concordant,
        tied_human=int((human_tied & ~tied).sum()),
        tied_metric=int((tied & ~human_tied).sum()),
        tied_both=int((tied & human_tied).sum()),
        n=len(pairs.human),
        segments=pairs.units(),
        method=f"acc_eq, mean over {_OVER[by]}, bootstrap over {sampled_units('segments', clusters)}{drawn}",
        confidence=confidence,
    )


def compare_ties(
    a: ArrayLike,
    b: ArrayLike,
    human: ArrayLike,
    *,
    epsilon_a: float | None = None,
    epsilon_b: float | None = None,
    human_epsilon: float = 0.0,
    by: Grouping = "item",
    swap: Literal["segments", "pairs"] = "segments",
    test: Literal["permutation", "bootstrap"] = "permutation",
    confidence: float = 0.95,
    resamples: int = 1000,
    plus_one: bool = False,
    seed: Seed = 1,
    nan: NanPolicy = "error",
    cluster: ArrayLike | None = None,
) -> Comparison:
    """Test whether metric a has a higher acc_eq than metric b by swapping their verdicts at random.

    Each metric keeps its own epsilon, so scores cannot be swapped; verdicts (right or wrong on a pair) can. The
    verdicts on the pairs of one segment depend on each other, so that whole segments trade places. p is the share of
    permutations whose difference reaches the observed one, without +1, as published for PERM-BOTH. Where a pair takes
    in two segments (``by`` other than ``item``), verdicts cannot be swapped by segments: the test is then the paired
    bootstrap over segments.

    Source: Deutsch, Dror & Roth 2021 (permutations), on the pairs of Deutsch et al. 2023.

    Args:
        a: scores of the first metric (systems, segments).
        b: scores of the second.
        human: human scores (systems, segments).
        epsilon_a: the first metric's largest tie; None: calibrated on these data.
        epsilon_b: the second metric's.
        human_epsilon: as `pairwise_accuracy_with_ties`.
        by: which pairs, as there.
        swap: ``segments``, or ``pairs``, each by itself, which WMT's tool does and which finds a difference between
            equally good metrics in every fifth comparison instead of every twentieth.
        test: ``permutation``, or ``bootstrap``: paired, over segments.
        confidence: level of the difference's bootstrap interval over segments.
        resamples: permutations, and resamples of the interval.
        plus_one: (b + 1) / (n + 1) instead of the plain share.
        seed: of the permutations.
        nan: ``error``, or ``omit`` to leave out cells that miss any of the three.
        cluster: as `pairwise_accuracy_with_ties`; documents trade places too.

    Returns:
        Comparison; ``n`` counts pairs.

    Raises:
        InputError: if shapes differ, values are missing or infinite, or no group has a pair.
    """
    choice("swap", swap, ("segments", "pairs"))
    settings(resamples=resamples, confidence=confidence)
    x, y, h = grids({"a": a, "b": b, "human": human}, nan=nan)
    results = [TiedPairs.of(z, h, by, human_epsilon) for z in (x, y)]
    both = zip(results, (epsilon_a, epsilon_b), strict=True)
    right = np.stack([pair.alike(pair.best_epsilon() if given is None else given) for pair, given in both])
    pairs = results[0]
    first, second = (pairs.mean(alike) for alike in right)
    clusters = clusters_of(cluster, h.shape[1])
    drawn, units = pairs.resampled(right, resamples, seed, clusters), pairs.units(clusters)
    over = sampled_units("segments", clusters)
    if by != "item" or test == "bootstrap":
        method = f"difference of acc_eq ({_OVER[by]}), paired bootstrap over {over}"
        return compared(first, second, drawn[0] - drawn[1], len(h), method, confidence, units)
    difference = (right[0].astype(np.float64) - right[1]) * pairs.weight
    if swap == "segments":
        difference = np.bincount(pairs.first if clusters is None else clusters[pairs.first], weights=difference)
    matters = difference[difference != 0]
    draws = np.concatenate([np.where(mask, -1.0, 1.0) @ matters for mask in swaps(resamples, len(matters), seed)])
    ends = percentile_interval(drawn[0] - drawn[1], confidence, units)
    method = f"difference of acc_eq, permutation of {over if swap == 'segments' else swap}"
    n = len(pairs.human)
    return permuted(first, second, draws, n, method, plus_one=plus_one, ends=ends, confidence=confidence)


@dataclass(frozen=True)
class TiedPairs:
    """Pairs of cells within groups.

    Attributes:
        metric: difference of the metric's scores (pairs,).
        human: difference of the human scores, 0 for a tie (pairs,).
        first: column of the first cell's segment (pairs,).
        second: column of the second's: the same within segments (pairs,).
        weight: 1 / (pairs of the group * groups) (pairs,).
        columns: segments of the matrices.
        share: of the pairs that were drawn.
    """

    metric: Array
    human: Array
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    weight: Array
    columns: int
    share: float

    @classmethod
    def of(
        cls,
        metric: Array,
        human: Array,
        by: Grouping = "item",
        human_epsilon: float = 0.0,
        rounding: float = HUMAN_ROUNDING,
    ) -> TiedPairs:
        """Return the pairs of matrices (systems, segments) that miss the same cells.

        Human scores as close as ``rounding``, a share of the largest, are ties; WMT's tool has 0.
        """
        choice("by", by, _OVER)
        systems, columns = metric.shape
        present, share = ~np.isnan(metric), 1.0
        if by == "item":
            i, j = np.triu_indices(systems, k=1)
            pair, group = np.nonzero(present[i] & present[j])
            left, right = i[pair] * columns + group, j[pair] * columns + group
        else:
            left, right, group, share = _far_pairs(present, by)
        if not len(left):
            raise InputError("no group has two scored outputs: there is no pair to order")
        first, second = (group, group) if by == "item" else (left % columns, right % columns)
        _, number, counts = np.unique(group, return_inverse=True, return_counts=True)
        x, y = (z.ravel()[left] - z.ravel()[right] for z in (metric, human))
        y[np.abs(y) <= max(human_epsilon, rounding * float(np.nanmax(np.abs(human))))] = 0
        return cls(x, y, first, second, 1.0 / (counts[number] * len(counts)), columns, share)

    def units(self, clusters: Clustered = None) -> int:
        """Return how many segments have a pair, or documents, where clusters (segments,) are those."""
        used = np.concatenate([self.first, self.second])
        return len(np.unique(used if clusters is None else clusters[used]))

    def alike(self, epsilon: float) -> NDArray[np.bool_]:
        """Return which pairs the metric, with ties up to epsilon, judges as human judgments do (pairs,)."""
        tied = np.abs(self.metric) <= epsilon
        return np.asarray(np.where(tied, self.human == 0, np.sign(self.metric) == np.sign(self.human)))

    def mean(self, right: NDArray[np.bool_]) -> float:
        """Return the mean over groups of the share of pairs that are right."""
        return float(self.weight[right].sum())

    def best_epsilon(self) -> float:
        """Return the smallest epsilon with the highest acc_eq."""
        size = np.abs(self.metric)
        agrees = (np.sign(self.metric) == np.sign(self.human)).astype(np.float64)
        order = np.argsort(size, kind="stable")
        # Raising epsilon past a pair's difference makes the pair a tie: right if it is one for human judgments.
        gain = ((self.human == 0) - agrees) * self.weight
        value = (agrees * self.weight).sum() + np.cumsum(gain[order])
        ends = np.append(np.flatnonzero(np.diff(size[order])), len(order) - 1)  # the last pair of each size
        candidates, values = size[order][ends], value[ends]
        if candidates[0] > 0:
            candidates, values = np.append(0.0, candidates), np.append((agrees * self.weight).sum(), values)
        return float(candidates[np.argmax(values >= values.max() - ROUNDING)])

    def resampled(self, right: NDArray[np.bool_], resamples: int, seed: Seed, clusters: Clustered = None) -> Array:
        """Return the acc_eq of verdicts (metrics, pairs) in resamples of segments: (metrics, resamples).

        A pair of two segments occurs as often as the product of their counts says, a pair within one as often as it.
        Documents are drawn instead where ``clusters`` (segments,) say to which a segment belongs.
        """
        n = self.columns
        if (self.first == self.second).all():
            hits = np.stack([np.bincount(self.first, weights=item * self.weight, minlength=n) for item in right])
            every = np.bincount(self.first, weights=self.weight, minlength=n)
            used = np.flatnonzero(every)  # a segment without a pair is not drawn
            of = None if clusters is None else np.unique(clusters[used], return_inverse=True)[1].reshape(-1)
            draws = bootstrap_counts(resamples, len(used), seed, of)
            return np.concatenate([(c @ hits[:, used].T) / (c @ every[used])[:, None] for c in draws]).T
        cell = self.first * n + self.second
        both = self.first != self.second

        def sums(weights: Array) -> tuple[Array, Array]:
            across = np.bincount(cell[both], weights=weights[both], minlength=n * n).reshape(n, n)
            within = np.bincount(self.first[~both], weights=weights[~both], minlength=n)
            # NumPy's stubs call all counts integers, though weighted ones are float64.
            return across, within  # type: ignore[return-value]

        tables = [sums(self.weight), *(sums(item * self.weight) for item in right)]
        blocks = []
        for counts in bootstrap_counts(resamples, n, seed, clusters):
            totals = [((counts @ across) * counts).sum(axis=1) + counts @ within for across, within in tables]
            blocks.append(np.stack(totals[1:]) / totals[0])
        return np.concatenate(blocks, axis=1)


def _far_pairs(
    present: NDArray[np.bool_], by: Grouping
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], float]:
    """Return pairs of cells, numbered by systems, within systems or anywhere: left, right, group; and share drawn."""
    cells = [np.flatnonzero(row) + k * present.shape[1] for k, row in enumerate(present)]
    groups = cells if by == "sys" else [np.concatenate(cells)]
    total = sum(len(group) * (len(group) - 1) // 2 for group in groups)
    share = min(1.0, MOST_PAIRS / max(total, 1))
    rng = np.random.default_rng(1)
    lefts, rights, of = [], [], []
    for k, group in enumerate(groups):
        n = len(group)
        if share == 1:
            i, j = np.triu_indices(n, k=1)
        else:
            i, j = (rng.integers(n, size=int(share * n * (n - 1) / 2)) for _ in range(2))
            i, j = i[i != j], j[i != j]
        lefts.append(group[i])
        rights.append(group[j])
        of.append(np.full(len(i), k))
    return np.concatenate(lefts), np.concatenate(rights), np.concatenate(of), share
