"""Settings of ensembles: what `ensemble` and `combine` take, and what the command shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bsx.catalog.entries.metrics import LEARNED
from bsx.data.long import ColumnName, LowerScores
from bsx.support.settings import DrawSettings, Option
from bsx.support.untyped import Untyped

How = Literal["mean", "z", "rank", "weights", "ridge"]


class EnsembleSettings(DrawSettings):
    """How metrics are combined, tested and compared with their best member."""

    how: Annotated[
        How,
        Field(
            description="Rule: mean of scores, of z-scores (z) or of ranks; weights fitted to human scores "
            "(weights: non-negative least squares; ridge)."
        ),
    ] = "z"
    folds: Annotated[int, Field(ge=2, le=10_000, description="Folds of segments.")] = 10
    best: Annotated[
        Literal["sample", "training"],
        Field(
            description="The best single metric: that of the rows it is compared on, group by group, or that of "
            "the training rows, which is what a user could have chosen."
        ),
    ] = "sample"
    nan: Annotated[
        Literal["error", "omit"],
        Field(description="Missing scores of metrics: an error, or leave the row out for all."),
    ] = "error"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.how not in LEARNED and self.best == "sample" and self.folds != 10:
            raise ValueError(f"folds needs weights that are learned: how {self.how} has none")
        return self


class EnsembleColumns(LowerScores):
    """What further columns of a table of scores are."""

    group: Annotated[
        ColumnName,
        Field(description="Column of groups, such as language pairs: gains are measured in each and averaged."),
    ] = None
    segment: Annotated[
        ColumnName,
        Field(description="Column of segments; rows of one stay together, in folds and in resamples."),
    ] = None
    document: Annotated[
        ColumnName,
        Field(description="Column of documents; rows of one stay together, in folds and in resamples."),
    ] = None
    texts: Annotated[
        Sequence[str] | None,
        Field(description="Columns of texts; equal ones stay together too. [source, reference, candidate, …]"),
        Option(python=True),
    ] = None


class EnsembleData(EnsembleSettings, EnsembleColumns):
    """All that an ensemble of columns takes beside them."""

    fit: Annotated[
        Untyped,
        Field(
            description="Another table of the same columns to take constants and weights from; then nothing is "
            "cross-validated. It may share no segment and no text with the first if weights are learnt."
        ),
        Option(python=True),
    ] = None
