"""Greedy cosine matching, BERTScore's precision, recall and F1: of a batch, of pairs of texts, of many references."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError
from bsx.support.arrays import Array, beside, device_type, fetch, namespace, put, short_of_memory, within, zeros

if TYPE_CHECKING:
    from bsx.match.ngrams import Units

# Numbers (of vectors and similarities) a padded batch may hold: small enough for the CPU's caches.
BATCH_NUMBERS = {"cpu": 2_000_000, "cuda": 128_000_000, "mps": 16_000_000}


def greedy_match(
    candidate: Array,
    reference: Array,
    candidate_weights: Array,
    reference_weights: Array,
    candidate_pool: Array,
    reference_pool: Array,
) -> Array:
    """Match every token with its most similar token on the other side.

    Source: Zhang et al. 2020, section 3. R is the weighted mean over reference tokens of the highest cosine with a
    candidate token, P the same the other way round, F1 their harmonic mean. Differentiable in both inputs, if they are
    PyTorch's.

    Args:
        candidate: unit vectors (batch, candidate tokens, dim).
        reference: unit vectors (batch, reference tokens, dim).
        candidate_weights: non-negative weights (batch, candidate tokens); 0 for padding and special tokens.
        reference_weights: non-negative weights (batch, reference tokens).
        candidate_pool: True where a candidate token may be matched (batch, candidate tokens); False for padding.
        reference_pool: True where a reference token may be matched (batch, reference tokens).

    Returns:
        P, R and F1 as (batch, 3). P or R is NaN where its side has no weight at all, and so is F1; F1 is 0 where
        P + R is 0.
    """
    similarity = candidate @ reference.mT
    # A cell outside the pool must lose against every cosine, negative ones too; zero would win against those.
    best_for_candidate = best(similarity, reference_pool[:, None, :], axis=2)
    best_for_reference = best(similarity, candidate_pool[:, :, None], axis=1)
    precision = weighted_mean(best_for_candidate, candidate_weights, axis=1)
    recall = weighted_mean(best_for_reference, reference_weights, axis=1)
    return namespace(candidate).stack([precision, recall, harmonic_mean(precision, recall)], axis=-1)


def best(similarity: Array, allowed: Array, axis: int) -> Array:
    """Return the highest allowed similarity along an axis; 0 where none is, since such rows carry no weight."""
    xp = namespace(similarity)
    if xp is np and allowed.all():  # in batches without padding, which are most
        return within(similarity.max(axis=axis))
    highest = xp.amax(xp.where(allowed, similarity, -np.inf), axis=axis)
    return within(xp.where(xp.isinf(highest), 0.0, highest))


def weighted_mean(values: Array, weights: Array, axis: int) -> Array:
    """Return weighted means of cosines over tokens; NaN where no token has weight."""
    xp = namespace(values)
    total = weights.sum(axis)
    mean = within((values * weights).sum(axis) / xp.where(total > 0, total, 1.0))
    return xp.where(total > 0, mean, np.nan)


def harmonic_mean(precision: Array, recall: Array) -> Array:
    """Return 2PR / (P + R), 0 where P + R is 0."""
    xp, total = namespace(precision), precision + recall
    return xp.where(total == 0, 0.0, 2 * precision * recall / xp.where(total == 0, 1.0, total))


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

    def match(batch: NDArray[np.int64]) -> None:
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

    for batch in batches(*lengths, dimensions, budget):
        halving(match, batch)
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


def halving(work: Callable[[NDArray[np.int64]], None], batch: NDArray[np.int64]) -> None:
    """Do work on the indices of a batch of pairs (batch,), or on each half of it if that does not fit in memory.

    Raises:
        InputError: if one pair does not fit.
    """
    short = short_of_memory(partial(work, batch))
    if short is None:
        return
    if len(batch) == 1:
        raise InputError(
            f"matching one pair of texts does not fit in memory ({short}): shorten them, or use device=cpu"
        )
    for half in np.array_split(batch, 2):
        halving(work, half)


def padded_rows(window: FlatVectors | Units, texts: NDArray[np.int64]) -> Array:
    """Return the rows of ``window.vectors`` of each text's tokens (texts, longest); padding points to the last row."""
    last = window.vectors.shape[-2] - 1
    lengths = window.lengths[texts]
    positions = np.arange(max(1, int(lengths.max())))[None, :]
    rows = np.where(positions < lengths[:, None], window.offsets[texts][:, None] + positions, last)
    return put(rows, window.vectors.device)


