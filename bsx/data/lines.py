"""Files of lines: the one way in for what a user names, be it a file, a compressed one, a pipe or standard input."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from bsx.data.corpus import Segment
from bsx.errors import InputError
from bsx.support.untyped import Untyped

STDIN = "-"


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


class NamedFile:
    """A file and what to call it in messages; it can be read from the start as often as needed.

    What can be read but once (standard input, a named pipe, ``<(command)``) is copied to a temporary file, which goes
    when this object does. A file whose name ends in ``.gz`` is uncompressed while it is read.

    Args:
        path: where it is; ``-`` is standard input.

    Attributes:
        path: where its bytes are.
        name: what the user called it.
        suffix: the end of its name that tells the format, in lower case and without ``.gz``.
        copied: whether it is a copy of what could be read but once.

    Raises:
        InputError: if there is no such readable file, or it is empty.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.name = "standard input" if str(path) == STDIN else str(path)
        self.copied = str(path) == STDIN or (self.path.exists() and not self.path.is_file() and not self.path.is_dir())
        self._packed = self.path.suffix.lower() == ".gz"
        self.suffix = (self.path.with_suffix("") if self._packed else self.path).suffix.lower()
        if not self.copied and not self.path.exists():
            raise InputError(f"{self.name}: there is no such file")
        if self.path.is_dir() and not self.copied:
            raise InputError(f"{self.name}: is a folder, not a file")
        try:
            if self.copied:
                self._copy()
            with self.path.open("rb") as stream:
                first = stream.read(1)
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read ({error.strerror})") from error
        if not first:
            raise InputError(f"{self.name}: is empty")

    def _copy(self) -> None:
        with tempfile.NamedTemporaryFile(prefix="bsx-input-", delete=False) as copy:
            source, self.path = self.path, Path(copy.name)
            weakref.finalize(self, self.path.unlink, missing_ok=True)
            if str(source) == STDIN:
                shutil.copyfileobj(sys.stdin.buffer, copy)
            else:
                with source.open("rb") as stream:
                    shutil.copyfileobj(stream, copy)

    def open(self) -> BinaryIO | gzip.GzipFile:
        """Open its bytes, uncompressed."""
        return gzip.open(self.path) if self._packed else self.path.open("rb")

    def numbered(self, problems: Problems | None = None) -> Iterator[tuple[int, str]]:
        r"""Yield the lines with their numbers, without their ends.

        A line ends at ``\n`` (or ``\r\n``) and nowhere else: the other characters that Unicode calls line breaks stay
        part of the text. A byte-order mark at the start is dropped.

        Args:
            problems: where a line that is not UTF-8 goes; an error unless given.

        Raises:
            InputError: naming the line, if it is not UTF-8.
        """
        problems = problems if problems is not None else Problems()
        with self.open() as stream:
            try:
                for number, raw in enumerate(stream, start=1):
                    line = raw.removesuffix(b"\n").removesuffix(b"\r")
                    if number == 1:
                        line = line.removeprefix(b"\xef\xbb\xbf")
                    try:
                        decoded = line.decode("utf-8")
                    except UnicodeDecodeError as error:
                        problems.report(
                            f"{self.name}: line {number} is not UTF-8 (byte {line[error.start]:#04x} at position "
                            f"{error.start + 1}); convert the file to UTF-8"
                        )
                        continue
                    yield number, decoded
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise InputError(f"{self.name}: is not a whole gzip file ({error})") from error

    def lines(self) -> Iterator[str]:
        """Yield the lines without their numbers; see `numbered`."""
        return (line for _, line in self.numbered())

    def json(self) -> Untyped:
        """Return what the file holds as one JSON document; NaN and infinities in it are None.

        Raises:
            InputError: if it is not JSON, or not UTF-8.
        """
        content = "\n".join(self.lines())
        try:
            return json.loads(content, parse_constant=lambda _: None)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.name}: is not JSON ({error})") from error


def line_list(path: Path) -> list[str]:
    """Return all lines of a file in which line i is segment i.

    Raises:
        InputError: if the file is missing, empty or not UTF-8.
    """
    return list(NamedFile(path).lines())


def check_line_counts(counts: Mapping[str | Path, int]) -> None:
    """Check that parallel files have equally many lines.

    Raises:
        InputError: naming two files and both counts.
    """
    (first, expected), *others = counts.items()
    for other, count in others:
        if count != expected:
            raise InputError(
                f"line counts differ: {first} has {expected}, {other} has {count}; line i of every file must be "
                "segment i"
            )


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
                check_line_counts({file.name: sum(1 for _ in file.lines()) for file in files})
            yield Segment(str(number), tuple(row[:split]), tuple(row[split:end]), row[end] if self._sources else None)
