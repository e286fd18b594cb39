"""Disentangling regressions against closed forms, brute force, simulation and published numbers."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("statsmodels")
from bsx.analysis.disentangle.errors import bootstrap_regressions, compare_coefficients
from bsx.analysis.disentangle.fit import disentangle, notices
from bsx.analysis.disentangle.show import worded
from bsx.analysis.disentangle.variants import linearity_checks, nested_test
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.importance import subset_r2
from bsx.analysis.stats.regression import fit_ols, pooled_test
from bsx.cli.output import names
from bsx.data.columns import read_columns
from bsx.errors import InputError, UnknownNameError
from tests.conftest import Cli
from tests.helpers.tables import write_columns

FACTORS = ["sem", "syn", "lex"]


def make(n: int = 200, seed: int = 1, *, noise: float = 1.0) -> dict[str, np.ndarray]:
    """Two metrics, three correlated factors, residuals whose spread grows with the first factor."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) @ np.array([[1, 0.3, 0.5], [0, 1, 0.2], [0, 0, 1]])
    errors = rng.normal(size=(n, 2)) * (0.5 + np.abs(x[:, :1])) * noise
    m = 10 + 2 * x @ np.array([0.5, 0.0, 0.3]) + errors[:, 0]
    k = -3 + x @ np.array([0.1, 0.4, 0.6]) + errors[:, 1]
    return {"m": m, "k": k, "sem": x[:, 0] * 5 + 3, "syn": x[:, 1], "lex": x[:, 2] / 10}


