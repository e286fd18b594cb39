"""The disentangling section of the calibration page: what is wrong without the defaults, and right with them."""

from __future__ import annotations

import pytest

pytest.importorskip("statsmodels")
from benchmarks.calibration import disentangling

RUNS = [40, pytest.param(400, marks=pytest.mark.slow)]


@pytest.mark.parametrize("runs", RUNS)
def test_default_standard_errors_keep_their_size_and_classic_ones_do_not(runs: int) -> None:
    shared, heavy = disentangling.standard_errors(runs).values()
    assert shared["auto size"].near(0.05)
    assert shared["classic size"].share > 0.25
    assert heavy["auto coverage"].share > 0.87
    assert heavy["classic coverage"].share < heavy["auto coverage"].share - 0.05