def match_product(
    window: FlatVectors, candidates: NDArray[np.int64], references: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Score every candidate against every reference; what `match_pairs` returns for all pairs.

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

    device = window.vectors.device

    def match(band: Array, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        left, right = padded_rows(window, candidates[rows]), padded_rows(window, references[columns])
        places = put(columns, device)
        for layer in range(layers):
            vectors = window.vectors[layer]
            similarity = vectors[left.reshape(-1)] @ vectors[right.reshape(-1)].T
            cells = similarity.reshape(*left.shape, *right.shape)
            precision = best(cells, window.pool[right][None, None], axis=3)
            recall = best(cells, window.pool[left][:, :, None, None], axis=1)
            precision = weighted_mean(precision, window.weights[left][:, :, None], axis=1)
            recall = weighted_mean(recall, window.weights[right][None], axis=2)
            figures = [precision, recall, harmonic_mean(precision, recall)]
            band[layer][:, places] = namespace(vectors).stack(figures, axis=-1)

    batches: list[tuple[NDArray[np.int64], Array]] = []

    def copy_back() -> None:
        scores[:, np.concatenate([rows for rows, _ in batches])] = fetch(
            namespace(batches[0][1]).concatenate([band for _, band in batches], axis=1)
        )
        batches.clear()

    for rows in _groups(window.lengths[candidates], tokens):
        # Results stay on the device until they are many: a copy back would wait for each product.
        if batches and layers * (sum(len(some) for some, _ in batches) + len(rows)) * len(references) * 3 > numbers:
            copy_back()
        band = zeros((layers, len(rows), len(references), 3), device)
        for columns in _groups(window.lengths[references], tokens):
            if short_of_memory(partial(match, band, rows, columns)) is not None:
                one_by_one = np.repeat(candidates[rows], len(columns)), np.tile(references[columns], len(rows))
                figures = match_pairs(window, *one_by_one).reshape(layers, len(rows), len(columns), 3)
                for layer in range(layers):
                    band[layer][:, put(columns, device)] = beside(figures[layer], band)
        batches.append((rows, band))
    if batches:
        copy_back()
    return scores


def _groups(lengths: NDArray[np.int64], tokens: int) -> Iterator[NDArray[np.int64]]:
    """Yield indices of texts of similar length, each group with about ``tokens`` padded tokens at most."""
    order = np.argsort(lengths, kind="stable")[::-1].copy()  # PyTorch takes no array that runs backwards
    start = 0
    while start < len(order):
        count = max(1, tokens // max(1, int(lengths[order[start]])))
        yield order[start : start + count]
        start += count


def reduce_references(
    pairs: NDArray[np.float32], rows: NDArray[np.int64], size: int, rule: Literal["columnwise", "best"]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Reduce the pairs of each row to one score.

    Args:
        pairs: P, R, F1 of each pair (layers, pairs, 3); NaN where undefined.
        rows: the row each pair belongs to (pairs,), not decreasing.
        size: how many rows there are.
        rule: ``columnwise``: the highest P, R and F1 over references, each by itself (Zhang et al. 2020, section 4);
            ``best``: all three from the reference with the highest F1, the first of equals.

    Returns:
        Scores (layers, rows, 3), NaN where undefined or empty; and which rows are empty (rows,): without any pair,
        because a side had no content.
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
    return scores, empty
