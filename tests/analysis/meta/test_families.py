"""Families of systems, drawn whole at the level of systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bsx
from benchmarks.calibration.units import family_members
from bsx.analysis.meta.result import MetaResult
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
    found = bsx.meta(
        table | {"system_family": columns["family"]}, columns=["a", "b"], level="sys", resamples=200, seed=1
    )
    assert isinstance(found, MetaResult)
    assert found.groups[0]["a"].ci == named["a"].ci
    assert any("6 families are few" in note for note in found.notes)
    assert found.target.startswith("other families of systems like these")
    ignored = bsx.meta(table | {"family": columns["system"]}, columns=["a", "b"], level="sys", resamples=200)
    assert isinstance(ignored, MetaResult)
    assert not any("families" in note for note in ignored.notes)  # each system is one by itself


def test_what_tells_no_families_is_none_and_refused_where_it_was_named() -> None:
    assert families(["a", "a", "b", "c"], ["x", "x", "x", ""]) == {"a": "x", "b": "x", "c": "\0c"}
    for column in (["x"] * 3, ["x", "y", "z"]):
        assert families(["a", "b", "c"], column) == {}
    assert families(["a", "a", "b"], ["x", "y", "x"]) == {}
    columns = family_members(np.random.default_rng(5)) | {"family": ["one"] * 24}
    with pytest.raises(InputError, match="family"):
        meta_evaluate(columns, ["a", "b"], "human", **HOW, family="family")
