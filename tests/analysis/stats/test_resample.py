"""Draws, percentiles of few units and p-values, against SciPy and counts by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bsx.analysis.adversarial.pairs import detect_pairs
from bsx.analysis.stats.detection import FEW_LABELS, roc_auc
from bsx.analysis.stats.resample import (
    block_sizes,
    bootstrap_counts,
    bootstrap_p,
    bootstrap_rows,
    cluster_codes,
    compared,
    contracted_p,
    drawn_units,
    expanded_tail,
    few_units,
    percentile_interval,
    permutation_p,
    permuted,
    sampled_units,
    swaps,
)

NAN = float("nan")
CLUSTERS = np.array([0, 2, 1, 1, 0, 2, 2])


@pytest.mark.parametrize("units", [2, 5, 99])
def test_percentiles_of_few_units_are_those_of_t(units: int) -> None:
    wide = math.sqrt(units / (units - 1))
    assert few_units(0.025, units) == pytest.approx(wide * stats.t.isf(0.025, units - 1) / stats.norm.isf(0.025))
    assert expanded_tail(0.025, units) == pytest.approx(stats.norm.sf(wide * stats.t.isf(0.025, units - 1)))
    assert contracted_p(expanded_tail(0.025, units), units) == pytest.approx(0.025)
    draws = np.random.default_rng(1).normal(size=500)
    tail = expanded_tail(0.05, units)
    expected = np.quantile(draws, [tail, 1 - tail])
    assert percentile_interval(draws, 0.9, units) == pytest.approx(tuple(expected))


def test_many_units_and_one() -> None:
    draws = np.append(np.arange(101.0), NAN)
    assert percentile_interval(draws, 0.9) == percentile_interval(draws, 0.9, 100) == pytest.approx((5, 95))
    assert np.isnan(percentile_interval(np.array([NAN]), 0.9)).all()
    assert (few_units(0.025, 100), few_units(0.025, 1)) == (1, 1)
    assert np.isnan(percentile_interval(draws, 0.9, 1)).all()
    assert (expanded_tail(0.1, 1), contracted_p(0.1, 1)) == (0, 1)


def test_p_of_a_bootstrap_by_hand() -> None:
    draws = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, NAN])
    # Two of six at or below 0, five at or above it: 3 / 7, and twice the smaller.
    assert bootstrap_p(draws) == pytest.approx((3 / 7, 6 / 7))
    assert bootstrap_p(draws, 2.0) == pytest.approx((5 / 7, 1.0))
    below, above = (contracted_p(share, 10) for share in (3 / 7, 6 / 7))
    assert bootstrap_p(draws, units=10) == pytest.approx((below, 2 * min(below, above)))
    assert bootstrap_p(draws, units=100) == bootstrap_p(draws)
    found = compared(0.7, 0.5, draws, 9, "some", 0.9, 10)
    assert (found.difference, found.statistic, found.n, found.confidence) == (pytest.approx(0.2), 0.7 - 0.5, 9, 0.9)
    assert (found.p, found.p_two_sided) == bootstrap_p(draws, units=10)
    assert found.ci == percentile_interval(draws, 0.9, 10)


def test_p_of_permutations_by_hand() -> None:
    draws = np.array([-0.3, 0.1, 0.2, 0.2 * (1 - 1e-12), 0.3, NAN])
    assert permutation_p(draws, 0.2) == pytest.approx(4 / 6)  # what differs by rounding reaches it
    assert permutation_p(draws, 0.2, plus_one=False) == pytest.approx(3 / 5)
    assert math.isnan(permutation_p(np.array([NAN]), 0.2))
    found = permuted(0.5, 0.3, draws, 4, "some")
    assert (found.p, found.p_two_sided) == pytest.approx((4 / 6, 5 / 6))
    plain = permuted(0.5, 0.3, draws, 4, "some", plus_one=False)
    assert (plain.p, plain.p_two_sided) == pytest.approx((3 / 5, 4 / 5))  # all but .1 are .2 at least, either way
    assert np.isnan(found.ci).all()


def test_blocks_and_draws_do_not_depend_on_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bsx.analysis.stats.resample.CELLS", 10)
    assert list(block_sizes(7, 3)) == [3, 3, 1]
    assert list(block_sizes(2, 11)) == [1, 1]
    whole = np.random.default_rng(5).integers(3, size=(6, 3))
    rows = list(bootstrap_rows(6, 7, 5, CLUSTERS))
    members = [np.flatnonzero(k == CLUSTERS).tolist() for k in range(3)]
    assert [row.tolist() for row in rows] == [[row for k in chosen for row in members[k]] for chosen in whole]
    counts = np.concatenate(list(bootstrap_counts(6, 7, 5, CLUSTERS)))
    assert counts.tolist() == [np.bincount(row, minlength=7).tolist() for row in rows]
    plain = np.concatenate(list(bootstrap_counts(6, 3, 5)))
    assert plain.tolist() == [np.bincount(row, minlength=3).tolist() for row in whole]
    tossed = np.random.default_rng(5).random((6, 3)) < 0.5
    assert np.concatenate(list(swaps(6, 7, 5, CLUSTERS))).tolist() == tossed[:, CLUSTERS].tolist()
    assert np.concatenate(list(swaps(6, 3, 5))).tolist() == tossed.tolist()


def test_what_is_drawn() -> None:
    assert (drawn_units(7), drawn_units(7, CLUSTERS)) == (7, 3)
    assert cluster_codes(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]
    assert sampled_units("both", np.zeros(2, dtype=np.int64)) == "systems and documents"
    assert sampled_units("segments", None) == "segments"


@pytest.mark.parametrize(("fewer", "interval"), [(FEW_LABELS - 1, "wilson"), (FEW_LABELS, "logit")])
def test_the_interval_of_an_area_is_that_of_the_rarer_label(fewer: int, interval: str) -> None:
    for labels in ([1] * fewer + [0] * 80, [0] * fewer + [1] * 80):
        assert f", {interval} interval" in roc_auc(labels, labels).method
        assert detect_pairs(labels, {"m": labels}).results[0].interval == interval


def test_a_p_is_at_its_floor_where_no_draw_reaches_the_data() -> None:
    draws = np.array([0.1, 0.2, 0.3, NAN])
    known = {"n": 9, "method": "draws", "confidence": 0.95}
    beyond, within = compared(0.2, 0.0, draws, **known), compared(0.2, 0.0, draws - 0.15, **known)  # type: ignore[arg-type]
    assert (beyond.at_floor, within.at_floor) == (True, False)
    assert beyond.p_two_sided == 2 / 4
    assert not compared(0.0, 0.0, np.zeros(3), **known).at_floor  # type: ignore[arg-type]
    for plus_one in (True, False):
        swapped = [permuted(a, 0.0, draws, plus_one=plus_one, **known) for a in (0.4, -0.4, 0.25)]  # type: ignore[arg-type]
        assert [test.at_floor for test in swapped] == [True, True, False]
    assert not permuted(0.4, 0.0, np.full(3, NAN), **known).at_floor  # type: ignore[arg-type]
