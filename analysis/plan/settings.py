"""Settings of plans: what `plan_compare` and `plan_meta` take, and what the commands show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from bsx.data.long import DocumentColumn, HumanColumn, LowerScores, Scores
from bsx.data.sources import AnyTable
from bsx.frames.settings import FORMATS, TableSettings
from bsx.support.settings import Alpha, Option, Resamples95, Seeded


class PlanSettings(Seeded, TableSettings, DocumentColumn):
    """What a study shall be able to find, what its segments are like, and which rows of a pilot belong together."""

    effect: Annotated[float | None, Field(gt=0, lt=1e12, description="Smallest difference that shall be found.")] = None
    power: Annotated[
        float, Field(gt=0, lt=1, description="How probable it shall be that such an effect is found significant.")
    ] = 0.8
    alpha: Annotated[Alpha, Field(description="Level of the two-sided test; the interval's is one minus it.")] = 0.05
    document_size: Annotated[
        float | None, Field(ge=1, le=10**9, description="Segments that a document will have. [as in the pilot; 1]")
    ] = None
    icc: Annotated[
        float | None,
        Field(ge=0, le=1, description="Without a pilot: share of the variance between segments that documents make."),
    ] = None
    resamples: Resamples95 = 1000
    columns: Scores = ()
    table: Annotated[
        AnyTable | None,
        Field(description=f"Pilot: a table, {FORMATS}; none plans from stated variances."),
        Option(argument=True),
    ] = None

    @model_validator(mode="after")
    def _more_than_by_chance(self) -> Self:
        if self.power <= self.alpha:
            raise ValueError(f"power: must be more than alpha, {self.alpha:g} (got {self.power:g})")
        return self


class ComparePlan(PlanSettings):
    """Two systems, compared by a metric's scores or by human judgments of the same segments."""

    systems: Annotated[Sequence[str], Field(description="The two systems to compare. [the two that are there]")] = ()
    sd: Annotated[
        float | None,
        Field(
            gt=0, lt=1e12, description="Without a pilot: standard deviation of the systems' difference on a segment."
        ),
    ] = None


class MetaPlan(PlanSettings, HumanColumn, LowerScores):
    """Two metrics, compared by their correlations with human judgments."""

    effect: Annotated[
        float | None, Field(gt=0, le=2, description="Smallest difference of correlations that shall be found.")
    ] = None
    correlations: Annotated[
        Sequence[float | str],
        Field(description="Without a pilot: of A and B with human scores, and of A with B: .5,.45,.7."),
    ] = ()
