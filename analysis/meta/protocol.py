"""WMT's official table: metrics ranked by a weighted average over tasks, with significance clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from bsx.analysis.meta.settings import Test
from bsx.analysis.stats.clusters import significance_clusters
from bsx.analysis.stats.systems.swapped import (
    SLACK,
    Swapped,
    swapped_accuracy,
    swapped_pearson,
    swapped_soft,
    swapped_ties,
)
from bsx.catalog.protocols import ProtocolTaskEntry
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.progress import Progress, Watch, reporter
from bsx.support.result import Number, Result
from bsx.support.settings import Resampled, Significance, settled

MORE = 9
"""How many times as many draws a test gets once more, if it decides a split and is not clear."""
RISK = 0.01
"""Probability that such a test is called clear on the other side of alpha than all possible draws would have it."""
ProtocolStatistic = Literal["pairwise_accuracy", "pearson", "spa", "acc_eq"]
Why = Literal["reference", "human", "outlier", "unjudged"]


@dataclass(frozen=True)
class LeftOutSystem:
    """A system that is not ranked.

    Attributes:
        pair: the language pair.
        system: its name.
        why: ``reference``: metrics use it as the reference; ``human``: a human translation, which the protocol does not
            rank; ``outlier``: named as one by the protocol; ``unjudged``: no human scores.
    """

    pair: str
    system: str
    why: Why


@dataclass(frozen=True)
class ProtocolTask:
    """One column of the table.

    Attributes:
        name: such as ``en-de seg acc_eq``.
        pairs: language pairs: one, or those that are pooled.
        level: systems (``sys``) or segments (``seg``).
        statistic: what is computed.
        weight: share in the average.
        systems: how many are ranked, in the order of ``pairs``.
        segments: how many judged segments the figures rest on; 0 at the level of systems.
        dropped: judged segments left out because a system has no human score of them.
    """

    name: str
    pairs: tuple[str, ...]
    level: Literal["sys", "seg"]
    statistic: ProtocolStatistic
    weight: float
    systems: tuple[int, ...]
    segments: int = 0
    dropped: int = 0


@dataclass(frozen=True)
class TaskFigure:
    """A metric's accuracy or correlation in one task, and its significance cluster; without tests its place."""

    value: Number
    rank: int


@dataclass(frozen=True)
class RankedMetric:
    """One row of the table.

    Attributes:
        metric: its name, with ``[noref]`` behind one that uses no reference, as WMT prints it.
        average: weighted average over all tasks, correlations r as (r + 1) / 2; NaN where a task is missing.
        rank: significance cluster of the average; without tests its place; 0 where a task is missing.
        p: one-sided p of "the first metric is better"; None of the first one, and without tests.
        unclear: whether chance decides that it opens its cluster, or does not: no more is drawn, and p is still as near
            to alpha as draws scatter.
        figures: task -> figure.
        baseline: whether the protocol calls it a baseline.
        primary: whether it belongs to the protocol's main table.
    """

    metric: str
    average: Number
    rank: int
    p: float | None
    figures: dict[str, TaskFigure]
    unclear: bool = False
    baseline: bool = False
    primary: bool = True


@dataclass(frozen=True, kw_only=True, repr=False)
class ProtocolResult(Result):
    """A year's table of metrics.

    Attributes:
        protocol: its name.
        title: what it is.
        source: where it is defined.
        tasks: its columns.
        metrics: its rows, best average first; those that miss a task last.
        left_out: systems that are not ranked.
        missing_pairs: language pairs of the protocol that are left out; then it is not the official table.
        missing_metrics: metrics of its main table that the data do not have.
        tested: whether clusters rest on tests.
        alpha: level of significance.
        resamples: draws of each test; `MORE` times as many again of those that decide a split of the average, and are
            not clear.
    """

    kind: ClassVar[str] = "protocol"

    protocol: str
    title: str
    source: str
    tasks: tuple[ProtocolTask, ...]
    metrics: tuple[RankedMetric, ...]
    left_out: tuple[LeftOutSystem, ...] = ()
    missing_pairs: tuple[str, ...] = ()
    missing_metrics: tuple[str, ...] = ()
    tested: bool = True
    alpha: float = 0.05
    resamples: int = 1000


