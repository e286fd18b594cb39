"""Public faces: packages that export names of many modules and import each when it is first asked for."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path


@cache
def exports(package: str) -> dict[str, str]:
    """Return what a package exports, name -> module: the imports ``x as x`` that its file shows to type checkers."""
    tree = ast.parse(Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names if alias.asname == alias.name}


def public_face(package: str, *own: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package: a finder of exported names, and all of them, sorted.

    Args:
        package: the package that exports, such as ``bsx.analysis``.
        own: names that the package defines itself.
    """

    def find(name: str) -> object:
        if name.startswith("_") or name not in exports(package):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(exports(package)[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find, lambda: sorted([*exports(package), *own])
