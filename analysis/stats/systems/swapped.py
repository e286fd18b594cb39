"""Many metrics under one statistic, and what swaps of any two would make of their difference: WMT's permutation tests.

Each function takes scores of all metrics of one task (metrics, …), human scores, the number of draws and the seed of
the swaps. All pairs of metrics share one set of swaps, so that sums over what is swapped are made once for each metric,
not for each pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from bsx.analysis.stats.resample import Seed, swaps
from bsx.analysis.stats.rowwise import ROWS
from bsx.analysis.stats.systems.soft import wmt_p_values, wmt_signs
from bsx.analysis.stats.systems.ties import TiedPairs
from bsx.errors import InputError
from bsx.support.checks import Array

SLACK = 1e-12
"""Two differences this close are the same one: rounding must not decide whether a draw reaches what was observed."""


@dataclass(frozen=True, eq=False)
class Swapped:
    """Figures of several metrics, and draws of the difference of any two under the hypothesis that they are the same.

    Attributes:
        values: the metrics' figures (metrics,).
        difference: places i and j of two metrics -> i's figure less j's after random swaps (draws,).
    """

    values: Array
    difference: Callable[[int, int], Array]


def _standardised(metrics: Array) -> Array:
    """Return scores of each metric (metrics, n) without their level and spread."""
    spread = metrics.std(axis=1, keepdims=True)
    return np.asarray((metrics - metrics.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0))


def _kept(parts: Array, resamples: int, seed: Seed) -> Array:
    """Return the sums of parts (n, k) over what stays in its place, in each draw: (draws, k)."""
    masks = swaps(resamples, len(parts), seed)
    return np.concatenate([np.empty((0, parts.shape[1])), *(mask.astype(np.float64) @ parts for mask in masks)])


def swapped_pearson(metrics: Array, human: Array, resamples: int, seed: Seed) -> Swapped:
    """Swap the two metrics' standardised scores of a cell, under Pearson's r of pooled cells (PERM-BOTH).

    Scores are (metrics, cells), human scores (cells,). Source: Deutsch, Dror & Roth 2021, algorithm 2.
    """
    z, h = _standardised(metrics), human - human.mean()
    parts, square = np.concatenate([z, z * z, z * h]).T, float(h @ h)  # (cells, 3 metrics)
    every = parts.sum(axis=0).reshape(3, len(metrics))
    kept = _kept(parts, resamples, seed).reshape(-1, 3, len(metrics))

    def mixed(i: int, j: int) -> Array:
        """Return r of the scores of i where the coin fell, and of j elsewhere (draws,)."""
        sums = kept[:, :, i] + every[:, j] - kept[:, :, j]
        spread = np.maximum(sums[:, 1] - sums[:, 0] ** 2 / len(human), 0.0) * square
        return np.where(spread > SLACK, sums[:, 2] / np.sqrt(np.maximum(spread, SLACK)), 0.0)

    values = np.nan_to_num(ROWS["pearson"](metrics, np.broadcast_to(human, metrics.shape)))
    return Swapped(values, lambda i, j: mixed(i, j) - mixed(j, i))


def swapped_accuracy(metrics: Sequence[Array], human: Sequence[Array], resamples: int, seed: Seed) -> Swapped:
    """Swap standardised scores of systems, under their pairwise accuracy, pooled over language pairs.

    A pair that people tie is right where the metric ties it. Scores of each language pair are (metrics, systems), its
    human scores (systems,).

    Source: Kocmi et al. 2021 for the figure; Deutsch, Dror & Roth 2021 for the swaps.

    Raises:
        InputError: if no language pair has two systems.
    """
    joined, people = np.concatenate(metrics, axis=1), np.concatenate(human)
    of_pair = np.repeat(np.arange(len(human)), [len(h) for h in human])
    first, second = np.nonzero(np.triu(of_pair[:, None] == of_pair, k=1))
    signs = np.sign(people[first] - people[second])
    if not len(signs):
        raise InputError("no language pair has two systems: there is no pair to order")
    z, masks = _standardised(joined), [np.empty((0, len(people)), dtype=bool), *swaps(resamples, len(people), seed)]
    mask = np.concatenate(masks)

    def accuracy(scores: Array) -> Array:
        ordered = np.sign(scores[:, first] - scores[:, second])
        return np.asarray((ordered == signs).mean(axis=1))

    def difference(i: int, j: int) -> Array:
        return accuracy(np.where(mask, z[i], z[j])) - accuracy(np.where(mask, z[j], z[i]))

    return Swapped(accuracy(joined), difference)


def swapped_ties(metrics: Array, human: Array, resamples: int, seed: Seed) -> Swapped:
    """Swap verdicts on single pairs, under acc_eq within segments, each metric with its own best epsilon.

    Verdicts on the pairs of one segment depend on one another, which this test of WMT's does not allow for: it finds
    differences too often. `bsx.analysis.stats.systems.ties.compare_ties` swaps whole segments.

    Human scores that differ by rounding alone are no ties here, as in WMT's tool: -25.200000000000003 is not -25.2.
    Scores are (metrics, systems, segments), human scores (systems, segments) with NaN where there is none.

    Source: Deutsch et al. 2023 for the figure; mt-metrics-eval's ``PairwisePermutationSigDiff`` for the swaps.

    Raises:
        InputError: if no segment has two judged outputs.
    """
    missing, verdicts = np.isnan(human), []
    for scores in metrics:
        pairs = TiedPairs.of(np.where(missing, np.nan, scores), human, rounding=0.0)
        verdicts.append(pairs.alike(pairs.best_epsilon()))
    weighted = np.stack(verdicts).astype(np.float64) * pairs.weight
    values, kept = weighted.sum(axis=1), _kept(weighted.T, resamples, seed)
    return Swapped(values, lambda i, j: 2 * (kept[:, i] - kept[:, j]) - (values[i] - values[j]))


LOOKED_AT = 100
"""Draws after which p is looked at, again and again; this and the next as in WMT's ``PermutationSigDiffParams``."""
UNDECIDED = 0.02, 0.5
"""Of a smaller or larger p no more is drawn."""
_AT_ONCE = 10


