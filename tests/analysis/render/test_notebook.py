"""Results in notebooks: a short name, a table, a DataFrame."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from bsx.analysis import compare_systems, meta_evaluate
from bsx.analysis.agreement.systems.result import CompareResult
from bsx.analysis.agreement.systems.settings import CompareSettings
from bsx.analysis.render.notebook import InNotebooks


@pytest.fixture(scope="module")
def results() -> list[InNotebooks]:
    draw = np.random.default_rng(3)
    human, other = draw.normal(size=(2, 40))
    table = {"human": human, "good": human + 0.3 * other, "sem": other}
    settings = CompareSettings(resamples=40)
    compared = compare_systems({"x": human, "y": human + other}, metric="good", settings=settings)
    return [
        meta_evaluate(table, metrics=["good", "sem"], human="human"),
        CompareResult(settings, 40, (compared,)),
    ]


def test_names_are_short(results: list[InNotebooks]) -> None:
    assert list(map(repr, results)) == [
        "MetaResult(pearson of good, sem with human; all)",
        "CompareResult(good; x, y; 40 segments)",
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
