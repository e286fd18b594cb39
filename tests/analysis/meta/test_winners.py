"""Tests between metrics, corrected and averaged, against statsmodels, SciPy and sums written out."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from bsx.analysis.meta import run
from bsx.analysis.meta.errors import average_of, average_tests
from bsx.analysis.meta.levels import Agreement, heavy_tails
from bsx.analysis.meta.result import GroupResult, MetricAgreement, Winners
from bsx.analysis.meta.settings import MetaSettings
from bsx.analysis.stats.correlation import tail_weight
from bsx.analysis.stats.results import Comparison

NAMES = ["a", "b", "c", "d"]
VALUES = dict(zip(NAMES, (0.50, 0.47, 0.40, 0.05), strict=True))
ERROR = 0.03
Z = float(stats.norm.ppf(0.975))


def by_z(a: str, b: str, difference: float, error: float, values: dict[str, float]) -> Comparison:
    z = difference / error
    ends = (difference - Z * error, difference + Z * error)
    known: Any = {"p": float(stats.norm.sf(z)), "p_two_sided": float(2 * stats.norm.sf(abs(z))), "statistic": z}
    known |= {"value_a": values[a], "value_b": values[b], "n": 100, "method": "z test"}
    return Comparison(a=a, b=b, difference=difference, ci=ends, **known)


def compared(first: str, second: str) -> Comparison:
    return by_z(first, second, VALUES[first] - VALUES[second], ERROR, VALUES)


def figure(
    name: str, value: float, low: float, high: float, control: bool = False, **figures: float
) -> MetricAgreement:
    every: dict[str, Any] = {"pearson": value, "spearman": value, "kendall": value, **figures}
    return MetricAgreement(name, value, (low, high), every, "Pearson", control)


AGREEMENT = Agreement([figure(name, value, 0, 1) for name, value in VALUES.items()], "williams", compared)


def ranked(agreement: Agreement, settings: MetaSettings, *names: str) -> GroupResult:
    """The group of these metrics, tested."""
    tests = run.pairwise_tests(agreement, permutations(names, 2), settings)
    return run.ranked(GroupResult("all", 9, 0, (), tests, agreement.test, None), settings)


def equivalence(test: Comparison, margin: float) -> float:
    """The larger of two one-sided p-values of the normal."""
    return float(max(stats.norm.sf((margin + side * test.difference) / ERROR) for side in (1, -1)))


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
@pytest.mark.parametrize(("correction", "method"), [("holm", "holm"), ("bh", "fdr_bh")])
def test_p_of_difference_and_equivalence_are_corrected_for_the_number_of_pairs(
    correction: Any, method: str, alternative: Any
) -> None:
    settings = MetaSettings(margin=0.1, correction=correction, alternative=alternative)
    group = ranked(AGREEMENT, settings, *NAMES)
    found, best = group.tests, group.clusters
    assert len(found) == 12
    better = [test for test in found if VALUES[test.a] > VALUES[test.b]]
    raw = [equivalence(test, 0.1) for test in better]
    assert [test.p_equivalence for test in better] == pytest.approx(multipletests(raw, method=method)[1])
    tested = [test.p if alternative == "greater" else test.p_two_sided for test in better]
    assert [test.p_adjusted for test in better] == pytest.approx(multipletests(tested, method=method)[1])
    for test in found:  # both directions are one test
        other = next(one for one in found if (one.a, one.b) == (test.b, test.a))
        assert test.p_equivalence == other.p_equivalence
        assert (test.p_adjusted is None) == (VALUES[test.a] < VALUES[test.b])
    assert best is not None
    assert best.winners == ("a", "b")
    assert best.ranks == {"a": 1, "b": 1, "c": 2, "d": 3}
    alone = ranked(AGREEMENT, MetaSettings(margin=0.1, correction="none"), *NAMES).tests
    assert [test.p_equivalence for test in alone] == pytest.approx([equivalence(test, 0.1) for test in alone])
    assert {test.p_adjusted for test in alone} == {None}


def test_one_metric_or_no_test_has_no_winners() -> None:
    untested = Agreement(AGREEMENT.metrics, "none", compared)
    for group in (ranked(AGREEMENT, MetaSettings(), "a"), ranked(untested, MetaSettings(), *NAMES)):
        assert (group.tests, group.clusters) == ((), None)


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_each_metric_is_tested_against_each_control(alternative: Any) -> None:
    settings = MetaSettings(correction="holm", alternative=alternative)
    against = run.pairwise_tests(AGREEMENT, product("ab", "cd"), settings)
    assert {test.p_adjusted for test in against} == {None}
    group = GroupResult("all", 9, 0, (), (), "williams", None, against)
    found = run.ranked(group, settings).control_tests
    assert [(test.a, test.b) for test in found] == [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")]
    raw = [test.p if alternative == "greater" else test.p_two_sided for test in found]
    assert [test.p_adjusted for test in found] == pytest.approx(multipletests(raw, method="holm")[1])


VALUE = {"a": 0.6, "b": 0.5, "c": 0.4}


def group(name: str, tests: dict[tuple[str, str], float], error: float) -> GroupResult:
    """A group of metrics a, b and c whose differences these are."""
    both = {**tests, **{(b, a): -difference for (a, b), difference in tests.items()}}
    every = tuple(by_z(a, b, difference, error, VALUE) for (a, b), difference in both.items())
    metrics = tuple(figure(name, value, value - 0.1, value + 0.2) for name, value in VALUE.items())
    return GroupResult(name, 100, 0, metrics, every, "williams", Winners(("a",), dict.fromkeys("abc", 1), 0.05))


GROUPS = [
    group("g", {("a", "b"): 0.10, ("a", "c"): 0.20, ("b", "c"): 0.10}, 0.06),
    group("h", {("a", "b"): 0.08, ("a", "c"): 0.10, ("b", "c"): 0.02}, 0.03),
]


APART = [{"a": [1.0, -1, 0, 0], "b": [0.0, 0, 0, 0], "c": [-1.0, 1, 0, 0]}] * 2  # both groups err by the same units
UNITS = {
    "unknown": ([], math.hypot(0.06, 0.03)),
    "other": ([APART[0], {name: values[::-1] for name, values in APART[1].items()}], math.hypot(0.06, 0.03)),
    "the same": (APART, 0.09),
    "opposite": ([APART[0], {name: [-x for x in values] for name, values in APART[1].items()}], math.hypot(0.06, 0.03)),
    "half": (
        [APART[0], {name: [values[0], 0, values[1], 0] for name, values in APART[1].items()}],
        math.sqrt(0.06**2 + 0.03**2 + 0.06 * 0.03),
    ),
}


def units_of(name: str) -> list[dict[str, Any]]:
    return [{metric: np.array(values) for metric, values in of.items()} for of in UNITS[name][0]]


@pytest.mark.parametrize("units", UNITS)
def test_the_test_of_an_average_adds_up_errors(units: str) -> None:
    settings, error = MetaSettings(correction="holm", margin=0.3), UNITS[units][1] / 2
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "x")]
    found = average_tests(pairs, GROUPS, settings, units_of(units))
    assert [(test.a, test.b) for test in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    differences = [0.09, 0.15, 0.06]
    assert [test.difference for test in found] == pytest.approx(differences)
    assert [test.p for test in found] == pytest.approx(stats.norm.sf(np.array(differences) / error))
    two = 2 * stats.norm.sf(np.array(differences) / error)
    assert [test.p_two_sided for test in found] == pytest.approx(two)
    assert [test.p_adjusted for test in found] == pytest.approx(multipletests(two, method="holm")[1])
    for test, difference in zip(found, differences, strict=True):
        assert test.ci == pytest.approx((difference - Z * error, difference + Z * error))
    alike = [float(stats.norm.sf((0.3 - difference) / error)) for difference in differences]
    assert [test.p_equivalence for test in found] == pytest.approx(multipletests(alike, method="holm")[1])


@pytest.mark.parametrize(
    ("p", "ends", "error"),
    [
        (0.05, (math.nan, math.nan), 0.1 / stats.norm.isf(0.025)),  # p says it
        (0.05, (-5.0, 5.0), 0.1 / stats.norm.isf(0.025)),
        (0.95, (0.0, 0.2), 0.1 / Z),  # a p near 1 says little, the interval more
        (1e-7, (0.0, 0.2), 0.1 / Z),
        (1e-7, (math.nan, math.nan), 0.1 / stats.norm.isf(0.5e-6)),  # permutations bound p from below
        (0.95, (math.nan, math.nan), 0.1 / stats.norm.isf(0.45)),
    ],
)
def test_which_error_an_average_takes_from_a_test(p: float, ends: tuple[float, float], error: float) -> None:
    known: Any = {"p": p / 2, "p_two_sided": p, "n": 9, "method": "some test"}
    test = Comparison(a="a", b="b", difference=0.1, ci=ends, **known)
    only = GroupResult("g", 9, 0, (), (test,), "williams", None)
    found = average_tests([("a", "b")], [only], MetaSettings(correction="none"))[0]
    assert found.p == pytest.approx(stats.norm.sf(0.1 / error))


@pytest.mark.parametrize("units", ["unknown", "the same"])
def test_the_average_combines_intervals(units: str) -> None:
    groups = [
        GroupResult("g", 9, 0, (figure("a", 0.4, 0.1, 0.5), figure("b", 0.1, 0, 1)), (), "none", None),
        GroupResult("h", 9, 0, (figure("a", 0.6, 0.2, 0.8, spearman=math.nan),), (), "none", None),
    ]
    settings = MetaSettings()
    found = average_of("a", groups, settings, units_of(units), competes=True)
    down, up = (0.7, 0.3) if units == "the same" else (0.5, math.hypot(0.1, 0.2))
    assert found.value == pytest.approx(0.5)
    assert found.ci == pytest.approx((0.5 - down / 2, 0.5 + up / 2))
    assert found.figures["pearson"] == pytest.approx(0.5)
    assert found.figures["spearman"] != found.figures["spearman"]  # one group has none
    assert (found.wins, found.control) == (None, False)
    missing = average_of("b", groups, settings, competes=False)  # not in every group
    assert np.isnan([missing.value, *missing.ci, *missing.figures.values()]).all()
    assert missing.control
    wins = [average_of(name, GROUPS, settings, competes=True).wins for name in "ab"]
    assert wins == [2, 0]
    assert average_of("a", GROUPS, settings, competes=False).wins is None


def test_of_few_items_any_weight_of_tails_above_the_normals_counts() -> None:
    settings = MetaSettings()
    weights = {}
    for n in (19, 20):
        rng = np.random.default_rng(0)
        while True:  # the first columns between the normal's weight and that which counts for many items
            human, metric = rng.normal(size=(2, n))
            weights[n] = tail_weight(metric, human)
            if 1.05 < weights[n] < 1.25:
                break
        assert heavy_tails({"m": metric}, human, settings) == (["m"] if n == 19 else [])
        assert heavy_tails({"m": metric}, human, MetaSettings(statistic="spearman")) == []
    light = np.arange(19.0)
    shifted = np.roll(light, 9)
    assert tail_weight(shifted, light) < 1
    assert heavy_tails({"m": shifted}, light, settings) == []
    heavy, other = np.random.default_rng(1).standard_t(2, size=(2, 200))
    assert tail_weight(heavy + other, other) > 1.3
    assert heavy_tails({"m": heavy + other, "k": light.repeat(11)[:200]}, other, settings)[0] == "m"


def test_equivalence_without_an_interval_rests_on_the_error_behind_p() -> None:
    def permuted(first: str, second: str) -> Comparison:
        return replace(compared(first, second), ci=(math.nan, math.nan))

    settings = MetaSettings(margin=0.1, correction="none")
    found = ranked(Agreement(AGREEMENT.metrics, "permutation", permuted), settings, "a", "b", "c").tests
    assert [test.p_equivalence for test in found] == pytest.approx([equivalence(test, 0.1) for test in found])
