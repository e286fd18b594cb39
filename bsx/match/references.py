"""From scores of (candidate, reference) pairs to one score a candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

ReferenceRule = Literal["columnwise", "best"]


@dataclass(frozen=True)
class Reduced:
    """One score a row.

    Attributes:
        scores: (layers, rows, 3); NaN where undefined, 0 where there was nothing to match.
        empty: rows without any pair, because a side had no content (rows,).
    """

    scores: NDArray[np.float32]
    empty: NDArray[np.bool_]


def reduce_references(pairs: NDArray[np.float32], rows: NDArray[np.int64], size: int, rule: ReferenceRule) -> Reduced:
    """Reduce the pairs of each row to one score.

    Args:
        pairs: P, R, F1 of each pair (layers, pairs, 3); NaN where undefined.
        rows: the row each pair belongs to (pairs,), not decreasing.
        size: how many rows there are.
        rule: ``columnwise``: the highest P, R and F1 over references, each by itself (Zhang et al. 2020, section 4);
            ``best``: all three from the reference with the highest F1, the first of equals.

    Returns:
        Scores and which rows are empty.
    """
    layers = pairs.shape[0]
    scores = np.full((layers, size, 3), np.nan, dtype=np.float32)
    present, starts, counts = np.unique(rows, return_index=True, return_counts=True)
    empty = np.ones(size, dtype=bool)
    empty[present] = False
    if len(present):
        if rule == "columnwise":
            scores[:, present] = np.fmax.reduceat(pairs, starts, axis=1)
        else:
            f1 = np.where(np.isnan(pairs[..., 2]), -np.inf, pairs[..., 2])
            for layer in range(layers):
                # Sorting by row, then F1, puts each row's best reference last (ties: the first one, given last).
                order = np.lexsort((-np.arange(len(rows)), f1[layer], rows))
                scores[layer, present] = pairs[layer, order[starts + counts - 1]]
    return Reduced(scores, empty)
