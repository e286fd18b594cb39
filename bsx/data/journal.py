"""Finished blocks of a long run, kept beside its output until that is complete, so that a killed run can go on."""

from __future__ import annotations

import contextlib
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bsx.data.output import atomic_path, atomic_text
from bsx.errors import InputError
from bsx.support.untyped import JsonObject

if TYPE_CHECKING:
    from filelock import BaseFileLock

Arrays = dict[str, NDArray[Any]]  # each with the number format it was kept in
_HEADER = "run.json"
_LOCK = "bsx.lock"  # the first file of a journal


class Journal:
    """The folder ``<output>.partial`` with one file for each finished block.

    It appears with the first block. Each file appears under its name only when it is complete, so that a process that
    dies at any moment leaves whole blocks and nothing else that would be read. Only files that a journal has are ever
    removed, and the folder with them if it is empty then; InputError for one of its name that bsx did not make.

    Attributes:
        settings: what the run that began the journal noted for those that continue it.
        is_open: whether blocks can be appended.
    """

    def __init__(self, output: Path) -> None:
        self.folder = output.with_name(output.name + ".partial")
        self.settings: JsonObject = {}
        self._blocks = 0
        self._lock: BaseFileLock | None = None
        self.is_open = False
        names = []
        ours = self.folder.is_dir() and not self.folder.is_symlink()
        if ours:
            names = [file.name for file in self.folder.iterdir()]
        if os.path.lexists(self.folder) and (not ours or (names and {_LOCK, _HEADER}.isdisjoint(names))):
            raise InputError(
                "is in the way of what the run keeps there, and bsx did not make it: move it, or give "
                "output another name",
                file=self.folder,
            )

    def exists(self) -> bool:
        """Tell whether an unfinished run left its blocks here."""
        return (self.folder / _HEADER).is_file()

    def resume(self, identity: Mapping[str, object]) -> bool:
        """Take up what another run left, and return whether there was anything.

        InputError if that run was another one, by its input, columns or signatures (identity), or is still going on.
        """
        if not self.exists():
            return False
        self._take_lock()
        try:
            header = json.loads((self.folder / _HEADER).read_text(encoding="utf-8"))
            begun, self.settings = dict(header["identity"]), dict(header["settings"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"cannot be read ({error}): start over without resume", file=self.folder) from error
        wanted = json.loads(json.dumps(identity))
        for name in sorted({*begun, *wanted}):
            if begun.get(name) != wanted.get(name):
                raise InputError(
                    f"was begun with another {name}: {_difference(begun.get(name), wanted.get(name))}; "
                    "give what it was begun with, delete this folder, or start over without resume",
                    file=self.folder,
                )
        self.is_open = True
        return True

    def start(self, identity: Mapping[str, object], settings: Mapping[str, object]) -> None:
        """Make an empty journal; InputError if another process is writing the same output."""
        if self.folder.exists():
            self.discard()
        try:
            self.folder.mkdir(exist_ok=True)
            self._take_lock()
        except OSError as error:
            raise InputError(f"cannot be made ({error.strerror})", file=self.folder) from error
        self.settings = dict(settings)
        header = {"identity": dict(identity), "settings": self.settings}
        with atomic_text(self.folder / _HEADER, internal=True) as stream:
            stream.write(json.dumps(header, ensure_ascii=False, indent=2) + "\n")
        self.is_open = True

    def blocks(self) -> Iterator[Arrays]:
        """Yield the finished blocks in order; one that cannot be read, and what follows it, counts as not finished."""
        while (path := self._path(self._blocks)).is_file():
            try:
                with path.open("rb") as stream, np.load(stream, allow_pickle=False) as members:
                    arrays = {name: members[name] for name in members.files}
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                break
            self._blocks += 1
            yield arrays

    def append(self, arrays: Arrays) -> None:
        """Keep a finished block."""
        with atomic_path(self._path(self._blocks), internal=True) as temporary, temporary.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays)
        self._blocks += 1

    def discard(self) -> None:
        """Remove the journal, be it of this run or of another; InputError if that is still going on."""
        self._take_lock()
        with contextlib.suppress(OSError):
            blocks = [*self.folder.glob("block-*.npz"), *self.folder.glob(".*.bsx-*.tmp")]
            for file in [self.folder / _HEADER, *blocks, self.folder / _LOCK]:
                file.unlink(missing_ok=True)
            self.folder.rmdir()
        self.close()
        self._blocks, self.is_open = 0, False

    def close(self) -> None:
        """Let go of the journal and leave it where it is."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _path(self, number: int) -> Path:
        return self.folder / f"block-{number:07d}.npz"

    def _take_lock(self) -> None:
        """Lock the journal against other processes; the lock ends with the process."""
        if self._lock is None:
            from filelock import FileLock, Timeout

            lock = FileLock(self.folder / _LOCK, thread_local=False)
            try:
                lock.acquire(timeout=0)
            except Timeout as error:
                message = "another process is writing this output: wait, or give output another name"
                raise InputError(message, file=self.folder) from error
            self._lock = lock


def _difference(begun: object, wanted: object) -> str:
    """Say how two values differ, in few words."""
    if isinstance(begun, list) and isinstance(wanted, list) and len(begun) == len(wanted):
        begun, wanted = next((a, b) for a, b in zip(begun, wanted, strict=True) if a != b)
    if isinstance(begun, str) and isinstance(wanted, str) and "|" in begun:
        fields = begun.split("|")
        others = wanted.split("|")
        changed = [f"{a} then, {b} now" for a, b in zip(fields, others, strict=False) if a != b]
        if changed and len(fields) == len(others):
            return ", ".join(changed)
    return f"{begun} then, {wanted} now"
