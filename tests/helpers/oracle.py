"""BERTScore written down literally, token by token, in NumPy: slow, obvious, and sharing no code with bsx."""

from __future__ import annotations

import numpy as np

from tests.helpers.oracle_metrics import unit


def bertscore(
    candidate: np.ndarray, reference: np.ndarray, candidate_weights: list[float], reference_weights: list[float]
) -> tuple[float, float, float]:
    """P, R, F1 of token vectors (tokens, dim); every token may be matched, weights may be 0."""
    x, y = unit(candidate.astype(np.float64)), unit(reference.astype(np.float64))

    def side(own: np.ndarray, other: np.ndarray, weights: list[float]) -> float:
        total = 0.0
        for vector, weight in zip(own, weights, strict=True):
            total += weight * max(float(vector @ partner) for partner in other)
        return total / sum(weights)

    p, r = side(x, y, candidate_weights), side(y, x, reference_weights)
    return p, r, 2 * p * r / (p + r) if p + r else 0.0
