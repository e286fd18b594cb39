"""What a meta-evaluation chooses by itself keeps its promises, on average over groups too, and with unequal members."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from benchmarks.calibration import choices
from benchmarks.calibration.rates import simulate


def test_the_worlds_have_the_truth_they_state() -> None:
    columns = choices.groups(np.random.default_rng(1), n=40_000, k=1)
    assert np.corrcoef(columns["a"], columns["human"])[0, 1] == pytest.approx(0.5, abs=0.02)
    spreads = choices.UNEQUAL
    table = choices.members(np.random.default_rng(1), spreads, n=200_000)
    scores = np.stack([table[f"m{j}"] / table[f"m{j}"].std() for j in range(len(spreads))])
    r = np.corrcoef(np.vstack([scores, scores.sum(axis=0), table["human"]]))[-1]
    share = 1 / np.sqrt(1 + np.square(spreads))
    together = share.sum() / np.sqrt(share.sum() ** 2 + (1 - share**2).sum())
    assert r[-2] / r[:-2].max() - 1 == pytest.approx(together / share.max() - 1, abs=0.01)


@pytest.mark.slow
def test_tests_of_averages_keep_their_size() -> None:
    for world in (choices.groups, partial(choices.groups, tails=5)):
        found = simulate(world, choices.chosen, runs=100)
        for name in ("test in a group", "test of the average"):
            assert found[name].near(0.05), name
        assert found["interval of the average"].share > 0.88


@pytest.mark.slow
def test_gains_of_unequal_members_are_covered() -> None:
    spreads = choices.UNEQUAL
    for name, rate in simulate(
        partial(choices.members, spreads=spreads), partial(choices.gains, spreads=spreads), runs=60
    ).items():
        assert rate.share >= 0.9, name
