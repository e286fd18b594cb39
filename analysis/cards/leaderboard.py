"""Cards side by side: every figure with its interval, and which metrics are not told apart."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np

from bsx.analysis.cards.result import Card, CostPart
from bsx.analysis.stats.clusters import adjust, significance_clusters
from bsx.errors import InputError
from bsx.support.checks import FEWEST_ITEMS
from bsx.support.optional import need
from bsx.support.result import Interval, Number, Result
from bsx.support.settings import in_range


@dataclass(frozen=True, kw_only=True)
class StandingRow:
    """One metric's figure: ``rank`` 1 is the best cluster; ``winner``: nothing with a better figure beats it."""

    metric: str
    value: Number
    ci: Interval | None = None
    rank: int
    winner: bool


@dataclass(frozen=True, kw_only=True)
class FigureRow:
    """One figure on one table, of all cards that have it.

    Attributes:
        part: the cards' part.
        figure: what was measured.
        data: the table, and the first digits of the digest of the rows that were used.
        level: segment or system, where there is one.
        group: language pair or language, where there is one.
        lower: whether lower is better.
        n: the items that it rests on, the same for all cards.
        tests: pairs of metrics by how they were compared: ``paired``; ``intervals`` where the cards have no test;
            ``ranges`` of runs, for the cost.
        standings: best first.
    """

    part: str
    figure: str
    data: str
    level: str
    group: str
    lower: bool
    n: int | None
    tests: dict[str, int]
    standings: tuple[StandingRow, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class Leaderboard(Result):
    """Cards side by side.

    Attributes:
        metrics: what the cards are of.
        alpha: level of significance.
        figures: each that at least two cards have.
    """

    kind: ClassVar[str] = "leaderboard"

    metrics: tuple[str, ...]
    alpha: float
    figures: tuple[FigureRow, ...]


@dataclass(frozen=True)
class CardFigure:
    """Which figure of a card; ``n`` where figures of several cards are compared, which must rest on as many items."""

    part: str
    figure: str
    data: str
    level: str = ""
    group: str = ""
    lower: bool = False
    n: int | None = None


@in_range
def compare_cards(cards: Sequence[Card], *, alpha: float = 0.05) -> Leaderboard:
    """Lay cards side by side: figures measured on the same rows, with intervals, and clusters of significance.

    Rows are the same if their digests are, and the figures rest on as many items. Figures of fewer than
    `bsx.support.checks.FEWEST_ITEMS` items are left out.

    Two metrics are compared by the paired test that one of their cards holds. Where none does, because the cards come
    from different runs, their intervals are taken for those of independent normal estimates, which is careful for
    metrics that were measured on the same rows. In each row of the leaderboard p-values are corrected (Holm) for the
    pairs of metrics.

    Args:
        cards: at least two, of different metrics.
        alpha: level of significance.

    Raises:
        InputError: if there are fewer, two of one metric, or no figure on rows that two of them share.
    """
    names = [card.metric for card in cards]
    if len(cards) < 2:
        raise InputError("comparing takes the cards of at least two metrics")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"there are two cards of {twice}: compare those of different metrics")
    values: dict[CardFigure, dict[str, tuple[float, Interval | None]]] = {}
    tests: dict[tuple[CardFigure, str, str], float] = {}
    for card in cards:
        for key, value, ends, n in card_figures(card):
            values.setdefault(_on_rows(replace(key, n=n), card), {})[card.metric] = value, ends
        for part, test in ((part, test) for part, content in card.parts.made().items() for test in content.tests):
            if test.b in names and not math.isnan(test.p):
                key = CardFigure(part, test.figure, test.data, test.level, test.group, n=test.n)
                tests[_on_rows(key, card), test.a, test.b] = test.p
    figures = [_ranked(key, of, tests, alpha) for key, of in values.items() if len(of) > 1]
    if not figures:
        raise InputError("the cards share no figure: they were measured on different tables, or on other rows of them")
    lone = sum(len(of) == 1 for of in values.values())
    notes = [f"{lone} figures are left out: only one of the cards has them on the same rows"] if lone else []
    examples = [item.name for card in cards for item in card.data if item.examples]
    if examples:
        notes.append("the shipped examples are invented sentences: figures on them are no evidence")
    if any(figure.tests.get("intervals") for figure in figures):
        notes.append(
            "some metrics were compared by their intervals, as if they had been measured on different rows, because no "
            "card holds their paired test; cards that are made in one run hold it"
        )
    return Leaderboard(metrics=tuple(names), alpha=alpha, figures=tuple(figures), notes=tuple(notes))


def _on_rows(key: CardFigure, card: Card) -> CardFigure:
    """Return a key in which the table is the rows that were used, not a name."""
    tables = [item for item in card.data if item.name == key.data]
    lang = key.group.rpartition("-")[2]
    own = [item for item in tables if key.group in item.groups or lang in item.languages]
    digests = [item.rows for item in own or tables]
    if not digests:
        return key
    whole = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    return replace(key, data=f"{key.data} ({whole[:8]})")


class CardValue(NamedTuple):
    """A figure of a card: which, its value and interval, and the items it rests on."""

    at: CardFigure
    value: float
    ci: Interval | None
    n: int | None


