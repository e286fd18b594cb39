"""Statistics that show more than a row of figures: what they answer, and when they name a best."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import Answer, Chart, TablePart
from bsx.analysis.stats.clusters import significance_clusters
from bsx.analysis.stats.detection import PrecisionRecall, precision_recall
from bsx.analysis.stats.layers import layer_agreement
from bsx.analysis.stats.regression import fit_ols
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
