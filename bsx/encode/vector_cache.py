"""A folder of vectors that outlive a run: bounded in size, shared by processes, never trusted without a checksum.

Its files never change once they are there: written whole, read by key, checked at every reading. Each is a safetensors
file: the vectors of many token sequences one after another, and for each sequence its key, its length and a checksum.
The list of keys has a checksum of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import logging
import os
import secrets
import time
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.encode.batching import Batcher, plan_batches
from bsx.errors import InputError
from bsx.support.arrays import Array, put
from bsx.support.folders import claim_cache
from bsx.support.memory import parse_bytes
from bsx.support.tensors import DAMAGE, FORMATS, as_stored, fill, read_header, save_tensors

SUFFIX = ".safetensors"
KEY_BYTES = 16
_ROOM = "vectors-1"  # the layout's version: another layout is another folder
_SEGMENT_BYTES = 64 * 2**20
_STALE_SECONDS = 3600  # a temporary file this old belongs to a process that died
_SMALL = 16  # so many small files are joined to one
_READ_TOKENS = 16_384  # padded tokens read at once: a bound on memory, not a matter of speed
_PATIENCE = 10.0  # seconds between two files of one encoder that are not full
_log = logging.getLogger("bsx.cache")


class Damaged(Exception):  # noqa: N818 - a state of a file, answered by computing again
    """What a file holds is not what was written to it."""


def sequence_key(ids: Sequence[int]) -> bytes:
    """Return the key of a sequence of token ids."""
    return hashlib.blake2b(np.asarray(ids, dtype="<i4").tobytes(), digest_size=KEY_BYTES).digest()


def _sum(*parts: NDArray[np.generic] | bytes) -> int:
    """Return the CRC-32 of arrays, or bytes, one after another."""
    total = 0
    for part in parts:
        total = zlib.crc32(part if isinstance(part, bytes) else np.ascontiguousarray(part).view(np.uint8).data, total)
    return total


def write_segment(folder: Path, entries: Mapping[bytes, NDArray[np.generic]], kind: str) -> Path:
    """Write vectors to a new file, which appears under its name only when it is complete.

    Args:
        folder: where to.
        entries: key (16 bytes) -> vectors (tokens, dim), contiguous, in a number format of `FORMATS`.
        kind: its name.
    """
    columns: dict[str, NDArray[np.generic]] = {
        "keys": np.frombuffer(b"".join(entries), dtype=np.uint8).reshape(-1, KEY_BYTES),
        "lengths": np.array([len(vectors) for vectors in entries.values()], dtype=np.int64),
        "sums": np.array([_sum(key, vectors) for key, vectors in entries.items()], dtype=np.int64),
    }
    tensors = {"vectors": np.concatenate(list(entries.values())), **columns}
    name = f"{os.getpid()}-{secrets.token_hex(8)}"
    temporary, final = folder / f".{name}.tmp", folder / f"{name}{SUFFIX}"
    try:
        save_tensors(tensors, temporary, {"index": f"{_sum(*columns.values()):08x}"}, {"vectors": kind})
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)
    return final


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
                columns: dict[str, NDArray[np.generic]] = {}
                for name, dtype in (("keys", np.uint8), ("lengths", np.int64), ("sums", np.int64)):
                    columns[name] = np.empty(header[name]["shape"], dtype=dtype)
                    stream.seek(start + header[name]["data_offsets"][0])
                    fill(stream, columns[name].reshape(-1).view(np.uint8).data)
                keys, lengths, sums = columns.values()
                vectors, index = header["vectors"], header["__metadata__"]["index"]
                expected = [kind, int(lengths.sum()), dimensions]
                if index != f"{_sum(keys, lengths, sums):08x}" or [vectors["dtype"], *vectors["shape"]] != expected:
                    raise ValueError("its header does not say what is in it")
                self._start = start + int(vectors["data_offsets"][0])
                keys = keys.view(f"S{KEY_BYTES}").reshape(-1)
            except DAMAGE as error:
                raise Damaged(f"{path}: {error}") from error
        order = np.argsort(keys, kind="stable")
        self._keys, self._lengths, self._sums = keys[order], lengths[order], sums[order]
        self._first = (np.cumsum(lengths) - lengths)[order]
        self._row_bytes = dimensions * self._dtype.itemsize

    def find(self, keys: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """Return the place of each key, or -1 (n,)."""
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, places, -1)

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
                fill(stream, target.reshape(-1).view(np.uint8).data)
                if _sum(self._key(place), target) != self._sums[place]:
                    raise Damaged(f"{self.path}: a checksum is wrong")

    def entries(self, dimensions: int) -> Iterator[tuple[bytes, NDArray[np.generic]]]:
        """Yield all keys with their vectors, checked."""
        for place in np.argsort(self._first, kind="stable").tolist():
            vectors = np.empty((int(self._lengths[place]), dimensions), dtype=self._dtype)
            self.read([(place, vectors)])
            yield self._key(place), vectors

    def _key(self, place: int) -> bytes:
        return self._keys[place : place + 1].tobytes()  # of one alone, NumPy takes zeros at the end for filling


class VectorCache:
    """The folder of a cache, for any number of encoders.

    Every file in it is written once, under a name of its own, and renamed into place when it is complete. So readers
    and writers of any number of processes need no locks, and one that dies leaves nothing that another would read.

    Args:
        folder: where it is; made if it is not there.
        size: bytes it may take, as `bsx.support.memory.parse_bytes` reads them; the files not used for longest go
            first.

    Raises:
        InputError: if the folder cannot be used, or holds other files and no cache.
    """

    def __init__(self, folder: str | Path, size: str | int = "10GB") -> None:
        self.folder = Path(folder)
        self.limit = parse_bytes(size)
        self.segment_bytes = min(_SEGMENT_BYTES, self.limit // 16)
        self._warned = False
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
        if not self._warned:
            _log.warning("bsx: note: the cache %s held damaged files; what they held is computed again", self.folder)
        self._warned = True
        with contextlib.suppress(OSError):
            segment.unlink()

    def write(self, folder: Path, text: str, entries: Mapping[bytes, NDArray[np.generic]], kind: str) -> bool:
        """Write a segment, with room made for it; a cache that cannot be written to is said so once and left alone."""
        if not self._writes:
            return False
        try:
            self._make_room(sum(vectors.nbytes for vectors in entries.values()))
            folder.mkdir(parents=True, exist_ok=True)
            label = folder / "encoder.json"
            if not label.exists():
                label.write_text(text + "\n", encoding="utf-8")
            write_segment(folder, entries, kind)
        except OSError as error:
            self._writes = False
            _log.warning("bsx: note: the cache %s cannot be written to (%s); going on without", self.folder, error)
        return self._writes

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


Place = tuple[CacheFile | None, int]
"""Where vectors are: a file and the place in it, or no file yet."""


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
        self._segments = {path: segment for path, segment in self._segments.items() if path in present}
        for path in sorted(present - set(self._segments)):
            try:
                self._segments[path] = CacheFile(path, self._kind, self._dimensions)
            except Damaged:
                self._cache.discard(path)
            except OSError:
                continue  # removed by another process since it was listed

    def find(self, keys: Sequence[bytes]) -> list[Place | None]:
        """Return where the vectors of each key are, or None."""
        results: list[Place | None] = [(None, 0) if key in self._pending else None for key in keys]
        wanted = np.frombuffer(b"".join(keys), dtype=f"S{KEY_BYTES}")
        left = np.array([i for i, place in enumerate(results) if place is None], dtype=np.int64)
        for segment in self._segments.values():
            places = segment.find(wanted[left])
            for i, place in zip(left[places >= 0].tolist(), places[places >= 0].tolist(), strict=True):
                results[i] = (segment, place)
            left = left[places < 0]
        return results

    def read(self, wanted: Sequence[tuple[bytes, Place | None, NDArray[np.generic]]]) -> list[bool]:
        """Read vectors into arrays.

        Args:
            wanted: key, what `find` said of it, and a contiguous array (tokens, dim) to read into.

        Returns:
            Whether each was there and unharmed; the others must be computed.
        """
        good = [False] * len(wanted)
        by_segment: dict[CacheFile, list[tuple[int, int]]] = {}
        for i, (key, found, target) in enumerate(wanted):
            segment, place = found or (None, 0)
            if segment is not None:
                by_segment.setdefault(segment, []).append((place, i))
            elif key in self._pending:
                target[...] = self._pending[key]
                good[i] = True
        for segment, members in by_segment.items():
            path, now = segment.path, time.monotonic()
            try:
                segment.read([(place, wanted[i][2]) for place, i in members])
                if now - self._touched.get(path, -60.0) >= 60.0:  # it is in use, for which its time stands
                    self._touched[path] = now
                    with contextlib.suppress(OSError):
                        os.utime(path)
            except OSError:  # removed by another process
                self._segments.pop(path, None)
            except (Damaged, ValueError):
                self._segments.pop(path, None)
                self._cache.discard(path)
            else:
                for _, i in members:
                    good[i] = True
        return good

    def put(self, key: bytes, vectors: NDArray[np.generic]) -> None:
        """Keep vectors (tokens, dim); they are on disk at the latest when the process ends."""
        if key in self._pending:
            return
        self._pending[key] = np.array(vectors, order="C")
        self._bytes += vectors.nbytes
        if self._bytes >= self._cache.segment_bytes:
            self.publish()

    def publish(self, *, unless_younger: float = 0.0) -> None:
        """Write what is not on disk yet, and join the entries of small files to it if there are many of them.

        Args:
            unless_younger: leave it if the last file was written fewer seconds ago, so that files do not get many.
        """
        if not self._pending or time.monotonic() - self._published < unless_younger:
            return
        small = [s for s in self._segments.values() if s.size < self._cache.segment_bytes // 4]
        joined: list[Path] = []
        for segment in small if len(small) >= _SMALL else ():
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
            joined.append(segment.path)
        if self._cache.write(self._folder, self._text, self._pending, self._kind):
            for path in joined:
                with contextlib.suppress(OSError):
                    path.unlink()
        self._pending, self._bytes, self._published = {}, 0, time.monotonic()
        self._refresh()


class CachedEncoding:
    """Runs an encoder only on what a cache on disk does not hold.

    A sequence read from disk has the very numbers that were computed for it once. One that is computed now may differ
    from another run's in the last bit, as ever, if the batch around it is another.

    Args:
        cache: the cache.
        fields: everything that changes the encoder's vectors, beside token ids and layer.
        dtype: number format of its vectors.
        layers: the layers it returns.
        dimensions: size of a token vector.
        device: where vectors are wanted.
    """

    def __init__(
        self,
        cache: VectorCache,
        fields: dict[str, object],
        dtype: str,
        layers: list[int],
        dimensions: int,
        device: str,
    ) -> None:
        self._dimensions = dimensions
        self._device = device
        # Without the final norm, what layer k is depends on which layer is the highest.
        top = {} if fields.get("final_norm", True) else {"top": layers[-1]}
        # On the CPU vectors are NumPy's, which has no bf16: they are fp32.
        self._kind = {"fp16": "F16", "bf16": "F32" if device == "cpu" else "BF16"}.get(dtype, "F32")
        self._stores = [cache.store({**fields, **top, "layer": layer}, self._kind, dimensions) for layer in layers]
        weakref.finalize(self, _publish, self._stores)

    def flush(self) -> None:
        """Write what is not on disk yet; the end of the process does it too."""
        _publish(self._stores)

    def run(
        self, sequences: Sequence[Sequence[int]], batcher: Callable[[], Batcher]
    ) -> Iterator[tuple[list[int], Array]]:
        """Encode all sequences, or read them; see `bsx.encode.states.LayerView.run`.

        Args:
            sequences: token ids.
            batcher: loads what runs the encoder; it is not called if the cache holds all of them.
        """
        keys = [sequence_key(sequence) for sequence in sequences]
        places = [store.find(keys) for store in self._stores]
        known = [i for i in range(len(keys)) if all(place[i] is not None for place in places)]
        missing = sorted(set(range(len(keys))) - set(known))
        for part in plan_batches([len(sequences[i]) for i in known], _READ_TOKENS // len(self._stores)):
            batch = [known[i] for i in part]
            shape = (len(self._stores), len(batch), max(len(sequences[i]) for i in batch), self._dimensions)
            vectors = np.empty(shape, dtype=FORMATS[self._kind])
            whole = np.ones(len(batch), dtype=bool)
            for layer, store in enumerate(self._stores):
                targets = (vectors[layer, row, : len(sequences[i])] for row, i in enumerate(batch))
                good = store.read([(keys[i], places[layer][i], to) for i, to in zip(batch, targets, strict=True)])
                for row in np.flatnonzero(~np.array(good)).tolist():
                    whole[row] = False
                    places[layer][batch[row]] = None
            missing += [i for i, there in zip(batch, whole, strict=True) if not there]
            if whole.any():
                there = put(vectors if whole.all() else vectors[:, whole], self._device)
                if self._kind == "BF16":
                    there = there.view(importlib.import_module("torch").bfloat16)
                yield [i for i, good in zip(batch, whole, strict=True) if good], there
        for part, made in batcher().run([sequences[i] for i in missing]) if missing else ():
            batch = [missing[i] for i in part]
            on_cpu = as_stored(made)[1]
            for row, i in enumerate(batch):
                for layer, store in enumerate(self._stores):
                    if places[layer][i] is None:
                        store.put(keys[i], on_cpu[layer, row, : len(sequences[i])])
            yield batch, made
        _publish(self._stores, unless_younger=_PATIENCE)


def _publish(stores: list[CachedVectors], *, unless_younger: float = 0.0) -> None:
    for store in stores:
        store.publish(unless_younger=unless_younger)
