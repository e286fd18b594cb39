"""Corpora in files: one text a line, or a table with named columns; read from the start as often as needed."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

from bsx.data.corpus import Segment, check_text
from bsx.errors import InputError, UnknownNameError
from bsx.support.near import did_you_mean
from bsx.support.optional import need

TABLE_FORMATS = (".tsv", ".csv", ".jsonl", ".parquet")


def spool(source: IO[bytes]) -> Path:
    """Copy a stream that can be read but once to a temporary file; the caller removes the file."""
    with tempfile.NamedTemporaryFile(prefix="bsx-input-", delete=False) as stream:
        try:
            shutil.copyfileobj(source, stream)
        except BaseException:
            Path(stream.name).unlink(missing_ok=True)
            raise
        return Path(stream.name)


class NamedFile:
    """A file and what to call it in messages.

    Args:
        path: where it is.
        name: what the user called it.

    Raises:
        InputError: if there is no such readable file, or it is empty.
    """

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.path = path
        self.name = name if name is not None else str(path)
        if not path.exists():
            raise InputError(f"{self.name}: there is no such file")
        if path.is_dir():
            raise InputError(f"{self.name}: is a folder, not a file")
        try:
            with path.open("rb") as stream:
                first = stream.read(1)
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read ({error.strerror})") from error
        if not first:
            raise InputError(f"{self.name}: is empty")

    def lines(self) -> Iterator[str]:
        r"""Yield the lines, without their ends.

        A line ends at ``\n`` (or ``\r\n``) and nowhere else: the other characters that Unicode calls line breaks stay
        part of the text. A byte-order mark at the start is dropped.

        Raises:
            InputError: naming the line, if it is not UTF-8.
        """
        with self.path.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):
                line = raw.removesuffix(b"\n").removesuffix(b"\r")
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                try:
                    yield line.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise InputError(
                        f"{self.name}: line {number} is not UTF-8 (byte {raw[error.start]:#04x} at position "
                        f"{error.start + 1}); convert the file to UTF-8"
                    ) from error

    def count(self) -> int:
        """Return the number of lines."""
        return sum(1 for _ in self.lines())


class LineFiles:
    """Files with one text a line: one file of candidates for each system, one or more of references.

    An empty line in one of several reference files means that the segment has no such reference.

    Args:
        systems: system name -> file.
        references: files.
        source: the file of source texts, if there is one.
    """

    def __init__(
        self, systems: Mapping[str, NamedFile], references: Sequence[NamedFile], source: NamedFile | None = None
    ) -> None:
        self.systems = tuple(systems)
        self.has = frozenset((["reference"] if references else []) + (["source"] if source is not None else []))
        self._candidates = list(systems.values())
        self._references = list(references)
        self._sources = [source] if source is not None else []

    @property
    def files(self) -> list[NamedFile]:
        """The files it reads, candidates first."""
        return [*self._candidates, *self._references, *self._sources]

    @property
    def layout(self) -> list[str]:
        """What each file holds."""
        kinds = ["candidates"] * len(self._candidates) + ["references"] * len(self._references)
        return [*kinds, *["sources"] * len(self._sources)]

    def __iter__(self) -> Iterator[Segment]:
        """Read all segments from the start.

        Raises:
            InputError: if the files have different numbers of lines (says both) or are not UTF-8.
        """
        files = self.files
        split, end = len(self._candidates), len(files) - len(self._sources)
        for number, row in enumerate(zip_longest(*(file.lines() for file in files)), start=1):
            if None in row:
                self._explain_counts(files)
            yield Segment(str(number), tuple(row[:split]), tuple(row[split:end]), row[end] if self._sources else None)

    @staticmethod
    def _explain_counts(files: Sequence[NamedFile]) -> None:
        counts = [(file.name, file.count()) for file in files]
        first = counts[0]
        other = next(item for item in counts if item[1] != first[1])
        raise InputError(
            f"line counts differ: {first[0]} has {first[1]}, {other[0]} has {other[1]}; line i of every file must be "
            "segment i"
        )


class TableFile:
    """A table with named columns: TSV (unquoted), CSV, JSON lines or Parquet.

    Args:
        file: the table.
        candidates: columns of candidates; each is a system.
        references: columns of references; a JSON or Parquet cell may hold a list of them.
        id_column: column that names the segments; their number in the file unless given.
        kind: the format, as a file suffix; taken from the file's name unless given.
        source: column of source texts, if there is one.
        keep_rows: give each segment its whole row.

    Raises:
        InputError: for an unknown format.
        UnknownNameError: for a missing column; lists those present.
    """

    def __init__(
        self,
        file: NamedFile,
        candidates: Sequence[str],
        references: Sequence[str],
        id_column: str | None = None,
        kind: str | None = None,
        *,
        source: str | None = None,
        keep_rows: bool = False,
    ) -> None:
        self.systems = tuple(candidates)
        self.has = frozenset((["reference"] if references else []) + (["source"] if source is not None else []))
        self._source = source
        self._keep_rows = keep_rows
        self._file = file
        self._references = tuple(references)
        self._id = id_column
        self._kind = kind or file.path.suffix.lower()
        if self._kind not in TABLE_FORMATS:
            raise InputError(f"{file.name}: cannot tell the format; the name must end in {', '.join(TABLE_FORMATS)}")
        wanted = self._used()
        self.columns = self._columns()
        """Names of all columns; of a JSON-lines file, those of its first line."""
        for column in wanted:
            self._require(column)

    @property
    def files(self) -> list[NamedFile]:
        """The one file it reads."""
        return [self._file]

    @property
    def layout(self) -> list[str]:
        """The columns it uses and what for."""
        named = [("candidate", name) for name in self.systems] + [("reference", name) for name in self._references]
        named += [(kind, name) for kind, name in (("source", self._source), ("id", self._id)) if name is not None]
        return [f"{kind}={name}" for kind, name in named]

    def _require(self, column: str) -> None:
        if column not in self.columns:
            raise UnknownNameError(
                f"{self._file.name}: has no column {column!r}; it has {', '.join(self.columns)}."
                f"{did_you_mean(column, self.columns)}"
            )

    def types(self) -> dict[str, Any]:
        """Return the Arrow type of each column of a Parquet file; nothing for other formats."""
        if self._kind != ".parquet":
            return {}
        return {field.name: field.type for field in self._parquet().schema_arrow}

    def column(self, name: str) -> list[str]:
        """Return one column as text.

        Raises:
            UnknownNameError: if there is no such column; lists those present.
        """
        self._require(name)
        return [str(row[name]) for _, row in self._rows([name])]

    def _columns(self) -> list[str]:
        if self._kind == ".parquet":
            return list(self._parquet().schema_arrow.names)
        if self._kind == ".jsonl":
            return list(next(self._json_rows())[1])
        with_header = self._delimited()
        header = next(with_header)[1]
        repeated = sorted({name for name in header if header.count(name) > 1})
        if repeated:
            raise InputError(f"{self._file.name}: the column {repeated[0]!r} stands twice in the header")
        return header

    def _parquet(self) -> Any:
        parquet = need("pyarrow.parquet", "reading Parquet files")
        arrow = need("pyarrow", "reading Parquet files")
        try:
            return parquet.ParquetFile(self._file.path)
        except arrow.ArrowInvalid as error:
            raise InputError(f"{self._file.name}: is not a Parquet file ({error})") from error

    def _delimited(self) -> Iterator[tuple[int, list[str]]]:
        if self._kind == ".tsv":
            for number, line in enumerate(self._file.lines(), start=1):
                yield number, line.split("\t")
            return
        reader = csv.reader((line + "\n" for line in self._file.lines()), strict=True)
        try:
            for row in reader:
                yield reader.line_num, row
        except csv.Error as error:
            raise InputError(f"{self._file.name}: line {reader.line_num}: {error}") from error

    def _json_rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in enumerate(self._file.lines(), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"{self._file.name}: line {number} is not JSON ({error})") from error
            if not isinstance(row, dict):
                raise InputError(f"{self._file.name}: line {number} is not a JSON object")
            yield number, row

    def _rows(self, columns: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield each row, with at least these columns if it has them, and a phrase that says where it is."""
        if self._kind == ".parquet":
            number = 0
            for batch in self._parquet().iter_batches(columns=list(columns), batch_size=8192):
                for row in batch.to_pylist():
                    number += 1
                    yield f"row {number}", row
        elif self._kind == ".jsonl":
            for number, row in self._json_rows():
                yield f"line {number}", row
        else:
            rows = self._delimited()
            header = next(rows)[1]
            for number, fields in rows:
                if len(fields) != len(header):
                    raise InputError(
                        f"{self._file.name}: line {number} has {len(fields)} fields, the header has {len(header)}"
                    )
                yield f"line {number}", dict(zip(header, fields, strict=True))

    def _whole(self, row: Mapping[str, Any], where: str) -> Mapping[str, Any]:
        """Return a row with all columns of the table in order; a cell that JSON leaves out is None."""
        unknown = [name for name in row if name not in self.columns]
        if unknown:
            raise InputError(
                f"{where}: has {unknown[0]!r}, which the first line lacks; the first line must name every column"
            )
        return {name: row.get(name) for name in self.columns}

    def _used(self) -> list[str]:
        used = [*self.systems, *self._references, *(name for name in (self._source, self._id) if name is not None)]
        return list(dict.fromkeys(used))

    def __iter__(self) -> Iterator[Segment]:
        """Read all segments from the start.

        Raises:
            InputError: naming file, line and column of a cell that is not a text.
        """
        number = 0
        used = self._used()
        wanted = self.columns if self._keep_rows else used
        for number, (place, row) in enumerate(self._rows(wanted), start=1):
            where = f"{self._file.name}: {place}"
            missing = [name for name in used if name not in row]
            if missing:
                raise InputError(f"{where}: has no {missing[0]!r}")
            if self._keep_rows:
                row = self._whole(row, where)
            candidates = tuple(check_text(row[name], f"{where}, column {name!r}") for name in self.systems)
            references: list[str] = []
            for name in self._references:
                value = row[name]
                several = value if isinstance(value, list) else [value]
                references += [check_text(text, f"{where}, column {name!r}") for text in several]
            if self._references and not references:
                raise InputError(f"{where}: has an empty list of references")
            source = None
            if self._source is not None:
                source = check_text(row[self._source], f"{where}, column {self._source!r}")
            name = str(row[self._id]) if self._id is not None else str(number)
            yield Segment(name, candidates, tuple(references), source, row if self._keep_rows else None)
        if number == 0:
            raise InputError(f"{self._file.name}: has a header but no rows")
