"""Control tasks: random labels that a probe can only memorise, never find in a representation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError

Labels = NDArray[np.int64]


def number_types(types: Sequence[Hashable]) -> Labels:
    """Return a number for each item's type (n,), counted from 0 in order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in types], dtype=np.int64)


def control_labels(types: Labels, labels: Labels, rng: np.random.Generator) -> Labels:
    """Draw one random label for each type and give it to all items of that type.

    Source: Hewitt & Liang 2019, section 2. There a type is a word and its label is drawn independently from the
    empirical distribution of the task's labels; whoever knows the type knows the control label, and nothing else
    helps. A task on words uses the word form as type, as published. A task on whole sentences has no such type; this
    function takes whatever types it is given. `bsx.analysis.probing_tasks` gives a sentence's first word: it is part of
    every sentence, comes again in other sentences, and a vector of the sentence holds some trace of it.

    Args:
        types: number of each item's type (n,).
        labels: the task's own labels (n,), counted from 0; only their distribution is used.
        rng: random numbers.

    Returns:
        Control labels (n,).

    Raises:
        InputError: if the numbers of types and labels differ.
    """
    if types.shape != labels.shape:
        raise InputError(f"{len(types)} types, {len(labels)} labels: numbers must match")
    shares = np.bincount(labels) / len(labels)
    drawn = rng.choice(len(shares), size=int(types.max()) + 1, p=shares)
    return np.asarray(drawn[types], dtype=np.int64)
