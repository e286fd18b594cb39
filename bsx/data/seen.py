"""Which rows something was fitted to: digests of their texts, in a file beside what was fitted, that holds no text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.data.output import atomic_path
from bsx.errors import InputError
from bsx.support.provenance import file_digest
from bsx.support.tensors import load_arrays, save_tensors

Digests = NDArray[np.int64]
Pairs = Iterable[tuple[str, str]]
"""A candidate and what it is held against: a reference, or the source."""
SEEN = "rows.safetensors"
"""What the file of a folder is called; beside ``NAME.yaml`` it is ``NAME.rows.safetensors``."""
PARTS = ("train", "valid")
_FACTS = {"holds": "digests of rows: blake2b-64 of candidate and reference or source, NFKC, case and blanks folded"}


def beside_entry(file: Path) -> Path:
    """Return where the digests of what an entry was fitted to lie."""
    return file.with_name(f"{file.stem}.{SEEN}")


def digests(pairs: Pairs) -> Digests:
    """Return eight bytes for each pair of texts (pairs,), whatever their case, white space and Unicode form."""
    results = []
    for pair in pairs:
        whole = "\x1f".join(" ".join(unicodedata.normalize("NFKC", text).casefold().split()) for text in pair)
        state = blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8)
        results.append(int.from_bytes(state.digest(), "little", signed=True))
    return np.array(results, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RowTexts:
    """Texts of n rows: n candidates, n lists of references or None, and n sources or None."""

    candidates: Sequence[str]
    references: Sequence[Sequence[str]] | None = None
    sources: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.candidates)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield each candidate with each of its references, and with its source."""
        for _, pair in self._placed():
            yield pair

    def _placed(self) -> Iterator[tuple[int, tuple[str, str]]]:
        for row, candidate in enumerate(self.candidates):
            for other in self.references[row] if self.references is not None else ():
                yield row, (candidate, other)
            if self.sources is not None:
                yield row, (candidate, self.sources[row])

    @cached_property
    def digests(self) -> tuple[Digests, NDArray[np.int64]]:
        """Digests of all pairs (pairs,), and the row of each (pairs,)."""
        placed = list(self._placed())
        return digests(pair for _, pair in placed), np.array([row for row, _ in placed], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Digests of the rows that something learned from.

    Attributes:
        parts: ``train`` (what was fitted) and ``valid`` (what chose among fits) -> sorted digests.
    """

    parts: Mapping[str, Digests]

    @classmethod
    def of(cls, train: Pairs, valid: Pairs = ()) -> SeenRows:
        """Take the digests of rows."""
        return cls({"train": np.unique(digests(train)), "valid": np.unique(digests(valid))})

    def save(self, file: Path) -> str:
        """Write the digests, all or nothing, and return the sha256 of the file."""
        with atomic_path(file, internal=True) as temporary:
            save_tensors(dict(self.parts), temporary, _FACTS)
        return file_digest(file)

    @classmethod
    def read(cls, file: Path, sha256: str | None) -> SeenRows | None:
        """Read what `save` wrote; None if nothing was kept, or the file is gone.

        InputError if it is another file than that of the sha256, which what was fitted names, or a damaged one.
        """
        if sha256 is None or not file.is_file():
            return None
        if file_digest(file) != sha256:
            raise InputError("is damaged or was changed: its sha256 is not the one that was kept of it", file=file)
        arrays = load_arrays(file)[0]
        if set(arrays) != set(PARTS) or any(array.dtype != np.int64 or array.ndim != 1 for array in arrays.values()):
            raise InputError("holds no digests of rows", file=file)
        return cls(arrays)

    def count(self, texts: RowTexts) -> dict[str, int]:
        """Return how many rows each part holds; a row counts once, and as one of training if it is in both."""
        digests, rows = texts.digests
        train, valid = (np.unique(rows[np.isin(digests, self.parts[part])]) for part in PARTS)
        return {"train": len(train), "valid": len(np.setdiff1d(valid, train))}
