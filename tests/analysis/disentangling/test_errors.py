"""Which standard errors are chosen, and that every question about a regression gets the same ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("statsmodels")
from bsx.analysis.disentangling.bootstrap import compare_coefficients
from bsx.analysis.disentangling.checks import linearity_checks, nested_test
from bsx.analysis.disentangling.fit import disentangle
from bsx.errors import InputError
from tests.analysis.disentangling.test_fit import FACTORS, make


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
    assert "cluster-robust standard errors, t with 29 degrees of freedom; 90 of 90 rows share sid" in shared.to_text()
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
    again = disentangle(table, ["m"], FACTORS, bootstrap=50)["m"].ci_bootstrap
    assert again == disentangle(named, ["m"], FACTORS, cluster="doc", bootstrap=50)["m"].ci_bootstrap


def test_too_few_sets_and_lonely_rows_are_said() -> None:
    table: dict[str, Any] = make(90)
    table["segment"] = ["a", "b", "c"] * 30
    few = disentangle(table, ["m"], FACTORS)
    assert (few.se, few.se_reason.endswith("but in 3 sets, too few to be clusters")) == ("hc3", True)
    flags: dict[str, Any] = {"m": make(12)["m"], "flag": [0.0] * 11 + [1.0]}
    alone = disentangle(flags, ["m"], ["flag"], intercept=True)
    assert (alone.se, alone.se_reason) == (
        "classic",
        "row 12 of those fitted decides a coefficient alone: HC3 is not defined",
    )
    with pytest.raises(InputError, match="no rows share a segment or a text"):
        disentangle(flags, ["m"], ["flag"], se="cluster")
    one_large = {**make(90), "doc": ["a"] * 61 + [f"d{i}" for i in range(29)]}
    said = {w.name: w.values for w in disentangle(one_large, ["m"], FACTORS, cluster="doc").warnings}
    assert said["few-clusters"] == {"clusters": 30, "effective": pytest.approx(90**2 / (61**2 + 29))}