def card_figures(card: Card) -> Iterator[CardValue]:
    """Yield what a card measured, but for figures of fewer than `FEWEST_ITEMS` items."""
    return (figure for figure in _measured(card) if figure.n is None or figure.n >= FEWEST_ITEMS)


def _measured(card: Card) -> Iterator[CardValue]:
    parts = card.parts
    if parts.agreement is not None:
        for row in parts.agreement.rows:
            if not math.isnan(row.value):
                at = CardFigure("agreement", row.statistic, row.data, row.level, row.group)
                yield CardValue(at, row.value, row.ci, row.n)
    if parts.paraphrase is not None:
        for pairs in parts.paraphrase.pairs:
            if not math.isnan(pairs.auc):
                at = CardFigure("paraphrase", "ROC AUC", pairs.data, "", pairs.group)
                yield CardValue(at, pairs.auc, pairs.ci, pairs.n)
        for triples in parts.paraphrase.triples:
            if not math.isnan(triples.rate):
                at = CardFigure("paraphrase", TRIPLES, triples.data, "", triples.group)
                yield CardValue(at, triples.rate, triples.ci, triples.n)
    if parts.perturbations is not None:
        for told in parts.perturbations.overall:
            if not math.isnan(told.rate):
                at = CardFigure("perturbations", TOLD_APART, told.data, "", told.group)
                yield CardValue(at, told.rate, told.ci, told.n)
    if parts.challenge is not None:
        for item in parts.challenge.sets:
            if item.overall is not None and not math.isnan(item.overall.rate):
                at = CardFigure("challenge", CHALLENGE, item.data, "", item.group)
                yield CardValue(at, item.overall.rate, item.overall.ci, item.overall.n)
    if parts.cost is not None:
        cost, seconds = parts.cost, parts.cost.metric
        at = CardFigure("cost", SECONDS, cost.data, "", cost.group, True)
        yield CardValue(at, seconds.seconds, seconds.seconds_range, cost.n)
        if cost.times_chrf is not None:
            at = CardFigure("cost", times_what(cost), cost.data, "", cost.group, True)
            yield CardValue(at, cost.times_chrf, cost.times_chrf_range, cost.n)


def times_what(cost: CostPart) -> str:
    """Return of what ``times_chrf`` is a multiple: processor time, or the clock's where something else computes."""
    both = cost.metric.processor and cost.chrf is not None and cost.chrf.processor
    return "times the processor time of chrF" if both else "times as long as chrF"


SECONDS = "seconds for 1,000 segments"
TRIPLES = "share of triples in which the paraphrase scores higher"
TOLD_APART = "share of changed meanings that cost more than the control"
CHALLENGE = "share of rows on which the good translation scores higher"


def _ranked(
    key: CardFigure,
    of: Mapping[str, tuple[float, Interval | None]],
    tests: Mapping[tuple[CardFigure, str, str], float],
    alpha: float,
) -> FigureRow:
    names = list(of)
    sign = -1.0 if key.lower else 1.0
    results: dict[tuple[int, int], float] = {}
    kinds = {"paired": 0, "intervals": 0}
    for i, j in combinations(range(len(names)), 2):
        a, b = names[i], names[j]
        p = tests.get((key, a, b), tests.get((key, b, a)))
        if key.part == "cost":
            kinds["ranges"] = kinds.get("ranges", 0) + 1
            results[i, j] = _apart(of[a][1], of[b][1])
            continue
        kinds["intervals" if p is None else "paired"] += 1
        results[i, j] = _from_intervals(of[a], of[b]) if p is None else p
    adjusted = adjust(list(results.values()), "holm")
    matrix = np.ones((len(names), len(names)))
    for (i, j), p in zip(results, adjusted.tolist(), strict=True):
        matrix[i, j] = matrix[j, i] = p
    clusters = significance_clusters({name: sign * of[name][0] for name in names}, matrix, alpha=alpha)
    ranks = dict(zip(clusters.names, clusters.ranks, strict=True))
    return FigureRow(
        **vars(key),
        tests=kinds,
        standings=tuple(
            StandingRow(
                metric=name,
                value=of[name][0],
                ci=of[name][1],
                rank=ranks[name],
                winner=name in clusters.winners,
            )
            for name in clusters.names
        ),
    )


def _apart(a: Interval | None, b: Interval | None) -> float:
    """Return 0 for ranges that do not overlap, else 1."""
    ends = [end for item in (a, b) for end in item or () if not math.isnan(end)]
    return float(len(ends) < 4 or max(ends[0], ends[2]) <= min(ends[1], ends[3]))


def _from_intervals(a: tuple[float, Interval | None], b: tuple[float, Interval | None]) -> float:
    """Return the two-sided p of a difference from two intervals of 95 %, as of independent normal estimates."""
    known = [ends for _, ends in (a, b) if ends is not None and not math.isnan(ends[0] + ends[1])]
    if len(known) < 2:
        return 1.0
    half = math.hypot(*((high - low) / 2 for low, high in known))
    difference = a[0] - b[0]
    if half == 0:
        return 1.0 if difference == 0 else 0.0
    normal = need("scipy.stats", "comparing intervals").norm
    return float(2 * normal.sf(abs(difference) / (half / float(normal.ppf(0.975)))))
