"""Writing files that appear only when they are complete, and tables of scores row by row."""

from __future__ import annotations

import contextlib
import csv
import errno
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TextIO

from bsx.data.cells import Spelled, spelled, spelled_json
from bsx.data.run import (
    BESIDE,
    begin_output,
    check_output,
    check_place,
    end_output,
    is_stream,
    standard_output,
    through_links,
)
from bsx.errors import NO_ROOM, InputError
from bsx.support.optional import need
from bsx.support.untyped import Untyped

FORMATS = (".tsv", ".csv", ".jsonl", ".parquet", ".xlsx")


class Commit:
    """A file and what lies beside it, each of which appears whole or not at all; use it as a context manager.

    Each is written under a name of its own beside its place, brought to the disk and renamed into place. What speaks of
    an older file goes before the new one appears, and what speaks of the new one follows it: whatever ends the process
    at whatever moment, nothing lies beside a table that speaks of another. What a killed process left unfinished, the
    next one that writes there removes.

    Args:
        path: the file, a link to it, or a name of standard output, to which it is copied in the end.
        own: whether bsx chose the place; otherwise it may be no input and no other output of the run.

    Raises:
        InputError: if the place cannot be written to, or the disk is full.
    """

    def __init__(self, path: Path, *, own: bool = False) -> None:
        self.path = path
        self._own = own
        self._stream = not own and is_stream(path)
        final = through_links(path)
        self._folder = Path(tempfile.gettempdir()) if self._stream else final.parent
        self._name = "stdout" if self._stream else final.name
        self._temporary: dict[str, Path] = {}
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Commit:
        with self._named():
            if self._own:
                check_place(self.path)
            else:
                begin_output(self.path)
            # What killed processes left of this file and what lies beside it is removed.
            ends = "|".join(map(re.escape, BESIDE))
            ours = re.compile(rf"\.{re.escape(self._name)}({ends})?\.bsx-[0-9a-f]{{16}}\.tmp")
            for file in self._folder.iterdir() if os.access(self._folder, os.R_OK) else ():
                if ours.fullmatch(file.name):
                    with contextlib.suppress(OSError), file.open("rb") as stream:
                        if _locked(stream):
                            file.unlink()
        return self

    def new(self, beside: str = "") -> Path:
        """Return an empty file to write: first the one for ``path``, then, each by its end, what lies beside it."""
        temporary = self._folder / f".{self._name}{beside}.bsx-{secrets.token_hex(8)}.tmp"
        with self._named(f"cannot write in {self._folder}"):
            stream = temporary.open("xb")
        self._temporary[self._name + beside] = temporary
        if _locked(stream):  # until the end, by which other processes know that this one lives
            self._held.enter_context(stream)
        else:
            stream.close()
        return temporary

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with self._named():
                if error is None:
                    self._complete()
                ours = (None, *map(str, self._temporary.values()))
                if isinstance(error, OSError) and error.errno in NO_ROOM and error.filename in ours:
                    raise error
        finally:
            self._held.close()
            for temporary in self._temporary.values():
                temporary.unlink(missing_ok=True)
            if not self._own:
                end_output(self.path)

    def _complete(self) -> None:
        if self._stream:
            with next(iter(self._temporary.values())).open("rb") as stream:
                output = standard_output()
                output.flush()
                shutil.copyfileobj(stream, output.buffer)
                output.flush()
            return
        for final, temporary in self._temporary.items():
            if (self._folder / final).exists():
                temporary.chmod((self._folder / final).stat().st_mode & 0o777)
            _sync(temporary)
        for end in BESIDE:
            (self._folder / (self._name + end)).unlink(missing_ok=True)
        for final, temporary in self._temporary.items():
            temporary.replace(self._folder / final)
        _sync(self._folder)

    @contextlib.contextmanager
    def _named(self, what: str = "cannot be written") -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:  # whoever reads our standard output has enough
            raise
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else error
            raise InputError(f"{what} ({reason})", file=self.path) from error


def _locked(stream: IO[bytes]) -> bool:
    """Lock a file for as long as it is open, unless another process has it; tell whether that was possible."""
    try:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _sync(path: Path) -> None:
    """Bring a file or a folder to the disk."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot
            raise
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic_path(path: Path, *, own: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that replaces it on success and vanishes on failure.

    Args:
        path: the file, or a name of standard output, to which the content is copied in the end.
        own: whether bsx chose the place; otherwise it may be no input and no other output of the run.

    Raises:
        InputError: if the place cannot be written to (see `bsx.data.run.check_output`), or the disk is full.
    """
    with Commit(path, own=own) as commit:
        yield commit.new()


@contextlib.contextmanager
def atomic_text(path: Path, *, own: bool = False) -> Iterator[TextIO]:
    """Yield a UTF-8 text stream whose content becomes ``path`` on success; see `atomic_path`."""
    with (
        atomic_path(path, own=own) as temporary,
        temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream,
    ):
        yield stream


