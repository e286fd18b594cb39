"""WMT's permutation tests of many metrics at once, beside loops over every possible swap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

import numpy as np
import pytest

from bsx.analysis import pairwise_accuracy_with_ties, perm_both, soft_pairwise_accuracy
from bsx.analysis.stats.systems import swapped as module
from bsx.analysis.stats.systems.swapped import Swapped, swapped_accuracy, swapped_pearson, swapped_soft, swapped_ties
from bsx.errors import InputError
from bsx.support.checks import Array

DRAWS = 8000
NEAR = 4 * 0.5 / DRAWS**0.5
"""Four standard errors of a share of DRAWS at most."""


def one_sided(task: Swapped, i: int, j: int) -> float:
    return float((task.difference(i, j) >= task.values[i] - task.values[j] - module.SLACK).mean())


def scores(systems: int, segments: int, *, seed: int = 3) -> tuple[Array, Array]:
    """Return two metrics of different quality and scale, and human scores that tie at times."""
    rng = np.random.default_rng(seed)
    human = np.round(rng.normal(size=(systems, 1)) + rng.normal(size=(systems, segments)))
    return np.stack([human + rng.normal(size=human.shape), 7 * (human + 2 * rng.normal(size=human.shape))]), human


def z(values: Array) -> Array:
    return (values - values.mean()) / values.std()


def swapped(a: Array, b: Array) -> Iterator[tuple[Array, Array]]:
    for coins in product([False, True], repeat=a.size):
        mask = np.array(coins).reshape(a.shape)
        yield np.where(mask, b, a), np.where(mask, a, b)


def exact(a: Array, b: Array, statistic: Callable[[Array], float]) -> float:
    """Return the p of every swap there is."""
    observed = statistic(a) - statistic(b)
    return float(np.mean([statistic(x) - statistic(y) >= observed - 1e-12 for x, y in swapped(z(a), z(b))]))


def accuracy(values: Array, human: Array, bounds: Sequence[int]) -> float:
    """Return the share of pairs of systems of one language pair that are ordered as people order them."""
    right = [
        np.sign(values[i] - values[j]) == np.sign(human[i] - human[j])
        for start, end in zip([0, *bounds[:-1]], bounds, strict=True)
        for i, j in combinations(range(start, end), 2)
    ]
    return float(np.mean(right))


def test_pearson_of_pooled_cells() -> None:
    metrics, human = scores(3, 3)
    flat = metrics.reshape(2, -1)
    task = swapped_pearson(flat, human.ravel(), DRAWS, 1)
    assert task.values == pytest.approx([np.corrcoef(one, human.ravel())[0, 1] for one in flat])
    expected = exact(flat[0], flat[1], lambda values: float(np.corrcoef(values, human.ravel())[0, 1]))
    assert one_sided(task, 0, 1) == pytest.approx(expected, abs=NEAR)
    assert one_sided(task, 0, 1) == pytest.approx(perm_both(metrics[0], metrics[1], human, resamples=DRAWS).p, abs=NEAR)
    np.testing.assert_allclose(task.difference(0, 1), -task.difference(1, 0))
    constant = swapped_pearson(np.stack([flat[0], np.ones(9)]), human.ravel(), 10, 1)
    assert constant.values[1] == 0  # as WMT's tool has it


def test_accuracy_of_systems_over_language_pairs() -> None:
    rng = np.random.default_rng(5)
    human = [np.array([3.0, 1, 2, 2]), np.array([0.0, 5, 1])]
    metrics = [np.stack([h + 0.6 * rng.normal(size=len(h)), rng.normal(size=len(h))]) for h in human]
    task = swapped_accuracy(metrics, human, DRAWS, 1)
    joined, people = np.concatenate(metrics, axis=1), np.concatenate(human)
    assert task.values == pytest.approx([accuracy(one, people, [4, 7]) for one in joined])
    expected = exact(joined[0], joined[1], lambda values: accuracy(values, people, [4, 7]))
    assert one_sided(task, 0, 1) == pytest.approx(expected, abs=NEAR)
    with pytest.raises(InputError):
        swapped_accuracy([np.ones((2, 1))], [np.ones(1)], 1, 1)


def test_verdicts_on_pairs() -> None:
    metrics, human = scores(3, 3)
    human[0, 1] = np.nan
    task = swapped_ties(metrics, human, DRAWS, 1)
    present = np.where(np.isnan(human), np.nan, metrics)
    tied = [pairwise_accuracy_with_ties(one, human, nan="omit", epsilon=None) for one in present]
    assert task.values == pytest.approx([one.estimate for one in tied])
    right: list[Array] = []
    weight: list[float] = []
    for k, epsilon in enumerate(one.epsilon for one in tied):
        own: list[bool] = []
        weight = []
        for segment in range(3):
            pairs = [(i, j) for i, j in combinations(range(3), 2) if not np.isnan(human[[i, j], segment]).any()]
            for i, j in pairs:
                apart = metrics[k][i, segment] - metrics[k][j, segment]
                verdict = 0.0 if abs(apart) <= epsilon else np.sign(apart)
                own.append(bool(verdict == np.sign(human[i, segment] - human[j, segment])))
                weight.append(1 / len(pairs) / 3)
        right.append(np.array(own, dtype=float))
    a, b, share = right[0], right[1], np.array(weight)
    observed = share @ (a - b)
    null = [share @ (x - y) >= observed - 1e-12 for x, y in swapped(a, b)]
    assert one_sided(task, 0, 1) == pytest.approx(np.mean(null), abs=NEAR)


def test_human_scores_are_compared_exactly_as_wmt_does() -> None:
    human = np.array([[-25.2], [-25.200000000000003]])
    metrics = np.array([[[1.0], [1.0]], [[2.0], [1.0]]])
    assert swapped_ties(metrics, human, 0, 1).values.tolist() == [0, 1]
    assert pairwise_accuracy_with_ties(metrics[0], human, resamples=1, epsilon=None).estimate == 1


def test_soft_pairwise_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKED_AT", 10**6)
    metrics, human = scores(3, 3)
    task = swapped_soft(metrics, human, 200, 1)

    def spa(values: Array) -> float:
        return soft_pairwise_accuracy(values, human, method="wmt", resamples=1).estimate

    assert task.values == pytest.approx([spa(one) for one in metrics])
    # Other draws instead of every swap, which would take long.
    rng, null = np.random.default_rng(2), []
    a, b = z(metrics[0]), z(metrics[1])
    for _ in range(200):
        mask = rng.random(a.shape) < 0.5
        null.append(spa(np.where(mask, a, b)) - spa(np.where(mask, b, a)))
    expected = np.mean(np.array(null) >= task.values[0] - task.values[1] - 1e-12)
    assert one_sided(task, 0, 1) == pytest.approx(expected, abs=4 * (2 * 0.25 / 200) ** 0.5)


def test_clear_differences_end_early_and_are_drawn_once() -> None:
    rng = np.random.default_rng(1)
    human = rng.normal(size=(6, 40)) + np.arange(6)[:, None]
    task = swapped_soft(np.stack([human, rng.normal(size=human.shape)]), human, 1000, 1)
    drawn = task.difference(0, 1)
    assert len(drawn) == 100
    assert task.difference(0, 1) is drawn
