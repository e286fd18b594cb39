"""Systems under several metrics, beside human judgments of differences as large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bsx.analysis.agreement.people import PeopleCurve, PeopleStep
from bsx.support.result import Interval, Notice, Number, Result


@dataclass(frozen=True)
class SystemScore:
    """A system's score.

    Attributes:
        system: its name.
        score: under the metric.
        ci: its bootstrap interval over segments.
        rank: its cluster from 1, the best, if all pairs were tested; by the rank clusters of WMT, see
            `bsx.analysis.stats.clusters.significance_clusters`.
    """

    system: str
    score: Number
    ci: Interval
    rank: int | None = None


@dataclass(frozen=True)
class SystemTest:
    """Two systems under one metric.

    Attributes:
        a: the first system.
        b: the second; the baseline unless all pairs are compared.
        difference: the first one's score less the second one's.
        ci: its interval; None of a test that gives none.
        p: one-sided, of "a is better than b".
        p_two_sided: of "they differ".
        p_adjusted: the two-sided p, corrected for the number of pairs of this metric.
        better: the better system if ``p_adjusted`` is below alpha, else None.
        method: the test in words.
        people: judged pairs of other systems that differ about as much, if there are such.
    """

    a: str
    b: str
    difference: Number
    ci: Interval | None
    p: Number
    p_two_sided: Number
    p_adjusted: Number
    better: str | None
    method: str
    people: PeopleStep | None = None

    @property
    def worse(self) -> str | None:
        """The other one of the better system."""
        return None if self.better is None else self.a if self.better == self.b else self.b


@dataclass(frozen=True)
class MetricComparison:
    """All systems under one metric.

    Attributes:
        metric: its name.
        higher_is_better: whether the higher of two scores is the better one.
        signature: the settings behind the scores; None if unknown.
        systems: in the order given.
        tests: of each system against the first, or of all pairs.
    """

    metric: str
    higher_is_better: bool
    signature: str | None
    systems: tuple[SystemScore, ...]
    tests: tuple[SystemTest, ...]

    def __getitem__(self, system: str) -> SystemScore:
        """Return the score of a system."""
        return next(one for one in self.systems if one.system == system)


@dataclass(frozen=True, kw_only=True, repr=False)
class CompareResult(Result):
    """Systems under one or several metrics.

    Attributes:
        segments: how many segments they were compared on.
        systems: in the order given.
        baseline: the one that the others were compared with; None if all pairs were.
        metrics: one entry a metric.
        people: how often human judgments agreed with differences of these metrics, by group, on other systems; may be
            empty.
        warnings: ``few-segments`` for a bootstrap; ``mean-of-segments`` where a metric's own score is another.
    """

    kind: ClassVar[str] = "compare"

    segments: int
    systems: tuple[str, ...]
    baseline: str | None
    metrics: tuple[MetricComparison, ...]
    people: tuple[PeopleCurve, ...] = ()
    warnings: tuple[Notice, ...] = ()
