"""Cells and plain tables: numbers rounded for reading, in full for sorting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict, Unpack

from bsx.analysis.documents.base import DocumentPart, Interval, Number
from bsx.analysis.report.blocks import Cell, ReportTable

NONE = "–"
FEWEST = 20
"""Rows from which a figure may be a headline."""
SHOWN = 3
"""Examples that are not folded away."""
_HEADS = {
    "a": "metric A",
    "b": "metric B",
    "ci": "interval",
    "p": "p",
    "p_two_sided": "p (two-sided)",
    "p_better": "p (A is better)",
    "p_corrected": "p (two-sided, corrected)",
    "only_a": "only A right",
    "only_b": "only B right",
    "p_adjusted": "p (corrected)",
    "auc": "AUC",
}


class CellMarks(TypedDict, total=False):
    """How a cell looks; fields of `bsx.analysis.report.blocks.Cell`."""

    heat: int | None
    strong: bool
    code: bool
    prose: bool


class TableMarks(TypedDict, total=False):
    """What goes with a table; fields of `bsx.analysis.report.blocks.ReportTable`."""

    note: str
    sortable: bool
    folded: bool


def text(value: object, **marks: Unpack[CellMarks]) -> Cell:
    """Return a cell with a text."""
    shown = str(value)
    return Cell(shown, shown, **marks)


def number(value: object, decimals: int = 3, **marks: Unpack[CellMarks]) -> Cell:
    """Return a cell with a rounded number; a dash for what is not defined, and what is no number as it is."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return Cell(NONE, **marks)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return text(value, **marks)
    if isinstance(value, int):
        return Cell(f"{value:,}", value, **marks)
    shown = f"{value:.{decimals}f}"
    return Cell(shown.removeprefix("-") if float(shown) == 0 else shown, float(value), **marks)


def percent(value: Number, **marks: Unpack[CellMarks]) -> Cell:
    """Return a cell with a share as per cent."""
    cell = number(None if value is None else 100 * value, 1, **marks)
    return cell if value is None else Cell(f"{cell.text} %", float(value), cell.heat, cell.strong)


def interval(ends: Interval, decimals: int = 3, *, scale: float = 1) -> Cell:
    """Return a cell with an interval, sorted by its lower end."""
    if ends is None or ends[0] is None or ends[1] is None:
        return Cell(NONE)
    low, high = (number(scale * end, decimals).text for end in (ends[0], ends[1]))
    return Cell(f"[{low}, {high}]", float(ends[0]))


def p_value(value: object, **marks: Unpack[CellMarks]) -> Cell:
    """Return a cell with a p-value."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return number(value, **marks)
    return Cell("< .001" if value < 0.0005 else f"{value:.3f}".removeprefix("0"), float(value), **marks)


def heat(value: Number, low: float, high: float) -> int | None:
    """Return a shade from 0 to 9 for a number between two ends."""
    if value is None or not math.isfinite(value) or high <= low:
        return None
    return min(9, max(0, int(10 * (value - low) / (high - low))))


def decimals(values: Iterable[Number]) -> int:
    """Return how many decimals tell these numbers apart: scores of up to 1 need more than those of up to 100."""
    return 3 if max((abs(value) for value in values if value is not None), default=0) <= 2 else 2


def table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]], **marks: Unpack[TableMarks]
) -> ReportTable:
    """Return a table; a column is numeric if its first defined cell is."""
    cells = tuple(tuple(row) for row in rows)
    numeric = set()
    for place in range(len(columns)):
        first = next((row[place].value for row in cells if row[place].value is not None), None)
        if isinstance(first, int | float):
            numeric.add(place)
    return ReportTable(caption, tuple(columns), cells, frozenset(numeric), **marks)


def plain_table(caption: str, rows: Sequence[Mapping[str, object] | DocumentPart]) -> ReportTable:
    """Return a table of whatever plain values documents hold: one column a key, lists of two as intervals."""
    plain_rows = [row.to_dict() if isinstance(row, DocumentPart) else row for row in rows]
    kinds = (str, int, float, type(None))
    keys = [
        key
        for key in dict.fromkeys(key for row in plain_rows for key in row)
        if all(isinstance(row.get(key), kinds) or _ends(row.get(key)) for row in plain_rows)
        and any(row.get(key) is not None for row in plain_rows)
    ]
    heads = [_HEADS.get(key, key.replace("_", " ")) for key in keys]
    return table(caption, heads, [[_plain(key, row.get(key)) for key in keys] for row in plain_rows])


def _ends(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(v, int | float | None) for v in value)


def _plain(key: str, value: object) -> Cell:
    if isinstance(value, list | tuple):
        return interval((value[0], value[1]))
    if isinstance(value, bool):
        return text("yes" if value else "no")
    if isinstance(value, int | float):
        return p_value(value) if key.startswith("p") and (key == "p" or key[1] == "_") else number(value)
    return text(value) if value is not None else Cell(NONE)


def settings_line(settings: Mapping[str, object]) -> str:
    """Return settings as ``name value`` phrases; what is not set or ``none`` is left out."""
    shown = (
        f"{key.replace('_', ' ')} {'yes' if value is True else value}"
        for key, value in settings.items()
        if isinstance(value, str | int | float) and value is not False and value not in ("", "none")
    )
    return ", ".join(shown)


def listed(names: Sequence[str]) -> str:
    """Return names as in a sentence: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"
