"""Files of lines: the one way in for what a user names, be it a file, a compressed one, a pipe or standard input."""

from __future__ import annotations

import codecs
import contextlib
import functools
import gzip
import hashlib
import io
import json
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO

from bsx.data.run import Copy, current_run
from bsx.errors import InputError
from bsx.support.folders import without_sheet
from bsx.support.memory import free_memory, show_bytes
from bsx.support.untyped import Untyped

STDIN = "-"
LONGEST_LINE = 2**26
"""Bytes of a line, or of a quoted field; a tokenizer would take 16 GiB for a text as long."""
_HOW = {".csv": " (in Excel: save as CSV UTF-8)", ".txt": " (in an editor: save as, with the encoding UTF-8)"}
_COPIES = 16  # of what is read at once, that free memory must have room for: as bytes, as text, and as what it means


class Problems:
    """The malformed rows of one data set: an error each, or a list of them; use it as a context manager around a row.

    Attributes:
        skip: whether a malformed row is listed and left out instead of ending the reading.
        messages: one line for each row left out, naming file, line and reason.
    """

    def __init__(self, *, skip: bool = False) -> None:
        self.skip = skip
        self.messages: list[str] = []

    def report(self, message: str) -> None:
        """List a malformed row; raise InputError instead if such rows are not to be skipped."""
        if not self.skip:
            raise InputError(message)
        self.messages.append(message)

    def __enter__(self) -> Problems:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self.skip and isinstance(error, InputError):
            self.messages.append(str(error))
            return True
        return False


