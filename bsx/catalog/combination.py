"""Scores of several metrics made into one: turned so that higher is better, normalised, weighted, added up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from bsx.errors import InputError
from bsx.support.checks import Array

Normalise = Literal["none", "z", "rank"]
LEARNED = ("weights", "ridge")
"""Rules whose weights are fitted to human scores."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Member(_Part):
    """One metric of a combination.

    Attributes:
        metric: its column, or how `bsx.get_metric` calls it.
        weight: what its normalised score is multiplied by.
        lower: lower scores are better: the sign is turned before all else.
        centre: subtracted from the turned score, for ``normalise: z``.
        spread: what the rest is divided by, for ``normalise: z``.
        ranks: (turned score, position from 0 to 1 among the scores that it was fitted on), both rising, for
            ``normalise: rank``; scores between are interpolated.
    """

    metric: str
    weight: float
    lower: bool = False
    centre: float | None = None
    spread: Annotated[float, Field(gt=0)] | None = None
    ranks: list[list[float]] | None = None

    @field_validator("ranks")
    @classmethod
    def _rising(cls, ranks: list[list[float]] | None) -> list[list[float]] | None:
        if ranks is not None:
            if not ranks or any(len(pair) != 2 for pair in ranks):
                raise ValueError("needs pairs of score and position")
            table = np.array(ranks)
            if len(table) > 1 and not (np.diff(table, axis=0) > 0).all():
                raise ValueError("scores and positions must rise")
        return ranks

    def normalised(self, scores: Array, normalise: Normalise) -> Array:
        """Return turned and normalised scores (n,); NaN stays NaN."""
        turned = -scores if self.lower else scores
        if normalise == "z":
            return np.asarray((turned - (self.centre or 0.0)) / (self.spread or 1.0))  # a combination has checked both
        if normalise == "rank":
            points, positions = np.array(self.ranks).T
            return np.where(np.isnan(turned), np.nan, np.interp(turned, points, positions))
        return turned


class Combination(_Part):
    """A weighted sum of normalised scores; higher is better.

    Attributes:
        how: the rule that chose the weights, for the record: ``mean``, ``z``, ``rank``, ``weights``, …
        normalise: ``none``, ``z`` (less a mean, over a standard deviation) or ``rank`` (position among known scores).
        members: the metrics.
    """

    how: str
    normalise: Normalise
    members: list[Member]

    @model_validator(mode="after")
    def _complete(self) -> Combination:
        names = [member.metric for member in self.members]
        if not names:
            raise ValueError("members: at least one is needed")
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"members: {twice[0]!r} is there twice")
        needed = {"none": (), "z": ("centre", "spread"), "rank": ("ranks",)}[self.normalise]
        for member in self.members:
            lacking = [field for field in needed if getattr(member, field) is None]
            if lacking:
                raise ValueError(f"members: {member.metric}: normalise={self.normalise} needs {lacking[0]}")
        if not any(member.weight for member in self.members):
            raise ValueError("members: every weight is 0")
        return self

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each metric."""
        return {member.metric: member.weight for member in self.members}

    def normalised(self, columns: Mapping[str, ArrayLike]) -> Array:
        """Return every member's turned and normalised scores (n, members).

        Args:
            columns: metric -> its raw scores (n,).

        Raises:
            InputError: if a member has no column.
        """
        absent = [member.metric for member in self.members if member.metric not in columns]
        if absent:
            raise InputError(f"the ensemble has a member {absent[0]!r}, of which there are no scores")
        parts = [
            member.normalised(np.asarray(columns[member.metric], dtype=np.float64), self.normalise)
            for member in self.members
        ]
        return np.stack(parts, axis=-1)

    def apply(self, columns: Mapping[str, ArrayLike]) -> Array:
        """Return the combined scores (n,); arguments and errors as for `normalised`.

        >>> both = Combination(how="mean", normalise="none", members=[
        ...     Member(metric="a", weight=0.5), Member(metric="b", weight=0.5, lower=True)])
        >>> both.apply({"a": [1.0, 2.0], "b": [1.0, 0.0]}).tolist()
        [0.0, 1.0]
        """
        used = self.model_copy(update={"members": [member for member in self.members if member.weight]})
        return np.asarray(used.normalised(columns) @ np.array([member.weight for member in used.members]))
