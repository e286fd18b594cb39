"""R²: intervals, new rows, importance, commonality; controls and length; coefficients without the noise in factors."""

from __future__ import annotations

import csv
import io
import json
import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("statsmodels")
from bsx.analysis.disentangle.errors import Errors, corrected_percentiles, out_of_sample, partial_intervals, r2_interval
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.disentangle.result import Reliability
from bsx.analysis.disentangle.sample import lengths
from bsx.analysis.disentangle.variants import corrected, cronbach, reference
from bsx.analysis.stats.folds import unit_folds
from bsx.data.columns import read_columns
from bsx.errors import InputError
from bsx.support.checks import Array
from tests.analysis.disentangle.test_fit import FACTORS, make
from tests.conftest import Cli
from tests.helpers.tables import write_columns


def test_parts_in_common_sum_to_r2_and_single_ones_are_semipartial() -> None:
    fit = disentangle(make(), ["m"], FACTORS)["m"]
    assert sum(fit.commonality.values()) == pytest.approx(fit.r2)
    assert list(fit.commonality) == ["sem", "syn", "lex", "sem+syn", "sem+lex", "syn+lex", "sem+syn+lex"]
    for name in FACTORS:
        assert fit.commonality[name] == pytest.approx(fit.semipartial_r2[name])
        # What a factor explains alone is what it explains by itself and in common with others.
        alone = sum(value for part, value in fit.commonality.items() if name in part.split("+"))
        assert alone == pytest.approx(disentangle(make(), ["m"], [name])["m"].r2)


def test_importance_is_the_mean_over_all_permutations_of_a_fold() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20, 2))
    y = x @ [1.0, 0.3] + rng.normal(size=20)
    units = np.arange(20) // 2
    found, importance = out_of_sample(x, y, Errors("cluster", None, units, ""), 1)
    left, worse, total = 0.0, np.zeros(2), 0.0
    for fold in unit_folds(units, 10, 1):
        assert not set(units[fold.train]) & set(units[fold.test])
        design = np.column_stack([np.ones(len(fold.train)), x[fold.train]])
        coef = np.linalg.lstsq(design, y[fold.train], rcond=None)[0]
        tested, true = x[fold.test], y[fold.test]
        left += np.square(true - coef[0] - tested @ coef[1:]).sum()
        total += np.square(true - y[fold.train].mean()).sum()
        for j in range(2):
            errors = []
            for order in permutations(range(len(true))):
                shuffled = tested.copy()
                shuffled[:, j] = tested[list(order), j]
                errors.append(np.square(true - coef[0] - shuffled @ coef[1:]).sum())
            worse[j] += np.mean(errors)
    assert found == pytest.approx(1 - left / total)
    assert importance == pytest.approx((worse - left) / total)


def test_intervals_hold_0_where_the_coefficients_do() -> None:
    fit = disentangle(make(), ["m"], FACTORS, resamples=200)["m"]
    for name, (low, high) in fit.partial_r2_ci.items():
        assert (low == 0) == (fit.ci[name][0] <= 0 <= fit.ci[name][1])
        assert low <= fit.partial_r2[name] <= high
        assert fit.semipartial_r2_ci[name][0] <= fit.semipartial_r2[name] <= fit.semipartial_r2_ci[name][1]
    assert fit.r2_ci[0] < fit.adj_r2 < fit.r2_ci[1]
    assert all(low < fit.r2_share[name] < high for name, (low, high) in fit.r2_share_bootstrap.items())
    noise = {name: np.random.default_rng(8 + i).normal(size=100) for i, name in enumerate(["m", *FACTORS])}
    none = disentangle(noise, ["m"], FACTORS, resamples=200)["m"]
    assert (none.r2_ci[0], (none.r2_bootstrap or (1, 1))[0], none.r2_out < 0.02) == (0, 0, True)
    assert all(low == 0 for low, _ in none.r2_share_bootstrap.values())
    exact = {"m": [1.0, 2, 3, 4, 5, 7], "a": [2.0, 4, 6, 8, 10, 14]}
    assert disentangle(exact, ["m"], ["a"])["m"].r2_ci == pytest.approx((1, 1))