def swapped_soft(metrics: Array, human: Array, resamples: int, seed: Seed) -> Swapped:
    """Swap standardised scores of cells, under soft pairwise accuracy as WMT's tool computes it.

    Each draw takes all p-values of a metric anew, so that draws are made when they are asked for and end early: fewer
    than asked for where p is clear before. Scores are (metrics, systems, segments), human scores (systems, segments),
    both complete.

    Source: Thompson et al. 2024 for the figure; mt-metrics-eval's ``pce.py`` and ``PermutationSigDiff``.
    """
    signs, rng = wmt_signs(1000, human.shape[1]), np.random.default_rng(seed)
    people = wmt_p_values(human[None], signs)[0]
    z = _standardised(metrics.reshape(len(metrics), -1)).reshape(metrics.shape)

    def soft(scores: Array) -> Array:
        return np.asarray(1 - np.abs(wmt_p_values(scores, signs) - people).mean(axis=1))

    values = np.array([soft(scores[None])[0] for scores in metrics])

    @cache
    def difference(i: int, j: int) -> Array:
        drawn = np.empty(0)
        while len(drawn) < resamples:
            size = min(LOOKED_AT, resamples - len(drawn))
            for start in range(0, size, _AT_ONCE):
                mask = rng.random((min(_AT_ONCE, size - start), *human.shape)) < 0.5
                drawn = np.append(drawn, soft(np.where(mask, z[i], z[j])) - soft(np.where(mask, z[j], z[i])))
            p = (drawn >= values[i] - values[j] - SLACK).mean()
            if not UNDECIDED[0] <= p <= UNDECIDED[1]:
                break
        return drawn

    return Swapped(values, difference)