def z(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


def design(table: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return np.column_stack([z(table[name]) for name in FACTORS]), z(table["m"])


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("se", ["classic", "hc3"])
def test_coefficients_and_errors_are_those_of_statsmodels(se: Any, intercept: bool) -> None:
    import statsmodels.api as sm
    from statsmodels.stats.outliers_influence import variance_inflation_factor

    table, first = make(), int(intercept)
    x, y = design(table)
    model = sm.OLS(y, sm.add_constant(x) if intercept else x)
    expected = model.fit() if se == "classic" else model.fit(cov_type="HC3")
    result = disentangle(table, ["m"], FACTORS, se=se, intercept=intercept)
    fit = result["m"]
    assert list(fit.coef.values()) == pytest.approx(expected.params[first:])
    assert list(fit.statistic.values()) == pytest.approx(expected.tvalues[first:])
    assert list(fit.p.values()) == pytest.approx(expected.pvalues[first:])
    if se == "classic":
        assert list(fit.se.values()) == pytest.approx(expected.bse[first:])
        assert list(fit.ci.values()) == [pytest.approx(tuple(ends)) for ends in expected.conf_int()[first:]]
    assert (fit.r2, fit.adj_r2) == (pytest.approx(expected.rsquared), pytest.approx(expected.rsquared_adj))
    assert (fit.df, fit.intercept) == (expected.df_resid, pytest.approx(0, abs=1e-12) if intercept else None)
    assert list(fit.vif.values()) == pytest.approx([variance_inflation_factor(x, j) for j in range(3)])
    assert (result.condition_number, result.intercept) == (pytest.approx(np.linalg.cond(x)), intercept)


def r2_of(x: np.ndarray, y: np.ndarray, members: tuple[int, ...]) -> float:
    return float(1 - np.linalg.lstsq(x[:, members], y, rcond=None)[1][0] / (y @ y)) if members else 0.0


def mean_gains(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return how much each column adds to R², on average over all orders of the columns (p,)."""
    p = x.shape[1]
    shares = np.zeros(p)
    for order in itertools.permutations(range(p)):
        for place, j in enumerate(order):
            shares[j] += (r2_of(x, y, order[: place + 1]) - r2_of(x, y, order[:place])) / math.factorial(p)
    return shares


def test_shares_are_the_mean_gain_over_all_orders() -> None:
    table = make()
    x, y = design(table)
    fit = disentangle(table, ["m"], FACTORS)["m"]
    assert list(fit.r2_share.values()) == pytest.approx(mean_gains(x, y))
    assert sum(fit.r2_share.values()) == pytest.approx(fit.r2)
    for j, name in enumerate(FACTORS):
        others = tuple(i for i in range(3) if i != j)
        gain = fit.r2 - r2_of(x, y, others)
        assert fit.semipartial_r2[name] == pytest.approx(gain)
        assert fit.partial_r2[name] == pytest.approx(gain / (1 - r2_of(x, y, others)))
    with pytest.raises(InputError, match="at most 15"):
        subset_r2(np.eye(16), np.zeros(16))


@pytest.mark.parametrize("each", [1, 4])
def test_the_bootstrap_draws_whole_clusters_and_standardises_every_resample(each: int) -> None:
    table = make(40)
    x = np.column_stack([table[name] for name in FACTORS])
    y = np.column_stack([table["m"], table["k"]])
    clusters = None if each == 1 else [f"{i // each:02}" for i in range(40)]
    draws = bootstrap_regressions(x, y, resamples=5, seed=3, clusters=clusters)
    for b, units in enumerate(np.random.default_rng(3).integers(40 // each, size=(5, 40 // each))):
        rows = [unit * each + i for unit in units for i in range(each)]
        part, responses = x[rows], y[rows]
        part = (part - part.mean(axis=0)) / part.std(axis=0)
        responses = (responses - responses.mean(axis=0)) / responses.std(axis=0)
        beta = np.linalg.lstsq(part, responses, rcond=None)[0]
        assert draws.coef[b] == pytest.approx(beta.T, rel=0, abs=1e-10)
        assert draws.r2[b, 1] == pytest.approx(r2_of(part, responses[:, 1], (0, 1, 2)))


def test_nested_models_are_tested_by_f() -> None:
    from scipy import stats

    table = make()
    x, y = design(table)
    small, full = r2_of(x, y, (0,)), r2_of(x, y, (0, 1, 2))
    expected = (full - small) / 2 / ((1 - full) / (len(y) - 3))
    test = nested_test(table, "m", ["sem"], ["syn", "lex"], se="classic")
    assert test.statistic == pytest.approx(expected)
    assert test.p == pytest.approx(stats.f.sf(expected, 2, len(y) - 3))
    assert (test.df1, test.df2, test.gain) == (2, len(y) - 3, pytest.approx(full - small))
    fit = disentangle(table, ["m"], FACTORS, se="hc3")["m"]
    one = nested_test(table, "m", ["sem", "lex"], ["syn"], se="hc3")
    assert one.p == pytest.approx(fit.p["syn"])  # a single coefficient: the same test
    assert nested_test(table, "m", [], ["sem"]).r2_base == 0
    with pytest.raises(InputError, match="at least one factor to add"):
        nested_test(table, "m", ["sem"], [])


def test_reset_agrees_with_statsmodels_and_finds_bends_and_products() -> None:
    import statsmodels.api as sm
    from statsmodels.stats.diagnostic import linear_reset

    table = make()
    x, y = design(table)
    checks = linearity_checks(table, "m", FACTORS, se="classic")
    expected = linear_reset(sm.OLS(y, sm.add_constant(x)).fit(), power=3, test_type="fitted", use_f=True)
    assert checks["reset"].p == pytest.approx(float(expected.pvalue))
    assert list(checks["interactions"].added) == ["sem:syn", "sem:lex", "syn:lex"]
    bent = {**table, "m": z(table["sem"]) ** 2 + z(table["lex"]) + 0.1 * table["k"]}
    found = linearity_checks(bent, "m", FACTORS, se="hc3")
    assert found["squares"].p < 1e-6
    assert min(found["squares"].term_p, key=found["squares"].term_p.__getitem__) == "sem²"
    crossed = {**table, "m": z(table["sem"]) * z(table["syn"]) + table["k"]}
    terms = linearity_checks(crossed, "m", FACTORS)["interactions"].term_p
    assert min(terms, key=terms.__getitem__) == "sem:syn"
    two = {"m": table["m"], "flag": (table["syn"] > 0).astype(float)}
    assert "squares" not in linearity_checks(two, "m", ["flag"])
    assert "interactions" not in linearity_checks(two, "m", ["flag"])


def test_groups_are_compared_by_chows_test() -> None:
    from scipy import stats

    parts = {}
    for seed, name in enumerate(("de", "zh", "ru")):
        table = make(60, seed=seed)
        parts[name] = (z(table["m"]), np.column_stack([z(table[f]) for f in FACTORS]))
    y = np.concatenate([response for response, _ in parts.values()])
    x = np.concatenate([columns for _, columns in parts.values()])
    together, separate = np.linalg.lstsq(x, y, rcond=None)[1], sum(np.linalg.lstsq(c, r)[1] for r, c in parts.values())
    expected = ((together - separate) / 6 / (separate / (180 - 9))).item()
    test = pooled_test("m", FACTORS, parts)
    assert test.statistic == pytest.approx(expected)
    assert test.p == pytest.approx(stats.f.sf(expected, 6, 171))
    assert test.method == "Chow test"


def test_groups_get_their_own_fits_and_unfit_and_small_ones_are_named() -> None:
    a, b = make(80, seed=1), make(80, seed=2)
    b["m"] = b["m"] - 12 * z(b["sem"])
    parts = (a, b, make(4, seed=3), make(9, seed=4))
    table: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in a}
    table["lp"] = ["de-en"] * 80 + ["zh-en"] * 80 + ["ru-en"] * 4 + ["fi-en"] * 9
    result = disentangle(table, ["m", "k"], FACTORS, group="lp", se="classic")
    assert list(result.groups) == ["de-en", "zh-en", "fi-en"]
    assert result.groups["zh-en"]["m"].coef == disentangle(b, ["m"], FACTORS)["m"].coef
    notices = {notice.name: notice for notice in result.warnings}
    left = notices["group-left-out"]
    assert (left.about, left.values["column"]) == ("ru-en", "lp")
    assert "no degree of freedom is left; at least 5 are needed" in left.values["why"]
    assert notices["tiny-n"].values == {"groups": {"fi-en": 9}}
    assert worded(notices["tiny-n"]) in result.to_text()
    by_metric = {test.metric: test for test in result.pooled}
    assert by_metric["m"].p < 1e-6
    assert by_metric["m"].by_factor["sem"] < 1e-6 < by_metric["k"].by_factor["sem"]
    assert "Chow test" in result.to_text(full=True)
    with pytest.raises(InputError, match="no group can be fitted by itself"):
        disentangle({**a, "lp": [str(i) for i in range(80)]}, ["m"], FACTORS, group="lp")


def test_two_metrics_are_compared_over_the_same_resamples() -> None:
    table = make(300)
    found = compare_coefficients(table, "m", "k", FACTORS, resamples=500, seed=2).by
    m, k = disentangle(table, ["m", "k"], FACTORS).results
    for name in FACTORS:
        assert found[name].difference == pytest.approx(m.coef[name] - k.coef[name])
        assert found[name].ci[0] < found[name].difference < found[name].ci[1]
    assert found["r2"].value_a == pytest.approx(m.r2)
    assert found["sem"].p_two_sided < 0.05
    swapped = compare_coefficients(table, "k", "m", FACTORS, resamples=500, seed=2).by
    assert swapped["sem"].difference == pytest.approx(-found["sem"].difference)
    assert swapped["sem"].ci[1] == pytest.approx(-found["sem"].ci[0])
    same = compare_coefficients({**table, "twin": table["m"] * 3 + 1}, "m", "twin", FACTORS, resamples=100).by
    assert same["sem"].difference == pytest.approx(0, abs=1e-12)


def test_correction_runs_over_the_whole_table() -> None:
    result = disentangle(make(60), ["m", "k"], FACTORS, correction="holm")
    raw = [p for fit in result.results for p in fit.p.values()]
    assert [p for fit in result.results for p in fit.p_adjusted.values()] == pytest.approx(adjust(raw, "holm"))
    assert "Holm" in result.to_text()


def test_warnings_are_named() -> None:
    table = make(25)
    table["twin"] = table["sem"] + 0.01 * table["syn"] + 1e-3 * table["k"]
    names = {w.name for w in disentangle(table, ["m"], [*FACTORS, "twin"]).warnings}
    assert {"collinearity", "tiny-n"} <= names
    flags = {"m": make(12)["m"], "flag": [0] * 11 + [1]}
    undefined = disentangle(flags, ["m"], ["flag"], resamples=100)
    assert "undefined-resamples" in {w.name for w in undefined.warnings}


def test_the_outlier_case_of_mlqe_moves_a_star(shared: Path) -> None:
    table = read_columns(shared / "data/kaster2021/mlqe-de.tsv", ["labse", "sem", "syn", "bleu_s", "morph"])
    result = disentangle(table, ["labse"], ["sem", "syn", "bleu_s", "morph"], se="classic")
    found = next(w.values["changed"] for w in result.warnings if w.name == "stars-depend-on-se")
    moved = next(one for one in found if one["factor"] == "syn")
    assert (moved["p"], moved["hc3"]) == pytest.approx((0.00038, 0.17), rel=0.03)
    assert "influential-rows" in {w.name for w in result.warnings}


@pytest.mark.parametrize(
    ("table", "file"),
    [
        *(("T3_wmt", "wmt-en"), ("T3_sts", "sts-en"), ("T4_wmt", "wmt-zh"), ("T4_sts", "sts-zh")),
        *(("T10_wmt", "wmt-de"), ("T10_sts", "sts-de"), ("T12_de", "mlqe-de"), ("T12_zh", "mlqe-zh")),
    ],
)
def test_published_scores_give_the_reference_figures(shared: Path, table: str, file: str) -> None:
    content = json.loads((shared / "reference_values.json").read_text(encoding="utf-8"))
    expected = next(value for key, value in content["regression_detail"].items() if key.startswith(f"{table}_"))
    factors = [name.replace("-", "_") for name in expected["regressors"]]
    metrics = list(expected["metrics"])
    data = read_columns(shared / f"data/kaster2021/{file}.tsv", [*metrics, *factors])
    classic = disentangle(data, metrics, factors, se="classic", resamples=1000, seed=1)
    robust = disentangle(data, metrics, factors, se="hc3")
    assert classic.n == expected["n"]
    for metric, figures in expected["metrics"].items():
        fit, hc3 = classic[metric], robust[metric]
        for theirs, own in zip(expected["regressors"], factors, strict=True):
            assert fit.coef[own] == pytest.approx(figures["coef"][theirs], abs=1e-7)
            assert fit.se[own] == pytest.approx(figures["se"][theirs], abs=1e-7)
            assert fit.p[own] == pytest.approx(figures["p"][theirs], rel=1e-3, abs=1e-7)
            # That of the slope; `se` allows for the standard deviations too.
            assert hc3.coef[own] / hc3.statistic[own] == pytest.approx(figures["se_HC3"][theirs], abs=1e-7)
            assert hc3.p[own] == pytest.approx(figures["p_HC3_normal"][theirs], rel=1e-3, abs=1e-7)
            assert fit.r2_share[own] == pytest.approx(figures["LMG"][theirs], abs=1e-7)
            assert fit.vif[own] == pytest.approx(expected["VIF"][theirs], abs=1e-7)
            # Other draws: the ends of an interval agree to about a hundredth.
            assert fit.ci_bootstrap[own] == pytest.approx(figures["boot95"][theirs], abs=0.015)
        assert fit.r2 == pytest.approx(figures["R2"], abs=1e-7)
        assert fit.r2_bootstrap == pytest.approx(figures["boot95_R2"], abs=0.015)


def test_tables_mark_what_is_significant() -> None:
    table = {**make(), "bleu_s": make()["lex"]}
    factors = ["sem", "syn", "bleu_s"]
    result = disentangle(table, ["m"], factors)
    fit = result["m"]
    assert [fit.significant[name] for name in factors] == [fit.p[name] < 0.05 for name in factors]
    assert not fit.significant["syn"]
    cells = [f"{fit.coef[name]:.2f}{'†' if fit.significant[name] else ''}" for name in factors]
    markdown = result.to_markdown().splitlines()
    place = markdown.index("| metric | sem | syn | bleu_s | R² |")
    assert markdown[place + 2].startswith("| " + " | ".join(["m", *cells, f"{fit.r2:.2f}"]))
    assert "syn" not in result.answer  # it names what is significant alone
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert [(row["factor"], float(row["coef"])) for row in rows] == list(fit.coef.items())
    with pytest.raises(UnknownNameError, match="no metric 'x'; there are m"):
        result["x"]
    with pytest.raises(UnknownNameError, match="no chart 'shares'"):
        result.plot(chart="shares")


def test_missing_numbers_of_a_dataframe() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(make(50))
    frame.loc[4, "syn"] = None
    with pytest.raises(InputError, match=r"column 'syn': 1 missing values, the first in row 5; nan=omit"):
        disentangle(frame, ["m"], FACTORS)
    result = disentangle(frame, ["m"], FACTORS, nan="omit")
    assert (result.n, result.omitted) == (49, 1)
    assert "1 rows are left out" in result.to_text()


BAD: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "missing": ({}, {"factors": ["sem", "lexx"]}, r"no column 'lexx'; there are m, k, sem, syn, lex\. Near: lex"),
    "text": ({"syn": ["1", "x"] * 100}, {}, r"column 'syn', row 2 is 'x', not a finite number"),
    "constant": ({"syn": [3.0] * 200}, {}, r"column 'syn': all 200 values are 3"),
    "matrix": ({"syn": np.ones((200, 2))}, {}, r"column 'syn': has shape \(200, 2\)"),
    "collinear": ({"syn": make()["sem"] * 2 + 1}, {}, r"column 'syn' is a linear combination of sem"),
    "twice": ({}, {"factors": ["sem", "m"]}, r"column 'm' is named twice"),
    "few rows": ({name: column[:3] for name, column in make().items()}, {}, r"3 rows are too few for 3 coefficients"),
    "none": ({}, {"factors": []}, r"factors: name at least one column"),
    "string": ({}, {"factors": "sem"}, r"factors"),
    "se": ({}, {"se": "hc9"}, r"^se: .*hc9"),
    "cluster": ({}, {"se": "cluster"}, r"se cluster needs a column of clusters"),
    "clusters": ({"d": ["a"] * 200}, {"se": "hc3", "cluster": "d"}, r"cluster needs se cluster"),
    "one cluster": ({"d": ["a"] * 200}, {"se": "cluster", "cluster": "d"}, r"of one cluster, 'a'.*at least 2"),
    "label": ({"lp": [None] * 200}, {"group": "lp"}, r"column 'lp', row 1 is empty"),
    "leverage": ({"flag": [0.0] * 199 + [1.0]}, {"factors": ["flag"], "se": "hc3", "intercept": True}, "row 200 of"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_input_is_explained(case: str) -> None:
    columns, settings, message = BAD[case]
    arguments: dict[str, Any] = {"metrics": ["m"], "factors": FACTORS, **settings}
    with pytest.raises((InputError, UnknownNameError), match=message):
        disentangle({**make(), **columns}, **arguments)  # type: ignore[call-arg]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    texts: dict[str, Any] = {"text": ['"quoted'] * 80, "lp": ["en-de", "de-en"] * 40}
    return write_columns(tmp_path / "data.tsv", texts | make(80))


def test_the_command_tests_compares_and_fills_a_folder(cli: Cli, file: Path, tmp_path: Path) -> None:
    base = ("disentangle", file, "--columns", "m,k", "--factor-columns", "sem,syn,lex")
    more = ("--add", "syn", "--detail", "checks=true", "--compare", "m,k", "--resamples", "60", "--group", "lp")
    done = cli(*base, *more, "-o", tmp_path / "out", "--pictures")
    assert done.status == 0, done.err
    assert "more tables: " in done.out
    whole = (tmp_path / "out/disentangle.txt").read_text(encoding="utf-8")
    assert all(part in whole for part in ("m compared with k", "de-en", "60 resamples", "interactions"))
    assert {path.name for path in (tmp_path / "out").glob("*.png")} == {
        "what-each-metric-is-associated-with.png",
        "what-each-metric-is-associated-with-group-by-group.png",
        "how-much-each-factor-explains.png",
    }
    content = json.loads((tmp_path / "out/disentangle.json").read_text(encoding="utf-8"))
    assert content["tests"]["m"][0]["added"] == ["syn"]
    assert set(content["comparison"]["by"]) == {*FACTORS, "r2"}
    assert json.loads(cli(*base, "--lang", "de", "--format", "json").out)["n"] == 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--columns m --factor-columns sem,morph", "has no column 'morph'; it has text, lp, m, k, sem, syn, lex"),
        ("--columns m --factor-columns text", "line 2, column 'text' is '\"quoted', not a finite number"),
        ("--columns m --factor-columns sem --pictures", "pictures are drawn into a folder"),
        ("--columns m --factor-columns sem --compare m,k", "name two of the metrics m, as A,B"),
        ("--columns m --factor-columns sem --lang fr", "no row of column 'lp' goes into fr; there are de-en, en-de"),
    ],
)
def test_the_command_explains_wrong_input(cli: Cli, file: Path, arguments: str, message: str) -> None:
    done = cli("disentangle", file, *arguments.split())
    assert done.status == 2
    assert message in done.err


def test_columns_named_after_settings_are_one_name() -> None:
    lex = "lex:variant=bleu1,lowercase=true"
    assert names("factor_columns", [f"sem, {lex},syn"]) == ["sem", lex, "syn"]


def test_the_certified_values_of_longleys_data() -> None:
    # NIST's reference data set for regressions, in the public domain; its factors are nearly collinear.
    # https://www.itl.nist.gov/div898/strd/lls/data/Longley.shtml
    from statsmodels.datasets import longley

    data = longley.load_pandas().data
    table = {name: data[name].to_numpy(dtype=float) for name in data.columns}
    factors = ["GNPDEFL", "GNP", "UNEMP", "ARMED", "POP", "YEAR"]
    certified = [15.0618722713733, -0.0358191792925910, -2.02022980381683, -1.03322686717359, -0.0511041056535807]
    certified.append(1829.15146461355)
    fit = disentangle(table, ["TOTEMP"], factors)["TOTEMP"]
    assert fit.r2 == pytest.approx(0.995479004577296, abs=1e-10)
    for name, value in zip(factors, certified, strict=True):
        raw = fit.coef[name] * table["TOTEMP"].std() / table[name].std()
        assert raw == pytest.approx(value, rel=1e-6), name


@pytest.mark.parametrize("intercept", [False, True])
def test_influential_rows_are_those_of_statsmodels(intercept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    import statsmodels.api as sm

    table = make(12)
    x, y = design(table)
    distance = sm.OLS(y, sm.add_constant(x) if intercept else x).fit().get_influence().cooks_distance[0]
    found = disentangle(table, ["m"], FACTORS, intercept=intercept)
    own = [fit_ols(y, x, se="hc3", intercept=intercept)]
    for k, limit in enumerate(sorted(distance, reverse=True)):
        rows = [int(i) + 1 for i in np.argsort(-distance)]
        # A millionth on either side: what is compared are numbers of twelve rows, exact to about 1e-12.
        for factor, most in ((1 - 1e-6, k + 1), (1 + 1e-6, k)):
            monkeypatch.setattr("bsx.analysis.disentangle.fit.COOK_LIMIT", limit * factor)
            said = {w.name: w.values for w in notices(12, found.results, own, 1.0, None)}
            assert said.get("influential-rows", {"rows": []})["rows"] == rows[:most]
