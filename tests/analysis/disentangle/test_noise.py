"""Noise in factors: corrected coefficients against closed forms, the jackknife, planted truth and published rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("statsmodels")
from bsx.analysis.disentangle.errors import Errors
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.disentangle.result import Reliability
from bsx.analysis.disentangle.variants import corrected, cronbach, reference
from bsx.data.columns import read_columns
from bsx.errors import InputError
from bsx.support.checks import Array
from tests.helpers.tables import write_columns

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


def test_the_command_corrects_for_noise_and_holds_length(cli: Run, tmp_path: Path) -> None:
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
