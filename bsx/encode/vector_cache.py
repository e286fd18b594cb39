"""A folder of vectors that outlive a run: bounded in size, shared by processes, never trusted without a checksum.

Its files never change once they are there: written whole, read by key, checked at every reading. Each is a safetensors
file of two rows of bytes: vectors one after another, and an index of their keys, where each starts, and its checksum.
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
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bsx.encode.batching import Batcher, plan_batches
from bsx.errors import InputError
from bsx.support.arrays import Array, put
from bsx.support.folders import claim_cache
from bsx.support.memory import parse_bytes
from bsx.support.tensors import DAMAGE, FORMATS, as_stored, fill, read_header, save_tensors

if TYPE_CHECKING:
    from bsx.encode.model import Opener

SUFFIX = ".safetensors"
KEY_BYTES = 16
_INDEX = np.dtype([("key", f"S{KEY_BYTES}"), ("start", "<i8"), ("sum", "<u4")])
_ROOM = "vectors-2"  # the layout's version: another layout is another folder
_FILE_BYTES = 64 * 2**20
_MOST_FILES = 1_000  # beside full ones: each takes time at a run's start
_STALE_SECONDS = 3600  # a temporary file this old belongs to a process that died
_READ_TOKENS = 16_384  # padded tokens read at once: a bound on memory, not a matter of speed
_log = logging.getLogger("bsx.cache")


class VectorCache:
    """The folder of a cache, for all encoders of a run.

    What a run computes is one file of it, or several full ones: written once, under a name of its own, and renamed into
    place when it is complete. So readers and writers of any number of processes need no locks, and one that dies leaves
    nothing that another would read.

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
        self.file_bytes = min(_FILE_BYTES, self.limit // 16)
        self._room = claim_cache(self.folder) / _ROOM
        # Of each file its keys, sorted, where the vectors of each start, and their checksums, key included.
        self._files: dict[Path, tuple[NDArray[np.bytes_], NDArray[np.int64], NDArray[np.uint32]]] = {}
        self._pending: dict[bytes, NDArray[np.uint8]] = {}
        self._bytes = 0
        self._warned = False
        self._writes = True
        try:
            self._room.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"the cache {folder} cannot be used: {error.strerror}; name a folder") from error

    def look_around(self) -> None:
        """Read the index of each file that has come since, and forget those of files that have gone."""
        present = set(self._room.glob(f"*{SUFFIX}"))
        self._files = {path: index for path, index in self._files.items() if path in present}
        for path in sorted(present - set(self._files)):
            try:
                with path.open("rb", buffering=0) as stream:
                    header, start = read_header(stream, os.fstat(stream.fileno()).st_size)
                    first, end = header["index"]["data_offsets"]
                    content = np.empty(end - first, dtype=np.uint8)
                    stream.seek(start + first)
                    fill(stream, content.data)
                index = content.view(_INDEX)
                if not len(index):
                    raise ValueError("it has no index")
                starts: NDArray[np.int64] = index["start"] + (start + int(header["vectors"]["data_offsets"][0]))
                self._files[path] = np.ascontiguousarray(index["key"]), starts, index["sum"].copy()
            except OSError:
                continue  # removed by another process since it was listed
            except DAMAGE:
                self._discard(path)

    def read(self, wanted: Sequence[tuple[bytes, NDArray[np.generic]]]) -> list[bool]:
        """Read the vectors of keys, each into its contiguous array (tokens, dim).

        Returns:
            Whether each was there and unharmed; the others must be computed.
        """
        targets = [target.reshape(-1).view(np.uint8) for _, target in wanted]
        done = np.zeros(len(wanted), dtype=bool)
        for i, (key, _) in enumerate(wanted):
            if (pending := self._pending.get(key)) is not None:
                targets[i][:] = pending
                done[i] = True
        keys = np.frombuffer(b"".join(key for key, _ in wanted), dtype=f"S{KEY_BYTES}")
        for path, (known, starts, sums) in list(self._files.items()):
            left = np.flatnonzero(~done)
            places = np.minimum(np.searchsorted(known, keys[left]), len(known) - 1)
            hits = known[places] == keys[left]
            if not hits.any():
                continue
            try:
                with path.open("rb", buffering=0) as stream:
                    for i, place in zip(left[hits].tolist(), places[hits].tolist(), strict=True):
                        stream.seek(int(starts[place]))
                        fill(stream, targets[i].data)
                        done[i] = zlib.crc32(targets[i].data, zlib.crc32(wanted[i][0])) == sums[place]
            except FileNotFoundError:  # removed by another process
                continue
            except (OSError, ValueError):
                self._discard(path)
            else:
                if not done[left[hits]].all():
                    self._discard(path)
                with contextlib.suppress(OSError):  # it is in use, for which its time stands
                    os.utime(path)
        return done.tolist()

    def put(self, key: bytes, vectors: NDArray[np.generic]) -> None:
        """Keep vectors (tokens, dim); they are on disk at the latest when the process ends."""
        if key not in self._pending:
            self._pending[key] = np.frombuffer(vectors.tobytes(), dtype=np.uint8)
            self._bytes += vectors.nbytes
            if self._bytes >= self.file_bytes:
                self.publish()

    def publish(self) -> None:
        """Write what is not on disk yet; a cache that cannot be written to is said so once and left alone."""
        size, pending = self._bytes, self._pending
        self._bytes, self._pending = 0, {}
        if not pending or not self._writes:
            return
        index = np.zeros(len(pending), dtype=_INDEX)
        index["key"] = list(pending)
        index["start"][1:] = np.cumsum([len(content) for content in pending.values()])[:-1]
        index["sum"] = [zlib.crc32(content.data, zlib.crc32(key)) for key, content in pending.items()]
        index.sort(order="key")
        tensors: dict[str, Array] = {"index": index.view(np.uint8), "vectors": np.concatenate(list(pending.values()))}
        temporary = self._room / f".{os.getpid()}-{secrets.token_hex(8)}.tmp"
        try:
            self._make_room(size)
            self._room.mkdir(parents=True, exist_ok=True)
            save_tensors(tensors, temporary, {})
            temporary.replace(temporary.with_name(temporary.stem[1:] + SUFFIX))
        except OSError as error:
            self._writes = False
            _log.warning("bsx: note: the cache %s cannot be written to (%s); going on without", self.folder, error)
            with contextlib.suppress(OSError):
                temporary.unlink()

    def _make_room(self, wanted: int) -> None:
        """Remove the files not used for longest, of earlier layouts too, until ``wanted`` more bytes fit."""
        files: list[tuple[int, int, Path]] = []
        for path in self.folder.glob("vectors-*/**/*"):
            with contextlib.suppress(FileNotFoundError):
                facts = path.stat()
                if path.suffix == SUFFIX:
                    files.append((facts.st_mtime_ns, facts.st_size, path))
                elif path.suffix == ".tmp" and facts.st_mtime < time.time() - _STALE_SECONDS:
                    path.unlink()
        total, many = wanted + sum(size for _, size, _ in files), len(files)
        for _, size, path in sorted(files):
            if total <= self.limit and many <= _MOST_FILES + self.limit // self.file_bytes:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total, many = total - size, many - 1

    def _discard(self, path: Path) -> None:
        """Remove a damaged file, and say once that there was one."""
        if not self._warned:
            _log.warning("bsx: note: the cache %s held damaged files; what they held is computed again", self.folder)
        self._warned = True
        self._files.pop(path, None)
        with contextlib.suppress(OSError):
            path.unlink()


