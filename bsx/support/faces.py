"""Public faces: packages that export names of many modules and import each when it is first asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def public_face(
    package: str, homes: Mapping[str, str], *own: str
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: the package that exports, ``bsx`` or ``bsx.analysis``.
        homes: module within the package -> names that it defines, with spaces between.
        own: names that the package defines itself.

    Returns:
        A function that finds an exported name, and one that lists all names, sorted.
    """
    modules = {name: f"{package}.{module}" for module, names in homes.items() for name in names.split()}

    def find(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find, lambda: sorted([*modules, *own])
