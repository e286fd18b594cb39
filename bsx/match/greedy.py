"""Greedy cosine matching: BERTScore's precision, recall and F1."""

from __future__ import annotations

import torch


def greedy_match(
    candidate: torch.Tensor,
    reference: torch.Tensor,
    candidate_weights: torch.Tensor,
    reference_weights: torch.Tensor,
    candidate_pool: torch.Tensor,
    reference_pool: torch.Tensor,
) -> torch.Tensor:
    """Match every token with its most similar token on the other side.

    Source: Zhang et al. 2020, section 3. R is the weighted mean over reference tokens of the highest cosine with a
    candidate token, P the same the other way round, F1 their harmonic mean. Differentiable in both inputs.

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
    similarity = torch.bmm(candidate, reference.transpose(1, 2))
    # A cell outside the pool must lose against every cosine, negative ones too; zero would win against those.
    best_for_candidate = _best(similarity, reference_pool[:, None, :], dim=2)
    best_for_reference = _best(similarity, candidate_pool[:, :, None], dim=1)
    precision = _weighted_mean(best_for_candidate, candidate_weights)
    recall = _weighted_mean(best_for_reference, reference_weights)
    return torch.stack([precision, recall, harmonic_mean(precision, recall)], dim=-1)


def _best(similarity: torch.Tensor, allowed: torch.Tensor, dim: int) -> torch.Tensor:
    best = similarity.masked_fill(~allowed, -torch.inf).amax(dim=dim)
    return torch.where(torch.isinf(best), 0.0, best)  # nothing to match with: such rows carry no weight


def _weighted_mean(values: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    total = weights.sum(dim=1)
    mean = (values * weights).sum(dim=1) / torch.where(total > 0, total, 1.0)
    return torch.where(total > 0, mean, torch.nan)


def harmonic_mean(precision: torch.Tensor, recall: torch.Tensor) -> torch.Tensor:
    """Return 2PR / (P + R), 0 where P + R is 0."""
    total = precision + recall
    return torch.where(total == 0, 0.0, 2 * precision * recall / torch.where(total == 0, 1.0, total))
