"""Greedy matching of every text with every other: one product of matrices for many pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bsx.match.greedy import best, harmonic_mean, weighted_mean
from bsx.match.pairs import BATCH_NUMBERS, FlatVectors, padded_rows
from bsx.support.arrays import Array, device_type, fetch, namespace


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
    numbers = BATCH_NUMBERS.get(device_type(window.vectors.device), 2_000_000)
    # A square of tokens: its similarities and the vectors of its two sides together are what a batch may hold.
    tokens = max(1, int(math.sqrt(dimensions**2 + numbers)) - dimensions)
    for rows in _groups(window.lengths[candidates], tokens):
        left = padded_rows(window, candidates[rows])
        for columns in _groups(window.lengths[references], tokens):
            right = padded_rows(window, references[columns])
            for layer in range(layers):
                result = _match(window, layer, left, right)
                scores[layer, rows[:, None], columns[None, :]] = fetch(result)
    return scores


def _groups(lengths: NDArray[np.int64], tokens: int) -> Iterator[NDArray[np.int64]]:
    """Yield indices of texts of similar length, each group with about ``tokens`` padded tokens at most."""
    order = np.argsort(lengths, kind="stable")[::-1]
    start = 0
    while start < len(order):
        count = max(1, tokens // max(1, int(lengths[order[start]])))
        yield order[start : start + count]
        start += count


def _match(window: FlatVectors, layer: int, left: Array, right: Array) -> Array:
    vectors = window.vectors[layer]
    (n, longest), (m, other) = left.shape, right.shape
    similarity = vectors[left.reshape(-1)] @ vectors[right.reshape(-1)].T
    cells = similarity.reshape(n, longest, m, other)
    precision = best(cells, window.pool[right][None, None], axis=3)
    recall = best(cells, window.pool[left][:, :, None, None], axis=1)
    precision = weighted_mean(precision, window.weights[left][:, :, None], axis=1)
    recall = weighted_mean(recall, window.weights[right][None], axis=2)
    return namespace(vectors).stack([precision, recall, harmonic_mean(precision, recall)], axis=-1)
