"""Tests of significance: published figures, full enumeration, resamples by hand, clusters."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from bsx.analysis.stats.clusters import Alternative, adjust, ranked_tests, significance_clusters
from bsx.analysis.stats.resample import bootstrap_indices
from bsx.analysis.stats.rowwise import pearson_rows
from bsx.analysis.stats.significance import Swap, paired_bootstrap, perm_both, williams, williams_from_correlations
from bsx.analysis.stats.systems.grouped import By, compare_grouped, group_values, grouped, resampled_groups
from tests.helpers import wmt20
from tests.helpers.systems import bootstrap_systems, randomise_systems
from tests.helpers.tables import read_rows

BYS: tuple[By, ...] = ("none", "item", "sys", "means")

# Williams


def williams_by_hand(x: np.ndarray, y: np.ndarray, h: np.ndarray) -> tuple[float, float]:
    """t and one-sided p, with the determinant of the correlation matrix."""
    matrix, n = np.corrcoef([x, y, h]), len(h)
    r12, r13, r23 = matrix[0, 2], matrix[1, 2], matrix[0, 1]
    spread = 2 * np.linalg.det(matrix) * (n - 1) / (n - 3) + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / spread)
    return t, float(1 - stats.t.cdf(t, n - 3))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(5, 60))
def test_williams_is_its_formula_and_symmetric(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    h = rng.normal(size=n)
    x, y = h + rng.normal(size=n), h + 2 * rng.normal(size=n)
    t, p = williams_by_hand(x, y, h)
    result, other = williams(x, y, h), williams(y, x, h)
    assert (result.statistic, result.p) == (pytest.approx(t), pytest.approx(p, abs=1e-12))
    assert (other.statistic, other.p) == (pytest.approx(-t), pytest.approx(1 - p))
    assert result.p_two_sided == pytest.approx(2 * min(p, 1 - p)) == pytest.approx(other.p_two_sided)
    assert other.ci == pytest.approx((-result.ci[1], -result.ci[0]))
    assert result.ci[0] <= result.difference <= result.ci[1]
    assert williams(3 * x + 1, y / 7, h).statistic == pytest.approx(t)
    assert williams(-x, y, h).value_a == pytest.approx(-result.value_a)  # signs are kept


def test_williams_without_noise() -> None:
    x = np.array([1.0, 2.0, 4.0, 3.0, 5.0])
    same = williams(x, 2 * x + 1, [1, 3, 2, 5, 4])
    assert (same.statistic, same.p, same.p_two_sided) == (0, 0.5, 1)
    assert williams_from_correlations(0.6, 0.6, 0.2, 30).p == 0.5
    assert williams_from_correlations(0.6, -0.6, 0.28, 30).p < 1e-6  # people = a sum of a and b


def test_the_interval_of_a_difference_is_zous() -> None:
    r1, r2, r12, n = 0.8, 0.3, 0.4, 40  # Zou 2007, section 3.2
    (l1, u1), (l2, u2) = (np.tanh(np.arctanh(r) + np.array([-1, 1]) * 1.959964 / np.sqrt(n - 3)) for r in (r1, r2))
    c = ((r12 - r1 * r2 / 2) * (1 - r1**2 - r2**2 - r12**2) + r12**3) / ((1 - r1**2) * (1 - r2**2))
    low = r1 - r2 - np.sqrt((r1 - l1) ** 2 + (u2 - r2) ** 2 - 2 * c * (r1 - l1) * (u2 - r2))
    high = r1 - r2 + np.sqrt((u1 - r1) ** 2 + (r2 - l2) ** 2 - 2 * c * (u1 - r1) * (r2 - l2))
    assert williams_from_correlations(r1, r2, r12, n).ci == pytest.approx((low, high), abs=1e-6)


def test_williams_on_wmt17(shared: Path) -> None:
    values = wmt20.reference(shared)
    tolerance, relative = (values["_tolerances"][k] for k in ("deterministic_statistics", "p_values_relative"))
    scored = {
        (wmt20.letters(r["sentence1"]), wmt20.letters(r["sentence2"])): r
        for r in reversed(read_rows(shared / "data/kaster2021/wmt-en.tsv"))
    }
    judged = read_rows(shared / "data/wmt/daseg-wmt17.tsv")
    for name, expected in values["williams_wmt17"].items():
        pair, a, b = name.split("|")
        rows = [r for r in judged if r["lp"] == pair]
        metrics = [scored[wmt20.letters(r["candidate"]), wmt20.letters(r["reference"])] for r in rows]
        x, y = ([float(m[metric]) for m in metrics] for metric in (a, b))
        result = williams(x, y, [float(r["human"]) for r in rows])
        assert result.n == expected["n"]
        assert [result.value_a, result.value_b, result.statistic] == pytest.approx(
            [expected["r1"], expected["r2"], expected["t"]], abs=tolerance
        )
        assert result.p == pytest.approx(expected["p_one_sided_first_better"], rel=relative)
        assert result.p_two_sided == pytest.approx(expected["p_two_sided"], rel=relative)


# Paired bootstrap, PERM-BOTH


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall"])
def test_paired_bootstrap_is_the_difference_in_each_resample(statistic: str) -> None:
    rng = np.random.default_rng(2)
    h = rng.normal(size=40)
    x, y = h + rng.normal(size=40), h + 2 * rng.normal(size=40)
    correlate = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[statistic]
    draws = [
        correlate(x[i], h[i]).statistic - correlate(y[i], h[i]).statistic
        for block in bootstrap_indices(99, 40, 3)
        for i in block
    ]
    result = paired_bootstrap(x, y, h, statistic=statistic, resamples=99, seed=3)  # type: ignore[arg-type]
    assert [*result.ci] == pytest.approx(np.percentile(draws, [2.5, 97.5]))
    assert result.p == pytest.approx((1 + sum(d <= 0 for d in draws)) / 100)
    assert paired_bootstrap(x, -y, h, statistic=statistic, resamples=50).p < 0.05  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("by", "swap", "statistic", "documents"),
    [
        *product(BYS, ("cells", "segments", "systems"), ("pearson", "kendall"), [None]),
        *product(("item", "means"), ["segments"], ("pearson", "kendall"), [[0, 0, 1, 2, 2]]),
        *product(["none"], ("cells", "systems"), ["spearman"], [None]),
    ],
)
def test_p_is_the_share_of_the_swaps_of_scaled_scores(
    by: By, swap: Swap, statistic: str, documents: list[int] | None
) -> None:
    a, b, h = np.random.default_rng(3).normal(size=(3, 4, 5))
    for z in (a, b, h):
        z[[0, 0, 2, 3], [1, 4, 2, 0]] = np.nan  # systems of three, five, four and four segments
    how: dict[str, Any] = {"by": by, "swap": swap, "statistic": statistic, "cluster": documents}
    result = perm_both(a * 5 + 2, b / 3, h, **how, resamples=300, seed=7, nan="omit")
    x, y = ((z - np.nanmean(z)) / np.nanstd(z) for z in (a, b))
    if (by, swap) == ("means", "systems"):  # what trades places are means
        x, y, h = (np.nanmean(z, axis=1, keepdims=True) for z in (x, y, h))
        x, y = ((z - z.mean()) / z.std() for z in (x, y))
    of = {
        "cells": np.arange(h.size).reshape(h.shape),
        "segments": np.broadcast_to(documents or np.arange(h.shape[1]), h.shape),
        "systems": np.broadcast_to(np.arange(4)[:, None], h.shape),
    }[swap]
    if (by, swap, statistic) == ("none", "cells", "pearson"):  # by sums, of the cells that there are
        of = np.cumsum(~np.isnan(h)).reshape(h.shape) - 1
    draws = []
    for tossed in np.random.default_rng(7).random((300, of.max() + 1)) < 0.5:
        pair = (np.where(tossed[of], y, x), np.where(tossed[of], x, y))
        first, second = (float(np.nanmean(group_values(z, h, by, statistic))) for z in pair)
        draws.append(first - second)
    one, two = (float(np.nanmean(group_values(z, h, by, statistic))) for z in (x, y))
    assert (result.value_a, result.value_b) == pytest.approx((one, two))
    assert result.p == np.mean(np.array(draws) >= result.difference - 1e-9)
    assert result.p_two_sided == np.mean(np.abs(draws) >= abs(result.difference) - 1e-9)
    assert math.isnan(result.ci[0])


def test_vectors_are_the_cells_of_a_matrix() -> None:
    x, y, h = np.random.default_rng(5).normal(size=(3, 4, 25))
    x[0, :3] = np.nan
    kept = ~np.isnan(x)
    flat, grid = perm_both(x[kept], y[kept], h[kept], plus_one=True), perm_both(x, y, h, nan="omit", plus_one=True)
    assert [flat.difference, flat.p, flat.n] == pytest.approx([grid.difference, grid.p, grid.n])
    assert grid.p == pytest.approx((1000 * perm_both(x, y, h, nan="omit").p + 1) / 1001)


def test_perm_both_on_wmt20(shared: Path) -> None:
    values = wmt20.reference(shared)
    for name, expected in values["perm_both"].items():
        pair, _, first, second = name.split("|")
        scores = wmt20.complete(shared, pair)
        result = perm_both(scores[second], scores[first], scores["human_z"], resamples=5000)
        assert result.difference == pytest.approx(expected["delta"], abs=1e-5)
        assert result.p == pytest.approx(expected["p"], abs=values["_tolerances"]["perm_p"])


# Systems


def test_randomisation_tends_to_the_full_enumeration() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.integers(6, size=(2, 11)).astype(float)
    d = x - y
    draws = np.array([np.dot(signs, d) for signs in product([-1, 1], repeat=11)]) / 11
    result = randomise_systems(x, y, resamples=20_000)
    assert result.difference == pytest.approx(d.mean())
    assert result.p == pytest.approx(np.mean(draws >= d.mean() - 1e-9), abs=0.015)
    assert result.p_two_sided == pytest.approx(np.mean(np.abs(draws) >= abs(d.mean()) - 1e-9), abs=0.015)
    lower = randomise_systems(x, y, higher_is_better=False, resamples=20_000)
    assert lower.p == pytest.approx(np.mean(draws <= d.mean() + 1e-9), abs=0.015)


def test_bootstrap_of_systems_by_hand() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(2, 130)) + np.array([[0.1], [0.0]])
    draws = np.array([(x - y)[i].mean() for block in bootstrap_indices(200, 130, 4) for i in block])
    result = bootstrap_systems(x, y, resamples=200, seed=4)
    half = np.sort(np.abs(draws - draws.mean()))[-10]  # 10 of 200 draws: p = 11 / 201, the first that is above .05
    assert [*result.ci] == pytest.approx([result.difference - half, result.difference + half])
    assert result.p == pytest.approx((1 + np.sum(draws - draws.mean() >= result.difference)) / 201)


# Many metrics


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_corrections_are_those_of_statsmodels(n: int) -> None:
    p = np.random.default_rng(1).random(n) ** 2
    p[::3] = p[0]
    assert adjust(p, "holm") == pytest.approx(multipletests(p, method="holm")[1])
    assert adjust(p, "bh") == pytest.approx(multipletests(p, method="fdr_bh")[1])
    assert adjust(p, "none").tolist() == p.tolist()
    square = adjust([[np.nan, 0.01], [0.02, np.nan]], "holm")
    assert square == pytest.approx(np.array([[np.nan, 0.02], [0.02, np.nan]]), nan_ok=True)


def test_clusters_follow_their_definition() -> None:
    values = {"c": 0.5, "a": 0.8, "b": 0.7, "d": 0.4}
    p = np.full((4, 4), 0.9)  # rows and columns c, a, b, d
    p[1, 0] = 0.01  # a beats c
    p[2, 3] = 0.01  # b beats d
    p[0, 1] = 0.001  # cannot be: c is lower; must not count against a
    result = significance_clusters(values, p)
    assert result.names == ("a", "b", "c", "d")
    assert result.winners == ("a", "b")
    assert result.ranks == (1, 1, 2, 2)  # d is beaten by b, who is no longer in the current cluster
    assert significance_clusters(values, np.ones((4, 4))).ranks == (1, 1, 1, 1)
    tied = significance_clusters({"x": 0.5, "y": 0.5}, [[0.9, 0.01], [0.01, 0.9]])
    assert tied.winners == ("x", "y")


@pytest.mark.parametrize(("alternative", "kind"), [("greater", "p"), ("two-sided", "p_two_sided")])
def test_all_comparisons(alternative: Alternative, kind: str) -> None:
    rng = np.random.default_rng(12)
    h = rng.normal(size=150)
    metrics = {"weak": h + 4 * rng.normal(size=150), "strong": h + 0.5 * rng.normal(size=150)}
    metrics["strong too"] = metrics["strong"] + 0.05 * rng.normal(size=150)
    tests = {(a, b): replace(williams(metrics[a], metrics[b], h), a=a, b=b) for a, b in permutations(metrics, 2)}
    corrected, clusters = ranked_tests(list(tests.values()), "holm", alternative, 0.05)
    assert set(clusters.winners) == {"strong", "strong too"}
    assert clusters.ranks == (1, 1, 2)
    pairs = list(combinations(clusters.names, 2))  # the better metric first
    uncorrected = [getattr(tests[pair], kind) for pair in pairs]
    found = {(test.a, test.b): test.p_adjusted for test in corrected}
    assert [found[pair] for pair in pairs] == pytest.approx(multipletests(uncorrected, method="holm")[1])
    assert all(found[b, a] is None for a, b in pairs)


@pytest.mark.parametrize("by", BYS)
def test_systems_are_resampled_with_segments_or_without(by: By) -> None:
    rng = np.random.default_rng(12)
    human = rng.normal(size=(6, 20)) + rng.normal(size=(6, 1))
    metric = human + rng.normal(size=(6, 20))
    metric[2, 3] = np.nan
    for resample in ("systems", "both"):
        found = grouped(metric, human, by=by, resample=resample, resamples=200, nan="omit")
        assert found.ci[0] < found.estimate < found.ci[1]
        assert ("systems and segments" if resample == "both" else "over systems") in found.method
        test = compare_grouped(metric, human * 2, human, by=by, resample=resample, resamples=100, nan="omit")
        assert test.p > 0.9
    seen = np.where(np.isnan(metric), np.nan, human)
    rows = next(bootstrap_indices(1, 6, 5))[0]
    hand = pearson_rows(*(np.nanmean(z[rows], axis=1) for z in (metric, seen)))
    one = resampled_groups(metric, seen, "means", "pearson", "skip", 1, 5, resample="systems")
    assert one[0] == pytest.approx(float(hand))
    again = np.random.default_rng(5)
    cells = np.ix_(*(next(bootstrap_indices(1, size, again))[0] for size in (6, 20)))
    both = resampled_groups(metric, seen, by, "pearson", "skip", 1, 5, resample="both")
    if by != "means":
        assert both[0] == pytest.approx(np.nanmean(group_values(metric[cells], seen[cells], by, "pearson")))


def test_the_worked_example(shared: Path) -> None:
    """Its p-value takes n - 2 degrees of freedom for the same t; the test has n - 3, as WMT's published matrices do."""
    folder = shared / "data/williams"
    human = {r["SYSTEM"]: float(r["SCORE"]) for r in read_rows(folder / "example-data/mt-systems-scored-by-humans")}
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    for row in read_rows(folder / "example-data/mt-systems-scored-by-metrics"):
        if row["LP"] == "es-en":
            scores[row["METRIC"]][row["SYSTEM"]] = float(row["SCORE"])
    a, b = ([scores[name][system] for system in human] for name in ("AMBER", "BLEU_4_closest_cased"))
    result = williams(a, b, list(human.values()))
    published = {}
    for line in (folder / "example-output/orig.pearson-corr.es-en").read_text().splitlines():
        if not line.startswith("#"):
            name, value = line.split()
            published[name] = float(value)
    assert [result.value_a, result.value_b] == pytest.approx(
        [published["AMBER"], published["BLEU_4_closest_cased"]], abs=1e-12
    )
    table = (folder / "example-output/orig.williams-results.es-en").read_text().splitlines()
    p = float(next(line for line in table if line.startswith("AMBER")).split()[2])
    assert stats.t.sf(result.statistic, result.n - 2) == pytest.approx(p, rel=1e-9)
    assert result.p == pytest.approx(stats.t.sf(result.statistic, result.n - 3))


