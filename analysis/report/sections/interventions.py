"""Interventions: what metrics react to, beside what they go with."""

from __future__ import annotations

from collections.abc import Sequence

from bsx.analysis.documents.intervening import InterveneDocument
from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, interval, listed, number, p_value, table, text
from bsx.analysis.present.parts import Chart, Section, TablePart
from bsx.analysis.report.documents import Document
from bsx.analysis.report.sections.contents import contents, noted, section_of

_SIDES = ("observed", "edited")


def interventions(documents: Sequence[Document]) -> Section | None:
    """Return the section on interventions."""
    return section_of(
        Section("interventions", "Interventions"),
        contents(documents, InterveneDocument),
        lambda content: f"{listed(_metrics(content))} under edits of {content.base}s",
        _lead,
        lambda content: [_chart(content), _effects(content), _edits(content), *noted(content.notes)],
    )


def _metrics(content: InterveneDocument) -> list[str]:
    return [fit.metric for fit in content.fits]


def _lead(content: InterveneDocument) -> str:
    if max(fit.n_edited for fit in content.fits) < FEWEST:
        return "The edited texts are too few to say what a metric reacts to."
    phrases = []
    for metric in _metrics(content):
        own = [row for row in content.effects if row.metric == metric]
        apart = [row.factor for row in own if (row.p_adjusted if row.p_adjusted is not None else 1.0) < 0.05]
        seen = any(row.p_adjusted is not None for row in own)
        if seen:
            phrases.append(f"{metric}: {listed(apart)}" if apart else f"{metric}: none")
    if not phrases:
        return "Edits move single factors; no texts as they come stand beside them."
    return "Factors whose coefficient under edits differs from the observed one: " + "; ".join(phrases) + "."


def _chart(content: InterveneDocument) -> Chart:
    panels = []
    for metric in _metrics(content):
        points = []
        for row in content.effects:
            if row.metric == metric:
                sides = ((row.observed, row.observed_ci), (row.edited, row.edited_ci))
                points += [
                    charts.Point(row.factor, place, value, *(ends or (None, None)), _SIDES[place])
                    for place, (value, ends) in enumerate(sides)
                    if value is not None
                ]
        alt = f"Coefficients of each factor in {metric}, as data come and under edits, with intervals."
        panels.append((metric, charts.intervals(points, alt=alt, axis="standardised coefficient", series=2)))
    alt = f"What metrics go with and what they react to. {_lead(content)}"
    return Chart("What metrics go with, and what they react to", alt, tuple(panels), _SIDES)


def _effects(content: InterveneDocument) -> TablePart:
    rows = [
        [
            text(row.metric),
            text(row.factor),
            number(row.observed),
            interval(row.observed_ci),
            number(row.edited),
            interval(row.edited_ci),
            number(row.difference),
            interval(row.difference_ci),
            p_value(row.p_adjusted),
        ]
        for row in content.effects
    ]
    heads = ["metric", "factor", "observed", "interval", "edited", "interval", "difference", "interval", "p"]
    corrected = "" if content.correction == "none" else f", {content.correction} correction"
    note = (
        "Observed: standard deviations of the score for one of the factor, among texts as they come. Edited: the same "
        f"where edits moved the factor. p: both are the same{corrected}. sem and surface are declared by the kind of "
        "each edit."
    )
    return table("Coefficients, observed and edited", heads, rows, note=note)


def _edits(content: InterveneDocument) -> TablePart:
    metrics = _metrics(content)
    drops = {(row.metric, row.edit): row for row in content.drops}
    factors = list(dict.fromkeys(name for row in content.edits for name in row.changes))
    rows = []
    for row in content.edits:
        cells = [text(row.edit), text(row.aim), text("kept" if row.preserves else "changed"), number(row.n)]
        cells += [number(row.changes.get(name)) for name in factors]
        for metric in metrics:
            drop = drops.get((metric, row.edit))
            cells += [number(drop.drop if drop else None, 2), number(drop.expected if drop else None, 2)]
        rows.append(cells)
    heads = ["edit", "aims at", "meaning", "texts", *(f"fall of {name}" for name in factors)]
    heads += [head for metric in metrics for head in (f"fall of {metric}", "expected")]
    note = "Falls of scores are in standard deviations; expected: what the edited coefficients make of the factors."
    return table("What each edit moves", heads, rows, note=note)
