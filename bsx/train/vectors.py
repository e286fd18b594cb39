"""Vectors of texts on disk, read through memory maps: computed once, whatever is trained on them."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.data.corpus import about_tokens
from bsx.data.output import atomic_path
from bsx.errors import InputError
from bsx.support.arrays import fetch
from bsx.support.progress import Progress
from bsx.support.tensors import DAMAGE, read_header, save_tensors
from bsx.support.untyped import JsonObject
from bsx.train.encoder import FrozenEncoder

_BLOCK_TOKENS = 8192  # of a file; less where memory is short
_DTYPES: dict[str, np.dtype[np.floating]] = {"fp32": np.dtype("<f4"), "fp16": np.dtype("<f2")}


@dataclass
class _Place:
    """Where a text's vectors are.

    Attributes:
        block: number of the file.
        start: first row in it.
        pieces: rows.
        checksum: CRC-32 of their bytes.
        checked: whether the checksum was compared already.
    """

    block: int
    start: int
    pieces: int
    checksum: int
    checked: bool = False


def text_key(text: str) -> str:
    """Return the sha256 that stands for a text."""
    return hashlib.sha256(text.encode()).hexdigest()


class VectorStore:
    """All layers' vectors of the word pieces of texts, in a folder of safetensors files.

    A file holds a block of texts and appears when it is complete, so that an interrupted run loses one block, and
    several runs may fill one folder. What is in a folder is told apart by the encoder and the number format.

    Args:
        folder: where files go; made if it is not there.
        encoder: computes what is missing.
        precision: number format on disk.
    """

    def __init__(self, folder: Path, encoder: FrozenEncoder, precision: Literal["fp32", "fp16"] = "fp32") -> None:
        self.encoder = encoder
        self._dtype = _DTYPES[precision]
        record = {**encoder.record.model_dump(exclude={"model"}), "precision": precision}
        self.folder = folder / hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made a folder for vectors ({error.strerror})", file=folder) from error
        self._maps: list[NDArray[np.floating]] = []
        self._files: list[Path] = []
        self._places: dict[str, _Place] = {}
        for file in sorted(self.folder.glob("*.safetensors")):
            self._open(file)

    def add(self, texts: Sequence[str], progress: Progress | None = None) -> None:
        """Compute and store the vectors of texts that are not there yet."""
        missing = [text for text in dict.fromkeys(texts) if text_key(text) not in self._places]
        done = 0
        for block in self._blocks(missing):
            self._write(block)
            done += len(block)
            if progress is not None:
                progress("encoding", done, len(missing))

    def pieces(self, text: str) -> int:
        """Return how many word pieces a stored text has; 0 if its characters mean nothing to the tokenizer."""
        return self._places[text_key(text)].pieces

    def vectors(self, text: str) -> NDArray[np.floating]:
        """Return a stored text's vectors (pieces, layers, dim), a view of the file.

        Raises:
            InputError: if they are not what was written.
        """
        place = self._places[text_key(text)]
        read: NDArray[np.floating] = self._maps[place.block][place.start : place.start + place.pieces]
        if not place.checked:
            if zlib.crc32(read.tobytes()) != place.checksum:
                raise InputError(f"{self._files[place.block]}: is damaged; remove it, it will be computed again")
            place.checked = True
        return read

    def _blocks(self, texts: Sequence[str]) -> Iterator[list[str]]:
        record = self.encoder.record
        bytes_per_token = 8 * record.layers * record.dimensions  # the states, and the copy that is written
        room = max(256, min(_BLOCK_TOKENS, self.encoder.budget // 4 // bytes_per_token))
        block: list[str] = []
        size = 0
        for text in texts:
            grows_by = min(about_tokens(text), record.max_pieces + 2)
            if block and size + grows_by > room:
                yield block
                block, size = [], 0
            block.append(text)
            size += grows_by
        if block:
            yield block

    def _write(self, texts: list[str]) -> None:
        states = self.encoder.states(texts)
        self.encoder.view.shared.forget()
        vectors = np.ascontiguousarray(np.moveaxis(fetch(states.vectors), 0, 1), dtype=self._dtype)
        ends = states.offsets + states.lengths
        sums = [zlib.crc32(vectors[a:b].tobytes()) for a, b in zip(states.offsets.tolist(), ends.tolist(), strict=True)]
        keys = [text_key(text) for text in texts]
        index = {"texts": keys, "pieces": states.lengths.tolist(), "checksums": sums}
        file = self.folder / f"{hashlib.sha256(''.join(keys).encode()).hexdigest()[:32]}.safetensors"
        with atomic_path(file, own=True) as temporary:
            save_tensors({"vectors": vectors}, temporary, {"index": json.dumps(index)})
        self._open(file)

    def _open(self, file: Path) -> None:
        try:
            vectors, index = _map(file, self._dtype)
            starts = np.concatenate([[0], np.cumsum(index["pieces"])]).astype(int).tolist()
            places = zip(index["texts"], starts, index["pieces"], index["checksums"], strict=False)
            stored = {key: _Place(len(self._maps), *rest) for key, *rest in places}
        except DAMAGE as error:
            raise InputError(
                f"is no file of vectors ({error}); remove it, it will be computed again", file=file
            ) from error
        for key, place in stored.items():
            self._places.setdefault(key, place)
        self._maps.append(vectors)
        self._files.append(file)


def _map(file: Path, dtype: np.dtype[np.floating]) -> tuple[NDArray[np.floating], JsonObject]:
    with file.open("rb", buffering=0) as stream:
        header, start = read_header(stream, file.stat().st_size)
    index = json.loads(header["__metadata__"]["index"])
    shape = tuple(header["vectors"]["shape"])
    if sum(index["pieces"]) != shape[0]:
        raise ValueError("its index is not that of its numbers")
    if 0 in shape:
        return np.zeros(shape, dtype), index
    place = start + header["vectors"]["data_offsets"][0]
    return np.memmap(file, dtype=dtype, mode="r", offset=place, shape=shape), index
