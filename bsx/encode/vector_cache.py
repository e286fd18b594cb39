"""A folder of vectors that outlive a run: bounded in size, shared by processes, never trusted without a checksum.

Its files never change once they are there: written whole, read by key, checked at every reading. Each is a safetensors
file: the vectors of many token sequences one after another, and for each sequence its key, its length and a checksum.
The list of keys has a checksum of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import secrets
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError
from bsx.support.folders import claim_cache
from bsx.support.memory import parse_bytes
from bsx.support.tensors import DAMAGE, FORMATS, fill, read_header, save_tensors
from bsx.support.untyped import JsonObject

SUFFIX = ".safetensors"
KEY_BYTES = 16


class Damaged(Exception):  # noqa: N818 - a state of a file, answered by computing again
    """What a file holds is not what was written to it."""


def raw_bytes(vectors: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Return the memory of a contiguous array as bytes, not copied."""
    return vectors.reshape(-1).view(np.uint8)


def checksum(key: bytes, vectors: NDArray[np.generic]) -> int:
    """Return the CRC-32 of a key and its vectors (tokens, dim)."""
    return zlib.crc32(raw_bytes(vectors).data, zlib.crc32(key))


def write_segment(folder: Path, entries: Mapping[bytes, NDArray[np.generic]], kind: str) -> Path:
    """Write vectors to a new file, which appears under its name only when it is complete.

    Args:
        folder: where to.
        entries: key (16 bytes) -> vectors (tokens, dim), contiguous, in a number format of `FORMATS`.
        kind: its name.
    """
    keys = np.frombuffer(b"".join(entries), dtype=np.uint8).reshape(-1, KEY_BYTES)
    lengths = np.array([len(vectors) for vectors in entries.values()], dtype=np.int64)
    sums = np.array([checksum(key, vectors) for key, vectors in entries.items()], dtype=np.int64)
    tensors = {
        "vectors": np.concatenate(list(entries.values())),
        "keys": keys,
        "lengths": lengths,
        "sums": sums,
    }
    name = f"{os.getpid()}-{secrets.token_hex(8)}"
    temporary, final = folder / f".{name}.tmp", folder / f"{name}{SUFFIX}"
    try:
        save_tensors(tensors, temporary, {"index": _index_sum(keys, lengths, sums)}, {"vectors": kind})
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)
    return final


def _index_sum(*columns: NDArray[np.generic]) -> str:
    total = 0
    for column in columns:
        total = zlib.crc32(np.ascontiguousarray(column).tobytes(), total)
    return f"{total:08x}"


