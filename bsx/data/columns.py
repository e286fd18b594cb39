"""Named columns of numbers and labels, from memory or from a file; every complaint says which row and column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bsx.data.rows import MISSING, Problems, Table, number
from bsx.errors import InputError, UnknownNameError
from bsx.support.checks import Array, NanPolicy, choice
from bsx.support.near import did_you_mean

Labels = list[str]


def column_names(table: Any) -> list[str]:
    """Return the names of a table's columns: of a mapping, a DataFrame or a `JudgedTable`."""
    return [str(name) for name in (table if isinstance(table, Mapping) else table.columns)]


def read_columns(path: Path | str, numbers: Sequence[str], labels: Sequence[str] = ()) -> dict[str, Any]:
    """Read columns of a TSV (unquoted), CSV, JSON-lines or Parquet file.

    Args:
        path: the file.
        numbers: columns of numbers; a blank cell, ``NaN``, ``NA``, ``None`` or ``null`` is NaN.
        labels: columns of texts, such as the name of a group.

    Returns:
        Name -> (n,) float64 for numbers, list of n texts for labels.

    Raises:
        UnknownNameError: for a missing column; lists those present.
        InputError: naming file, row and column of a cell that is not a number.
    """
    table = Table(path, Problems())
    table.require(*numbers, *labels)
    found: dict[str, list[Any]] = {name: [] for name in (*numbers, *labels)}
    for where, row in table.rows():
        for name in numbers:
            found[name].append(number(row[name], f"{where}, column {name!r}"))
        for name in labels:
            found[name].append(row[name])
    if not found or not next(iter(found.values())):
        raise InputError(f"{table.name}: has no rows")
    return {name: np.array(cells) if name in numbers else cells for name, cells in found.items()}


def numeric_columns(
    table: Any, numbers: Sequence[str], labels: Sequence[str] = (), *, nan: NanPolicy = "error"
) -> tuple[dict[str, Array], dict[str, Labels], int]:
    """Take columns out of a table, without rows that miss a number.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        numbers: columns of numbers.
        labels: columns of labels.
        nan: ``error`` refuses missing numbers; ``omit`` leaves out every row that misses one in any of ``numbers``.

    Returns:
        The numbers, each (n,) float64; the labels as texts; how many rows were left out.

    Raises:
        UnknownNameError: for a missing column; lists those present.
        InputError: naming row (from 1) and column of a cell that is not a finite number, or a missing label.
    """
    choice("nan", nan, ("error", "omit"))
    present = column_names(table)
    for name in (*numbers, *labels):
        if name not in present:
            raise UnknownNameError(
                f"there is no column {name!r}; there are {', '.join(present)}.{did_you_mean(name, present)}"
            )
    arrays = {name: _numbers(name, table[name]) for name in dict.fromkeys(numbers)}
    texts = {name: _labels(name, table[name]) for name in dict.fromkeys(labels)}
    sizes = {name: len(column) for columns in (arrays, texts) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise InputError(f"columns differ in length: {', '.join(f'{name} {size}' for name, size in sizes.items())}")
    missing = np.any([np.isnan(column) for column in arrays.values()], axis=0)
    if missing.any() and nan == "error":
        name, column = next((name, column) for name, column in arrays.items() if np.isnan(column).any())
        raise InputError(
            f"column {name!r}: {int(np.isnan(column).sum())} missing values, the first in row "
            f"{int(np.argmax(np.isnan(column))) + 1}; nan='omit' leaves such rows out"
        )
    kept = ~missing
    return (
        {name: column[kept] for name, column in arrays.items()},
        {name: [label for label, keep in zip(column, kept, strict=True) if keep] for name, column in texts.items()},
        int(missing.sum()),
    )


def standardise(name: str, values: Array) -> Array:
    """Return (values - mean) / sd with the population sd (ddof 0), shape (n,).

    Raises:
        InputError: if all values are the same.
    """
    # Centred twice: a column that varies little round a large mean would keep a rounded mean otherwise.
    centred: Array = values - values.mean()
    centred = centred - centred.mean()
    spread = float(np.sqrt(np.mean(centred * centred)))
    if np.ptp(values) == 0 or spread <= 1e-12 * float(np.abs(values).max()):
        raise InputError(
            f"column {name!r}: all {len(values)} values are {values[0]:g}, which neither explains nor can be explained"
        )
    return centred / spread


def _numbers(name: str, values: Any) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
        if array.ndim == 1 and not np.isinf(array).any():
            return array
    except (TypeError, ValueError):
        array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise InputError(f"column {name!r}: has shape {array.shape}, expected one number a row")
    return np.array([number(value, f"column {name!r}, row {i}") for i, value in enumerate(array.tolist(), start=1)])


def _labels(name: str, values: Any) -> Labels:
    texts = []
    for i, value in enumerate(list(values), start=1):
        text = str(value) if value is not None else ""
        if text.strip().lower() in MISSING:
            raise InputError(f"column {name!r}, row {i}: has no value; a row must belong to a group")
        texts.append(text)
    return texts
