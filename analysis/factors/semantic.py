"""SEM: how alike two sentences are in meaning, as it was judged."""

from __future__ import annotations

import numpy as np

from bsx.analysis.factors.base import Factor, FactorConfig, FactorScores, Resources, SentencePairs
from bsx.errors import InputError


class Semantic(Factor):
    """Human judgments of adequacy or similarity, as the data have them.

    Source: Kaster, Zhao & Eger 2021, section 3.
    """

    Config = FactorConfig
    reads = frozenset({"human"})

    def compute(self, pairs: SentencePairs, resources: Resources) -> FactorScores:
        """Return the column; see `Factor.compute`."""
        column = resources.human
        if column is None:
            present = ", ".join(map(repr, pairs.columns)) or "none"
            raise InputError(f"sem: name the column of human judgments (human); the columns are {present}")
        values = pairs.numbers(column)
        missing = int(np.isnan(values).sum())
        notes = (f"sem: {missing} of {len(values)} cells of column {column!r} are empty",) if missing else ()
        return FactorScores(values, {"column": column, "missing": missing}, notes)
