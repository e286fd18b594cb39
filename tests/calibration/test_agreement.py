"""Tests between metrics and intervals keep their promises: the calibration page in small, and in full where slow."""

from __future__ import annotations

import pytest

from benchmarks.calibration import agreement
from benchmarks.calibration.rates import Rate, simulate

DEFAULTS = ("(default)", "permutation of rows", "permutation of systems", "permutation of segments")


def test_whole_segments_keep_the_size_that_pairs_lose() -> None:
    world = "ties, uneven segments"
    rates = {str(test): rate for _, test, rate in agreement.sizes(40, {world: agreement.WORLDS[world]})}
    whole, pairs = rates["acc_eq, whole segments (default)"], rates["acc_eq, pairs (mt-metrics-eval)"]
    assert isinstance(whole, Rate)
    assert isinstance(pairs, Rate)
    assert whole.near(0.05)
    assert not pairs.near(0.05)


@pytest.mark.slow
def test_every_default_has_its_size() -> None:
    for world, test, rate in agreement.sizes(400):
        assert isinstance(rate, Rate)
        if str(test).endswith(DEFAULTS) and "tails" not in str(world):
            assert rate.share <= 0.05 or rate.near(0.05), (world, test, str(rate))


@pytest.mark.slow
def test_intervals_of_areas_and_gains_cover() -> None:
    areas = simulate(agreement.clustered, agreement.areas, runs=400)
    assert areas["clusters: coverage"].near(0.95)
    assert areas["clusters: size"].near(0.05)
    gains = simulate(agreement.equal_members, agreement.gains, runs=150)
    assert gains["gain over the best of the sample (default)"].share >= 0.92
    assert gains["gain over the best of the training"].share >= 0.92


@pytest.mark.slow
def test_of_equal_metrics_none_is_called_worse_more_often_than_a_test_errs() -> None:
    equal, better, chance = agreement.SECTION.tables
    counted = {name: Rate(*count) for name, count in equal.worlds[1].counts(0, 40).items()}
    corrected, plain = (counted[column] for column in equal.columns)
    assert corrected.near(0.05)
    assert not plain.near(0.05)
    blind, _, good = chance.worlds
    assert Rate(*blind.counts(0, 20)["interval above chance"]).near(0.025)
    assert good.counts(0, 5)["interval above chance"] == [5, 5]
    assert set(better.columns) <= {*better.worlds[0].counts(0, 1)}