class CacheFile:
    """The index of one file.

    Args:
        path: the file.
        kind: number format that its vectors must have, one of `FORMATS`.
        dimensions: size that its vectors must have.

    Attributes:
        size: bytes of the file.

    Raises:
        Damaged: if it is not such a file, or not a whole one.
        OSError: if it cannot be read, or has gone.
    """

    def __init__(self, path: Path, kind: str, dimensions: int) -> None:
        self.path = path
        self._dtype = FORMATS[kind]
        with path.open("rb", buffering=0) as stream:
            self.size = os.fstat(stream.fileno()).st_size
            try:
                header, start = read_header(stream, self.size)
                columns = {name: _column(stream, header[name], start) for name in ("keys", "lengths", "sums")}
                vectors = header["vectors"]
                rows = int(columns["lengths"].sum())
                _agree(header["__metadata__"]["index"], _index_sum(*columns.values()))
                _agree([vectors["dtype"], *vectors["shape"]], [kind, rows, dimensions])
                self._start = start + int(vectors["data_offsets"][0])
                halves = np.ascontiguousarray(columns["keys"]).view("<u8").reshape(-1, 2)
            except DAMAGE as error:
                raise Damaged(f"{path}: {error}") from error
        order = np.argsort(halves[:, 0], kind="stable")
        ends = np.cumsum(columns["lengths"])
        self._high, self._low = halves[order, 0], halves[order, 1]
        self._keys = columns["keys"][order]
        self._first = (ends - columns["lengths"])[order]
        self._lengths, self._sums = columns["lengths"][order], columns["sums"][order]
        self._row_bytes = dimensions * self._dtype.itemsize

    def find(self, halves: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the place of each key (n, 2), or -1 (n,)."""
        places = np.minimum(np.searchsorted(self._high, halves[:, 0]), len(self._high) - 1)
        same = (self._high[places] == halves[:, 0]) & (self._low[places] == halves[:, 1])
        return np.where(same, places, -1)

    def read(self, wanted: Sequence[tuple[int, NDArray[np.generic]]]) -> None:
        """Read vectors into arrays.

        Args:
            wanted: places, and contiguous arrays (tokens, dim) to read them into.

        Raises:
            Damaged: if anything read is not what was written.
            OSError: if the file has gone or cannot be read.
        """
        with self.path.open("rb", buffering=0) as stream:
            for place, target in wanted:
                if len(target) != self._lengths[place]:
                    raise Damaged(f"{self.path}: a length is wrong")
                stream.seek(self._start + int(self._first[place]) * self._row_bytes)
                fill(stream, raw_bytes(target).data)
                if checksum(self._keys[place].tobytes(), target) != self._sums[place]:
                    raise Damaged(f"{self.path}: a checksum is wrong")

    def entries(self, dimensions: int) -> Iterator[tuple[bytes, NDArray[np.generic]]]:
        """Yield all keys with their vectors, checked."""
        for place in np.argsort(self._first, kind="stable").tolist():
            vectors = np.empty((int(self._lengths[place]), dimensions), dtype=self._dtype)
            self.read([(place, vectors)])
            yield self._keys[place].tobytes(), vectors


def _agree(actual: object, expected: object) -> None:
    if actual != expected:
        raise ValueError(f"its header says {actual}, not {expected}")


def _column(stream: IO[bytes], entry: JsonObject, start: int) -> NDArray[np.generic]:
    first, last = (int(offset) for offset in entry["data_offsets"])
    column: NDArray[np.generic] = np.empty(entry["shape"], dtype={"U8": np.uint8, "I64": np.int64}[entry["dtype"]])
    if column.nbytes != last - first or len(column) == 0:
        raise ValueError("a column has another size")
    stream.seek(start + first)
    fill(stream, column.reshape(-1).view(np.uint8).data)
    return column


_ROOM = "vectors-1"  # the layout's version: another layout is another folder
_SEGMENT_BYTES = 64 * 2**20
_STALE_SECONDS = 3600  # a temporary file this old belongs to a process that died
_SMALL = 16  # so many small files are joined to one
_log = logging.getLogger("bsx.cache")


class VectorCache:
    """The folder of a cache, for any number of encoders.

    Every file in it is written once, under a name of its own, and renamed into place when it is complete. So readers
    and writers of any number of processes need no locks, and one that dies leaves nothing that another would read.

    Args:
        folder: where it is; made if it is not there.
        size: bytes it may take, as `bsx.support.memory.parse_bytes` reads them; the files not used for longest go
            first.

    Attributes:
        damaged: damaged files found (and removed) so far.

    Raises:
        InputError: if the folder cannot be used, or holds other files and no cache.
    """

    def __init__(self, folder: str | Path, size: str | int = "10GB") -> None:
        self.folder = Path(folder)
        self.limit = parse_bytes(size)
        self.segment_bytes = min(_SEGMENT_BYTES, self.limit // 16)
        self.damaged = 0
        self._writes = True
        claim_cache(self.folder)
        try:
            (self.folder / _ROOM).mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"the cache {folder} cannot be used: {error.strerror}; name a folder") from error

    def store(self, fields: Mapping[str, object], kind: str, dimensions: int) -> CachedVectors:
        """Return the vectors of one layer of one encoder.

        Args:
            fields: everything that changes a vector, beside the token ids.
            kind: their number format, one of `bsx.support.tensors.FORMATS`.
            dimensions: their size.
        """
        text = json.dumps(fields, sort_keys=True, default=str)
        folder = self.folder / _ROOM / hashlib.sha256(text.encode()).hexdigest()[:32]
        return CachedVectors(self, folder, text, kind, dimensions)

    def discard(self, segment: Path) -> None:
        """Remove a damaged file, and say once that there was one."""
        if self.damaged == 0:
            _log.warning("bsx: note: the cache %s held damaged files; what they held is computed again", self.folder)
        self.damaged += 1
        with contextlib.suppress(OSError):
            segment.unlink()

    def write(self, folder: Path, text: str, entries: Mapping[bytes, NDArray[np.generic]], kind: str) -> Path | None:
        """Write a segment, with room made for it; a cache that cannot be written to is said so once and left alone."""
        if not self._writes or not entries:
            return None
        try:
            self._make_room(sum(vectors.nbytes for vectors in entries.values()))
            folder.mkdir(parents=True, exist_ok=True)
            label = folder / "encoder.json"
            if not label.exists():
                label.write_text(text + "\n", encoding="utf-8")
            return write_segment(folder, entries, kind)
        except OSError as error:
            self._writes = False
            _log.warning("bsx: note: the cache %s cannot be written to (%s); going on without", self.folder, error)
            return None

    def _make_room(self, wanted: int) -> None:
        """Remove the files not used for longest until ``wanted`` more bytes fit."""
        files: list[tuple[int, int, str]] = []
        for room in os.scandir(self.folder / _ROOM):
            for file in os.scandir(room.path) if room.is_dir() else ():
                with contextlib.suppress(FileNotFoundError):
                    facts = file.stat()
                    if file.name.endswith(SUFFIX):
                        files.append((facts.st_mtime_ns, facts.st_size, file.path))
                    elif file.name.endswith(".tmp") and facts.st_mtime < time.time() - _STALE_SECONDS:
                        Path(file.path).unlink()
        total = wanted + sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self.limit:
                return
            with contextlib.suppress(OSError):
                Path(path).unlink()
            total -= size


class CachedVectors:
    """The vectors of one layer of one encoder; made by `VectorCache.store`."""

    def __init__(self, cache: VectorCache, folder: Path, text: str, kind: str, dimensions: int) -> None:
        self._cache = cache
        self._folder = folder
        self._text = text
        self._kind = kind
        self._dimensions = dimensions
        self._segments: dict[Path, CacheFile] = {}
        self._touched: dict[Path, float] = {}
        self._pending: dict[bytes, NDArray[np.generic]] = {}
        self._bytes = 0
        self._published = time.monotonic()
        self._refresh()

    def _refresh(self) -> None:
        """Learn of files that came and went."""
        present = set(self._folder.glob(f"*{SUFFIX}"))
        for gone in set(self._segments) - present:
            del self._segments[gone]
        for path in sorted(present - set(self._segments)):
            try:
                self._segments[path] = CacheFile(path, self._kind, self._dimensions)
            except Damaged:
                self._cache.discard(path)
            except OSError:
                continue  # removed by another process since it was listed

    def find(self, keys: Sequence[bytes]) -> list[tuple[CacheFile | None, int] | None]:
        """Return where the vectors of each key are (no segment: not written yet), or None."""
        results: list[tuple[CacheFile | None, int] | None] = [
            (None, 0) if key in self._pending else None for key in keys
        ]
        halves = np.frombuffer(b"".join(keys), dtype="<u8").reshape(-1, KEY_BYTES // 8)
        left = np.array([i for i, place in enumerate(results) if place is None], dtype=np.int64)
        for segment in self._segments.values():
            if not len(left):
                break
            places = segment.find(halves[left])
            for i, place in zip(left[places >= 0].tolist(), places[places >= 0].tolist(), strict=True):
                results[i] = (segment, place)
            left = left[places < 0]
        return results

    def read(self, wanted: Sequence[tuple[bytes, tuple[CacheFile | None, int], NDArray[np.generic]]]) -> list[bool]:
        """Read vectors into arrays.

        Args:
            wanted: key, what `find` said of it, and a contiguous array (tokens, dim) to read into.

        Returns:
            Whether each was there and unharmed; the others must be computed.
        """
        good = [False] * len(wanted)
        by_segment: dict[CacheFile, list[int]] = {}
        for i, (key, (segment, _), target) in enumerate(wanted):
            if segment is not None:
                by_segment.setdefault(segment, []).append(i)
            elif key in self._pending:
                target[...] = self._pending[key]
                good[i] = True
        for segment, members in by_segment.items():
            try:
                segment.read([(wanted[i][1][1], wanted[i][2]) for i in members])
                self._touch(segment.path)
            except OSError:  # removed by another process
                self._segments.pop(segment.path, None)
            except (Damaged, ValueError):
                self._segments.pop(segment.path, None)
                self._cache.discard(segment.path)
            else:
                for i in members:
                    good[i] = True
        return good

    def _touch(self, path: Path) -> None:
        """Note that a file is in use, for which its time stands; once a minute is enough."""
        now = time.monotonic()
        if now - self._touched.get(path, -60.0) >= 60.0:
            self._touched[path] = now
            with contextlib.suppress(OSError):
                os.utime(path)

    def put(self, key: bytes, vectors: NDArray[np.generic]) -> None:
        """Keep vectors (tokens, dim); they are on disk at the latest when the process ends."""
        if key in self._pending:
            return
        self._pending[key] = np.array(vectors, order="C")
        self._bytes += vectors.nbytes
        if self._bytes >= self._cache.segment_bytes:
            self.publish()

    def publish(self, *, unless_younger: float = 0.0) -> None:
        """Write what is not on disk yet.

        Args:
            unless_younger: leave it if the last file was written fewer seconds ago, so that files do not get many.
        """
        if not self._pending or time.monotonic() - self._published < unless_younger:
            return
        small = self._take_small() if self._bytes < self._cache.segment_bytes else []
        written = self._cache.write(self._folder, self._text, self._pending, self._kind)
        for path in small if written is not None else ():
            self._segments.pop(path, None)
            with contextlib.suppress(OSError):
                path.unlink()
        self._pending, self._bytes, self._published = {}, 0, time.monotonic()
        self._refresh()

    def _take_small(self) -> list[Path]:
        """Move the entries of small files to those not written yet, if there are many such files."""
        small = [s for s in self._segments.values() if s.size < self._cache.segment_bytes // 4]
        taken: list[Path] = []
        if len(small) < _SMALL:
            return taken
        for segment in small:
            if self._bytes >= self._cache.segment_bytes:
                break
            try:
                for key, vectors in segment.entries(self._dimensions):
                    if key not in self._pending:
                        self._pending[key] = vectors
                        self._bytes += vectors.nbytes
            except OSError:  # removed by another process
                pass
            except (Damaged, ValueError):
                self._cache.discard(segment.path)
            taken.append(segment.path)
        return taken
