"""The form section of the calibration page in small: what a straight line, alpha and pooling do, and what mends it."""

from __future__ import annotations

from functools import partial

import pytest

pytest.importorskip("statsmodels")
from benchmarks.calibration import form
from benchmarks.calibration.rates import simulate


def sizes(few: int, many: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("runs", [few, pytest.param(many, marks=pytest.mark.slow)])


@pytest.mark.slow
@sizes(20, 300)
def test_a_bend_that_decides_is_named_and_a_line_is_not(runs: int) -> None:
    for each in (1, 5):
        bent = simulate(partial(form.saturating, bend=3.0, each=each), form.bent, runs=runs)
        assert bent["LEX, a line in meaning"].share > 0.9
        assert bent["LEX, a curve (`spline`)"].near(0.05)
        assert bent["warned (`bent`)"].share > 0.9
        line = simulate(partial(form.saturating, bend=0.0, each=each), form.bent, runs=runs)
        assert line["warned (`bent`)"].share < 0.03 + 1 / runs


@sizes(20, 300)
def test_errors_that_judges_share_are_corrected_too_little(runs: int) -> None:
    rates = simulate(partial(form.judged, share=0.5), form.corrected, runs=runs)
    assert rates["LEX, alpha"].share > 0.85
    assert rates["meaning holds, alpha"].share < 0.2


@pytest.mark.slow
@sizes(15, 200)
def test_coefficients_within_segments_cover_where_pooled_ones_do_not(runs: int) -> None:
    rates = simulate(partial(form.segments_apart, apart=1.0, between=1.0), form.held, runs=runs)
    assert rates["all rows"].hits == 0
    assert rates["`within=segment,system`"].near(0.95)
    assert rates["warned (`simpson`)"].share > 0.95
    alike = simulate(partial(form.segments_apart, apart=0.0), form.held, runs=runs)
    assert alike["warned (`simpson`)"].share < 0.1
