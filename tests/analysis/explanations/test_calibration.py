"""Whether risks are probabilities: a plain reckoning, worlds with a known answer, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bsx.analysis import Calibration, calibration
from bsx.errors import InputError


def world(seed: int, too_high: float, sentences: int = 300) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return risks that are too high by so much, and marks drawn by what they should be."""
    rng = np.random.default_rng(seed)
    true = [rng.uniform(0.05, 0.75, int(rng.integers(1, 30))) for _ in range(sentences)]
    return [one + too_high for one in true], [(rng.random(len(one)) < one).astype(float) for one in true]


def test_it_is_the_weighted_distance_by_range() -> None:
    risks, marks = world(1, 0.1, 40)
    found = calibration(risks, marks, bins=5, resamples=50)
    x, y = np.concatenate(risks), np.concatenate(marks)
    expected = 0.0
    for low in np.arange(5) / 5:
        inside = (x >= low) & (x < low + 0.2)
        if inside.any():
            expected += inside.mean() * abs(x[inside].mean() - y[inside].mean())
    assert found.error.estimate == pytest.approx(expected, abs=1e-12)
    assert found.excess.estimate == pytest.approx(x.mean() - y.mean(), abs=1e-12)
    assert found.error.n == len(x)
    assert Calibration.from_dict(json.loads(json.dumps(found.to_dict()))).to_dict() == found.to_dict()
    assert f"n = {len(x):,}" in found.to_text()


def test_known_worlds_are_found() -> None:
    held = 0
    for seed in range(40):
        risks, marks = world(seed, 0.1)
        found = calibration(risks, marks, resamples=200, seed=seed)
        held += found.excess.low <= 0.1 <= found.excess.high
        assert found.error.estimate == pytest.approx(0.1, abs=0.03)
    assert held >= 34  # of 40 intervals of 95 %, fewer come about once in 500 times
    risks, marks = world(1, 0.0)
    assert calibration(risks, marks, resamples=200).error.estimate < 0.03


def test_an_end_of_the_scale_and_empty_sentences_count() -> None:
    found = calibration([[1.0, 0.0], []], [[1, 0], []], resamples=20)
    assert (found.error.estimate, found.excess.estimate) == (0.0, 0.0)


def test_what_does_not_fit_is_refused() -> None:
    for risks, marks, message in (
        ([[1.2]], [[1]], "sentence 1: a risk is no probability"),
        ([[0.2]], [[2]], "neither 0 nor 1"),
        ([[0.2]], [[1, 0]], "has 1 risks and 2 marks"),
        ([[0.2]], [], "1 sentences with risks and 0"),
        ([[]], [[]], "there is no word"),
        ([], [], "there is no word"),
    ):
        with pytest.raises(InputError, match=message):
            calibration(risks, marks)
