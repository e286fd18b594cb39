"""Systems under metrics: scores, tests, ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bsx.analysis.compare.curves import PublishedCurve, PublishedShare
from bsx.analysis.stats.equivalence import Verdict
from bsx.analysis.stats.results import Comparison
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


@dataclass(frozen=True, kw_only=True, repr=False)
class SystemTest(Comparison):
    """Two systems under one metric; the second is the baseline unless all pairs are compared.

    Attributes:
        better: the better system if the p that decides is below alpha, else None.
        verdict: what both tests say, see `bsx.analysis.stats.equivalence`; None without a margin.
        published: how often people agree with a difference that large, as was published for the metric; None where
            nothing was.
    """

    better: str | None
    verdict: Verdict | None = None
    published: PublishedShare | None = None

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
        return next(item for item in self.systems if item.system == system)


@dataclass(frozen=True, kw_only=True, repr=False)
class CompareResult(Result):
    """Systems under one or several metrics.

    Attributes:
        segments: how many segments they were compared on.
        systems: in the order given.
        baseline: the one that the others were compared with; None if all pairs were.
        metrics: one entry a metric.
        warnings: ``few-segments`` for a bootstrap; ``too-few-to-swap`` and ``few-resamples`` where nothing can be
            significant; ``mean-of-segments`` where a metric's own score is another.
        documents: how many documents were drawn and swapped; None if segments were.
        published: what was published of how often people agree with differences of these metrics; may be empty.
    """

    kind: ClassVar[str] = "compare"

    segments: int
    systems: tuple[str, ...]
    baseline: str | None
    metrics: tuple[MetricComparison, ...]
    warnings: tuple[Notice, ...] = ()
    documents: int | None = None
    published: tuple[PublishedCurve, ...] = ()
