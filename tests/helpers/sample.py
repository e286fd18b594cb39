"""Parameters of which a sample runs in ``make test`` and the rest in ``make test-all``, and pairs of texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

CANDIDATES = [
    "The cat sat on the mat.",
    "A young woman walked",
    "一只猫坐在垫子上",
    "It is raining, said the man in the old house!",
    "they had the money and the time",
]
REFERENCES = [
    "the dog sat on a mat",
    "the old man walked slowly",
    "一只狗坐在垫子上",
    "He said that it was raining.",
    "the city had water",
]


def sampled(values: Iterable[Any], quick: Iterable[Any]) -> list[Any]:
    """Return the values, with those marked ``slow`` that are not among the quick ones."""
    wanted = list(quick)
    return [value if value in wanted else pytest.param(value, marks=pytest.mark.slow) for value in values]
