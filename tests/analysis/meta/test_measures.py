"""Which interval and which test each kind of data gets, held against the functions that compute them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from bsx.analysis.meta.levels import about_weights, correlations, heavy_tails, items_compared
from bsx.analysis.meta.run import meta_evaluate
from bsx.analysis.meta.settings import MetaSettings
from bsx.analysis.stats.correlation import bootstrap_correlations, kendall, pairwise_accuracy, pearson, spearman
from bsx.analysis.stats.resample import percentile_interval
from bsx.analysis.stats.significance import perm_both

DRAWS: dict[str, Any] = {"resamples": 50, "seed": 3}
MEASURES: dict[str, Any] = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def columns(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    human = rng.normal(size=n)
    return human, human + rng.normal(size=n), human + 2 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("statistic", "n", "heavy", "interval"),
    [
        ("pearson", 20, False, "analytic"),
        ("pearson", 20, True, "bootstrap"),
        ("pearson", 19, False, "leave-one-out"),
        ("pearson", 19, True, "leave-one-out"),
        ("spearman", 30, False, "analytic"),
        ("kendall", 30, False, "bootstrap"),
        ("kendall", 12, False, "leave-one-out"),
    ],
)
def test_the_interval_is_that_of_the_number_of_items(statistic: Any, n: int, heavy: bool, interval: str) -> None:
    human, x, _ = columns(n)
    found = correlations("m", x, human, MetaSettings(statistic=statistic, **DRAWS), heavy=heavy)
    expected = MEASURES[statistic](x, human, interval=interval, **DRAWS)
    assert (found.value, *found.ci, found.method) == (expected.estimate, *expected.ci, expected.method)
    assert {name: measure(x, human).estimate for name, measure in MEASURES.items()} == found.figures


def test_clusters_are_drawn_whole_and_weighty_ones_count() -> None:
    human, x, y = columns(30)
    for scores in (human, x, y):
        scores[:3] += 12
    clusters = np.arange(30) // 3
    found = correlations("m", x, human, MetaSettings(**DRAWS), clusters=clusters, unit="documents")
    z = [(v - v.mean()) / v.std() for v in (x, human, y)]
    r = [np.mean(v * z[1]) for v in z]
    one, _, two = (v * z[1] - r[k] / 2 * (v**2 + z[1] ** 2) for k, v in enumerate(z))

    def like(added: np.ndarray) -> int:
        sums = added.reshape(10, 3).sum(axis=1)
        squares = (sums - sums.mean()) ** 2
        return min(10, max(3, int(5 * squares.sum() ** 2 / (squares**2).sum())))

    assert like(one) < 10
    compare = items_compared({"x": x, "y": y}, human, "bootstrap", MetaSettings(**DRAWS), clusters, "documents")
    both = bootstrap_correlations(np.stack([x, y]), human, "pearson", clusters=clusters, **DRAWS)
    assert like(two) != like(two - one)
    assert compare("y", "x").ci == percentile_interval(both[:, 1] - both[:, 0], 0.95, like(two - one))
    tau = correlations("m", x, human, MetaSettings(statistic="kendall", **DRAWS), clusters=clusters)
    draws = bootstrap_correlations(x[None], human, "kendall", clusters=clusters, **DRAWS)[:, 0]
    assert tau.ci == percentile_interval(draws, 0.95, 10)
    draws = bootstrap_correlations(x[None], human, "pearson", clusters=clusters, **DRAWS)[:, 0]
    assert found.ci == percentile_interval(draws, 0.95, like(one))


@pytest.mark.parametrize(("n", "asked", "scale"), [(19, None, "mad"), (60, None, "sd"), (19, "permutation", "sd")])
def test_the_scale_of_a_permutation_that_was_chosen(n: int, asked: Any, scale: Any) -> None:
    human, x, y = columns(n)
    settings = MetaSettings(test=asked, **DRAWS)
    found = items_compared({"x": x, "y": y}, human, "permutation", settings)("x", "y")
    expected = perm_both(x, y, human, plus_one=True, scale=scale, **DRAWS)
    assert (found.p, found.p_two_sided, found.difference) == (expected.p, expected.p_two_sided, expected.difference)


def test_heavy_tails_of_one_metric_of_systems_leave_the_others_interval_as_it_is() -> None:
    rng = np.random.default_rng(7)
    human, light, heavy = np.arange(3 * 40.0).reshape(3, 40)
    while heavy_tails({"light": light, "heavy": heavy}, human, MetaSettings()) != ["heavy"]:
        human = rng.normal(size=40)
        light, heavy = human + rng.normal(size=40), human + np.square(human) * rng.standard_t(2, size=40)
    table: dict[str, Any] = {"system": [f"s{i}" for i in range(40)], "human": human, "light": light, "heavy": heavy}
    found = meta_evaluate(table, ["light", "heavy"], "human", level="sys", system="system", **DRAWS).groups[0]
    for name, interval in (("light", "analytic"), ("heavy", "bootstrap")):
        expected = pearson(table[name], human, interval=interval, **DRAWS)  # type: ignore[arg-type]
        assert found[name].ci == expected.ci


@pytest.mark.parametrize("over", ["systems", "segments", "both"])
def test_the_accuracy_of_systems_has_the_interval_of_what_is_drawn(over: Any) -> None:
    rng = np.random.default_rng(8)
    human = rng.normal(size=(6, 1)) + rng.normal(size=(6, 25))
    metric = human + 2 * rng.normal(size=(6, 25))
    table: dict[str, Any] = {"system": np.repeat(list("abcdef"), 25), "segment": np.tile(np.arange(25), 6)}
    table |= {"human": human.ravel(), "m": metric.ravel()}
    where: dict[str, Any] = {"level": "sys", "system": "system", "segment": "segment", "resample": over}
    found = meta_evaluate(table, ["m"], "human", **where, **DRAWS).groups[0]["m"]
    means = [z.mean(axis=1) for z in (metric, human)]
    expected = pairwise_accuracy(*means, **DRAWS)
    assert found.figures["pairwise_accuracy"] == pytest.approx(expected.estimate)
    if over == "systems":
        assert found.figures["pairwise_accuracy_ci"] == pytest.approx(expected.ci)
        return
    draws = np.random.default_rng(3)
    if over == "segments":
        shares = []
        for chosen in draws.integers(25, size=(50, 25)):
            x, y = (z[:, chosen].mean(axis=1) for z in (metric, human))
            pairs = [(i, j) for i in range(6) for j in range(i)]
            shares.append(np.mean([(x[i] > x[j]) == (y[i] > y[j]) for i, j in pairs]))
        assert found.figures["pairwise_accuracy_ci"] == pytest.approx(percentile_interval(np.array(shares), 0.95, 25))
    else:
        assert found.figures["pairwise_accuracy_ci"] != pytest.approx(expected.ci)


@pytest.mark.parametrize(("count", "units", "said"), [(4, 10, True), (5, 10, False), (49, 300, True), (50, 300, False)])
def test_few_weighty_units_are_said_under_half_of_a_hundred_or_of_all(count: int, units: int, said: bool) -> None:
    assert bool(about_weights({"m": count}, units, "documents")) == said


@pytest.mark.parametrize("systems", [3, 4, 7])
def test_the_range_without_one_system(systems: int) -> None:
    human, x, _ = columns(systems)
    table = {"system": list("abcdefg")[:systems], "human": human, "m": x}
    found = meta_evaluate(table, ["m"], "human", level="sys", system="system", **DRAWS).groups[0]["m"].without_one
    if systems < 4:
        assert found is None
        return
    without = [float(np.corrcoef(np.delete(x, i), np.delete(human, i))[0, 1]) for i in range(systems)]
    assert found is not None
    assert (found.lowest, found.highest) == pytest.approx((min(without), max(without)))
    ends = ("abcdefg"[int(np.argmin(without))], "abcdefg"[int(np.argmax(without))])
    assert (found.without_lowest, found.without_highest) == ends


def test_weighty_documents_and_segments_are_pointed_at() -> None:
    human, x, _ = columns(60)
    systems: dict[str, Any] = {"system": np.repeat(["s", "t"], 30), "segment": np.tile(np.arange(30), 2)}
    units: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("documents", {"doc": np.arange(60) // 2}, {"document": "doc"}),
        ("segments", systems, {"system": "system", "segment": "segment"}),
    ]
    for outlying, (unit, labels, where) in product((0, 12), units):
        added = outlying * (np.arange(60) < 2)
        table = {"human": human + added, "m": x + added, **labels}
        notes = meta_evaluate(table, ["m"], "human", **where, **DRAWS).notes
        assert any(note.startswith(f"a few of 30 {unit} determine") for note in notes) == bool(outlying)
