"""Greedy matching of every text with every other: one product of matrices for many pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from bsx.match.greedy import harmonic_mean
from bsx.match.pairs import BATCH_NUMBERS, FlatVectors, padded_rows


def match_product(
    window: FlatVectors, candidates: NDArray[np.int64], references: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Score every candidate against every reference; what `bsx.match.pairs.match_pairs` returns for all pairs.

    The similarities of some candidates' tokens with some references' tokens are one matrix product, instead of a
    small one for each pair with the vectors copied together for it. Tokens that cannot be matched must weigh nothing,
    as special tokens and padding do.

    Args:
        window: the texts' vectors.
        candidates: text index of each candidate (n,).
        references: text index of each reference (m,).

    Returns:
        P, R, F1 of each pair: (layers, n, m, 3).
    """
    layers, _, dimensions = window.vectors.shape
    scores = np.zeros((layers, len(candidates), len(references), 3), dtype=np.float32)
    numbers = BATCH_NUMBERS.get(window.vectors.device.type, 2_000_000)
    # A square of tokens: its similarities and the vectors of its two sides together are what a batch may hold.
    tokens = max(1, int(math.sqrt(dimensions**2 + numbers)) - dimensions)
    for rows in _groups(window.lengths[candidates], tokens):
        left = padded_rows(window, candidates[rows])
        for columns in _groups(window.lengths[references], tokens):
            right = padded_rows(window, references[columns])
            for layer in range(layers):
                result = _match(window, layer, left, right)
                scores[layer, rows[:, None], columns[None, :]] = result.cpu().numpy()
    return scores


def _groups(lengths: NDArray[np.int64], tokens: int) -> Iterator[NDArray[np.int64]]:
    """Yield indices of texts of similar length, each group with about ``tokens`` padded tokens at most."""
    order = np.argsort(lengths, kind="stable")[::-1]
    start = 0
    while start < len(order):
        count = max(1, tokens // max(1, int(lengths[order[start]])))
        yield order[start : start + count]
        start += count


def _match(window: FlatVectors, layer: int, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    vectors = window.vectors[layer]
    (n, longest), (m, other) = left.shape, right.shape
    similarity = vectors[left.reshape(-1)] @ vectors[right.reshape(-1)].T
    similarity.masked_fill_(~window.pool[left.reshape(-1)][:, None], -torch.inf)
    similarity.masked_fill_(~window.pool[right.reshape(-1)][None, :], -torch.inf)
    cells = similarity.view(n, longest, m, other)
    precision = _weighted(cells.amax(dim=3), window.weights[left][:, :, None], 1)
    recall = _weighted(cells.amax(dim=1), window.weights[right][None], 2)
    return torch.stack([precision, recall, harmonic_mean(precision, recall)], dim=-1)


def _weighted(best: torch.Tensor, weights: torch.Tensor, dim: int) -> torch.Tensor:
    """Return weighted means over tokens; NaN where no token has weight."""
    best = best.masked_fill_(torch.isinf(best), 0.0)
    total = weights.sum(dim=dim)
    mean = (best * weights).sum(dim=dim) / torch.where(total > 0, total, 1.0)
    return torch.where(total > 0, mean, torch.nan)
