"""What is kept of a card while it is made, and after: scores and finished parts, by digest of all they depend on."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bsx.data.output import atomic_path, atomic_text, make_folder
from bsx.support.checks import Array
from bsx.support.folders import cache_folder, claim_cache
from bsx.support.json_text import to_json
from bsx.support.untyped import JsonObject


def digest_of(value: object) -> str:
    """Return the sha256 of anything that JSON can hold, in hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()


class Store:
    """A folder of results that can be made again.

    Args:
        folder: where; ``cards`` in the folder of caches unless given.
        fresh: take nothing that is there; what is made is kept all the same.
    """

    def __init__(self, folder: Path | None = None, *, fresh: bool = False) -> None:
        self.folder = cache_folder() / "cards" if folder is None else claim_cache(folder, "[0-9a-f]" * 40 + ".*")
        self._fresh = fresh

    def _file(self, key: Mapping[str, object], ending: str) -> Path:
        return self.folder / f"{digest_of(key)[:40]}.{ending}"

    def part(self, key: Mapping[str, object]) -> JsonObject | None:
        """Return a finished part, or None; a damaged file is none."""
        if self._fresh:
            return None
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(self._file(key, "json").read_text(encoding="utf-8"))
            return found if isinstance(found, dict) else None
        return None

    def keep_part(self, key: Mapping[str, object], content: Mapping[str, object]) -> None:
        """Keep a finished part."""
        make_folder(self.folder)
        with atomic_text(self._file(key, "json"), own=True) as stream:
            stream.write(to_json(content))

    def arrays(self, key: Mapping[str, object]) -> dict[str, Array] | None:
        """Return kept arrays, or None."""
        if self._fresh:
            return None
        with contextlib.suppress(OSError, ValueError, KeyError, EOFError), np.load(self._file(key, "npz")) as found:
            return {name: found[name] for name in found.files}
        return None

    def keep_arrays(self, key: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
        """Keep arrays."""
        make_folder(self.folder)
        with (
            atomic_path(self._file(key, "npz"), own=True) as temporary,
            temporary.open("wb") as stream,
        ):
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
