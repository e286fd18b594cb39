"""Cells and tables: numbers rounded for reading, in full for sorting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict, TypeVar, Unpack

from bsx.analysis.present.numbers import figure
from bsx.analysis.present.numbers import p_value as p_text
from bsx.analysis.present.parts import Cell, TablePart
from bsx.analysis.stats.equivalence import Verdict

Item = TypeVar("Item")
NONE = "–"
FEWEST = 20
"""Rows from which a figure may be a headline."""
SHOWN = 3
"""Examples that are not folded away."""
_HEADS = {"ci": "interval", "p_adjusted": "p (corrected)"}


class CellMarks(TypedDict, total=False):
    """How a cell looks; fields of `bsx.analysis.present.parts.Cell`."""

    mark: str
    heat: int | None
    strong: bool
    code: bool


class TableMarks(TypedDict, total=False):
    """What needs a table; fields of `bsx.analysis.present.parts.TablePart`."""

    note: str
    names: int
    foot: int
    sortable: bool
    folded: bool
    full: bool


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
    return Cell(figure(value, decimals), float(value), **marks)


def percent(value: float | None, **marks: Unpack[CellMarks]) -> Cell:
    """Return a cell with a share as per cent."""
    cell = number(None if value is None else 100.0 * value, 1, **marks)
    return cell if cell.value is None or value is None else replace(cell, text=f"{cell.text} %", value=float(value))


def interval(ends: Sequence[float | None] | None, decimals: int = 3, *, scale: float = 1) -> Cell:
    """Return a cell with an interval, sorted by its lower end."""
    if ends is None or not _defined(ends):
        return Cell(NONE)
    low, high = (float(end or 0.0) for end in ends)
    return Cell(f"[{figure(scale * low, decimals)}, {figure(scale * high, decimals)}]", low)


def estimate(
    value: float | None, ends: Sequence[float | None] | None, decimals: int = 3, **marks: Unpack[CellMarks]
) -> Cell:
    """Return a cell with a number and its interval behind it."""
    cell = number(value, decimals, **marks)
    if cell.value is None or ends is None or not _defined(ends):
        return cell
    return replace(cell, text=f"{cell.text} {interval(ends, decimals).text}")


def p_value(value: object, **marks: Unpack[CellMarks]) -> Cell:
    """Return a cell with a p-value."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return number(value, **marks)
    return Cell(p_text(value), float(value), **marks)


def heat(value: float | None) -> int | None:
    """Return a shade from 0 to 9 for a number from 0 to 1."""
    return None if value is None or not math.isfinite(value) else min(9, max(0, int(10 * value)))


def decimals(values: Iterable[float | None]) -> int:
    """Return how many decimals tell these numbers apart: scores of up to 1 need more than those of up to 100."""
    result = (abs(value) for value in values if value is not None and math.isfinite(value))
    return 3 if max(result, default=0) <= 2 else 2


def table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]], **marks: Unpack[TableMarks]
) -> TablePart:
    """Return a table of cells."""
    return TablePart(caption, tuple(columns), tuple(tuple(row) for row in rows), **marks)


def table_of(
    caption: str,
    items: Iterable[Item],
    columns: Mapping[str, Callable[[Item], Cell] | None],
    **marks: Unpack[TableMarks],
) -> TablePart:
    """Return a table that is declared by its columns: of each, its head and the cell that it makes of an item.

    A column that is None is left out.
    """
    shown = {head: cell for head, cell in columns.items() if cell is not None}
    return table(caption, [*shown], [[cell(item) for cell in shown.values()] for item in items], **marks)


def plain_table(caption: str, rows: Sequence[Mapping[str, object]], **marks: Unpack[TableMarks]) -> TablePart:
    """Return a table of plain values, as JSON holds them: one column a key, lists of two as intervals."""
    kinds = (str, int, float, type(None))
    keys = [
        key
        for key in dict.fromkeys(key for row in rows for key in row)
        if all(isinstance(row.get(key), kinds) or _ends(row.get(key)) for row in rows)
        and any(row.get(key) is not None for row in rows)
    ]
    heads = [_HEADS.get(key, key.replace("_ci", " interval").replace("_", " ")) for key in keys]
    return table(caption, heads, [[_plain(key, row.get(key)) for key in keys] for row in rows], **marks)


def no_others(weak: bool, *, named: bool) -> str:
    """Return the end of the answer: that other coefficients, if there are any, are not significant.

    Args:
        weak: whether a metric that is named has such a coefficient.
        named: whether there are metrics that are not named, of which nothing is said.
    """
    return f"; other coefficients{' of the metrics named' * named} are not significant" * weak


def listed(names: Sequence[str]) -> str:
    """Return names as in a sentence: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def _defined(ends: Sequence[float | None]) -> bool:
    return all(end is not None and math.isfinite(end) for end in ends)


def _ends(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(v, int | float | None) for v in value)


def _plain(key: str, value: object) -> Cell:
    if isinstance(value, list | tuple):
        return interval((value[0], value[1]))
    if isinstance(value, bool):
        return text("yes" if value else "no")
    if isinstance(value, int | float):
        return p_value(value) if "p" in key.split("_") else number(value)
    return text(value) if value is not None else Cell(NONE)


EQUIVALENT = (
    "Equivalent: two one-sided tests show that the difference is smaller than {}; undecided: neither that, nor that "
    "there is one."
)
"""What verdicts mean, with the margin."""


def verdict_cell(verdict: Verdict, margin: float) -> Cell:
    """Return a cell with what a test of difference and one of equivalence say together."""
    shown = {"equivalent": "equivalent within {}", "different, equivalent": "different, but within {}"}
    return text(shown.get(verdict, verdict).format(f"{margin:g}"))
