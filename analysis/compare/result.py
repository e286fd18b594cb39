"""Systems under metrics: scores, tests, ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from bsx.analysis.stats.equivalence import Verdict
from bsx.analysis.stats.results import Comparison
from bsx.support.result import Interval, Notice, Number, Result, Shown


@dataclass(frozen=True)
class SystemScore:
    """A system's score.

    Attributes:
        system: its name.
        score: under the metric.
        ci: its bootstrap interval over segments, as wide as with as many of like weight as they are worth.
        rank: its cluster from 1, the best, if all pairs were tested; by the rank clusters of WMT, see
            `bsx.analysis.stats.clusters.significance_clusters`.
    """

    system: str
    score: Number
    ci: Interval
    rank: int | None = None


@dataclass(frozen=True)
class PublishedShare:
    """How often people agree with a difference.

    Attributes:
        curve: the metric as the study calls it.
        source: the study.
        delta: the size of the difference in points of the curve.
        share: of pairs of systems that differ by this much, in which people prefer the one that scores higher. Under
            0.5, which curves reach near 0, the difference says nothing.
    """

    curve: str
    source: str
    delta: Number
    share: Number


@dataclass(frozen=True, repr=False)
class PublishedCurve(Shown):
    """A published curve from the size of a difference between systems to the share of pairs in which people agree.

    The share of a difference of d points is a / (1 + exp(-b d)). Source: Kocmi, Zouhar, Federmann & Post 2024,
    Navigating the Metrics Maze, ACL, section 3.3.

    Attributes:
        metric: the metric that it is of here.
        curve: that metric as the study calls it.
        version: which version and settings were studied.
        source: the study.
        citation: of the study.
        data: the name of its data.
        population: what its pairs are.
        pairs: how many pairs of systems.
        languages: how many languages.
        a: the share that no difference goes beyond.
        b: steepness, in 1 / points.
        scale: points of the curve in one point of the metric here.
        agreement: share of all pairs in which people agree with the metric.
        versions: the same of pairs of versions of one system.
        unrelated: the same of unrelated systems.
        fewest: segments under which nothing is claimed.
        claimed: whether the systems compared here have as many segments.
    """

    metric: str
    curve: str
    version: str
    source: str
    citation: str
    data: str
    population: str
    pairs: int
    languages: int
    a: Number
    b: Number
    scale: Number
    agreement: Number
    versions: Number
    unrelated: Number
    fewest: int
    claimed: bool = True

    def at(self, difference: float) -> PublishedShare | None:
        """Return how often people agree with a difference of the metric here, of either sign; None for none, or NaN."""
        delta = abs(difference) * self.scale
        if not delta > 0:
            return None
        return PublishedShare(self.curve, self.source, delta, self.share(delta))

    def share(self, delta: float) -> float:
        """Return the share of pairs that differ by so many points in which people agree."""
        return self.a / (1 + math.exp(-self.b * delta))

    def needed(self, share: float) -> float | None:
        """Return the points that pairs differ by in a share of which people agree; None if no difference has that."""
        return -math.log(self.a / share - 1) / self.b if 0 < share < self.a else None


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
        warnings: ``few-decide`` where nine tenths of a difference's squares are those of few segments or documents;
            ``few-segments`` for a bootstrap; ``too-few-to-swap`` and ``few-resamples`` where nothing can be
            significant; ``mean-of-segments`` where a metric's own score is another.
        documents: how many documents were drawn and swapped; None if segments were.
        published: what was published of how often people agree with differences of these metrics; may be empty.
        outputs: which candidates are no translation, by kind and system; see `bsx.data.outputs.KINDS`.
    """

    kind: ClassVar[str] = "compare"

    segments: int
    systems: tuple[str, ...]
    baseline: str | None
    metrics: tuple[MetricComparison, ...]
    warnings: tuple[Notice, ...] = ()
    documents: int | None = None
    published: tuple[PublishedCurve, ...] = ()
    outputs: tuple[Notice, ...] = ()
