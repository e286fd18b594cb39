"""The items of a probing experiment: divided into parts, labelled at random for a control task; figures of layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.support.checks import Array

Labels = NDArray[np.int64]

PARTS = ("train", "validation", "test")
Codes = NDArray[np.int8]


def random_parts(groups: Labels, rng: np.random.Generator, shares: Sequence[float] = (0.6, 0.2, 0.2)) -> Codes:
    """Divide items at random; items of one group come into the same part.

    Args:
        groups: number of each item's group (n,), counted from 0.
        rng: random numbers.
        shares: of training, validation and test part; they are met as nearly as whole groups allow.

    Returns:
        Index into `PARTS` of each item (n,).

    >>> random_parts(np.array([0, 0, 1, 2, 3, 4]), np.random.default_rng(0)).tolist()
    [1, 1, 2, 0, 0, 0]
    """
    sizes = np.bincount(groups)
    order = rng.permutation(len(sizes))
    middle = np.cumsum(sizes[order]) - sizes[order] / 2  # of each group, were the items laid side by side
    bounds = np.cumsum(np.asarray(shares) / np.sum(shares))[:-1] * len(groups)
    part = np.empty(len(sizes), dtype=np.int8)
    part[order] = np.searchsorted(bounds, middle, side="right")
    return part[groups]


def carve_validation(parts: Codes, groups: NDArray[np.int64], rng: np.random.Generator) -> Codes:
    """Take a quarter of the training part as validation part, if there is none."""
    if (parts == PARTS.index("validation")).any():
        return parts
    rows = np.flatnonzero(parts == PARTS.index("train"))
    if not len(rows):
        return parts
    kept = np.unique(groups[rows], return_inverse=True)[1]
    divided = parts.copy()
    divided[rows] = random_parts(kept, rng, shares=(0.75, 0.25))
    return divided


def control_labels(types: Labels, labels: Labels, rng: np.random.Generator) -> Labels:
    """Draw one random label for each type and give it to all items of that type.

    Whoever knows an item's type knows its control label, and nothing else helps. Source: Hewitt & Liang 2019, section
    2, where a type is a word. A task on words uses the word form as type, as published. A task on whole sentences has
    no such type; this function takes whatever types it is given. `bsx.analysis.probe.tasks` gives a sentence's first
    word: it comes again in other sentences, and a vector of the sentence holds some trace of it.

    The paper draws each type's label independently from the task's empirical distribution. Where one type is every
    sixth item, as *The* among first words, such a draw is lopsided: saying the control task's most frequent label may
    be right more often than for the task itself, and the two accuracies cannot be compared. Labels are therefore drawn
    without replacement: the frequent types first, each label with the probability of the share that is still left of
    it, so that items have the control labels in the task's own proportions.

    Of the task's own labels (n,), numbers from 0 as types are, only the distribution is used.
    """
    left, sizes = np.bincount(labels).astype(np.float64), np.bincount(types)
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    label_of = np.empty(len(sizes), dtype=np.int64)
    for kind, chance in zip(order, rng.random(len(sizes)), strict=True):
        bounds = np.cumsum(np.maximum(left, 0))
        label = int(np.searchsorted(bounds, chance * bounds[-1], side="right"))
        label_of[kind] = label
        left[label] -= sizes[kind]
    return label_of[types]


Figures = tuple[float, float, float, float | None, float | None, float | None, float | None]


def layer_figures(pooled: Array, draws: Array, *, control: bool) -> list[Figures]:
    """Return accuracy with its ends, and with a control task its accuracy and selectivity with ends, of each layer.

    Of accuracies (conditions, layers) and their bootstrap draws (resamples, conditions, layers) the first are those of
    the task, the next those of its control task.
    """
    low, high = np.percentile(draws[:, 0], [2.5, 97.5], axis=0)
    figures = [pooled[0].tolist(), low.tolist(), high.tolist()]
    if control:
        bottom, top = np.percentile(draws[:, 0] - draws[:, 1], [2.5, 97.5], axis=0)
        figures += [pooled[1].tolist(), (pooled[0] - pooled[1]).tolist(), bottom.tolist(), top.tolist()]
    else:
        figures += [[None] * pooled.shape[1]] * 4
    return list(zip(*figures, strict=True))  # a layer each
