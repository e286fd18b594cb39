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
import torch
from numpy.typing import NDArray

from bsx.support.tensors import DAMAGE, fill, read_header, save_tensors
from bsx.support.untyped import JsonObject

SUFFIX = ".safetensors"
KEY_BYTES = 16
_TYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}


class Damaged(Exception):  # noqa: N818 - a state of a file, answered by computing again
    """What a file holds is not what was written to it."""


def raw_bytes(vectors: torch.Tensor) -> NDArray[np.uint8]:
    """Return the memory of a contiguous tensor on the CPU as bytes, not copied."""
    flat: NDArray[np.uint8] = vectors.view(torch.uint8).numpy().reshape(-1)
    return flat


def checksum(key: bytes, vectors: torch.Tensor) -> int:
    """Return the CRC-32 of a key and its vectors (tokens, dim)."""
    return zlib.crc32(raw_bytes(vectors).data, zlib.crc32(key))


def write_segment(folder: Path, entries: Mapping[bytes, torch.Tensor]) -> Path:
    """Write vectors to a new file, which appears under its name only when it is complete.

    Args:
        folder: where to.
        entries: key (16 bytes) -> vectors (tokens, dim), contiguous, on the CPU.
    """
    keys = np.frombuffer(b"".join(entries), dtype=np.uint8).reshape(-1, KEY_BYTES)
    lengths = np.array([len(vectors) for vectors in entries.values()], dtype=np.int64)
    sums = np.array([checksum(key, vectors) for key, vectors in entries.items()], dtype=np.int64)
    tensors = {
        "vectors": torch.cat(list(entries.values())),
        "keys": torch.from_numpy(keys.copy()),
        "lengths": torch.from_numpy(lengths),
        "sums": torch.from_numpy(sums),
    }
    name = f"{os.getpid()}-{secrets.token_hex(8)}"
    temporary, final = folder / f".{name}.tmp", folder / f"{name}{SUFFIX}"
    try:
        save_tensors(tensors, temporary, {"index": _index_sum(keys, lengths, sums)})
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
        dtype: number format that its vectors must have.
        dimensions: size that its vectors must have.

    Attributes:
        size: bytes of the file.

    Raises:
        Damaged: if it is not such a file, or not a whole one.
        OSError: if it cannot be read, or has gone.
    """

    def __init__(self, path: Path, dtype: torch.dtype, dimensions: int) -> None:
        self.path = path
        with path.open("rb", buffering=0) as stream:
            self.size = os.fstat(stream.fileno()).st_size
            try:
                header, start = read_header(stream, self.size)
                columns = {name: _column(stream, header[name], start) for name in ("keys", "lengths", "sums")}
                vectors = header["vectors"]
                rows = int(columns["lengths"].sum())
                _agree(header["__metadata__"]["index"], _index_sum(*columns.values()))
                _agree([vectors["dtype"], *vectors["shape"]], [_TYPES[dtype], rows, dimensions])
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
        self._row_bytes = dimensions * dtype.itemsize

    def find(self, halves: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the place of each key (n, 2), or -1 (n,)."""
        places = np.minimum(np.searchsorted(self._high, halves[:, 0]), len(self._high) - 1)
        same = (self._high[places] == halves[:, 0]) & (self._low[places] == halves[:, 1])
        return np.where(same, places, -1)

    def read(self, wanted: Sequence[tuple[int, torch.Tensor]]) -> None:
        """Read vectors into tensors.

        Args:
            wanted: places, and contiguous tensors (tokens, dim) on the CPU to read them into.

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

    def entries(self, dtype: torch.dtype, dimensions: int) -> Iterator[tuple[bytes, torch.Tensor]]:
        """Yield all keys with their vectors, checked."""
        for place in np.argsort(self._first, kind="stable").tolist():
            vectors = torch.empty((int(self._lengths[place]), dimensions), dtype=dtype)
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
