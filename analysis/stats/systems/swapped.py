"""Many metrics under one statistic, and what swaps of any two would make of their difference: WMT's permutation tests.

Each class takes scores of all metrics of one task (metrics, …), human scores, the number of draws and the seed of the
swaps. ``values`` are the metrics' figures; ``difference(i, j)`` draws the difference of two figures under the
hypothesis that the two metrics are the same. All pairs of metrics share one set of swaps, so that sums over what is
swapped are made once for each metric, not for each pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from bsx.analysis.stats.resample import Seed, swaps
from bsx.analysis.stats.rowwise import ROWS
from bsx.analysis.stats.systems.soft import wmt_p_values, wmt_signs
from bsx.analysis.stats.systems.ties import TiedPairs
from bsx.errors import InputError
from bsx.support.checks import Array

SLACK = 1e-12
"""Two differences this close are the same one: rounding must not decide whether a draw reaches what was observed."""


class Swapped(Protocol):
    """Figures of several metrics, and draws of the difference of any two."""

    values: Array

    def difference(self, i: int, j: int) -> Array:
        """Return draws (draws,) of metric i's figure minus metric j's, after random swaps."""
        ...


def _standardised(metrics: Array) -> Array:
    """Return scores of each metric (metrics, n) without their level and spread."""
    spread = metrics.std(axis=1, keepdims=True)
    return np.asarray((metrics - metrics.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0))


class SwappedPearson:
    """Pearson's r of pooled cells; the two metrics' standardised scores of a cell trade places (PERM-BOTH).

    Scores are (metrics, cells), human scores (cells,). Source: Deutsch, Dror & Roth 2021, algorithm 2.
    """

    def __init__(self, metrics: Array, human: Array, resamples: int, seed: Seed) -> None:
        self.values = np.nan_to_num(ROWS["pearson"](metrics, np.broadcast_to(human, metrics.shape)))
        z, h = _standardised(metrics), human - human.mean()
        self._n, self._h = len(human), float(h @ h)
        parts = np.concatenate([z, z * z, z * h]).T  # (cells, 3 metrics)
        self._all = parts.sum(axis=0).reshape(3, len(metrics))
        kept = [mask.astype(np.float64) @ parts for mask in swaps(resamples, len(human), seed)]
        self._kept = np.concatenate(kept).reshape(-1, 3, len(metrics)) if resamples else np.empty((0, 3, len(metrics)))

    def _mixed(self, i: int, j: int) -> Array:
        """Return r of the scores of i where the coin fell, and of j elsewhere (draws,)."""
        sums = self._kept[:, :, i] + self._all[:, j] - self._kept[:, :, j]
        spread = np.maximum(sums[:, 1] - sums[:, 0] ** 2 / self._n, 0.0) * self._h
        return np.where(spread > SLACK, sums[:, 2] / np.sqrt(np.maximum(spread, SLACK)), 0.0)

    def difference(self, i: int, j: int) -> Array:
        """Return draws of the difference; see `Swapped`."""
        return self._mixed(i, j) - self._mixed(j, i)


class SwappedAccuracy:
    """Pairwise accuracy of systems, pooled over language pairs; standardised scores of a system trade places.

    A pair that people tie is right where the metric ties it. Scores of each language pair are (metrics, systems), its
    human scores (systems,).

    Source: Kocmi et al. 2021 for the figure; Deutsch, Dror & Roth 2021 for the swaps.

    Raises:
        InputError: if no language pair has two systems.
    """

    def __init__(self, metrics: Sequence[Array], human: Sequence[Array], resamples: int, seed: Seed) -> None:
        joined = np.concatenate(metrics, axis=1)
        self._scores = _standardised(joined)
        of_pair = np.repeat(np.arange(len(human)), [len(h) for h in human])
        self._first, self._second = np.nonzero(np.triu(of_pair[:, None] == of_pair, k=1))
        people = np.concatenate(human)
        self._signs = np.sign(people[self._first] - people[self._second])
        if not len(self._signs):
            raise InputError("no language pair has two systems: there is no pair to order")
        self.pairs = len(self._signs)
        self.values = self._accuracy(joined)
        masks = list(swaps(resamples, joined.shape[1], seed))
        self._masks = np.concatenate(masks) if masks else np.empty((0, joined.shape[1]), dtype=bool)

    def _accuracy(self, scores: Array) -> Array:
        ordered = np.sign(scores[:, self._first] - scores[:, self._second])
        return np.asarray((ordered == self._signs).mean(axis=1))

    def difference(self, i: int, j: int) -> Array:
        """Return draws of the difference; see `Swapped`."""
        a, b = self._scores[i], self._scores[j]
        return self._accuracy(np.where(self._masks, a, b)) - self._accuracy(np.where(self._masks, b, a))


class SwappedTies:
    """acc_eq within segments, each metric with its own best epsilon; verdicts on single pairs trade places.

    Verdicts on the pairs of one segment depend on one another, which this test of WMT's does not allow for: it finds
    differences too often. `bsx.analysis.stats.systems.ties.compare_ties` swaps whole segments.

    Human scores that differ by rounding alone are no ties here, as in WMT's tool: -25.200000000000003 is not -25.2.
    Scores are (metrics, systems, segments), human scores (systems, segments) with NaN where there is none.

    Source: Deutsch et al. 2023 for the figure; mt-metrics-eval's ``PairwisePermutationSigDiff`` for the swaps.

    Raises:
        InputError: if no segment has two judged outputs.
    """

    def __init__(self, metrics: Array, human: Array, resamples: int, seed: Seed) -> None:
        missing = np.isnan(human)
        verdicts, epsilons = [], []
        for scores in metrics:
            pairs = TiedPairs.of(np.where(missing, np.nan, scores), human, rounding=0.0)
            epsilons.append(pairs.best_epsilon())
            verdicts.append(pairs.alike(epsilons[-1]))
        weighted = np.stack(verdicts).astype(np.float64) * pairs.weight
        self.pairs, self.segments, self.epsilons = len(pairs.weight), pairs.units(), np.array(epsilons)
        self.values = weighted.sum(axis=1)
        kept = [mask.astype(np.float64) @ weighted.T for mask in swaps(resamples, self.pairs, seed)]
        self._kept = np.concatenate(kept) if kept else np.empty((0, len(metrics)))

    def difference(self, i: int, j: int) -> Array:
        """Return draws of the difference; see `Swapped`."""
        return np.asarray(2 * (self._kept[:, i] - self._kept[:, j]) - (self.values[i] - self.values[j]))


LOOKED_AT = 100
"""Draws after which p is looked at, again and again; this and the next as in WMT's ``PermutationSigDiffParams``."""
UNDECIDED = 0.02, 0.5
"""Of a smaller or larger p no more is drawn."""
_AT_ONCE = 10


