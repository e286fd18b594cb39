"""Few systems, rare labels, few clusters: the calibration page in small."""

from __future__ import annotations

from functools import partial

import pytest

from benchmarks.calibration import systems
from benchmarks.calibration.rates import simulate


@pytest.mark.slow
def test_few_systems_with_an_outlier_or_heavy_tails_are_covered() -> None:
    for world in (partial(systems.rows, n=8, r=0.9, outlier=True), partial(systems.rows, n=8, tails=2)):
        held = simulate(world, systems.intervals, runs=100)
        assert held["Fisher"].share < 0.93
        assert held["default"].share >= 0.9


def test_accuracy_of_few_systems_has_a_width_and_covers() -> None:
    held = simulate(partial(systems.ordered, n=4, r=0.8), systems.accuracies, runs=100)
    assert held["percentiles"].share < 0.85
    assert held["percentiles: no width"].share > 0.1
    assert held["default"].share >= 0.94
    assert held["default: no width"].hits == 0


def test_few_positives_are_covered() -> None:
    held = simulate(partial(systems.rare, positives=10, negatives=190, area=0.95), systems.areas, runs=100)
    assert held["logit"].share < 0.93
    assert held["default"].share >= 0.93


def test_few_clusters_of_triples_are_covered() -> None:
    held = simulate(partial(systems.triples, clusters=6, share=0.5), systems.preferred, runs=100)
    assert held["clusters (default)"].share >= 0.9


@pytest.mark.slow
def test_the_test_between_metrics_keeps_its_size_with_heavy_tails() -> None:
    for n in (19, 500):
        sizes = simulate(partial(systems.rows, n=n, tails=2), systems.tests, runs=300)
        assert sizes["Williams"].share > 0.15
        assert sizes["default"].share < 0.1
