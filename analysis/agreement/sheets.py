"""Tables of a meta-evaluation: metrics by groups, each group with its figures, tests between metrics."""

from __future__ import annotations

import math
import re
from typing import Protocol

from bsx.analysis.agreement.groups import Average, AverageTest, GroupResult, averaged
from bsx.analysis.agreement.measures import MetricAgreement
from bsx.analysis.agreement.settings import MetaSettings
from bsx.analysis.render.numbers import p_value
from bsx.analysis.render.sheets import Bold, Sheet

TITLES = {"pairwise_accuracy": "accuracy", "hits_at_1": "hits@1", "difference": "diff", "n": "pairs"}
_COUNTS = {"darr": ("concordant", "discordant", "ties", "n")}
Row = dict[str, object]
_NAMED = 4  # groups whose numbers of rows a caption spells out


class Evaluated(Protocol):
    """What tables and pictures of a `bsx.analysis.agreement.result.MetaResult` need of it."""

    @property
    def settings(self) -> MetaSettings: ...  # noqa: D102
    @property
    def human(self) -> str: ...  # noqa: D102
    @property
    def headline(self) -> str: ...  # noqa: D102
    @property
    def metrics(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def sentinels(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def groups(self) -> tuple[GroupResult, ...]: ...  # noqa: D102
    @property
    def average(self) -> tuple[Average, ...]: ...  # noqa: D102
    @property
    def average_tests(self) -> tuple[AverageTest, ...]: ...  # noqa: D102
    @property
    def systems(self) -> bool: ...  # noqa: D102
    @property
    def averaged(self) -> bool: ...  # noqa: D102
    def shown(self, metric: str) -> str: ...  # noqa: D102
    def beats(self, metric: str, sentinel: str, group: str) -> bool | None: ...  # noqa: D102


def tables(result: Evaluated) -> list[Sheet]:
    """Return metrics by groups with intervals, winners bold, then the tests of each group."""
    title, note = f"{_what(result)}, {_counts(result)}{_tests(result)}", " ".join(_said(result, test=False))
    if not result.averaged:
        found = [Sheet(title, *_by_category(result), note)]
    else:
        several = len(result.groups) > 1
        rows = []
        for average in result.average:
            cells = [result.shown(average.metric)]
            for group in result.groups:
                cells.append(_cell(group, average.metric, "{0.value:.3f} [{0.low:.3f}, {0.high:.3f}]"))
            if several:
                shown = f"{average.value:.3f} [{average.low:.3f}, {average.high:.3f}]"
                cells.append("-" if math.isnan(average.value) else shown)
            rows.append(cells)
        heads = ["metric", *(group.group for group in result.groups), *(["average"] if several else [])]
        found = [Sheet(title, heads, rows, note)]
    return [*found, *(sheet for group in result.groups for sheet in _pairs(result, group))]


def narrow(result: Evaluated) -> Sheet:
    """Return metrics by groups with the intervals in rows of their own, as a column of a paper has room for."""
    several = len(result.groups) > 1 and result.averaged
    rows = []
    for average in result.average:
        values, ends = [result.shown(average.metric)], [""]
        for group in result.groups:
            found = group.find(average.metric)
            values.append(_short(_cell(group, average.metric, "{0.value:.3f}")))
            ends.append("" if found is None else _short(f"[{found.low:.3f}, {found.high:.3f}]"))
        if several:
            known = not math.isnan(average.value)
            values.append(_short(f"{average.value:.3f}") if known else "-")
            ends.append(_short(f"[{average.low:.3f}, {average.high:.3f}]") if known else "")
        rows += [values, ends]
    heads = ["metric", *(group.group for group in result.groups), *(["average"] if several else [])]
    level = f"below: {100 * result.settings.confidence:g} % intervals"
    title = f"{_what(result)}, {_counts(result)}; {level}{_tests(result)}"
    return Sheet(title, heads, rows, " ".join(_said(result, test=False)))


def text(result: Evaluated) -> str:
    """Return all tables for a terminal, a summary first if there are several groups."""
    dagger = [f"†: p < {result.settings.alpha:g}."] if _tested(result) else []
    caption = "\n".join([f"{_what(result)}.", *_said(result, test=True), *dagger])
    if not result.averaged:
        return f"{Sheet('', *_by_category(result)).table_text()}\n\n{caption}"
    parts = [_summary(result)] if len(result.groups) > 1 else []
    for group in result.groups:
        parts += [_group(result, group), *(sheet.table_text() for sheet in _pairs(result, group))]
    return "\n\n".join([*parts, caption])


def records(result: Evaluated) -> list[Row]:
    """Return one row a group and metric, then one of averages a metric."""
    names = {"pairs" if name == "n" else name: name for name in _figures(result)}
    averages = result.average if result.averaged else ()

    def row(group: str, found: MetricAgreement | Average, n: object, winner: object, rank: object, method: str) -> Row:
        figures = {shown: _plain(found.figures.get(name)) for shown, name in names.items()}
        ends = {"low": _plain(found.low), "high": _plain(found.high), "winner": winner, "rank": rank, "method": method}
        control = {"control": int(found.metric in result.sentinels)} if result.sentinels else {}
        return {"group": group, "metric": found.metric, "rows": n, **figures, **ends, **control}

    rows = []
    for group in result.groups:
        ranks = _ranks(group)
        for found in (*group.metrics, *group.sentinels):
            control = found.metric in result.sentinels
            winner = "" if group.clusters is None or control else int(found.metric in group.clusters.winners)
            rows.append(row(group.group, found, group.n, winner, ranks.get(found.metric, ""), found.method))
    return [*rows, *(row("average", found, "", "", "", "mean of groups") for found in averages)]


def _figures(result: Evaluated) -> list[str]:
    """Return the columns of a level: the one with intervals first."""
    names = [*averaged(result.settings), *_COUNTS.get(result.settings.level, ())]
    return [result.headline, *(name for name in names if name != result.headline)]


def _plain(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


def _cell(group: GroupResult, metric: str, form: str) -> str:
    """Return a metric's figure in a group, bold for a winner; a dash if it has none."""
    found = group.find(metric)
    if found is None:
        return "-"
    wins = group.clusters is not None and metric in group.clusters.winners
    shown = form.format(found)
    return Bold(shown) if wins else shown


def _summary(result: Evaluated) -> str:
    wins = ["wins"] if _tested(result) else []
    rows = []
    for average in result.average:
        cells = [result.shown(average.metric), *(_cell(g, average.metric, "{0.value:.3f}") for g in result.groups)]
        mean = f"{average.value:.3f} [{average.low:.3f}, {average.high:.3f}]"
        cells.append("-" if math.isnan(average.value) else mean)
        rows.append([*cells, *(["-" if average.wins is None else str(average.wins)] if wins else [])])
    return Sheet("", ["", *(group.group for group in result.groups), "average", *wins], rows).table_text()


def _by_category(result: Evaluated) -> tuple[list[str], list[list[str]]]:
    """Return one row a category, one column a metric: the figure with its interval, winners bold."""
    names = [*result.metrics, *result.sentinels]
    shown = "{0.value:.3f} [{0.low:.3f}, {0.high:.3f}]"
    rows = [[g.group, str(g.n), *(_cell(g, name, shown) for name in names)] for g in result.groups]
    return ["", "rows", *map(result.shown, names)], rows


def _group(result: Evaluated, group: GroupResult) -> str:
    figures = _figures(result)
    ranks = _ranks(group)
    heads = [TITLES.get(name, name) for name in figures]
    rows = []
    order = sorted(group.metrics, key=lambda found: -found.value)
    for found in (*order, *group.sentinels):
        wins = group.clusters is not None and found.metric in group.clusters.winners
        cells = [_figure(found.figures.get(name)) for name in figures]
        ends = f"[{found.low:.3f}, {found.high:.3f}]"
        rank = [str(ranks.get(found.metric, "-"))] if ranks else []
        rows.append([result.shown(found.metric), Bold(cells[0]) if wins else cells[0], ends, *cells[1:], *rank])
    left_out = f", {group.left_out} rows left out" if group.left_out else ""
    interval = f"{result.settings.confidence:.0%} interval"
    head = ["", heads[0], interval, *heads[1:], *(["rank"] if ranks else [])]
    return f"{group.group} ({group.n} rows{left_out})\n{Sheet('', head, rows).table_text()}"


def _pairs(result: Evaluated, group: GroupResult) -> list[Sheet]:
    """Return the tests of a group: p of each pair, the metric with the higher value in the row."""
    if group.clusters is None:
        return []
    names, alternative = group.clusters.names, result.settings.alternative
    tests = {(test.a, test.b): test for test in group.tests}
    rows = []
    for i, a in enumerate(names[:-1]):
        cells = []
        for b in names[1:]:
            if b not in names[i + 1 :]:
                cells.append("")
                continue
            test = tests[a, b]
            plain = test.comparison.p if alternative == "greater" else test.comparison.p_two_sided
            p = plain if test.p_adjusted is None else test.p_adjusted
            cells.append(f"{p_value(p)}{'†' if p < result.settings.alpha else ''}")
        rows.append([a, *cells])
    title = f"p of each pair in {group.group}, n = {group.n}; {_test(result)}"
    note = f"The metric of the row has the higher value. †: p < {result.settings.alpha:g}."
    return [Sheet(title, ["p of better than", *names[1:]], rows, note)] if rows else []


def _what(result: Evaluated) -> str:
    every = [found for group in result.groups for found in (*group.metrics, *group.sentinels)]
    methods = list(dict.fromkeys(found.method for found in every))
    return f"{result.headline} with {result.human}: {'; '.join(methods)}"


def _counts(result: Evaluated) -> str:
    counts = [group.n for group in result.groups]
    if len(counts) == 1 or not result.averaged:
        return f"n = {counts[0]}"
    if len(counts) <= _NAMED:
        return ", ".join(f"n = {group.n} ({group.group})" for group in result.groups)
    return f"n = {min(counts)} to {max(counts)} in {len(counts)} groups"


def _test(result: Evaluated) -> str:
    alpha, correction = result.settings.alpha, result.settings.correction
    corrected = "uncorrected" if correction == "none" else f"{correction} correction"
    if correction != "none" and len(result.groups) > 1:
        corrected += " over all groups" if result.settings.correction_over == "all" else " within groups"
    method = next(test.comparison.method for group in result.groups for test in group.tests)
    sided = "one-sided" if result.settings.alternative == "greater" else "two-sided"
    return f"{method}, {sided} p < {alpha:g}, {corrected}"


def _tests(result: Evaluated) -> str:
    """Return what was tested, as a title ends; nothing if nothing was."""
    return f"; {_test(result)}" if _tested(result) else ""


def _said(result: Evaluated, *, test: bool) -> list[str]:
    """Return what stands below the tables, one sentence each; ``test`` says which test makes winners."""
    lines = []
    if result.settings.level in ("seg", "sys"):
        rows = result.settings.level == "seg" and not result.systems
        target = "other rows like these" if rows else result.settings.target
        lines.append(f"Intervals and tests speak about {target}.")
    if _tested(result):
        how = f" ({_test(result)})" if test else ""
        lines.append(f"Bold: no metric with a higher value is significantly better{how}.")
    beaten = [test for test in result.average_tests if test.p_adjusted < result.settings.alpha]
    if result.average_tests:
        found = [f"{t.a} {'>' if t.difference > 0 else '<'} {t.b}" for t in beaten]
        lines.append(f"On average, two-sided p < {result.settings.alpha:g}: {', '.join(found) or 'no pair differs'}.")
    return [*lines, *beside_controls(result), *unseen(result)]


def unseen(result: Evaluated) -> list[str]:
    """Return the categories with which metrics have shown no agreement."""
    if result.averaged:
        return []
    missed = {group.group: [found.metric for found in group.metrics if not found.low > 0] for group in result.groups}
    said = [f"{group} ({', '.join(names)})" for group, names in missed.items() if names]
    return [f"No agreement shown, the interval reaches 0: {'; '.join(said)}."] if said else []


def beside_controls(result: Evaluated) -> list[str]:
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


def _tested(result: Evaluated) -> bool:
    return any(group.clusters is not None for group in result.groups)


def _ranks(group: GroupResult) -> dict[str, int]:
    if group.clusters is None:
        return {}
    return dict(zip(group.clusters.names, group.clusters.ranks, strict=True))


def _figure(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def _short(value: str) -> str:
    """Return figures without the zero before their point, as tables print them: .512, -.040."""
    shown = re.sub(r"(?<!\d)0(?=\.)", "", value).replace("-.000", ".000")
    return Bold(shown) if isinstance(value, Bold) else shown
