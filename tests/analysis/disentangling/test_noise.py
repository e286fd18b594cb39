"""Noise in factors: corrected coefficients against closed forms, the jackknife, planted truth and published rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("statsmodels")
from bsx.analysis.disentangling.fit import disentangle
from bsx.analysis.disentangling.noise import (
    Moments,
    cronbach,
    human_factors,
    if_errors_correlate,
    reference,
    simex,
    stated,
)
from bsx.analysis.disentangling.standard_errors import Errors
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import TablePart
from bsx.data.columns import read_columns
from bsx.errors import InputError
from bsx.support.checks import Array

Run = Callable[..., Any]
FACTORS = ["sem", "syn", "lex"]


def planted(n: int, seed: int = 1, reliability: float = 0.7) -> dict[str, Array]:
    """The metric is meaning and noise; words go with meaning; the judgment of meaning is noisy, and made twice."""
    rng = np.random.default_rng(seed)
    meaning = rng.normal(size=n)
    first, second = np.sqrt(reliability) * meaning + np.sqrt(1 - reliability) * rng.normal(size=(2, n))
    lex = 0.6 * meaning + 0.8 * rng.normal(size=n)
    metric = 0.8 * meaning + 0.6 * rng.normal(size=n)
    return {"m": metric, "sem": first, "again": second, "syn": rng.normal(size=n), "lex": lex}


def arrays(table: dict[str, Array]) -> tuple[Array, Array, Errors]:
    x, y = (np.column_stack([table[name] for name in names]) for names in (FACTORS, ["m"]))
    x, y = (x - x.mean(axis=0)) / x.std(axis=0), (y - y.mean(axis=0)) / y.std(axis=0)
    return x, y, Errors("hc3", None, np.arange(len(x)), "")


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


def test_standard_errors_are_those_of_the_jackknife_also_for_estimated_reliability() -> None:
    table = planted(250)
    x, y, none = arrays(table)
    repeats = {name: table[name] for name in ("sem", "again")}

    def estimate(rows: Array, known: bool) -> Array:
        part = {name: column[rows] for name, column in table.items()}
        own, column, _ = arrays(part)
        r = 0.7 if known else cronbach("sem", {name: part[name] for name in repeats}).value
        matrix = own.T @ own / len(own)
        matrix[0, 0] = r
        found: Array = np.linalg.solve(matrix, own.T @ column[:, 0] / len(own)) * np.array([np.sqrt(r), 1, 1])
        return found

    for known in (True, False):
        own = stated("sem", 0.7, 250) if known else cronbach("sem", repeats)
        left_out = np.array([estimate(np.delete(np.arange(250), i), known) for i in range(250)])
        jackknife = np.sqrt(249 / 250 * np.square(left_out - left_out.mean(axis=0)).sum(axis=0))
        found = Moments(x, y, {0: own}, none).correct({0: own})
        assert found.se[0] == pytest.approx(jackknife, rel=0.01)


def test_alpha_is_cronbachs() -> None:
    table = planted(400)
    columns = {name: table[name] for name in ("sem", "again", "lex")}
    r = np.corrcoef(list(columns.values()))
    assert cronbach("x", columns).value == pytest.approx(3 / 2 * (1 - 3 / r.sum()))
    with pytest.raises(InputError, match=r"do not measure the same thing: they correlate -0\.\d\d on average"):
        cronbach("x", {"a": table["sem"], "b": -table["sem"] + table["syn"]})


def test_simex_follows_the_parabola_back() -> None:
    x, y, none = arrays(planted(3000))
    known = {0: stated("sem", 0.7, 3000)}
    found = simex(x, y, known, none, simulations=60, seed=3)
    assert found.coef.tolist() == simex(x, y, known, none, simulations=60, seed=3).coef.tolist()
    matrix, right = x.T @ x / 3000, x.T @ y[:, 0] / 3000
    scales = np.array([0, 0.5, 1, 1.5, 2])
    means = [np.linalg.solve(matrix + np.diag([0.3 * scale, 0, 0]), right) for scale in scales]
    expected = np.array([np.polyval(np.polyfit(scales, column, 2), -1) for column in np.array(means).T])
    assert found.coef[0] == pytest.approx(expected * [np.sqrt(0.7), 1, 1], abs=0.01)
    exact = Moments(x, y, known, none).correct(known)
    # A parabola is smoother than the truth: less is taken off, and less variance added.
    assert (found.se[0] < exact.se[0] * 1.02).all()
    assert (found.se[0] > exact.se[0] * 0.6).all()


def test_each_group_has_tipping_points_of_its_own() -> None:
    columns = planted(4000)
    table = {**columns, "lp": ["a"] * 1500 + ["b"] * 2500}
    points = disentangle(table, ["m"], FACTORS, reliability={"sem": 0.7}, group="lp").tipping
    assert {point.group for point in points} == {"", "a", "b"}
    first = {name: values[:1500] for name, values in columns.items()}
    alone = disentangle(first, ["m"], FACTORS, reliability={"sem": 0.7}).tipping
    assert [replace(point, group="") for point in points if point.group == "a"] == list(alone)
    result = disentangle(table, ["m"], FACTORS, reliability={"sem": 0.7}, group="lp")
    shown = next(p for p in parts_of(result) if isinstance(p, TablePart) and p.caption.startswith("Tipping points"))
    assert [row[0].text for row in shown.rows] == ["all", "a", "b"]


def test_a_planted_truth_is_found_and_the_tipping_point_is_the_true_reliability() -> None:
    table = planted(20_000)
    result = disentangle(table, ["m"], FACTORS, reliability={"sem": 0.7})
    fit = result.variant("errors-in-variables")["m"]
    assert result["m"].coef["lex"] > 0.15
    assert fit.coef == pytest.approx({"sem": 0.8, "syn": 0, "lex": 0}, abs=0.03)
    assert not fit.significant["lex"]
    point = next(point for point in result.tipping if point.factor == "lex")
    assert point.zero_below == pytest.approx(0.7, abs=0.02)
    assert point.zero_below is not None
    assert point.zero_below < (point.insignificant_below or 0) < point.zero_below + 0.06
    assert point.curve[0][:2] == (1.0, pytest.approx(result["m"].coef["lex"]))
    repeated = disentangle(table, ["m"], ["both", "syn", "lex"], repeat={"both": ["sem", "again"]})
    assert repeated.reliability[0].value == pytest.approx(2 * 0.7 / 1.7, abs=0.02)
    assert repeated.variant("errors-in-variables")["m"].coef["lex"] == pytest.approx(0, abs=0.03)


def test_what_judges_errors_share_is_not_meaning() -> None:
    rng = np.random.default_rng(8)
    n, share = 20_000, 0.3
    meaning = rng.normal(size=n)
    errors = np.sqrt(share) * rng.normal(size=n) + np.sqrt(1 - share) * rng.normal(size=(3, n))
    table = {f"j{k}": np.sqrt(0.6) * meaning + np.sqrt(0.4) * error for k, error in enumerate(errors)}
    table |= {"m": 0.8 * meaning + 0.6 * rng.normal(size=n), "lex": 0.6 * meaning + 0.8 * rng.normal(size=n)}
    judges = {name: table[name] for name in ("j0", "j1", "j2")}
    alpha = cronbach("sem", judges)
    mean = np.mean([column / column.std() for column in judges.values()], axis=0)
    assert alpha.value > np.corrcoef(mean, meaning)[0, 1] ** 2 + 0.05
    true = if_errors_correlate(alpha, 3, share)
    assert true.value == pytest.approx(np.corrcoef(mean, meaning)[0, 1] ** 2, abs=0.01)
    steps = [if_errors_correlate(replace(alpha, value=alpha.value + shift), 3, share).value for shift in (-1e-6, 1e-6)]
    assert true.times == pytest.approx((steps[1] - steps[0]) / 2e-6, rel=1e-4)
    assert if_errors_correlate(alpha, 3, 0.0).value == pytest.approx(alpha.value)

    result = disentangle(table, ["m"], ["sem", "lex"], repeat={"sem": list(judges)})
    corrected = result.variant("errors-in-variables")["m"]
    points = {point.factor: point for point in result.shared}
    assert corrected.significant["lex"]
    assert points["lex"].curve[0] == pytest.approx((0.0, alpha.value, corrected.coef["lex"], *corrected.ci["lex"]))
    at = next(point for point in points["lex"].curve if point[0] == share)
    assert at[3] < 0 < at[4]
    assert points["lex"].changes_at == pytest.approx(share, abs=0.05)
    assert points["sem"].changes_at is None
    notice = next(notice for notice in result.warnings if notice.name == "shared-errors")
    assert notice.values["changes"] == [{"metric": "m", "factor": "lex", "at": points["lex"].changes_at}]
    assert "takes the errors of those who measured sem to be independent" in result.to_text()
    shown = next(p for p in parts_of(result) if isinstance(p, TablePart) and p.caption.startswith("Corrected coeff"))
    assert [row[1].text for row in shown.rows] == ["sem", "lex"]


def test_noise_that_nobody_states_is_warned_of() -> None:
    found = next(w for w in disentangle(planted(2000), ["m"], FACTORS).warnings if w.name == "noise-unstated")
    assert found.about == "sem"
    (lost,) = (one for one in found.values["vanish"] if one["factor"] == "lex")
    assert (lost["metric"], round(lost["below"], 1)) == ("m", 0.7)
    said = disentangle(planted(2000), ["m"], FACTORS, reliability={"sem": 0.8}).warnings
    assert "noise-unstated" not in {w.name for w in said}
    assert human_factors(["sem", "their sem", "sem:of=human_z", "human", "semantic", "syn"]) == [
        *("sem", "their sem", "sem:of=human_z", "human"),
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reliability": {"sem": 0}}, "a reliability is above 0 and at most 1"),
        ({"reliability": {"sen": 0.5}}, "'sen' is none of the factors sem, syn, lex"),
        ({"reliability": {"sem": 0.1}}, "the data rule these reliabilities out|too low to be true"),
        ({"repeat": {"sem": ["sem"]}}, "name at least two columns that measure sem"),
        ({"repeat": {"lex": ["sem", "again"]}}, "there is a column 'lex' already"),
        ({"repeat": {"sem": ["sem", "x"]}}, "there is no column 'x'"),
        ({"simex": 20}, "^simex needs"),
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


def test_every_form_has_the_same_figures(cli: Run, tmp_path: Path) -> None:
    table = planted(120)
    file = tmp_path / "scores.tsv"
    rows = ["\t".join([*table, "sentence1", "sentence2"])]
    for i in range(120):
        rows.append("\t".join([*(f"{column[i]}" for column in table.values()), "a " * (i % 5 + 1), f"b{i}"]))
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    base = ("disentangle", file, "--columns", "m", "--factor-columns", "sem,syn,lex", "--reliability", "sem=.8,lex=.9")
    more = ("--simex", "20", "--controls", "length", "--se", "hc3")
    content = json.loads(cli(*base, *more, "--format", "json").out)
    assert [variant["name"] for variant in content["variants"]] == ["errors-in-variables", "simex", "controls"]
    assert content["variants"][2]["factors"] == [*FACTORS, "length", "length-ratio"]
    assert (content["simex"], content["seed"]) == (20, 1)
    assert content["reliability"][1] == {"factor": "lex", "value": 0.9, "source": "as stated"}
    assert {(point["noisy"], point["factor"]) for point in content["tipping"]} == {
        *(("sem", "syn"), ("sem", "lex"), ("lex", "sem"), ("lex", "syn")),
    }
    coef = content["variants"][0]["results"][0]["coef"]["lex"]
    read = list(csv.DictReader(io.StringIO(cli(*base, *more, "--format", "csv").out)))
    corrected = [row for row in read if row["variant"] == "errors-in-variables"]
    assert float(corrected[2]["coef"]) == coef
    assert {row["noisy"] for row in read if row["variant"] == "tipping-point"} == {"sem", "lex"}
    assert f"{coef:.3f}" in cli(*base, *more, "--full").out
    for form in ("markdown", "latex"):
        shown = cli(*base, *more, "--format", form).out.replace("$-$", "-")
        assert f"{coef:.2f}" in shown
        assert "Tipping points" in shown
    assert "errors-in-variables" in shown
    assert "†" not in shown
    out = cli(*base, *more, "--pictures", "-o", tmp_path / "out")
    assert out.status == 0, out.err
    assert (tmp_path / "out/coefficients-without-the-noise-of-sem.png").stat().st_size > 3000
    page = cli("report", tmp_path / "out/disentangle.json", "-o", tmp_path / "report.md")
    assert page.status == 0, page.err
    assert f"{coef:.3f}" in (tmp_path / "report.md").read_text(encoding="utf-8")
    repeated = cli(
        *("disentangle", file, "--columns", "m", "--factor-columns", "both,syn,lex", "--repeat", "both=sem,again"),
        *("--format", "json", "--add", "both", "--compare", "m,m"),
    )
    assert "name two of the metrics" in repeated.err
    repeated = cli(
        *base[:4], "--factor-columns", "both,lex", "--repeat", "both=sem,again", "--format", "json", "--add", "both"
    )
    assert json.loads(repeated.out)["reliability"][0]["source"] == "Cronbach's alpha of sem, again"
    assert json.loads(repeated.out)["tests"]["m"][0]["added"] == ["both"]
    assert "write FACTOR=NUMBER" in cli(*base[:6], "--reliability", "sem").err
    assert "write FACTOR=COLUMN" in cli(*base[:6], "--repeat", "sem,again").err


@pytest.mark.parametrize("clustered", [False, True])
def test_standard_errors_are_the_delta_methods_by_finite_differences(clustered: bool) -> None:
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
        alpha = 3 * r / (1 + 2 * r)
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
    known = {0: cronbach("a", {"1": first, "2": second, "3": third})}
    found = Moments(x, y[:, None], known, errors).correct(known)
    assert found.coef[0] == pytest.approx(coefficients(weights), rel=1e-9)
    # Differences over 2e-5 of numbers near 1 are exact to about 1e-9.
    assert found.se[0] == pytest.approx(expected, rel=1e-6)


def test_coefficients_of_clusters_are_referred_to_t() -> None:
    rows = Errors("hc3", None, np.arange(4), "")
    assert reference(rows).sf(1.96) == pytest.approx(float(stats.norm.sf(1.96)))
    four = Errors("cluster", list("aabbccdd"), np.arange(8) // 2, "")
    assert reference(four).sf(1.96) == pytest.approx(float(stats.t.sf(1.96, 3)))
    crossed = Errors("cluster", list("aabbccdd"), np.arange(8) // 2, "", list("xyzxyzxy"))
    assert reference(crossed).sf(1.96) == pytest.approx(float(stats.t.sf(1.96, 2)))  # the fewer of both


@pytest.mark.parametrize(
    ("alpha", "columns", "share", "value"),
    [
        (0.75, 3, 0.0, 0.75),  # alpha itself: one column's reliability is .5, 3 x .5 / (1 + 2 x .5)
        (0.75, 3, 0.2, 3 * 0.375 / 2),  # of a correlation .5 three eighths are not shared error
        (0.8, 2, 0.5, 2 * (1 / 6) / (0.5 / 0.75) * (0.8 / 0.8) / 2.5),
    ],
)
def test_errors_that_correlate_lower_the_reliability(alpha: float, columns: int, share: float, value: float) -> None:
    estimate = stated("a", alpha, 4)
    found = if_errors_correlate(estimate, columns, share)
    r = alpha / (columns - (columns - 1) * alpha)
    true = (r - share) / (1 - share)
    assert found.value == pytest.approx(columns * true / (1 + (columns - 1) * r))
    if share < 0.5:
        assert found.value == pytest.approx(value)
    # ``times`` is how much faster it moves than alpha.
    step = 1e-6
    other = if_errors_correlate(replace(estimate, value=alpha + step), columns, share)
    assert found.times == pytest.approx((other.value - found.value) / step, rel=1e-4)
