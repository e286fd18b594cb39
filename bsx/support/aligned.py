"""Tables as aligned lines of text: the one layout of everything that is printed for people."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 20
"""Rows that a terminal has room for, with a sentence before them and notes behind."""
WIDTH = 100
"""Columns of a terminal that a table has to fit into."""
_SLACK = 3
"""Rows more that are shown too, instead of a line that counts them."""
_NARROW = 16
_GAP = 2


def text_table(rows: Sequence[Sequence[str]], columns: str = "lr") -> str:
    """Return rows of cells, the header first, as lines; each column is as wide as its widest cell.

    Args:
        rows: cells, as many in each row.
        columns: ``l`` (left) or ``r`` (right) for each column; the last letter serves all further ones.

    >>> print(text_table([["metric", "n"], ["chrf", "120"]]))
    metric    n
    chrf    120
    """
    letters = columns.ljust(len(rows[0]), columns[-1])
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        sized = zip(row, letters, widths, strict=True)
        lines.append("  ".join(padded(cell, width, left=side == "l") for cell, side, width in sized))
    return "\n".join(line.rstrip() for line in lines)


def display_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for a Chinese character, none for a combining mark."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def padded(text: str, width: int, *, left: bool = True) -> str:
    """Return a text with blanks behind it, or before it, so that it takes so many columns of a terminal."""
    blanks = " " * (width - display_width(text))
    return text + blanks if left else blanks + text


def short_table(
    rows: Sequence[Sequence[str]],
    columns: str = "lr",
    *,
    what: str,
    full: bool = False,
    cut: int | None = None,
    most: int = SHOWN,
) -> str:
    """Return the first rows of a long list, as `text_table` does, and a line that says how many more there are.

    Args:
        rows: cells, the header first.
        columns: see `text_table`.
        what: is listed, in the plural.
        full: all rows, with whole cells.
        cut: the column, by place, whose cells are cut off where a line would be too wide for a terminal.
        most: rows to show, unless few are left then.

    >>> short_table([["name", "title"], ["chrf", "of characters " * 9]], "l", what="metrics", cut=1).endswith("…")
    True
    """
    shown = rows if full or len(rows) - 1 <= most + _SLACK else rows[: most + 1]
    if cut is not None and not full:
        others = sum(
            max(display_width(row[place]) for row in shown) + _GAP for place in range(len(shown[0])) if place != cut
        )
        room = max(_NARROW, WIDTH - others)
        shown = [[shortened(cell, room) if place == cut else cell for place, cell in enumerate(row)] for row in shown]
    left = len(rows) - len(shown)
    return text_table(shown, columns) + (f"\n{left:,} more {what}: --full." if left else "")


def shortened(cell: str, room: int) -> str:
    """Return a cell, cut off with an ellipsis if it is longer than there is room."""
    return cell if len(cell) <= room else f"{cell[: room - 1].rstrip()}…"


def table_width(rows: Sequence[Sequence[str]]) -> int:
    """Return how wide `text_table` makes rows of cells."""
    return sum(max(map(display_width, column)) + _GAP for column in zip(*rows, strict=True)) - _GAP
