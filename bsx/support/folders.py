"""The folders of the user that bsx reads and writes, in the places that the platform has for them."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def user_folder() -> Path:
    """Return the user's own registry folder, in the platform's place for configuration; it need not exist."""
    return platformdirs.user_config_path("bsx", appauthor=False, roaming=True) / "registry"


def data_folder(named: Path | str | None = None) -> Path:
    """Return the folder of all data sets: ``named``, else ``BSX_DATA``, else the platform's place for user data."""
    given = named if named is not None else os.environ.get("BSX_DATA")
    return Path(given).expanduser() if given else platformdirs.user_data_path("bsx", appauthor=False) / "data"


def cache_folder() -> Path:
    """Return the folder of what can be made again: ``BSX_CACHE``, else the platform's place for caches."""
    named = os.environ.get("BSX_CACHE")
    return Path(named).expanduser() if named else platformdirs.user_cache_path("bsx", appauthor=False)