def test_the_williams_test_of_the_package_psych() -> None:
    # R's psych, help of r.test: n = 103, r = .4, .5 and .1 give t = -0.89 with p = .37 (two-sided).
    found = williams_from_correlations(0.4, 0.5, 0.1, 103)
    assert found.statistic == pytest.approx(-0.89, abs=0.005)
    assert found.p_two_sided == pytest.approx(0.37, abs=0.005)


def ratio(means: np.ndarray) -> np.ndarray:
    value: np.ndarray = means[..., 0] / means[..., 1]
    return value


@pytest.mark.parametrize("test", [bootstrap_systems, randomise_systems])
def test_systems_under_a_corpus_metric(test: object) -> None:
    """An error rate: errors and words of each segment, summed before they are divided."""
    assert callable(test)
    rng = np.random.default_rng(7)
    words = rng.integers(5, 40, size=300)
    a = np.stack([rng.binomial(words, 0.2), words], axis=1)
    b = np.stack([rng.binomial(words, 0.3), words], axis=1)
    result = test(a, b, aggregate=ratio, higher_is_better=False, resamples=500)
    assert (result.value_a, result.value_b) == (a[:, 0].sum() / words.sum(), b[:, 0].sum() / words.sum())
    assert result.p == pytest.approx(1 / 501)
    assert test(b, a, aggregate=ratio, higher_is_better=False, resamples=500).p == pytest.approx(1)
    same = test(a, a, aggregate=ratio, resamples=50)
    assert (same.difference, same.p, same.p_two_sided) == (0, 1, 1)
