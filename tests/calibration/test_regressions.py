"""The regressions section of the calibration page, in small: null factors, systems, groups that share segments."""

from __future__ import annotations

from functools import partial

import pytest

pytest.importorskip("statsmodels")
from benchmarks.calibration import regressions
from benchmarks.calibration.rates import simulate


@pytest.mark.parametrize(
    "world",
    [
        partial(regressions.documents, many=10),
        partial(regressions.systems, many=8),
        partial(regressions.clusters, sizes=(20,) * 8),
        partial(regressions.clusters, sizes=regressions.ZIPF),
    ],
    ids=["documents", "systems", "8 clusters", "uneven clusters"],
)
def test_a_null_factor_is_rarely_significant_and_used_to_be_often(world: partial[regressions.Rows]) -> None:
    rates = simulate(world, regressions.errors, runs=150)
    assert rates["LEX, default"].share < 0.12
    assert rates["LEX, default"].share < rates["LEX, before"].share
    assert rates["SEM, default"].share > 0.88


@pytest.mark.slow
def test_the_mean_over_groups_that_share_segments_is_covered() -> None:
    rates = simulate(partial(regressions.groups, many=6, segments=30), regressions.pooled, runs=40)
    assert rates["mean, default"].share > 0.85 > rates["mean, before"].share
    assert rates["Chow, default"].share < 0.12