def make_folder(folder: Path) -> Path:
    """Return a folder, made if it is not there, and those above it.

    Raises:
        InputError: if it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made ({error.strerror})", file=folder) from error
    return folder


def cell(value: object) -> str:
    """Return a value as a TSV cell, where tabs and line breaks inside a text become spaces; see `cells.spelled`."""
    return spelled(value).replace("\t", " ").replace("\n", " ").replace("\r", " ")


def _rounded(row: Mapping[str, object]) -> dict[str, object]:
    """Return the numbers of a row that bsx computed, rounded as `cells.spelled` does."""
    return {n: float(spelled(v)) for n, v in row.items() if isinstance(v, float) and not isinstance(v, Spelled)}


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


def refuse_taken(columns: Iterable[str], added: Iterable[str]) -> None:
    """Refuse input whose columns, all of which the output keeps, are called as one that the output adds.

    Raises:
        InputError: naming the first.
    """
    there = set(columns)
    for name in added:
        if name in there:
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
        self._commit = Commit(path)
        self._exits = contextlib.ExitStack()
        self._columns: list[str] | None = None
        self._pending: list[dict[str, object]] = []
        self._writer: Untyped = None

    def __enter__(self) -> ScoreTable:
        with contextlib.ExitStack() as opened:
            commit = opened.enter_context(self._commit)
            self._temporary = commit.new()
            if self._kind == ".xlsx":
                from bsx.data.formats.workbook import Workbook

                self._writer = opened.enter_context(Workbook(self._temporary, self._path))
            elif self._arrow is None:
                stream = self._temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="")
                self._stream = opened.enter_context(stream)
            self._exits = opened.pop_all()
        return self

    def expect(self, rows: int) -> None:
        """Refuse more rows than the format holds, before they are computed.

        Raises:
            InputError: with both numbers.
        """
        if self._kind == ".xlsx":
            from bsx.data.formats.workbook import check_size

            check_size(rows, self._path)

    def write(self, row: dict[str, object]) -> None:
        """Append one row; the first one sets the columns."""
        if self._columns is None:
            self._columns = list(row)
            if self._kind == ".xlsx":
                self._writer.begin("scores", self._columns)
            elif self._kind == ".tsv":
                self._stream.write("\t".join(row) + "\n")
            elif self._kind == ".csv":
                self._write_csv(row)
        if self._kind == ".jsonl":
            self._stream.write(spelled_json(row | _rounded(row)) + "\n")
        elif self._kind == ".xlsx":
            whole = row | _rounded(row)
            self._writer.row(whole[name] for name in self._columns)
        elif self._kind == ".tsv":
            self._stream.write("\t".join(cell(row[name]) for name in self._columns) + "\n")
        elif self._kind == ".csv":
            self._write_csv(spelled(row[name]) for name in self._columns)
        else:
            self._pending.append(row)
            if len(self._pending) >= 65_536:
                self._flush()

    def _write_csv(self, fields: Iterable[str]) -> None:
        row = list(fields)
        # Python's writer leaves a carriage return unquoted, and its reader refuses that.
        quoting = csv.QUOTE_ALL if any("\r" in field for field in row) else csv.QUOTE_MINIMAL
        csv.writer(self._stream, lineterminator="\n", quoting=quoting).writerow(row)  # type: ignore[arg-type]

    def _open_parquet(self, arrow: Untyped) -> None:
        need("pyarrow.parquet", "writing Parquet files")
        first = self._pending[0]
        kinds = {str: arrow.string(), int: arrow.int32(), float: arrow.float32()}
        types = {name: self._types.get(name) or kinds.get(type(value)) for name, value in first.items()}
        unclear = [name for name, kind in types.items() if kind is None]
        if unclear:  # None, a list, …: what the first rows together say
            inferred = arrow.Table.from_pylist([{name: row[name] for name in unclear} for row in self._pending]).schema
            types |= {name: inferred.field(name).type for name in unclear}
        stream = self._exits.enter_context(self._temporary.open("wb"))  # Arrow takes no path that is not UTF-8
        self._writer = arrow.parquet.ParquetWriter(stream, arrow.schema(list(types.items())))
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
        if error is not None:
            return self._exits.__exit__(kind, error, trace)
        with self._exits:
            self._flush()
            if self._arrow is not None and self._writer is not None and self.signature is not None:
                self._writer.add_key_value_metadata({"bsx.signature": self.signature})
            if self.sidecar is not None and not is_stream(self._path):
                content = json.dumps(self.sidecar, ensure_ascii=False, indent=2)
                self._commit.new(".signatures.json").write_text(content + "\n", "utf-8", "backslashreplace")
            if self.signature is not None and not is_stream(self._path):
                self._commit.new(".signature.txt").write_text(self.signature + "\n", "utf-8", "backslashreplace")
        return None


PICTURES = (".png", ".svg", ".pdf")


def check_picture(path: Path, formats: Sequence[str] = PICTURES) -> None:
    """Raise InputError unless the file's name says a format that can be drawn and it can be written there.

    Raise MissingExtraError where what draws is not installed.

    Args:
        path: of the picture.
        formats: suffixes that are allowed.
    """
    if path.suffix not in formats:
        raise InputError(f"cannot draw this format; the name must end in {', '.join(formats)}", file=path)
    need("vl_convert", "drawing charts")
    check_output(path)
