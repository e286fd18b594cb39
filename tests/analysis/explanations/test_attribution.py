"""What words add to a score: efficiency, exactness, budget, seed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from bsx.analysis.explanations.attribution import erasure, shapley
from bsx.errors import InputError
from bsx.support.checks import Array

WEIGHTS = np.array([0.5, -1.0, 2.0, 0.0, 0.3, -0.7, 1.1, 0.9, -0.2, 0.4])


def game(kept: NDArray[np.bool_]) -> Array:
    """Score texts by their words, and by pairs of neighbours that are both kept."""
    weights = WEIGHTS[: kept.shape[1]]
    together: Array = (kept[:, 1:] & kept[:, :-1]) @ (weights[1:] * weights[:-1])
    return kept @ weights + together + 0.25


def by_permutations(words: int) -> Array:
    total = np.zeros(words)
    for order in itertools.permutations(range(words)):
        kept = np.zeros((words + 1, words), dtype=bool)
        for place, word in enumerate(order):
            kept[place + 1 :, word] = True
        total[list(order)] += np.diff(game(kept))
    return total / math.factorial(words)


@pytest.mark.parametrize("words", [1, 2, 5, 6])
def test_exact_values_are_the_means_over_all_permutations(words: int) -> None:
    found = shapley(game, words, budget=64)
    assert found.exact
    assert found.evaluations == 2**words
    np.testing.assert_allclose(found.values, by_permutations(words), atol=1e-12)


@pytest.mark.parametrize("budget", [5, 40, 200, 1024])
def test_efficiency_holds_exactly_or_sampled(budget: int) -> None:
    found = shapley(game, 10, budget=budget, seed=3)
    assert found.exact == (budget == 1024)
    assert found.evaluations <= max(budget, 11)
    assert sum(found.values) == pytest.approx(found.whole - found.none, abs=1e-12)


def test_sampling_depends_on_the_seed_alone_and_comes_near() -> None:
    exact = shapley(game, 10, budget=1024).values
    first, again, other = (shapley(game, 10, budget=500, seed=seed).values for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_allclose(first, exact, atol=0.15)


def test_erasure_is_what_the_score_loses() -> None:
    found = erasure(game, 4)
    full = np.ones((1, 4), dtype=bool)
    for word in range(4):
        kept = full.copy()
        kept[0, word] = False
        assert found.values[word] == pytest.approx((game(full) - game(kept))[0])
    assert found.evaluations == 5


def test_no_words_have_no_values() -> None:
    assert shapley(game_of_nothing, 0).values == ()
    assert erasure(game_of_nothing, 0).values == ()


def game_of_nothing(kept: NDArray[np.bool_]) -> Array:
    return np.zeros(len(kept))


def test_scores_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="no finite score"):
        shapley(lambda kept: np.full(len(kept), np.nan), 3)
    with pytest.raises(InputError, match="budget=1: "):
        shapley(game, 3, budget=1)
    with pytest.raises(InputError, match="shape"):
        erasure(lambda kept: np.zeros(1), 3)
