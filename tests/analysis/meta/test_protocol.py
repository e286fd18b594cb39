"""Metrics ranked by a protocol: the weights of tasks, clusters, metrics that miss a task, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bsx.analysis.meta.protocol import ProtocolResult, ProtocolScores, rank_by_protocol
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import TablePart
from bsx.catalog.protocols import ProtocolTaskEntry
from bsx.errors import InputError
from bsx.support.checks import Array


def task(level: Any, statistic: Any, pooled: bool = False) -> ProtocolTaskEntry:
    return ProtocolTaskEntry(level=level, statistic=statistic, pooled=pooled)


COLUMNS = [
    task("sys", "pairwise_accuracy", pooled=True),
    task("sys", "pearson"),
    task("seg", "pearson"),
    task("seg", "acc_eq"),
]


def scores(pair: str, systems: int = 5, *, seed: int = 1, **noise: float) -> ProtocolScores:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=(systems, 30)) + np.arange(systems)[:, None]
    human[:, -2:] = np.nan
    metrics: dict[str, Array] = {}
    for name, sd in noise.items():
        metrics[name] = np.nan_to_num(human) + sd * rng.normal(size=human.shape)
    people = np.nanmean(human, axis=1)
    names = tuple(f"s{i}" for i in range(systems))
    return ProtocolScores(pair, names, people, human, {k: v.mean(axis=1) for k, v in metrics.items()}, metrics)


def test_the_average_of_all_tasks() -> None:
    pairs = [scores("en-de", good=0.1, fair=1.0, poor=9.0), scores("he-en", 4, seed=2, good=0.1, fair=1.0, poor=9.0)]
    tasks, metrics = rank_by_protocol(COLUMNS, pairs, None, resamples=200)
    names = [task.name for task in tasks[:3]]
    assert names == ["en-de, he-en sys pairwise_accuracy", "en-de sys pearson", "he-en sys pearson"]
    assert [8 * task.weight for task in tasks] == pytest.approx([2, *[1] * 6])  # each pair of each task weighs alike
    assert [task.systems for task in tasks[:3]] == [(5, 4), (5,), (4,)]
    assert {task.segments for task in tasks[3:]} == {28}
    for metric in metrics:
        values = {task.name: metric.figures[task.name].value for task in tasks}
        shares = [(v + 1) / 2 if name.endswith("pearson") else v for name, v in values.items()]
        assert metric.average == pytest.approx(sum(task.weight * v for task, v in zip(tasks, shares, strict=True)))
    assert [metric.metric for metric in metrics] == ["good", "fair", "poor"]
    assert metrics[0].rank == 1
    assert metrics[0].p is None
    assert metrics[2].rank > 1
    assert (metrics[2].p or 0) < 0.05


def test_equal_metrics_share_a_cluster_and_the_seed_decides_draws() -> None:
    pairs = [scores("en-de", a=1.0, b=1.0)]
    one, again, other = (rank_by_protocol(COLUMNS, pairs, None, resamples=100, seed=seed)[1] for seed in (1, 1, 2))
    assert one == again
    assert one[1].p != other[1].p
    assert [metric.rank for metric in one] == [1, 1]
    untested = rank_by_protocol(COLUMNS, pairs, None, test="none")[1]
    assert [(metric.rank, metric.p) for metric in untested] == [(1, None), (2, None)]


def test_a_split_that_hangs_on_chance_gets_more_draws_or_a_mark() -> None:
    """By 5,000 draws p is .47, .003 and .04; 20 draws give .05 or less by chance."""
    found = []
    for seed in (8, 12, 11):
        pairs = [scores("en-de", seed=seed, a=1.0, b=1.15)]
        _, (_, second) = rank_by_protocol([task("seg", "pearson")], pairs, None, resamples=20, seed=2)
        more = (20 * (second.p or 0)) % 1 > 1e-9  # p is no share of 20
        found.append((second.rank, more or second.unclear, second.unclear))
    assert found == [(1, False, False), (2, True, False), (2, True, True)]
    result = ProtocolResult(
        protocol="p", title="t", source="s", tasks=(), metrics=(replace(second, baseline=True),), resamples=20
    )
    shown = next(part for part in parts_of(result) if isinstance(part, TablePart))
    assert [cell.mark for cell in shown.rows[0][:2]] == ["†", "‡"]


def test_spa_takes_segments_that_all_systems_have() -> None:
    one = scores("en-de", a=0.5, b=3.0)
    one.human_segments[0, 0] = np.nan
    tasks, _ = rank_by_protocol([task("sys", "spa"), task("seg", "acc_eq")], [one], None, resamples=20)
    assert [(task.segments, task.dropped) for task in tasks] == [(27, 1), (28, 0)]


def test_a_metric_of_one_level_has_no_average() -> None:
    one = scores("en-de", a=1.0, b=2.0)
    one.of_segments.pop("b")  # type: ignore[attr-defined]
    tasks, metrics = rank_by_protocol(COLUMNS, [one], None, resamples=20)
    assert [(metric.metric, metric.rank, len(metric.figures)) for metric in metrics] == [("a", 1, 4), ("b", 0, 2)]
    assert np.isnan(metrics[1].average)
    result = ProtocolResult(protocol="p", title="t", source="s", tasks=tasks, metrics=metrics)
    assert len(result.to_csv().splitlines()) == 1 + (1 + 4) + 2  # a has an average too


def test_what_is_refused() -> None:
    one, two = scores("en-de", a=1.0), scores("en-de", a=1.0)
    one.of_segments["a"][2, 3], two.of_systems["a"][1] = np.nan, np.nan
    wrong: list[tuple[ProtocolScores, dict[str, Any], str]] = [
        (one, {}, "en-de: a has no score for 1 judged segments of the system s2"),
        (two, {}, "a has no score of the system s1"),
        (scores("en-de"), {}, "no metric"),
        (scores("en-de", 1, a=1.0), {}, "at least 2"),
        (scores("en-de", a=1.0), {"test": "williams"}, "test"),
    ]
    for pair, how, message in wrong:
        with pytest.raises(InputError, match=message):
            rank_by_protocol(COLUMNS, [pair], None, **how)
