"""Cards side by side: every figure with its interval, and which metrics are not told apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bsx.analysis.documents.base import DocumentPart, Interval, Number
from bsx.analysis.documents.cards import CardDocument
from bsx.analysis.present.cells import NONE, interval, number, table, text
from bsx.analysis.present.parts import Cell, Notes, Section
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Bold, Sheet
from bsx.analysis.report.result import Report
from bsx.analysis.stats.clusters import adjust, significance_clusters
from bsx.errors import InputError
from bsx.support.optional import need
from bsx.support.settings import in_range

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANELS = 8


class StandingRow(DocumentPart):
    """One metric's figure: ``rank`` 1 is the best cluster; ``winner``: nothing with a better figure beats it."""

    metric: str
    value: Number
    ci: Interval = None
    rank: int
    winner: bool


class FigureRow(DocumentPart):
    """One figure on one table, of all cards that have it.

    Attributes:
        part: the cards' part.
        figure: what was measured.
        data: the table, and the first digits of its digest.
        level: segment or system, where there is one.
        group: language pair or language, where there is one.
        lower: whether lower is better.
        tests: pairs of metrics by how they were compared: ``paired``; ``intervals`` where the cards have no test;
            ``ranges`` of runs, for the cost.
        standings: best first.
    """

    part: str
    figure: str
    data: str
    level: str = ""
    group: str = ""
    lower: bool = False
    tests: dict[str, int]
    standings: list[StandingRow]


@dataclass(frozen=True, repr=False)
class Leaderboard(InNotebooks):
    """Cards side by side.

    Attributes:
        metrics: what the cards are of.
        figures: each that at least two cards have.
        alpha: level of significance.
        notes: what a reader must know.
    """

    metrics: tuple[str, ...]
    figures: tuple[FigureRow, ...]
    alpha: float
    notes: tuple[str, ...]

    @property
    def short(self) -> str:
        """Metrics and figures."""
        return f"{', '.join(self.metrics)}; {len(self.figures)} figures"

    def sheets(self) -> Sequence[Sheet]:
        """Return a table for each part of the cards, winners bold, with ranks of significance."""
        made = []
        for part in dict.fromkeys(figure.part for figure in self.figures):
            rows = []
            for figure in (one for one in self.figures if one.part == part):
                cells = {row.metric: _cell(row) for row in figure.standings}
                shown = [cells.get(name, Cell(NONE)) for name in self.metrics]
                where = " ".join(filter(None, (figure.level, figure.group))) or "-"
                own = [Bold(cell.text) if cell.strong else cell.text for cell in shown]
                rows.append([figure.data, where, figure.figure, *own])
            note = (
                f"Bold: no metric with a better figure is significantly better, p < {self.alpha:g}, Holm correction "
                "over the pairs of a row; in brackets: cluster."
            )
            header = ["table", "where", "figure", *self.metrics]
            made.append(Sheet(f"Metric cards compared: {part}", header, rows, note, names=3))
        return made

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return a row a figure and metric."""
        rows = []
        for figure in self.figures:
            place = {name: getattr(figure, name) for name in ("part", "figure", "data", "level", "group")}
            for row in figure.standings:
                low, high = row.ci or (None, None)
                own = {"metric": row.metric, "value": row.value, "low": low, "high": high, "rank": row.rank}
                rows.append(place | own | {"winner": row.winner})
        return rows

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the first figures with intervals, a panel each; hollow: significantly outperformed."""
        panels = {}
        for figure in self.figures[:_PANELS]:
            place = " ".join(filter(None, (figure.figure, figure.data, figure.level, figure.group)))
            panels[place] = [
                Dot(row.metric, float(row.value), *(row.ci or (None, None)), hollow=not row.winner)
                for row in sorted(figure.standings, key=lambda row: self.metrics.index(row.metric))
                if row.value is not None
            ]
        return draw_dots(panels, "hollow: another metric is significantly better", path)

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        figures = [figure.to_dict() for figure in self.figures]
        return {"metrics": list(self.metrics), "alpha": self.alpha, "figures": figures, "notes": list(self.notes)}

    def to_report(self) -> Report:
        """Return a page."""
        section = Section("leaderboard", "Leaderboard")
        tables = {figure.data for figure in self.figures if figure.data}
        section.lead = (
            f"{len(self.metrics)} metrics on {len(tables)} table{'s' * (len(tables) != 1)}. Bold: no metric with a "
            f"better figure is significantly better (Holm over the pairs of a row, {self.alpha:g}); in brackets: "
            "cluster. The interval "
            "of a cost is the range of several runs; metrics are told apart where these do not overlap."
        )
        for part in dict.fromkeys(figure.part for figure in self.figures):
            rows = []
            for figure in self.figures:
                if figure.part == part:
                    where = " ".join(filter(None, (figure.level, figure.group))) or NONE
                    cells = {row.metric: _cell(row) for row in figure.standings}
                    own = [cells.get(name, Cell(NONE)) for name in self.metrics]
                    rows.append([text(figure.data), text(where), text(figure.figure), *own])
            section.blocks.append(table(part, ["table", "where", "figure", *self.metrics], rows))
        if self.notes:
            section.blocks.append(Notes(self.notes))
        return Report("Metric cards compared", (section,))


