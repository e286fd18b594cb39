"""Writing files that appear only when they are complete, and tables of scores row by row."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TextIO

from bsx.data.cells import Spelled, spelled, spelled_json
from bsx.data.run import BESIDE, check_output, check_place, current_run, is_stream, through_links
from bsx.errors import NO_ROOM, InputError
from bsx.support.optional import need
from bsx.support.untyped import Untyped

FORMATS = (".tsv", ".csv", ".jsonl", ".parquet", ".xlsx")


@contextlib.contextmanager
def atomic_path(path: Path, *, internal: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that replaces it on success and vanishes on failure.

    What lies beside an older file and describes it (see `bsx.data.run.BESIDE`) is removed just before.

    Args:
        path: the file, a link to it, or a name of standard output, to which the content is copied in the end.
        internal: whether bsx chose the place; otherwise it may be no input of the run.

    Raises:
        InputError: if the place cannot be written to (see `bsx.data.run.check_output`), or the disk is full.
    """
    stream = not internal and is_stream(path)
    if internal:
        check_place(path)
    else:
        check_output(path)
    final = Path(tempfile.gettempdir(), "stdout") if stream else through_links(path)
    temporary = final.with_name(f".{final.name}.bsx-{secrets.token_hex(8)}.tmp")
    try:
        with _blamed(path, f"cannot write in {final.parent}"):
            temporary.open("xb").close()
        with _blamed(path, "cannot be written", full=temporary):
            yield temporary
        with _blamed(path, "cannot be written"):
            if stream:
                with temporary.open("rb") as content:
                    output = current_run().stdout
                    output.flush()
                    shutil.copyfileobj(content, output.buffer)
                    output.flush()
                return
            if final.exists():
                temporary.chmod(final.stat().st_mode & 0o777)
            for end in BESIDE:
                final.with_name(final.name + end).unlink(missing_ok=True)
            temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _blamed(path: Path, what: str, full: Path | None = None) -> Iterator[None]:
    """Make what the system says of a file an error about the one that the user named; of ``full``, no room only."""
    try:
        yield
    except BrokenPipeError:  # whoever reads our standard output has enough
        raise
    except OSError as error:
        if full is not None and not (error.errno in NO_ROOM and error.filename in (None, str(full))):
            raise
        raise InputError(f"{what} ({os.strerror(error.errno) if error.errno else error})", file=path) from error


@contextlib.contextmanager
def atomic_text(path: Path, *, internal: bool = False) -> Iterator[TextIO]:
    """Yield a UTF-8 text stream whose content becomes ``path`` on success; see `atomic_path`."""
    with (
        atomic_path(path, internal=internal) as temporary,
        temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream,
    ):
        yield stream


