"""Dividing items into a training, a validation and a test part, so that what belongs together stays together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError

Part = Literal["train", "validation", "test"]
PARTS: tuple[Part, ...] = ("train", "validation", "test")
Codes = NDArray[np.int8]
SHARES = (0.6, 0.2, 0.2)


def random_parts(groups: NDArray[np.int64], rng: np.random.Generator, shares: Sequence[float] = SHARES) -> Codes:
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


def given_parts(names: Sequence[str]) -> Codes:
    """Return the index into `PARTS` of each item's named part (n,).

    Raises:
        InputError: for another name.
    """
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        raise InputError(f"the part {unknown[0]!r} of an item is not one of {', '.join(PARTS)}")
    return np.array([PARTS.index(name) for name in names], dtype=np.int8)


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
