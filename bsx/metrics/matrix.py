"""Every candidate against every reference."""

from __future__ import annotations

import numpy as np

from bsx.data.corpus import MemoryCorpus, about_tokens
from bsx.errors import InputError
from bsx.metrics.blocks import Values, as_block
from bsx.metrics.core import MetricCore
from bsx.metrics.run import refuse_large_texts

_SIDE = 256  # texts of each side scored in one call


def matrix(metric: MetricCore, candidates: list[str], others: list[str], source: str | None = None) -> Values:
    """Score all pairs.

    Args:
        metric: the metric.
        candidates: n texts.
        others: m references, or m sources for a metric that needs no references.
        source: the source of all candidates, for a metric that needs references and source.

    Returns:
        Scores (n, m); undefined ones as an empty text's.
    """
    if not candidates or not others:
        raise InputError("there is nothing to score: a matrix needs at least one candidate and one other text")
    by_reference = "reference" in metric.needs
    fitted = metric.fit(_each_once(candidates, others, by_reference))
    scores = np.empty((len(candidates), len(others)))
    side = _side(metric, [*candidates, *others])
    for top in range(0, len(candidates), side):
        for left in range(0, len(others), side):
            part = scores[top : top + side, left : left + side]
            if by_reference and source is None:
                product = metric.score_product(candidates[top : top + side], others[left : left + side], fitted)
                if product is not None:
                    part[:] = product
                    continue
            rows = [
                (candidate, (other,) if by_reference else (), source if by_reference else other, 0)
                for candidate in candidates[top : top + side]
                for other in others[left : left + side]
            ]
            block = as_block(rows)
            refuse_large_texts([metric], block)
            values = metric.score_block(block, fitted).values
            part[:] = values.reshape(part.shape)
    fill = metric.entry.empty
    return np.where(np.isnan(scores), 0.0 if fill is None else fill, scores)


def _side(metric: MetricCore, texts: list[str]) -> int:
    """Return how many texts of each side fit in the memory budget together."""
    if not metric.bytes_per_token:
        return _SIDE
    longest = max(about_tokens(text) for text in texts)
    return max(1, min(_SIDE, metric.encoders.budget // 4 // metric.bytes_per_token // (2 * longest)))


def _each_once(candidates: list[str], others: list[str], by_reference: bool) -> MemoryCorpus:
    """Return a corpus with every text once, for metrics that count words; the shorter list is filled up with ''."""
    n = max(len(candidates), len(others))
    left = [*candidates, *[""] * (n - len(candidates))]
    right = [*others, *[""] * (n - len(others))]
    return MemoryCorpus({"candidate": left}, right if by_reference else None, None if by_reference else right)
