"""Every text against every other by one product: the figures of pair by pair."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import bsx
from bsx.match.greedy import BATCH_NUMBERS, FlatVectors, match_pairs, match_product
from tests.helpers.matches import assert_same_matches

TEXTS = ["the cat sat on the mat", "a dog", "", "rain at the old station bridge", "the bank", "  ", "river " * 20]
pytestmark = pytest.mark.usefixtures("one_thread")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=2, max_size=9), st.integers(0, 2**31 - 1), st.booleans())
def test_product_is_pair_by_pair(lengths: list[int], seed: int, small: bool) -> None:
    torch.manual_seed(seed)
    sizes = np.array(lengths, dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    vectors = torch.nn.functional.normalize(torch.randn(2, int(sizes.sum()) + 1, 8), dim=-1)
    vectors[:, -1] = 0
    pool = torch.rand(int(sizes.sum()) + 1) < 0.8
    pool[-1] = False
    weights = torch.rand(len(pool)) * (torch.rand(len(pool)) < 0.8) * pool  # what cannot be matched weighs nothing
    window = FlatVectors(vectors, weights, pool, offsets, sizes)
    left, right = np.arange(len(sizes) // 2), np.arange(len(sizes) // 2, len(sizes))
    with pytest.MonkeyPatch.context() as patch:
        if small:  # several groups a side
            patch.setitem(BATCH_NUMBERS, "cpu", 600)
        product = match_product(window, left, right)
    pairs = match_pairs(window, np.repeat(left, len(right)), np.tile(right, len(left)))
    assert_same_matches(product.reshape(pairs.shape), pairs)


def test_a_matrix_has_the_weights_and_the_figure_of_a_list(tiny_model: Callable[[str], str]) -> None:
    metric = bsx.get_metric("bertscore:layer=2,measure=recall,idf=true", model=tiny_model("bert"))
    matrix = metric.score_matrix(TEXTS, TEXTS[::-1])  # counts each text once, as a list of them does
    np.testing.assert_allclose(np.diag(matrix), metric.score(TEXTS, TEXTS[::-1]).values, atol=1e-5)
