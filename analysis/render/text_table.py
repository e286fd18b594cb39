"""Rows of cells as aligned lines."""

from __future__ import annotations

from collections.abc import Sequence


def align(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text, the first column to the left and the others to the right; a star hangs over the edge.

    >>> print(align([["metric", "sem"], ["m", "0.10*"], ["longer", "0.20"]]))
    metric  sem
    m      0.10*
    longer 0.20
    """
    bare = [[cell.removesuffix("*") for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in bare) for i in range(len(rows[0]))]
    lines = []
    for row, plain_row in zip(rows, bare, strict=True):
        cells = [plain_row[0].ljust(widths[0])]
        for cell, shown, width in zip(row[1:], plain_row[1:], widths[1:], strict=True):
            cells.append(shown.rjust(width) + ("*" if cell.endswith("*") else " "))
        lines.append(" ".join(cells).rstrip() if len(cells) > 1 else cells[0].rstrip())
    return "\n".join(lines)


def text_table(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return rows of cells as aligned lines; the first ``left`` columns are aligned to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        sized = enumerate(zip(row, widths, strict=True))
        cells = [cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in sized]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
