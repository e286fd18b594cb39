"""How long work tells how far it is."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import TypeAlias

from bsx.support.untyped import Untyped

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with a phase's name, what is done and what there is in all (0 if that is not known)."""
Watch: TypeAlias = Progress | bool | None
"""What long functions take as ``progress``: such a function, or True for a bar in terminals and notebooks."""
Say: TypeAlias = Callable[[str], None]
"""Called with a sentence that the user should know while something runs."""

FOLLOWED = "BSX_PROGRESS"
"""Environment variable by which a program that starts the command line follows it: ``json`` asks for lines of JSON."""


def nothing(note: str) -> None:
    """Let nobody know."""


def reporter(progress: Watch) -> Progress | None:
    """Return what is to be called with progress: a function as it is, bars of tqdm for True, None for nothing."""
    if progress is True:
        return Bars()
    return progress or None


class Bars:
    """Progress as bars of tqdm, one a phase; a bar ends when its phase is done, or when the next one begins.

    Bars that are to ``leave`` stay where they were drawn when they end.
    """

    def __init__(self, *, leave: bool = True) -> None:
        with warnings.catch_warnings():  # notebooks without widgets get bars of text, which needs no warning
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm

        self._make: Untyped = functools.partial(tqdm, leave=leave)
        self._bar: Untyped = None
        self._phase = ""

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Move the bar of a phase."""
        if self._bar is None or phase != self._phase:
            self.close()
            self._bar, self._phase = self._make(desc=phase, total=total or None), phase
        if total and self._bar.total != total:
            self._bar.reset(total)
        self._bar.update(done - self._bar.n)
        if total and done >= total:
            self.close()

    def close(self) -> None:
        """End the bar of a phase that is done or broke off."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None

    __del__ = close
