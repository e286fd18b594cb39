"""What is refused in front of every statistic, and in which words; matrices from tables; resampling in blocks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from bsx.analysis.compare.run import compare_systems
from bsx.analysis.stats.clusters import adjust, significance_clusters
from bsx.analysis.stats.correlation import kendall, pairwise_accuracy, pearson, spearman
from bsx.analysis.stats.detection import best_threshold, precision_recall, roc_auc
from bsx.analysis.stats.selection import expected_model_selection
from bsx.analysis.stats.significance import paired_bootstrap, perm_both, williams, williams_from_correlations
from bsx.analysis.stats.systems.darr import compare_darr, darr_from_pairs, preferences
from bsx.analysis.stats.systems.grouped import compare_grouped, grid, grouped
from bsx.analysis.stats.systems.hybrid import hybrid_correlation_limit, hybrid_systems
from bsx.analysis.stats.systems.soft import soft_pairwise_accuracy
from bsx.analysis.stats.systems.ties import compare_ties, pairwise_accuracy_with_ties
from bsx.analysis.stats.validate import grids, vectors
from bsx.errors import InputError

NAN, INF = float("nan"), float("inf")
GRID = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vectors({"a": [1, 2, 3], "b": [1, 2]}), "columns differ in size: a 3, b 2"),
        (lambda: vectors({"a": [1, NAN, NAN], "b": [1, 2, 3]}), "a: 2 missing values .* at item 1; nan=omit"),
        (lambda: vectors({"a": [1, 2, 3], "b": [1, 2, INF]}), "b: infinite value at item 2"),
        (lambda: vectors({"a": [1, 2]}), "a: 2 items are too few, at least 3 are needed"),
        (lambda: vectors({"a": [1, NAN, 3, 4], "b": [NAN, 1, 1, 1]}, nan="omit"), "a: 2 items are too few"),
        (lambda: vectors({"a": [1, 2, 3], "b": [5, 5, 5]}, varied=True), "b: all 3 items have the value 5"),
        (lambda: vectors({"a": ["x", "y", "z"]}), "a: not an array of numbers"),
        (lambda: vectors({"a": ["1", "2", "1_000"]}), r"a: not an array of numbers \(item 2 is '1_000', not a finite"),
        (lambda: vectors({"a": np.array([1, 2.5, "٣"], object)}), "a: not an array of numbers"),
        (lambda: vectors({"a": np.array([1, None, b"3"], object)}), "a: not an array of numbers"),
        (lambda: grids({"a": [["1", "2"], ["3", "inf"]]}), r"a: not .* \(system 1, segment 1 is 'inf'"),
        (lambda: vectors({"a": [[1.0]]}), r"a: has shape \(1, 1\), expected one number per item"),
        (lambda: vectors({"a": [1, NAN, 2]}, nan="drop"), "nan='drop': use one of error, omit"),  # type: ignore[arg-type]
        (lambda: grids({"a": [1.0, 2.0]}), r"a: has shape \(2,\), expected a matrix \(systems, segments\)"),
        (lambda: grids({"a": GRID, "b": GRID.T}), "columns differ in size: a 3 x 4, b 4 x 3"),
        (lambda: grids({"a": [[], []]}), "a: 2 systems x 0 segments are too few, at least 2 x 1 are needed"),
        (lambda: grids({"a": [[1.0, 2.0]]}), "a: 1 systems x 2 segments are too few, at least 2 x 1 are needed"),
        (lambda: grids({"a": [[1.0, 2.0], [3.0, NAN]]}), "a: 1 missing values .*the first at system 1, segment 1"),
        (lambda: grids({"a": [[1.0, 2.0], [3.0, -INF]]}), "a: infinite value at system 1, segment 1"),
        (lambda: grids({"a": [[1, NAN]] * 2, "b": [[NAN, 1]] * 2}, nan="omit"), "a and b: no system x segment has all"),
    ],
)
def test_the_validator_says_what_is_wrong(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        call()


def test_omitting_is_by_item_across_columns() -> None:
    a, b = vectors({"a": [1, NAN, 3, 4, 5], "b": [1, 2, 3, NAN, 5]}, nan="omit")
    assert a.tolist() == b.tolist() == [1, 3, 5]
    assert roc_auc([0, 1, 1], [1, NAN, 3], nan="omit").n == 2
    x, y = grids({"x": [[1, NAN], [3.0, 4]], "y": [[1.0, 2], [NAN, 4]]}, nan="omit")
    assert np.isnan(x).tolist() == np.isnan(y).tolist() == [[False, True], [True, False]]


ONE, TWO, HUMAN = [1.0, 2.0, NAN, 4.0, 3.0], [2.0, 1.0, 3.0, 5.0, 4.0], [1.0, 2.0, 3.0, 5.0, 4.0]
HOLED = np.where(np.eye(3, 4) == 1, NAN, GRID**2)
APART = np.where(np.eye(2) == 1, 1, NAN)


@pytest.mark.parametrize(
    "call",
    [
        lambda: pearson(ONE, HUMAN),
        lambda: spearman(ONE, HUMAN),
        lambda: kendall(ONE, HUMAN),
        lambda: pairwise_accuracy(ONE, HUMAN),
        lambda: grouped(HOLED, GRID),
        lambda: compare_grouped(HOLED, GRID, GRID),
        lambda: compare_ties(GRID, HOLED, GRID),
        lambda: preferences(HOLED),
        lambda: darr_from_pairs(ONE, HUMAN, [1, 2, 3, 4, 5]),
        lambda: compare_darr((ONE, HUMAN), (TWO, HUMAN), [1, 2, 3, 4, 5]),
        lambda: pairwise_accuracy_with_ties(HOLED, GRID, epsilon=0),
        lambda: pairwise_accuracy_with_ties(HOLED, GRID, epsilon=None),
        lambda: soft_pairwise_accuracy(HOLED, GRID),
        lambda: williams(ONE, TWO, HUMAN),
        lambda: paired_bootstrap(ONE, TWO, HUMAN),
        lambda: perm_both(ONE, TWO, HUMAN),
        lambda: perm_both(HOLED, GRID, GRID, by="means"),
        lambda: compare_systems({"a": ONE, "b": TWO}),
        lambda: hybrid_systems(HOLED[None], GRID),
        lambda: hybrid_correlation_limit(HOLED, GRID),
        lambda: expected_model_selection(ONE, HUMAN, 2),
        lambda: roc_auc([0, 1, 0, 1, 1], ONE),
        lambda: precision_recall([0, 1, 0, 1, 1], ONE),
        lambda: best_threshold([0, 1, 0, 1, 1], ONE),
    ],
)
def test_no_statistic_takes_missing_values_unasked(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=r"missing values \(NaN\), the first at"):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kendall(TWO, HUMAN, variant="c"), "tau-c has no analytic interval"),
        (lambda: kendall(TWO, HUMAN, variant="c", interval="leave-one-out"), "tau-c has no analytic interval"),
        (lambda: pearson(TWO, HUMAN, interval=cast("Any", "exact")), "use one of analytic, leave-one-out, bootstrap"),
        (lambda: pearson(TWO, HUMAN, confidence=95), "confidence=95: "),
        (lambda: pearson(TWO, HUMAN, resamples=0), "resamples: must lie between 1 and 1000000"),
        (lambda: pearson(TWO, [1, 1, 1, 1, 1]), "human: all 5 items have the value 1"),
        (lambda: grouped(GRID, GRID, by=cast("Any", "segment")), "by='segment': use one of none, item, sys, means"),
        (lambda: grouped(GRID, np.ones((3, 4))), "no pearson is defined: every group is constant"),
        (lambda: preferences(GRID, threshold=0), "threshold=0: "),
        (lambda: darr_from_pairs(TWO, HUMAN), "segment is missing"),
        (lambda: darr_from_pairs(TWO, HUMAN, ties=cast("Any", "x"), unit="judgment"), "ties='x': use one of disc"),
        (lambda: pairwise_accuracy_with_ties(GRID, GRID, epsilon=-1), "epsilon=-1: it must be 0 or more"),
        (lambda: pairwise_accuracy_with_ties(APART, GRID[:2, :2], nan="omit", epsilon=None), "no group has two scored"),
        (lambda: soft_pairwise_accuracy(HOLED, GRID, method="wmt", nan="omit"), "method=wmt needs every system's"),
        (lambda: soft_pairwise_accuracy(APART, GRID[:2, :2], nan="omit"), "systems 0 and 1 share no"),
        (lambda: williams([1, 2, 3], [2, 1, 3], [3, 1, 2]), "a: 3 items are too few, at least 4"),
        (lambda: williams_from_correlations(0.9, -0.9, 0.9, 20), "no three columns can have the correlations"),
        (lambda: williams_from_correlations(1.5, 0, 0, 20), "correlations must lie between -1 and 1"),
        (lambda: williams(TWO, [-x for x in TWO], HUMAN), "one metric is the other upside down"),
        (lambda: perm_both(TWO, HUMAN, HUMAN, by="item"), "by='item' needs matrices"),
        (lambda: compare_systems({"a": TWO, "b": HUMAN}, aggregate=lambda s: s[..., 0]), r"must be \(segments, stat"),
        (lambda: adjust([0.5, 1.5]), "p-values must lie between 0 and 1"),
        (lambda: adjust([0.5], cast("Any", "sidak")), "correction='sidak': use one of none, holm, bh"),
        (lambda: significance_clusters({"m": NAN}, [[NAN]]), "m: the correlation is not defined"),
        (lambda: significance_clusters({"m": 1.0}, [NAN]), r"p has shape \(1,\), expected one row and column"),
        (lambda: hybrid_systems(GRID[None], GRID, 0), "n=0: at least one hybrid"),
        (lambda: hybrid_correlation_limit(np.ones((3, 4)), GRID), "the systems have the same scores on every segment"),
        (lambda: expected_model_selection(TWO, HUMAN, 6), "sample=6: .* 5$"),
        (lambda: roc_auc([1, 1, 1], TWO[:3]), "all 3 items have the label 1; both 0 and 1 are needed"),
        (lambda: precision_recall([0, 0, 0], TWO[:3]), "all 3 items have the label 0"),
        (lambda: best_threshold([0, 2, 1], TWO[:3]), "labels: item 1 is 2, a label must be 0 or 1"),
        (lambda: best_threshold([0, 0, 1], TWO[:3]), "folds=10 with 1 items of the rarer label"),
        (lambda: roc_auc([0, 1], TWO[:2], interval=cast("Any", "no")), "interval='no'"),
        (lambda: grid(["a", "a"], [1, 1], {"x": [1, 2]}), "system 'a' has segment 1 more than once"),
        (lambda: grid(["a", "b"], [1, 1], {"x": [1]}), "columns differ in size: system 2, x 1"),
    ],
)
def test_wrong_requests_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_a_table_becomes_a_matrix() -> None:
    systems, columns = grid(["b", "a", "b"], ["s2", "s1", "s1"], {"score": [1, 2, 3], "other": [4, NAN, 6]})
    assert systems == ("b", "a")
    assert np.array_equal(columns["score"], [[1.0, 3.0], [NAN, 2.0]], equal_nan=True)


def test_importing_the_statistics_is_cheap() -> None:
    modules = "clusters, correlation, selection, significance"
    systems = "darr, grouped, hybrid, paired, soft, ties"
    code = f"import sys\nfrom bsx.analysis.stats import {modules}\nfrom bsx.analysis.stats.systems import {systems}"
    code += "\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "bsx.analysis.stats.significance" in loaded
    assert not {"scipy", "statsmodels", "pandas", "torch", "matplotlib"} & set(loaded)
