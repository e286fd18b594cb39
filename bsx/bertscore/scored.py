"""Results window by window: how they come from vectors, and how they are joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.bertscore.rescale import LayerBaselines
from bsx.bertscore.results import Scores
from bsx.bertscore.window_vectors import WindowVectors
from bsx.bertscore.windows import Window
from bsx.match.pairs import match_pairs
from bsx.match.references import ReferenceRule, reduce_references
from bsx.support.signature import Signature


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


def score_window(
    window: Window,
    vectors: WindowVectors,
    baselines: LayerBaselines | None,
    layers: Sequence[int],
    rule: ReferenceRule,
) -> ScoredWindow:
    """Match each candidate of a window with its references.

    Args:
        window: the segments.
        vectors: of their texts.
        baselines: rescale by these, if given.
        layers: which layers the vectors are of.
        rule: how several references become one score, see `bsx.match.references.reduce_references`.
    """
    shape = (len(window.segments), len(window.segments[0].candidates))
    lost = np.zeros(shape, dtype=np.int64)
    pairs: list[tuple[int, int, int]] = []  # row, candidate, reference
    for i, segment in enumerate(window.segments):
        references = [window.texts[text] for text in segment.references]
        lost_here = sum(window.tokens[r].lost for r in references)
        for k, text in enumerate(segment.candidates):
            candidate = window.texts[text]
            lost[i, k] = lost_here + window.tokens[candidate].lost
            if vectors.content[candidate]:
                pairs += [(i * shape[1] + k, candidate, r) for r in references if vectors.content[r]]
    table = np.asarray(pairs, dtype=np.int64).reshape(-1, 3)
    reduced = reduce_references(match_pairs(vectors, table[:, 1], table[:, 2]), table[:, 0], shape[0] * shape[1], rule)
    scores = reduced.scores if baselines is None else baselines.apply(reduced.scores, layers)
    undefined = np.isnan(scores)
    scores = np.where(undefined, 0, scores).astype(np.float32)
    return ScoredWindow(
        start=window.start,
        ids=[segment.id for segment in window.segments],
        scores=scores.reshape(len(layers), *shape, 3),
        empty=reduced.empty.reshape(shape),
        unweighted=(undefined.any(axis=(0, 2)) & ~reduced.empty).reshape(shape),
        tokens_lost=lost,
    )


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
