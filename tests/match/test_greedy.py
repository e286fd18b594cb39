"""Greedy matching against a literal implementation, the reference values, and its invariants."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bsx.match.greedy import batches, greedy_match, halving, harmonic_mean, reduce_references
from tests.helpers.oracle import bertscore


def match_one(x: np.ndarray, y: np.ndarray, wx: list[float], wy: list[float], pad: int = 0) -> list[float]:
    """Run the real code on one pair, with ``pad`` further vectors on both sides that weigh and match nothing."""

    def side(vectors: np.ndarray, weights: list[float]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        padded = np.full((1, len(vectors) + pad, vectors.shape[1]), vectors.shape[1] ** -0.5, dtype=np.float32)
        padded[0, : len(vectors)] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        w = torch.tensor([[*weights, *[0.0] * pad]])
        pool = torch.tensor([[True] * len(vectors) + [False] * pad])
        return torch.from_numpy(padded), w, pool

    (a, wa, pa), (b, wb, pb) = side(x, wx), side(y, wy)
    return greedy_match(a, b, wa, wb, pa, pb)[0].tolist()


def hid(layer: int, tokens: int, dimensions: int, phase: float) -> np.ndarray:
    """SPEC section 16: sin(0.3 l + 0.7 t j + phase)."""
    t, j = np.arange(1, tokens + 1)[:, None], np.arange(1, dimensions + 1)[None, :]
    return np.sin(0.3 * layer + 0.7 * t * j + phase)


def test_toy_of_the_reference_values(shared: Path) -> None:
    # Values computed by independent code and by the authors' functions; stated tolerance 1e-4.
    expected = json.loads((shared / "reference_values.json").read_text())["toy_metrics"]["bertscore"]
    candidate, reference = hid(12, 5, 4, 0.5), hid(12, 7, 4, 0.0)
    got = match_one(candidate, reference, [0, 1, 1, 1, 0], [0, 1, 1, 1, 1, 1, 0])
    assert got == pytest.approx([expected["P"], expected["R"], expected["F"]], abs=1e-4)
    got = match_one(candidate, reference, [0, 0.2, 1.2, 1.5, 0], [0, 0.1, 1.2, 0.9, 1.5, 0.05, 0])
    assert got == pytest.approx([expected["P_idf"], expected["R_idf"], expected["F_idf"]], abs=1e-4)


sizes = st.integers(1, 9)


@settings(max_examples=60, deadline=None)
@given(sizes, sizes, st.integers(2, 6), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_equals_the_literal_formula_whatever_the_padding(m: int, n: int, d: int, pad: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(m, d)), rng.normal(size=(n, d))
    wx, wy = rng.uniform(0.1, 2, m).tolist(), rng.uniform(0.1, 2, n).tolist()
    p, r, f = bertscore(x, y, wx, wy)
    got = match_one(x, y, wx, wy, pad)
    # fp32 cosines of unit vectors: 1e-5; F1 divides by P + R, which can be near 0 for random signs.
    assert got[:2] == pytest.approx([p, r], abs=1e-5)
    if abs(p + r) > 0.05:
        assert got[2] == pytest.approx(f, rel=1e-3, abs=1e-5)


def test_of_references_with_equal_f1_the_first_is_best() -> None:
    nothing = [np.nan] * 3
    rows = [
        (0, [0.4, 0.6, 0.48], [0.6, 0.4, 0.48], [0.5, 0.3, 0.375]),
        (1, [0.2, 0.2, 0.2], [0.6, 0.4, 0.48], [0.4, 0.6, 0.48]),
        (3, nothing, [-0.2, -0.2, -0.2], nothing),
        (4, nothing, nothing, nothing),
    ]
    pairs = np.array([[figures for _, *references in rows for figures in references]], dtype=np.float32)
    best, empty = reduce_references(pairs, np.repeat([row for row, *_ in rows], 3), 5, "best")
    expected = np.array([[0.4, 0.6, 0.48], [0.6, 0.4, 0.48], nothing, [-0.2, -0.2, -0.2], nothing], dtype=np.float32)
    np.testing.assert_array_equal(best[0], expected)
    assert empty.tolist() == [False, False, True, False, False]
    # Each layer by itself: the second one has the same references from the last to the first.
    both, _ = reduce_references(np.concatenate([pairs, pairs[:, ::-1]]), np.repeat([0, 1, 3, 4], 3), 5, "best")
    np.testing.assert_array_equal(both[0], expected)
    np.testing.assert_array_equal(both[1, 3:], expected[:2])


def test_batches_are_of_like_lengths_and_as_large_as_the_budget_lets_them() -> None:
    left, right = np.array([2, 1, 2, 9, 1, 2]), np.array([3, 1, 1, 9, 2, 1])
    # By the left length, then the right one: pairs 1, 4, 2, 5, 0, 3. A pair of a and b vectors of ten numbers, all
    # padded to the longest of the batch, takes 10 (a + b) + a b: three pairs of 2 and 2 take 132, four 176.
    assert [batch.tolist() for batch in batches(left, right, 10, 132)] == [[1, 4, 2], [5, 0], [3]]
    assert [batch.tolist() for batch in batches(left, right, 10, 131)] == [[1, 4], [2, 5], [0], [3]]
    assert [batch.tolist() for batch in batches(left, right, 10, 1)] == [[1], [4], [2], [5], [0], [3]]
    assert [batch.tolist() for batch in batches(left, right, 10, 10_000)] == [[1, 4, 2, 5, 0, 3]]


def test_what_does_not_fit_is_done_by_halves() -> None:
    done: list[list[int]] = []

    def work(batch: np.ndarray) -> None:
        if len(batch) > 1:
            raise RuntimeError("can't allocate memory")
        done.append(batch.tolist())

    halving(work, np.arange(7))
    assert done == [[i] for i in range(7)]


def test_a_harmonic_mean_of_nothing_is_0() -> None:
    precision, recall = np.array([0.0, 0.5, 1.0, 0.25, 0.2]), np.array([0.0, 0.5, 1.0, 0.75, -0.2])
    assert harmonic_mean(precision, recall).tolist() == [0.0, 0.5, 1.0, 0.375, 0.0]
