"""Rows that several steps of a card add: a test of two metrics, and what a sentinel reaches beside a metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bsx.analysis.cards.result import CardTest, SentinelRow
from bsx.jobs.carding.data import DataSet
from bsx.jobs.carding.desk import CardFindings, Desk
from bsx.support.result import Interval, as_json
from bsx.support.untyped import JsonObject

CONSTANT = "constant"
"""The sentinel that gives every text the same score."""

Reached = Mapping[str, tuple[float | None, Interval | None]]
"""Metric or sentinel -> its figure and interval."""


def test_row(*, data: str, figure: str, a: str, b: str, p: float, **more: Any) -> list[JsonObject]:
    """Return a test as a list of one row, or of none where it is not defined."""
    if p != p:
        return []
    return [as_json(CardTest(data=data, figure=figure, a=a, b=b, p=p, **more))]


def sentinel_row(**fields: Any) -> JsonObject:
    """Return what a sentinel reaches, see `bsx.analysis.cards.result.SentinelRow`."""
    row: JsonObject = as_json(SentinelRow(**fields))
    return row


def add_sentinels(
    found: CardFindings, desk: Desk, one: DataSet, name: str, figure: str, reached: Reached, constant: float, note: str
) -> None:
    """Add what all sentinels, and a constant score, reach beside a metric."""
    at = {"data": one.name, "group": one.lang, "figure": figure, "metric_value": reached.get(name, (None, None))[0]}
    rows = [
        sentinel_row(sentinel=sentinel, value=reached[sentinel][0], ci=reached[sentinel][1], note="", **at)
        for sentinel in desk.sentinels
        if sentinel in reached
    ]
    rows.append(sentinel_row(sentinel=CONSTANT, value=constant, ci=None, note=note, **at))
    found.add("sentinels", name, rows=rows)


def add_mcnemar(
    found: CardFindings,
    desk: Desk,
    one: DataSet,
    part: str,
    name: str,
    figure: str,
    tests: Mapping[tuple[str, str], float],
    reached: Reached,
) -> None:
    """Add a metric's tests, (a, b) -> p, against all others; those of sentinels belong to the part of the sentinels."""
    for (a, b), p in tests.items():
        if name not in (a, b):
            continue
        other = a if b == name else b
        mine, theirs = (reached.get(of, (None, None))[0] for of in (name, other))
        row = test_row(
            data=one.name,
            group=one.lang,
            figure=figure,
            a=name,
            b=other,
            difference=None if mine is None or theirs is None else mine - theirs,
            p=p,
            method="McNemar, rows that share texts as clusters",
        )
        found.add("sentinels" if other in desk.sentinels else part, name, tests=row)
