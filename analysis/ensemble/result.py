"""What an ensemble is worth: correlations, gains and tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from bsx.analysis.stats.results import Comparison
from bsx.support.result import Endless, Interval, Notice, Number, Result, null_means

ALPHA = 0.05
"""p below which an ensemble is said to agree better than its best member."""

GainInterval = tuple[Annotated[float, null_means(-math.inf)], Endless]
"""Ends of the interval of a gain, infinite where the best member may have no correlation at all."""


@dataclass(frozen=True)
class GroupGain:
    """The ensemble in one group.

    Attributes:
        group: its name; ``all`` without groups.
        n: rows.
        units: sets of rows that belong together, which the bootstrap draws; n where every row is one by itself.
        members: metric -> Pearson's r with human scores, sign turned if lower is better.
        ensemble: r of the ensemble.
        best: the member that the ensemble is compared with.
        best_r: its r.
        gain: ensemble / best_r - 1; NaN where best_r is not above 0.
        ci: interval of the gain.
        tests: ``williams`` and ``bootstrap``: of the ensemble against the best member; the interval of the second
            allows for the choice of that member, as ``ci`` does.
    """

    group: str
    n: int
    units: int
    members: dict[str, Number]
    ensemble: Number
    best: str
    best_r: Number
    gain: Number
    ci: GainInterval
    tests: dict[str, Comparison]

    @property
    def decisive(self) -> float:
        """The one-sided p to go by: of the Williams test, or of the bootstrap where rows belong together."""
        return self.tests["williams" if self.units == self.n else "bootstrap"].p


@dataclass(frozen=True)
class FoldWeights:
    """What one training part taught.

    Attributes:
        fold: its name.
        train: rows trained on.
        test: rows scored with it.
        weights: metric -> weight.
        best: the member that agrees best with human scores in the training rows.
        penalty: of ridge, else None.
        fell_back: no member was worth a weight, so all got the same.
    """

    fold: str
    train: int
    test: int
    weights: dict[str, Number]
    best: str
    penalty: float | None
    fell_back: bool


@dataclass(frozen=True, repr=False)
class EnsembleResult(Result):
    """An ensemble, measured.

    Attributes:
        how: the rule.
        normalise: what it does to scores before it adds them up: ``none``, ``z`` or ``rank``.
        members: the metrics.
        lower: those of them of which lower is better.
        weights: metric -> weight, fitted on all rows (or on the table given to fit on).
        groups: the ensemble in each group. Where weights are fitted and no table to fit on was given, its scores are
            those of cross-validation: no row's score comes from weights that the row was trained on.
        average_gain: mean of the groups' gains; NaN if one is undefined.
        average_ci: its interval.
        average_difference: mean of the groups' differences between r of the ensemble and of the best member.
        average_difference_ci: its interval.
        average_p: one-sided bootstrap p of "the average gain is above 0", or the difference if the gain has no bounds.
        folds: the training parts, if there were any.
        kept_together: columns whose equal cells keep rows in one fold and in one unit of the bootstrap.
        units: how many such sets of rows there are.
        fitted: rows that the weights were fitted on.
        omitted: rows left out because a number was missing.
        warnings: what to know before the numbers are believed: ``lower-is-better``, ``rows-alone``,
            ``best-of-the-same-rows``, ``equal-weights``, ``hang-together``, ``rows-share-texts``, or those of
            `bsx.metrics.learned.seen.seen_notices`.
    """

    kind: ClassVar[str] = "ensemble"

    how: str
    normalise: str
    members: tuple[str, ...]
    lower: tuple[str, ...]
    weights: dict[str, Number]
    groups: tuple[GroupGain, ...]
    average_gain: Number
    average_ci: GainInterval
    average_difference: Number
    average_difference_ci: Interval
    average_p: Number
    folds: tuple[FoldWeights, ...]
    kept_together: tuple[str, ...]
    units: int
    fitted: int
    omitted: int
    warnings: tuple[Notice, ...]

    @property
    def bounded(self) -> bool:
        """Whether the average gain has an interval with ends: the best members' correlations are clearly above 0."""
        return all(map(math.isfinite, self.average_ci))
