"""The calibration page in small: sizes and coverages in worlds whose truth is known, and in full where slow."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("statsmodels")
from benchmarks.calibration import (
    agreement,
    averages,
    choices,
    compare,
    disentangling,
    documents,
    form,
    interventions,
    plan,
    regressions,
    systems,
    units,
)
from benchmarks.calibration.rates import Rate, simulate, table
from benchmarks.calibration.worlds import World
from bsx.analysis import intervene_texts

Rates = Mapping[str, Rate]
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "≥": operator.ge,
}


def counted(world: World, runs: int) -> dict[str, Rate]:
    return {name: Rate(*count) for name, count in world.counts(0, runs).items()}


def flat(drawn: Callable[[int], Mapping[str, Rates]], runs: int) -> dict[str, Rate]:
    return {f"{world}: {name}": rate for world, rates in drawn(runs).items() for name, rate in rates.items()}


def by_test(world: str) -> dict[str, Rate]:
    return {str(test): rate for _, test, rate in agreement.sizes(40, {world: agreement.WORLDS[world]})}  # type: ignore[misc]


def drawn(world: Any, measure: Any, runs: int, seed: int = 1) -> Callable[[], Rates]:
    return partial(simulate, world, measure, runs=runs, seed=seed)


WEAK = averages.WEAK["r .12, and one upside down"]
SIZES = (("size", "~.05"), ("coverage", "~.95"))
NOISE = {"uncorrected: LEX": ">.9", "uncorrected: SEM": "<.1"} | {
    f"method of moments{more}: {name}": wanted
    for more in ("", ", reliability from two judgments")
    for name, wanted in (("LEX", "~.05"), ("SYN", "~.05"), ("SEM", "~.95"))
}
R2 = {
    **{f"{world}: inversion": "~.955" for world in ("R² 0.05", "R² 0.3", "R² 0.7", "segments share an error, R² .25")},
    **{"heavy tails, R² .14: inversion": "~.8"},  # residuals that spread more where SEM is extreme
    **{"R² 0: inversion": "~.975", "R² 0: percentiles": "=0", "R² 0: corrected": ">.9"},
}
QUICK: dict[str, tuple[Callable[[], Rates], Mapping[str, str]]] = {
    "whole segments keep the size that pairs lose": (
        partial(by_test, "ties, uneven segments"),
        {"acc_eq, whole segments (default)": "~.05", "acc_eq, pairs (mt-metrics-eval)": "!.05"},
    ),
    "losses against a weak member": (
        drawn(partial(averages.members, loads=WEAK), partial(averages.lost, loads=WEAK), 40),
        {"gain": "~.95", "difference of r": "~.95", "gain without bounds": "<.2"},
    ),
    "eight equal systems": (
        drawn(partial(compare.equal_systems, k=8), compare.any_dagger, 100),
        {"any pair, default (Holm)": "~.05", "several ranks, default": "~.05", "any pair, uncorrected": ">.3"},
    ),
    "few segments that differ": (
        drawn(partial(compare.differing, n=60, share=0.1, skew=1.3), compare.few_decide, 80),
        {"size, default": "~.05", "said": ">.9", "size, bootstrap": ">.1"},
    ),
    "few segments at the margin": (
        drawn(partial(compare.differing, n=60, share=0.2, skew=1.0, mean=compare.MARGIN), compare.verdicts, 80),
        {"equivalent": "~.05"},
    ),
    "corpus scores of twenty real segments": (
        drawn(partial(compare.swapped, n=20, metric="bleu"), compare.few_segments, 60),
        {"size, default": "~.05", "coverage, default": "~.95"},
    ),
    "at the margin, not significant is not the same": (
        drawn(partial(compare.apart, n=100, difference=compare.MARGIN), compare.verdicts, 150),
        {"equivalent": "~.05", "not significant": ">.15"},
    ),
    "no difference is equivalent": (
        drawn(partial(compare.apart, n=300, difference=0.0), compare.verdicts, 50),
        {"equivalent": ">.9"},
    ),
    "noise makes a null factor significant until it is corrected for": (partial(disentangling.noise, 15), NOISE),
    "documents keep the level that rows lose": (
        drawn(partial(documents.documents, count=10), documents.by_documents, 60, seed=2),
        {"size, documents": "~.05", "coverage, documents": "~.95"}
        | {"size, by itself": "!.05", "coverage, by itself": "!.95"},
    ),
    "errors that judges share are corrected too little": (
        drawn(partial(form.judged, share=0.5), form.corrected, 20),
        {"LEX, alpha": ">.85", "meaning holds, alpha": "<.2"},
    ),
    "stated variances of documents": (
        drawn(lambda rng: rng, partial(plan.documents_stated, icc=0.2, effect=0.3), 200),
        {"power": "~.8", "power, documents ignored": "<.6"},
    ),
    "accuracy of four systems": (
        drawn(partial(systems.ordered, n=4, r=0.8), systems.accuracies, 100),
        {"percentiles": "<.85", "percentiles: no width": ">.1", "default": "≥.94", "default: no width": "=0"},
    ),
    "few positives": (
        drawn(partial(systems.rare, positives=10, negatives=190, area=0.95), systems.areas, 100),
        {"logit": "<.93", "default": "≥.93"},
    ),
    "few clusters of triples": (
        drawn(partial(systems.triples, clusters=6, share=0.5), systems.preferred, 100),
        {"clusters (default)": "≥.9"},
    ),
    "the choice of a layer": (
        drawn(partial(units.layers, spreads=np.ones(12)), units.chosen, 20),
        {"of the choice": "~.95", "own figure too high": ">.75"},
    ),
    "raters of two systems": (drawn(partial(units.rated, seen=2), units.warned_of_raters, 20), {"warned": "=1"}),
    "raters of all systems": (drawn(partial(units.rated, seen=6), units.warned_of_raters, 20), {"warned": "=0"}),
    "judgments missing of bad outputs": (
        drawn(partial(units.judgments, missing=0.8), units.warned_of_missing, 20),
        {"warned": "=1"},
    ),
    "judgments missing by chance": (
        drawn(partial(units.judgments, missing=0.05), units.warned_of_missing, 20),
        {"warned": "~.01"},
    ),
}
SLOW: dict[str, tuple[Callable[[], Rates], Mapping[str, str]]] = {
    "intervals of areas": (
        drawn(agreement.clustered, agreement.areas, 400),
        {"clusters: coverage": "~.95", "clusters: size": "~.05"},
    ),
    "gains of equal members": (
        drawn(agreement.equal_members, agreement.gains, 150),
        {"gain over the best of the sample (default)": "≥.92", "gain over the best of the training": "≥.92"},
    ),
    "groups that share segments": (  # of independent groups, .72
        drawn(partial(averages.sharing, share=0.7), averages.averaged, 60),
        {"size": "~.05", "coverage": ">.85"},
    ),
    **{
        f"tests of averages of {name}": (
            drawn(world, choices.chosen, 100),
            {"test in a group": "~.05", "test of the average": "~.05", "interval of the average": ">.88"},
        )
        for name, world in (("normal scores", choices.groups), ("heavy tails", partial(choices.groups, tails=5)))
    },
    "gains of unequal members": (
        drawn(partial(choices.members, spreads=choices.UNEQUAL), partial(choices.gains, spreads=choices.UNEQUAL), 60),
        {"gain over the best of the sample": "≥.9", "gain over the best of the training": "≥.9"},
    ),
    **{
        f"comparisons over {n} documents": (
            drawn(partial(compare.documents, n=n), compare.by_documents, 120),
            {f"{what}, {way}": wanted for what, wanted in SIZES for way in ("default", "bootstrap")}
            | {f"size, {test} without documents": ">.2" for test in ("bootstrap", "randomise")},
        )
        for n in (10, 40)
    },
    "noise, in full": (partial(disentangling.noise, 300), NOISE),
    **{f"intervals of R², {runs} runs": (partial(flat, disentangling.r2_intervals, runs), R2) for runs in (15, 300)},
    **{
        f"Simpson's paradox, {runs} runs": (
            partial(disentangling.simpson, runs),
            {
                "the same slope everywhere": f"<{0.06 + 1 / runs}",
                "only between groups": ">.8",
                "opposite signs": ">.9",
            },
        )
        for runs in (8, 200)
    },
    "rows of one segment": (
        drawn(partial(documents.documents, count=60, size=5), documents.by_segments, 60, seed=2),
        {"size, segments": "~.05", "coverage, segments": "~.95", "size, by itself": "!.05"},
    ),
    **{
        f"a bend with {each} rows a segment, {runs} runs": (
            drawn(partial(form.saturating, bend=3.0, each=each), form.bent, runs),
            {"LEX, a line in meaning": ">.9", "LEX, a curve (`spline`)": "~.05", "warned (`bent`)": ">.9"},
        )
        for each in (1, 5)
        for runs in (20, 300)
    },
    **{
        f"a line with {each} rows a segment, {runs} runs": (
            drawn(partial(form.saturating, bend=0.0, each=each), form.bent, runs),
            {"warned (`bent`)": f"<{0.03 + 1 / runs}"},
        )
        for each in (1, 5)
        for runs in (20, 300)
    },
    "errors that judges share, in full": (
        drawn(partial(form.judged, share=0.5), form.corrected, 300),
        {"LEX, alpha": ">.85", "meaning holds, alpha": "<.2"},
    ),
    **{
        f"slopes apart within segments, {runs} runs": (
            drawn(partial(form.segments_apart, apart=1.0, between=1.0), form.held, runs),
            {"all rows": "=0", "`within=segment,system`": "~.95", "warned (`simpson`)": ">.95"},
        )
        for runs in (15, 200)
    },
    "slopes alike within segments": (
        drawn(partial(form.segments_apart, apart=0.0), form.held, 200),
        {"warned (`simpson`)": "<.1"},
    ),
    "edited coefficients": (  # case-blind, 30 sentences
        partial(counted, interventions.SECTION.tables[0].worlds[1], 60),
        {"covers": ">.87", "counted as words: covers": "<.2"}
        | {"observed = edited": "<.15", "counted as words: observed = edited": ">.8"},
    ),
    "pilots of documents": (
        drawn(lambda rng: rng, partial(plan.from_pilot, documents=40, effect=0.2), 100),
        {"power": "~.79", "interval of n": ">.84"},
    ),
    "pilots of correlations": (
        drawn(
            lambda rng: rng,
            partial(plan.correlations_pilot, segments=60, systems=8, shared=0.5, heavy=False),
            100,
        ),
        {"power": "~.79", "interval of n": ">.84"},
    ),
    **{
        f"few systems, {name}": (
            drawn(partial(systems.rows, n=8, **how), systems.intervals, 100),
            {"Fisher": "<.93", "default": "≥.9"},
        )
        for name, how in (("an outlier", {"r": 0.9, "outlier": True}), ("heavy tails", {"tails": 2}))
    },
    **{
        f"a test between metrics, heavy tails, {n} rows": (
            drawn(partial(systems.rows, n=n, tails=2), systems.tests, 300),
            {"Williams": ">.15", "default": "<.1"},
        )
        for n in (19, 500)
    },
}


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        *(pytest.param(*row, id=name) for name, row in QUICK.items()),
        *(pytest.param(*row, id=name, marks=pytest.mark.slow) for name, row in SLOW.items()),
    ],
)
def test_promises_are_kept(rates: Callable[[], Rates], expected: Mapping[str, str]) -> None:
    """Shares are compared with ``~.05``, near it; ``!.05``, not near it; or less, more, equal."""
    drawn_rates = rates()
    for name, wanted in expected.items():
        rate, sign, target = drawn_rates[name], wanted[0], float(wanted[1:])
        right = rate.near(target) == (sign == "~") if sign in "~!" else SIGNS[sign](rate.share, target)
        assert right, (name, wanted, str(rate))


def test_a_known_size_is_found_and_replicates_do_not_depend_on_their_number() -> None:
    seen: list[float] = []

    def world(rng: np.random.Generator) -> float:
        seen.append(rng.random())
        return seen[-1]

    rate = simulate(world, lambda p: {"p": p < 0.05}, runs=2000)["p"]
    assert (rate.near(0.05), rate.near(0.1)) == (True, False)
    simulate(world, lambda p: {"p": p < 0.05}, runs=3)
    assert seen[:3] == seen[-3:]


def test_rates_are_printed_with_their_error() -> None:
    assert str(Rate(20, 400)) == "0.050 ± 0.011"
    assert Rate(0, 100).error > 0
    assert table(["world", "size"], [["a", Rate(20, 400)]], 400).splitlines()[2] == "| a | 0.050 ± 0.011 |"


@pytest.mark.slow
def test_every_default_has_its_size() -> None:
    defaults = ("(default)", "permutation of rows", "permutation of systems", "permutation of segments")
    for world, test, rate in agreement.sizes(400):
        assert isinstance(rate, Rate)
        if str(test).endswith(defaults) and "tails" not in str(world):
            assert rate.share <= 0.05 or rate.near(0.05), (world, test, str(rate))


@pytest.mark.slow
def test_of_equal_metrics_none_is_called_worse_more_often_than_a_test_errs() -> None:
    equal, better, chance = agreement.SECTION.tables
    corrected, plain = map(counted(equal.worlds[1], 40).get, equal.columns)
    assert corrected is not None
    assert plain is not None
    assert corrected.near(0.05)
    assert not plain.near(0.05)
    blind, _, good = chance.worlds
    assert counted(blind, 20)["interval above chance"].near(0.025)
    assert good.counts(0, 5)["interval above chance"] == [5, 5]
    assert set(better.columns) <= {*better.worlds[0].counts(0, 1)}


@pytest.mark.slow
@pytest.mark.parametrize("runs", [40, 400])
def test_default_standard_errors_keep_their_size_and_classic_ones_do_not(runs: int) -> None:
    shared, heavy = disentangling.standard_errors(runs).values()
    assert shared["auto size"].near(0.05)
    # Three times the level; 400 replicates give .24, with a standard error of .02.
    assert shared["classic size"].share > 0.15
    assert heavy["auto coverage"].share > 0.87
    assert heavy["classic coverage"].share < heavy["auto coverage"].share - 0.05


@pytest.mark.slow
def test_every_table_of_documents_holds_its_level() -> None:
    for world in documents.SECTION.tables[0].worlds:
        rates = counted(world, 300)
        assert rates["size, documents"].near(0.05), world.name
        assert rates["coverage, documents"].near(0.95), world.name
    for world in documents.FEW.worlds:
        rates = counted(world, 300)
        assert rates["difference"].share >= 0.91, world.name
        assert rates["r"].share >= 0.91, world.name


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


def test_worlds_have_the_truth_they_state() -> None:
    columns = choices.groups(np.random.default_rng(1), n=40_000, k=1)
    assert np.corrcoef(columns["a"], columns["human"])[0, 1] == pytest.approx(0.5, abs=0.02)
    spreads = choices.UNEQUAL
    table = choices.members(np.random.default_rng(1), spreads, n=200_000)
    scores = np.stack([table[f"m{j}"] / table[f"m{j}"].std() for j in range(len(spreads))])
    r = np.corrcoef(np.vstack([scores, scores.sum(axis=0), table["human"]]))[-1]
    share = 1 / np.sqrt(1 + np.square(spreads))
    together = share.sum() / np.sqrt(share.sum() ** 2 + (1 - share**2).sum())
    assert r[-2] / r[:-2].max() - 1 == pytest.approx(together / share.max() - 1, abs=0.01)
    values = plan.differences(np.random.default_rng(1), 20_000, 0.2, 0.1)
    assert (values.mean(), values.var()) == (pytest.approx(0.1, abs=0.02), pytest.approx(1, abs=0.02))
    assert values.mean(axis=1).var() == pytest.approx(0.2 + 0.8 / 8, abs=0.01)
    columns = plan.metrics(np.random.default_rng(1), 50_000)
    r = np.corrcoef([columns["a"], columns["b"], columns["human"]])
    assert (r[0, 2], r[1, 2], r[0, 1]) == tuple(pytest.approx(x, abs=0.02) for x in (0.6, 0.5, plan.BETWEEN))


def test_the_metric_is_what_was_planted() -> None:
    for blind in (True, False):
        world = interventions.planted(np.random.default_rng(3), 60, blind=blind)
        scores = world.metric(world.candidates, world.references)
        small = world.metric([text.lower() for text in world.candidates], world.references)
        assert bool(np.allclose(scores, small)) is blind
        found = intervene_texts(
            world.references,
            {"m": world.metric},
            edits=interventions.EDITS,
            factors=["lex:tokenize=whitespace"],
            candidates=world.candidates,
            human=world.human.tolist(),
            lang="en",
        )
        assert found.fits[0].ignores_case is blind
        assert ("lower" in found.fits[0].unseen) is blind
        effect = found.effect("m", "lex:tokenize=whitespace")
        assert effect.observed == pytest.approx(interventions.LEX / found.fits[0].sd, abs=0.03)
        assert effect.edited is not None
        assert effect.edited_se is not None
        assert abs(effect.edited - interventions.LEX / found.fits[0].sd) < 3 * effect.edited_se
