"""Tables as aligned lines of text: the one layout of everything that is printed for people."""

from __future__ import annotations

from collections.abc import Sequence


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
