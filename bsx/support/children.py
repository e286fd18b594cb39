"""Starting further Python processes, none of which finds modules in the folder that the user works in.

Python puts the current folder first where it is given ``-c`` or ``-m``, as `multiprocessing` does too: a file called
``json.py`` among somebody's data would be run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import IO

from bsx.support.environment import import_path

SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""What tells a Python of version 3.11 or later to leave the current folder out; older ones do not know it."""


def start(
    *words: str,
    python: str | None = None,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdout: IO[bytes] | int = subprocess.PIPE,
    stderr: IO[bytes] | int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start a Python process in a session of its own, so that Ctrl-C is for this one, with a pipe to its input.

    Args:
        words: what follows the interpreter.
        python: an interpreter with packages of its own, of any version, which runs a file; None: this one, and the
            process finds the modules that this one finds.
        cwd: where it runs.
        environment: variables beside those of this process.
        stdout: its standard output.
        stderr: its standard error.

    Raises:
        OSError: if it cannot be started.
    """
    variables = {**os.environ, **_safe()}
    if python is not None:  # what has packages of its own must not find this one's
        variables = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        variables |= SAFE_PATH
    return subprocess.Popen(
        [python or sys.executable, *words],
        cwd=cwd,
        env={**variables, **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def run_code(
    code: str, *arguments: str, cwd: Path | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own, which finds the modules that this one finds.

    Args:
        code: the program.
        arguments: its arguments, ``sys.argv[1:]``.
        cwd: where it runs.
        timeout: seconds that it may take.

    Raises:
        subprocess.TimeoutExpired: if it took longer; it was ended.
    """
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        cwd=cwd,
        env={**os.environ, **_safe()},
        timeout=timeout,
        check=False,
    )


def _safe() -> dict[str, str]:
    return {**SAFE_PATH, "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, import_path()))}


@contextlib.contextmanager
def starting_children(threads: int | None = None) -> Iterator[None]:
    """Have `multiprocessing` start processes here that are safe, and leave Ctrl-C to this one, its parent.

    The terminal sends Ctrl-C to all of them. None runs the program that called, as multiprocessing otherwise does.
    Each computes with so many threads; None leaves that to the environment.
    """
    looked_in = import_path()
    variables = _safe() if threads is None else {**_safe(), "OMP_NUM_THREADS": str(threads)}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    blocks = hasattr(signal, "pthread_sigmask")
    if blocks:  # started with the first process, multiprocessing's tracker would let Ctrl-C through to that one
        from multiprocessing.resource_tracker import ensure_running

        ensure_running()
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if blocks else set()
    program, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    path, sys.path = sys.path, looked_in  # which they are told
    try:
        yield
    finally:
        sys.path = path
        sys.modules["__main__"] = program
        if blocks:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
