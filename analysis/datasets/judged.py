"""The tidy table that every loader returns: one row a judgment, documented columns, nothing dropped in silence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bsx.data.cells import Spelled
from bsx.data.columns import TableLike
from bsx.data.lines import Problems, check_line_counts, line_list
from bsx.data.output import ScoreTable
from bsx.data.tables import Table
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
    """What every loader begins and ends with: it opens tables, collects rows, and turns them into a `JudgedTable`.

    Args:
        path: file or folder the rows come from.
        name: name of the data set; the path's unless given.
        skip_malformed: whether malformed rows are listed instead of ending the reading.

    Attributes:
        name: name of the data set.
        metrics: columns that hold scores of metrics.
        notes: what a reader must know.
        problems: the malformed rows; a context manager around each row.
    """

    def __init__(self, path: Path | str, name: str | None = None, skip_malformed: bool = False) -> None:
        self.name = name or (Path(path).name if Path(path).is_dir() else Path(path).stem)
        self.notes: list[str] = []  # what a reader must know
        self.problems = Problems(skip=skip_malformed)  # the context manager around each row
        self.metrics: Sequence[str] = ()  # columns that hold scores of metrics
        self._path = path
        self._rows: list[Mapping[str, Given]] = []

    def table(self, path: Path | str | TableLike, *needed: str, quoted: bool | None = None) -> Table:
        """Open a table that must have some columns."""
        table = Table(path, self.problems, quoted=quoted)
        table.require(*needed)
        return table

    def add(self, **values: Given | None) -> None:
        """Append a row; ``references`` may hold a list of texts, and what is None is no column.

        All rows must have the same columns.
        """
        self._rows.append({name: value for name, value in values.items() if value is not None})

    def finish(self, *, drop_human: bool | None = None) -> JudgedTable:
        """Return the table; with ``drop_human`` without human translations, which are counted unless it is None."""
        malformed = self.problems.messages
        if not self._rows:
            reason = f"; all {len(malformed)} are malformed, the first: {malformed[0]}" if malformed else ""
            raise InputError(f"{self._path}: holds no rows that can be used{reason}")
        human = [row for row in self._rows if row.get("human_system")] if drop_human is not None else []
        if human:
            names = ", ".join(dict.fromkeys(str(row["system"]) for row in human))
            self.notes.append(f"{len(human)} rows are human translations ({names}){', left out' * bool(drop_human)}")
        if human and drop_human:
            self._rows = [row for row in self._rows if not row.get("human_system")]
            if not self._rows:
                raise InputError(f"{self._path}: all systems are human translations: nothing is left")
        content: dict[str, Column] = {}
        for name, values in self._columns().items():
            if isinstance(values[0], str):
                content[name] = list(map(str, values))
            else:
                content[name] = np.array(values, dtype=np.float64 if isinstance(values[0], float) else np.int64)
        missing: dict[int, list[str]] = {}
        for name, column in content.items():
            if not isinstance(column, list) and (count := int(np.isnan(column).sum())):
                missing.setdefault(count, []).append(repr(name))
        for count, without in missing.items():
            if len(without) > _NAMED:
                without = [f"{', '.join(without[:_NAMED])} and {len(without) - _NAMED} more"]
            self.notes += [f"{count} of {len(self._rows)} rows have no {named}" for named in without]
        if malformed:
            self.notes.append(f"{len(malformed)} malformed rows were skipped; .problems lists them")
        return JudgedTable(self.name, content, tuple(self.metrics), tuple(self.notes), tuple(malformed))

    def _columns(self) -> dict[str, Sequence[str | float]]:
        """Return columns in the order of `COLUMNS`, others and metrics behind them.

        The references of all rows are spread over as many columns as any row needs.
        """
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
        order = {name: place for place, name in enumerate(COLUMNS)}

        def place(name: str) -> int:
            known = "reference" if re.fullmatch(r"reference\d+", name) else name
            return order.get(known, len(order) + (name in self.metrics))

        return {name: columns[name] for name in sorted(columns, key=place)}


def parallel_lines(*paths: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each segment's number, from 1, and its line in each of some parallel files of as many lines."""
    files = {path: line_list(path) for path in paths}
    check_line_counts({path: len(lines) for path, lines in files.items()})
    for number, lines in enumerate(zip(*files.values(), strict=True), start=1):
        yield str(number), lines


def only_file(files: Iterable[Path], name: str, folder: Path, hint: str = "") -> Path:
    """Return the one file of such a name, or InputError where a folder has none or several."""
    several = list(files)
    if len(several) != 1:
        raise InputError(f"needs exactly one file {name}, has {len(several)}{hint}", file=folder)
    return several[0]


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
    result = re.search(r"(?<![A-Za-z])[a-z]{2,3}-[a-z]{2,3}(?![A-Za-z])", Path(path).name)
    return result[0] if result else ""
