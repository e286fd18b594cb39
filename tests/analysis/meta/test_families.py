"""Families of systems, drawn whole at the level of systems, and raters at that of segments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import bsx
from benchmarks.calibration.units import family_members, own_scales
from bsx.analysis.meta.run import meta_evaluate
from bsx.analysis.stats.resample import percentile_interval
from bsx.data.long import families
from bsx.errors import InputError

HOW: dict[str, Any] = {"level": "sys", "system": "system", "resamples": 200, "seed": 1}


def test_families_are_drawn_whole_as_in_a_literal_loop() -> None:
    columns = family_members(np.random.default_rng(5))
    group = meta_evaluate(columns, ["a", "b"], "human", **HOW, family="family").groups[0]
    of, x, human = np.arange(24) % 6, columns["a"], columns["human"]
    draws = []
    for chosen in np.random.default_rng(1).integers(6, size=(200, 6)):
        rows = np.concatenate([np.flatnonzero(of == k) for k in chosen])
        draws.append(np.corrcoef(x[rows], human[rows])[0, 1])
    ends = [percentile_interval(np.array(draws), units=units) for units in (3, 4, 5, 6)]  # few families may decide
    assert any(group["a"].ci == pytest.approx(end) for end in ends)
    assert group.test == "permutation"
    assert min(test.p_two_sided for test in group.tests) >= 2**-5  # swaps of six families
    alone = meta_evaluate(columns, ["a", "b"], "human", **HOW).groups[0]
    width = np.subtract(*group["a"].ci[::-1]), np.subtract(*alone["a"].ci[::-1])
    assert width[0] != pytest.approx(width[1])
    assert "families" in group["a"].method
    assert "families" not in alone["a"].method


def test_the_column_is_found_by_its_usual_name() -> None:
    columns = family_members(np.random.default_rng(5))
    named = meta_evaluate(columns, ["a", "b"], "human", **HOW, family="family").groups[0]
    table = {name: values for name, values in columns.items() if name != "family"}
    how: Any = {"columns": ["a", "b"], "level": "sys", "resamples": 200, "seed": 1}
    found: Any = bsx.meta(table | {"system_family": columns["family"]}, **how)
    assert found.groups[0]["a"].ci == named["a"].ci
    assert any("6 families are few" in note for note in found.notes)
    assert found.target.startswith("other families of systems like these")
    ignored: Any = bsx.meta(table | {"family": columns["system"]}, **how)
    assert not any("families" in note for note in ignored.notes)  # each system is one by itself


def test_what_tells_no_families_is_none_and_refused_where_it_was_named() -> None:
    assert families(["a", "a", "b", "c"], ["x", "x", "x", ""]) == {"a": "x", "b": "x", "c": "\0c"}
    for column in (["x"] * 3, ["x", "y", "z"]):
        assert families(["a", "b", "c"], column) == {}
    assert families(["a", "a", "b"], ["x", "y", "x"]) == {}
    columns = family_members(np.random.default_rng(5)) | {"family": ["one"] * 24}
    with pytest.raises(InputError, match="family"):
        meta_evaluate(columns, ["a", "b"], "human", **HOW, family="family")


def test_raters_are_drawn_beside_documents() -> None:
    """Against variances of both ways of clusters, by hand, from what every row adds to r."""
    columns = own_scales(np.random.default_rng(3))
    how: dict[str, Any] = {"document": "document", "resamples": 400, "seed": 1}
    alone = meta_evaluate(columns, ["a", "b"], "human", **how)
    both = meta_evaluate(columns, ["a", "b"], "human", **how, rater="rater")
    x, y = (stats.zscore(columns[name]) for name in ("a", "human"))
    row = x * y - float(np.mean(x * y)) / 2 * (x * x + y * y)
    squares = []
    for of in ("document", "rater"):
        names = np.array(columns[of])
        squares.append(sum(float(row[names == name].sum()) ** 2 for name in dict.fromkeys(names)))
    documents, raters = squares[0], squares[1] * 5 / 4 - squares[0]  # every document has one rater
    df = 4 / (raters / (raters + documents)) ** 2
    wider = np.sqrt(1 + raters / documents) * stats.t.ppf(0.975, df) / stats.norm.ppf(0.975)
    one, two = alone.groups[0]["a"], both.groups[0]["a"]
    assert two.value == one.value
    assert [two.value - two.ci[0], two.ci[1] - two.value] == pytest.approx(
        [wider * (one.value - one.ci[0]), wider * (one.ci[1] - one.value)]
    )
    assert both.groups[0].tests[0].p_two_sided > alone.groups[0].tests[0].p_two_sided
    assert (both.groups[0].tests[0].p < 0.5) == (alone.groups[0].tests[0].p < 0.5)
    assert both.target.endswith(", judged by other raters")


def test_a_column_of_raters_is_known_and_few_are_taken_as_they_are() -> None:
    columns = own_scales(np.random.default_rng(3))
    table = {name: columns[name] for name in ("a", "b", "human", "document")}
    n = len(columns["a"])
    known: list[str] = columns["rater"]
    few, rows, unknown = ([f"r{i % 4}" for i in range(n)], [f"r{i}" for i in range(n)], [""] * n)
    targets = []
    for judge in (known, ["", *known[1:]], few, rows, unknown):
        found: Any = bsx.meta(table | {"judge": judge}, columns=["a", "b"], document="document", resamples=200)
        targets.append(found.target)
    others, these = "other documents like these, judged by other raters", "other documents like these"
    assert targets == [others, others, these, these, these]
