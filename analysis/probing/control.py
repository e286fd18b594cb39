"""Control tasks: random labels that a probe can only memorise, never find in a representation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError

Labels = NDArray[np.int64]
Draw = Literal["balanced", "independent"]


def number_types(types: Sequence[Hashable]) -> Labels:
    """Return a number for each item's type (n,), counted from 0 in order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in types], dtype=np.int64)


def control_labels(types: Labels, labels: Labels, rng: np.random.Generator, *, draw: Draw = "balanced") -> Labels:
    """Draw one random label for each type and give it to all items of that type.

    Whoever knows an item's type knows its control label, and nothing else helps. Source: Hewitt & Liang 2019, section
    2, where a type is a word. A task on words uses the word form as type, as published. A task on whole sentences has
    no such type; this function takes whatever types it is given. `bsx.analysis.probing.tasks` gives a sentence's first
    word: it comes again in other sentences, and a vector of the sentence holds some trace of it.

    The paper draws each type's label independently from the task's empirical distribution. That is ``independent``.
    Where one type is every sixth item, as *The* among first words, such a draw is lopsided: saying the control task's
    most frequent label may be right more often than for the task itself, and the two accuracies cannot be compared.
    ``balanced`` therefore draws without replacement: the frequent types first, each label with the probability of
    the share that is still left of it, so that items have the control labels in the task's own proportions.

    Args:
        types: number of each item's type (n,).
        labels: the task's own labels (n,), counted from 0; only their distribution is used.
        rng: random numbers.
        draw: ``balanced`` or ``independent``.

    Returns:
        Control labels (n,).

    Raises:
        InputError: if the numbers of types and labels differ.
    """
    if types.shape != labels.shape:
        raise InputError(f"{len(types)} types, {len(labels)} labels: numbers must match")
    left, sizes = np.bincount(labels).astype(np.float64), np.bincount(types)
    if draw == "independent":
        drawn = rng.choice(len(left), size=len(sizes), p=left / left.sum())
        return np.asarray(drawn[types], dtype=np.int64)
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    label_of = np.empty(len(sizes), dtype=np.int64)
    for kind, chance in zip(order, rng.random(len(sizes)), strict=True):
        bounds = np.cumsum(np.maximum(left, 0))
        label = int(np.searchsorted(bounds, chance * bounds[-1], side="right"))
        label_of[kind] = label
        left[label] -= sizes[kind]
    return label_of[types]
