"""Agreement of raters: a published example, definitions by brute force, a simulation with known reliability."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from bsx.analysis import rater_agreement
from bsx.errors import InputError, UnknownNameError

NAN = float("nan")

# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", example C: four observers, twelve units
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
)


def long(matrix: np.ndarray) -> dict[str, list[Any]]:
    judges, units = np.nonzero(~np.isnan(matrix))
    scores = matrix[judges, units].tolist()
    return {"human": scores, "judge": [f"r{j}" for j in judges], "segment": [f"u{u}" for u in units]}


@pytest.mark.parametrize("rater", ["judge", "rater", "annotator"])
def test_a_published_example(rater: str) -> None:
    """The column of raters is found by its usual names."""
    table = {rater if column == "judge" else column: cells for column, cells in long(OBSERVERS).items()}
    found = rater_agreement(table, items=["segment"], resamples=100)
    assert found.alpha == pytest.approx(0.849, abs=5e-4)  # interval metric, as published
    assert (found.items, found.single, found.ratings) == (11, 1, 40)
    assert found.alpha_ci[0] < found.alpha < found.alpha_ci[1]


def test_definitions_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(1, 9)) + rng.normal(size=(4, 9))
    matrix[rng.random((4, 9)) < 0.25] = NAN
    units = [unit[~np.isnan(unit)] for unit in matrix.T]
    units = [unit for unit in units if len(unit) > 1]
    values = np.concatenate(units)
    within_units = [sum((a - b) ** 2 for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units]
    observed = sum(within_units) / len(values)
    expected = np.mean([(a - b) ** 2 for a, b in permutations(values, 2)])
    found = rater_agreement(long(matrix), items=["segment"], resamples=20)
    assert found.alpha == pytest.approx(1 - observed / expected)
    sizes, n = np.array([len(unit) for unit in units]), len(units)
    between = sum(len(unit) * (unit.mean() - values.mean()) ** 2 for unit in units) / (n - 1)
    within = sum(((unit - unit.mean()) ** 2).sum() for unit in units) / (len(values) - n)
    even = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (n - 1)
    one = (between - within) / (between + (even - 1) * within)
    assert found.one == pytest.approx(one)
    assert found.mean == pytest.approx(sizes.mean() * one / (1 + (sizes.mean() - 1) * one))


def test_known_reliability_and_severity() -> None:
    rng = np.random.default_rng(1)
    truth, severity = rng.normal(size=(1, 1500)), np.array([[0.0], [0.0], [1.0]])
    matrix = truth + rng.normal(size=(3, 1500)) - severity
    plain = rater_agreement(long(matrix + severity), items=["segment"], resamples=50)
    assert plain.one == pytest.approx(0.5, abs=0.04)
    assert plain.mean == pytest.approx(0.75, abs=0.04)
    found = rater_agreement(long(matrix), items=["segment"], resamples=50)
    assert found.raters[0].name == "r2"
    assert found.raters[0].severity == pytest.approx(1, abs=0.1)
    assert found.raters[0].r == pytest.approx(1 / np.sqrt(2 * 1.5), abs=0.05)


def test_what_cannot_be_measured() -> None:
    columns = long(OBSERVERS)
    with pytest.raises(InputError, match="no translation has two ratings"):
        rater_agreement({**columns, "own": [str(i) for i in range(41)]}, items=["own"])
    with pytest.raises(InputError, match=r"rater 'r0' judged .* twice"):
        rater_agreement({**columns, "same": ["x"] * 41}, items=["same"])
    with pytest.raises(InputError, match="all ratings are 1"):
        rater_agreement({**columns, "human": [1.0] * 41}, items=["segment"])
    with pytest.raises(UnknownNameError, match="no column 'rater'"):
        rater_agreement(columns, judge="rater", items=["segment"])
