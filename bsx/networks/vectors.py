"""Vectors of texts on disk: computed once, whatever is trained on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.data.corpus import about_tokens
from bsx.data.output import atomic_path
from bsx.errors import InputError
from bsx.networks.encoder import FrozenEncoder
from bsx.support.arrays import fetch
from bsx.support.progress import Progress
from bsx.support.tensors import save_tensors
from bsx.support.untyped import Untyped, blaming

_BLOCK_TOKENS = 8192  # of a file; less where memory is short


class VectorStore:
    """All layers' vectors of the word pieces of texts, in a folder of safetensors files.

    A file holds a block of texts and appears when it is complete, so that an interrupted run loses one block, and
    several runs may fill one folder, which is made if it is not there. What is in it is told apart by the encoder,
    which computes what is missing.
    """

    def __init__(self, folder: Path, encoder: FrozenEncoder) -> None:
        self.encoder = encoder
        record = json.dumps(encoder.record.model_dump(exclude={"model"}), sort_keys=True)
        self.folder = folder / hashlib.sha256(record.encode()).hexdigest()[:16]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made a folder for vectors ({error.strerror})", file=folder) from error
        self._places: dict[str, tuple[Untyped, int, int]] = {}  # key -> vectors of a file, first row, rows
        for file in sorted(self.folder.glob("*.safetensors")):
            self._open(file)

    def add(self, texts: Sequence[str], progress: Progress | None = None) -> None:
        """Compute and store the vectors of texts that are not there yet."""
        missing = [text for text in dict.fromkeys(texts) if _key(text) not in self._places]
        done = 0
        for block in self._blocks(missing):
            self._write(block)
            done += len(block)
            if progress is not None:
                progress("encoding", done, len(missing))

    def pieces(self, text: str) -> int:
        """Return how many word pieces a stored text has; 0 if its characters mean nothing to the tokenizer."""
        return self._places[_key(text)][2]

    def vectors(self, text: str) -> NDArray[np.float32]:
        """Return a stored text's vectors (pieces, layers, dim)."""
        vectors, start, pieces = self._places[_key(text)]
        read: NDArray[np.float32] = vectors[start : start + pieces]
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
        vectors = np.ascontiguousarray(np.moveaxis(fetch(states.vectors), 0, 1))
        keys = [_key(text) for text in texts]
        index = json.dumps({"texts": keys, "pieces": states.lengths.tolist()})
        file = self.folder / f"{hashlib.sha256(''.join(keys).encode()).hexdigest()[:32]}.safetensors"
        with atomic_path(file, internal=True) as temporary:
            save_tensors({"vectors": vectors}, temporary, {"index": index})
        self._open(file)

    def _open(self, file: Path) -> None:
        from safetensors import safe_open

        with blaming(f"{file}: is no file of vectors; remove it, it will be computed again"):
            stored: Untyped = safe_open(file, framework="numpy")
            index, vectors = json.loads(stored.metadata()["index"]), stored.get_slice("vectors")
            start = 0
            for key, pieces in zip(index["texts"], index["pieces"], strict=True):
                self._places.setdefault(key, (vectors, start, pieces))
                start += pieces


def _key(text: str) -> str:
    """Return the sha256 that stands for a text."""
    return hashlib.sha256(text.encode()).hexdigest()
