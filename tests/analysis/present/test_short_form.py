"""What stands in the short form of results: the sentence that answers, the table that supports it, no table twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("statsmodels")
from bsx.analysis.adversarial.pairs import detect_pairs
from bsx.analysis.disentangling.bootstrap import compare_coefficients
from bsx.analysis.disentangling.fit import disentangle
from bsx.analysis.present.families.adversarial import _apart
from bsx.analysis.present.families.disentangling import _joined
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import Answer, Notes, Part, TablePart
from bsx.data.columns import read_columns, standardise
from bsx.errors import InputError
from bsx.support.result import Notice
from tests.analysis.disentangling.test_fit import FACTORS, make


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


def test_one_factor_explains_r2_and_nothing_in_addition() -> None:
    shown = tables(parts_of(disentangle(make(), ["m"], ["sem"])), full=True)
    assert not [part for part in shown if "partial R²" in part.columns]
    assert [part.columns for part in shown if "adjusted R²" in part.columns] == [
        ("metric", "R²", "adjusted R²", "new rows")
    ]


def test_many_metrics_are_told_factor_by_factor() -> None:
    table = make()
    metrics = {name: table["m"] * sign for name, sign in (("a", 1), ("b", 1), ("c", -1), ("d", 1))}
    answer = parts_of(disentangle(table | metrics, list(metrics), FACTORS))[0]
    assert isinstance(answer, Answer)
    assert "a, b and d rise with sem (" in answer.text
    assert "c falls with sem (-" in answer.text


def test_a_reliability_on_which_nothing_depends_is_for_the_full_form() -> None:
    rng = np.random.default_rng(1)
    table = {"sem": rng.normal(size=200), "lex": rng.normal(size=200)}
    table["m"] = table["sem"] + 0.01 * table["lex"] + rng.normal(size=200)
    result = disentangle(table, ["m"], ["sem", "lex"])
    unstated = next(notice for notice in result.warnings if notice.name == "noise-unstated")
    assert not unstated.values["vanish"]
    assert [part.full for part in parts_of(result) if isinstance(part, Notes)] == [False, True, True]


def test_influential_rows_that_metrics_share_are_said_once() -> None:
    rows = [Notice("influential-rows", name, {"rows": [16]}) for name in ("a", "b")]
    other = Notice("influential-rows", "c", {"rows": [3]})
    assert [notice.about for notice in _joined([*rows, other])] == ["a and b", "c"]


def test_numbers_that_differ_by_too_little_to_be_squared_are_refused() -> None:
    small = np.arange(5.0) * 1e-200
    with pytest.raises(InputError, match="too little to compute with: scale the column"):
        standardise("m", small)
    assert standardise("m", np.arange(5.0) * 1e-90) == pytest.approx(standardise("m", np.arange(5.0)))


def test_texts_that_look_the_same_belong_together(tmp_path: Path) -> None:
    file = tmp_path / "t.tsv"
    file.write_text("a\tsentence1\tseg\n1\tIt is.\t1\n2\tIt is. \t1\n", encoding="utf8")
    table = read_columns(file, ["a"], keys=["sentence1", "seg"], alike=["sentence1"])
    assert table["sentence1"] == ["It is."] * 2
    with pytest.raises(InputError, match="look the same"):
        read_columns(file, ["a"], keys=["sentence1"])


@pytest.mark.parametrize(("n", "kind"), [(40, "wilson"), (400, "logit")])
def test_the_caption_names_the_interval_of_the_area(n: int, kind: str) -> None:
    labels = np.arange(n) % 2
    result = detect_pairs(labels, {"m": labels + np.random.default_rng(1).normal(size=n)}, resamples=20)
    assert result.results[0].interval == kind
    assert kind in tables(parts_of(result), full=False)[0].caption.lower()
    asked = detect_pairs(labels, {"m": np.arange(n) % 7}, resamples=20, interval="bootstrap")
    assert asked.results[0].interval == "bootstrap"


def test_not_told_apart_is_said_of_pairs_that_were_tested() -> None:
    class Test:
        p_corrected = None

        def __init__(self, a: str, b: str, p: float) -> None:
            self.a, self.b, self.decisive = a, b, p

    tests = [Test("a", "b", 0.2), Test("a", "c", 0.1), Test("b", "c", 0.01)]
    values = {"a": 0.7, "b": 0.69, "c": 0.6}
    (said,) = _apart(values, tests, "DeLong")  # type: ignore[arg-type]
    assert said.startswith("a is not told apart from b and c ")  # b and c are
    (said,) = _apart(values, [*tests[:2], Test("b", "c", 0.5)], "DeLong")  # type: ignore[arg-type]
    assert said.startswith("a, b and c are not told apart ")