def test_lengths_are_counted_in_words_or_signs() -> None:
    table = {"candidate": ["a b c", "", "猫が好き"], "reference": ["a b c d e f", "x", "他 dogs"]}
    found = lengths(table)
    assert found["length"] == pytest.approx(np.log([9, 2, 6]))
    assert found["length-ratio"] == pytest.approx(np.log([2, 1, 2]))
    assert lengths({"candidate": ["a"], "source": ["b c d"], "sem": [1.0]})["length"] == pytest.approx(np.log([4]))
    assert lengths({"m": [1.0], "candidate": ["a"]}) == {}


def test_controls_are_columns_beside_the_factors() -> None:
    table: dict[str, Any] = make(120)
    table["age"] = table["sem"] + np.random.default_rng(1).normal(size=120) * 5
    result = disentangle(table, ["m"], FACTORS, controls=["age"])
    joint = disentangle(table, ["m"], [*FACTORS, "age"])["m"]
    assert result.variant("controls")["m"].coef == pytest.approx(joint.coef)
    assert result.variant("controls")["m"].se == pytest.approx(joint.se)
    assert result["m"].coef == disentangle(table, ["m"], FACTORS)["m"].coef
    with pytest.raises(InputError, match="there is neither a column 'length' nor a pair of texts"):
        disentangle(table, ["m"], FACTORS, controls=["length"])
    with pytest.raises(InputError, match="^controls: 'lex'"):
        disentangle(table, ["m"], FACTORS, controls=["lex"])


def test_a_factor_that_is_mostly_length_is_named() -> None:
    table: dict[str, Any] = make(120)
    rng = np.random.default_rng(1)
    words = rng.integers(1, 30, size=120)
    table |= {"candidate": ["w " * k for k in words], "reference": [f"r{i} {'w ' * k}" for i, k in enumerate(words)]}
    table["syn"] = np.log(words) + 0.3 * rng.normal(size=120)
    said = {w.name: w for w in disentangle(table, ["m"], FACTORS).warnings}
    assert said["mostly-length"].about == "syn"
    assert said["mostly-length"].values["share"] > 0.5
    table["syn"] = rng.normal(size=120)
    assert "mostly-length" not in {w.name for w in disentangle(table, ["m"], FACTORS).warnings}


def test_length_takes_from_syn_on_the_published_rows(shared: Path) -> None:
    factors = ["sem", "syn", "bleu", "morph"]
    table = read_columns(shared / "data/kaster2021/sts-en.tsv", ["mover", *factors], texts=["sentence1", "sentence2"])
    result = disentangle(table, ["mover"], factors, controls=["length"])
    assert result["mover"].coef["syn"] == pytest.approx(0.242, abs=6e-4)
    # .137 by another count of words.
    assert result.variant("controls")["mover"].coef["syn"] == pytest.approx(0.137, abs=0.003)
    assert np.sign(result["mover"].coef["morph"]) == np.sign(result.variant("controls")["mover"].coef["morph"])


def test_twice_the_bias_of_resampling_is_taken_off() -> None:
    draws = np.arange(101) / 200 + 0.3  # 0.3 to 0.8, with mean .55
    # Percentiles at 5 and 95 %, .325 and .775, less twice .55 - .5.
    assert corrected_percentiles(draws, 0.5, 0.9) == pytest.approx((0.225, 0.675))
    assert corrected_percentiles(np.append(draws, np.nan), 0.5, 0.9) == pytest.approx((0.225, 0.675))
    # No end is below 0.
    assert corrected_percentiles(draws, 0.38, 0.9) == pytest.approx((0, 0.435))
    assert corrected_percentiles(draws, 0.0, 0.9) == (0, 0)
    assert np.isnan(corrected_percentiles(np.full(3, np.nan), 0.5, 0.9)).all()
    # Of few units the percentiles are those of t.
    tail = stats.norm.sf(np.sqrt(8 / 7) * stats.t.isf(0.05, 7))
    expected = np.quantile(draws, [tail, 1 - tail]) - 0.1
    assert corrected_percentiles(draws, 0.5, 0.9, 8) == pytest.approx(tuple(expected))