class SwappedSoft:
    """Soft pairwise accuracy as WMT's tool computes it; standardised scores of a cell trade places.

    Each draw takes all p-values of a metric anew, so that draws are made when they are asked for and end early. Scores
    are (metrics, systems, segments), human scores (systems, segments), both complete.

    Source: Thompson et al. 2024 for the figure; mt-metrics-eval's ``pce.py`` and ``PermutationSigDiff``.
    """

    def __init__(self, metrics: Array, human: Array, resamples: int, seed: Seed) -> None:
        self._signs = wmt_signs(1000, human.shape[1])
        self._people = wmt_p_values(human[None], self._signs)[0]
        self.values = np.array([self._soft(scores[None])[0] for scores in metrics])
        self._z = _standardised(metrics.reshape(len(metrics), -1)).reshape(metrics.shape)
        self._resamples, self._rng = resamples, np.random.default_rng(seed)
        self._known: dict[tuple[int, int], Array] = {}

    def _soft(self, scores: Array) -> Array:
        return np.asarray(1 - np.abs(wmt_p_values(scores, self._signs) - self._people).mean(axis=1))

    def difference(self, i: int, j: int) -> Array:
        """Return draws of the difference; see `Swapped`. Fewer than asked for where p is clear before."""
        if (i, j) in self._known:
            return self._known[i, j]
        a, b = self._z[i], self._z[j]
        observed, drawn = self.values[i] - self.values[j], np.empty(0)
        while len(drawn) < self._resamples:
            size = min(LOOKED_AT, self._resamples - len(drawn))
            for start in range(0, size, _AT_ONCE):
                mask = self._rng.random((min(_AT_ONCE, size - start), *a.shape)) < 0.5
                drawn = np.append(drawn, self._soft(np.where(mask, a, b)) - self._soft(np.where(mask, b, a)))
            p = (drawn >= observed - SLACK).mean()
            if not UNDECIDED[0] <= p <= UNDECIDED[1]:
                break
        self._known[i, j] = drawn
        return drawn
