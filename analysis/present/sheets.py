"""The parts of a result as a spreadsheet: first what is said in words, then each table on a sheet of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bsx.analysis.present.forms import origin_of, parts_of
from bsx.analysis.present.parts import Answer, Cell, Commands, Notes, Part, Prose, TablePart
from bsx.data.formats.workbook import Workbook
from bsx.data.output import atomic_path
from bsx.support.result import Shown


def write_xlsx(result: Shown, path: Path) -> None:
    """Write the texts and tables of a result; charts and examples stay with the other forms.

    The file appears when it is whole; signatures stand on its last sheet.

    Raises:
        InputError: for a table that is larger than a sheet.
    """
    (data, signatures), parts = origin_of(result), parts_of(result)
    with atomic_path(path) as temporary, Workbook(temporary, path) as book:
        book.begin("Answer", ["kind", "text"])
        if data:
            book.row(["data", data])
        for part in parts:
            for text in _texts(part):
                book.row([type(part).__name__.removesuffix("Part").lower(), text])
        for part in parts:
            if isinstance(part, TablePart):
                _add(book, part)
        if signatures:
            book.begin("Signatures", ["metric", "signature"])
            for metric, signature in signatures.items():
                book.row([metric, signature])


def _texts(part: Part) -> Sequence[str]:
    """Return what a part says in words; of a table, what it shows and what its marks mean."""
    if isinstance(part, Answer | Prose):
        return [part.text]
    if isinstance(part, Notes):
        return part.items
    if isinstance(part, Commands):
        return part.lines
    return [text for text in (part.caption, part.note) if text] if isinstance(part, TablePart) else []


def _add(book: Workbook, table: TablePart) -> None:
    """Add a table; intervals and marks have columns of their own, so that figures stay numbers."""
    cells = [[_pieces(cell) for cell in row] for row in table.rows]
    used = [
        [any(row[place][kind] is not None for row in cells) for kind in (1, 2)] for place in range(len(table.columns))
    ]
    heads: list[str] = []
    for head, (interval, mark) in zip(table.columns, used, strict=True):
        heads += [head, *([f"{head} interval"] if interval else []), *([f"{head} mark"] if mark else [])]
    book.begin(table.caption.partition(";")[0], heads)
    for row in cells:
        values: list[object] = []
        for (figure, *more), used_cells in zip(row, used, strict=True):
            values += [figure, *(value for value, wanted in zip(more, used_cells, strict=True) if wanted)]
        book.row(values)


def _pieces(cell: Cell) -> tuple[object, str | None, str | None]:
    """Return a number in full where the cell shows one, and what it shows otherwise; its interval; its mark."""
    shown, bracket, interval = cell.text.partition("[")
    mark = cell.mark or None
    if isinstance(cell.value, int | float) and any(map(str.isdigit, shown)):
        return cell.value, f"{bracket}{interval}" or None, mark
    return cell.text or None, None, mark
