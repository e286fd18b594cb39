"""Agreement with people, as `bsx meta` measures it."""

from __future__ import annotations

from collections.abc import Sequence

from bsx.analysis.documents.agreement import JudgmentsDocument, MetaDocument, MetaGroupRow, MetaMetricRow
from bsx.analysis.documents.base import Number
from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, NONE, heat, interval, listed, number, p_value, table, text
from bsx.analysis.present.parts import Cell, Chart, Part, Section, TablePart
from bsx.analysis.report.documents import Document
from bsx.analysis.report.sections.contents import contents, noted, section_of

_NAMED = 4  # metrics that a headline has room for
_FIGURES = {"pairwise_accuracy": "accuracy", "hits_at_1": "hits@1", "spa": "soft accuracy"}


def agreement(documents: Sequence[Document]) -> Section | None:
    """Return the section on agreement with people."""
    found = contents(documents, MetaDocument)
    found += [(name, one) for name, every in contents(documents, JudgmentsDocument) for one in every.judgments]
    section = Section("agreement", "Agreement with people", answers=True)
    return section_of(section, found, lambda content: f"{content.headline} with {content.human}", _lead, _blocks)


def _blocks(content: MetaDocument) -> list[Part]:
    summary = [_summary(content)] if len(content.groups) > 1 else []
    return [_chart(content), *summary, _figures(content), *_tests(content), *noted(content.notes)]


def _value(figure: MetaMetricRow, headline: str) -> Number:
    value = figure.more.get(headline)
    return value if isinstance(value, int | float) else None


def _ranked(figures: Sequence[MetaMetricRow], headline: str) -> list[MetaMetricRow]:
    """Return the metrics that have a value, the best first."""
    defined = [figure for figure in figures if _value(figure, headline) is not None and not figure.control]
    return sorted(defined, key=lambda figure: -(_value(figure, headline) or 0.0))


def _name(figure: MetaMetricRow) -> str:
    return f"{figure.metric} (control)" if figure.control else figure.metric


def _lead(content: MetaDocument) -> str:
    several = len(content.groups) > 1
    ranked = _ranked(content.average.metrics if several else content.groups[0].metrics, content.headline)
    if not ranked:
        return f"No metric has a defined {content.headline} with {content.human}."
    rows = [group.n for group in content.groups]
    if sum(rows) < FEWEST:
        return f"{sum(rows)} rows are too few to say which metric agrees best with {content.human}."
    where = f"on average over {len(rows)} groups ({sum(rows):,} rows)" if several else f"on {rows[0]:,} rows"
    best, *others = ranked
    value, ends = number(_value(best, content.headline)).text, interval(best.ci).text
    said = f"{best.metric} agrees best with {content.human}: {content.headline} {value} {ends} {where}."
    if others:
        named = [f"{one.metric} ({number(_value(one, content.headline)).text})" for one in others[:_NAMED]]
        rest = f" and {len(others) - _NAMED} metrics more" if len(others) > _NAMED else ""
        said += f" Behind it: {listed(named) if not rest else ', '.join(named)}{rest}."
        clusters = None if several else content.groups[0].clusters
        alike = [] if clusters is None else [name for name in clusters.winners if name != best.metric]
        said += f" Not significantly worse: {listed(alike)}." if alike else ""
    return said


def _chart(content: MetaDocument) -> Chart:
    metrics = [_name(figure) for figure in content.average.metrics]
    several = len(content.groups) > 1
    points = []
    blocks = [(group.group, group.metrics) for group in content.groups]
    if several:
        blocks.append(("average", content.average.metrics))
    for group, figures in blocks:
        for figure in figures:
            place = metrics.index(_name(figure)) if several else 0
            low, high = figure.ci or (None, None)
            row = group if several else _name(figure)
            points.append(charts.Point(row, place, _value(figure, content.headline), low, high, _name(figure)))
    series = len(metrics) if several else 1
    alt = f"{_lead(content)} The tables below hold every figure."
    spec = charts.intervals(points, alt=alt, axis=f"{content.headline} with {content.human}", series=series)
    return Chart("Agreement with people, with intervals", alt, (("", spec),), tuple(metrics) if several else ())


