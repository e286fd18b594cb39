"""How often people agree with a difference that large, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from bsx.analysis.documents.agreement import PeopleCurveRow
from bsx.analysis.present.cells import NONE, number, percent, table, text
from bsx.analysis.present.parts import Cell, TablePart


def people_table(curves: Sequence[PeopleCurveRow], *, metric: bool = False) -> TablePart:
    """Return curves as a table, one row a step."""
    rows = [
        [
            *([text(curve.metric)] if metric else []),
            text(curve.data),
            text(curve.level),
            text(curve.group),
            Cell(f"{number(step.low).text} to {number(step.high).text}", step.low),
            number(step.n),
            percent(step.share),
            Cell(NONE)
            if step.ci is None
            else Cell(f"[{percent(step.ci[0]).text}, {percent(step.ci[1]).text}]", step.ci[0]),
        ]
        for curve in curves
        for step in curve.steps
    ]
    heads = ["table", "pairs of", "group", "difference", "pairs", "people agree", "interval"]
    return table(
        "Share of pairs in which people prefer the side that scores higher, by the difference in score",
        [*(["metric"] if metric else []), *heads],
        rows,
        note="Pairs that people or the metric score the same are left out. Intervals allow for pairs that share a "
        "system, a segment or a row.",
        folded=len(rows) > 12,
    )
