"""From the vectors of a block to its scores, and from the scores of all windows to one result a system."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bsx.bertscore.rescale import LayerBaselines
from bsx.bertscore.results import Scores
from bsx.bertscore.windows import Window, WindowVectors
from bsx.match.pairs import ReferenceRule, match_pairs, reduce_references
from bsx.metrics.blocks import Block, BlockScores
from bsx.metrics.run import Prepared, ScoredBlock


def score_rows(
    block: Block,
    window: Window,
    vectors: WindowVectors,
    baselines: LayerBaselines | None,
    layers: Sequence[int],
    rule: ReferenceRule,
    measure: int,
) -> BlockScores:
    """Match each candidate of a block with its references.

    Args:
        block: the rows.
        window: their texts.
        vectors: of their texts.
        baselines: rescale by these, if given.
        layers: which layers the vectors are of.
        rule: how several references become one score, see `bsx.match.pairs.reduce_references`.
        measure: which of precision, recall and F1 is the value of a row.

    Returns:
        Scores of the rows; a row of which any figure is undefined, because all weights of a side are 0, has no value,
        and that figure is 0.
    """
    lost = np.zeros(len(block), dtype=np.int64)
    pairs: list[tuple[int, int, int]] = []  # row, candidate, reference
    for row, (text, others) in enumerate(zip(block.candidates, block.references, strict=True)):
        candidate, references = window.texts[text], [window.texts[other] for other in others]
        lost[row] = sum(window.tokens[i].lost for i in (candidate, *references))
        if vectors.content[candidate]:
            pairs += [(row, candidate, r) for r in references if vectors.content[r]]
    table = np.asarray(pairs, dtype=np.int64).reshape(-1, 3)
    reduced = reduce_references(match_pairs(vectors, table[:, 1], table[:, 2]), table[:, 0], len(block), rule)
    scores = reduced.scores if baselines is None else baselines.apply(reduced.scores, layers)
    undefined = np.isnan(scores)
    scores = np.where(undefined, 0, scores).astype(np.float32)
    unweighted = undefined.any(axis=(0, 2)) & ~reduced.empty
    values = np.where(unweighted, np.nan, scores[-1, :, measure].astype(np.float64))
    return BlockScores(values, reduced.empty, lost, figures=scores)


def collect(
    prepared: Prepared, scored: Sequence[ScoredBlock], layers: tuple[int, ...], all_layers: bool
) -> dict[str, Scores]:
    """Join the blocks of a run of BERTScore alone into one `Scores` a system."""
    systems = prepared.corpus.systems
    ids = tuple(segment.id for block in scored for segment in block.segments)
    shape = (len(ids), len(systems))
    figures = np.concatenate([block.scores[0].all_figures() for block in scored], axis=1)
    figures = figures.reshape(len(figures), *shape, 3)
    empty = np.concatenate([block.scores[0].empty for block in scored]).reshape(shape)
    unweighted = np.concatenate([block.undefined[0] for block in scored]).reshape(shape)
    lost = np.concatenate([block.scores[0].lost for block in scored]).reshape(shape)
    signature = prepared.signature(0)
    result = {}
    for k, name in enumerate(systems):
        precision, recall, f1 = (
            np.ascontiguousarray(figures[:, :, k, j] if all_layers else figures[0, :, k, j]) for j in range(3)
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
