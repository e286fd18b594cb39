"""Statistics that show more than a row of figures, tests of two things, and numbers: what is said of them."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.numbers import figure, p_range, p_value
from bsx.analysis.present.parts import Answer, Chart, TablePart
from bsx.analysis.present.significance import NAMED, against, p_said, some, standing, table_of_tests
from bsx.analysis.stats.clusters import adjust, corrected_tests, significance_clusters
from bsx.analysis.stats.detection import PrecisionRecall, precision_recall
from bsx.analysis.stats.layers import layer_agreement
from bsx.analysis.stats.regression import fit_ols
from bsx.analysis.stats.results import Comparison
from bsx.support.result import Shown


def answer(result: Shown) -> str:
    first = parts_of(result)[0]
    assert isinstance(first, Answer)
    return first.text


def table(result: Shown) -> TablePart:
    return next(part for part in parts_of(result) if isinstance(part, TablePart))


def records(result: Shown) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(result.to_csv())))


def layers(noise: list[float], n: int = 120, idf: list[float] | None = None) -> Any:
    rng = np.random.default_rng(2)
    human = rng.normal(size=n)
    scores, weighted = (
        (human + np.array(sizes)[:, None] * rng.normal(size=(len(noise), n))).astype(np.float32)
        for sizes in (noise, idf or noise)
    )
    given = None if idf is None else weighted
    return layer_agreement(scores, scores, scores, human.tolist(), ["a"] * n, idf=given, resamples=200)


def test_a_layer_is_called_the_best_only_if_resamples_agree() -> None:
    clear, alike, few = layers([2.0, 0.3, 1.5]), layers([1.0, 1.0, 1.0]), layers([2.0, 0.3, 1.5], 12)
    assert clear.win_share >= 0.95
    assert alike.win_share < 0.95
    assert "F1 of layer 1 (" in answer(clear)
    assert "agrees best" in answer(clear)
    assert "agrees best" not in answer(alike)
    assert "told apart" in answer(alike)
    assert "too few" in answer(few)
    shown = table(clear)
    assert [row[3].strong for row in shown.rows] == [False, True, False]
    assert shown.rows[1][3].value == clear.layers[1].f1
    assert [float(row["f1"]) for row in records(clear)] == [own.f1 for own in clear.layers]


def test_idf_is_said_to_add_something_only_if_its_interval_says_so() -> None:
    noise = [2.0, 0.8, 1.5]
    none, better, worse, alike = (
        answer(layers(noise, idf=idf)) for idf in (None, [1.0, 0.2, 1.0], [3.0, 2.5, 3.0], noise)
    )
    assert "Idf" not in none
    assert "Idf adds" in better
    assert "Idf costs" in worse
    assert "not shown" in alike
    shown = layers(noise, idf=noise)
    assert [row[4].value for row in table(shown).rows] == [layer.idf for layer in shown.layers]


def test_clusters_name_winners_only_if_others_are_significantly_worse() -> None:
    p = np.array([[1, 0.01, 0.01], [0.9, 1, 0.5], [0.9, 0.5, 1]])
    told = significance_clusters({"a": 0.5, "b": 0.4, "c": 0.3}, p)
    same = significance_clusters({"a": 0.5, "b": 0.4}, np.array([[1, 0.3], [0.7, 1]]))
    assert answer(told).startswith("a is not significantly worse")
    assert answer(same).startswith("None of 2 is significantly better")
    rows = [(row[0].text, row[1].strong, row[2].value) for row in table(told).rows]
    assert rows == [("a", True, 1), ("b", False, 2), ("c", False, 2)]
    assert [row["winner"] for row in records(told)] == ["True", "False", "False"]


def test_least_squares_name_the_terms_that_are_significant() -> None:
    draw = np.random.default_rng(3).normal(size=(3, 60))
    found = fit_ols(draw[0] + 2 * draw[1], np.stack([draw[1], draw[2]], axis=1))
    significant = [str(i) for i, p in enumerate(found.p) if p < 0.05]
    assert answer(found).endswith(f": coefficient of term {significant[0]}.")
    assert "no coefficient is significant" in answer(fit_ols(draw[0], draw[2][:, None]))
    assert [row[1].value for row in table(found).rows] == found.coef.tolist()
    assert [float(row["p"]) for row in records(found)] == found.p.tolist()
    assert found.to_dict()["coef"] == found.coef.tolist()


@pytest.mark.parametrize(("shift", "place"), [(3.0, "above"), (0.0, "holds"), (-3.0, "below")])
def test_average_precision_is_held_against_scores_that_say_nothing(shift: float, place: str) -> None:
    draw, labels = np.random.default_rng(4).normal(size=200), [0, 1] * 100
    found = precision_recall(labels, draw + shift * np.array(labels), resamples=100)
    assert isinstance(found, PrecisionRecall)
    assert place in answer(found)
    assert table(found).rows[0][0].value == found.average_precision.estimate
    assert len(records(found)) == len(found.thresholds)
    (chart,) = (part for part in parts_of(found) if isinstance(part, Chart))
    values: Any = chart.panels[0][1]["data"]
    assert [row["value"] for row in values["values"]] == found.precision.tolist()


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