def _cell(row: StandingRow) -> Cell:
    shown = f"{number(row.value).text} {interval(row.ci).text} ({row.rank})".replace(f" {NONE} ", " ")
    return Cell(shown, None if row.value is None else float(row.value), strong=row.winner)


@dataclass(frozen=True)
class CardFigure:
    """Which figure of a card."""

    part: str
    figure: str
    data: str
    level: str = ""
    group: str = ""
    lower: bool = False


@in_range
def compare_cards(cards: Sequence[CardDocument], *, alpha: float = 0.05) -> Leaderboard:
    """Lay cards side by side: figures measured on the same tables, with intervals, and clusters of significance.

    Two metrics are compared by the paired test that one of their cards holds. Where none does, because the cards come
    from different runs, their intervals are taken for those of independent normal estimates, which is careful for
    metrics that were measured on the same rows. In each row of the leaderboard p-values are corrected (Holm) for the
    pairs of metrics.

    Args:
        cards: at least two, of different metrics.
        alpha: level of significance.

    Raises:
        InputError: if there are fewer, two of one metric, or no table that two of them share.
    """
    names = [card.metric for card in cards]
    if len(cards) < 2:
        raise InputError("comparing takes the cards of at least two metrics")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"there are two cards of {twice}: compare those of different metrics")
    values: dict[CardFigure, dict[str, tuple[float, Interval]]] = {}
    tests: dict[tuple[CardFigure, str, str], float] = {}
    for card in cards:
        digests: dict[str, list[str]] = {}
        for one in card.data:
            digests.setdefault(one.name, []).append(one.sha256[:8])
        for key, value, ends, _ in card_figures(card):
            values.setdefault(_named(key, digests), {})[card.metric] = value, ends
        for part, test in ((part, test) for part, content in card.parts.made().items() for test in content.tests):
            if test.b in names and test.p is not None:
                key = CardFigure(part, test.figure, test.data, test.level, test.group)
                tests[_named(key, digests), test.a, test.b] = float(test.p)
    figures = [_ranked(key, of, tests, alpha) for key, of in values.items() if len(of) > 1]
    if not figures:
        raise InputError("the cards share no figure: they were measured on different tables")
    lone = sum(len(of) == 1 for of in values.values())
    notes = [f"{lone} figures are left out: only one of the cards has them on the same table"] if lone else []
    examples = [one.name for card in cards for one in card.data if one.examples]
    if examples:
        notes.append("the shipped examples are invented sentences: figures on them are no evidence")
    if any(figure.tests.get("intervals") for figure in figures):
        notes.append(
            "some metrics were compared by their intervals, as if they had been measured on different rows, because no "
            "card holds their paired test; cards that are made in one run hold it"
        )
    return Leaderboard(tuple(names), tuple(figures), alpha, tuple(notes))


def _named(key: CardFigure, digests: Mapping[str, Sequence[str]]) -> CardFigure:
    """Return a key in which the table is one content, not one name."""
    known = digests.get(key.data)
    data = f"{key.data} ({known[0]})" if known else key.data
    return replace(key, data=data)


class CardValue(NamedTuple):
    """A figure of a card: which, its value and interval, and the items it rests on."""

    at: CardFigure
    value: float
    ci: Interval
    n: int | None


