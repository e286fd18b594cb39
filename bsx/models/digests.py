"""Digests of large files, computed once: a file is known again by its size, its times and its place on the disk."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

from bsx.support.folders import cache_folder
from bsx.support.untyped import JsonObject, blaming

_LARGE = 1 << 20  # bytes; smaller files are read faster than looked up
_YOUNG = 2.0  # seconds in which a file may change twice and keep its times
_MOST = 1000  # files that are remembered


def file_digest(file: Path) -> str:
    """Return the sha256 of a file.

    That of a large one is kept in the user's cache, beside what the system says of the file: whoever changes what is in
    it changes its times, of which nobody can set the last one back.

    Raises:
        OSError: if it cannot be read.
    """
    facts, store = file.stat(), cache_folder() / "digests.json"
    name = os.path.realpath(file)
    seal = [facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino]
    known: JsonObject = {}
    if facts.st_size >= _LARGE:
        with contextlib.suppress(OSError, ValueError, TypeError):  # none yet, or damaged: they are computed again
            known = dict(json.loads(store.read_text(encoding="utf-8")))
        entry = known.get(name)
        if isinstance(entry, list) and entry[:-1] == seal:
            return str(entry[-1])
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if facts.st_size >= _LARGE and max(facts.st_mtime, facts.st_ctime) < time.time() - _YOUNG:
        from bsx.data.output import atomic_text
        from bsx.errors import InputError

        with contextlib.suppress(OSError, InputError):  # a cache that cannot be written to only costs time
            store.parent.mkdir(parents=True, exist_ok=True)
            with atomic_text(store, own=True) as out:
                out.write(json.dumps({**dict(list(known.items())[-_MOST:]), name: [*seal, digest]}))
    return digest


_OF_NO_SCORE = ("_name_or_path", "dtype", "torch_dtype", "transformers_version")
"""What in ``config.json`` says where files lay, or what was asked for when they were written."""


def config_digest(folder: Path) -> str:
    """Return the sha256 of what a checkpoint's ``config.json`` says, in whatever order: it is part of what computes.

    Raises:
        InputError: if it cannot be read.
    """
    with blaming(f"{folder}: its config.json cannot be used"):
        said = dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
        for name in _OF_NO_SCORE:
            said.pop(name, None)
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
