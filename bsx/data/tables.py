"""The one reader of tables with named columns, each row with its place.

TSV (unquoted), CSV, JSON lines and Parquet are read here; spreadsheets, XLIFF and TMX in `bsx.data.formats`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from bsx.data.cells import Spelled
from bsx.data.formats.tmx import Memory
from bsx.data.formats.xliff import Xliff
from bsx.data.formats.xlsx import Sheet
from bsx.data.lines import LONGEST_LINE, NamedFile, Problems
from bsx.data.run import tell
from bsx.data.sources import (
    IN_MEMORY,
    INSTEAD,
    MEMORIES,
    MOST_COLUMNS,
    OFFICE,
    SHEETS,
    XLIFF,
    AnyTable,
    Cells,
    MemoryTable,
    RowSource,
    in_memory,
)
from bsx.data.sources import Row as Row
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.support.optional import need
from bsx.support.untyped import Untyped

TABLE_FORMATS = (".tsv", ".csv", ".jsonl", ".parquet", *OFFICE)
_SOURCES = {**dict.fromkeys(SHEETS, Sheet), **dict.fromkeys(XLIFF, Xliff), **dict.fromkeys(MEMORIES, Memory)}


def delimited(
    file: NamedFile, separator: str | None, problems: Problems, *, quoted: bool = False
) -> Iterator[tuple[str, list[str]]]:
    """Yield a phrase that says where a line is, and its fields.

    Args:
        file: the file.
        separator: what stands between fields; None for any white space.
        problems: where undecodable or wrongly quoted lines go.
        quoted: whether fields may be quoted as in CSV; otherwise a quotation mark is a plain character.
    """
    if not quoted:
        for line_number, line in file.numbered(problems):
            yield f"{file.name}: line {line_number}", line.split(separator)
        return
    last = 0

    def feed() -> Iterator[str]:
        nonlocal last
        for line_number, line in file.numbered(problems, ends=True):
            last = line_number
            yield line

    csv.field_size_limit(LONGEST_LINE)  # the limit is the module's, not the reader's
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
    """A file with named columns, in one of `TABLE_FORMATS`, told by the end of its name.

    Of standard input or a pipe without such a name, the first bytes tell what it is. A CSV file whose first line has
    no comma but semicolons or tabs, as spreadsheet programs write it in some countries, is divided by those.

    Args:
        file: the file; ``-`` is standard input. Or a table in memory, which `bsx.data.sources` reads.
        problems: where malformed rows go; the first is an error unless given.
        separator: between the fields of a text table, instead of what the name says; ``""`` for any white space.
        quoted: whether the fields of a text table may be quoted; CSV files are unless said otherwise, TSV not.
        header: names for the columns of a text table without a header line.
        first_line: the first line of a JSON-lines file must name every column, which spares reading the file twice.

    Attributes:
        name: the file's name in messages.
        kind: the format, as the end of a name: what the file's name says, or its first bytes.
        columns: names of the columns; of a JSON-lines file, those that any row has (a row without one has None there).
        languages: column -> the code of its language, as far as the file says so (XLIFF, TMX).
        notes: what a reader should know, such as which sheet was read or what was left out; said once in a run.
        metrics: columns that hold scores of metrics, as far as a table in memory says so.

    Raises:
        InputError: if the file is missing, empty, of an unknown format, has more than `MOST_COLUMNS` columns, or names
            one twice.
    """

    languages: Mapping[str, str] = {}
    notes: Sequence[str] = ()
    source: RowSource | None = None
    metrics: Sequence[str] = ()

    def __init__(
        self,
        file: NamedFile | AnyTable,
        problems: Problems | None = None,
        *,
        separator: str | None = None,
        quoted: bool | None = None,
        header: Sequence[str] | None = None,
        first_line: bool = False,
    ) -> None:
        self._problems = problems if problems is not None else Problems()
        if isinstance(file, NamedFile | Path | str) or not in_memory(file):
            self.file = file if isinstance(file, NamedFile) else NamedFile(file)  # type: ignore[arg-type]
            self.name = self.file.name
            self.kind = self._format() if separator is None else ".txt"
        else:
            self.name, self.kind, self.source = IN_MEMORY, "", MemoryTable(file)
            self.metrics = tuple(getattr(file, "metrics", ()))
        self._quoted = self.kind == ".csv" if quoted is None else quoted
        self._separator = {".tsv": "\t", ".csv": ","}.get(self.kind, separator or None)
        self._header = None if header is None else list(header)
        self._first_line = first_line
        if self.kind in OFFICE:
            if self.file.sheet is not None and self.kind not in SHEETS:
                raise InputError("only spreadsheets (.xlsx) have sheets to name after a #", file=self.name)
            self.source = _SOURCES[self.kind](self.file)
            self.languages, self.notes = self.source.languages, self.source.notes
        elif self.kind == ".csv":
            first = next(self.file.lines(), "")  # a comma divides the fields if there is one, or else what is there
            self._separator = max(";\t", key=first.count) if "," not in first and (set(first) & set(";\t")) else ","
        self.columns = self._columns()
        if len(self.columns) > MOST_COLUMNS:
            raise InputError(
                f"has {len(self.columns):,} columns, and {MOST_COLUMNS:,} are read at most: leave some out",
                file=self.name,
            )
        for name, count in Counter(self.columns).items():
            if count > 1:
                raise InputError(f"the column {name!r} stands twice in the header: rename one", file=self.name)
            if any(character in name for character in "\t\r\n"):
                raise InputError(
                    f"the name of the column {name!r} holds a tab or line break: take it out", file=self.name
                )
        for note in self.notes:
            tell(note)

    def _format(self) -> str:
        if self.file.suffix in TABLE_FORMATS:
            return self.file.suffix
        if self.file.copy is not None:
            with self.file.reading() as stream:
                head = stream.read(4096)
            if head.startswith((b"PAR1", b"PK\x03\x04")):
                return ".parquet" if head.startswith(b"PAR1") else SHEETS[0]
            plain = head.replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf").lstrip(b"\xff\xfe \t\r\n")
            if plain.startswith(b"<"):
                return MEMORIES[0] if b"<tmx" in plain else XLIFF[0]
            return ".jsonl" if next(self.file.lines(), "").lstrip().startswith("{") else ".tsv"
        if self.file.suffix in INSTEAD:
            raise InputError(f"is in a format that is not read: {INSTEAD[self.file.suffix]}", file=self.name)
        raise InputError(f"cannot tell the format; the name must end in {', '.join(TABLE_FORMATS)}", file=self.name)

    def _columns(self) -> list[str]:
        if self._header is not None:
            return self._header
        if self.source is not None:
            return self.source.columns
        if self.kind == ".parquet":
            return list(self._parquet().schema_arrow.names)
        if self.kind == ".jsonl":
            rows = self._json_rows(Problems(skip=self._problems.skip))
            names = next(rows, ("", {}))[1] if self._first_line else {name: None for _, row in rows for name in row}
            if not names:
                raise InputError("holds no rows that can be used", file=self.name)
            return list(names)
        header = next(delimited(self.file, self._separator, Problems(), quoted=self._quoted), ("", []))[1]
        if header in ([], [""]):
            raise InputError(f"{self.name}: line 1 is empty; it must name the columns")
        return header

    def require(self, *names: str) -> None:
        """Raise UnknownNameError for the first of some columns that does not exist, naming those that do."""
        for name in names:
            if name not in self.columns:
                several = "," in name and all(part in self.columns for part in name.split(","))
                hint = " Name each column by itself." if several else did_you_mean(name, self.columns)
                raise UnknownNameError(
                    f"has no column {name!r}; it has {', '.join(self.columns)}.{hint}", file=self.name
                )

    def __getitem__(self, column: str) -> list[object]:
        """Return the cells of a column."""
        return [row[column] for row in self.rows(column, only=True)]

    def first(self, *names: str) -> str | None:
        """Return the first of these columns that exists, or None."""
        return next((name for name in names if name in self.columns), None)

    def row_number(self, row: Row) -> str:
        """Return the number of a row from 1, the header not counted."""
        if row.order is not None:
            return str(row.order)
        in_file = int(row.where.rpartition(" ")[2])
        return str(in_file - (self._header is None and self.kind not in (".parquet", ".jsonl")))

    def count(self) -> int:
        """Return how many rows it has; of Parquet, its own word is taken for it."""
        if self.source is not None and self.source.total is not None:
            return self.source.total
        return int(self._parquet().metadata.num_rows) if self.kind == ".parquet" else sum(1 for _ in self.rows())

    def types(self) -> dict[str, object]:
        """Return the Arrow type that holds each column as it is: a Parquet file's own; text, or of JSON what all fit.

        Numbers of JSON lines are integers if all are, and small enough, else floats; what is mixed or nested is text.
        """
        if self.kind == ".parquet":
            return {field.name: field.type for field in self._parquet().schema_arrow}
        arrow = need("pyarrow", "writing Parquet files")
        if self.kind != ".jsonl" and self.source is None:
            return dict.fromkeys(self.columns, arrow.string())
        kinds: dict[str, set[str]] = {name: set() for name in self.columns}
        for row in self.rows() if self.source is not None else (row for _, row in self._json_rows(self._problems)):
            for name, value in row.items():
                if value is not None and name in kinds and not (value == "" and self.source is not None):
                    kinds[name].add(_arrow_kind(value))
        fitting = {"bool": {"bool"}, "int64": {"int", "int64"}, "float64": {"int", "float64"}}
        results = {
            name: next((to for to, known in fitting.items() if kind <= known), "string") for name, kind in kinds.items()
        }
        return {name: getattr(arrow, "bool_" if kind == "bool" else kind)() for name, kind in results.items()}

    def _parquet(self) -> Untyped:
        parquet = need("pyarrow.parquet", "reading Parquet files")
        try:
            # Arrow is quicker than a stream of Python's. Buffered ahead, it would keep in memory what it has read.
            content = io.BytesIO(self.file.all_bytes()) if self.file.packed else self.file.stored
            return parquet.ParquetFile(content, pre_buffer=False)
        except InputError:
            raise
        except Exception as error:  # damaged files make Arrow raise errors of many classes
            raise InputError(f"is not a Parquet file ({_short(error)})", file=self.name) from error

    def _parquet_rows(self, names: Sequence[str] | None) -> Iterator[Row]:
        number = 0
        try:
            for batch in self._parquet().iter_batches(columns=names, batch_size=8192):
                columns = [_cells(batch.column(place)) for place in range(batch.num_columns)]
                for values in zip(*columns, strict=True):
                    number += 1
                    where = f"{self.name}: row {number}"
                    row = dict(zip(batch.schema.names, values, strict=True))
                    if self._fit(where, row):
                        yield Row(where, row)
        except InputError:
            raise
        except Exception as error:  # damaged files make Arrow raise errors of many classes
            raise InputError(f"cannot be read beyond row {number} ({_short(error)})", file=self.name) from error

    def _fit(self, where: str, row: Cells) -> bool:
        problem = next(_unfit(row), None)
        if problem is not None:
            self._problems.report(f"{where}: {problem}")
        return problem is None

    def _json_rows(self, problems: Problems) -> Iterator[tuple[str, Cells]]:
        for line_number, line in self.file.numbered(problems):
            where = f"{self.name}: line {line_number}"
            if not line.strip():
                continue
            try:
                row = _JSON.decode(line)
                unfit = next(_unfit(row), None) if "\\u" in line else None
            except (ValueError, RecursionError) as error:
                problems.report(f"{where} is not JSON ({error})")
                continue
            if not isinstance(row, dict):
                problems.report(f"{where} is not a JSON object")
            elif unfit is not None:
                problems.report(f"{where}: {unfit}")
            else:
                yield where, row

    def rows(self, *needed: str, only: bool = False) -> Iterator[Row]:
        """Yield the rows; those with too few or too many fields are malformed.

        Args:
            needed: columns that every line of a JSON-lines file must have, if the first names them all.
            only: read no other columns than those, where that is faster; the rows may lack others then.
        """
        if self.source is not None:
            for row in self.source.rows(self._problems, needed):
                if only and needed:
                    row = Row(row.where, {name: row[name] for name in needed}, row.order, row.letters)
                if self._fit(row.where, row):
                    yield row
        elif self.kind == ".parquet":
            yield from self._parquet_rows(list(needed) if only else None)
        elif self.kind == ".jsonl":
            must, may = (needed, self.columns) if self._first_line else ((), None)
            for where, cells in self._json_rows(self._problems):
                lacks = next((name for name in must if name not in cells), None)
                extra = None if only or may is None else next((name for name in cells if name not in may), None)
                if lacks is not None:
                    self._problems.report(f"{where}: has no {lacks!r}")
                elif extra is not None:
                    self._problems.report(
                        f"{where}: has {extra!r}, which the first line lacks; the first line must name every column"
                    )
                else:
                    yield Row(where, {name: cells.get(name) for name in (needed if only else self.columns)})
        else:
            fields = delimited(self.file, self._separator, self._problems, quoted=self._quoted)
            if self._header is None:
                next(fields, None)
            for where, values in fields:
                if len(values) != len(self.columns):
                    self._problems.report(f"{where} has {len(values)} fields, {len(self.columns)} are due")
                    continue
                yield Row(where, zip(self.columns, values, strict=True))


def _whole(text: str) -> int | Spelled:
    # As many digits as 64 bits surely hold, and none that would be spelled otherwise.
    return int(text) if len(text) < 19 and text != "-0" else Spelled(text)


def _object(pairs: list[tuple[str, object]]) -> Cells:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands twice in an object")
    return result


_JSON = json.JSONDecoder(parse_int=_whole, parse_float=Spelled, parse_constant=Spelled, object_pairs_hook=_object)


def _unfit(value: object) -> Iterator[str]:
    """Say what in a value no file of texts could hold."""
    if isinstance(value, str):
        if "\0" in value:
            yield "holds a NUL character: take it out"
        if not value.isascii() and _HALF.search(value):
            yield "holds half a surrogate pair, which is no character: mend the text"
    elif isinstance(value, dict | list):
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _unfit(item)


def _arrow_kind(value: object) -> str:
    if isinstance(value, Spelled) and value.text.lstrip("-").isdigit():
        if len(value.text) > 20:  # more than 64 bits hold
            return "string"
        value = int(value.text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "bool" if isinstance(value, bool) else "string"
    if isinstance(value, float):
        return "string" if math.isinf(value) else "float64"
    return "int" if abs(value) <= 2**53 else "int64" if -(2**63) <= value < 2**63 else "string"


_HALF = re.compile("[\ud800-\udfff]")


def _cells(column: Untyped) -> list[object]:
    """Return the values of an Arrow column; floats know their digits."""
    values: list[object] = column.to_pylist()
    kind = str(column.type)
    if kind in ("halffloat", "float", "double"):
        digits = {"halffloat": np.float16, "float": np.float32, "double": float}[kind]
        return [None if v is None else Spelled(str(digits(v)), float(v)) for v in values]  # type: ignore[arg-type]
    return values


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