def make_folder(folder: Path) -> Path:
    """Return a folder, made if it is not there, and those above it; InputError if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made ({error.strerror})", file=folder) from error
    return folder


def cell(value: object) -> str:
    """Return a value as a TSV cell, where tabs and line breaks inside a text become spaces; see `cells.spelled`."""
    return spelled(value).replace("\t", " ").replace("\n", " ").replace("\r", " ")


def _fitted(value: object, kind: str) -> object:
    """Return a value as a column of an Arrow type takes it: all of mixed kinds as text, whole numbers as such."""
    if value is not None and kind == "string":
        return spelled(value)
    if value == "":  # an empty cell of a spreadsheet
        return None
    return int(value.text) if isinstance(value, Spelled) and kind == "int64" else value


def check_table(path: Path) -> None:
    """Raise InputError unless a table can be written there; on standard output it is TSV."""
    if path.suffix not in FORMATS and not is_stream(path):
        raise InputError(f"cannot tell the format; the name must end in {', '.join(FORMATS)}", file=path)
    check_output(path)


def refuse_taken(columns: Collection[str], added: Iterable[str]) -> None:
    """Raise InputError for input whose columns, all of which the output keeps, are called as one that it adds."""
    for name in added:
        if name in columns:
            raise InputError(f"the input has a column {name!r} already, which the output adds: rename it")


class ScoreTable:
    """A table file written row by row; use it as a context manager.

    Args:
        path: .tsv (unquoted), .csv, .jsonl, .parquet, .xlsx, or a name of standard output, which gets TSV.
        types: Arrow types of columns of a Parquet file; others are taken from the rows.

    Attributes:
        signature: if set before the end, written beside the table as ``<path>.signature.txt``.
        sidecar: if set before the end, written beside the table as ``<path>.signatures.json``.

    Raises:
        InputError: for another file type or an unwritable place, before anything is computed.
    """

    def __init__(self, path: Path, types: Mapping[str, object] | None = None) -> None:
        check_table(path)
        self.signature: str | None = None
        self.sidecar: object | None = None
        self._types = dict(types or {})
        self._path = path
        self._kind = ".tsv" if is_stream(path) else path.suffix
        self._arrow = need("pyarrow", "writing Parquet files") if self._kind == ".parquet" else None
        self._exits = contextlib.ExitStack()
        self._columns: list[str] | None = None
        self._pending: list[dict[str, object]] = []
        self._writer: Untyped = None

    def __enter__(self) -> ScoreTable:
        with contextlib.ExitStack() as opened:
            self._temporary = opened.enter_context(atomic_path(self._path))
            if self._kind == ".xlsx":
                from bsx.data.formats.workbook import Workbook

                self._writer = opened.enter_context(Workbook(self._temporary, self._path))
            elif self._arrow is None:
                stream = self._temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="")
                self._stream = opened.enter_context(stream)
            self._exits = opened.pop_all()
        return self

    def expect(self, rows: int) -> None:
        """Raise InputError for more rows than the format holds, with both numbers, before they are computed."""
        if self._kind == ".xlsx":
            from bsx.data.formats.workbook import check_size

            check_size(rows, self._path)

    def write(self, row: dict[str, object]) -> None:
        """Append one row; the first one sets the columns."""
        if self._columns is None:
            self._columns = list(row)
            if self._kind == ".xlsx":
                self._writer.begin("scores", self._columns)
            elif self._kind in (".tsv", ".csv"):
                self._write_cells(self._columns)
        if self._arrow is not None:
            self._pending.append(row)
            if len(self._pending) >= 65_536:
                self._flush()
        elif self._kind in (".tsv", ".csv"):
            self._write_cells(row[name] for name in self._columns)
        else:  # numbers that bsx computed are rounded here, too
            computed = {n: v for n, v in row.items() if isinstance(v, float) and not isinstance(v, Spelled)}
            whole = row | {name: float(spelled(value)) for name, value in computed.items()}
            if self._kind == ".jsonl":
                self._stream.write(spelled_json(whole) + "\n")
            else:
                self._writer.row(whole[name] for name in self._columns)

    def _write_cells(self, values: Iterable[object]) -> None:
        if self._kind == ".tsv":
            self._stream.write("\t".join(map(cell, values)) + "\n")
            return
        fields = list(map(spelled, values))
        # Python's writer leaves a carriage return unquoted, and its reader refuses that.
        quoting = csv.QUOTE_ALL if any("\r" in field for field in fields) else csv.QUOTE_MINIMAL
        csv.writer(self._stream, lineterminator="\n", quoting=quoting).writerow(fields)  # type: ignore[arg-type]

    def _flush(self) -> None:
        """Write the rows that wait for it to a Parquet file, which the first of them open."""
        rows, self._pending = self._pending, []
        if self._arrow is None or not rows:
            return
        arrow = self._arrow
        if self._writer is None:
            need("pyarrow.parquet", "writing Parquet files")
            kinds = {str: arrow.string(), int: arrow.int32(), float: arrow.float32()}
            types = {name: self._types.get(name) or kinds.get(type(value)) for name, value in rows[0].items()}
            unclear = [name for name, kind in types.items() if kind is None]
            if unclear:  # None, a list, …: what the first rows together say
                inferred = arrow.Table.from_pylist([{name: row[name] for name in unclear} for row in rows]).schema
                types |= {name: inferred.field(name).type for name in unclear}
            stream = self._exits.enter_context(self._temporary.open("wb"))  # Arrow takes no path that is not UTF-8
            self._writer = arrow.parquet.ParquetWriter(stream, arrow.schema(list(types.items())))
            self._exits.callback(self._writer.close)
        schema = self._writer.schema
        fitted = [{name: _fitted(value, str(schema.field(name).type)) for name, value in row.items()} for row in rows]
        self._writer.write_table(arrow.Table.from_pylist(fitted, schema=schema))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if error is not None:
            return self._exits.__exit__(kind, error, trace)
        with self._exits:
            self._flush()
            if self._arrow is not None and self._writer is not None and self.signature is not None:
                self._writer.add_key_value_metadata({"bsx.signature": self.signature})
        sidecar = None if self.sidecar is None else json.dumps(self.sidecar, ensure_ascii=False, indent=2)
        table = through_links(self._path)
        for end, text in ((".signatures.json", sidecar), (".signature.txt", self.signature)):
            if text is not None and not is_stream(self._path):
                with atomic_text(table.with_name(table.name + end), internal=True) as stream:
                    stream.write(text + "\n")
        return None


PICTURES = (".png", ".svg", ".pdf")


def check_picture(path: Path, formats: Sequence[str] = PICTURES) -> None:
    """Raise InputError unless the file's name ends in one of these formats, and it can be written there.

    Raise MissingExtraError where what draws is not installed.
    """
    if path.suffix not in formats:
        raise InputError(f"cannot draw this format; the name must end in {', '.join(formats)}", file=path)
    need("vl_convert", "drawing charts")
    check_output(path)
