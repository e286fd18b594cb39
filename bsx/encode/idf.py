"""Inverse document frequencies that remember which corpus they were counted on."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bsx.data.lines import NamedFile
from bsx.errors import InputError

if TYPE_CHECKING:
    from bsx.encode.tokenizer import Tokenizer

_BLOCK = 256  # texts counted at a time


@dataclass(frozen=True)
class Idf:
    """Token weights idf(w) = log((M + 1) / (df(w) + 1)) of M documents.

    Source: Zhang et al. 2020, section 3, with the plus-one smoothing that its released code runs (the printed formula
    is the unsmoothed one). A token that no document holds gets log(M + 1).

    Attributes:
        weights: id -> weight.
        unseen: weight of every other id.
        documents: M, the number of texts counted.
        digest: sha256 of the number of documents and of how many hold each token: equal weights have equal digests, in
            whatever order and in however many parts the documents were counted.
        tokenizer_digest: which tokenizer's ids these are; empty if not known.
    """

    weights: Mapping[int, float]
    unseen: float
    documents: int
    digest: str
    tokenizer_digest: str = ""

    def table(self, vocabulary_size: int) -> NDArray[np.float32]:
        """Return the weights as an array (vocabulary,)."""
        table = np.full(vocabulary_size, self.unseen, dtype=np.float32)
        known = [i for i in self.weights if 0 <= i < vocabulary_size]
        table[known] = [self.weights[i] for i in known]
        return table

    def save(self, path: str | Path) -> None:
        """Write the weights as JSON."""
        from bsx.data.output import atomic_text

        weights = {str(i): w for i, w in sorted(self.weights.items())}
        with atomic_text(Path(path)) as stream:
            json.dump({**vars(self), "weights": weights}, stream)

    @classmethod
    def load(cls, path: str | Path) -> Idf:
        """Read weights written by `save`."""
        try:
            content = NamedFile(path).json()
            weights = {int(i): float(w) for i, w in content.pop("weights").items()}
            return cls(weights=weights, **content)
        except (InputError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise InputError(f"not an idf file written by bsx ({error})", file=path) from error


@dataclass
class IdfCounter:
    """Counts documents and, of each id, how many hold it; on from what was counted elsewhere, if anything was."""

    documents: int = 0
    frequency: Counter[int] = field(default_factory=Counter)

    def add(self, texts: Iterable[str], tokenizer: Tokenizer) -> None:
        """Count documents, a block at a time, so that they need not fit in memory; blank texts are none."""
        left = iter(texts)
        while block := list(islice(left, _BLOCK)):
            for text, tokens in zip(block, tokenizer.tokenize(block), strict=True):
                if text.strip():
                    self.frequency.update(set(tokens.ids.tolist()))
                    self.documents += 1

    def result(self, tokenizer_digest: str = "") -> Idf:
        """Return the weights of everything counted so far."""
        if self.documents == 0:
            raise InputError("idf needs at least one reference to count on")
        smoothed = self.documents + 1
        weights = {i: math.log(smoothed / (df + 1)) for i, df in self.frequency.items()}
        counted = np.array([(0, self.documents), *sorted(self.frequency.items())], dtype="<i8")
        digest = hashlib.sha256(counted.tobytes()).hexdigest()
        return Idf(weights, math.log(smoothed), self.documents, digest, tokenizer_digest)


def count_idf(texts: Iterable[str], tokenizer: Tokenizer, tokenizer_digest: str = "") -> Idf:
    """Count idf weights over texts (usually the references)."""
    counter = IdfCounter()
    counter.add(texts, tokenizer)
    return counter.result(tokenizer_digest)
