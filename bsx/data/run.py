"""What one run reads and writes: nothing that it reads may be one of its outputs, and no two outputs the same file."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import ParamSpec, TextIO, TypeVar

from bsx.errors import InputError

STREAMS = frozenset({"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
"""What means standard output."""
BESIDE = (".signature.txt", ".signatures.json")
"""Ends of the names of the files next to a table that describe it."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Key = str | tuple[int, int]


class _Run:
    """The files of a run: each by its resolved path and, if it is there, by device and inode."""

    def __init__(self) -> None:
        self.read: set[_Key] = set()
        self.folders: list[Path] = []
        self.outputs: dict[_Key, Path] = {}
        self.written: set[_Key] = set()
        self.settings: list[tuple[str, Path]] = []
        self.stdout = sys.stdout
        self.say: Callable[[str], None] = lambda note: None
        self.said: set[str] = set()


_RUN: ContextVar[_Run | None] = ContextVar("run", default=None)


@contextlib.contextmanager
def one_run(say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Remember until the end what is read and written; a run within a run is part of it.

    Args:
        say: called with what the readers of files have to tell, a line each; see `tell`.
    """
    if _RUN.get() is not None:
        yield
        return
    run = _Run()
    run.say = say or run.say
    token = _RUN.set(run)
    try:
        yield
    finally:
        _RUN.reset(token)


def as_one_run(job: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Make each call of a function `one_run`."""

    @functools.wraps(job)
    def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with one_run(kwargs.get("say")):  # type: ignore[arg-type]  # of the settings that are `Reported`
            return job(*args, **kwargs)

    return run


def tell(note: str) -> None:
    """Tell the user of the run what a file turned out to be, once; outside of a run, the reader of a file keeps it."""
    run = _RUN.get()
    if run is not None and note not in run.said:
        run.said.add(note)
        run.say(note)


def is_stream(path: Path | str) -> bool:
    """Tell whether a name means standard output."""
    return str(path) in STREAMS


def standard_output() -> TextIO:
    """Return standard output as it was when the run began: a command may print elsewhere while a file goes there."""
    run = _RUN.get()
    return run.stdout if run is not None else sys.stdout


def named_by(setting: str, path: Path) -> None:
    """Note which setting names a file or folder to write; messages say ``output`` unless they know better."""
    run = _RUN.get()
    if run is not None:
        run.settings.append((setting, path))


def reading(path: Path | str) -> None:
    """Note that the run reads a file.

    Raises:
        InputError: if the run will write it.
    """
    run = _RUN.get()
    if run is None:
        return
    keys = _keys(Path(path))
    output = next((run.outputs[key] for key in keys if key in run.outputs), None)
    if output is not None:
        raise _overwritten(output)
    run.read.update(keys)


def keep_out(folder: Path) -> None:
    """Note that nothing the user names may be written in a folder, such as a cache: what is there is bsx's own.

    Raises:
        InputError: if the run will write a file there.
    """
    run = _RUN.get()
    if run is None:
        return
    run.folders.append(Path(os.path.realpath(folder)))
    for output in run.outputs.values():
        _check_folders(run, output)


def check_output(path: Path | str) -> None:
    """Refuse what a user named for a file to write, unless it can be one; done before anything is computed.

    Args:
        path: an empty place in a folder that can be written to, a regular file, or a name of standard output.

    Raises:
        InputError: if it is anything else, or the run reads it or what would lie beside it.
    """
    path = Path(path)
    if is_stream(path):
        return
    check_place(path)
    run = _RUN.get()
    if run is None:
        return
    keys = _keys_of_output(path)
    if run.read.intersection(keys):
        raise _overwritten(path)
    _check_folders(run, path)
    run.outputs.update({key: path for key in keys if key not in run.written})


def check_folder(folder: Path) -> None:
    """Refuse what a user named for a folder to write in, unless it can be one; done before anything is computed.

    Raises:
        InputError: if it or a part of its path is no folder, nothing can be written there, or the run reads it.
    """
    whole = folder.absolute()
    there = next(above for above in (whole, *whole.parents) if os.path.lexists(above))
    if not there.is_dir():
        raise InputError(f"{there} is not a folder", file=folder)
    if not os.access(there, os.W_OK):
        raise InputError(f"cannot write in {there} (Permission denied)", file=folder)
    run = _RUN.get()
    if run is not None:
        if run.read.intersection(_keys(folder)):
            raise _overwritten(folder)
        _check_folders(run, folder)


def check_outputs(paths: Iterable[Path]) -> None:
    """Check all files that a run is to write; see `check_output`.

    Raises:
        InputError: if two are the same, too.
    """
    seen: set[_Key] = set()
    for path in paths:
        check_output(path)
        keys = _keys_of_output(path)
        if seen.intersection(keys):
            raise _twice(path)
        seen.update(keys)


def begin_output(path: Path) -> None:
    """Note that a file is about to be written; see `check_output`.

    Raises:
        InputError: if the run wrote it before; or as `check_output`.
    """
    check_output(path)
    run = _RUN.get()
    if run is not None:
        keys = _keys_of_output(path)
        if run.written.intersection(keys):
            raise _twice(path)
        run.written.update(key for key in keys if isinstance(key, str))


def end_output(path: Path) -> None:
    """Note that a file was written, or will not be: from now on it may be read."""
    run = _RUN.get()
    if run is not None:
        run.outputs = {key: output for key, output in run.outputs.items() if output != path}


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
    folder = through_links(path).parent
    if not folder.is_dir():
        raise InputError(f"the folder {folder} does not exist", file=path)
    links = [Path(os.path.realpath(path.parent)), *([path.readlink()] if path.is_symlink() else [])]
    if not stat.S_ISREG(kind) or any(link.is_relative_to("/proc") for link in links):
        raise InputError("is not a file but a device, a pipe or a socket; - is standard output", file=path)
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write in {folder} (Permission denied)", file=path)


def through_links(path: Path) -> Path:
    """Return the file that a name stands for: what a link leads to, be it there or not yet, else the name itself.

    What is written replaces that file, not the link, and what lies beside a table lies beside that.
    """
    return Path(os.path.realpath(path)) if os.path.islink(path) else path  # noqa: PTH114 - fails for no name


def _keys(path: Path) -> list[_Key]:
    """Return what tells a file from others: where it is, links followed, and what it is."""
    try:
        result = path.stat()
    except (OSError, ValueError):
        return [os.path.realpath(path)]
    return [os.path.realpath(path), (result.st_dev, result.st_ino)]


def _keys_of_output(path: Path) -> list[_Key]:
    if is_stream(path):
        return ["-"]
    final = through_links(path)
    return [key for name in ("", *BESIDE) for key in _keys(final.with_name(final.name + name))]


def _overwritten(output: Path) -> InputError:
    return InputError(f"{output}: is an input of this run, which would overwrite it: {_instead(output)}")


def _instead(output: Path) -> str:
    return f"give {next(iter(_settings(output)), 'output')} another name"


def _twice(output: Path) -> InputError:
    named = " or ".join(f"{setting}" for setting in _settings(output)) or "one of them"
    return InputError(f"{output}: two outputs of this run are this file: give {named} another name")


def _settings(output: Path) -> list[str]:
    """Return which settings name a file, as far as they are known."""
    run = _RUN.get()
    keys = set(_keys_of_output(output))
    known = run.settings if run is not None else []
    return [setting for setting, path in known if keys.intersection(_keys_of_output(path))]


def _check_folders(run: _Run, output: Path) -> None:
    folder = next((folder for folder in run.folders if Path(os.path.realpath(output)).is_relative_to(folder)), None)
    if folder is not None:
        raise InputError(f"{output}: lies in {folder}, which bsx keeps for itself: {_instead(output)}")
