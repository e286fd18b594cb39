"""Matching many pairs of a window's texts, in padded batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.match.greedy import greedy_match
from bsx.match.ngrams import Units
from bsx.support.arrays import Array, beside, device_type, fetch, namespace, put, zeros

# Numbers (of vectors and similarities) a padded batch may hold: small enough for the CPU's caches.
BATCH_NUMBERS = {"cpu": 2_000_000, "cuda": 128_000_000, "mps": 16_000_000}


@dataclass
class FlatVectors:
    """Unit vectors of texts one after another, ending in a zero vector of no weight that cannot be matched.

    Attributes:
        vectors: unit vectors (layers, tokens + 1, dim).
        weights: (tokens + 1,).
        pool: True where a token may be matched (tokens + 1,).
        offsets: first row of each text.
        lengths: tokens of each text.
    """

    vectors: Array
    weights: Array
    pool: Array
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, units: Units) -> FlatVectors:
        """Return units (tokens or n-grams) with their masses, all of which may be matched."""
        xp = namespace(units.vectors)
        vectors = xp.concatenate([units.vectors, xp.zeros_like(units.vectors[:1])])
        weights = beside(np.append(units.masses, np.float32(0)), vectors)
        pool = beside(np.arange(len(vectors)) < len(vectors) - 1, vectors)
        return cls(vectors[None], weights, pool, units.offsets, units.lengths)


def match_pairs(
    window: FlatVectors, candidates: NDArray[np.int64], references: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Score pairs of texts by greedy matching.

    Args:
        window: the texts' vectors.
        candidates: text index of each pair's candidate (pairs,).
        references: text index of each pair's reference (pairs,).

    Returns:
        P, R, F1 of each pair: (layers, pairs, 3).
    """
    layers, _, dimensions = window.vectors.shape
    device = window.vectors.device
    # Results stay on the device until all are there: a copy back would wait for each batch.
    scores = zeros((layers, len(candidates), 3), device)
    budget = BATCH_NUMBERS.get(device_type(device), 2_000_000)
    lengths = (window.lengths[candidates], window.lengths[references])
    for batch in batches(*lengths, dimensions, budget):
        left = padded_rows(window, candidates[batch])
        right = padded_rows(window, references[batch])
        places = put(batch, device)
        for layer in range(layers):
            vectors = window.vectors[layer]
            scores[layer, places] = greedy_match(
                vectors[left],
                vectors[right],
                window.weights[left],
                window.weights[right],
                window.pool[left],
                window.pool[right],
            )
    figures: NDArray[np.float32] = fetch(scores)
    return figures


def batches(
    left: NDArray[np.int64], right: NDArray[np.int64], dimensions: int, budget: int
) -> Iterator[NDArray[np.int64]]:
    """Group pairs of similar lengths, so that a padded batch of their vectors and similarities stays within ``budget``.

    Args:
        left: vectors of each pair's left text (pairs,).
        right: vectors of each pair's right text (pairs,).
        dimensions: size of a vector.
        budget: numbers a batch may hold.

    Yields:
        Indices of the pairs of one batch.
    """
    order = np.lexsort((right, left))
    start = 0
    while start < len(order):
        stop, widest, tallest = start, 0, 0
        while stop < len(order):
            widest = max(widest, int(left[order[stop]]))
            tallest = max(tallest, int(right[order[stop]]))
            numbers = (stop + 1 - start) * ((widest + tallest) * dimensions + widest * tallest)
            if stop > start and numbers > budget:
                break
            stop += 1
        yield order[start:stop]
        start = stop


def padded_rows(window: FlatVectors, texts: NDArray[np.int64]) -> Array:
    """Return the rows of ``window.vectors`` of each text's tokens (texts, longest); padding points to the last row."""
    lengths = window.lengths[texts]
    positions = np.arange(max(1, int(lengths.max())))[None, :]
    rows = np.where(positions < lengths[:, None], window.offsets[texts][:, None] + positions, len(window.weights) - 1)
    return put(rows, window.vectors.device)
