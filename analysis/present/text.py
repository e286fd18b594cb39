"""Parts as plain text, for a terminal: digits stand below digits, whatever marks stand around them."""

from __future__ import annotations

from collections.abc import Sequence

from bsx.analysis.present.parts import Answer, Cell, Commands, Example, Heading, Notes, Part, Prose, TablePart
from bsx.support.terminal import WIDTH, folded, pieces, table_width, text_table

_NARROW = 18
"""Columns that a text is given at least before it goes on below."""


def text(parts: Sequence[Part], *, full: bool = True, more: str = "--full") -> str:
    """Return parts as text.

    Args:
        parts: of a result.
        full: all of them; else those of the short form, and a line that says how many tables more there are.
        more: what shows them.
    """
    shown = [part for part in parts if full or not part.full]
    blocks = [block for part in shown if (block := _block(part))]
    left = sum(isinstance(part, TablePart) for part in parts) - sum(isinstance(part, TablePart) for part in shown)
    if left:
        blocks.append(f"{left} more table{'s' * (left > 1)}: {more}.")
    return "\n\n".join(blocks)


def aligned(table: TablePart) -> str:
    """Return the table alone; of one too wide for a terminal, texts go on below, or further columns stand below."""
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
    texts = [i for i in range(len(sides)) if i not in numeric and len({row[i] for row in cells}) > 1]
    room = {place: max(len(row[place]) for row in cells) for place in texts}
    excess = table_width(cells) - WIDTH
    if 0 < excess <= sum(max(0, width - _NARROW) for width in room.values()):  # else that is not enough
        for _ in range(excess):  # the widest column yields first
            room[max(room, key=lambda place: room[place])] -= 1
        cells = folded(cells, room)
    return "\n\n".join(
        text_table(
            [[row[place] for place in places] for row in cells], "".join(sides[place] for place in places) or "l"
        )
        for places in pieces(cells, table.names)
    )


def _plain(cell: Cell) -> str:
    """Return a cell, with two asterisks on either side of what stands out, as in Markdown."""
    return f"**{cell.text}**{cell.mark}" if cell.strong and cell.text else cell.text + cell.mark


def _block(part: Part) -> str:
    if isinstance(part, Answer | Prose | Heading):
        return part.text
    if isinstance(part, TablePart):
        return "\n".join(filter(None, [part.caption, aligned(part), part.note]))
    if isinstance(part, Notes):
        return "\n".join(f"Note: {item}" for item in part.items)
    if isinstance(part, Commands):
        return "\n".join(part.lines)
    if not isinstance(part, Example):
        return ""
    marked = (
        f"  {label}: {''.join(f'[{run.text}]' if run.differs else run.text for run in runs)}"
        for label, runs in part.texts
    )
    return "\n".join([part.title, *marked, aligned(part.scores)])
