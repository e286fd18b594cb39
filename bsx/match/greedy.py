"""Greedy cosine matching: BERTScore's precision, recall and F1."""

from __future__ import annotations

import numpy as np

from bsx.support.arrays import Array, namespace, within


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
