"""SEM: how alike two sentences are in meaning, as it was judged."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.analysis.factors.base import Factor, FactorConfig, FactorScores, Resources, SentencePairs
from bsx.errors import InputError


class SemanticConfig(FactorConfig):
    """Settings of SEM."""

    column: Annotated[str | None, Field(description="Column of judgments, if not the one named for all.")] = None


class Semantic(Factor[SemanticConfig]):
    """Human judgments of adequacy or similarity, as the data have them.

    Source: Kaster, Zhao & Eger 2021, section 3.
    """

    Config = SemanticConfig
    reads = frozenset({"human"})

    def compute(self, pairs: SentencePairs, resources: Resources) -> FactorScores:
        """Return the column; see `Factor.compute`."""
        column = self.config.column or resources.human
        if column is None:
            present = ", ".join(map(repr, pairs.columns)) or "none"
            raise InputError(f"sem: name the column of human judgments (human); the columns are {present}")
        values = pairs.numbers(column)
        missing = int(np.isnan(values).sum())
        notes = (f"sem: {missing} of {len(values)} cells of column {column!r} are empty",) if missing else ()
        return FactorScores(values, {"column": column, "missing": missing}, notes)
