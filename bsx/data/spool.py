"""What can be read but once, standard input or a pipe: read whole, and kept for each of its readers."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import stat
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from bsx.errors import InputError
from bsx.support.untyped import Untyped

STDIN = "-"


class Spool:
    """What can be read but once (standard input, a pipe), in a temporary file without a name, so nothing is left of it.

    Args:
        source: an open stream.
    """

    def __init__(self, source: IO[bytes]) -> None:
        self._copy = tempfile.TemporaryFile(prefix="bsx-input-")  # noqa: SIM115 - ends with this object
        self._lock = threading.Lock()
        weakref.finalize(self, self._copy.close)
        shutil.copyfileobj(source, self._copy, 1 << 20)
        self.size = self._copy.tell()

    def read(self, place: int, size: int) -> bytes:
        """Return up to ``size`` bytes from a place on."""
        with self._lock:
            self._copy.seek(place)
            return self._copy.read(size)


class SpoolReader(io.RawIOBase):
    """A stream over a spool, with a place of its own."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._place = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place; see `io.IOBase.seek`."""
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._spool.size}[whence]
        return self._place

    def readinto(self, buffer: Untyped) -> int:
        """Fill a buffer; see `io.RawIOBase.readinto`."""
        result = self._spool.read(self._place, len(buffer))
        buffer[: len(result)] = result
        self._place += len(result)
        return len(result)


_spools: weakref.WeakValueDictionary[object, Spool] = weakref.WeakValueDictionary()
_kept: list[list[Spool]] = []


@contextlib.contextmanager
def keeping_spools() -> Iterator[None]:
    """Keep what is read but once until the end of this context, so that each of its readers finds all of it."""
    _kept.append([])
    try:
        yield
    finally:
        _kept.pop()


def spooled(path: Path | str) -> Spool | None:
    """Return what can be read but once, read whole; None for a file that can be read again.

    Raises:
        InputError: for a device, or a closed standard input.
        OSError: if it cannot be read or copied.
    """
    stream: IO[bytes] | None = None
    facts: os.stat_result | None = None
    if str(path) in (STDIN, "/dev/stdin"):
        if sys.stdin is None or sys.stdin.closed:
            raise InputError("standard input: is closed")
        stream = sys.stdin.buffer
        with contextlib.suppress(OSError):  # a stream of Python's own has no number
            facts = os.fstat(stream.fileno())
    else:
        facts = Path(path).stat()
        if stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode):
            return None
    if facts is not None and (stat.S_ISBLK(facts.st_mode) or stat.S_ISCHR(facts.st_mode)):
        typed = stream is not None and stream.isatty()
        if not typed and not os.path.samestat(facts, Path(os.devnull).stat()):  # /dev/zero has no end
            raise InputError("is a device, neither a file nor a pipe", file=path)
    key = stream if facts is None else (facts.st_dev, facts.st_ino)
    spool = _spools.get(key)
    if spool is None:
        with Path(path).open("rb") if stream is None else contextlib.nullcontext(stream) as source:
            spool = _spools[key] = Spool(source)
    for kept in _kept[-1:]:
        kept.append(spool)
    return spool
