"""What a meta-evaluation returns, with its ways out: text, CSV, JSON, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from bsx.analysis.agreement.groups import Average, AverageTest, GroupResult, averaged
from bsx.analysis.agreement.settings import MetaSettings
from bsx.analysis.documents.agreement import MetaAverageRow, MetaDocument, MetaMetricRow
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.numbers import p_value
from bsx.analysis.render.tables import csv_table, latex_escape, latex_table, markdown_escape, markdown_table
from bsx.support.aligned import text_table

TITLES = {"pairwise_accuracy": "accuracy", "hits_at_1": "hits@1", "difference": "diff", "n": "pairs"}
_COUNTS = {"darr": ("concordant", "discordant", "ties", "n")}


@dataclass(frozen=True, repr=False)
class MetaResult(InNotebooks):
    """A meta-evaluation.

    Attributes:
        settings: how it was done.
        human: the column of human scores.
        metrics: names, in the order given.
        groups: one result a group, in order of first appearance.
        average: one entry a metric, then one a control.
        notes: what was left out or turned round, one sentence each.
        systems: whether rows are arranged by system and segment.
        average_tests: of each pair of metrics' mean difference; empty for one group, or if nothing was tested.
        sentinels: names of the controls.
        control_tests: of the mean difference of each metric from each control.
        averaged: whether a mean over groups says anything; not where they are kinds of errors.
    """

    settings: MetaSettings
    human: str
    metrics: tuple[str, ...]
    groups: tuple[GroupResult, ...]
    average: tuple[Average, ...]
    notes: tuple[str, ...] = ()
    average_tests: tuple[AverageTest, ...] = ()
    systems: bool = False
    sentinels: tuple[str, ...] = ()
    control_tests: tuple[AverageTest, ...] = ()
    averaged: bool = True

    @property
    def short(self) -> str:
        """Figure, people, metrics and groups."""
        groups = ", ".join(group.group for group in self.groups)
        return f"{self.headline} of {', '.join(self.metrics)} with {self.human}; {groups}"

    def beats(self, metric: str, sentinel: str, group: str) -> bool | None:
        """Return whether a metric agrees better than a control in a group.

        It does if the difference is significant, as it is for winners, or without tests if its value is higher. None
        if one of the two has no value there.
        """
        found = next(one for one in self.groups if one.group == group)
        for test in found.control_tests:
            if (test.a, test.b) == (metric, sentinel):
                return test.wins(self.settings.alternative, self.settings.alpha)
        ours, control = found.find(metric), found.find(sentinel)
        return None if ours is None or control is None else ours.value > control.value

    def shown(self, metric: str) -> str:
        """Return what a row of a table is called: a control says that it is one."""
        return f"{metric} (control)" if metric in self.sentinels else metric

    @property
    def headline(self) -> str:
        """Name of the figure that has intervals, tests and an average."""
        return {"darr": "tau", "hybrid": "limit"}.get(self.settings.level, self.settings.statistic)

    def to_document(self) -> MetaDocument:
        """Return the document that ``bsx meta`` prints, without provenance."""
        rows = [
            MetaMetricRow.model_validate(
                {"metric": a.metric}
                | ({**a.figures, "ci": (a.low, a.high)} if self.averaged else dict.fromkeys([*a.figures, "ci"]))
                | {"wins": a.wins}
                | ({"control": True} if a.metric in self.sentinels else {})
            )
            for a in self.average
        ]
        how = f"mean difference, normal, {self.settings.sources} groups"
        more = {"control_tests": [test.to_row(how) for test in self.control_tests]} if self.sentinels else {}
        return MetaDocument(
            groups=[group.to_row() for group in self.groups],
            average=MetaAverageRow(
                groups=len(self.groups),
                metrics=rows,
                tests=[test.to_row(how) for test in self.average_tests],
                **more,
            ),
            target=self.settings.target,
            headline=self.headline,
            human=self.human,
            settings=self.settings.model_dump(),
            notes=[*self.notes, *_beside_controls(self), *_unseen(self)],
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain values; what is not defined is None."""
        return self.to_document().to_dict()

    def to_text(self) -> str:
        """Return tables for a terminal, a summary first if there are several groups; an asterisk marks winners."""
        if not self.averaged:
            return f"{text_table(_by_category(self, str, '{}*'))}\n\n{_caption(self)}"
        parts = []
        if len(self.groups) > 1:
            parts.append(_summary(self))
        parts += [_group(self, group) for group in self.groups]
        return "\n\n".join([*parts, _caption(self)])

    def to_csv(self) -> str:
        """Return one row a group and metric, then one of averages a metric; the group of these is ``average``."""
        figures = _figures(self)
        header: list[object] = [
            "group",
            "metric",
            "rows",
            *("pairs" if name == "n" else name for name in figures),
            "low",
            "high",
            "winner",
            "rank",
            "method",
            *(["control"] if self.sentinels else []),
        ]
        rows: list[list[object]] = [header]
        for group in self.groups:
            ranks = _ranks(group)
            for found in (*group.metrics, *group.sentinels):
                control = found.metric in self.sentinels
                winner = "" if group.clusters is None or control else int(found.metric in group.clusters.winners)
                values = [_plain(found.figures.get(name)) for name in figures]
                ends = [_plain(found.low), _plain(found.high)]
                row = [group.group, found.metric, group.n, *values, *ends, winner, ranks.get(found.metric, "")]
                rows.append([*row, found.method, *([int(control)] if self.sentinels else [])])
        for average in self.average if self.averaged else ():
            values = [_plain(average.figures.get(name)) for name in figures]
            ends = [_plain(average.low), _plain(average.high)]
            mark = [int(average.metric in self.sentinels)] if self.sentinels else []
            rows.append(["average", average.metric, "", *values, *ends, "", "", "mean of groups", *mark])
        return csv_table(rows)

    def to_markdown(self) -> str:
        """Return a Markdown table: metrics by groups, winners bold."""
        caption = markdown_escape(_caption(self)).replace("\\* no metric", "Bold: no metric")
        if not self.averaged:
            kinds = _by_category(self, markdown_escape, "**{}**")
            return f"{markdown_table(kinds, range(1, len(kinds[0])))}\n\n{caption}\n"
        several = len(self.groups) > 1
        rows = [["metric", *(markdown_escape(g.group) for g in self.groups), *(["average"] if several else [])]]
        for average in self.average:
            cells = [markdown_escape(self.shown(average.metric))]
            for group in self.groups:
                found = group.find(average.metric)
                wins = group.clusters is not None and average.metric in group.clusters.winners
                shown = "-" if found is None else _bracket(found.value, found.low, found.high)
                cells.append(f"**{shown}**" if wins and found is not None else shown)
            if several:
                cells.append("-" if math.isnan(average.value) else _bracket(average.value, average.low, average.high))
            rows.append(cells)
        return f"{markdown_table(rows, range(1, len(rows[0])))}\n\n{caption}\n"

    def to_latex(self) -> str:
        """Return a LaTeX table (booktabs): metrics by groups, winners bold, intervals in small print below."""
        groups = list(self.groups)
        several = len(groups) > 1 and self.averaged
        heads = ["metric", *(latex_escape(group.group) for group in groups), *(["average"] if several else [])]
        rows = [heads]
        for average in self.average:
            values, ends = [latex_escape(self.shown(average.metric))], [""]
            for group in groups:
                found = group.find(average.metric)
                if found is None:
                    values.append("--")
                    ends.append("")
                    continue
                wins = group.clusters is not None and average.metric in group.clusters.winners
                values.append(rf"\textbf{{{_short(found.value)}}}" if wins else _short(found.value))
                ends.append(_small(found.low, found.high))
            if several:
                values.append("--" if math.isnan(average.value) else _short(average.value))
                ends.append("" if math.isnan(average.value) else _small(average.low, average.high))
            rows += [values, ends]
        level = f"{100 * self.settings.confidence:g} % intervals"
        said = "".join(f"% {line}\n" for line in _beside_controls(self))
        return f"% {self.headline} with {self.human}; below: {level}\n{said}{latex_table(rows)}\n"


