"""Numbers as tables show them, and what sentences and tables say of tests of two things."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsx.analysis.present.numbers import figure, p_range, p_value
from bsx.analysis.present.significance import NAMED, against, p_said, some, standing, table_of_tests
from bsx.analysis.stats.clusters import adjust, corrected_tests
from bsx.analysis.stats.results import Comparison

VALUES = {"a": 0.5, "b": 0.4, "c": 0.1}
P = {("a", "b"): 0.2, ("a", "c"): 0.001, ("b", "c"): 0.02}


def pairs_of(names: str) -> list[Comparison]:
    known = {"ci": (-1.0, 1.0), "p": 0.5, "n": 9, "method": "some test"}
    pairs = combinations(names, 2)
    return [replace(Comparison.of(VALUES[a], VALUES[b], p_two_sided=P[a, b], **known), a=a, b=b) for a, b in pairs]


def test_the_highest_is_the_best_only_if_it_beats_all_others() -> None:
    best, told, said = standing(VALUES, pairs_of("abc"), alpha=0.05)
    assert (best, told) == ("a", False)
    assert said.index("b") < said.index("but") < said.index("c (")
    best, told, _ = standing({"a": 0.5, "c": 0.1}, pairs_of("abc"), alpha=0.05)
    assert (best, told) == ("a", True)
    assert standing(VALUES, pairs_of("ab"), alpha=0.05)[1] is False  # c was not tested
    assert "p" not in standing({"a": 1, "c": 0}, pairs_of("abc"), alpha=0.05, how=None)[2].replace("apart", "")


def test_a_p_that_no_draw_could_make_smaller_is_a_bound() -> None:
    tests = [replace(test, at_floor=test.b == "c") for test in corrected_tests(pairs_of("abc"), "holm")]
    shown = table_of_tests("Pairs", [((), test) for test in tests], ["A", "B"], alpha=0.05, level="Holm")
    assert [row[3].text.startswith("≤") for row in shown.rows] == [test.at_floor for test in tests]
    assert [row[3].value for row in shown.rows] == [test.decisive for test in tests]
    assert p_said(tests[1:]) == f"p ≤ {max(test.decisive for test in tests[1:]):.3f}"
    assert p_said([tests[1]]) in standing({"a": 0.5, "c": 0.1}, tests, alpha=0.05)[2]
    assert "≤" not in p_said(tests[:1])
    assert p_said([replace(tests[1], p_adjusted=1e-5)]) == p_range([1e-5])
    published = [((), replace(tests[1], p_two_sided=0.0, p_adjusted=None))]  # a plain share of permutations
    assert table_of_tests("Pairs", published, ["A", "B"], alpha=0.05, level="none").rows[0][3].text == "0"


def test_each_way_to_stand_to_a_reference_is_said_once() -> None:
    said = against({"a": 1, "b": 0, "c": -1, "d": 1}, "chance").split("; ")
    assert [part.partition(" ")[0] for part in said] == ["a", "b", "c"]
    assert "a and d are" in said[0]
    assert against(dict.fromkeys("abc", 0), "chance").startswith("all 3 are not told apart")


def test_long_lists_are_cut_off() -> None:
    names = [str(i) for i in range(NAMED + 2)]
    assert some(names[:NAMED]).count(",") == NAMED - 2
    assert some(names).endswith("and 2 more")


@pytest.mark.parametrize("margin", [None, 0.1])
def test_a_table_of_tests_marks_what_is_significant(margin: float | None) -> None:
    tests = [replace(test, p_equivalence=0.5) for test in corrected_tests(pairs_of("abc"), "holm")]
    assert [test.p_adjusted for test in tests] == pytest.approx(adjust(list(P.values()), "holm").tolist())
    rows = [((), test) for test in tests]
    shown = table_of_tests("Pairs", rows, ["A", "B"], alpha=0.05, level="Holm", margin=margin)
    assert [bool(row[3].mark) for row in shown.rows] == [test.decisive < 0.05 for test in tests]
    assert ("verdict" in shown.columns) == (margin is not None)
    assert shown.names == 2


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(0.29, "0.29"), (-0.0596, "-0.06"), (-0.004, "0.00"), (0.7498, "0.75"), (0.125, "0.12"), (math.inf, "inf")],
)
def test_figures_are_rounded(value: float, rounded: str) -> None:
    assert figure(value, 2) == rounded


@pytest.mark.parametrize(
    ("p", "shown"),
    [(1.0, "1.000"), (0.0421, "0.042"), (0.0005, "0.001"), (0.00049, "5e-04"), (None, "–"), (math.nan, "–")],
)
def test_p_values_are_short_and_never_0(p: float | None, shown: str) -> None:
    assert p_value(p) == shown


@given(st.floats(min_value=0, max_value=1, exclude_min=True))
def test_a_p_value_above_0_is_not_shown_as_0(p: float) -> None:
    assert float(p_value(p)) > 0
