"""Parts as plain text, for a terminal: digits stand below digits, whatever marks stand around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bsx.analysis.present.parts import Answer, Cell, Commands, Example, Heading, Notes, Part, Passages, Prose, TablePart
from bsx.support.aligned import text_table

WIDTH = 100
"""Characters that a line of a table has room for: a wider table goes on below, under its names once more."""


def text(parts: Sequence[Part], *, full: bool = True) -> str:
    """Return parts as text.

    Args:
        parts: of a result.
        full: all of them; else those of the short form, and a line that says how many tables more there are.
    """
    shown = [part for part in parts if full or not part.full]
    blocks = [block for part in shown if (block := _block(part))]
    left = sum(isinstance(part, TablePart) for part in parts) - sum(isinstance(part, TablePart) for part in shown)
    if left:
        blocks.append(f"{left} more table{'s' * (left > 1)}: --full.")
    return "\n\n".join(blocks)


def table_text(table: TablePart) -> str:
    """Return caption, table and note."""
    return "\n".join(filter(None, [table.caption, aligned(table), table.note]))


def aligned(table: TablePart) -> str:
    """Return the table alone; one that is too wide in several parts, each with the columns of names."""
    whole = _lines(table)
    places = range(table.names, len(table.columns))
    if len(places) < 2 or max(map(len, whole.splitlines())) <= WIDTH:
        return whole
    blocks: list[list[int]] = []
    for place in places:
        wider = [*blocks[-1], place] if blocks else []
        if blocks and max(map(len, _lines(_columns(table, wider)).splitlines())) <= WIDTH:
            blocks[-1] = wider
        else:
            blocks.append([place])
    return "\n\n".join(_lines(_columns(table, block)) for block in blocks)


def _columns(table: TablePart, places: Sequence[int]) -> TablePart:
    """Return some columns of a table, after those of names."""
    kept = (*range(table.names), *places)
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in kept), rows=rows)


def _lines(table: TablePart) -> str:
    cells = [list(table.columns), *([_plain(cell) for cell in row] for row in table.rows)]
    numeric = table.numeric
    for place in range(table.names, len(table.columns)):
        column = [row[place] for row in table.rows]
        ahead = 2 * any(cell.strong for cell in column)
        marks = max((len(cell.mark) for cell in column), default=0)
        for row, cell in zip(cells[1:], column, strict=True):
            edge = 0 if cell.strong else ahead
            row[place] += " " * (marks - len(cell.mark) + edge) if row[place] and place in numeric else ""
    sides = "".join(
        "l" if place < table.names or (place not in numeric and any(row[place].value for row in table.rows)) else "r"
        for place in range(len(table.columns))
    )
    return text_table(cells, sides or "l")


def _plain(cell: Cell) -> str:
    """Return a cell, with two asterisks on either side of what stands out, as in Markdown."""
    return f"**{cell.text}**{cell.mark}" if cell.strong and cell.text else cell.text + cell.mark


def _block(part: Part) -> str:
    if isinstance(part, Answer | Prose | Heading):
        return part.text
    if isinstance(part, TablePart):
        return table_text(part)
    if isinstance(part, Notes):
        return "\n".join(f"Note: {item}" for item in part.items)
    if isinstance(part, Commands):
        return "\n".join(part.lines)
    return "\n".join(_texts(part)) if isinstance(part, Example | Passages) else ""


def _texts(part: Example | Passages) -> Iterator[str]:
    if isinstance(part, Passages):
        yield part.caption
        for name, texts in part.rows:
            yield name
            yield from (f"  {label}: {_marked(runs)}" for label, runs in texts)
        return
    yield part.title
    yield from (f"  {label}: {_marked(runs)}" for label, runs in part.texts)
    yield aligned(part.scores)


def _marked(runs: Iterable[object]) -> str:
    return "".join(f"[{run.text}]" if run.differs else run.text for run in runs)  # type: ignore[attr-defined]
