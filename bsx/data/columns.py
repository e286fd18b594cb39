"""Named columns of numbers and labels, from memory or from a file; every complaint says which row and column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from bsx.data import cells
from bsx.data.lines import NamedFile
from bsx.data.pairing import printed, refuse_alike
from bsx.data.sources import TableLike as TableLike
from bsx.data.tables import Table
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.support.checks import Array, NanPolicy, choice

Labels = list[str]


def column_names(table: TableLike) -> list[str]:
    """Return the names of a table's columns."""
    return [str(name) for name in (table if isinstance(table, Mapping) else table.columns)]


def read_columns(
    file: Table | NamedFile | Path | str,
    numbers: Sequence[str],
    labels: Sequence[str] = (),
    texts: Sequence[str] = (),
    keys: Sequence[str] = (),
    alike: Sequence[str] = (),
) -> dict[str, Array | Labels]:
    """Read columns of a TSV (unquoted), CSV, JSON-lines or Parquet file; `bsx.data.cells` says what a cell means.

    Args:
        file: the file, ``-`` for standard input, or a table that was opened already.
        numbers: columns of numbers; missing ones are NaN.
        labels: columns of names, such as that of a group.
        texts: columns of texts.
        keys: columns that only tell which rows belong together: any cell, spelled; empty where it is missing.
        alike: those of ``keys`` that hold texts, of which two that look the same are the same.

    Returns:
        Name -> (n,) float64 for numbers, list of n texts for labels, texts and keys, in the order given.

    Raises:
        UnknownNameError: for a missing column; lists those present.
        InputError: naming file, line and column of a cell that is not what its column is for, or labels or keys that
            look the same.
    """
    table = file if isinstance(file, Table) else Table(file)
    results: dict[str, list[float]] = {name: [] for name in numbers}
    spelled: dict[str, list[str]] = {name: [] for name in (*labels, *texts, *keys)}
    table.require(*results, *spelled)
    row = None
    for row in table.rows(*results, *spelled, only=True):
        for name, column in results.items():
            column.append(row.number(name))
        for name, words in spelled.items():
            if name in keys:
                key = "" if cells.is_missing(row[name]) else cells.spelled(row[name])
                words.append(printed(key) if name in alike else key)
                continue
            read = cells.text if name in texts else cells.name
            words.append(read(row[name], row.place(name)))
    if row is None:
        raise InputError("has no rows", file=table.name)
    for name in (*labels, *keys):
        refuse_alike(spelled[name], f"{table.name}, column {name!r}")
    return {**{name: np.array(column) for name, column in results.items()}, **spelled}


def check_present(names: Iterable[str], known: Sequence[str]) -> None:
    """Raise UnknownNameError for a name that is not among the known columns."""
    for name in names:
        if name not in known:
            raise UnknownNameError(
                f"there is no column {name!r}; there are {', '.join(known)}.{did_you_mean(name, known)}"
            )


