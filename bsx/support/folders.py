"""The folders of the user that bsx reads and writes, in the places that the platform has for them."""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import Path

import platformdirs

from bsx.errors import InputError


def without_sheet(path: Path | str) -> tuple[Path, str | None]:
    """Return a file and which of its sheets is meant, as in ``scores.xlsx#Sheet 2``; a file of that name is itself.

    >>> without_sheet("missing/scores.xlsx#all")[1], without_sheet("a#b.tsv")[1]
    ('all', None)
    """
    match = re.fullmatch(r"(.+?\.xls[xm])#(.+)", str(path), re.IGNORECASE | re.DOTALL)
    if match is not None and not os.path.lexists(path):
        return Path(match[1]), match[2]
    return Path(path), None


def user_folder() -> Path:
    """Return the user's own registry folder, in the platform's place for configuration; it need not exist."""
    return platformdirs.user_config_path("bsx", appauthor=False, roaming=True) / "registry"


def data_folder(named: Path | str | None = None) -> Path:
    """Return the folder of all data sets: ``named``, else ``BSX_DATA``, else the platform's place for user data.

    InputError is raised if what is named is there and no folder.
    """
    given = named if named is not None else os.environ.get("BSX_DATA")
    if not given:
        return platformdirs.user_data_path("bsx", appauthor=False) / "data"
    folder = Path(given).expanduser()
    if os.path.lexists(folder) and not folder.is_dir():
        raise InputError(f"{'data_dir' if named is not None else 'BSX_DATA'}: {given} is no folder", setting="data_dir")
    return folder


def cache_folder() -> Path:
    """Return the folder of what can be made again: ``BSX_CACHE``, else the platform's place for caches."""
    named = os.environ.get("BSX_CACHE")
    return Path(named).expanduser() if named else platformdirs.user_cache_path("bsx", appauthor=False)


def claim_cache(folder: Path) -> Path:
    """Return a folder that the user named for what can be made again, made if need be.

    InputError is raised if it cannot be made, or holds files and none of them is of a cache of bsx: a model, or data.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = [entry.name for entry in os.scandir(folder)]
    except OSError as error:
        raise InputError(f"the cache {folder} cannot be used: {error.strerror}; name a folder") from error
    if names and not any(fnmatch.fnmatch(name, pattern) for name in names for pattern in _CACHES):
        raise InputError(f"the cache {folder} holds files, none of which is of a cache of bsx: name another folder")
    return folder


_CACHES = ("vectors-[0-9]*", "parses", "parses-*.jsonl", "digests.json")


def path_as_name(model: object) -> object:
    """Return a model as it is looked for: of a path the absolute one, which is no name of a model."""
    return str(model.expanduser().absolute()) if isinstance(model, Path) else model