class NamedFile:
    """A file and what to call it in messages; it can be read from the start as often as needed.

    What can be read but once (standard input, a named pipe, ``<(command)``) is copied to a temporary file, which goes
    with this object, or at the end of the run; all who name it in one run read the same copy. A file whose name ends in
    ``.gz`` is uncompressed while it is read.

    Args:
        path: where it is; ``-`` and ``/dev/stdin`` are standard input. The name of a spreadsheet may be followed by
            ``#`` and that of one of its sheets.

    Attributes:
        path: what the user called it.
        name: what to call it in messages.
        suffix: the end of its name that tells the format, in lower case and without ``.gz``.
        sheet: the sheet of a spreadsheet that the user named.
        packed: whether it is uncompressed while it is read.
        copy: what it reads, if that could be read but once.
        stored: where its bytes are: its path, or that of the copy.
    """

    def __init__(self, path: Path | str) -> None:
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"a file is named by its path (got {path!r})")
        if str(path) == "":
            raise InputError("the name of a file to read is empty")
        self.path, self.sheet = without_sheet(path)
        self.name = "standard input" if str(path) in (STDIN, "/dev/stdin") else str(self.path)
        self.packed = self.path.suffix.lower() == ".gz"
        self.suffix = (self.path.with_suffix("") if self.packed else self.path).suffix.lower()
        try:
            self.copy = self._copied()
            self.stored = self.path if self.copy is None else self.copy.path
            with self.stored.open("rb") as stream:
                first = stream.read(1)
        except FileNotFoundError as error:
            raise InputError("there is no such file", file=self.name) from error
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"cannot be read ({reason})", file=self.name) from error
        if not first:
            raise InputError("is empty", file=self.name)

    def _copied(self) -> Copy | None:
        """Return the copy of what can be read but once; None for a file."""
        piped = self.name == "standard input"
        if piped and (sys.stdin is None or sys.stdin.closed):
            raise InputError("is closed", file=self.name)
        if not piped:
            kind = self.path.stat().st_mode
            if stat.S_ISREG(kind):
                return None
            if stat.S_ISDIR(kind):
                raise InputError("is a folder, not a file", file=self.name)
        known = current_run().copies
        if self.name not in known:
            with contextlib.nullcontext(sys.stdin.buffer) if piped else self.path.open("rb") as source:
                known[self.name] = Copy(source)
        return known[self.name]

    def seekable(self) -> BinaryIO:
        """Open its bytes, uncompressed, for those who read them in any order; InputError if it cannot be read."""
        try:
            return io.BytesIO(self.all_bytes()) if self.packed else self.stored.open("rb")
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=self.name) from error

    def digest(self) -> str:
        """Return the sha256 of its bytes as they are stored, in hexadecimal."""
        with self.stored.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    @contextlib.contextmanager
    def reading(self) -> Iterator[IO[bytes] | gzip.GzipFile]:
        """Open its bytes, uncompressed, as a context manager in which whatever goes wrong is an error with its name."""
        try:
            with self.stored.open("rb") as stored:
                stream: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=stored) if self.packed else stored
                yield stream
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(f"is not a whole gzip file ({error})", file=self.name) from error
        except UnicodeDecodeError as error:
            raise InputError(
                f"is damaged, or not whole: {error.reason} in UTF-16: save it again", file=self.name
            ) from error
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=self.name) from error

    def numbered(self, problems: Problems | None = None, *, ends: bool = False) -> Iterator[tuple[int, str]]:
        r"""Yield the lines with their numbers.

        A line ends at ``\n`` (or ``\r\n``) and nowhere else: the other characters that Unicode calls line breaks stay
        part of the text. A byte-order mark at the start is dropped. The encoding is UTF-8, or UTF-16 where such a mark
        says so, as in the "Unicode text" of spreadsheet programs; without NUL.

        Args:
            problems: where a line that is not in the encoding goes; an error unless given.
            ends: leave the ends of lines where they are.

        Raises:
            InputError: naming the line, if it is not in the encoding, or longer than any text is.
        """
        problems = problems if problems is not None else Problems()
        with self.reading() as stream:
            mark = stream.read(4)
            stream.seek(0)
            if mark == b"PK\x03\x04":
                raise InputError(
                    "is a spreadsheet or another packed file, not text; a spreadsheet is a table, named .xlsx",
                    file=self.name,
                )
            # Never more than that of a file whose few compressed bytes may stand for any number.
            pieces: Iterable[bytes] = iter(functools.partial(stream.readline, LONGEST_LINE + 1), b"")
            if mark.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                wide = io.TextIOWrapper(stream, "utf-16", newline="\n")
                pieces = map(str.encode, iter(functools.partial(wide.readline, LONGEST_LINE + 1), ""))
            for number, raw in enumerate(pieces, start=1):
                if len(raw) > LONGEST_LINE:
                    raise InputError(f"{self.name}: line {number} is longer than {show_bytes(LONGEST_LINE)}: split it")
                line = raw if ends else raw.removesuffix(b"\n").removesuffix(b"\r")
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                try:
                    decoded = line.decode("utf-8")
                except UnicodeDecodeError as error:
                    problems.report(
                        f"{self.name}: line {number} is not UTF-8 (byte {line[error.start]:#04x} at position "
                        f"{error.start + 1}); convert the file to UTF-8{_HOW.get(self.suffix, '')}"
                    )
                    continue
                if "\0" in decoded:
                    problems.report(
                        f"{self.name}: line {number} holds a NUL character, as damaged files and files in UTF-16 do; "
                        "mend the line, or convert the file to UTF-8"
                    )
                    continue
                yield number, decoded

    def lines(self) -> Iterator[str]:
        """Yield the lines without their numbers; see `numbered`."""
        return (line for _, line in self.numbered())

    def all_bytes(self) -> bytes:
        """Return its bytes, uncompressed; InputError if it cannot be read, or is too large to hold in memory."""
        with self.reading() as stream:
            most = max(LONGEST_LINE, free_memory() // _COPIES)
            content = stream.read(most + 1)
        if len(content) > most:
            raise InputError(
                f"holds more than {show_bytes(most)}, which is too much for the free memory", file=self.name
            )
        return content

    def text(self) -> str:
        """Return all lines as one text; see `numbered`.

        Raises:
            InputError: naming the line, if it is not UTF-8; or if it is too large to hold in memory.
        """
        content = self.all_bytes()
        if b"\0" not in content and not content.startswith(b"PK\x03\x04"):
            with contextlib.suppress(UnicodeDecodeError):  # read by lines, it is told where it is not UTF-8
                return content.removeprefix(codecs.BOM_UTF8).decode("utf-8")
        return "".join(line for _, line in self.numbered(ends=True))

    def json(self) -> Untyped:
        """Return what the file holds as one JSON document; NaN and infinities in it are None."""
        try:
            return json.loads(self.text(), parse_constant=lambda _: None)
        except (ValueError, RecursionError) as error:
            raise InputError(f"is not JSON ({error})", file=self.name) from error


def line_list(path: Path) -> list[str]:
    """Return all lines of a file of a folder of data, in which line i is segment i."""
    return list(NamedFile(path).lines())


def check_line_counts(counts: Mapping[str | Path, int]) -> None:
    """Raise InputError unless parallel files have equally many lines; it names two files and both counts."""
    (first, expected), *others = counts.items()
    for other, count in others:
        if count != expected:
            raise InputError(
                f"line counts differ: {first} has {expected}, {other} has {count}; line i of every file must be "
                "segment i"
            )
