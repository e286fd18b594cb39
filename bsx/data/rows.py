"""Rows of data files with their places, and what happens to those that cannot be read."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from bsx.data.tables import TABLE_FORMATS, NamedFile
from bsx.errors import InputError, UnknownNameError
from bsx.support.near import did_you_mean
from bsx.support.optional import need

MISSING = ("", "na", "nan", "none", "null")
"""Cells that stand for a missing number, in any case."""

Row = tuple[str, dict[str, Any]]
Fields = tuple[str, list[str]]


class Problems:
    """The malformed rows of one data set: an error each, or a list of them; use it as a context manager around a row.

    Args:
        skip: whether a malformed row is listed and left out instead of ending the reading.

    Attributes:
        found: one line for each row left out, naming file, line and reason.
    """

    def __init__(self, *, skip: bool = False) -> None:
        self.skip = skip
        self.found: list[str] = []

    def report(self, message: str) -> None:
        """List a malformed row.

        Raises:
            InputError: if malformed rows are not to be skipped.
        """
        if not self.skip:
            raise InputError(message)
        self.found.append(message)

    def __enter__(self) -> Problems:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self.skip and isinstance(error, InputError):
            self.found.append(str(error))
            return True
        return False


def number(value: object, where: str) -> float:
    """Return a cell as a number; NaN if it is missing (see `MISSING`).

    Raises:
        InputError: if it is neither, or infinite.
    """
    if value is None:
        return math.nan
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in MISSING:
            return math.nan
        try:
            # float() would take 1_000 for a number.
            result = math.inf if "_" in text else float(text)
        except ValueError:
            result = math.inf
    elif isinstance(value, int | float) and not isinstance(value, bool):
        result = float(value)
    else:
        result = math.inf
    if math.isinf(result):
        raise InputError(f"{where} is {str(value)[:40]!r}, not a finite number")
    return result


def label(value: object, where: str) -> int:
    """Return a cell as a label, 0 or 1.

    Raises:
        InputError: if it is anything else.
    """
    if str(value).strip() not in ("0", "1"):
        raise InputError(f"{where} is {str(value)[:40]!r}, not 0 or 1")
    return int(str(value))


def text(value: object, where: str) -> str:
    """Return a cell as a text.

    Raises:
        InputError: if it is not one.
    """
    if not isinstance(value, str):
        raise InputError(f"{where} is {str(value)[:40]!r} ({type(value).__name__}), not a text")
    return value


def spell(value: object, where: str) -> str:
    """Return a cell that names something (a system, a segment) as a text; a JSON file may hold a number there.

    Raises:
        InputError: if it is empty or neither a text nor a whole number.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not text(value, where):
        raise InputError(f"{where} is empty")
    return str(value)


def lines(file: NamedFile, problems: Problems) -> Iterator[tuple[int, str]]:
    r"""Yield the lines with their numbers; only ``\n`` and ``\r\n`` end a line. One that is not UTF-8 is malformed."""
    with file.path.open("rb") as stream:
        for line_number, raw in enumerate(stream, start=1):
            line = raw.removesuffix(b"\n").removesuffix(b"\r")
            if line_number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            try:
                decoded = line.decode("utf-8")
            except UnicodeDecodeError as error:
                problems.report(
                    f"{file.name}: line {line_number} is not UTF-8 (byte {line[error.start]:#04x} at position "
                    f"{error.start + 1})"
                )
                continue
            yield line_number, decoded


def line_list(path: Path) -> list[str]:
    """Return all lines of a file in which line i is segment i, so that none can be left out.

    Raises:
        InputError: if the file is missing, empty or not UTF-8.
    """
    return [line for _, line in lines(NamedFile(path), Problems())]


def check_line_counts(files: dict[Path, list[str]]) -> None:
    """Check that parallel files have equally many lines.

    Raises:
        InputError: naming two files and both counts.
    """
    (first, expected), *others = ((path, len(content)) for path, content in files.items())
    for path, count in others:
        if count != expected:
            raise InputError(
                f"line counts differ: {first} has {expected}, {path} has {count}; line i of each must be segment i"
            )


def delimited(file: NamedFile, separator: str | None, problems: Problems, *, quoted: bool = False) -> Iterator[Fields]:
    """Yield the fields of each line and a phrase that says where it is.

    Args:
        file: the file.
        separator: what stands between fields; None for any white space.
        problems: where undecodable or wrongly quoted lines go.
        quoted: whether fields may be quoted as in CSV; otherwise a quotation mark is a plain character.
    """
    if not quoted:
        for line_number, line in lines(file, problems):
            yield f"{file.name}: line {line_number}", line.split(separator)
        return
    last = 0

    def feed() -> Iterator[str]:
        nonlocal last
        for line_number, line in lines(file, problems):
            last = line_number
            yield line + "\n"

    reader = csv.reader(feed(), delimiter=separator or ",", strict=True)
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problems.report(f"{file.name}: line {last}: {error}")
            continue
        # A quoted field may span lines: the row is called after its last one.
        yield f"{file.name}: line {last}", fields