def _figures(result: MetaResult) -> list[str]:
    """Return the columns of a level: the one with intervals first."""
    names = [*averaged(result.settings), *_COUNTS.get(result.settings.level, ())]
    return [result.headline, *(name for name in names if name != result.headline)]


def _summary(result: MetaResult) -> str:
    rows = [["", *(group.group for group in result.groups), "average", *(["wins"] if _tested(result) else [])]]
    for average in result.average:
        cells = [result.shown(average.metric)]
        for group in result.groups:
            found = group.find(average.metric)
            mark = "*" if group.clusters is not None and average.metric in group.clusters.winners else " "
            cells.append("-" if found is None else f"{found.value:.3f}{mark}")
        cells.append("-" if math.isnan(average.value) else _bracket(average.value, average.low, average.high))
        wins = "-" if average.wins is None else str(average.wins)
        rows.append([*cells, *([wins] if _tested(result) else [])])
    return text_table(rows)


def _by_category(result: MetaResult, escape: Callable[[str], str], winner: str) -> list[list[str]]:
    """Return one row a category, one column a metric: the figure with its interval, winners marked."""
    names = [*result.metrics, *result.sentinels]
    rows = [["", "rows", *(escape(result.shown(name)) for name in names)]]
    for group in result.groups:
        cells = [escape(group.group), str(group.n)]
        for name in names:
            found = group.find(name)
            shown = "-" if found is None else _bracket(found.value, found.low, found.high)
            wins = found is not None and group.clusters is not None and name in group.clusters.winners
            cells.append(winner.format(shown) if wins else shown)
        rows.append(cells)
    return rows


