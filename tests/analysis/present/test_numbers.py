"""Numbers as tables show them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsx.analysis.present.numbers import figure, p_value


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
