"""What one run reads and writes: none of the files that its settings name to be read is written, and none twice."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Concatenate, ParamSpec, TypeVar

from bsx.errors import InputError
from bsx.support.folders import without_sheet
from bsx.support.progress import Say, nothing
from bsx.support.settings import BaseSettings, Option

STREAMS = frozenset({"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
"""What means standard output."""
BESIDE = (".signature.txt", ".signatures.json")
"""Ends of the names of the files next to a table that describe it."""

_Arguments = ParamSpec("_Arguments")
_Chosen = TypeVar("_Chosen", bound=BaseSettings)
_Result = TypeVar("_Result")


class Copy:
    """What can be read but once, in a temporary file that goes with this object, or with the process.

    Args:
        source: an open stream.
    """

    def __init__(self, source: IO[bytes]) -> None:
        handle, name = tempfile.mkstemp(prefix="bsx-input-")
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)


class RunFiles:
    """What a run reads and writes by its settings, what it has told, and the copies of the pipes that it has read.

    Its standard output is what that was when it began: a command may print elsewhere while a file goes there.
    """

    def __init__(
        self, say: Say | None = None, reads: Iterable[Path] = (), writes: Mapping[str, Path] | None = None
    ) -> None:
        self.say = say or nothing
        self.reads = list(reads)
        self.writes = dict(writes or {})
        self.stdout = sys.stdout
        self.notes: set[str] = set()
        self.copies: dict[str, Copy] = {}


_RUN: ContextVar[RunFiles | None] = ContextVar("run", default=None)


def current_run() -> RunFiles:
    """Return the run; outside of one, a new one that reads and writes nothing and keeps what it is told to itself."""
    return _RUN.get() or RunFiles()


@contextlib.contextmanager
def one_run(
    say: Say | None = None, reads: Iterable[Path] = (), writes: Mapping[str, Path] | None = None
) -> Iterator[None]:
    """Begin a run, which lasts until the end of this context; a run within a run is part of it.

    Args:
        say: called with what the readers of files have to tell, a line each; see `tell`.
        reads: files and folders that it reads, which may be none of its outputs.
        writes: setting -> the file or folder that it names to be written.
    """
    if _RUN.get() is not None:
        yield
        return
    token = _RUN.set(RunFiles(say, reads, writes))
    try:
        yield
    finally:
        _RUN.reset(token)


def as_one_run(
    job: Callable[Concatenate[_Chosen, _Arguments], _Result],
) -> Callable[Concatenate[_Chosen, _Arguments], _Result]:
    """Make each call of a function of settings `one_run`, which reads and writes what these name."""

    @functools.wraps(job)
    def run(settings: _Chosen, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        reads: list[Path] = []
        writes: dict[str, Path] = {}
        for name, field in type(settings).model_fields.items():
            value = getattr(settings, name)
            if any(isinstance(mark, Option) and mark.writable for mark in field.metadata):
                writes |= {name: Path(value)} if value else {}
            else:
                reads += named_files(name, value)
        with one_run(getattr(settings, "say", None), reads, writes):
            return job(settings, *args, **kwargs)

    return run


def named_files(setting: str, value: object) -> Iterator[Path]:
    """Yield the files that the value of a setting names, such as those in ``name:field=file``; of a model the folder.

    What a metric is told to write itself (``spans=``) is none of them.
    """
    for text in value if isinstance(value, list | tuple) else [value]:
        pieces = re.split("[:,]", str(text)) if isinstance(text, str | Path) else ()
        parts = [part for piece in pieces if not re.match(r"\s*spans\s*=", piece) for part in piece.split("=")]
        for part in dict.fromkeys([str(text), *parts]) if pieces else ():
            path = without_sheet(part)[0]
            with contextlib.suppress(OSError, ValueError):
                if path.is_file() or (setting == "model" and path.is_dir()):
                    yield path


def tell(note: str) -> None:
    """Tell the user of the run what a file turned out to be, once; outside of a run, the reader of a file keeps it."""
    run = current_run()
    if note not in run.notes:
        run.notes.add(note)
        run.say(note)


def is_stream(path: Path | str) -> bool:
    """Tell whether a name means standard output."""
    return str(path) in STREAMS


def check_inputs(files: Sequence[Path]) -> None:
    """Raise InputError for files, found in a folder or by a pattern that the run reads, that it will write."""
    for output in current_run().writes.values():
        _check_unread(output, files)


def check_output(path: Path | str) -> None:
    """Refuse what a user named for a file to write, unless it can be one; done before anything is computed.

    Args:
        path: an empty place in a folder that can be written to, a regular file, or a name of standard output.

    Raises:
        InputError: if it is anything else, or the run reads it.
    """
    if not is_stream(path):
        check_place(Path(path))
        _check_unread(Path(path))


def check_folder(folder: Path) -> None:
    """Refuse what a user named for a folder to write in, unless it can be one; done before anything is computed.

    Raises:
        InputError: if it or a part of its path is no folder, nothing can be written there, or the run reads it.
    """
    whole = folder.absolute()
    existing = next(above for above in (whole, *whole.parents) if os.path.lexists(above))
    if not existing.is_dir():
        raise InputError(f"{existing} is not a folder", file=folder)
    if not os.access(existing, os.W_OK):
        raise InputError(f"cannot write in {existing} (Permission denied)", file=folder)
    _check_unread(folder)


def check_outputs(paths: Sequence[Path]) -> None:
    """Check all files that a run is to write as `check_output` does; InputError if two are the same, too."""
    for place, path in enumerate(paths):
        check_output(path)
        if any(_same(path, other) for other in paths[:place]):
            named = " or ".join(_settings(path)) or "one of them"
            raise InputError(f"{path}: two outputs of this run are this file: give {named} another name")


def check_place(path: Path) -> None:
    """Raise InputError unless a file can be written there: regular, or not there yet in a folder that is."""
    if str(path) == ".":
        raise InputError("the name of a file to write is empty, or that of this folder: name a file")
    try:
        kind = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        kind = stat.S_IFREG
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot be written ({reason})", file=path) from error
    if stat.S_ISDIR(kind):
        raise InputError("is a folder, not a file to write to", file=path)
    if not stat.S_ISREG(kind):
        raise InputError("is not a file but a device, a pipe or a socket; - is standard output", file=path)
    folder = through_links(path).parent
    if not folder.is_dir():
        raise InputError(f"the folder {folder} does not exist", file=path)
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write in {folder} (Permission denied)", file=path)


def through_links(path: Path) -> Path:
    """Return the file that a name stands for: what a link leads to, be it there or not yet, else the name itself.

    What is written replaces that file, not the link, and what lies beside a table lies beside that.
    """
    return Path(os.path.realpath(path)) if os.path.islink(path) else path  # noqa: PTH114 - fails for no name


def _check_unread(output: Path, files: Iterable[Path] | None = None) -> None:
    """Refuse an output that is one of the files that the run reads."""
    if any(_same(output, file) for file in (current_run().reads if files is None else files)):
        setting = next(iter(_settings(output)), "output")
        raise InputError(f"{output}: is an input of this run, which would overwrite it: give {setting} another name")


def _same(first: Path, second: Path) -> bool:
    """Tell whether two names are those of one file, there or not; those of standard output are of one."""
    if is_stream(first) or is_stream(second):
        return is_stream(first) and is_stream(second)
    try:
        return first.samefile(second)
    except (OSError, ValueError):
        return os.path.realpath(first) == os.path.realpath(second)


def _settings(output: Path) -> list[str]:
    """Return which settings name a file, as far as they are known."""
    return [name for name, path in current_run().writes.items() if _same(path, output)]
