"""How every run of the command line begins and ends: its streams, its signals, one line for whatever goes wrong.

Exit status 0, 2 for what went wrong, 128 + n for signal n: 130 for Ctrl-C, 143 for SIGTERM. All of it holds from the
first moment, so this module imports nothing that takes time.
"""

from __future__ import annotations

import _thread
import errno
import gc
import io
import logging
import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, NoReturn

from bsx.errors import NO_ROOM, BsxError, shortened
from bsx.support.terminal import Messages, Printed

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

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
    sys.unraisablehook = _on_unraisable
    _open_streams()
    # Loading torch and transformers makes some million objects that live to the end: looking through them for garbage
    # again and again while they load takes time. At the end they are let go of as ever, or libraries report leaks.
    gc.set_threshold(200_000, 20, 20)
    logging.getLogger("bsx.choice").disabled = True  # a command says it among its notes
    status = _status(call)
    for name in _SIGNALS:  # all that could be left half-written is done with
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is _on_signal:
            signal.signal(getattr(signal, name), lambda number, _: os._exit(128 + number))
    if not _written():
        # What a closed pipe or a full disk did not take shall not be tried again at the very end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if _asked:
        # Python would end by signal instead of with a status; what needs cleaning up has been, on the way here.
        os._exit(status)
    sys.exit(status)


def _on_signal(number: int, frame: FrameType | None) -> NoReturn:
    _asked.append(number)
    raise KeyboardInterrupt


def _on_unraisable(report: UnraisableHookArgs) -> None:
    if isinstance(report.exc_value, KeyboardInterrupt) and _asked:
        _thread.start_new_thread(_ask_again, (_asked[-1],))  # it came within a callback, which cannot raise
    else:
        sys.__unraisablehook__(report)


def _ask_again(number: int) -> None:
    time.sleep(0.05)  # until the callback is left
    _thread.interrupt_main(signal.Signals(number))


class _Unbroken(io.FileIO):
    """Standard error, which loses what nobody reads any more; messages are no reason to fail."""

    def write(self, content: object) -> int:
        try:
            return super().write(content) or 0  # type: ignore[arg-type]
        except OSError:
            return memoryview(content).nbytes  # type: ignore[arg-type]


def _open_streams() -> None:
    """Open what was closed, and speak UTF-8 whatever the locale; what no terminal should get is escaped as in JSON.

    Writing to a standard output that was closed fails, as it should; reading nothing and complaining to nobody do not.
    """
    ways = {"stdin": os.O_RDONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for name, way in ways.items():
        if getattr(sys, name) is None:
            number = os.open(os.devnull, way)  # the lowest that is free: its own
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = Printed(sys.stdout)
    raw = _Unbroken(sys.stderr.fileno(), "w", closefd=False)
    sys.stderr = Messages(io.TextIOWrapper(io.BufferedWriter(raw), line_buffering=True))


def _written() -> bool:
    """Tell whether all that was printed could be written."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        return False
    return True


def _status(call: Callable[[Sequence[str]], int] | None = None) -> int:
    from bsx.support.memory import left_of_limit, require_room

    try:
        require_room(120 << 20, "bsx")
        if left_of_limit() < 2 << 30:  # have NumPy get along with little
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each has tens of MiB for itself
        if call is None:
            from bsx.cli.commands import call as everything

            call = everything
        status = call(sys.argv[1:])
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - some libraries' errors, such as a panic in Rust, are no Exception
        if _asked or isinstance(error, KeyboardInterrupt):
            # Whatever came of it: some libraries turn an interrupt into an error of their own.
            how = "terminated" if _asked and _asked[-1] != signal.SIGINT else "interrupted"
            print(f"bsx: {how}; nothing half-written was left behind", file=sys.stderr)
            return 128 + (_asked[-1] if _asked else signal.SIGINT)
        if isinstance(error, BrokenPipeError):
            return 0  # the reader of our output has seen enough
        if os.environ.get(_TRACEBACK):
            import traceback

            traceback.print_exception(error)
        works = with_instead(sys.argv[1:], getattr(error, "instead", None))
        message = _explained(error) + (f" Here now: {works}" if works is not None else "")
        print(f"bsx: error: {shortened(' '.join(message.split()))}", file=sys.stderr)
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
    said = str(error)
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or _NO_MEMORY.search(said):
        return f"{at}the memory does not suffice{f' ({said})' if said else ''}: memory and batch_tokens bound it"
    if isinstance(error, RecursionError):
        return f"{at}is nested too deeply to be read"
    own = _own_code(error.__traceback__)
    if own is not None:
        return f"{own}: {type(error).__name__}: {said[:300]}; {_TRACEBACK}=1 shows the way there"
    words = " ".join(["bsx", *(word for word in sys.argv[1:3] if word.isidentifier())])
    return (
        f"{at}{words} ended with an error that nobody foresaw ({type(error).__name__}: {said[:300]}): please report "
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


_FLAGS = {"model": ["-m", "--model"]}


def with_instead(words: Sequence[str], instead: tuple[str, str] | None) -> str | None:
    """Return a command with another model, or with a metric that needs none, to copy; None if there is none.

    Args:
        words: the command as it was given, without the program.
        instead: what works here now; see `ModelUnavailableError`.

    >>> with_instead(["score", "-c", "a b.txt", "-m", "roberta-large", "--lang", "de"], ("model", "me5-small-q4"))
    "bsx score -c 'a b.txt' --lang de --model me5-small-q4"
    """
    if instead is None or words[:1] not in (["score"], ["match"]) or any(":" in word and "=" in word for word in words):
        return None
    name, value = instead
    if name == "metrics" and words[0] != "score":
        return None
    from bsx.bertscore.config import ScorerConfig
    from bsx.encode.run_config import RunConfig

    fields = {
        "model",
        "metrics",
        *(ScorerConfig.model_fields.keys() - RunConfig.model_fields if name == "metrics" else ()),
    } - {"lang"}
    if name == "model":
        fields -= {"metrics"}  # several metrics may share the model
    dropped = {option for field in fields for option in _FLAGS.get(field, [f"--{field.replace('_', '-')}"])}
    kept: list[str] = []
    skipping = False
    for word in words:
        option = word.partition("=")[0]
        if option.startswith("-") and len(option) > 1:
            skipping = option in dropped and "=" not in word
            if option in dropped:
                continue
        elif skipping:
            skipping = False
            continue
        kept.append(word)
    return shlex.join(["bsx", *kept, f"--{name}", value])
