"""Parameters of which a sample runs in ``make test`` and the rest in ``make test-all``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], quick: Iterable[Any]) -> list[Any]:
    """Return the values, with those marked ``slow`` that are not among the quick ones."""
    wanted = list(quick)
    return [value if value in wanted else pytest.param(value, marks=pytest.mark.slow) for value in values]
