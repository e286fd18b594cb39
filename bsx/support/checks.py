"""Arguments that statistics and tables share: arrays, what to do about missing values, one of several words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError


def choice(name: str, value: str, allowed: Collection[str]) -> None:
    """Raise InputError unless ``value`` is one of ``allowed``."""
    if value not in tuple(allowed):  # which asks for no hash
        raise InputError(f"{name}={value!r}: use one of {', '.join(allowed)}")


def within(name: str, value: float, lowest: float, highest: float) -> None:
    """Raise InputError unless a number that no settings hold lies in its range."""
    if not lowest <= value <= highest:
        raise InputError(f"{name}: must lie between {lowest} and {highest} (got {value})", setting=name)


Array = NDArray[np.float64]


NanPolicy = Literal["error", "omit"]

FEWEST_ITEMS = 10
"""Items (rows, systems, pairs) below which a figure is not taken as evidence."""
FEW_ITEMS = 30
"""Items below which a figure is marked, and none is the headline."""
