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
from collections.abc import Iterator
from types import ModuleType

SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""What tells a Python of version 3.11 or later to leave the current folder out; older ones do not know it."""


def run_code(code: str, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own, which finds the modules that this one finds.

    Args:
        code: the program.
        arguments: its arguments, ``sys.argv[1:]``.
        given: its standard input.

    Returns:
        How it ended, with what it wrote to standard output and standard error.
    """
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        input=given,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **SAFE_PATH, "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))},
        check=False,
    )


@contextlib.contextmanager
def starting_children(threads: int | None = None) -> Iterator[None]:
    """Have `multiprocessing` start processes here that are safe, and leave Ctrl-C to this one, its parent.

    The terminal sends Ctrl-C to all of them. None runs the program that called, as multiprocessing otherwise does.

    Args:
        threads: how many threads each computes with; None leaves that to the environment.
    """
    told = SAFE_PATH if threads is None else {**SAFE_PATH, "OMP_NUM_THREADS": str(threads)}
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    blocks = hasattr(signal, "pthread_sigmask")
    if blocks:  # started with the first process, multiprocessing's tracker would let Ctrl-C through to that one
        from multiprocessing.resource_tracker import ensure_running

        ensure_running()
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if blocks else set()
    program, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program
        if blocks:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
