"""What is printed for people: messages on standard error, and tables as aligned lines of a terminal."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap

_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(9), *range(11, 32), *range(127, 160))}  # not tab, not line break


class Printed(io.TextIOWrapper):
    """A stream of text without control characters, which names in somebody's files may hold: as JSON spells them."""

    def write(self, text: str) -> int:
        """Write a text."""
        super().write(text.translate(_ESCAPES))
        return len(text)


def tell(message: str) -> None:
    """Print a message on standard error, above a bar of progress if one is drawn.

    That nobody reads it, or that the disk is full, is no reason to fail.
    """
    text, drawing = f"bsx: {message}".translate(_ESCAPES), sys.modules.get("tqdm")
    with contextlib.suppress(OSError):
        if drawing is None:
            print(text, file=sys.stderr)
        else:
            drawing.tqdm.write(text, file=sys.stderr)


SHOWN = 20
"""Rows that a terminal has room for, with a sentence before them and notes behind."""
WIDTH = 100
"""Columns of a terminal that a table has to fit into."""
_SLACK = 3
"""Rows more that are shown too, instead of a line that counts them."""
_NARROW = 16
"""Columns that a folded cell needs, at least."""
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
        cells = []
        for cell, side, width in zip(row, letters, widths, strict=True):
            blanks = " " * (width - display_width(cell))
            cells.append(cell + blanks if side == "l" else blanks + cell)
        lines.append("  ".join(cells))
    return "\n".join(line.rstrip() for line in lines)


def display_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for a Chinese character, none for a combining mark."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


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
        full: all rows, with whole cells: a table that is too wide for a terminal becomes several.
        cut: the column, by place, whose cells are cut off where a line would be too wide for a terminal, and with
            ``full`` go on in the next line.
        most: rows to show, unless few are left then.

    >>> short_table([["name", "title"], ["chrf", "of characters " * 9]], "l", what="metrics", cut=1).endswith("…")
    True
    """
    if full and cut is not None:
        letters = columns.ljust(len(rows[0]), columns[-1])
        tables = []
        for places in [[*range(len(rows[0]))]] if _left(rows, cut) >= 2 * _NARROW else pieces(rows, 1):
            cells = [[row[place] for place in places] for row in rows]
            if cut in places and table_width(cells) > WIDTH:
                at = places.index(cut)
                cells = folded(cells, {at: max(_NARROW, _left(cells, at))})
            tables.append(text_table(cells, "".join(letters[place] for place in places)))
        return "\n\n".join(tables)
    shown = rows if full or len(rows) - 1 <= most + _SLACK else rows[: most + 1]
    if cut is not None:
        room = max(_NARROW, _left(shown, cut))
        shown = [[shortened(cell, room) if place == cut else cell for place, cell in enumerate(row)] for row in shown]
    left = len(rows) - len(shown)
    return text_table(shown, columns) + (f"\n{left:,} more {what}: --full." if left else "")


def _left(rows: Sequence[Sequence[str]], cut: int) -> int:
    """Return how many columns of a terminal the others leave to one of a table's columns."""
    return WIDTH - sum(
        max(display_width(row[place]) for row in rows) + _GAP for place in range(len(rows[0])) if place != cut
    )


def folded(rows: Sequence[Sequence[str]], room: Mapping[int, int]) -> list[list[str]]:
    """Return a table whose cells of some columns go on in the next lines where they are longer than there is room.

    Args:
        rows: cells, the header first.
        room: column, by place -> how wide it may be.
    """
    lines = []
    for row in rows:
        parts = [
            wrap(cell, room[place], break_on_hyphens=False) or [""] if place in room else [cell]
            for place, cell in enumerate(row)
        ]
        lines += [list(line) for line in zip_longest(*parts, fillvalue="")]
    return lines


def pieces(rows: Sequence[Sequence[str]], names: int) -> list[list[int]]:
    """Return the columns, by place, of each piece that a table is cut into: all have those of the names.

    Args:
        rows: cells, the header first.
        names: how many columns, the first ones, name a row.
    """
    parts = [list(range(names))]
    for place in range(names, len(rows[0])):
        wider = [*parts[-1], place]
        if len(parts[-1]) > names and table_width([[row[at] for at in wider] for row in rows]) > WIDTH:
            parts.append([*range(names), place])
        else:
            parts[-1] = wider
    return parts


def shortened(cell: str, room: int) -> str:
    """Return a cell, cut off with an ellipsis if it is longer than there is room."""
    return cell if len(cell) <= room else f"{cell[: room - 1].rstrip()}…"


def table_width(rows: Sequence[Sequence[str]]) -> int:
    """Return how wide `text_table` makes rows of cells."""
    return sum(max(map(display_width, column)) + _GAP for column in zip(*rows, strict=True)) - _GAP
