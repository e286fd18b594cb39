"""Factor profiles: what metrics go with, as `bsx disentangle` measures it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bsx.analysis.documents.disentangling import DisentangleDocument, FitRow, FitsRow
from bsx.analysis.documents.sheets import further_sheets, variance_sheets
from bsx.analysis.report import charts
from bsx.analysis.report.blocks import Block, Cell, Chart, ReportTable, Section
from bsx.analysis.report.cells import FEWEST, interval, listed, number, p_value, table, text
from bsx.analysis.report.documents import Document
from bsx.analysis.report.sections.contents import contents, noted, section_of


def profiles(documents: Sequence[Document]) -> Section | None:
    """Return the section on factor profiles."""
    return section_of(
        Section("factors", "Factor profiles"),
        contents(documents, DisentangleDocument),
        lambda content: f"{listed(_metrics(content))} by {listed(content.factors)}",
        _lead,
        _blocks,
    )


def _blocks(content: DisentangleDocument) -> list[Block]:
    blocks: list[Block] = [_coefficient_chart(content), _coefficients(content), _share_chart(content), _shares(content)]
    blocks += [*_groups(content), *_nested(content), *_comparison(content), *_further(content)]
    return [*blocks, *noted([*content.notes, *(notice.message for notice in content.warnings)])]


def _metrics(content: DisentangleDocument) -> list[str]:
    return [fit.metric for fit in content.results]


def _lead(content: DisentangleDocument) -> str:
    if content.n < FEWEST:
        return f"{content.n} rows are too few to say what a metric goes with."
    phrases = []
    for fit in content.results:
        defined = {name: value for name, value in fit.coef.items() if value is not None}
        if defined and fit.r2 is not None:
            name = max(defined, key=lambda factor: abs(defined[factor]))
            phrases.append(f"{fit.metric} with {name} ({number(defined[name], 2).text}; R² {number(fit.r2, 2).text})")
    most = "; ".join(phrases[:6]) + (f" (and {len(phrases) - 6} metrics more)" if len(phrases) > 6 else "")
    return (
        f"On {content.n:,} rows, each metric goes most with one factor: {most}."
        if phrases
        else "No regression is defined."
    )


def _interval(fit: FitRow, factor: str) -> tuple[float | None, float | None]:
    return fit.ci_bootstrap.get(factor) or fit.ci.get(factor) or (None, None)


def _coefficient_chart(content: DisentangleDocument) -> Chart:
    points = [
        charts.Point(factor, place, fit.coef.get(factor), *_interval(fit, factor), fit.metric)
        for factor in content.factors
        for place, fit in enumerate(content.results)
    ]
    alt = f"Standardised coefficients of each factor in each metric, with intervals. {_lead(content)}"
    series = len(content.results)
    spec = charts.intervals(points, alt=alt, axis="standardised coefficient", series=series)
    names = tuple(fit.metric for fit in content.results) if series > 1 else ()
    return Chart("What each metric goes with", alt, (("", spec),), names)


def _marked(fit: FitRow, factor: str) -> Cell:
    """Return a coefficient, with the dagger of `bsx disentangle` if it is significant."""
    cell = number(fit.coef.get(factor))
    return replace(cell, text=f"{cell.text}†") if fit.significant.get(factor, False) else cell


def _coefficients(content: FitsRow) -> ReportTable:
    rows = []
    for fit in content.results:
        for factor in content.factors:
            boot = fit.ci_bootstrap.get(factor)
            p = (fit.p_adjusted or fit.p).get(factor)
            rows.append(
                [
                    text(fit.metric),
                    text(factor),
                    _marked(fit, factor),
                    interval(fit.ci.get(factor)),
                    *([interval(boot)] if fit.ci_bootstrap else []),
                    p_value(p),
                ]
            )
    boots = ["bootstrap interval"] if content.results and content.results[0].ci_bootstrap else []
    corrected = "" if content.correction == "none" else f", {content.correction} correction"
    level = f"{100 * content.confidence:g} % intervals"
    why = f" ({content.se_reason})" if content.se_reason else ""
    note = f"†: p < {content.alpha:g}{corrected}; {content.se} standard errors{why}; {level}; n = {content.n:,}."
    return table("Coefficients", ["metric", "factor", "coefficient", "interval", *boots, "p"], rows, note=note)


def _groups(content: DisentangleDocument) -> list[Block]:
    """Return the coefficients of all groups side by side, with the tests that they are the same."""
    if not content.groups:
        return []
    parts = [("all", content), *((part.group, part) for part in content.groups)]
    fits = [{fit.metric: fit for fit in part.results} for _, part in parts]
    pooled = {test.metric: test for test in content.pooled}
    series, names = len(content.results), tuple(_metrics(content))
    panels, rows = [], []
    ends = [
        end
        for of in fits
        for fit in of.values()
        for factor in content.factors
        for end in (fit.coef.get(factor), *_interval(fit, factor))
        if end is not None
    ]
    span = (min(0.0, *ends), max(0.0, *ends)) if ends else None
    for factor in content.factors:
        points = [
            charts.Point(name, place, of[metric].coef.get(factor), *_interval(of[metric], factor), metric)
            for (name, _), of in zip(parts, fits, strict=True)
            for place, metric in enumerate(names)
        ]
        alt = f"Coefficients of {factor} in each group, with intervals, one mark a metric."
        axis = "standardised coefficient"
        spec = charts.intervals(points, alt=alt, axis=axis, series=series, span=span, dense=True)
        panels.append((factor, spec))
    for metric in names:
        test = pooled.get(metric)
        for factor in (*content.factors, ""):
            cells = [_marked(of[metric], factor) if factor else number(of[metric].r2) for of in fits]
            p = None if test is None else test.by_factor.get(factor) if factor else None
            rows.append([text(metric), text(factor or "R²"), *cells, *([p_value(p)] if pooled else [])])
    heads = ["metric", "factor", *(f"{name} (n = {part.n:,})" for name, part in parts)]
    note = f"†: p < {content.alpha:g}."
    if pooled:
        note += " The last column tests whether the groups share the coefficient."
    alt = "Coefficients by group, a panel for each factor: " + ", ".join(name for name, _ in parts) + "."
    blocks: list[Block] = [
        Chart("What each metric goes with, group by group", alt, tuple(panels), names if series > 1 else ()),
        table("Coefficients by group", [*heads, *(["p: the same"] if pooled else [])], rows, note=note),
    ]
    if pooled:
        tests = [
            [text(t.metric), number(t.statistic, 2), number(t.df1), number(t.df2, 0), p_value(t.p)]
            for t in content.pooled
        ]
        caption = f"Do the groups share all their coefficients? ({content.pooled[0].method})"
        blocks.append(table(caption, ["metric", "F", "df", "residual df", "p"], tests))
    return blocks


def _share_chart(content: DisentangleDocument) -> Chart:
    rows = [
        (fit.metric, place, fit.r2_share.get(factor), factor)
        for fit in content.results
        for place, factor in enumerate(content.factors)
    ]
    alt = "Shares of each metric's variance that the factors explain, stacked to R². " + "; ".join(
        f"{fit.metric}: R² {number(fit.r2).text}" for fit in content.results
    )
    spec = charts.stacked(rows, alt=alt, axis="share of R²", series=len(content.factors))
    return Chart("How much each factor explains", alt, (("", spec),), tuple(content.factors), fills=True)


def _shares(content: DisentangleDocument) -> ReportTable:
    rows = [
        [
            text(fit.metric),
            *(number(fit.r2_share.get(factor)) for factor in content.factors),
            number(fit.r2),
            number(fit.adj_r2),
        ]
        for fit in content.results
    ]
    note = "Shapley values of R² (Lindeman, Merenda & Gold 1980): a metric's shares sum to its R²."
    return table("Shares of R²", ["metric", *content.factors, "R²", "adjusted R²"], rows, note=note)


def _further(content: DisentangleDocument) -> list[Block]:
    """Return intervals and parts of R², other estimates of the coefficients, and where noise makes them vanish."""
    blocks: list[Block] = [
        table(
            sheet.title[0].upper() + sheet.title[1:],
            sheet.header,
            [[*map(text, row)] for row in sheet.rows],
            note=sheet.note,
        )
        for sheet in (*variance_sheets(content), *further_sheets(content))
    ]
    for noisy in dict.fromkeys(point.noisy for point in content.tipping):
        own = [point for point in content.tipping if point.noisy == noisy and not point.group]
        names = list(dict.fromkeys(point.metric for point in own))
        values = [c for point in own for _, c, *_ in point.curve if c is not None]
        panels = []
        for factor in dict.fromkeys(point.factor for point in own):
            marks = [
                (at, names.index(point.metric), coef, point.metric)
                for point in own
                if point.factor == factor
                for at, coef, *_ in point.curve
                if at is not None
            ]
            alt = f"The coefficient of {factor} at each reliability of {noisy}, one line a metric."
            span = (min(0.0, *values), max(0.0, *values))
            spec = charts.lines(
                marks,
                alt=alt,
                x=f"reliability of {noisy}",
                y="coefficient",
                series=len(names),
                span=span,
                ticks=(0.4, 0.6, 0.8, 1.0),
            )
            panels.append((factor, spec))
        alt = f"Coefficients without the noise of {noisy}, a panel for each other factor, reliability along the axis."
        blocks.append(Chart(f"Coefficients without the noise of {noisy}", alt, tuple(panels), tuple(names)))
    return blocks


def _nested(content: DisentangleDocument) -> list[Block]:
    rows = []
    for metric, found in content.tests.items():
        for test in found:
            rows.append(
                [
                    text(metric),
                    text(test.name),
                    text(", ".join(test.added)),
                    number(test.gain),
                    number(test.statistic, 2),
                    p_value(test.p),
                ]
            )
    heads = ["metric", "test", "added", "gain in R²", "statistic", "p"]
    return [table("Does more explain more?", heads, rows)] if rows else []


def _comparison(content: DisentangleDocument) -> list[Block]:
    found = content.comparison
    if found is None:
        return []
    rows = []
    for factor, c in found.by.items():
        figures = [number(value) for value in (c.a, c.b, c.difference, c.low, c.high)]
        rows.append([text("R²" if factor == "r2" else factor), *figures, p_value(c.p_two_sided)])
    heads = ["factor", found.a, found.b, "difference", "low", "high", "p (two-sided)"]
    return [table(f"{found.a} against {found.b}", heads, rows)]
