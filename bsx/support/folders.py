"""The folders of the user that bsx reads and writes."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_folder() -> Path:
    """Return the user's own registry folder, in the platform's place for configuration; it need not exist."""
    import typer

    return Path(typer.get_app_dir("bsx")) / "registry"


def data_folder(named: Path | str | None = None) -> Path:
    """Return the folder of all data sets: ``named``, else ``BSX_DATA``, else the platform's place for user data."""
    if named is not None:
        return Path(named).expanduser()
    if os.environ.get("BSX_DATA"):
        return Path(os.environ["BSX_DATA"]).expanduser()
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local"))
    elif sys.platform == "darwin":
        home = Path("~/Library/Application Support")
    else:
        home = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share")
    return home.expanduser() / "bsx" / "data"