class ProtocolSettings(Resampled, Significance):
    """How the metrics of a table are tested."""

    test: Annotated[
        Test | None,
        Field(description="perm-both, the protocol's own permutation tests, or none: ranks are then places."),
    ] = None

    @property
    def tested(self) -> bool:
        """Whether metrics are tested.

        Raises:
            InputError: for a test that no protocol has.
        """
        if self.test not in (None, "perm-both", "none"):
            raise InputError(f"test {self.test} is not the protocol's: it is perm-both, or none", setting="test")
        return self.test != "none"


@dataclass(frozen=True, eq=False)
class ProtocolScores:
    """Scores of one language pair, of the systems that are ranked.

    Attributes:
        pair: the language pair.
        systems: their names.
        human_systems: human scores of systems (systems,); NaN where there is none.
        human_segments: human scores of segments (systems, segments); NaN where there is none.
        of_systems: metric -> scores of systems (systems,).
        of_segments: metric -> scores of segments (systems, segments).
    """

    pair: str
    systems: tuple[str, ...]
    human_systems: Array
    human_segments: Array
    of_systems: Mapping[str, Array]
    of_segments: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class _Computed:
    """A task, the value of each of its metrics, in the order of the scores, and the scores, which test them."""

    task: ProtocolTask
    values: dict[str, float]
    scores: Swapped

    def share(self, metric: str) -> float:
        """Return a metric's value as one between 0 and 1."""
        return (self.values[metric] + 1) / 2 if self.task.statistic == "pearson" else self.values[metric]


@settled(ProtocolSettings)
def rank_by_protocol(
    columns: Sequence[ProtocolTaskEntry], pairs: Sequence[ProtocolScores], progress: Watch, settings: ProtocolSettings
) -> tuple[tuple[ProtocolTask, ...], tuple[RankedMetric, ...]]:
    """Rank metrics as a protocol of WMT's does.

    The average takes each language pair of a task with the same weight. Metrics open a new cluster where one of the
    current cluster is significantly better (p at most alpha). p of a task is that of WMT's tool: cells trade places for
    accuracy, Pearson's r and SPA, verdicts on pairs for acc_eq. p of the average sums the same draws over the tasks.
    Where that p decides a split and is too near to alpha for its draws, more are made.

    Source: mt-metrics-eval, ``tasks.py`` and ``data.py``; Freitag et al. 2023, section 6. For more draws, Gandy 2009:
    a test is clear when a confidence interval of its p leaves alpha out, here Clopper and Pearson's, of each look half
    the risk.

    Args:
        columns: the tasks.
        pairs: scores of each language pair, in the table's order.
        progress: called with a phase's name, what is done and what there is in all.
        settings: see `ProtocolSettings`.

    Returns:
        Tasks and metrics, best average first.

    Raises:
        InputError: if a metric misses a system's or a judged segment's score, or a task has no metric.
    """
    watch = reporter(progress) or (lambda phase, done, total: None)
    resamples = settings.resamples if settings.tested else 0
    rng = np.random.default_rng(settings.seed)
    seeds = rng.spawn(len(columns) * len(pairs))
    separate = [[pair] for pair in pairs]
    due = [(column, some) for column in columns for some in ([pairs] if column.pooled else separate)]
    computed: list[_Computed] = []
    for place, ((column, some), seed) in enumerate(zip(due, seeds, strict=False)):
        watch("tasks", place, len(due))
        computed.append(_compute(column, some, len(some) / len(seeds), resamples, seed))
    watch("tasks", len(due), len(due))
    every = list(dict.fromkeys(name for result in computed for name in result.values))
    averages = _best_first(
        {  # of the metrics that all tasks have
            name: sum(result.task.weight * result.share(name) for result in computed)
            for name in every
            if all(name in result.values for result in computed)
        }
    )

    def again(names: set[str]) -> list[_Computed]:
        """Compute the tasks of some metrics with other draws."""
        return [
            _compute(column, some, old.task.weight, MORE * resamples, seed, names)
            for (column, some), old, seed in zip(due, computed, rng.spawn(len(due)), strict=True)
        ]

    ranks, p_first, task_ranks, unclear = _ranks(computed, averages, again, settings, watch)
    rows = []
    for name in [*averages, *(name for name in every if name not in averages)]:
        figures = {
            result.task.name: TaskFigure(result.values[name], ranks_of[name])
            for result, ranks_of in zip(computed, task_ranks, strict=True)
            if name in result.values
        }
        average = averages.get(name, float("nan"))
        rows.append(RankedMetric(name, average, ranks.get(name, 0), p_first.get(name), figures, name in unclear))
    return tuple(result.task for result in computed), tuple(rows)


