"""The section of the calibration page on what is chosen and drawn whole, in small."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.calibration import units
from benchmarks.calibration.rates import simulate


def test_the_interval_of_the_choice_covers_where_that_of_the_best_layer_does_not() -> None:
    rates = simulate(partial(units.layers, spreads=np.ones(12)), units.chosen, runs=20)
    assert rates["of the choice"].near(0.95)
    assert rates["own figure too high"].share > 0.75


def test_warnings_about_judgments_come_where_they_should() -> None:
    for seen, share in ((2, 1.0), (6, 0.0)):
        assert simulate(partial(units.rated, seen=seen), units.warned_of_raters, runs=20)["warned"].share == share
    assert simulate(partial(units.judgments, missing=0.8), units.warned_of_missing, runs=20)["warned"].share == 1
    assert simulate(partial(units.judgments, missing=0.05), units.warned_of_missing, runs=20)["warned"].near(0.01)
