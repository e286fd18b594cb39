"""Ensembles: rules, weights, folds, gains; every number against loops, SciPy or scikit-learn."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from pydantic import ValidationError

pytest.importorskip("scipy")
from scipy import optimize, stats

from bsx.analysis.ensemble.combine import combine
from bsx.analysis.ensemble.fit import (
    PENALTIES,
    Training,
    fit_members,
    nnls_weights,
    ridge_penalty,
    ridge_weights,
    within_groups,
)
from bsx.analysis.ensemble.result import EnsembleResult
from bsx.analysis.ensemble.settings import EnsembleSettings
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import TablePart
from bsx.analysis.stats.folds import unit_folds, units
from bsx.analysis.stats.significance import williams
from bsx.catalog.entries.metrics import Combination
from bsx.errors import InputError, UnknownNameError

NAMES = ["a", "b", "c", "d"]


def made(n: int = 240, seed: int = 0, segment_size: int = 3) -> dict[str, Any]:
    """Four metrics of two language pairs; d is upside down, c nearly noise."""
    rng = np.random.default_rng(seed)
    human = rng.normal(size=n)
    segment = [f"s{i // segment_size}" for i in range(n)]
    return {
        "a": human + rng.normal(size=n),
        "b": 20 + 5 * (human + 1.2 * rng.normal(size=n)),
        "c": 0.2 * human + rng.normal(size=n),
        "d": -human + 1.5 * rng.normal(size=n),
        "human": human + np.repeat([0.0, 1.0], n // 2),
        "lp": ["x"] * (n // 2) + ["y"] * (n // 2),
        "segment": segment,
        "reference": [f"the text of {name}" for name in segment],
    }


def training(table: dict[str, Any], names: list[str] = NAMES) -> Training:
    scores = np.stack([stats.zscore(-table[m] if m == "d" else table[m]) for m in names], axis=1)
    groups = np.unique(table["lp"], return_inverse=True)[1]
    return Training(scores, scores, table["human"], groups, units([table["segment"]], len(groups)))


# -- rules ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["mean", "z", "rank"])
def test_rules_without_weights_against_loops(how: Any) -> None:
    table = made()
    columns = {m: (-table[m] if m == "d" else table[m]) for m in NAMES}
    if how == "z":  # over all rows, not within groups
        columns = {m: (x - np.mean(x)) / np.sqrt(np.mean((x - np.mean(x)) ** 2)) for m, x in columns.items()}
    if how == "rank":
        columns = {m: [sum(w < v for w in x) + (1 + sum(w == v for w in x)) / 2 for v in x] for m, x in columns.items()}
    expected = np.array([sum(columns[m][i] for m in NAMES) / 4 for i in range(240)])
    result = combine(table, NAMES, "human", group="lp", lower=["d"], how=how, resamples=20).result
    gains = []
    for found, rows in zip(result.groups, (list(range(120)), list(range(120, 240))), strict=True):
        r = {m: stats.pearsonr((-table[m] if m == "d" else table[m])[rows], table["human"][rows])[0] for m in NAMES}
        whole = stats.pearsonr(expected[rows], table["human"][rows])[0]
        assert found.members == pytest.approx(r, abs=1e-12)
        assert found.ensemble == pytest.approx(whole, abs=1e-12)
        assert found.best == max(r, key=r.__getitem__)
        assert found.gain == pytest.approx(whole / max(r.values()) - 1, abs=1e-12)
        gains.append(found.gain)
        best = (-table["d"] if found.best == "d" else table[found.best])[rows]
        test, tested = williams(expected[rows], best, table["human"][rows]), found.tests["williams"]
        assert (tested.statistic, tested.p, *tested.ci) == pytest.approx((test.statistic, test.p, *test.ci), abs=1e-9)
    assert result.average_gain == pytest.approx(sum(gains) / 2, abs=1e-12)
    assert result.folds == ()
    assert [notice.about for notice in result.warnings if notice.name == "lower-is-better"] == ["d"]


def test_a_combination_scores_rows_as_the_table_was() -> None:
    table = made()
    for how in ("mean", "z", "rank", "ridge"):
        config = EnsembleSettings(how=how, resamples=20)
        combination = combine(table, NAMES, "human", **dict(config), segment="segment", lower=["d"]).combination
        whole = combination.apply(table)
        half = combination.apply({name: table[name][:10] for name in NAMES})
        np.testing.assert_allclose(half, whole[:10], atol=1e-12)
        again = Combination.model_validate(combination.model_dump())
        np.testing.assert_array_equal(again.apply(table), whole)


def test_positions_of_new_scores_among_many_known_ones() -> None:
    known = np.random.default_rng(0).normal(size=20_000)
    [member] = fit_members({"a": known}, [], "rank")
    assert member.ranks is not None
    assert len(member.ranks) <= 1001
    new = np.linspace(-2, 2, 50)
    expected = np.array([stats.percentileofscore(known, value, kind="mean") / 100 for value in new])
    np.testing.assert_allclose(member.normalised(new, "rank"), expected, atol=2e-3)  # 1,001 points of 20,000
    ends = member.normalised(np.array([-99.0, 99.0, np.nan]), "rank")
    assert 0 < ends[0] < 0.001 < 0.999 < ends[1] < 1
    assert np.isnan(ends[2])
    [few] = fit_members({"a": np.array([1.0, 1.0, 2.0, 4.0])}, [], "rank")
    assert few.ranks == [[1.0, 0.25], [2.0, 0.625], [4.0, 0.875]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"members": []}, "at least one"),
        ({"members": [{"metric": "a", "weight": 0.0}]}, "every weight is 0"),
        ({"members": [{"metric": "a", "weight": 1.0}] * 2}, "'a' is there twice"),
        ({"members": [{"metric": "a", "weight": math.nan}]}, "finite number"),
        ({"members": [{"metric": "a", "weight": 1.0, "ranks": [[1.0, 0.5], [1.0, 0.6]]}]}, "must rise"),
        ({"normalise": "z"}, "normalise=z needs centre"),
        ({"normalise": "rank"}, "normalise=rank needs ranks"),
    ],
)
def test_combinations_that_say_too_little(change: dict[str, Any], message: str) -> None:
    right: dict[str, Any] = {"how": "mean", "normalise": "none", "members": [{"metric": "a", "weight": 1.0}]}
    with pytest.raises(ValidationError, match=message):
        Combination(**{**right, **change})
    with pytest.raises(InputError, match="no scores"):
        Combination(**right).apply(dict[str, Any](b=[1.0]))


# -- weights -------------------------------------------------------------------------------------------------------


def test_non_negative_weights_against_another_solver() -> None:
    data = training(made(seed=3))
    scores = np.column_stack([data.scores, -data.scores[:, 0] + data.scores[:, 2]])  # one that deserves nothing
    got = nnls_weights(scores, data.human, data.groups)
    x, y = within_groups(scores, data.groups), within_groups(data.human, data.groups)
    expected = optimize.lsq_linear(x, y, bounds=(0, np.inf), tol=1e-14).x
    np.testing.assert_allclose(got, expected / expected.sum(), atol=1e-6)  # two iterative solvers
    assert got.min() >= 0
    assert got.sum() == pytest.approx(1)
    gradient = x.T @ (x @ optimize.nnls(x, y)[0] - y)
    assert (gradient >= -1e-8).all()  # no weight can rise and help: the solution of Karush, Kuhn and Tucker
    assert not nnls_weights(-data.scores[:, :2], data.human, data.groups).any()


def test_ridge_against_scikit_learn() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    data = training(made(seed=4))
    x, y = within_groups(data.scores, data.groups), within_groups(data.human, data.groups)
    for penalty in (1e-4, 0.3, 10.0):
        expected = linear.Ridge(alpha=penalty * len(y), fit_intercept=False, tol=1e-12).fit(x, y).coef_
        got = ridge_weights(data.scores, data.human, data.groups, penalty)
        np.testing.assert_allclose(got, expected / np.abs(expected).sum(), atol=1e-9)
    ordinary = np.linalg.lstsq(x, y, rcond=None)[0]
    got = ridge_weights(data.scores, data.human, data.groups, 0.0)
    np.testing.assert_allclose(got, ordinary / np.abs(ordinary).sum(), atol=1e-9)


def test_the_penalty_against_a_literal_inner_cross_validation() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(5)
    n = 90
    human = rng.normal(size=n)
    scores = 0.15 * human[:, None] + rng.normal(size=(n, 20))
    groups, of = np.arange(n) % 3, np.arange(n) // 2
    errors = dict.fromkeys(PENALTIES, 0.0)
    for fold in unit_folds(of, 5, 7):
        parts = {}
        for name, rows in (("train", fold.train), ("test", fold.test)):
            x, y = scores[rows].copy(), human[rows].copy()
            for g in range(3):
                x[groups[rows] == g] -= x[groups[rows] == g].mean(axis=0)
                y[groups[rows] == g] -= y[groups[rows] == g].mean()
            parts[name] = x, y
        for penalty in PENALTIES:
            model = linear.Ridge(alpha=penalty * len(fold.train), fit_intercept=False).fit(*parts["train"])
            errors[penalty] += float(np.sum((parts["test"][1] - model.predict(parts["test"][0])) ** 2))
    expected = min(errors, key=errors.__getitem__)
    assert ridge_penalty(scores, human, groups, of, seed=7) == expected
    assert PENALTIES[0] > expected > PENALTIES[-1]


# -- folds and leaks -----------------------------------------------------------------------------------------------


def test_equal_texts_of_different_segments_stay_together() -> None:
    assert units([["1", "2", "3"], ["A  cat.", "a cat. ", "a dog."]], 3).tolist() == [0, 0, 1]
    table = made()
    table["candidate"] = [f"text {i}" for i in range(240)]
    table["candidate"][0] = table["candidate"][200] = "The same."
    result = combine(table, NAMES, "human", segment="segment", how="weights", lower=["d"], resamples=20).result
    assert result.kept_together == ("segment", "reference", "candidate")
    assert result.units == 79
    apart = combine(table, NAMES, "human", segment="segment", texts=(), how="weights", lower=["d"], resamples=20).result
    assert (apart.kept_together, apart.units) == (("segment",), 80)


def test_a_planted_leak_shows_a_gain_where_there_is_none() -> None:
    # Labels know nothing of 25 random metrics, but every row has four copies. Folds of rows let weights see the copies
    # of what they are tested on; folds of segments, which equal texts are as well, do not.
    rng = np.random.default_rng(11)
    segments, copies, k = 70, 5, 25
    scores = np.repeat(rng.normal(size=(segments, k)), copies, axis=0)
    human, text = (np.repeat(column, copies) for column in (rng.normal(size=segments), np.arange(segments).astype(str)))
    table = {f"m{j}": scores[:, j] for j in range(k)}
    names, table = [*table], {**table, "human": human, "candidate": text}
    for how in ("weights", "ridge"):
        leaky = combine(table, names, "human", how=how, texts=(), resamples=20).result
        assert leaky.average_gain > 0.4
        assert combine(table, names, "human", how=how, resamples=20).result.average_gain < 0


def test_each_rows_weights_come_from_other_segments() -> None:
    table = made()
    data = training(table)
    how: dict[str, Any] = {"group": "lp", "segment": "segment", "texts": (), "lower": ["d"], "best": "training"}
    found = combine(table, NAMES, "human", **how, how="weights", folds=4, resamples=20)
    baseline = np.zeros(240)
    for fold, taught in zip(unit_folds(data.of, 4, 1), found.result.folds, strict=True):
        part = data.take(fold.train)
        expected = nnls_weights(part.scores, part.human, part.groups)
        assert [*taught.weights.values()] == pytest.approx(expected)
        np.testing.assert_allclose(found.scores[fold.test], data.scores[fold.test] @ expected, atol=1e-12)
        r = [
            [stats.pearsonr(x[part.groups == g], part.human[part.groups == g])[0] for g in (0, 1)]
            for x in part.scores.T
        ]
        best = int(np.argmax(np.mean(r, axis=1)))
        assert taught.best == NAMES[best]
        baseline[fold.test] = data.scores[fold.test, best]
    for group, rows in zip(found.result.groups, (slice(120), slice(120, None)), strict=True):
        assert group.best_r == pytest.approx(stats.pearsonr(baseline[rows], table["human"][rows])[0])


# -- gains and tests -----------------------------------------------------------------------------------------------


def zou_end(t: float, z: Any, spread: Any, rho: float, sign: int, steps: float) -> float:
    """The end of Zou's interval of one r less t times another, from their Fisher's z (the other, the one)."""
    one = np.tanh(z[1] + sign * steps * spread[1]) - np.tanh(z[1])
    other = t * (np.tanh(z[0] - sign * steps * spread[0]) - np.tanh(z[0]))
    half = math.sqrt(one**2 + other**2 + 2 * rho * one * other)
    return float(np.tanh(z[1]) - t * np.tanh(z[0]) + sign * half)


def test_intervals_against_a_literal_bootstrap() -> None:
    table = made(60, seed=2)
    result = combine(table, NAMES[:2], "human", group="lp", segment="segment", resamples=40, seed=5).result
    rng = np.random.default_rng(5)
    both = stats.zscore(table["a"]) + stats.zscore(table["b"])
    columns = {"a": table["a"], "b": table["b"], "both": both}
    gained: list[list[list[float]]] = []
    # Ten segments a group are few: t with nine degrees of freedom stands for the normal of the draws.
    widened = np.sqrt(10 / 9) * stats.t.isf(0.025, 9) / stats.norm.isf(0.025)

    def contracted(share: float, units: int) -> float:
        return float(stats.t.sf(stats.norm.isf(share) / np.sqrt(units / (units - 1)), units - 1))

    for group, rows in zip(result.groups, (np.arange(30), np.arange(30, 60)), strict=True):
        seen = {name: stats.pearsonr(column[rows], table["human"][rows])[0] for name, column in columns.items()}
        z = np.arctanh([seen["a"], seen["b"], seen["both"]])
        noise, differences, gains = [], [], []
        for drawn in rng.integers(10, size=(40, 10)):
            chosen = np.concatenate([rows[3 * s : 3 * s + 3] for s in drawn])
            r = {name: stats.pearsonr(column[chosen], table["human"][chosen])[0] for name, column in columns.items()}
            noise.append(np.arctanh([r["a"], r["b"], r["both"]]) - z)
            differences.append([r["both"] - r["a"], r["both"] - r["b"]])
            gains.append([r["both"] / r["a"] - 1, r["both"] / r["b"] - 1])
        off = np.array([[one[2] - one[0], one[2] - one[1]] for one in noise])
        off /= off.std(axis=0)
        spread, rho = np.std(noise, axis=0), np.corrcoef(np.transpose(noise))[2]
        low = [widened * np.quantile(off[:, j], 0.975) for j in range(2)]
        high = [widened * np.quantile([max(-one) for one in off], 0.975)] * 2

        ratios, apart = [], []
        for sign, steps in ((-1, low), (1, high)):
            each = [(z[[j, 2]], spread[[j, 2]], rho[j], sign, steps[j]) for j in range(2)]
            ratios.append(min(optimize.brentq(zou_end, 0.01, 20, one, xtol=1e-13) for one in each) - 1)
            apart.append(min(zou_end(1.0, *one) for one in each))
        assert group.ci == pytest.approx(ratios, abs=1e-9)
        assert group.tests["bootstrap"].ci == pytest.approx(apart, abs=1e-9)
        p = [(sum(d <= 0 for d in one) + 1) / 41 for one in zip(*differences, strict=True)]
        assert group.tests["bootstrap"].p == pytest.approx(contracted(max(p), 10))  # it must beat each of them
        gained.append([one[int(np.argmax(p))] for one in gains])
    down, up = (np.linalg.norm([group.gain - group.ci[end] for group in result.groups]) / 2 for end in (0, 1))
    assert result.average_ci == pytest.approx((result.average_gain - down, result.average_gain + up))
    assert result.average_p == pytest.approx(contracted((sum(np.mean(gained, axis=0) <= 0) + 1) / 41, 20))


@pytest.mark.parametrize("best", ["sample", "training"])
def test_the_gain_over_the_best_of_equal_members_is_covered(best: Literal["sample", "training"]) -> None:
    covered, runs, truth = 0, 25, float(np.sqrt((1 + 1.3**2) / (1 + 1.3**2 / 6))) - 1
    for run in range(runs):  # percentiles of resamples that choose the best member anew cover in 2 %
        rng = np.random.default_rng(run)
        quality = rng.normal(size=150)
        table = {f"m{j}": quality + 1.3 * rng.normal(size=150) for j in range(6)}
        table["human"] = quality + 0.7 * rng.normal(size=150)
        folds = 4 if best == "training" else 10
        result = combine(table, [f"m{j}" for j in range(6)], "human", best=best, resamples=100, folds=folds).result
        covered += result.average_ci[0] <= truth <= result.average_ci[1]
    assert covered >= 0.85 * runs


@pytest.mark.parametrize("groups", [1, 2])
def test_where_the_best_members_r_may_be_0_the_difference_is_told(groups: int) -> None:
    rng = np.random.default_rng(1)
    quality = rng.normal(size=200)
    loads = {"a": 0.1, "b": -0.049, "human": 0.5}  # b is upside down
    table: dict[str, Any] = {m: r * quality + math.sqrt(1 - r**2) * rng.normal(size=200) for m, r in loads.items()}
    table["lp"] = [str(i % groups) for i in range(200)]
    result = combine(table, ["a", "b"], "human", group="lp", resamples=50).result
    assert not result.bounded
    assert not all(np.isfinite(end) for group in result.groups for end in group.ci)
    low, high = result.average_difference_ci
    assert low < result.average_difference < high
    assert "difference of r" in result.answer
    assert "no bounds" in result.answer
    gains = next(part for part in parts_of(result) if isinstance(part, TablePart))
    assert "difference of r" in gains.columns
    again = EnsembleResult.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert [group.ci for group in again.groups] == [group.ci for group in result.groups]


def test_the_member_to_beat_may_be_chosen_on_training_rows() -> None:
    table = made(seed=8)
    # In the second pair another metric is best, so that the choice over both differs from the choice in each.
    table["c"][120:] = table["human"][120:] * 3 + np.random.default_rng(0).normal(size=120)
    sample = combine(table, NAMES[:3], "human", group="lp", segment="segment", resamples=50).result
    chosen = combine(table, NAMES[:3], "human", group="lp", segment="segment", best="training", resamples=50).result
    assert [group.best for group in sample.groups][1] == "c"
    assert len({group.best for group in chosen.groups}) == 1
    assert all(a.ensemble == b.ensemble for a, b in zip(sample.groups, chosen.groups, strict=True))
    assert "best-of-the-same-rows" in {notice.name for notice in sample.warnings}
    assert "best-of-the-same-rows" not in {notice.name for notice in chosen.warnings}
    for how in ("mean", "rank"):  # what members are worth does not depend on how they are combined
        same: dict[str, Any] = {"group": "lp", "segment": "segment", "best": "training", "resamples": 20}
        other = combine(table, NAMES[:3], "human", how=how, **same).result
        assert [g.best_r for g in other.groups] == pytest.approx([g.best_r for g in chosen.groups], abs=1e-12)


def test_a_table_to_fit_on() -> None:
    first, second = made(seed=1), made(seed=2)
    second["segment"] = [f"t{name}" for name in second["segment"]]
    second["reference"] = [f"new {text}" for text in second["reference"]]
    fitted: dict[str, Any] = {"group": "lp", "fit": first, "how": "weights", "lower": ["d"]}
    result = combine(second, NAMES, "human", segment="segment", **fitted).result
    config = EnsembleSettings(how="weights", resamples=20)
    alone = combine(first, NAMES, "human", **dict(config), group="lp", segment="segment", lower=["d"])
    assert result.weights == alone.result.weights
    assert result.folds == ()
    together = alone.combination.apply(second)
    assert result.groups[0].ensemble == pytest.approx(stats.pearsonr(together[:120], second["human"][:120])[0])
    best = combine(second, NAMES, "human", **fitted, best="training").result
    assert best.groups[0].best == best.groups[1].best == "a"
    assert best.groups[0].best_r == best.groups[0].members["a"]
    second["reference"][7] = first["reference"][0]
    with pytest.raises(InputError, match=r"leak: the table tests row 248 and is trained on row 1.*the same reference"):
        combine(second, NAMES, "human", **fitted)
    combine(second, NAMES, "human", **{**fitted, "how": "z"}, resamples=20)  # learns nothing


def test_metrics_that_deserve_no_weight() -> None:
    table = made()
    result = combine(table, ["d", "c"], "human", how="weights", resamples=20, segment="segment").result
    assert result.weights["d"] == 0
    opposite = combine({**table, "c": table["d"] ** 3}, ["d", "c"], "human", how="weights", resamples=20).result
    assert opposite.weights == {"d": 0.5, "c": 0.5}
    assert {"folds": 10, "of": 10} in [notice.values for notice in opposite.warnings if notice.name == "equal-weights"]
    assert np.isnan(opposite.average_gain)  # below 0 there is no gain to speak of
    content: dict[str, Any] = opposite.to_dict()
    assert content["groups"][0]["gain"] is None
    assert math.isnan(EnsembleResult.from_dict(content).groups[0].gain)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"metrics": ["a"]}, "at least two metrics"),
        ({}, {"metrics": "ab"}, "give a list"),
        ({}, {"metrics": ["a", "human"]}, "'human' is named twice"),
        ({}, {"metrics": ["a", "nosuch"]}, "no column 'nosuch'"),
        ({}, {"lower": ["e"]}, "'e' is not one of the metrics"),
        ({}, {"texts": ["nosuch"]}, "no column of texts 'nosuch'"),
        ({}, {"group": "nosuch"}, "no column 'nosuch'"),
        ({}, {"how": "best"}, "^how: "),
        ({}, {"folds": 3}, "^folds needs"),
        ({}, {"how": "weights", "folds": 200, "segment": "segment"}, "have 80: ask for fewer folds"),
        ({"a": [1.0] * 240}, {}, "column 'a': all 240 items have the value 1"),
        ({"a": [*[1.0] * 120, *range(120)]}, {"group": "lp"}, "group 'x': a: all 120 items"),
        ({"lp": ["x"] * 237 + ["y"] * 3}, {"group": "lp"}, "group 'y': a: 3 items are too few"),
        ({"b": [float("nan"), *range(239)]}, {}, "column 'b': 1 missing values, the first in row 1"),
        ({"b": ["bad", *range(239)]}, {}, "column 'b', row 1 is 'bad'"),
    ],
)
def test_bad_input(change: dict[str, Any], options: dict[str, Any], message: str) -> None:
    metrics = options.pop("metrics", ["a", "b"])
    with pytest.raises((InputError, UnknownNameError), match=message):
        combine({**made(), **change}, metrics, "human", **options)


def test_rows_that_miss_a_number_can_be_left_out() -> None:
    table = made()
    holes = {**table, "b": table["b"].copy()}
    holes["b"][[3, 100]] = np.nan
    unjudged = {**table, "human": table["human"].copy()}
    unjudged["human"][[3, 100]] = np.nan  # left out without being asked for
    less = {name: np.delete(column, [3, 100]) for name, column in table.items()}
    how: dict[str, Any] = {"group": "lp", "segment": "segment", "how": "weights", "resamples": 20}
    whole = combine(less, NAMES, "human", **how).result
    cases: list[tuple[Any, dict[str, Any]]] = [(holes, {"nan": "omit"}), (unjudged, {})]
    for rows, more in cases:
        found = combine(rows, NAMES, "human", **how, **more).result
        assert (found.average_gain, found.omitted) == (whole.average_gain, 2)


# -- what is shown -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["z", "rank", "ridge"])
def test_results_are_read_as_they_were_written(how: Any) -> None:
    table = made()
    result = combine(table, NAMES, "human", group="lp", segment="segment", lower=["d"], how=how, resamples=20).result
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert EnsembleResult.from_dict(content).to_dict() == content
    assert content["members"] == NAMES
    assert [len(group["tests"]) for group in content["groups"]] == [2, 2]
    with pytest.raises(InputError, match="average_gain: is missing"):
        EnsembleResult.from_dict({name: value for name, value in content.items() if name != "average_gain"})


def test_an_ensemble_is_called_better_only_if_it_is_significantly() -> None:
    rng = np.random.default_rng(9)
    human = rng.normal(size=200)
    half = {"a": human + rng.normal(size=200), "b": human + rng.normal(size=200), "human": human}
    for weak, found in ((half["b"], "better"), (rng.normal(size=200), "worse")):
        result = combine({**half, "b": weak}, ["a", "b"], "human", resamples=100).result
        assert (result.average_p < 0.05) == (found == "better")
        assert (result.average_ci[1] < 0) == (found == "worse")
        assert f"significantly {found}" in result.answer
        if found == "better":
            doubtful = replace(result, average_p=0.04, average_ci=(-0.01, 0.2)).answer
            assert "significantly" not in doubtful
            assert "one-sided p 0.040, but the interval reaches 0" in doubtful
    level = combine({**half, "b": rng.normal(size=200)}, ["a", "b"], "human", resamples=100, confidence=0.5).result
    assert "significantly worse" not in level.answer  # an interval of 50 % is no test
    alike = combine({**half, "b": half["a"] + 0.1 * rng.normal(size=200)}, ["a", "b"], "human", resamples=100).result
    assert alike.average_p > 0.05
    assert "not told apart from" in alike.answer
