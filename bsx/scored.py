"""Results window by window, and how they are joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.scores import Scores
from bsx.signature import Signature


@dataclass(frozen=True)
class ScoredWindow:
    """Results of consecutive segments.

    Attributes:
        start: how many segments come before.
        ids: the segments' names.
        scores: P, R, F1, rescaled if asked for (layers, segments, systems, 3).
        empty: nothing to match (segments, systems).
        unweighted: a figure was undefined, because all weights of a side are 0 (segments, systems).
        tokens_lost: tokens cut off by the length limit (segments, systems).
    """

    start: int
    ids: list[str]
    scores: NDArray[np.float32]
    empty: NDArray[np.bool_]
    unweighted: NDArray[np.bool_]
    tokens_lost: NDArray[np.int64]


def collect(
    scored: Sequence[ScoredWindow],
    systems: Sequence[str],
    signature: Signature,
    layers: tuple[int, ...],
    all_layers: bool,
) -> dict[str, Scores]:
    """Join the windows' results into one `Scores` a system."""
    ids = tuple(name for window in scored for name in window.ids)
    scores = np.concatenate([window.scores for window in scored], axis=1)
    empty = np.concatenate([window.empty for window in scored])
    unweighted = np.concatenate([window.unweighted for window in scored])
    lost = np.concatenate([window.tokens_lost for window in scored])
    result = {}
    for k, name in enumerate(systems):
        precision, recall, f1 = (
            np.ascontiguousarray(scores[:, :, k, j] if all_layers else scores[0, :, k, j]) for j in range(3)
        )
        result[name] = Scores(
            precision=precision,
            recall=recall,
            f1=f1,
            signature=signature,
            layers=layers,
            ids=ids,
            empty=np.flatnonzero(empty[:, k]),
            unweighted=np.flatnonzero(unweighted[:, k]),
            truncated=np.flatnonzero(lost[:, k]),
            tokens_lost=lost[lost[:, k] > 0, k],
        )
    return result
