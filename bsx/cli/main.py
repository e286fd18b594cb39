"""How every run of the command line begins and ends: its streams, its signals, one line for whatever goes wrong.

Exit status 0, 2 for what went wrong, 128 + n for signal n: 130 for Ctrl-C, 143 for SIGTERM. All of it holds from the
first moment, so this module imports nothing that takes time.
"""

from __future__ import annotations

import errno
import gc
import io
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import NoReturn

from bsx.errors import NO_ROOM, BsxError, shortened
from bsx.support.terminal import Printed, tell

_TRACEBACK = "BSX_TRACEBACK"
"""Environment variable that has the traceback of an error printed before its line."""
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_asked: list[int] = []
"""Signals that asked this process to end."""


def run(call: Callable[[Sequence[str]], int] | None = None) -> NoReturn:
    """Run the command line; every failure is one line on standard error.

    Args:
        call: runs a command's arguments and returns its status; `bsx` unless given.
    """
    # Signals raise KeyboardInterrupt, so that whatever is open is closed and removed on the way out.
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        # What is ignored (nohup, a shell's background jobs) stays ignored.
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _on_signal)
    _open_streams()
    # Loading torch and transformers makes some million objects that live to the end: looking through them for garbage
    # again and again while they load takes time. At the end they are let go of as ever, or libraries report leaks.
    gc.set_threshold(200_000, 20, 20)
    logging.getLogger("bsx.choice").disabled = True  # a command says it among its notes
    status = _status(call)
    for name in _SIGNALS:  # all that could be left half-written is done with
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is _on_signal:
            signal.signal(getattr(signal, name), lambda number, _: os._exit(128 + number))
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):  # what a closed pipe or a full disk did not take is not tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    if _asked:
        # Python would end by signal instead of with a status; what needs cleaning up has been, on the way here.
        os._exit(status)
    sys.exit(status)


def _on_signal(number: int, frame: FrameType | None) -> NoReturn:
    _asked.append(number)
    raise KeyboardInterrupt


def _open_streams() -> None:
    """Speak UTF-8 whatever the locale."""
    # Writing to a standard output that was closed fails; reading nothing and complaining to nobody do not.
    for name, mode, way in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:  # it was closed: the lowest number that is free is its own, and stays open
            setattr(sys, name, open(os.open(os.devnull, way), mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        buffered = sys.stdout.line_buffering
        sys.stdout = Printed(sys.stdout.detach(), "utf-8", "backslashreplace", line_buffering=buffered)
    raw = io.FileIO(sys.stderr.fileno(), "w", closefd=False)  # not what Python has made of it, which may seek
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", "backslashreplace", line_buffering=True)


def _status(call: Callable[[Sequence[str]], int] | None = None) -> int:
    try:
        if call is None:
            from bsx.cli.commands import call as everything

            call = everything
        status = call(sys.argv[1:])
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - some libraries' errors, such as a panic in Rust, are no Exception
        if _asked or isinstance(error, KeyboardInterrupt):
            # Whatever came of it: some libraries turn an interrupt into an error of their own.
            how = "terminated" if _asked and _asked[-1] != signal.SIGINT else "interrupted"
            tell(f"{how}; nothing half-written was left behind")
            return 128 + (_asked[-1] if _asked else signal.SIGINT)
        if isinstance(error, BrokenPipeError):
            return 0  # the reader of our output has seen enough
        if os.environ.get(_TRACEBACK):
            import traceback

            traceback.print_exception(error)
        tell(f"error: {shortened(' '.join(_explained(error).split()))}")
        return 2
    return status


_NO_MEMORY = re.compile("t allocate memory|bad_alloc|failed to map segment|can't start new thread|Unable to allocate")


def _explained(error: BaseException) -> str:
    """Return what went wrong, for the person at the keyboard."""
    if isinstance(error, BsxError):
        return str(error)
    file = getattr(error, "filename", None)
    at = f"{file}: " if file else ""
    if isinstance(error, OSError):
        if not file and error.errno in (*NO_ROOM, errno.EBADF):
            at = "standard output: "
        return f"{at}{error.strerror or error}"
    text = str(error)
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or _NO_MEMORY.search(text):
        return f"{at}the memory does not suffice{f' ({text})' if text else ''}: memory and batch_tokens bound it"
    place = _own_code(error.__traceback__)
    if place is not None:
        return f"{place}: {type(error).__name__}: {text[:300]}; {_TRACEBACK}=1 shows the way there"
    words = " ".join(["bsx", *(word for word in sys.argv[1:3] if word.isidentifier())])
    return (
        f"{at}{words} ended with an error that nobody foresaw ({type(error).__name__}: {text[:300]}): please report "
        f"it; {_TRACEBACK}=1 shows where it happened"
    )


def _own_code(traceback: TracebackType | None) -> str | None:
    """Return the last place in code that is neither bsx's nor of an installed package: the user's metric or factor."""
    import sysconfig

    known = tuple(map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")))
    place = None
    while traceback is not None:
        file, name = traceback.tb_frame.f_code.co_filename, str(traceback.tb_frame.f_globals.get("__name__", ""))
        if file.endswith(".py") and not file.startswith(known) and not name.startswith(("bsx.", "__main__")):
            place = f"{file}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
