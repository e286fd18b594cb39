"""Results in notebooks: a short name, a table, a DataFrame."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import bsx
from bsx.analysis import disentangle, meta_evaluate
from bsx.analysis.render.notebook import InNotebooks


@pytest.fixture(scope="module")
def results() -> list[InNotebooks]:
    draw = np.random.default_rng(3)
    human, other = draw.normal(size=(2, 40))
    table = {"human": human, "good": human + 0.3 * other, "sem": other, "lex": draw.normal(size=40)}
    return [
        meta_evaluate(table, metrics=["good", "sem"], human="human"),
        disentangle(table, metrics=["good"], factors=["sem", "lex"]),
    ]


def test_names_are_short(results: list[InNotebooks]) -> None:
    assert list(map(repr, results)) == [
        "MetaResult(pearson of good, sem with human; all)",
        "DisentangleResult(good on sem, lex; 40 rows)",
    ]


def test_a_notebook_shows_the_table(results: list[InNotebooks]) -> None:
    for result in results:
        shown = result._repr_html_()
        assert "<table>" in shown
        assert "good" in shown
        assert "\n| " not in shown


def test_a_frame_has_the_rows_of_the_csv(results: list[InNotebooks]) -> None:
    for result in results:
        rows = list(csv.DictReader(io.StringIO(result.to_csv())))
        frame = result.to_pandas()
        assert list(frame.columns) == list(rows[0])
        assert len(frame) == len(rows)
        for name in rows[0]:
            if rows[0][name].replace(".", "", 1).isdecimal():
                assert frame[name][0] == pytest.approx(float(rows[0][name]))


def test_scores_are_frames_too() -> None:
    chrf = bsx.get_metric("chrf").score(["a cat", "a dog"], ["a cat", "the dog"]).to_pandas()
    assert list(chrf.columns) == ["id", "chrf"]
    assert chrf["chrf"][0] == 100
    scores = bsx.score(["a cat", "a dog"], ["a cat", "the dog"], model="minilm")
    assert scores.to_pandas().to_dict("records") == list(scores.rows())
