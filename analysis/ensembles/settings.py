"""Every setting of an ensemble, written once: Python arguments and command-line options come from here."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, model_validator

How = Literal["mean", "z", "rank", "weights", "ridge", "greedy", "factors"]
LEARNED: tuple[How, ...] = ("weights", "ridge", "greedy")  # their weights are fitted to human scores


class EnsembleOptions(TypedDict, total=False):
    """`EnsembleSettings` as keyword arguments."""

    how: How
    by: Literal["segment", "group"]
    folds: int
    penalty: float | None
    size: int
    best: Literal["sample", "training"]
    nan: Literal["error", "omit"]
    resamples: int
    confidence: float
    seed: int


class EnsembleSettings(BaseModel):
    """How metrics are combined, tested and compared with their best member."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    how: Annotated[
        How,
        Field(
            description="Rule: mean of scores, of z-scores (z) or of ranks; weights fitted to human scores "
            "(weights: non-negative least squares; ridge); forward selection (greedy); the metrics whose factor "
            "profiles differ most (factors)."
        ),
    ] = "z"
    by: Annotated[
        Literal["segment", "group"],
        Field(description="What cross-validation holds out: folds of segments, or one group after the other."),
    ] = "segment"
    folds: Annotated[int, Field(ge=2, description="Folds of segments.")] = 10
    penalty: Annotated[
        float | None, Field(ge=0, description="Penalty of ridge; chosen by an inner cross-validation unless given.")
    ] = None
    size: Annotated[int, Field(ge=2, description="How many metrics the rule factors combines.")] = 2
    best: Annotated[
        Literal["sample", "training"],
        Field(
            description="The member to beat: the best of the rows it is compared on, group by group, or the best of "
            "the training rows, which is what a user could have chosen."
        ),
    ] = "sample"
    nan: Annotated[
        Literal["error", "omit"], Field(description="Missing values: an error, or leave the row out for all metrics.")
    ] = "error"
    resamples: Annotated[int, Field(ge=1, description="Bootstrap resamples.")] = 1000
    confidence: Annotated[float, Field(gt=0, lt=1, description="Level of the intervals.")] = 0.95
    seed: Annotated[int, Field(ge=0, description="Of folds and resamples.")] = 1

    @model_validator(mode="after")
    def _consistent(self) -> EnsembleSettings:
        if self.penalty is not None and self.how != "ridge":
            raise ValueError(f"`penalty=` goes with `how=ridge`, not with `how={self.how}`")
        for field in ("folds", "by"):
            if (
                self.how not in LEARNED
                and self.best == "sample"
                and getattr(self, field) != type(self).model_fields[field].default
            ):
                raise ValueError(f"`{field}=` goes with weights that are learned: `how={self.how}` has none")
        if self.by == "group" and self.folds != 10:
            raise ValueError("`folds=` goes with `by=segment`; `by=group` holds out one group after the other")
        if "size" in self.model_fields_set and self.size != 2 and self.how != "factors":
            raise ValueError(f"`size=` goes with `how=factors`, not with `how={self.how}`")
        return self