@pytest.mark.parametrize(("share", "n", "p"), [(0.3, 40, 2), (0.02, 40, 2), (0.9, 25, 3)])
def test_the_interval_of_r2_inverts_a_noncentral_chi_squared(share: float, n: int, p: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, p))
    y = x @ np.full(p, math.sqrt(share / p)) + math.sqrt(1 - share) * rng.normal(size=n)
    x, y = ((v - v.mean(axis=0)) / v.std(axis=0) for v in (x, y))
    errors = Errors("classic", None, np.arange(n), "")
    fit = errors.fit(y, x)
    low, high = r2_interval(fit, y, x.T @ x / n, errors, 0.9)
    covariance = np.linalg.inv(x.T @ x) * float(fit.residuals @ fit.residuals) / (n - p)
    spread = x.T @ x / n @ covariance
    mean, square = np.trace(spread), np.trace(spread @ spread)
    influence = ((1 - fit.r2) * y**2 - fit.residuals**2) / n
    slope = float(influence @ influence) / (4 * fit.r2)

    def tail(true: float) -> float:
        """R² has mean true + mean, and variance 2 square + 4 true slope; a multiple of chi² with so many degrees."""
        df, variance = mean**2 / square, 2 * square + 4 * true * slope
        # c (df + nc) is the mean and 2 c² (df + 2 nc) the variance; c is the smaller root.
        c = min(np.roots([-2 * df, 4 * (true + mean), -variance]).real)
        return float(stats.ncx2.sf(fit.r2 / c, df, max((true + mean) / c - df, 0)))

    # The ends are roots found to about 1e-12; p is steep there, but not beyond 1e6.
    for end, p_above in ((low, 0.05), (high, 0.95)):
        assert end == 0 if tail(1e-12) > p_above else tail(end) == pytest.approx(p_above, abs=1e-5)
    assert 0 <= low < high < 1


def test_intervals_of_partial_r2_are_the_squares_of_those_of_coefficients() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(30, 2)) @ np.array([[1, 0.4], [0, 1]])
    y = x @ [0.9, 0.05] + rng.normal(size=30)
    x, y = ((v - v.mean(axis=0)) / v.std(axis=0) for v in (x, y))
    fit = Errors("hc3", None, np.arange(30), "").fit(y, x)
    classic = Errors("classic", None, np.arange(30), "").fit(y, x)
    vif = np.diag(np.linalg.inv(np.corrcoef(x.T)))
    partial, semipartial = partial_intervals(fit, classic, vif)
    assert fit.low[0] > 0 > fit.low[1]  # so that one interval holds 0
    for j in range(2):
        t = np.array([fit.low[j], fit.high[j]]) / classic.se[j]
        ends = t**2 / (t**2 + 28), np.array([fit.low[j], fit.high[j]]) ** 2 / vif[j]
        for found, expected in zip((partial[j], semipartial[j]), ends, strict=True):
            both = sorted(expected) if j == 0 else (0.0, max(expected))
            assert found == pytest.approx(tuple(both))


def planted(n: int, seed: int = 1, reliability: float = 0.7) -> dict[str, Array]:
    """The metric is meaning and noise; words go with meaning; the judgment of meaning is noisy, and made twice."""
    rng = np.random.default_rng(seed)
    meaning = rng.normal(size=n)
    first, second = np.sqrt(reliability) * meaning + np.sqrt(1 - reliability) * rng.normal(size=(2, n))
    lex = 0.6 * meaning + 0.8 * rng.normal(size=n)
    metric = 0.8 * meaning + 0.6 * rng.normal(size=n)
    return {"m": metric, "sem": first, "again": second, "syn": rng.normal(size=n), "lex": lex}


def test_moments_are_eivreg_on_raw_columns_and_1_changes_nothing() -> None:
    table = planted(300)
    variant = disentangle(table, ["m"], FACTORS, reliability={"sem": 0.7, "lex": 0.9}).variant("errors-in-variables")
    # Stata's manual, eivreg: b = (X'X - S)^-1 X'y, with S = n (1 - r) s² on the diagonal, on columns as they are.
    x = np.column_stack([table[name] - table[name].mean() for name in FACTORS])
    y = table["m"] - table["m"].mean()
    noise = np.diag([300 * (1 - r) * column.var() for r, column in zip((0.7, 1, 0.9), x.T, strict=True)])
    raw = np.linalg.solve(x.T @ x - noise, x.T @ y)
    scale = x.std(axis=0) / y.std() * np.sqrt([0.7, 1, 0.9])  # per sd of the noise-free factor
    assert list(variant["m"].coef.values()) == pytest.approx(raw * scale)
    assert variant["m"].r2 == pytest.approx(raw @ x.T @ y / (y @ y))
    plain = disentangle(table, ["m"], FACTORS, reliability={"sem": 1.0})
    assert plain.variant("errors-in-variables")["m"].coef == pytest.approx(plain["m"].coef)