class Table:
    """A file with named columns: TSV, CSV, JSON lines or Parquet, told by the end of its name.

    Args:
        path: the file.
        problems: where malformed rows go.
        separator: between the fields of a text table, instead of what the name says; ``""`` for any white space.
        quoted: whether the fields of a text table may be quoted; CSV files are unless said otherwise, TSV not.
        header: names for the columns of a text table without a header line.

    Attributes:
        name: the file's name in messages.
        columns: names of the columns; of a JSON-lines file, those that any row has (a row without one has None there).

    Raises:
        InputError: if the file is missing, empty, of an unknown format, or names a column twice.
    """

    def __init__(
        self,
        path: Path | str,
        problems: Problems,
        *,
        separator: str | None = None,
        quoted: bool | None = None,
        header: Sequence[str] | None = None,
    ) -> None:
        self._file = NamedFile(Path(path))
        self.name = self._file.name
        self._problems = problems
        self._kind = self._file.path.suffix.lower() if separator is None else ".txt"
        if separator is None and self._kind not in TABLE_FORMATS:
            raise InputError(f"{self.name}: cannot tell the format; the name must end in {', '.join(TABLE_FORMATS)}")
        self._separator = {".tsv": "\t", ".csv": ","}.get(self._kind, separator or None)
        self._quoted = self._kind == ".csv" if quoted is None else quoted
        self._header = None if header is None else list(header)
        self.columns = self._columns()
        repeated = sorted({name for name in self.columns if self.columns.count(name) > 1})
        if repeated:
            raise InputError(f"{self.name}: the column {repeated[0]!r} stands twice in the header")

    def _columns(self) -> list[str]:
        if self._header is not None:
            return self._header
        if self._kind == ".parquet":
            return list(self._parquet().schema_arrow.names)
        if self._kind == ".jsonl":
            names = {name: None for _, row in self._json_rows(Problems(skip=self._problems.skip)) for name in row}
            if not names:
                raise InputError(f"{self.name}: holds no rows that can be used")
            return list(names)
        return next(delimited(self._file, self._separator, Problems(), quoted=self._quoted))[1]

    def require(self, *names: str) -> None:
        """Check that columns exist.

        Raises:
            UnknownNameError: naming the first that does not, and those that do.
        """
        for name in names:
            if name not in self.columns:
                raise UnknownNameError(
                    f"{self.name}: has no column {name!r}; it has {', '.join(self.columns)}."
                    f"{did_you_mean(name, self.columns)}"
                )

    def first(self, *names: str) -> str | None:
        """Return the first of these columns that exists, or None."""
        return next((name for name in names if name in self.columns), None)

    def row_number(self, where: str) -> str:
        """Return the number of a row from 1, the header not counted; ``where`` is what `rows` yielded with it."""
        in_file = int(where.rpartition(" ")[2])
        return str(in_file - (self._header is None and self._kind not in (".parquet", ".jsonl")))

    def _parquet(self) -> Any:
        parquet = need("pyarrow.parquet", "reading Parquet files")
        arrow = need("pyarrow", "reading Parquet files")
        try:
            return parquet.ParquetFile(self._file.path)
        except arrow.ArrowInvalid as error:
            raise InputError(f"{self.name}: is not a Parquet file ({error})") from error

    def _json_rows(self, problems: Problems) -> Iterator[Row]:
        for line_number, line in lines(self._file, problems):
            where = f"{self.name}: line {line_number}"
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                problems.report(f"{where} is not JSON ({error})")
                continue
            if not isinstance(row, dict):
                problems.report(f"{where} is not a JSON object")
                continue
            yield where, row

    def rows(self) -> Iterator[Row]:
        """Yield a phrase that says where a row is, and the row; rows with too few or too many fields are malformed."""
        if self._kind == ".parquet":
            row_number = 0
            for batch in self._parquet().iter_batches(batch_size=8192):
                for row in batch.to_pylist():
                    row_number += 1
                    yield f"{self.name}: row {row_number}", row
        elif self._kind == ".jsonl":
            for where, row in self._json_rows(self._problems):
                yield where, {name: row.get(name) for name in self.columns}
        else:
            fields = delimited(self._file, self._separator, self._problems, quoted=self._quoted)
            if self._header is None:
                next(fields)
            for where, values in fields:
                if len(values) != len(self.columns):
                    self._problems.report(f"{where} has {len(values)} fields, {len(self.columns)} are due")
                    continue
                yield where, dict(zip(self.columns, values, strict=True))