def numeric_columns(
    table: TableLike, numbers: Sequence[str], labels: Sequence[str] = (), *, nan: NanPolicy = "error", human: str = ""
) -> tuple[dict[str, Array], dict[str, Labels], int]:
    """Take columns out of a table, without rows that miss a number.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        numbers: columns of numbers.
        labels: columns of labels.
        nan: ``error`` refuses missing numbers; ``omit`` leaves out every row that misses one in any of ``numbers``.
        human: that of human scores: a row without one was not judged, and is left out in any case.

    Returns:
        The numbers, each (n,) float64; the labels as texts; how many rows were left out.

    Raises:
        UnknownNameError: for a missing column; lists those present.
        InputError: naming row (from 1) and column of a cell that is not a finite number, or a missing label.
    """
    choice("nan", nan, ("error", "omit"))
    present = column_names(table)
    check_present((*numbers, *labels), present)
    arrays = {name: number_column(name, table[name]) for name in dict.fromkeys(numbers)}
    texts = {name: label_column(name, table[name]) for name in dict.fromkeys(labels)}
    sizes = {name: len(column) for columns in (arrays, texts) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise InputError(f"columns differ in length: {', '.join(f'{name} {size}' for name, size in sizes.items())}")
    missing = np.any([np.isnan(column) for column in arrays.values()], axis=0)
    gaps = [name for name, column in arrays.items() if name != human and np.isnan(column).any()]
    if gaps and nan == "error":
        name, column = gaps[0], arrays[gaps[0]]
        raise InputError(
            f"column {name!r}: {int(np.isnan(column).sum())} missing values, the first in row "
            f"{int(np.argmax(np.isnan(column))) + 1}; nan=omit leaves such rows out"
        )
    kept = ~missing
    return (
        {name: column[kept] for name, column in arrays.items()},
        {name: [label for label, keep in zip(column, kept, strict=True) if keep] for name, column in texts.items()},
        int(missing.sum()),
    )


def standardise(name: str, values: Array) -> Array:
    """Return (values - mean) / sd with the population sd (ddof 0), shape (n,).

    InputError if all values are the same, or the square of what they differ by is too small a number.
    """
    # Centred twice: a column that varies little round a large mean would keep a rounded mean otherwise.
    centred: Array = values - values.mean()
    centred = centred - centred.mean()
    if 0 < np.abs(centred).max(initial=0.0) < 1 / cells.LARGEST:
        raise InputError(f"column {name!r}: its values differ by too little to compute with: scale the column")
    spread = float(np.sqrt(np.mean(centred * centred)))
    if np.ptp(values) == 0 or spread <= 1e-12 * float(np.abs(values).max()):
        raise InputError(
            f"column {name!r}: all {len(values)} values are {values[0]:g}, which neither explains nor can be explained"
        )
    return centred / spread


def standardised(columns: Mapping[str, Array], names: Sequence[str]) -> Array:
    """Return columns side by side (n, p), each standardised; errors as of `standardise`."""
    return np.column_stack([standardise(name, columns[name]) for name in names])


def number_column(name: str, values: object) -> Array:
    """Return n numbers, or cells that `bsx.data.cells` takes for numbers, as (n,) float64; missing ones are NaN.

    InputError names row (from 1) and column of a cell that is no finite number.
    """
    try:
        array = floats(values, lambda place: f"column {name!r}, row {place[0] + 1 if place else 1}")
        if array.ndim == 1 and not (np.abs(array) > cells.LARGEST).any():
            return array
    except (TypeError, ValueError):
        array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise InputError(f"column {name!r}: has shape {array.shape}, expected one number a row")
    return np.array([cells.number(value, f"column {name!r}, row {i}") for i, value in enumerate(array.tolist(), 1)])


def label_column(name: str, values: Iterable[object]) -> Labels:
    """Return a column of names as n texts.

    InputError names row (from 1) and column of a missing name, or two names that look the same.
    """
    results = [cells.name(value, f"column {name!r}, row {i}") for i, value in enumerate(list(values), start=1)]
    refuse_alike(results, f"column {name!r}")
    return results


def floats(values: object, where: Callable[[tuple[int, ...]], str]) -> Array:
    """Return values as float64 of their shape; texts among them mean what `bsx.data.cells` says, not what NumPy does.

    Args:
        values: numbers or cells; infinities pass where there are no texts.
        where: says in messages where a cell stands, from its place (from 0).

    Raises:
        InputError: for texts, if a cell is no finite number.
        TypeError: or ValueError, if other values make no array of numbers.
    """
    array = np.asarray(values)
    if array.dtype.kind in "US" or (array.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in array.flat)):
        places = np.ndindex(array.shape)
        read = [cells.number(cell, where(place)) for place, cell in zip(places, array.ravel().tolist(), strict=True)]
        return np.array(read, dtype=np.float64).reshape(array.shape)
    return np.asarray(array, dtype=np.float64)