def test_alpha_is_cronbachs() -> None:
    table = planted(400)
    columns = {name: table[name] for name in ("sem", "again", "lex")}
    r = np.corrcoef(list(columns.values()))
    assert cronbach("x", columns)[0].value == pytest.approx(3 / 2 * (1 - 3 / r.sum()))
    with pytest.raises(InputError, match=r"do not measure the same thing: they correlate -0\.\d\d on average"):
        cronbach("x", {"a": table["sem"], "b": -table["sem"] + table["syn"]})


def test_a_planted_truth_is_found() -> None:
    table = planted(20_000)
    result = disentangle(table, ["m"], FACTORS, reliability={"sem": 0.7})
    fit = result.variant("errors-in-variables")["m"]
    assert result["m"].coef["lex"] > 0.15
    assert fit.coef == pytest.approx({"sem": 0.8, "syn": 0, "lex": 0}, abs=0.03)
    assert not fit.significant["lex"]
    repeated = disentangle(table, ["m"], ["both", "syn", "lex"], repeat={"both": ["sem", "again"]})
    assert repeated.reliability[0].value == pytest.approx(2 * 0.7 / 1.7, abs=0.02)
    assert repeated.variant("errors-in-variables")["m"].coef["lex"] == pytest.approx(0, abs=0.03)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reliability": {"sem": 0}}, "a reliability is above 0 and at most 1"),
        ({"reliability": {"sen": 0.5}}, "'sen' is none of the factors sem, syn, lex"),
        ({"reliability": {"sem": 0.1}}, "the data rule these reliabilities out|too low to be true"),
        ({"repeat": {"sem": ["sem"]}}, "name at least two columns that measure sem"),
        ({"repeat": {"lex": ["sem", "again"]}}, "there is a column 'lex' already"),
        ({"repeat": {"sem": ["sem", "x"]}}, "there is no column 'x'"),
        ({"reliability": {"sem": 0.8}, "repeat": {"sem": ["sem", "again"]}}, "not both"),
    ],
)
def test_wrong_reliabilities_are_explained(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        disentangle(planted(200), ["m"], FACTORS, **settings)


def test_the_published_rows_at_reliability_point_6(shared: Path) -> None:
    metrics, factors = ["bleurt", "sbert", "mover", "bert"], ["sem", "syn", "bleu", "morph"]
    table = read_columns(shared / "data/kaster2021/wmt-en.tsv", [*metrics, *factors])
    result = disentangle(table, metrics, factors, reliability={"sem": 0.6})
    assert [fit.coef["bleu"] for fit in result.results][:2] == pytest.approx([0.305, 0.221], abs=6e-4)
    found = [fit.coef["bleu"] for fit in result.variant("errors-in-variables").results]
    assert found == pytest.approx([0.040, 0.016, 0.493, 0.468], abs=6e-4)  # an independent computation


def test_the_command_corrects_for_noise_and_holds_length(cli: Cli, tmp_path: Path) -> None:
    table = planted(120)
    texts = {"sentence1": ["a " * (i % 5 + 1) for i in range(120)], "sentence2": [f"b{i}" for i in range(120)]}
    file = write_columns(tmp_path / "scores.tsv", {**table, **texts})
    base = ("disentangle", file, "--columns", "m", "--factor-columns")
    noise = ("sem,syn,lex", "--reliability", "sem=.8,lex=.9", "--controls", "length", "--detail", "se=hc3")
    content = json.loads(cli(*base, *noise, "--format", "json").out)
    assert [variant["name"] for variant in content["variants"]] == ["errors-in-variables", "controls"]
    assert content["variants"][1]["factors"] == [*FACTORS, "length", "length-ratio"]
    assert content["reliability"][1] == {"factor": "lex", "value": 0.9, "source": "as stated"}
    coef = content["variants"][0]["results"][0]["coef"]["lex"]
    listed = list(csv.DictReader(io.StringIO(cli(*base, *noise, "--format", "csv").out)))
    assert [float(row["coef"]) for row in listed if row["variant"] == "errors-in-variables"][2] == coef
    assert f"{coef:.3f}" in cli(*base, *noise, "--full").out
    repeated = ("both,lex", "--repeat", "both=sem,again", "--add", "both", "--format", "json")
    content = json.loads(cli(*base, *repeated).out)
    assert content["reliability"][0]["source"] == "standardised Cronbach's alpha of sem, again"
    assert content["tests"]["m"][0]["added"] == ["both"]
    assert "write FACTOR=NUMBER" in cli(*base, "sem", "--reliability", "sem").err
    assert "write FACTOR=COLUMN" in cli(*base, "sem", "--repeat", "sem,again").err


@pytest.mark.parametrize(("clustered", "measured"), [(False, True), (True, True), (False, False)])
def test_standard_errors_are_the_delta_methods_by_finite_differences(clustered: bool, measured: bool) -> None:
    """Every row's influence on what is corrected, by giving it a little more weight."""
    rng = np.random.default_rng(6)
    n, clusters = 30, np.arange(30) // 5
    meaning = rng.normal(size=n)
    first, second, third = meaning + 0.6 * rng.normal(size=(3, n))
    y = meaning + 0.5 * rng.normal(size=n)
    standard = [(v - v.mean()) / v.std() for v in (first, second, third)]
    x = np.column_stack([np.mean(standard, axis=0), 0.5 * meaning + rng.normal(size=n)])
    x, y = ((v - v.mean(axis=0)) / v.std(axis=0) for v in (x, y))

    def coefficients(weights: np.ndarray) -> np.ndarray:
        def correlated(values: np.ndarray) -> np.ndarray:
            covariance = np.cov(values.T, aweights=weights, ddof=0)
            spread = np.sqrt(np.diag(covariance))
            return np.asarray(covariance / np.outer(spread, spread))

        r = correlated(np.column_stack([first, second, third]))[np.triu_indices(3, 1)].mean()
        alpha = 3 * r / (1 + 2 * r) if measured else 0.8
        matrix = correlated(np.column_stack([x, y]))
        inner = matrix[:2, :2].copy()
        inner[0, 0] = alpha
        return np.asarray(np.linalg.solve(inner, matrix[:2, 2]) * np.sqrt([alpha, 1.0]))

    step = 1e-5
    weights = np.full(n, 1 / n)
    moved = [
        [coefficients((1 - sign * step) * weights + sign * step * np.eye(n)[i]) for sign in (1, -1)] for i in range(n)
    ]
    influence = np.array([(up - down) / (2 * step) for up, down in moved]) / n
    if clustered:  # with the correction for six clusters
        sums = np.array([influence[clusters == k].sum(axis=0) for k in range(6)])
        expected = np.sqrt(np.square(sums).sum(axis=0) * 6 / 5)
        errors = Errors("cluster", [str(k) for k in clusters], clusters, "")
    else:  # HC3
        leverage = np.diag(x @ np.linalg.inv(x.T @ x) @ x.T)[:, None]
        expected = np.sqrt(np.square(influence / (1 - leverage)).sum(axis=0))
        errors = Errors("hc3", None, np.arange(n), "")
    reliability, moving = cronbach("a", {"1": first, "2": second, "3": third})
    how = ({0: reliability}, {0: moving}) if measured else ({0: Reliability("a", 0.8, "as stated")}, {})
    coef, se, _ = corrected(x, y[:, None], *how, errors)
    assert coef[0] == pytest.approx(coefficients(weights), rel=1e-9)
    # Differences over 2e-5 of numbers near 1 are exact to about 1e-9.
    assert se[0] == pytest.approx(expected, rel=1e-6)


def test_coefficients_of_clusters_are_referred_to_t() -> None:
    rows = Errors("hc3", None, np.arange(4), "")
    assert reference(rows).sf(1.96) == pytest.approx(float(stats.norm.sf(1.96)))
    four = Errors("cluster", list("aabbccdd"), np.arange(8) // 2, "")
    assert reference(four).sf(1.96) == pytest.approx(float(stats.t.sf(1.96, 3)))
    crossed = Errors("cluster", list("aabbccdd"), np.arange(8) // 2, "", list("xyzxyzxy"))
    assert reference(crossed).sf(1.96) == pytest.approx(float(stats.t.sf(1.96, 2)))  # the fewer of both
