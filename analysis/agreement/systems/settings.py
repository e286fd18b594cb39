"""Every setting of a comparison of systems, written once: Python arguments and command-line options come from here."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bsx.support.settings import enough_draws


class CompareOptions(TypedDict, total=False):
    """`CompareSettings` as keyword arguments."""

    test: Literal["bootstrap", "randomise"]
    resamples: int | None
    correction: Literal["none", "holm", "bh"]
    alpha: float
    all_pairs: bool
    confidence: float
    seed: int


class CompareSettings(BaseModel):
    """How systems are compared."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    test: Annotated[
        Literal["bootstrap", "randomise"], Field(description="Paired bootstrap or approximate randomisation.")
    ] = "bootstrap"
    resamples: Annotated[
        int | None, Field(ge=10, description="Resamples; 1000 for the bootstrap, 10000 for randomisation.")
    ] = None
    correction: Annotated[
        Literal["none", "holm", "bh"], Field(description="Correction of p-values for the number of pairs.")
    ] = "none"
    alpha: Annotated[float, Field(gt=0, lt=1, description="Level of significance.")] = 0.05
    all_pairs: Annotated[
        bool, Field(description="Compare every system with every other, instead of all with the first.")
    ] = False
    confidence: Annotated[float, Field(gt=0, lt=1, description="Level of the intervals.")] = 0.95
    seed: Annotated[int, Field(ge=0, description="Of all random draws.")] = 1

    @model_validator(mode="after")
    def _tails(self) -> CompareSettings:
        enough_draws(self.draws, self.confidence)
        return self

    @property
    def draws(self) -> int:
        """Number of resamples of the test."""
        return self.resamples or (1000 if self.test == "bootstrap" else 10_000)
