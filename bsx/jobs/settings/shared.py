"""What settings of several jobs have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

LANG = "Language of the texts; rows of a column lp into another are left out."
Seed = Annotated[int, Field(default=1, ge=0, description="Seed of all random draws.")]
Confidence = Annotated[float, Field(default=0.95, gt=0, lt=1, description="Level of the intervals.")]
