"""Correlations against SciPy, loops written out, and WMT20's figures."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bsx.analysis.stats.correlation import (
    bootstrap_correlations,
    influence,
    kendall,
    pairwise_accuracy,
    pearson,
    spearman,
    tail_weight,
    without_each,
    worth,
)
from bsx.analysis.stats.preference import share_of_pairs
from bsx.analysis.stats.resample import bootstrap_indices
from bsx.analysis.stats.rowwise import kendall_rows, pairwise_accuracy_rows, pearson_rows, spearman_rows
from bsx.analysis.stats.systems.grouped import compare_grouped, grouped, system_means
from bsx.errors import InputError
from tests.helpers import wmt20

NAN = float("nan")
SCIPY: dict[str, Any] = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
    "kendall-c": partial(stats.kendalltau, variant="c"),
}


def test_values_and_intervals_are_scipys() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    test = stats.pearsonr(x, y)
    ours = pearson(x, y, confidence=0.9)
    interval = test.confidence_interval(0.9)
    assert (ours.estimate, ours.p, ours.n) == (pytest.approx(test.statistic), pytest.approx(test.pvalue), 40)
    assert ours.ci == pytest.approx((interval.low, interval.high))
    assert "Fisher" in ours.method
    assert spearman(x, y).estimate == pytest.approx(stats.spearmanr(x, y).statistic)
    assert spearman(x, y).p == pytest.approx(stats.spearmanr(x, y).pvalue)
    assert kendall(x, y).estimate == pytest.approx(stats.kendalltau(x, y).statistic)
    assert kendall(x, y).p == pytest.approx(stats.kendalltau(x, y).pvalue)
    levels = np.round(x)
    tau_c = stats.kendalltau(levels, y, variant="c").statistic
    assert kendall(levels, y, variant="c", interval="none").estimate == pytest.approx(tau_c)
    # Bonett & Wright 2000; Fieller, Hartley & Pearson 1957.
    for found, variance in (
        (spearman(x, y), (1 + spearman(x, y).estimate ** 2 / 2) / 37),
        (kendall(x, y), 0.437 / 36),
    ):
        ends = np.arctanh(found.estimate) + stats.norm.ppf([0.025, 0.975]) * math.sqrt(variance)
        assert found.ci == pytest.approx(tuple(np.tanh(ends)))
    drawn = bootstrap_correlations(x[None], y, "pearson", resamples=99, seed=3)[:, 0]
    resampled = pearson(x, y, interval="bootstrap", resamples=99, seed=3)
    assert resampled.ci == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])))


def test_small_and_perfect_samples() -> None:
    assert (pearson([1, 2, 3], [1, 3, 2]).ci[0], pearson([1, 2, 3], [1, 3, 2]).ci[1]) == (-1, 1)
    perfect = pearson([1, 2, 3, 4], [2, 4, 6, 8])
    assert (perfect.estimate, *perfect.ci) == pytest.approx((1, 1, 1))
    assert pearson([1, 2, NAN, 4], [2, 3, 4, 9], nan="omit").n == 3


@pytest.mark.parametrize("statistic", SCIPY)
def test_bootstrap_is_the_statistic_of_each_resample(statistic: str) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(5, size=(2, 30)).astype(float), rng.integers(4, size=30).astype(float)
    ours = bootstrap_correlations(x, y, statistic, resamples=25, seed=5)
    for row, chosen in zip(ours, next(bootstrap_indices(25, 30, 5)), strict=True):
        expected = [SCIPY[statistic](scores[chosen], y[chosen]).statistic for scores in x]
        assert row == pytest.approx(expected)


def test_rows_are_scipys_with_missing_items() -> None:
    rng = np.random.default_rng(4)
    for n in (9, 70):  # Kendall by pairs and by sorting
        x, y = rng.integers(6, size=(2, 5, n)).astype(float)
        x[0, 2], y[0, 4], x[1, :], y[2, 2:] = NAN, NAN, 3.0, NAN
        y[2, :2] = [1, 2]
        x[2, :2] = [5, 1]
        for ours, name in ((pearson_rows, "pearson"), (spearman_rows, "spearman"), (kendall_rows, "kendall")):
            values = ours(x, y)
            assert np.isnan(values[1])
            assert values[2] == pytest.approx(-1)
            for i in (0, 3, 4):
                present = ~np.isnan(x[i]) & ~np.isnan(y[i])
                assert values[i] == pytest.approx(SCIPY[name](x[i, present], y[i, present]).statistic)
        assert pairwise_accuracy_rows(x, y)[2] == 0


def test_pairwise_accuracy_counts_pairs() -> None:
    metric, human = [1.0, 2.0, 2.0, 5.0, 4.0], [1.0, 3.0, 3.0, 4.0, 4.0]
    right = [np.sign(metric[i] - metric[j]) == np.sign(human[i] - human[j]) for i, j in combinations(range(5), 2)]
    result = pairwise_accuracy(metric, human)
    assert result.estimate == pytest.approx(np.mean(right))
    assert result.ci[0] <= result.estimate <= result.ci[1]
    # Of twenty systems and more, one draw by hand: pairs between different systems only.
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 25))
    chosen = next(bootstrap_indices(2, 25, 7))
    kept = [
        np.mean([np.sign(x[i] - x[j]) == np.sign(y[i] - y[j]) for i, j in combinations(draw, 2) if i != j])
        for draw in chosen
    ]
    found = pairwise_accuracy(x, y, resamples=2, seed=7, confidence=0.999999)
    assert found.ci == pytest.approx(tuple(sorted(kept)), abs=1e-5)


def test_few_systems_have_an_accuracy_with_a_width() -> None:
    perfect = pairwise_accuracy([1, 2, 3, 4], [1, 2, 3, 4])
    assert "jackknife" in perfect.method
    # Four systems are worth at most 9 * 12 / 26 pairs (Kendall 1938): Wilson's lower end is w / (w + z²).
    assert perfect.ci == pytest.approx((108 / 26 / (108 / 26 + 1.959964**2), 1))
    metric, human = np.array([0.0, 1, 2, 6, 3, 4, 4]), np.array([0.0, 1, 2, 3, 4, 5, 5])
    alike = np.sign(metric[:, None] - metric) == np.sign(human[:, None] - human)
    assert pairwise_accuracy(metric, human).ci == share_of_pairs(alike.astype(float), 0.95)
    assert pairwise_accuracy(metric, human, confidence=0.8).ci == share_of_pairs(alike.astype(float), 0.8)


def test_an_interval_reaches_over_those_without_each_one_item() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=9)
    y = x + rng.normal(size=9)
    x[0] = y[0] = 12.0  # carries the correlation
    found = pearson(x, y, interval="leave-one-out")
    without = [float(pearson_rows(np.delete(x, i), np.delete(y, i))) for i in range(9)]
    assert without_each(x, y, "pearson") == pytest.approx(without)
    z, half = np.arctanh([min(without), max(without)]), 1.959964 / np.sqrt(6)
    assert found.ci == pytest.approx((np.tanh(z[0] - half), np.tanh(z[1] + half)), abs=1e-6)
    assert found.ci[0] < min(without) < pearson(x, y).ci[0]
    assert "with each one left out" in found.method
    # Without the only item that differs nothing varies: nothing is known.
    assert pearson([0, 0, 0, 0, 1], [1, 2, 3, 4, 9], interval="leave-one-out").ci[0] == -1


def by_hand(x: np.ndarray, y: np.ndarray, by: str, statistic: str, constant: str) -> float:
    """Group, correlate with SciPy, average: with loops."""
    groups = {
        "none": [(x.ravel(), y.ravel())],
        "item": list(zip(x.T, y.T, strict=True)),
        "sys": list(zip(x, y, strict=True)),
        "means": [(np.nanmean(x, axis=1), np.nanmean(y, axis=1))],
    }[by]
    values = []
    for a, b in groups:
        a, b = a[~np.isnan(a)], b[~np.isnan(a)]
        if len(a) > 1 and len(set(a)) > 1 and len(set(b)) > 1:
            values.append(SCIPY[statistic](a, b).statistic)
        elif constant == "zero":
            values.append(0.0)
    return float(np.mean(values))


@pytest.mark.parametrize("by", ["none", "item", "sys", "means"])
@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall"])
def test_grouped_is_loops(by: str, statistic: str) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.integers(5, size=(2, 6, 20)).astype(float)
    x[:, 3] = 2.0  # a segment the metric cannot tell apart
    x[2, 5] = x[1:, 8] = NAN
    y_seen = np.where(np.isnan(x), NAN, y)
    for constant in ("skip", "zero"):
        result = grouped(x, y, by=by, statistic=statistic, constant=constant, nan="omit", resamples=30)  # type: ignore[arg-type]
        assert result.estimate == pytest.approx(by_hand(x, y_seen, by, statistic, constant))
        assert result.groups + (result.undefined if constant == "skip" else 0) == len(result.by_group)
        # The bootstrap resamples columns of both matrices.
        one = grouped(x, y, by=by, statistic=statistic, constant=constant, nan="omit", resamples=1, seed=8)  # type: ignore[arg-type]
        chosen = next(bootstrap_indices(1, 20, 8))[0]
        assert one.ci[0] == pytest.approx(by_hand(x[:, chosen], y_seen[:, chosen], by, statistic, constant))
    if by == "item":
        assert np.isnan(result.by_group[[3, 8]]).all()
        assert result.undefined == 2


@pytest.mark.parametrize("by", ["none", "item", "sys", "means"])
def test_comparing_groupings_resamples_the_same_segments(by: str) -> None:
    rng = np.random.default_rng(6)
    h = rng.normal(size=(5, 12))
    a, b = h + 0.5 * rng.normal(size=(5, 12)), h + 3 * rng.normal(size=(5, 12))
    a[1, 2] = NAN
    b_seen, h_seen = (np.where(np.isnan(a), NAN, z) for z in (b, h))
    for statistic in ("pearson", "kendall"):
        result = compare_grouped(a, b, h, by=by, statistic=statistic, nan="omit", resamples=1, seed=9)  # type: ignore[arg-type]
        assert result.value_a == pytest.approx(by_hand(a, h_seen, by, statistic, "skip"))
        assert result.value_b == pytest.approx(by_hand(b_seen, h_seen, by, statistic, "skip"))
        same = int(np.random.default_rng(9).integers(2**63))
        chosen = next(bootstrap_indices(1, 12, same))[0]
        one, two = (by_hand(z[:, chosen], h_seen[:, chosen], by, statistic, "skip") for z in (a, b_seen))
        assert result.ci[0] == pytest.approx(one - two)
    other = compare_grouped(b, a, h, by=by, nan="omit")  # type: ignore[arg-type]
    assert compare_grouped(a, b, h, by=by, nan="omit").p < 0.05 < 0.9 < other.p  # type: ignore[arg-type]


def test_wmt20_groupings(shared: Path) -> None:
    tolerance = wmt20.reference(shared)["_tolerances"]["deterministic_statistics"]
    wanted = [
        ("pearson_none_z", "none", "pearson", "human_z"),
        ("pearson_item_z", "item", "pearson", "human_z"),
        ("pearson_sys_z", "sys", "pearson", "human_z"),
        ("kendall_b_item_raw", "item", "kendall", "human_raw"),
        ("pairwise_acc_sys_z", "means", "pairwise_accuracy", "human_z"),
    ]
    compared = 0
    for pair, expected in wmt20.reference(shared)["wmt20_complete_matrix"].items():
        scores = wmt20.complete(shared, pair)
        for metric, values in expected["metrics"].items():
            for key, by, statistic, human in wanted:
                result = grouped(scores[metric], scores[human], by=by, statistic=statistic, resamples=50)  # type: ignore[arg-type]
                assert result.estimate == pytest.approx(values[key], abs=tolerance), (pair, metric, key)
                compared += 1
            means = (system_means(scores[metric]), system_means(scores["human_z"]))
            assert pairwise_accuracy(*means, resamples=10).estimate == pytest.approx(values["pairwise_acc_sys_z"])
    assert compared == 50


def test_columns_that_no_correlation_is_defined_for_are_refused() -> None:
    human = [float(i) for i in range(12)]
    for column, message in (
        ([1 + i * 1e-15 for i in range(12)], "a rounding error of numbers near 1"),
        ([i * 1e300 for i in range(12)], "at item 1 is too large"),
    ):
        with pytest.raises(InputError, match=f"metric: .*{message}"):
            pearson(column, human)


def test_spearman_of_few_items_has_an_exact_p() -> None:
    assert spearman([1, 2, 3], [1, 2, 3]).p == pytest.approx(1 / 3)  # two of the six orders; SciPy says 0
    assert spearman([1, 2, 3, 4], [1, 2, 4, 3]).p == pytest.approx(8 / 24)
    assert spearman([1, 2, 2, 3], [5, 6, 6, 7]).p == pytest.approx(4 / 24)


@pytest.mark.parametrize("n", [5, 6, 9])
def test_the_low_end_of_a_perfect_order_is_that_of_the_next_smaller_value(n: int) -> None:
    items = np.arange(n)
    z = stats.norm.ppf(0.975)
    next_tau = 1 - 2 / (n * (n - 1) / 2)  # one pair the other way round
    next_rho = 1 - 6 * 2 / (n * (n**2 - 1))  # two neighbours have changed places
    ends = {
        kendall: np.tanh(np.arctanh(next_tau) - z * np.sqrt(0.437 / (n - 4))),
        spearman: np.tanh(np.arctanh(next_rho) - z * np.sqrt((1 + next_rho**2 / 2) / (n - 3))),
    }
    for measure, low in ends.items():
        found = measure(items, items, interval="leave-one-out")
        assert found.ci == pytest.approx((low, 1), rel=1e-12)
        turned = measure(items, -items, interval="leave-one-out")
        assert turned.ci == pytest.approx((-1, -low), rel=1e-12)


def test_the_weight_of_tails_is_the_variance_of_r_without_each_item_over_the_normals() -> None:
    # The influence of an item on r is, for weights that move towards it, the derivative of the weighted correlation.
    rng = np.random.default_rng(4)
    x, y = rng.standard_t(4, size=(2, 30))
    y = y + x

    def weighted(w: np.ndarray) -> float:
        cov = np.cov(np.stack([x, y]), aweights=w, ddof=0)
        return float(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))

    step = 1e-6
    slopes = [
        (weighted((1 - step) * np.ones(30) / 30 + step * np.eye(30)[i]) - weighted(np.ones(30))) / step
        for i in range(30)
    ]
    # One-sided differences of such steps are right to about 1e-5.
    assert influence(x, y) == pytest.approx(slopes, abs=1e-3)
    assert influence(x, y).sum() == pytest.approx(0, abs=1e-10)
    r = stats.pearsonr(x, y).statistic
    assert tail_weight(x, y) == pytest.approx(np.mean(np.square(slopes)) / (1 - r**2) ** 2, rel=1e-4)
    assert tail_weight(x, x + 1e-12 * y) == 1


@pytest.mark.parametrize(
    ("added", "units"),
    [
        ([1.0, -1.0] * 10, 20),  # the kurtosis of two values is 1
        ([0.0] * 7, 7),
        ([1.0] + [0.0] * 99, 5),  # 5 (Σd²)² / Σd⁴, of d = .99 and ninety-nine of -.01: 5 x .99² / .9606 = 5.10
        ([4.0, -4.0, *[1.0, -1.0] * 10], 22),  # Σd² = 52, Σd⁴ = 532: 5 x 52² / 532 = 25.4, but there are 22
        ([6.0, -6.0, *[1.0, -1.0] * 10], 16),  # Σd² = 92, Σd⁴ = 2612: 5 x 92² / 2612 = 16.2
        ([10.0, 0.0, 0.0], 3),  # never under three
    ],
)
def test_few_weighty_units_are_worth_less(added: list[float], units: int) -> None:
    assert worth(np.array(added)) == units


@pytest.mark.parametrize("resample", ["systems", "both"])
def test_kendalls_tau_c_of_two_systems_is_the_share_of_items_they_are_ordered_alike_in(resample: str) -> None:
    human = np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 1.0, 1.0]])
    metric = np.array([[1.0, 2.0, 3.0, 1.0], [2.0, 1.0, 1.0, 4.0]])
    how = {"by": "item", "statistic": "kendall_c", "resample": resample, "resamples": 30}
    result = grouped(metric, human, **how)  # type: ignore[arg-type]
    assert result.estimate == pytest.approx((3 - 1) / 4)
    assert result.ci[0] <= 0.5 <= result.ci[1]
