"""What stands in the short form of results: the sentence that answers, the table that supports it, no table twice."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("statsmodels")
from bsx import challenge_metrics
from bsx.analysis.adversarial.pairs import detect_pairs
from bsx.analysis.adversarial.robustness import robustness
from bsx.analysis.disentangle.errors import compare_coefficients
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.disentangle.show import joined
from bsx.analysis.ensemble.combine import combine
from bsx.analysis.factors.base import FactorSummary, ScoredFactors
from bsx.analysis.present.cells import number, table_of, text
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.numbers import p_range
from bsx.analysis.present.parts import Answer, Notes, Part, TablePart
from bsx.analysis.present.text import aligned
from bsx.data.columns import read_columns, standardise
from bsx.errors import InputError
from bsx.support.result import Notice
from bsx.support.terminal import WIDTH
from tests.analysis.disentangle.test_fit import FACTORS, make
from tests.analysis.present.test_results import made as made_result


def tables(parts: list[Part], *, full: bool) -> list[TablePart]:
    return [part for part in parts if isinstance(part, TablePart) and part.full is full]


def test_a_comparison_of_two_metrics_is_what_was_asked() -> None:
    table = make()
    result = disentangle(table, ["m", "k"], FACTORS)
    asked = replace(result, comparison=compare_coefficients(table, "m", "k", FACTORS, resamples=99))
    for metrics in (("m", "k"), ("m", "k", "m2")):
        wide = disentangle(table | {"m2": table["m"] + table["sem"]}, metrics, FACTORS)
        parts = parts_of(replace(wide, comparison=asked.comparison))
        (first, *more) = tables(parts, full=False)
        assert {row[0].text for row in first.rows} == {*FACTORS, "R²"}
        assert len(more) == len(metrics) - 2  # all coefficients, where there are other metrics
    answer = parts_of(asked)[0]
    assert isinstance(answer, Answer)
    assert answer.text.startswith("m and k differ significantly in ")
    assert asked.comparison is not None
    alone = [part for part in parts_of(asked.comparison) if isinstance(part, Answer)]  # compared without regressions
    assert [part.text.partition(" (")[0] for part in alone] == [answer.text.partition(" (")[0]]


def test_one_factor_explains_r2_and_nothing_in_addition() -> None:
    shown = tables(parts_of(disentangle(make(), ["m"], ["sem"])), full=True)
    assert not [part for part in shown if "partial R²" in part.columns]
    assert ("metric", "R²", "adjusted R²", "new rows") in [part.columns for part in shown]


def test_many_metrics_are_told_factor_by_factor() -> None:
    table = make()
    metrics = {name: table["m"] * sign for name, sign in (("a", 1), ("b", 1), ("c", -1), ("d", 1))}
    answer = parts_of(disentangle(table | metrics, list(metrics), FACTORS))[0]
    assert isinstance(answer, Answer)
    assert "a, b and d rise with sem (" in answer.text
    assert "c falls with sem (-" in answer.text


def test_influential_rows_that_metrics_share_are_said_once() -> None:
    rows = [Notice("influential-rows", name, {"rows": [16]}) for name in ("a", "b")]
    other = Notice("influential-rows", "c", {"rows": [3]})
    assert [notice.about for notice in joined([*rows, other])] == ["a and b", "c"]


def test_numbers_too_large_or_too_close_to_be_squared_are_refused() -> None:
    small = np.arange(5.0) * 1e-200
    with pytest.raises(InputError, match="too little to compute with: scale the column"):
        standardise("m", small)
    large = {"m": np.arange(9.0) * 1e200, "sem": np.arange(9.0) ** 2}
    with pytest.raises(InputError, match="too large to compute with: scale the column"):
        disentangle(large, ["m"], ["sem"])
    with pytest.raises(InputError, match="all 3 values are 0.1"):
        standardise("m", np.array([0.1, 0.1, 0.1]))
    assert standardise("m", np.arange(5.0) * 1e-90) == pytest.approx(standardise("m", np.arange(5.0)))
    assert standardise("m", 1e9 + np.arange(10.0)).std() == pytest.approx(1)


def test_texts_that_look_the_same_belong_together(tmp_path: Path) -> None:
    file = tmp_path / "t.tsv"
    file.write_text("a\tsentence1\tseg\n1\tIt is.\t1\n2\tIt is. \t1\n", encoding="utf8")
    table = read_columns(file, ["a"], keys=["sentence1", "seg"], alike=["sentence1"])
    assert table["sentence1"] == ["It is."] * 2
    with pytest.raises(InputError, match="look the same"):
        read_columns(file, ["a"], keys=["sentence1"])
    file.write_text("a\n", encoding="utf8")
    with pytest.raises(InputError, match="has no rows"):
        read_columns(file, ["a"])


@pytest.mark.parametrize(("n", "kind"), [(40, "wilson"), (400, "logit")])
def test_the_caption_names_the_interval_of_the_area(n: int, kind: str) -> None:
    labels = np.arange(n) % 2
    result = detect_pairs(labels, {"m": labels + np.random.default_rng(1).normal(size=n)}, resamples=20)
    assert result.results[0].interval == kind
    assert kind in tables(parts_of(result), full=False)[0].caption.lower()


def test_a_column_of_a_table_may_be_left_out() -> None:
    shown = table_of("Words", ["a", "bc"], {"word": text, "none": None, "length": lambda word: number(len(word))})
    assert shown.columns == ("word", "length")
    assert [[cell.value for cell in row] for row in shown.rows] == [["a", 1], ["bc", 2]]


@pytest.mark.parametrize(("resamples", "limited"), [(20, True), (1000, False)])
def test_it_is_said_where_no_corrected_p_can_be_significant(resamples: int, limited: bool) -> None:
    texts = [f"There are {place} of them, and more." for place in range(40)]

    def share(candidates: object, references: object) -> list[float]:
        pairs = zip(candidates, references, strict=True)  # type: ignore[call-overload]
        words = [[{*text.replace(",", "").replace(".", "").split()} for text in pair] for pair in pairs]
        return [len(a & b) / len(b) - 1e-3 * (a != b) for a, b in words]

    named = {"perturbations": ["numbers", "unrelated"], "resamples": resamples}
    found = robustness(texts, {"m": share}, correction="holm", **named)  # type: ignore[arg-type]
    least = min(case.p_adjusted for case in found.results if case.p_adjusted == case.p_adjusted)
    assert (least >= 0.05) == limited
    notes = [item for part in parts_of(found) if isinstance(part, Notes) and not part.full for item in part.items]
    assert any("after Holm" in item for item in notes) == limited


def test_one_group_has_no_average() -> None:
    rng = np.random.default_rng(2)
    human = rng.normal(size=60)
    columns = {"a": human + rng.normal(size=60), "b": human + rng.normal(size=60), "human": human}
    (shown,) = tables(parts_of(combine(columns, ["a", "b"], "human", resamples=50).result), full=False)
    assert ([row[0].text for row in shown.rows], shown.foot) == (["all"], 0)
    lp = {"lp": ["x", "y"] * 30}
    (shown,) = tables(parts_of(combine(columns | lp, ["a", "b"], "human", group="lp", resamples=50).result), full=False)
    assert ([row[0].text for row in shown.rows], shown.foot) == (["x", "y", "average"], 1)


def test_the_difference_of_edited_and_observed_is_for_the_full_form() -> None:
    made = made_result("Interventions")
    parts = parts_of(replace(made, effects=tuple(replace(one, factor="lex:lowercase=true") for one in made.effects)))
    (first,) = tables(parts, full=False)
    assert "difference" not in first.columns
    assert max(map(len, aligned(first).splitlines())) <= WIDTH
    assert "difference" in tables(parts, full=True)[0].columns


def test_factors_begin_with_what_was_found() -> None:
    made = [
        FactorSummary(name, n, 0.5 if n else None, 0.1, excluded, {})
        for name, n, excluded in (("lex", 5, None), ("sem", 4, None), ("syn", 0, "no parser"))
    ]
    answer = ScoredFactors(5, "en", None, tuple(made)).answer
    assert [name for name in ("lex", "sem", "syn") if name in answer] == ["lex", "sem", "syn"]
    assert "4 of 5" in answer


def test_a_sentence_about_several_tests_says_their_p_values() -> None:
    found = challenge_metrics(
        table=str(files("bsx.examples") / "en-challenge.tsv"), metrics=["chrf", "sentbleu", "ter"]
    )
    p = {frozenset((test.a, test.b)): test.decisive for test in found.tests}
    assert p_range([p[frozenset(("chrf", "sentbleu"))]]) in found.answer
    assert p_range([p[frozenset(("chrf", "ter"))]]) in found.answer
    both = p_range(p.values())
    assert both.startswith(("p from ", "p at most "))
    assert both.endswith(f" {max(p.values()):.3f}")
