"""The disentangling section of the calibration page: what is wrong without the defaults, and right with them."""

from __future__ import annotations

import pytest

pytest.importorskip("statsmodels")
from benchmarks.calibration import disentangling


def sizes(few: int, many: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("runs", [few, pytest.param(many, marks=pytest.mark.slow)])


@pytest.mark.slow
@sizes(40, 400)
def test_default_standard_errors_keep_their_size_and_classic_ones_do_not(runs: int) -> None:
    shared, heavy = disentangling.standard_errors(runs).values()
    assert shared["auto size"].near(0.05)
    # Three times the level; 400 replicates give .24, with a standard error of .02.
    assert shared["classic size"].share > 0.15
    assert heavy["auto coverage"].share > 0.87
    assert heavy["classic coverage"].share < heavy["auto coverage"].share - 0.05


@sizes(15, 300)
def test_noise_makes_a_null_factor_significant_until_it_is_corrected_for(runs: int) -> None:
    rates = disentangling.noise(runs)
    assert rates["uncorrected: LEX"].share > 0.9
    assert rates["uncorrected: SEM"].share < 0.1
    for way in ("method of moments", "method of moments, reliability from two judgments"):
        assert rates[f"{way}: LEX"].near(0.05)
        assert rates[f"{way}: SYN"].near(0.05)
        assert rates[f"{way}: SEM"].near(0.95)


@pytest.mark.slow
@sizes(15, 300)
def test_intervals_of_r2_hold_the_truth_and_can_hold_0(runs: int) -> None:
    rates = disentangling.r2_intervals(runs)
    assert rates["R² 0"]["percentiles"].hits == 0
    for name, found in rates.items():  # heavy tails: residuals that spread more where SEM is extreme
        assert found["inversion"].near(0.8 if "heavy" in name else 0.955), name
    assert rates["R² 0"]["inversion"].near(0.975)
    assert rates["R² 0"]["corrected"].share > 0.9


@pytest.mark.slow
@sizes(8, 200)
def test_simpsons_paradox_is_warned_of_where_it_is(runs: int) -> None:
    same, between, opposite = disentangling.simpson(runs).values()
    assert same.share < 0.06 + 1 / runs
    assert between.share > 0.8
    assert opposite.share > 0.9
