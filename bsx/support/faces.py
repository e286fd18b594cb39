"""Public faces: packages above all rooms, that export names of many modules and import each when first asked for.

What the rooms below need of one above, a face hands down: `present_by`.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from bsx.errors import did_you_mean

if TYPE_CHECKING:
    import pandas as pd


class Presenter(Protocol):
    """What shows results, for the methods that they have of `bsx.support.result.Shown`."""

    def in_form(self, result: Any, form: str, *, full: bool = True, data: str = "", label: str = "") -> str:
        """Return a result as text of a form, such as ``latex``."""

    def records_of(self, result: Any) -> Sequence[Mapping[str, object]]:
        """Return the figures of a result, row by row."""

    def frame_of(self, result: Any) -> pd.DataFrame:
        """Return a result as a DataFrame."""

    def plot(self, result: Any, path: str | Path | None, chart: int | str) -> Any:
        """Return one of a result's charts as a picture."""


_presenters: list[Callable[[], Presenter]] = []


def present_by(find: Callable[[], Presenter]) -> None:
    """Have results shown by what a function returns, which is called when the first one is to be shown."""
    _presenters[:] = [find]


def presenter() -> Presenter:
    """Return what shows results."""
    return _presenters[0]()


@cache
def exports(package: str) -> dict[str, str]:
    """Return what a package exports, name -> module: the imports ``x as x`` that its file shows to type checkers."""
    tree = ast.parse(Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names if alias.asname == alias.name}


def public_face(package: str, *more: str, below: str = "") -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package: a finder of exported names, and all of them, sorted.

    Args:
        package: the package that exports, such as ``bsx``.
        more: names that the package defines itself.
        below: one in it, such as ``bsx.analysis``, in which a name may be that this one lacks.
    """

    def find(name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name not in exports(package):
            inner = exports(importlib.import_module(below).__name__) if below else ()
            deeper = below.rpartition(".")[2]
            near = did_you_mean(name, [*exports(package), *(f"{deeper}.{export}" for export in inner)])
            message = f"module {package!r} has no attribute {name!r}.{near}"
            raise AttributeError(message.rstrip("."))  # Python may go on with a guess of its own
        value = getattr(importlib.import_module(exports(package)[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find, lambda: sorted([*exports(package), *more])


def callable_room(room: str, function: str) -> None:
    """Let a package of bsx be called, since ``bsx.models("sw")`` is what many write for ``bsx.list_models("sw")``."""

    class Room(ModuleType):
        def __call__(self, *args: object, **given: object) -> object:
            return getattr(importlib.import_module(room.partition(".")[0]), function)(*args, **given)

    importlib.import_module(room).__class__ = Room