def _summary(content: MetaDocument) -> TablePart:
    """Return metrics by groups: the figure that has intervals; winners stand out."""
    headline = content.headline
    heads = ["metric", *(group.group for group in content.groups), "average", "interval", "wins"]
    rows = []
    for average in content.average.metrics:
        cells: list[Cell] = [text(_name(average))]
        for group in content.groups:
            figure = next((figure for figure in group.metrics if figure.metric == average.metric), None)
            wins = group.clusters is not None and average.metric in group.clusters.winners
            cells.append(number(None if figure is None else _value(figure, headline), strong=wins))
        wins_cell = number(average.wins)
        rows.append([*cells, number(_value(average, headline)), interval(average.ci), wins_cell])
    note = "Bold: no metric with a higher value is significantly better in this group."
    return table(f"{headline} with {content.human} by group", heads, rows, note=note)


def _figures(content: MetaDocument) -> TablePart:
    """Return every figure of every group."""
    keys = list(dict.fromkeys(k for g in content.groups for f in g.metrics for k in f.more))
    keys = [content.headline, *(key for key in keys if key != content.headline)]
    several = len(content.groups) > 1
    rows = []
    for group in content.groups:
        for figure in group.metrics:
            wins = group.clusters is not None and figure.metric in group.clusters.winners
            first = [text(_name(figure))] + ([text(group.group)] if several else [])
            value = number(_value(figure, content.headline), strong=wins)
            cells = [_figure(figure.more.get(key)) for key in keys[1:]]
            rank = Cell(NONE) if group.clusters is None else number(group.clusters.ranks.get(figure.metric))
            rows.append([*first, number(group.n), value, interval(figure.ci), *cells, rank])
    heads = ["metric", *(["group"] if several else []), "n", content.headline, "interval"]
    heads += [*(_FIGURES.get(key, key.replace("_", " ")) for key in keys[1:]), "rank"]
    methods = list(dict.fromkeys(f.method for g in content.groups for f in g.metrics if f.method))
    note = f"Intervals: {listed(methods)}. " if methods else ""
    return table("All figures", heads, rows, note=f"{note}Bold and rank: clusters by the tests below.")


def _figure(value: object) -> Cell:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else text(value or NONE)


def _tests(content: MetaDocument) -> list[TablePart]:
    """Return which metric is significantly better than which: one p-value, or in how many groups."""
    tested = [group for group in content.groups if group.tests]
    if not tested:
        return []
    said = content.settings.get("alpha")
    alpha = said if isinstance(said, float) else 0.05
    metrics = [figure.metric for figure in content.average.metrics if not figure.control]
    rows = []
    for a in metrics:
        cells: list[Cell] = [text(a)]
        for b in metrics:
            ps = [p for group in tested if (p := _p(group, a, b)) is not None]
            if not ps:
                cells.append(Cell("" if a == b else NONE))
            elif len(content.groups) == 1:
                cells.append(p_value(ps[0], heat=heat(max(0.0, alpha - ps[0]), 0, 1.3 * alpha)))
            else:
                count = sum(p < alpha for p in ps)
                cells.append(number(count, heat=heat(count, 0, 1.3 * len(tested))))
        rows.append(cells)
    method = next((test.method for group in tested for test in group.tests), "")
    what = "one-sided p" if len(content.groups) == 1 else f"in how many of {len(tested)} groups p < {alpha:g}"
    correction = content.settings.get("correction", "none")
    corrected = "uncorrected" if correction == "none" else f"{correction} correction"
    shade = f"Shaded: p < {alpha:g}" if len(content.groups) == 1 else "Darker: in more groups"
    note = f"{method}; {corrected}. {shade}."
    return [table(f"Row better than column: {what}", ["metric", *metrics], rows, note=note, sortable=False)]


def _p(group: MetaGroupRow, a: str, b: str) -> float | None:
    for test in group.tests:
        if (test.a, test.b) == (a, b):
            return test.p if test.p_adjusted is None else test.p_adjusted
    return None
