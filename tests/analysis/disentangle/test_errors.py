"""Which standard errors are chosen, and that every question about a regression gets the same ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("statsmodels")
import bsx
from bsx.analysis.disentangle.errors import (
    Errors,
    bootstrap_regressions,
    choose_errors,
    compare_coefficients,
    r2_influence,
    r2_interval,
    widened,
)
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.disentangle.settings import ErrorSettings
from bsx.analysis.disentangle.variants import linearity_checks, nested_test
from bsx.data.columns import standardised
from bsx.errors import InputError
from tests.analysis.disentangle.test_fit import FACTORS, make


def in_threes(n: int = 90) -> list[str]:
    return [f"s{i // 3:02}" for i in range(n)]


def test_rows_that_share_a_segment_are_clusters_and_others_get_hc3() -> None:
    table: dict[str, Any] = make(90)
    alone = disentangle(table, ["m"], FACTORS)
    assert (alone.se, alone.se_reason) == ("hc3", "no column shows that rows share a segment or a text")
    assert alone["m"].se == disentangle(table, ["m"], FACTORS, se="hc3")["m"].se
    table["sid"] = in_threes()
    shared = disentangle(table, ["m"], FACTORS)
    assert (shared.se, shared.se_reason) == ("cluster", "90 of 90 rows share sid with another")
    assert shared["m"].se == disentangle(table, ["m"], FACTORS, cluster="sid")["m"].se
    assert "degrees of freedom (Satterthwaite); 90 of 90 rows share sid" in shared.to_text()
    assert (alone.sampled, shared.sampled, shared.held) == (("row",), ("segment",), ())
    assert shared.to_dict()["se_reason"] == shared.se_reason
    by_hand = disentangle(table, ["m"], FACTORS, se="cluster", cluster="sid")
    assert (by_hand.se_reason, by_hand["m"].se) == ("", shared["m"].se)


def test_a_segment_is_one_of_its_language_pair_and_texts_bind_over_each_other() -> None:
    table: dict[str, Any] = make(90)
    table["sid"] = [str(i % 45) for i in range(90)]
    table["lp"] = ["de-en"] * 45 + ["zh-en"] * 45
    assert disentangle(table, ["m"], FACTORS).se == "hc3"
    table["reference"] = ["one  text", "One text", *(f"r{i}" for i in range(2, 90))]
    table["candidate"] = ["x", "y", "Y", *(f"c{i}" for i in range(3, 90))]
    table["source"] = [None] * 90
    found = disentangle(table, ["m"], FACTORS)
    assert found.se_reason == "3 of 90 rows share reference or candidate with another"


def test_missing_rows_do_not_move_the_clusters() -> None:
    table: dict[str, Any] = make(90)
    table["sid"] = in_threes()
    kept = {name: [value for i, value in enumerate(column) if i != 4] for name, column in table.items()}
    table["lex"] = table["lex"].copy()
    table["lex"][4] = np.nan
    assert disentangle(table, ["m"], FACTORS, nan="omit")["m"].se == disentangle(kept, ["m"], FACTORS)["m"].se


def test_tests_and_comparisons_use_the_same_clusters() -> None:
    table: dict[str, Any] = make(90)
    table["sid"] = in_threes()
    named = {**table, "doc": table["sid"]}
    fit = disentangle(table, ["m"], FACTORS)["m"]
    assert nested_test(table, "m", ["sem", "lex"], ["syn"]).p == pytest.approx(fit.p["syn"])
    assert linearity_checks(table, "m", FACTORS) == linearity_checks(named, "m", FACTORS, cluster="doc")
    clustered = compare_coefficients(table, "m", "k", FACTORS, resamples=50)
    assert clustered == compare_coefficients(named, "m", "k", FACTORS, resamples=50, cluster="doc")
    assert clustered.by["sem"].method.endswith("clusters")
    rows = compare_coefficients(table, "m", "k", FACTORS, resamples=50, se="hc3")
    assert rows.by["sem"].method.endswith("rows")
    again = disentangle(table, ["m"], FACTORS, resamples=50)["m"].ci_bootstrap
    assert again == disentangle(named, ["m"], FACTORS, cluster="doc", resamples=50)["m"].ci_bootstrap


def test_too_few_sets_and_lonely_rows_are_said() -> None:
    table: dict[str, Any] = make(90)
    table["segment"] = ["a", "b", "c"] * 30
    few = disentangle(table, ["m"], FACTORS)
    assert (few.se, few.se_reason.endswith("but in 3 sets, too few to be clusters")) == ("hc3", True)
    flags: dict[str, Any] = {"m": make(12)["m"], "flag": [0.0] * 11 + [1.0]}
    alone = disentangle(flags, ["m"], ["flag"], intercept=True)
    reason = "row 12 of those fitted decides a coefficient alone: HC3 is not defined"
    assert (alone.se, alone.se_reason) == ("classic", reason)
    with pytest.raises(InputError, match="no rows share a segment or a text"):
        disentangle(flags, ["m"], ["flag"], se="cluster")
    one_large = {**make(90), "doc": ["a"] * 61 + [f"d{i}" for i in range(29)]}
    said = {w.name: w.values for w in disentangle(one_large, ["m"], FACTORS, cluster="doc").warnings}
    assert said["few-clusters"]["clusters"] == [30]
    assert set(said["few-clusters"]["factors"]) == set(FACTORS)
    assert all(found["share"] > 0.5 for found in said["few-clusters"]["factors"].values())


def crossed(systems: int, segments: int = 30, seed: int = 2) -> dict[str, Any]:
    """Systems that share segments; the effect of LEX differs by system."""
    rng = np.random.default_rng(seed)
    system, segment = np.repeat(np.arange(systems), segments), np.tile(np.arange(segments), systems)
    sem, lex = rng.normal(size=(2, len(system)))
    metric = 0.5 * sem + 0.8 * rng.normal(size=systems)[system] * lex + rng.normal(size=len(system))
    names = {"system": [f"s{i}" for i in system], "segment": [str(i) for i in segment]}
    return {"m": metric, "sem": sem, "lex": lex, **names}


def test_systems_are_clusters_in_a_second_way_or_held_fixed_if_few() -> None:
    found = disentangle(crossed(8), ["m"], ["sem", "lex"])
    assert (found.se, found.sampled, found.held) == ("cluster", ("segment", "system"), ())
    by_segment = disentangle(crossed(8), ["m"], ["sem", "lex"], cluster="segment")
    assert (by_segment.sampled, by_segment.held) == (("segment",), ("system",))
    assert found["m"].se["lex"] > 2 * by_segment["m"].se["lex"]
    assert "Sampled: segments and systems." in found.to_text()
    few = disentangle(crossed(3), ["m"], ["sem", "lex"])
    assert (few.sampled, few.held) == (("segment",), ("system",))
    assert "systems are held fixed: nothing is said about others" in few.to_text()
    no_segment = {name: column for name, column in crossed(8).items() if name != "segment"}
    assert disentangle(no_segment, ["m"], ["sem", "lex"]).sampled == ("row", "system")


def test_groups_of_one_system_each_are_pooled_with_their_joint_covariance() -> None:
    table = crossed(8)
    shared = np.random.default_rng(5).normal(size=30)
    table["lex"] = table["lex"] + shared[np.arange(240) % 30]
    table["m"] = table["lex"] + 2 * shared[::-1][np.arange(240) % 30] + 0.3 * table["m"]
    joint = disentangle(table, ["m"], ["lex"], group="system")
    assert joint.groups["s0"].sampled == ("segment",)
    apart = disentangle({**table, "segment": [str(i) for i in range(240)]}, ["m"], ["lex"], group="system")
    ours, other = (found.variant("random-effects")["m"] for found in (joint, apart))
    assert ours.se["lex"] > 1.5 * other.se["lex"]


def test_a_document_holds_its_segments() -> None:
    table: dict[str, Any] = make(90)
    table["segment"] = [str(i % 9) for i in range(90)]  # numbered in each document anew
    table["doc_id"] = [f"d{i // 9}" for i in range(90)]
    found = disentangle(table, ["m"], FACTORS)
    assert (found.sampled, found.se_reason) == (("document",), "90 of 90 rows share doc_id with another")
    assert found["m"].se == disentangle(table, ["m"], FACTORS, cluster="doc_id")["m"].se
    with pytest.raises(InputError, match="'doc_id' has the value 'd0' in every row"):
        disentangle({**table, "doc_id": ["d0"] * 90}, ["m"], FACTORS)


def test_bootstrap_intervals_are_widened_for_systems() -> None:
    table = crossed(8)
    table["k"] = table["m"] - table["lex"] * np.repeat([1.0, -1.0], 120)
    ends = {}
    for name, cluster in {"two": None, "one": "segment"}.items():
        fit = disentangle(table, ["m"], ["sem", "lex"], resamples=99, cluster=cluster)["m"]
        by = compare_coefficients(table, "m", "k", ["sem", "lex"], resamples=99, cluster=cluster).by["lex"]
        ends[name] = (fit.ci_bootstrap["lex"], by.ci, fit.r2_bootstrap or (0.0, 0.0))
    for wide, narrow in zip(ends["two"], ends["one"], strict=True):
        assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])  # fewer units alone make it a third wider


def test_draws_are_stretched_by_the_ratio_of_standard_errors() -> None:
    rng = np.random.default_rng(3)
    system, segment = np.repeat(np.arange(6), 10), np.tile(np.arange(10), 6)
    x = rng.normal(size=(60, 2))
    y = x @ [0.9, 0.3] + rng.normal(size=6)[system] * x[:, 1] + np.array([0.1, 0.1, 0.2, 1, 2, 4])[system] * x[:, 0]
    y += 0.5 * rng.normal(size=60)
    x, y = ((v - v.mean(axis=0)) / v.std(axis=0) for v in (x, y[:, None]))
    errors = Errors(
        "cluster", [f"{k:02}" for k in segment], segment, "", [f"s{k}" for k in system], ("segment", "system")
    )
    draws = bootstrap_regressions(x, y, resamples=20, seed=1, clusters=errors.clusters)
    found = widened(draws, x, y, errors)
    fit = errors.fit(y[:, 0], x)
    # Sums of the influence on R², over segments, and over systems less what each row by itself counts in them.
    r2 = 1 - np.mean(np.square(fit.residuals))
    influence = ((1 - r2) * y[:, 0] ** 2 - fit.residuals**2) / 60
    of_segments, of_systems = (sum(influence[of == k].sum() ** 2 for k in np.unique(of)) for of in (segment, system))
    extra = max(of_systems - float(influence @ influence), 0.0)
    assert extra > 0.2 * of_segments
    ratio = np.sqrt((of_segments + extra) / of_segments)
    assert found.r2[:, 0] == pytest.approx(r2 + (draws.r2[:, 0] - r2) * ratio)
    ratios = fit.se / errors.one_way().fit(y[:, 0], x).se
    assert found.coef[:, 0] == pytest.approx(fit.coef + (draws.coef[:, 0] - fit.coef) * ratios)
    assert widened(draws, x, y, errors.one_way()) is draws


@pytest.mark.parametrize("factors", [["r2"], []])
def test_a_comparison_needs_factors_of_other_names_than_its_own(factors: list[str]) -> None:
    with pytest.raises(InputError, match="r2 here|name at least one"):
        compare_coefficients({**make(30), "r2": make(30)["sem"]}, "m", "k", factors, resamples=20)


def test_a_coefficient_on_few_degrees_of_freedom_is_said_to_rest_on_them() -> None:
    rng = np.random.default_rng(3)
    of = np.repeat(np.arange(12), [60, *[6] * 11])
    lex = rng.normal(size=12)[of] * np.where(of == 0, 4, 1)
    sem = rng.normal(size=len(of))
    table: dict[str, Any] = {"m": sem + lex + rng.normal(size=len(of)), "sem": sem, "lex": lex}
    result = disentangle({**table, "doc": [f"d{i}" for i in of]}, ["m"], ["sem", "lex"])
    few = next(w.values for w in result.warnings if w.name == "few-clusters")
    df = few["factors"]["lex"]["df"]
    assert df < 8
    assert result["m"].significant["lex"]
    answer = result.to_text().split("\n")[0]
    assert answer.count(f"{df:.1f} degrees of freedom") == 1
    assert "uncorrected, for other documents like these" in answer
    assert "few-clusters" not in {w.name for w in disentangle(table, ["m"], ["sem", "lex"]).warnings}


def test_rows_without_a_system_are_not_counted_as_one() -> None:
    table: dict[str, Any] = make(90)
    table["system"] = [f"s{i % 9}" if i % 9 else "" for i in range(90)]
    result = bsx.disentangle(table, columns=["m"], factor_columns=FACTORS)
    assert "outputs of 8 systems, and 10 rows that name none" in result.se_reason
    assert any("names 8 systems" in note for note in result.notes)


def test_few_documents_widen_the_interval_of_r2_and_are_told() -> None:
    table: dict[str, Any] = make(90)
    table["doc"] = [f"d{i % 9}" for i in range(90)]
    result = disentangle(table, ["m"], FACTORS)
    assert next(w for w in result.warnings if w.name == "few-clusters").values["clusters"] == [9]
    errors = choose_errors(table, ["m", *FACTORS], 3, ErrorSettings())
    x, y = standardised(table, FACTORS), standardised(table, ["m"])[:, 0]
    fit = errors.fit(y, x)
    many = replace(errors, clusters=None)
    rows = r2_interval(fit, y, x.T @ x / 90, many, 0.95)
    influence = r2_influence(y, fit.residuals, fit.r2)[:, None]
    narrow = float(np.sqrt(errors.spread(influence)[0, 0] / many.spread(influence)[0, 0]))
    low, high = result["m"].r2_ci
    assert (high - low) / (rows[1] - rows[0]) > 1.1 * narrow  # t with 8 degrees of freedom: 1.25


def test_a_product_that_lines_leave_out_is_named() -> None:
    rng = np.random.default_rng(4)
    sem, syn, noise, other = rng.normal(size=(4, 300))
    table = {"sem": sem, "syn": syn, "lex": 0.5 * sem * syn + other}
    multiplied = {**table, "m": sem + 0.8 * sem * syn + noise}
    warned = [w for w in disentangle(multiplied, ["m"], list(table)).warnings if w.name == "product"]
    assert [set(w.values["products"]) for w in warned] == [{"sem:syn"}]
    assert [one["factor"] for one in warned[0].values["changed"]] == ["lex"]
    lines = disentangle({**table, "m": sem + noise}, ["m"], list(table))
    assert "product" not in {w.name for w in lines.warnings}
