"""The tidy table that every loader returns: one row a judgment, documented columns, nothing dropped in silence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bsx.data.cells import Spelled
from bsx.data.lines import Problems
from bsx.data.output import ScoreTable
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.support.optional import need

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = "list[str] | NDArray[np.float64] | NDArray[np.int64]"
Given: TypeAlias = "str | float | list[str]"
"""A cell as a loader gives it; only ``references`` is a list."""

COLUMNS = {
    "dataset": "name of the data set",
    "lp": "language pair, source-target",
    "testset": "name of the test set inside the data set",
    "system": "system that wrote the candidate; A+B if A and B wrote the same",
    "segment": "identifier of the segment, unique within language pair and test set",
    "document": "document the segment belongs to",
    "domain": "domain of the document",
    "source": "source text",
    "candidate": "text that is judged",
    "reference": "reference, the first if there are several",
    "better": "system whose output human judgments prefer",
    "worse": "system whose output human judgments do not prefer",
    "difference": "difference of the two human scores",
    "human": "human score, higher is better; z-scores where the data have them",
    "human_raw": "human score on its original scale",
    "label": "1 for a paraphrase or duplicate, else 0",
    "judge": "which judge, from 1",
    "judgments": "number of judgments behind the human score",
    "human_system": "1 if the candidate is itself a human translation",
}
"""Column -> meaning. Further references are reference2, reference3, …; other columns keep the name of their file."""

_REFERENCE = re.compile(r"(?:ref|reference)[_ -]?(\d*)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class JudgedTable:
    """Texts or systems with human judgments, one row each.

    Attributes:
        name: name of the data set.
        columns: column name -> n values: numbers as an array (missing ones are NaN), everything else as texts.
        metrics: names of the columns that hold scores of metrics.
        notes: what a reader must know: missing numbers, rows left out on request, texts that are not there.
        problems: malformed rows that were skipped on request, each with file, line and reason.
        example: whether these are invented texts that come with bsx, whose grades are no judgments.
    """

    name: str
    columns: Mapping[str, Column]
    metrics: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = field(default=(), repr=False)
    example: bool = False

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))

    def __contains__(self, name: object) -> bool:
        """Tell whether there is such a column."""
        return name in self.columns

    def __getitem__(self, name: str) -> Column:
        """Return a column.

        Raises:
            UnknownNameError: if there is no such column; lists those present.
        """
        if name not in self.columns:
            raise UnknownNameError(
                f"has no column {name!r}; it has {', '.join(self.columns)}.{did_you_mean(name, self.columns)}",
                file=self.name,
            )
        return self.columns[name]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers, shape (n,), as floats.

        Raises:
            InputError: if the column holds texts.
            UnknownNameError: if there is no such column; lists those present.
        """
        column = self[name]
        if isinstance(column, list):
            raise InputError(f"the column {name!r} holds texts, not numbers", file=self.name)
        return column.astype(np.float64)

    def texts(self, name: str) -> list[str]:
        """Return a column of texts.

        Raises:
            InputError: if the column holds numbers.
            UnknownNameError: if there is no such column; lists those present.
        """
        column = self[name]
        if not isinstance(column, list):
            raise InputError(f"the column {name!r} holds numbers, not texts", file=self.name)
        return column

    @property
    def references(self) -> list[list[str]]:
        """The references of each row; an empty cell in one of several reference columns is no reference.

        Raises:
            UnknownNameError: if the table has no references.
        """
        names = [name for name in self.columns if re.fullmatch(r"reference\d*", name)] or ["reference"]
        columns = [self.texts(name) for name in names]
        if len(columns) == 1:
            return [[text] for text in columns[0]]
        return [[text for text in row if text] for row in zip(*columns, strict=True)]

    def rows(self) -> Iterator[dict[str, str | float]]:
        """Yield each row as a dictionary of plain Python values."""
        columns = [column if isinstance(column, list) else column.tolist() for column in self.columns.values()]
        for values in zip(*columns, strict=True):
            yield dict(zip(self.columns, values, strict=True))

    def where(self, **values: object) -> JudgedTable:
        """Return the rows whose columns have these values, e.g. ``table.where(lp="de-en")``.

        Raises:
            UnknownNameError: if there is no such column; lists those present.
            InputError: if no row is left.
        """
        keep = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            keep &= np.fromiter((item == value for item in self[name]), dtype=bool, count=len(self))
        if not keep.any():
            wanted = ", ".join(f"{name}={value!r}" for name, value in values.items())
            raise InputError(f"no row has {wanted}", file=self.name)
        chosen = np.flatnonzero(keep)
        columns: dict[str, Column] = {
            name: [column[i] for i in chosen] if isinstance(column, list) else column[chosen]
            for name, column in self.columns.items()
        }
        return replace(self, columns=columns)

    @property
    def scope(self) -> str:
        """What figures on these rows hold for, as a sentence."""
        if self.example:
            return (
                f"{self.name} is an invented example: figures on it show the method, and are no evidence about metrics."
            )
        return f"These figures are of {self.name}; on other data they may differ."

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame.

        Raises:
            MissingExtraError: if pandas is not installed.
        """
        frame: pd.DataFrame = need("pandas", "A DataFrame").DataFrame(dict(self.columns))
        return frame

    def save(self, path: Path | str) -> None:
        """Write the table as .tsv, .csv, .jsonl or .parquet; a missing number is an empty cell (null in JSON).

        In a .tsv, tabs inside a text become spaces. Numbers keep all of their digits.

        Raises:
            InputError: for another file type or an unwritable place.
        """
        file = Path(path)
        missing: object = {".jsonl": None, ".parquet": math.nan}.get(file.suffix, "")
        types = {}
        if file.suffix == ".parquet":
            kind = need("pyarrow", "writing Parquet files").float64()
            types = {name: kind for name, column in self.columns.items() if not isinstance(column, list)}
        with ScoreTable(file, types) as table:
            for row in self.rows():
                table.write({name: missing if value != value else _in_full(value) for name, value in row.items()})


def _in_full(value: object) -> object:
    return Spelled(repr(value)) if isinstance(value, float) and float(f"{value:.9g}") != value else value


_NAMED = 3
"""Columns that a note about missing values names, of those that miss as many."""


class Builder:
    """Collects rows, checks that there are any, and turns them into a `JudgedTable`.

    Args:
        name: name of the data set.
        problems: the malformed rows.
        metrics: columns that hold scores of metrics.
    """

    def __init__(self, name: str, problems: Problems, metrics: Sequence[str] = ()) -> None:
        self.name = name
        self.notes: list[str] = []
        self._problems = problems
        self._metrics = tuple(metrics)
        self._rows: list[Mapping[str, Given]] = []

    def add(self, **values: Given) -> None:
        """Append a row; ``references`` may hold a list of texts. All rows must have the same columns."""
        self._rows.append(values)

    def finish(self, what: str, *, drop_human: bool | None = None) -> JudgedTable:
        """Return the table.

        Args:
            what: file or folder the rows came from, for the message.
            drop_human: count the human translations, and leave them out; None: do neither.

        Raises:
            InputError: if there are no rows.
        """
        if not self._rows:
            result = self._problems.found
            reason = f"; all {len(result)} are malformed, the first: {result[0]}" if result else ""
            raise InputError(f"{what}: holds no rows that can be used{reason}")
        if drop_human is not None:
            self._human(what, drop=drop_human)
        columns = self._spread()
        order = list(COLUMNS)
        at = order.index("reference")
        places = {name: (i, 0) for i, name in enumerate(order)}
        places |= {name: (at, i) for i, name in enumerate(columns) if re.fullmatch(r"reference\d+", name)}
        end = len(order)
        names = sorted(columns, key=lambda name: places.get(name, (end + (name in self._metrics), 0)))
        content: dict[str, Column] = {}
        without: dict[int, list[str]] = {}
        for name in names:
            content[name] = _column(columns[name])
            column = content[name]
            empty = 0 if isinstance(column, list) else int(np.isnan(column).sum())
            if empty:
                without.setdefault(empty, []).append(name)
        for empty, several in without.items():
            head = f"{empty} of {len(self._rows)} rows have no"
            if len(several) <= _NAMED:
                self.notes += [f"{head} {name!r}" for name in several]
            else:
                self.notes.append(f"{head} {', '.join(map(repr, several[:_NAMED]))} and {len(several) - _NAMED} more")
        if self._problems.found:
            self.notes.append(f"{len(self._problems.found)} malformed rows were skipped; .problems lists them")
        return JudgedTable(self.name, content, self._metrics, tuple(self.notes), tuple(self._problems.found))

    def _human(self, what: str, *, drop: bool) -> None:
        """Count the rows of human translations, and leave them out if that is wanted."""
        human = [row for row in self._rows if row.get("human_system")]
        if not human:
            return
        names = ", ".join(dict.fromkeys(str(row["system"]) for row in human))
        self.notes.append(f"{len(human)} rows are human translations ({names}){', left out' if drop else ''}")
        if drop:
            self._rows = [row for row in self._rows if not row.get("human_system")]
            if not self._rows:
                raise InputError(f"{what}: all systems are human translations: nothing is left")

    def _spread(self) -> dict[str, Sequence[str | float]]:
        """Return columns, with the references of all rows spread over as many columns as any row needs."""
        count = len(self._rows)
        columns: dict[str, Sequence[str | float]] = {"dataset": [self.name] * count}
        for name in self._rows[0]:
            values = [row[name] for row in self._rows]
            if name != "references":
                columns[name] = [value for value in values if not isinstance(value, list)]
                continue
            lists = [value for value in values if isinstance(value, list)]
            most = max(map(len, lists))
            for i in range(most):
                spread = [several[i] if i < len(several) else "" for several in lists]
                columns["reference" if i == 0 else f"reference{i + 1}"] = spread
            fewer = sum(sum(map(bool, several)) < most for several in lists) if most > 1 else 0
            if fewer:
                self.notes.append(f"{fewer} of {count} rows have fewer than {most} references")
        return columns


def _column(values: Sequence[str | float]) -> Column:
    if isinstance(values[0], str):
        return list(map(str, values))
    return np.array(values, dtype=np.float64 if isinstance(values[0], float) else np.int64)


def reference_columns(columns: Sequence[str]) -> list[str]:
    """Return the columns that hold references, in the order of their numbers.

    >>> reference_columns(["ref2", "source", "ref1", "referee"])
    ['ref1', 'ref2']
    """
    results = [(int(match[1] or 1), name) for name in columns if (match := _REFERENCE.fullmatch(name))]
    return [name for _, name in sorted(results)]


def pair_in_name(path: Path | str) -> str:
    """Return the language pair in a file's name, or an empty text.

    >>> pair_in_name("wmt/newstest2017-cs-en.systems.tsv")
    'cs-en'
    """
    result = re.findall(r"(?<![A-Za-z])([a-z]{2,3}-[a-z]{2,3})(?![A-Za-z])", Path(path).name)
    return str(result[0]) if result else ""
