"""What a meta-evaluation finds in a group and on average: agreement, tests, winners."""

from __future__ import annotations

from dataclasses import dataclass

from bsx.analysis.agreement.measures import MetricAgreement
from bsx.analysis.agreement.settings import MetaSettings
from bsx.analysis.documents.agreement import ClusterRow, MetaGroupRow, MetaMetricRow, MetaTestRow
from bsx.analysis.stats.clusters import Clusters
from bsx.analysis.stats.results import Comparison
from bsx.errors import UnknownNameError
from bsx.support.near import did_you_mean

# What is averaged over groups, level by level; the first figure of each list may be replaced by the statistic chosen.
AVERAGED = {
    "seg": ("pearson", "spearman", "kendall"),
    "sys": ("pearson", "spearman", "kendall", "pairwise_accuracy", "spa"),
    "darr": ("tau",),
    "hybrid": ("limit", "pearson", "hits_at_1", "mrr", "difference"),
}


def averaged(settings: MetaSettings) -> tuple[str, ...]:
    """Return the figures that are averaged over groups."""
    more = {"acc_eq": ("acc_eq", "chance"), "kendall_c": ("kendall_c",)}.get(settings.statistic, ())
    return (*more, *AVERAGED[settings.level])


@dataclass(frozen=True)
class AverageTest:
    """Two metrics' mean difference over groups.

    Attributes:
        a: the first metric.
        b: the second.
        difference: mean of a's value less b's.
        low: lower end of its interval.
        high: upper end.
        p: one-sided, "a agrees better on average".
        p_two_sided: of "they differ on average".
        p_adjusted: the two-sided p, corrected for the number of pairs as the settings say.
    """

    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float
    p_two_sided: float
    p_adjusted: float

    def to_row(self, method: str) -> MetaTestRow:
        """Return the test as it stands in the document of ``bsx meta``."""
        return MetaTestRow.from_results(self, method=method)


@dataclass(frozen=True)
class PairTest:
    """One ordered pair of metrics.

    Attributes:
        a: the first metric.
        b: the second.
        comparison: the test; its ``p`` is one-sided for "a better than b".
        p_adjusted: the p that makes winners, corrected for the number of pairs; None without a correction, and for the
            direction of the worse metric, which is not among the corrected tests.
    """

    a: str
    b: str
    comparison: Comparison
    p_adjusted: float | None

    def wins(self, alternative: str, alpha: float) -> bool:
        """Return whether the first metric is significantly better, by the p that makes winners."""
        plain = self.comparison.p if alternative == "greater" else self.comparison.p_two_sided
        p = plain if self.p_adjusted is None else self.p_adjusted
        return self.comparison.difference > 0 and p < alpha

    def to_row(self) -> MetaTestRow:
        """Return the test as it stands in the document of ``bsx meta``."""
        return MetaTestRow.from_results(self.comparison, self)


@dataclass(frozen=True)
class GroupResult:
    """All metrics in one group.

    Attributes:
        group: its name.
        n: rows used.
        left_out: rows left out because a value is missing.
        metrics: agreement of each metric that has values here.
        test: the test that was run.
        tests: every ordered pair of them.
        clusters: winners and ranks; None if nothing was tested.
        sentinels: agreement of the controls, which are no competitors.
        control_tests: each metric against each control.
    """

    group: str
    n: int
    left_out: int
    metrics: tuple[MetricAgreement, ...]
    test: str
    tests: tuple[PairTest, ...]
    clusters: Clusters | None
    sentinels: tuple[MetricAgreement, ...] = ()
    control_tests: tuple[PairTest, ...] = ()

    def find(self, metric: str) -> MetricAgreement | None:
        """Return a metric's agreement, None if it has no values in this group; ``group[metric]`` is never None."""
        return next((found for found in (*self.metrics, *self.sentinels) if found.metric == metric), None)

    def __getitem__(self, metric: str) -> MetricAgreement:
        """Return a metric's agreement.

        Raises:
            UnknownNameError: for a metric without values in this group; names those that have some.
        """
        found = self.find(metric)
        if found is None:
            there = [known.metric for known in (*self.metrics, *self.sentinels)]
            hint = did_you_mean(metric, there)
            raise UnknownNameError(f"group {self.group!r} has no metric {metric!r}; it has {', '.join(there)}.{hint}")
        return found

    def to_row(self) -> MetaGroupRow:
        """Return the group as it stands in the document of ``bsx meta``."""
        clusters = None
        if self.clusters is not None:
            ranks = dict(zip(self.clusters.names, self.clusters.ranks, strict=True))
            clusters = ClusterRow(winners=list(self.clusters.winners), ranks=ranks, alpha=self.clusters.alpha)
        metrics = [
            MetaMetricRow.model_validate(
                {"metric": m.metric, **m.figures, "ci": (m.low, m.high), "method": m.method}
                | ({"control": True} if m in self.sentinels else {})
            )
            for m in (*self.metrics, *self.sentinels)
        ]
        more = {"control_tests": [test.to_row() for test in self.control_tests]} if self.sentinels else {}
        return MetaGroupRow(
            group=self.group,
            n=self.n,
            left_out=self.left_out,
            metrics=metrics,
            tests=[test.to_row() for test in self.tests],
            test=self.test,
            clusters=clusters,
            **more,
        )


@dataclass(frozen=True)
class Average:
    """One metric's mean over groups.

    Attributes:
        metric: its name.
        value: mean of the figure that has intervals; NaN if the metric has no values in some group.
        low: lower end of the mean's interval.
        high: upper end.
        figures: mean of each figure, by name.
        wins: groups in which nothing significantly outperforms it; None if nothing was tested.
    """

    metric: str
    value: float
    low: float
    high: float
    figures: dict[str, float]
    wins: int | None