def card_figures(card: CardDocument) -> Iterator[CardValue]:
    """Yield what a card measured."""
    parts = card.parts
    if parts.agreement is not None:
        for row in parts.agreement.rows:
            if row.value is not None:
                at = CardFigure("agreement", row.statistic, row.data, row.level, row.group)
                yield CardValue(at, row.value, row.ci, row.n)
    if parts.paraphrase is not None:
        for pairs in parts.paraphrase.pairs:
            if pairs.auc is not None:
                at = CardFigure("paraphrase", "ROC AUC", pairs.data, "", pairs.group)
                yield CardValue(at, pairs.auc, pairs.ci, pairs.n)
        for triples in parts.paraphrase.triples:
            if triples.rate is not None:
                at = CardFigure("paraphrase", TRIPLES, triples.data, "", triples.group)
                yield CardValue(at, triples.rate, triples.ci, triples.n)
    if parts.perturbations is not None:
        for told in parts.perturbations.overall:
            if told.rate is not None:
                at = CardFigure("perturbations", TOLD_APART, told.data, "", told.group)
                yield CardValue(at, told.rate, told.ci, told.n)
    if parts.challenge is not None:
        for one in parts.challenge.sets:
            if one.overall is not None and one.overall.rate is not None:
                at = CardFigure("challenge", CHALLENGE, one.data, "", one.group)
                yield CardValue(at, one.overall.rate, one.overall.ci, one.overall.n)
    if parts.cost is not None and parts.cost.metric.seconds is not None:
        cost, seconds = parts.cost, parts.cost.metric
        at = CardFigure("cost", SECONDS, cost.data, "", cost.group, True)
        yield CardValue(at, float(seconds.seconds or 0), seconds.seconds_range, cost.n)
        if cost.times_chrf is not None:
            at = CardFigure("cost", cost.times_what, cost.data, "", cost.group, True)
            yield CardValue(at, float(cost.times_chrf), cost.times_chrf_range, cost.n)


SECONDS = "seconds for 1,000 segments"
TRIPLES = "share of triples in which the paraphrase scores higher"
TOLD_APART = "share of changed meanings that cost more than the control"
CHALLENGE = "share of rows on which the good translation scores higher"


def _ranked(
    key: CardFigure,
    of: Mapping[str, tuple[float, Interval]],
    tests: Mapping[tuple[CardFigure, str, str], float],
    alpha: float,
) -> FigureRow:
    names = list(of)
    sign = -1.0 if key.lower else 1.0
    found: dict[tuple[int, int], float] = {}
    kinds = {"paired": 0, "intervals": 0}
    for i, j in combinations(range(len(names)), 2):
        a, b = names[i], names[j]
        p = tests.get((key, a, b), tests.get((key, b, a)))
        if key.part == "cost":
            kinds["ranges"] = kinds.get("ranges", 0) + 1
            found[i, j] = _apart(of[a][1], of[b][1])
            continue
        kinds["intervals" if p is None else "paired"] += 1
        found[i, j] = _from_intervals(of[a], of[b]) if p is None else p
    adjusted = adjust(list(found.values()), "holm")
    matrix = np.ones((len(names), len(names)))
    for (i, j), p in zip(found, adjusted.tolist(), strict=True):
        matrix[i, j] = matrix[j, i] = p
    clusters = significance_clusters({name: sign * of[name][0] for name in names}, matrix, alpha=alpha)
    ranks = dict(zip(clusters.names, clusters.ranks, strict=True))
    return FigureRow(
        **vars(key),
        tests=kinds,
        standings=[
            StandingRow(
                metric=name,
                value=of[name][0],
                ci=of[name][1],
                rank=ranks[name],
                winner=name in clusters.winners,
            )
            for name in clusters.names
        ],
    )


def _apart(a: Interval, b: Interval) -> float:
    """Return 0 for ranges that do not overlap, else 1."""
    ends = [float(end) for one in (a, b) for end in one or () if end is not None]
    return float(len(ends) < 4 or max(ends[0], ends[2]) <= min(ends[1], ends[3]))


def _from_intervals(a: tuple[float, Interval], b: tuple[float, Interval]) -> float:
    """Return the two-sided p of a difference from two intervals of 95 %, as of independent normal estimates."""
    if any(ends is None or ends[0] is None or ends[1] is None for _, ends in (a, b)):
        return 1.0
    half = math.hypot(*((float(ends[1]) - float(ends[0])) / 2 for _, ends in (a, b)))  # type: ignore[index, arg-type]
    difference = a[0] - b[0]
    if half == 0:
        return 1.0 if difference == 0 else 0.0
    normal = need("scipy.stats", "comparing intervals").norm
    return float(2 * normal.sf(abs(difference) / (half / float(normal.ppf(0.975)))))
