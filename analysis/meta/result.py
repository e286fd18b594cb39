"""What comes out: agreement of metrics with human judgments, tests between metrics, averages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from bsx.analysis.stats.results import Comparison
from bsx.errors import UnknownNameError, did_you_mean
from bsx.support.result import Interval, Notice, Number, Result

Figure = int | Number | Interval
Item = TypeVar("Item")


def _named(name: str, items: Mapping[str, Item], what: str) -> Item:
    if name not in items:
        hint = did_you_mean(name, list(items))
        raise UnknownNameError(f"there is no {what} {name!r}; there are {', '.join(items)}.{hint}")
    return items[name]


class _ByMetric:
    """What holds the agreement of each metric, by whose name it is asked."""

    metrics: tuple[MetricAgreement, ...]

    def __getitem__(self, metric: str) -> MetricAgreement:
        """Return a metric's agreement.

        Raises:
            UnknownNameError: for a metric without values here; names those that have some.
        """
        return _named(metric, {item.metric: item for item in self.metrics}, "metric")


@dataclass(frozen=True)
class WithoutOne:
    """What a correlation is without one system, whichever it is.

    Attributes:
        lowest: the lowest value.
        without_lowest: the system without which it is so low.
        highest: the highest value.
        without_highest: the system without which it is so high.
    """

    lowest: Number
    without_lowest: str
    highest: Number
    without_highest: str


@dataclass(frozen=True)
class MetricAgreement:
    """One metric's agreement with human judgments in a group, or its mean over groups.

    Attributes:
        metric: its name.
        value: the figure that is averaged over groups, tested and bracketed by the interval; NaN if the metric has no
            values in some group.
        ci: its interval.
        figures: everything that was measured, by name; NaN where it is not defined.
        method: figure and interval in words.
        control: whether it is no competitor, but knows nothing of how good a translation is.
        without_one: the value without one system; None if systems are not what is correlated, or under four.
        wins: of a mean over groups: groups in which nothing significantly outperforms it; None if nothing was tested.
    """

    metric: str
    value: Number
    ci: Interval
    figures: dict[str, Figure]
    method: str = ""
    control: bool = False
    without_one: WithoutOne | None = None
    wins: int | None = None


@dataclass(frozen=True)
class Winners:
    """Which metrics nothing with a higher value significantly outperforms, and the rank of each.

    Attributes:
        winners: what WMT prints in bold.
        ranks: metric -> rank cluster, from 1; the best first.
        alpha: level of significance.
    """

    winners: tuple[str, ...]
    ranks: dict[str, int]
    alpha: float


@dataclass(frozen=True)
class GroupResult(_ByMetric):
    """All metrics in one group.

    Attributes:
        group: its name.
        n: rows used.
        left_out: rows left out because a value is missing.
        metrics: agreement of each metric that has values here, then of the controls.
        tests: every ordered pair of metrics.
        test: the test that was run.
        clusters: winners and ranks; None if nothing was tested.
        control_tests: each metric against each control.
        systems: how many systems are correlated at the level ``sys``; None at others.
    """

    group: str
    n: int
    left_out: int
    metrics: tuple[MetricAgreement, ...]
    tests: tuple[Comparison, ...]
    test: str
    clusters: Winners | None
    control_tests: tuple[Comparison, ...] = ()
    systems: int | None = None

    def find(self, metric: str) -> MetricAgreement | None:
        """Return a metric's agreement, None if it has no values in this group; ``group[metric]`` is never None."""
        return next((agreement for agreement in self.metrics if agreement.metric == metric), None)


@dataclass(frozen=True)
class AverageResult(_ByMetric):
    """Means over groups.

    Attributes:
        groups: how many.
        metrics: one entry a metric, then one a control.
        tests: of each pair of metrics' mean difference; empty for one group, or if nothing was tested.
        control_tests: of the mean difference of each metric from each control.
    """

    groups: int
    metrics: tuple[MetricAgreement, ...]
    tests: tuple[Comparison, ...]
    control_tests: tuple[Comparison, ...] = ()


@dataclass(frozen=True, repr=False)
class MetaResult(Result):
    """A meta-evaluation; ``settings`` are those of `bsx.analysis.meta.settings.MetaSettings`.

    Attributes:
        groups: one result a group, in order of first appearance.
        average: over groups; None where they are kinds of errors, whose mean says nothing.
        headline: name of the figure that has intervals, tests and an average.
        human: the column of human scores.
        target: what intervals and tests speak about.
        metrics: names, in the order given.
        sentinels: names of the controls.
        systems: whether rows are arranged by system and segment.
        warnings: those of `bsx.metrics.learned.seen.seen_notices`, metrics that were fitted to these rows; and of
            `bsx.analysis.stats.judged`, what human scores cannot say.
    """

    kind: ClassVar[str] = "meta"

    groups: tuple[GroupResult, ...]
    average: AverageResult | None
    headline: str
    human: str
    target: str
    metrics: tuple[str, ...]
    sentinels: tuple[str, ...] = ()
    systems: bool = False
    warnings: tuple[Notice, ...] = ()

    def __getitem__(self, group: str) -> GroupResult:
        """Return a group's result.

        Raises:
            UnknownNameError: if there is none; lists those there are.
        """
        return _named(group, {item.group: item for item in self.groups}, "group")


@dataclass(frozen=True, repr=False)
class Judgments(Result):
    """Meta-evaluations of the same metrics, one for each column of human scores.

    Attributes:
        judgments: one for each, in the order given.
        warnings: as those of `MetaResult`.
    """

    kind: ClassVar[str] = "meta-judgments"

    judgments: tuple[MetaResult, ...]
    warnings: tuple[Notice, ...] = ()

    def __getitem__(self, human: str) -> MetaResult:
        """Return the result with one column of human scores.

        Raises:
            UnknownNameError: if it is none of them.
        """
        return _named(human, {item.human: item for item in self.judgments}, "judgment")
