"""Functions that take columns take a DataFrame of pandas, whatever its index, with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bsx.analysis as analysis
from bsx import InputError, UnknownNameError

SAME: dict[str, Callable[[Any], Any]] = {
    "compare_coefficients": lambda t: analysis.compare_coefficients(t, "good", "human", ["lex"], resamples=20),
    "nested_test": lambda t: analysis.nested_test(t, "good", ["lex"], ["poor"]),
    "compare_systems": lambda t: analysis.compare_systems({n: t[n] for n in ("human", "good")}, resamples=20),
    "detect_pairs": lambda t: analysis.detect_pairs(t["label"], {n: t[n] for n in ("good", "poor")}, resamples=20),
    "prefer_paraphrase": lambda t: analysis.prefer_paraphrase({"m": (t["good"], t["poor"])}, resamples=20),
    "rater_agreement": lambda t: analysis.rater_agreement(t, items=["item"], resamples=20),
}


def columns() -> dict[str, list[Any]]:
    human, other, poor = np.random.default_rng(3).normal(size=(3, 40))
    numbers = {"human": human, "good": human + 0.3 * other, "poor": poor, "lex": other}
    labels = {
        "lp": ["a", "b"] * 20,
        "label": [0, 1] * 20,
        "judge": ["x", "y"] * 20,
        "item": [str(i // 2) for i in range(40)],
    }
    return {**{name: values.tolist() for name, values in numbers.items()}, **labels}


@pytest.mark.parametrize("name", SAME)
def test_a_frame_gives_what_columns_give(name: str) -> None:
    known = columns()
    frame = pd.DataFrame(known, index=range(100, 140))
    assert SAME[name](frame).to_csv() == SAME[name](known).to_csv()


def test_frames_become_tidy_tables() -> None:
    frame = pd.DataFrame(
        {"hyp": ["a cat", "a dog"], "reference": ["the cat", "a dog"], "human": [0.5, None], "chrf": [1, 2]}
    )
    found = analysis.load_table(frame, columns={"candidate": "hyp"}, metrics=["chrf"], name="mine")
    assert found.to_frame()["dataset"].tolist() == ["mine"] * 2
    assert list(found.texts("candidate")) == ["a cat", "a dog"]
    assert found.numbers("chrf").tolist() == [1, 2]
    assert np.isnan(found.numbers("human")[1])
    with pytest.raises(InputError, match="table: row 1, column 'human' is 'good', not a finite number"):
        analysis.load_table(frame.assign(human=["good", 1]))
    with pytest.raises(UnknownNameError, match="table: has no column 'crhf'; .* Near: chrf"):
        analysis.load_table(frame, metrics=["crhf"])


def test_factors_read_columns_of_frames() -> None:
    frame = pd.DataFrame({"one": ["a b", "c d"], "two": ["a", "c"], "grade": [1.0, 0.2]}, index=[7, 9])
    found = analysis.compute_factors("sem", frame["one"].tolist(), frame["two"].tolist(), columns=frame, human="grade")
    assert found["sem"].values.tolist() == [1.0, 0.2]
