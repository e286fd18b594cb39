"""Cosines lie between -1 and 1, whatever the rounding of unit vectors on a processor makes of their products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from bsx.encode.states import normalise
from bsx.match.greedy import FlatVectors, greedy_match, match_pairs, match_product
from bsx.metrics.embedding.sentence import products

TOKENS, TEXTS = 12, 4
LENGTH = np.float32(1 + 2**-22)  # what rounding leaves of 1, at most


def _window(backend: Callable[[np.ndarray], object]) -> FlatVectors:
    """Texts of the same vectors, then of the opposite ones, all of them a little too long."""
    unit = normalise(np.random.default_rng(0).normal(size=(1, TOKENS, 384))) * LENGTH
    vectors = np.concatenate([unit, unit, -unit, -unit, np.zeros_like(unit[:, :1])], axis=1)
    pool = np.arange(vectors.shape[1]) < TOKENS * TEXTS
    weights = np.where(pool, np.random.default_rng(1).uniform(0.1, 9, len(pool)), 0).astype(np.float32)
    offsets = np.arange(TEXTS) * TOKENS
    return FlatVectors(backend(vectors), backend(weights), backend(pool), offsets, np.full(TEXTS, TOKENS))


@pytest.mark.parametrize("backend", [np.asarray, torch.from_numpy])
def test_no_figure_exceeds_one(backend: Callable[[np.ndarray], object]) -> None:
    window = _window(backend)
    vectors = np.asarray(window.vectors)[0, :TOKENS]
    assert (vectors * vectors).sum(axis=1).max() > 1  # else the test shows nothing
    every = np.arange(TEXTS)
    product = match_product(window, every, every)
    pairs = match_pairs(window, np.repeat(every, TEXTS), np.tile(every, TEXTS)).reshape(product.shape)
    for scores in (product, pairs):
        assert scores.max() == 1
        assert np.abs(scores).max() <= 1
        np.testing.assert_allclose(scores[0, :2, :2], 1, atol=1e-6)


def test_one_token_against_its_opposite() -> None:
    one = (normalise(np.random.default_rng(2).normal(size=(1, 1, 384))) * LENGTH).astype(np.float32)
    for backend in (np.asarray, torch.from_numpy):
        a, b, weight, pool = (backend(x) for x in (one, -one, np.ones((1, 1), np.float32), np.ones((1, 1), bool)))
        assert np.asarray(greedy_match(a, b, weight, weight, pool, pool)).tolist() == [[-1, -1, -1]]


def test_gradients_at_the_end_of_the_range_are_numbers() -> None:
    raw = torch.randn(1, TOKENS, 32, generator=torch.Generator().manual_seed(0)).requires_grad_()
    weights, pool = torch.ones(1, TOKENS), torch.ones(1, TOKENS, dtype=torch.bool)
    unit = torch.nn.functional.normalize(raw, dim=-1)
    f1 = greedy_match(unit, unit.detach() * float(LENGTH), weights, weights, pool, pool)[0, 2]
    (gradient,) = torch.autograd.grad(f1, raw)
    assert f1.item() == 1
    assert gradient.abs().max() < 1e-5  # there is no higher score to climb to
    unit = torch.nn.functional.normalize(raw, dim=-1)
    further = unit.detach().roll(1, dims=-1)
    (gradient,) = torch.autograd.grad(greedy_match(unit, further, weights, weights, pool, pool)[0, 2], raw)
    assert torch.isfinite(gradient).all()
    assert gradient.abs().max() > 1e-4


def test_sentence_vectors() -> None:
    unit = normalise(np.random.default_rng(3).normal(size=(TOKENS, 384))) * LENGTH
    wide = unit.astype(np.float64)
    assert products(wide, wide).tolist() == [1] * TOKENS
    assert products(wide, -wide).tolist() == [-1] * TOKENS
