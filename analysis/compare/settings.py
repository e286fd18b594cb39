"""Settings of a comparison of systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from bsx.analysis.stats.systems.paired import Aggregate
from bsx.support.settings import MOST_DRAWS, Interval, Seeded, Significance


class CompareSettings(Seeded, Interval, Significance):
    """How systems are compared."""

    test: Annotated[
        Literal["bootstrap-t", "bootstrap", "randomise"],
        Field(description="Studentised bootstrap; or as published: paired bootstrap, approximate randomisation."),
    ] = "bootstrap-t"
    resamples: Annotated[
        int | None,
        Field(
            ge=10,
            le=MOST_DRAWS,
            description="Resamples; 1000 for a bootstrap, 10000 for randomisation, more for many pairs.",
        ),
    ] = None
    correction: Annotated[
        Literal["none", "holm", "bh"],
        Field(description="Correction of p-values for the number of differences tested under a metric."),
    ] = "holm"
    margin: Annotated[
        float | None,
        Field(
            gt=0, le=1e12, description="Largest difference of scores that does not matter: test equivalence too (TOST)."
        ),
    ] = None
    all_pairs: Annotated[
        bool, Field(description="Compare every system with every other, instead of all with the first.")
    ] = False

    def draws(self, tests: int) -> int:
        """Return the number of resamples: so many that the smallest corrected p is a fourth of alpha at most."""
        least = 10_000 if self.test == "randomise" else 1000
        return self.resamples or max(least, math.ceil(4 * tests / self.alpha) if self.correction != "none" else 0)


class ComparedMetric(CompareSettings):
    """How systems are compared under one metric, and what that metric is."""

    metric: Annotated[str, Field(description="The metric's name.")] = "metric"
    aggregate: Annotated[
        Aggregate | None,
        Field(
            description="From mean statistics (…, k) to scores (…,), see `bsx.analysis.stats.systems.paired`; "
            "None: the mean of scores."
        ),
    ] = None
    documents: Annotated[
        Sequence[str] | None, Field(description="Document of each segment (n,): they are drawn and swapped whole.")
    ] = None
    higher_is_better: Annotated[bool, Field(description="False for error rates.")] = True
    signature: Annotated[str | None, Field(description="Of the scores.")] = None
