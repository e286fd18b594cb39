"""Planned studies have the power they were planned for."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from benchmarks.calibration import plan
from benchmarks.calibration.rates import simulate


def test_the_worlds_have_the_truth_they_state() -> None:
    values = plan.differences(np.random.default_rng(1), 20_000, 0.2, 0.1)
    assert (values.mean(), values.var()) == (pytest.approx(0.1, abs=0.02), pytest.approx(1, abs=0.02))
    assert values.mean(axis=1).var() == pytest.approx(0.2 + 0.8 / 8, abs=0.01)
    columns = plan.metrics(np.random.default_rng(1), 50_000)
    r = np.corrcoef([columns["a"], columns["b"], columns["human"]])
    assert (r[0, 2], r[1, 2], r[0, 1]) == tuple(pytest.approx(x, abs=0.02) for x in (0.6, 0.5, plan.BETWEEN))


def test_stated_variances_of_documents_give_the_power_asked_for() -> None:
    found = simulate(_same, partial(plan.documents_stated, icc=0.2, effect=0.3), runs=200)
    assert found["power"].near(0.8)
    assert found["power, documents ignored"].share < 0.6


@pytest.mark.slow
def test_pilots_give_about_the_power_asked_for() -> None:
    for run in (
        partial(plan.from_pilot, documents=40, effect=0.2),
        partial(plan.correlations_pilot, segments=60, systems=8, shared=0.5, heavy=False),
    ):
        found = simulate(_same, run, runs=100)
        assert found["power"].near(0.79)
        assert found["interval of n"].share > 0.84


def _same(rng: np.random.Generator) -> np.random.Generator:
    return rng
