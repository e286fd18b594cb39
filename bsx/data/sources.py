"""What a table can be: a file that is not lines of text, or a mapping, DataFrame or Arrow table in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias

import numpy as np
from pydantic import BeforeValidator

from bsx.data import cells
from bsx.data.cells import Spelled
from bsx.data.lines import Problems
from bsx.errors import InputError
from bsx.support.untyped import Untyped

SHEETS = (".xlsx", ".xlsm")
XLIFF = (".xliff", ".xlf", ".sdlxliff", ".mqxliff", ".mxliff")
MEMORIES = (".tmx",)
OFFICE = (*SHEETS, *XLIFF, *MEMORIES)
"""Ends of the names of such files."""
MOST_COLUMNS = 1_000
"""Columns of a table; more are a matrix, or a mistake, and nobody could choose among them."""
A_DOCUMENT = "put its texts into a spreadsheet, a row for each segment, and save that as .xlsx"
INSTEAD = {
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".pdf", ".pptx"), A_DOCUMENT),
    **dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), "open it in a spreadsheet program and save it as .xlsx"),
    ".txt": "a text a line is given as a file of candidates or references; a table ends in .tsv if tabs divide it",
    ".json": "a table in JSON has one object a line, and its name ends in .jsonl",
    ".po": "convert it to XLIFF (po2xliff of the Translate Toolkit)",
}
"""What to do with formats that are not read."""


Cells = dict[str, object]


class Row(Cells):
    """A row: column -> cell. Its methods read a cell as `bsx.data.cells` says; their errors name place and column.

    Attributes:
        where: its place, such as ``scores.tsv: line 3``.
        order: which row it is, from 1, where that is not what the end of ``where`` says.
        letters: column -> what a spreadsheet program calls it; None of other formats.
    """

    __slots__ = ("letters", "order", "where")

    def __init__(
        self,
        where: str,
        content: Iterable[tuple[str, object]] | Mapping[str, object],
        order: int | None = None,
        letters: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(content)
        self.where = where
        self.order = order
        self.letters = letters

    def place(self, column: str) -> str:
        """Return where one of its cells stands, for messages."""
        letter = self.letters.get(column) if self.letters else None
        return f"{self.where}, column {column!r}" if letter is None else f"{self.where}, column {letter} ({column!r})"

    def number(self, column: str) -> float:
        """Return a number; NaN if it is missing."""
        return cells.number(self[column], self.place(column))

    def finite(self, column: str) -> float:
        """Return a number that may not be missing."""
        return cells.finite(self[column], self.place(column))

    def name(self, column: str) -> str:
        """Return what something is called."""
        return cells.name(self[column], self.place(column))

    def label(self, column: str) -> int:
        """Return a label, 0 or 1."""
        return cells.label(self[column], self.place(column))

    def text(self, column: str) -> str:
        """Return a text."""
        return cells.text(self[column], self.place(column))

    def texts(self, column: str) -> list[str]:
        """Return the texts of a cell that may hold a list of them."""
        return cells.texts(self[column], self.place(column))


class RowSource:
    """A file with named columns.

    Attributes:
        columns: their names.
        languages: column -> the code of its language, as far as the file says so.
        notes: what a reader should know, a line each.
        sheets: names of the sheets; empty in other formats.
        sheet: the one that is read.
        total: how many rows it has, where that is known.
    """

    columns: list[str]
    languages: Mapping[str, str] = {}
    notes: Sequence[str] = ()
    sheets: Sequence[str] = ()
    sheet: str | None = None
    total: int | None = None

    def rows(self, problems: Problems, needed: Sequence[str]) -> Iterator[Row]:
        """Yield the rows; ``needed`` are the columns that will be read, none for all."""
        raise NotImplementedError


class NamedColumns(Protocol):
    """A table that names its columns, such as a DataFrame or a `JudgedTable`."""

    @property
    def columns(self) -> Iterable[object]:
        """The names."""
        ...

    def __getitem__(self, name: str, /) -> Untyped:
        """Return a column."""
        ...


TableLike: TypeAlias = "Mapping[str, Untyped] | NamedColumns"
"""Columns by name; what is a column, the function that reads it says."""


def in_memory(table: object) -> bool:
    """Tell whether this is a table in memory rather than the name of a file."""
    return isinstance(table, Mapping) or (hasattr(table, "columns") and hasattr(table, "__getitem__"))


def _taken(table: object) -> object:
    """Return what a setting that names a table takes: a name as text, or the table itself."""
    if isinstance(table, Path):
        return str(table)
    if table is None or isinstance(table, str) or in_memory(table):
        return table
    raise ValueError("must be a path, a DataFrame, an Arrow table or a mapping of columns")


if TYPE_CHECKING:
    AnyTable: TypeAlias = str | Path | TableLike
else:
    AnyTable = Annotated[Any, BeforeValidator(_taken)]
"""The name of a file, or a table in memory."""
IN_MEMORY = "the table"
"""What a table in memory is called in messages."""


class MemoryTable(RowSource):
    """A table in memory, of columns of the same length; cells mean what they mean in a Parquet file."""

    total: int

    def __init__(self, table: TableLike) -> None:
        arrow = getattr(table, "column_names", None)  # an Arrow table's `columns` have no names
        names = list(table) if isinstance(table, Mapping) else list(arrow if arrow is not None else table.columns)
        self.columns = [str(name) for name in names]
        self._columns = [table[name] for name in names]
        for name, column in zip(self.columns, self._columns, strict=True):
            if isinstance(column, str) or not hasattr(column, "__len__"):
                raise InputError(f"column {name!r} is {column!r}: give a list of its values"[:300])
        sizes = {name: len(column) for name, column in zip(self.columns, self._columns, strict=True)}
        if len(set(sizes.values())) > 1:
            raise InputError(f"columns differ in length: {', '.join(f'{name} {n}' for name, n in sizes.items())}")
        self.total = next(iter(sizes.values()), 0)

    def rows(self, problems: Problems, needed: Sequence[str]) -> Iterator[Row]:
        """Yield the rows, each whole."""
        columns = [_cells(column) for column in self._columns]
        for number, values in enumerate(zip(*columns, strict=True), start=1):
            yield Row(f"{IN_MEMORY}: row {number}", zip(self.columns, values, strict=True), number)


def _cells(column: Untyped) -> list[object]:
    """Return the values of a column as plain objects of Python; floats know their digits."""
    # Arrow; polars and pandas; NumPy
    made = next((getattr(column, name) for name in ("to_pylist", "to_list", "tolist") if hasattr(column, name)), None)
    return [_plain(value) for value in (column if made is None else made())]


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return None
    return Spelled(str(value)) if isinstance(value, float) and not isinstance(value, Spelled) else value
