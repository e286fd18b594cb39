"""The classes that entries of metrics and factors name, and whose entries may name code that is not bsx's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries.metrics import FactorEntry, MetricEntry
from bsx.errors import RegistryError
from bsx.support.folders import user_folder
from bsx.support.optional import implementation
from bsx.support.settings import user_only

VARIABLE = "BSX_REGISTRY_CODE"
"""Environment variable with the overlays whose entries may run code that is not bsx's, separated like ``PATH``."""

_Class = TypeVar("_Class", bound=type)


def class_of(catalog: Catalog, entry: MetricEntry | FactorEntry, base: _Class) -> _Class:
    """Return the class that an entry names.

    What is not bsx's own code runs only for entries of the shipped registry, of the user's own registry folder, and of
    the folders that `VARIABLE` names. Such code is a class of another package, and a program, or a file that may run
    code, among the settings (see `UserOnly`).

    Args:
        catalog: the registry that has the entry.
        entry: of a metric or a factor.
        base: what the class must be derived from.

    Raises:
        MissingExtraError: if the class needs an optional package that is not installed.
        RegistryError: if the entry may not run what it names, or that cannot be imported or is no such class.
    """
    kind = "metric" if isinstance(entry, MetricEntry) else "factor"
    file = catalog.origins[kind, entry.name]
    if not entry.implementation.startswith("bsx."):
        _check_trusted(catalog, file, f"implementation: {entry.implementation}")
    result: _Class = implementation(entry.implementation, file, base)  # type: ignore[assignment]
    given = [entry.defaults] if isinstance(entry, MetricEntry) else entry.presets.values()
    for name in (name for settings in given for name in settings if user_only(result.Config, name)):  # type: ignore[attr-defined]
        _check_trusted(catalog, file, f"{name}, among its settings,")
    return result


def _check_trusted(catalog: Catalog, file: Path, what: str) -> None:
    folder = file.parent.parent
    named = [Path(part).expanduser() for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    if folder.resolve() in [item.resolve() for item in (catalog.folders[0], user_folder(), *named)]:
        return
    raise RegistryError(
        f"{what} decides what code runs here, which this overlay may not: if you trust all that it holds, name "
        f"it in the environment, {VARIABLE}={folder}",
        file=file,
    )