class CachedEncoding:
    """Runs an encoder only on what a cache on disk does not hold.

    A sequence read from disk has the very numbers that were computed for it once. One that is computed now may differ
    from another run's in the last bit, as ever, if the batch around it is another. The opener says what changes vectors
    beside token ids and layer; see `Opener.digests`.
    """

    def __init__(self, cache: VectorCache, opener: Opener, layers: list[int]) -> None:
        self._cache = cache
        self._dimensions = opener.architecture.dimensions
        self._device = device = opener.device
        fields = opener.digests
        # On the CPU vectors are NumPy's, which has no bf16: they are fp32.
        self._kind = {"fp16": "F16", "bf16": "F32" if device == "cpu" else "BF16"}.get(str(fields["dtype"]), "F32")
        # Without the final norm, what layer k is depends on which layer is the highest.
        top = {} if fields["final_norm"] else {"top": layers[-1]}
        named = ({**fields, **top, "layer": layer} for layer in layers)
        texts = (json.dumps(name, sort_keys=True, default=str).encode() for name in named)
        self._hashes = [hashlib.blake2b(text, digest_size=KEY_BYTES) for text in texts]

    def keys(self, sequence: Sequence[int]) -> list[bytes]:
        """Return the key of each layer's vectors of a sequence of token ids."""
        ids, keys = np.asarray(sequence, dtype="<i4").tobytes(), []
        for layer in self._hashes:
            whole = layer.copy()
            whole.update(ids)
            keys.append(whole.digest())
        return keys

    def run(
        self, sequences: Sequence[Sequence[int]], batcher: Callable[[], Batcher]
    ) -> Iterator[tuple[list[int], Array]]:
        """Encode all sequences of token ids, or read them; see `bsx.encode.states.LayerView.run`.

        ``batcher`` loads what runs the encoder; it is not called if the cache holds all of them.
        """
        self._cache.look_around()
        keys, depth = [self.keys(sequence) for sequence in sequences], len(self._hashes)
        missing: dict[int, list[int]] = {}  # sequence -> which of its layers must be computed
        for batch in plan_batches([len(sequence) for sequence in sequences], _READ_TOKENS // depth):
            shape = (depth, len(batch), max(len(sequences[i]) for i in batch), self._dimensions)
            vectors = np.empty(shape, dtype=FORMATS[self._kind])
            wanted = [
                (key, vectors[layer, row, : len(sequences[i])])
                for row, i in enumerate(batch)
                for layer, key in enumerate(keys[i])
            ]
            read = np.array(self._cache.read(wanted)).reshape(-1, depth)
            whole = read.all(axis=1)
            missing |= {batch[row]: np.flatnonzero(~read[row]).tolist() for row in np.flatnonzero(~whole)}
            if whole.any():
                known = put(vectors if whole.all() else vectors[:, whole], self._device)
                if self._kind == "BF16":
                    known = known.view(importlib.import_module("torch").bfloat16)
                yield [batch[row] for row in np.flatnonzero(whole)], known
        order = sorted(missing)
        for part, made in batcher().run([sequences[i] for i in order]) if order else ():
            batch = [order[i] for i in part]
            on_cpu = as_stored(made)[1]
            for row, i in enumerate(batch):
                for layer in missing[i]:
                    self._cache.put(keys[i][layer], on_cpu[layer, row, : len(sequences[i])])
            yield batch, made