def _best_first(values: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(values.items(), key=lambda item: (-item[1], item[0])))


def _compute(
    column: ProtocolTaskEntry,
    pairs: Sequence[ProtocolScores],
    weight: float,
    resamples: int,
    seed: np.random.Generator,
    only: set[str] | None = None,
) -> _Computed:
    """Compute a task; its metrics are those that all its language pairs have, or those of them that are named."""
    segments = column.level == "seg" or column.statistic == "spa"
    every = [pair.of_segments if segments else pair.of_systems for pair in pairs]
    names = sorted(set(every[0] if only is None else only).intersection(*every))
    where = ", ".join(pair.pair for pair in pairs)
    if not names:
        raise InputError(f"{where}: no metric has scores of {'segments' if segments else 'systems'}")
    used, dropped = 0, 0
    scores: Swapped
    if not segments:
        people, grids = [], []
        for pair in pairs:
            judged = ~np.isnan(pair.human_systems)
            people.append(pair.human_systems[judged])
            grids.append(np.stack([pair.of_systems[name][judged] for name in names]))
            _enough(len(people[-1]), where)
            _whole(grids[-1][:, :, None], names, np.array(pair.systems)[judged].tolist(), pair.pair)
        counts = tuple(map(len, people))
        if column.pooled:
            scores = swapped_accuracy(grids, people, resamples, seed)
        else:
            scores = swapped_pearson(grids[0], people[0], resamples, seed)
    else:
        rows = np.flatnonzero((~np.isnan(pairs[0].human_segments)).any(axis=1))
        counts = (len(rows),)
        _enough(len(rows), where)
        human = pairs[0].human_segments[rows]
        present = ~np.isnan(human)
        grid = np.stack([pairs[0].of_segments[name][rows] for name in names])
        ranked = np.array(pairs[0].systems)[rows].tolist()
        _whole(np.where(present, grid, 0.0), names, ranked, where)
        some, complete = present.any(axis=0), present.all(axis=0)
        used = int(some.sum())
        if column.statistic == "spa":
            used, dropped = int(complete.sum()), int((some & ~complete).sum())
            if not used:
                raise InputError(f"{where}: no segment is judged of every system, which SPA needs")
            order = np.argsort(ranked)  # the orders of systems and segments decide ties of permutations
            scores = swapped_soft(grid[:, order][:, :, complete], human[order][:, complete], resamples, seed)
        elif column.statistic == "acc_eq":
            scores = swapped_ties(grid, human, resamples, seed)
        else:
            scores = swapped_pearson(grid[:, present], human[present], resamples, seed)
    label, of = f"{where} {column.level} {column.statistic}", tuple(pair.pair for pair in pairs)
    task = ProtocolTask(label, of, column.level, column.statistic, weight, counts, used, dropped)
    return _Computed(task, dict(zip(names, scores.values.tolist(), strict=True)), scores)


def _enough(systems: int, where: str) -> None:
    if systems < 2:
        raise InputError(f"{where}: {systems} judged systems are left, at least 2 are needed")


def _whole(scores: Array, names: Sequence[str], systems: Sequence[str], where: str) -> None:
    """Refuse a metric that misses a score: scores (metrics, systems, segments)."""
    missing = np.argwhere(np.isnan(scores))
    if len(missing):
        metric, system, _ = missing[0]
        count = int(np.isnan(scores[metric, system]).sum())
        what = "no score" if scores.shape[2] == 1 else f"no score for {count} judged segments"
        raise InputError(f"{where}: {names[metric]} has {what} of the system {systems[system]}; a metric needs all")


