"""Probes tested on further items: what must hold whatever the data, and planted information that moves or does not."""

from __future__ import annotations

import numpy as np
import pytest

from bsx.analysis.probe.experiment import TestData, probe_layers
from bsx.analysis.probe.result import ProbeResult, Transferred
from bsx.errors import InputError


def column(result: ProbeResult | Transferred, name: str) -> np.ndarray:
    """Return a figure of all layers (layers,)."""
    return np.array([getattr(one, name) for one in result.layers])


def planted(n: int, seed: int, sign: float = 1.0) -> tuple[np.ndarray, list[str], list[str]]:
    """Return vectors of two layers, of which the second has the label, the labels, and words."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    vectors = rng.normal(size=(2, n, 8)).astype(np.float32)
    vectors[1, :, 0] += sign * 4 * (labels - 0.5)
    return vectors, [f"label {label}" for label in labels], rng.choice(list("abcdefgh"), n).tolist()


def test_the_items_themselves_give_the_figures_of_the_test_part() -> None:
    vectors, labels, words = planted(400, 0)
    groups = [row // 2 for row in range(400)]
    same = TestData("same", vectors, labels, groups, words)
    result = probe_layers(vectors, labels, groups=groups, types=words, seeds=[1, 2], test_data=[same], resamples=50)
    (found,) = result.tested_on
    assert result.control is not None
    assert found.n == result.test
    for name in ("accuracy", "low", "high", "control", "selectivity_high"):
        np.testing.assert_array_equal(column(found, name), column(result, name))
    assert (found.baseline, found.seen) == (result.baseline, result.control.seen)


def test_further_items_change_no_other_figure() -> None:
    vectors, labels, words = planted(200, 1)
    other, truth, types = planted(100, 2)
    alone = probe_layers(vectors, labels, types=words, seeds=[1], resamples=20)
    beside = probe_layers(
        vectors, labels, types=words, seeds=[1], resamples=20, test_data=[TestData("b", other, truth, types=types)]
    )
    assert alone.layers == beside.layers
    assert alone.control == beside.control
    assert alone.tested_on == ()


def test_planted_information_moves_where_it_is_the_same() -> None:
    vectors, labels, words = planted(500, 3)
    data = [
        TestData(name, *planted(300, seed, sign)[:2], types=[f"word {row}" for row in range(300)])
        for name, seed, sign in (("same", 4, 1.0), ("opposite", 5, -1.0), ("none", 6, 0.0))
    ]
    result = probe_layers(vectors, labels, types=words, seeds=[1, 2], resamples=50, test_data=data)
    same, opposite, none = result.tested_on
    # Two normals 4 apart: the best line is right for 97.7 %.
    assert same.layers[1].accuracy == pytest.approx(0.977, abs=0.025)
    assert opposite.layers[1].accuracy < 0.06
    assert none.layers[1].accuracy == pytest.approx(0.5, abs=0.1)
    assert same.layers[0].low < 0.5 < same.layers[0].high
    assert same.seen == 0
    assert same.layers[1].control == pytest.approx(0.5, abs=0.12)  # nothing to remember of types that are new


def test_an_unknown_label_is_always_wrong_and_said() -> None:
    vectors, labels, _ = planted(200, 7)
    other, truth, _ = planted(100, 8)
    data = TestData("new", other, ["label 2"] * 50 + truth[50:])
    result = probe_layers(vectors, labels, seeds=[1], resamples=20, test_data=[data])
    assert result.tested_on[0].layers[1].accuracy <= 0.5
    assert result.tested_on[0].layers[0].control is None
    assert "new: 50 items have a label that is not trained on: always wrong" in result.notes


def test_wrong_further_items_are_named() -> None:
    vectors, labels, words = planted(60, 9)
    parts = ["train"] * 40 + ["test"] * 20
    for data, message in [
        (TestData("x", vectors[:1], labels, types=words), r"x: vectors of shape \(1, 60, 8\)"),
        (TestData("x", vectors, labels[:5], types=words), "x: 60 vectors, 5 labels"),
        (TestData("x", vectors, labels), "x: there is a control task, so its items need types too"),
        (
            TestData("x", vectors, labels, [0] * 60, words),
            "x: the probe was trained on the groups of all its items",
        ),
    ]:
        with pytest.raises(InputError, match=message):
            probe_layers(vectors, labels, groups=range(60), parts=parts, types=words, seeds=[1], test_data=[data])
