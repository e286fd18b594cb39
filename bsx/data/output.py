"""Writing rows of scores to files: one row at a time, visible only when complete."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TextIO

from bsx.data.cells import Spelled, spelled, spelled_json
from bsx.errors import NO_ROOM, InputError
from bsx.support.optional import need
from bsx.support.untyped import Untyped

FORMATS = (".tsv", ".csv", ".jsonl", ".parquet")


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that replaces it on success and vanishes on failure.

    Raises:
        InputError: if the folder is missing or cannot be written to, or the disk is full.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder, not a file to write to")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot write in {path.parent} ({error.strerror})") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        try:
            temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask)
            temporary.replace(path)
        except OSError as error:
            raise InputError(f"{path}: cannot be replaced ({error.strerror})") from error
    except OSError as error:
        if error.filename is not None or error.errno not in NO_ROOM:
            raise
        raise InputError(f"{path}: cannot be written ({os.strerror(error.errno)})") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_text(path: Path) -> Iterator[TextIO]:
    """Yield a UTF-8 text stream whose content becomes ``path`` on success; see `atomic_path`."""
    with (
        atomic_path(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream,
    ):
        yield stream


def cell(value: object) -> str:
    """Return a value as a TSV cell, where tabs and line breaks inside a text become spaces; see `cells.spelled`."""
    return spelled(value).replace("\t", " ").replace("\n", " ").replace("\r", " ")


def _fitted(value: object, kind: str) -> object:
    """Return a value as a column of an Arrow type takes it: all of mixed kinds as text, whole numbers as such."""
    if value is not None and kind == "string":
        return spelled(value)
    return int(value.text) if isinstance(value, Spelled) and kind == "int64" else value


def check_table(path: Path) -> None:
    """Raise InputError unless a table of this name can be written."""
    if path.suffix not in FORMATS:
        raise InputError(f"{path}: cannot tell the format; the name must end in {', '.join(FORMATS)}")


class ScoreTable:
    """A table file written row by row; use it as a context manager.

    Args:
        path: .tsv (unquoted), .csv, .jsonl or .parquet.
        types: Arrow types of columns of a Parquet file; others are taken from the rows.

    Attributes:
        signature: if set before the end, written beside the table as ``<path>.signature.txt``.
        sidecar: if set before the end, written beside the table as ``<path>.signatures.json``.
        temporary: the unfinished file, while there is one.

    Raises:
        InputError: for another file type or an unwritable place, before anything is computed.
    """

    def __init__(self, path: Path, types: Mapping[str, object] | None = None) -> None:
        check_table(path)
        self.signature: str | None = None
        self.sidecar: object | None = None
        self._types = dict(types or {})
        self._path = path
        self._arrow = need("pyarrow", "writing Parquet files") if path.suffix == ".parquet" else None
        self._exits = contextlib.ExitStack()
        self._columns: list[str] | None = None
        self._pending: list[dict[str, object]] = []
        self._writer: Untyped = None
        self.temporary: Path | None = None

    def __enter__(self) -> ScoreTable:
        self.temporary = self._exits.enter_context(atomic_path(self._path))
        if self._arrow is None:
            self._stream = self._exits.enter_context(
                self.temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="")
            )
        return self

    def write(self, row: dict[str, object]) -> None:
        """Append one row; the first one sets the columns."""
        if self._columns is None:
            self._columns = list(row)
            self._start(row)
        if self._path.suffix == ".jsonl":
            own = {
                name: float(spelled(v))
                for name, v in row.items()
                if isinstance(v, float) and not isinstance(v, Spelled)
            }
            self._stream.write(spelled_json(row | own) + "\n")
        elif self._path.suffix == ".tsv":
            self._stream.write("\t".join(cell(row[name]) for name in self._columns) + "\n")
        elif self._path.suffix == ".csv":
            self._write_csv(spelled(row[name]) for name in self._columns)
        else:
            self._pending.append(row)
            if len(self._pending) >= 65_536:
                self._flush()

    def _start(self, row: dict[str, object]) -> None:
        if self._path.suffix == ".tsv":
            self._stream.write("\t".join(row) + "\n")
        elif self._path.suffix == ".csv":
            self._write_csv(row)

    def _write_csv(self, fields: Iterable[str]) -> None:
        row = list(fields)
        # Python's writer leaves a carriage return unquoted, and its reader refuses that.
        quoting = csv.QUOTE_ALL if any("\r" in field for field in row) else csv.QUOTE_MINIMAL
        csv.writer(self._stream, lineterminator="\n", quoting=quoting).writerow(row)

    def _open_parquet(self, arrow: Untyped) -> None:
        need("pyarrow.parquet", "writing Parquet files")
        first = self._pending[0]
        kinds = {str: arrow.string(), int: arrow.int32(), float: arrow.float32()}
        types = {name: self._types.get(name) or kinds.get(type(value)) for name, value in first.items()}
        unclear = [name for name, kind in types.items() if kind is None]
        if unclear:  # None, a list, …: what the first rows together say
            inferred = arrow.Table.from_pylist([{name: row[name] for name in unclear} for row in self._pending]).schema
            types |= {name: inferred.field(name).type for name in unclear}
        self._writer = arrow.parquet.ParquetWriter(self.temporary, arrow.schema(list(types.items())))
        self._exits.callback(self._writer.close)

    def _flush(self) -> None:
        if self._arrow is not None and self._pending:
            if self._writer is None:
                self._open_parquet(self._arrow)
            schema = self._writer.schema
            rows = [
                {name: _fitted(value, str(schema.field(name).type)) for name, value in r.items()} for r in self._pending
            ]
            self._writer.write_table(self._arrow.Table.from_pylist(rows, schema=schema))
            self._pending = []

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if error is None:
            with self._exits:
                self._flush()
                if self._arrow is not None and self._writer is not None and self.signature is not None:
                    self._writer.add_key_value_metadata({"bsx.signature": self.signature})
            outcome: bool | None = None
        else:
            outcome = self._exits.__exit__(kind, error, trace)
        if error is None and self.sidecar is not None:
            with atomic_text(self._path.with_name(self._path.name + ".signatures.json")) as stream:
                stream.write(json.dumps(self.sidecar, ensure_ascii=False, indent=2) + "\n")
        if error is None and self.signature is not None:
            with atomic_text(self._path.with_name(self._path.name + ".signature.txt")) as stream:
                stream.write(self.signature + "\n")
        return outcome