def _group(result: MetaResult, group: GroupResult) -> str:
    figures = _figures(result)
    ranks = _ranks(group)
    interval = f"{result.settings.confidence:.0%} interval"
    heads = [TITLES.get(name, name) for name in figures]
    rows = [["", heads[0], interval, *heads[1:], *(["rank"] if ranks else [])]]
    order = sorted(group.metrics, key=lambda found: -found.value)
    for found in (*order, *group.sentinels):
        wins = group.clusters is not None and found.metric in group.clusters.winners
        cells = [_figure(found.figures.get(name)) for name in figures]
        first = f"{cells[0]}{'*' if wins else ' '}"
        ends = f"[{found.low:.3f}, {found.high:.3f}]"
        rank = [str(ranks.get(found.metric, "-"))] if ranks else []
        rows.append([result.shown(found.metric), first, ends, *cells[1:], *rank])
    left_out = f", {group.left_out} rows left out" if group.left_out else ""
    return "\n".join([f"{group.group} ({group.n} rows{left_out})", text_table(rows), *_pairs(result, group)])


def _pairs(result: MetaResult, group: GroupResult) -> list[str]:
    """Return the tests of a group: p of each pair, the metric with the higher value in the row; † is significant."""
    if group.clusters is None:
        return []
    names, alternative = group.clusters.names, result.settings.alternative
    tests = {(test.a, test.b): test for test in group.tests}
    rows = [["p of better than", *names[1:]]]
    for i, a in enumerate(names[:-1]):
        cells = []
        for b in names[1:]:
            if b not in names[i + 1 :]:
                cells.append("")
                continue
            test = tests[a, b]
            plain = test.comparison.p if alternative == "greater" else test.comparison.p_two_sided
            p = plain if test.p_adjusted is None else test.p_adjusted
            cells.append(f"{p_value(p)}{'†' if p < result.settings.alpha else ' '}")
        rows.append([a, *cells])
    return ["", text_table(rows)]


def _caption(result: MetaResult) -> str:
    every = [found for group in result.groups for found in (*group.metrics, *group.sentinels)]
    methods = list(dict.fromkeys(found.method for found in every))
    lines = [f"{result.headline} with {result.human}: {'; '.join(methods)}."]
    if result.settings.level in ("seg", "sys"):
        rows = result.settings.level == "seg" and not result.systems
        target = "other rows like these" if rows else result.settings.target
        lines.append(f"Intervals and tests speak about {target}.")
    if _tested(result):
        tests = [test for group in result.groups for test in group.tests]
        alpha, correction = result.settings.alpha, result.settings.correction
        corrected = "uncorrected" if correction == "none" else f"{correction} correction"
        if correction != "none" and len(result.groups) > 1:
            corrected += " over all groups" if result.settings.correction_over == "all" else " within groups"
        lines.append(
            f"* no metric with a higher value is significantly better ({tests[0].comparison.method}, "
            f"{'one-sided' if result.settings.alternative == 'greater' else 'two-sided'} p < {alpha:g}, {corrected})."
        )
    beaten = [test for test in result.average_tests if test.p_adjusted < result.settings.alpha]
    if result.average_tests:
        found = [f"{t.a} {'>' if t.difference > 0 else '<'} {t.b}" for t in beaten]
        lines.append(f"On average, two-sided p < {result.settings.alpha:g}: {', '.join(found) or 'no pair differs'}.")
    return "\n".join([*lines, *_beside_controls(result), *_unseen(result)])


def _unseen(result: MetaResult) -> list[str]:
    """Return the categories with which metrics have shown no agreement."""
    if result.averaged:
        return []
    missed = {group.group: [found.metric for found in group.metrics if not found.low > 0] for group in result.groups}
    said = [f"{group} ({', '.join(names)})" for group, names in missed.items() if names]
    return [f"No agreement shown, the interval reaches 0: {'; '.join(said)}."] if said else []


def _beside_controls(result: MetaResult) -> list[str]:
    """Return which metrics are no better than a control, which cannot know how good a translation is."""
    lines = []
    for control in result.sentinels:
        missed = {
            name: [group.group for group in result.groups if result.beats(name, control, group.group) is False]
            for name in result.metrics
        }
        several = len(result.groups) > 1
        said = [f"{name} ({', '.join(groups)})" if several else name for name, groups in missed.items() if groups]
        tested = any(group.control_tests for group in result.groups)
        how = "significantly better" if tested else "higher"
        verdict = f"not {how}: {', '.join(said)}" if said else f"every metric is {how}"
        lines.append(f"Beside the control {control}: {verdict}.")
    return lines


def _tested(result: MetaResult) -> bool:
    return any(group.clusters is not None for group in result.groups)


def _ranks(group: GroupResult) -> dict[str, int]:
    if group.clusters is None:
        return {}
    return dict(zip(group.clusters.names, group.clusters.ranks, strict=True))


def _figure(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def _bracket(value: float, low: float, high: float) -> str:
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _plain(value: object) -> object:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def _short(value: float) -> str:
    """Return three digits as tables print them: .512, $-$.040."""
    digits = f"{abs(value):.3f}"
    digits = digits.removeprefix("0") if digits.startswith("0.") else digits
    return f"$-${digits}" if value < 0 and float(digits) else digits


def _small(low: float, high: float) -> str:
    return rf"{{\scriptsize [{_short(low)}, {_short(high)}]}}"
