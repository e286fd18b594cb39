"""Files of vectors that never change once they are there: written whole, read by key, checked at every reading.

A segment is a safetensors file: the vectors of many token sequences one after another, and for each sequence its key,
its length and a checksum. The list of keys has a checksum of its own.
"""

from __future__ import annotations

import os
import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

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


def _agree(found: object, expected: object) -> None:
    if found != expected:
        raise ValueError(f"its header says {found}, not {expected}")


def _column(stream: IO[bytes], entry: JsonObject, start: int) -> NDArray[np.generic]:
    first, last = (int(offset) for offset in entry["data_offsets"])
    column: NDArray[np.generic] = np.empty(entry["shape"], dtype={"U8": np.uint8, "I64": np.int64}[entry["dtype"]])
    if column.nbytes != last - first or len(column) == 0:
        raise ValueError("a column has another size")
    stream.seek(start + first)
    fill(stream, column.reshape(-1).view(np.uint8).data)
    return column
