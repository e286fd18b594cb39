"""Settings of tests whether metrics can be fooled, written once: Python arguments and command-line options."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class FoolSettings(BaseModel):
    """What tests on pairs and on triples have in common."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    correction: Annotated[
        Literal["none", "holm", "bh"], Field(description="Correct the tests' p for the number of metric pairs.")
    ] = "none"
    confidence: Annotated[float, Field(description="Level of the intervals.")] = 0.95
    resamples: Annotated[int, Field(description="Resamples of bootstrap intervals.")] = 1000
    seed: Annotated[int, Field(description="Seed of resamples and folds.")] = 1
    nan: Annotated[Literal["error", "omit"], Field(description="Refuse missing scores, or leave out such rows.")] = (
        "error"
    )
    skip_errors: Annotated[bool, Field(description="Leave out rows on which a metric fails, and name them.")] = False

    def asked(self) -> dict[str, Any]:
        """Return what the analysis is called with: this test's own settings, then those of both."""
        fields = sorted(type(self).model_fields, key=lambda name: name in FoolSettings.model_fields)
        return {name: getattr(self, name) for name in fields if name != "skip_errors"}


class PairSettings(FoolSettings):
    """How metrics are tested as detectors of paraphrases."""

    interval: Annotated[Literal["delong", "bootstrap"], Field(description="Interval of the ROC AUC.")] = "delong"
    folds: Annotated[int, Field(description="Folds of the cross-validated threshold.")] = 10


class TripleSettings(FoolSettings):
    """How metrics are tested on triples."""

    bins: Annotated[
        int, Field(ge=0, description="Ranges of the gap in lexical overlap to split triples by; 0 for none.")
    ] = 4
    worst: Annotated[int, Field(ge=0, description="How many of the smallest margins to show for each metric.")] = 5