def _ranks(
    computed: Sequence[_Computed],
    averages: Mapping[str, float],
    again: Callable[[set[str]], list[_Computed]],
    settings: ProtocolSettings,
    watch: Progress,
) -> tuple[dict[str, int], dict[str, float], list[dict[str, int]], set[str]]:
    """Return clusters of the average, one-sided p of the first against each, clusters of each task, unclear splits."""
    orders = [_best_first(result.values) for result in computed]
    places = [{name: place for place, name in enumerate(values)} for values in orders]
    if not settings.tested:
        ranks, *of_tasks = ({name: i for i, name in enumerate(values, start=1)} for values in (averages, *orders))
        return ranks, {}, of_tasks, set()
    p_tasks = [np.ones((len(order), len(order))) for order in orders]
    reached, drawn = counts = np.ones((2, len(averages), len(averages)))  # two views of what is counted below
    every = list(dict.fromkeys([*averages, *(name for result in computed for name in result.values)]))

    def count(of: Sequence[_Computed], first: str, second: str) -> tuple[int, int]:
        """Return how many draws reach the observed difference of two averages, and how many there are.

        P of each task of the first draws is kept.
        """
        summed: list[Array] = []
        for result, place, p in zip(of, places, p_tasks, strict=True):
            if first not in place or second not in place:
                continue
            turned = place[first] > place[second]  # the better one of the task comes first
            upper, lower = (second, first) if turned else (first, second)
            names = list(result.values)
            null = result.scores.difference(names.index(upper), names.index(lower))
            if of is computed:
                observed = result.values[upper] - result.values[lower]
                p[place[upper], place[lower]] = (null >= observed - SLACK).mean()
            scale = result.task.weight / (2 if result.task.statistic == "pearson" else 1)
            summed.append((-scale if turned else scale) * null)
        most = max((len(null) for null in summed), default=0)
        null = np.sum([np.resize(null, most) for null in summed], axis=0)
        difference = averages.get(first, np.nan) - averages.get(second, np.nan)
        return int((null >= difference - SLACK).sum()), most

    tests = list(combinations(enumerate(every), 2))
    for done, ((a, first), (b, second)) in enumerate(tests):
        if done % 10 == 0:
            watch("tests", done, len(tests))
        result = count(computed, first, second)
        if b < len(averages):  # metrics without an average come last
            counts[:, a, b] = result
    unclear = _unclear(averages, reached, drawn, settings.alpha)
    if unclear:
        more = again({every[place] for test in unclear for place in test})
        for i, j in unclear:
            counts[:, i, j] += count(more, every[i], every[j])
        unclear = _unclear(averages, reached, drawn, settings.alpha)
    watch("tests", len(tests), len(tests))
    clusters = [_clusters(order, p, settings.alpha) for order, p in zip(orders, p_tasks, strict=True)]
    p_average = reached / drawn
    ranks = _clusters(averages, p_average, settings.alpha) if averages else {}
    p_first = {name: float(p_average[0, place]) for place, name in enumerate(averages) if place}
    return ranks, p_first, clusters, {every[j] for _, j in unclear}


def _unclear(averages: Mapping[str, float], reached: Array, drawn: Array, alpha: float) -> list[tuple[int, int]]:
    """Return the tests, as places in the order of averages, that decide whether a metric opens a cluster, and may not.

    Those are tests whose interval of p holds alpha, where no test of the current cluster is clearly significant.
    Averages come best first; of each test, ``reached`` of ``drawn`` reach the observed difference (metrics, metrics).
    """
    if not averages:
        return []
    beta, tail = need("scipy.stats", "tests").beta, RISK / 4
    low = np.where(reached > 0, beta.ppf(tail, reached, drawn - reached + 1), 0.0)
    high = np.where(reached < drawn, beta.isf(tail, reached + 1, drawn - reached), 1.0)
    ranks = list(_clusters(averages, reached / drawn, alpha).values())
    unclear = []
    for column in range(1, len(ranks)):
        cluster = [row for row in range(column) if ranks[row] == ranks[column - 1]]
        if not (high[cluster, column] <= alpha).any():
            unclear += [(row, column) for row in cluster if low[row, column] <= alpha < high[row, column]]
    return unclear


def _clusters(values: Mapping[str, float], p: Array, alpha: float) -> dict[str, int]:
    """Return the cluster of each metric; WMT takes p = alpha for significant."""
    clusters = significance_clusters(values, p, alpha=float(np.nextafter(alpha, 1)))
    return dict(zip(clusters.names, clusters.ranks, strict=True))
