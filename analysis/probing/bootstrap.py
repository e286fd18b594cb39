"""Bootstrap of accuracies over test items that several runs may share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.stats.resample import bootstrap_counts
from bsx.support.checks import Array


class ItemAccuracies:
    """Which test items were predicted rightly, under several conditions and in several runs.

    Items of one group are drawn together, and so are the results of one item in all runs and conditions: neither
    copies of an item nor further runs on it pass for independent evidence, and differences between conditions are
    paired.

    Args:
        groups: number of each item's group (n,), counted from 0.
        conditions: how many conditions there are.
    """

    def __init__(self, groups: NDArray[np.int64], conditions: int) -> None:
        self._groups = groups
        self._right = np.zeros((conditions, int(groups.max()) + 1))
        self._tested = np.zeros(int(groups.max()) + 1)

    def add(self, items: NDArray[np.int64], right: NDArray[np.bool_]) -> None:
        """Add a run.

        Args:
            items: the items that it tested (m,).
            right: whether each was predicted rightly under each condition (conditions, m).
        """
        groups, width = self._groups[items], self._right.shape[1]
        self._tested += np.bincount(groups, minlength=width)
        for condition, row in enumerate(right):
            self._right[condition] += np.bincount(groups, weights=row, minlength=width)

    def accuracy(self) -> Array:
        """Return the share of right predictions over all runs (conditions,)."""
        return np.asarray(self._right.sum(axis=1) / self._tested.sum())

    def draws(self, resamples: int, rng: np.random.Generator) -> Array:
        """Return the accuracy in bootstrap resamples of the tested groups (resamples, conditions)."""
        present = np.flatnonzero(self._tested)
        right, tested = self._right[:, present], self._tested[present]
        blocks = bootstrap_counts(resamples, len(present), rng)
        return np.concatenate([(times @ right.T) / (times @ tested)[:, None] for times in blocks])


Figures = tuple[float, float, float, float | None, float | None, float | None, float | None]


def layer_figures(pooled: Array, draws: Array, *, control: bool) -> list[Figures]:
    """Return accuracy with its ends, and with a control task its accuracy and selectivity with ends, of each layer.

    Args:
        pooled: accuracies (conditions, layers): of the task, then of its control task if there is one, then any.
        draws: their bootstrap draws (resamples, conditions, layers).
        control: whether there is a control task.
    """
    low, high = np.percentile(draws[:, 0], [2.5, 97.5], axis=0)
    found = [pooled[0].tolist(), low.tolist(), high.tolist()]
    if control:
        bottom, top = np.percentile(draws[:, 0] - draws[:, 1], [2.5, 97.5], axis=0)
        found += [pooled[1].tolist(), (pooled[0] - pooled[1]).tolist(), bottom.tolist(), top.tolist()]
    else:
        found += [[None] * pooled.shape[1]] * 4
    return list(zip(*found, strict=True))  # a layer each
