"""Tables in memory: mappings, DataFrames of pandas and polars, Arrow tables and data sets with human judgments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias

import numpy as np
from pydantic import BeforeValidator

from bsx.data.cells import Spelled
from bsx.data.formats.source import Found, RowSource
from bsx.data.lines import Problems
from bsx.errors import InputError
from bsx.support.untyped import Untyped


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
    """A table in memory; see `bsx.data.formats.source.RowSource`. Cells mean what they mean in a Parquet file.

    Args:
        table: columns of the same length.

    Raises:
        InputError: if they differ in length, or one is no column.
    """

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

    def rows(self, problems: Problems, needed: Sequence[str]) -> Iterator[Found]:
        """Yield the rows, each whole."""
        columns = [_cells(column) for column in self._columns]
        for number, values in enumerate(zip(*columns, strict=True), start=1):
            yield Found(f"{IN_MEMORY}: row {number}", number, dict(zip(self.columns, values, strict=True)))


def _cells(column: Untyped) -> list[object]:
    """Return the values of a column as plain objects of Python; floats know their digits."""
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow; polars and pandas; NumPy
        if hasattr(column, method):
            values = getattr(column, method)()
            break
    else:
        values = list(column)
    return [_plain(value) for value in values]


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return None
    return Spelled(str(value)) if isinstance(value, float) and not isinstance(value, Spelled) else value
