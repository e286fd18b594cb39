"""Texts as word risks see them: the vectors of their pieces on some layers, and the word that each piece is part of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.encode.rows import normalise
from bsx.encode.shared import LayerView
from bsx.encode.states import encode_texts
from bsx.encode.tokenizer import Tokenizer
from bsx.support.arrays import fetch


@dataclass(frozen=True)
class ReadText:
    """One text.

    Attributes:
        words: what stands between white space.
        pieces: unit vectors of the pieces on each layer (layers, pieces, dim); special tokens are left out.
        vectors: mean of each word's pieces as the encoder gives them, on each layer (layers, words, dim); 0 for a word
            without any.
        owner: the word of each piece, by its place (pieces,).
        cut: whether the model's limit cut some of it off.
    """

    words: list[str]
    pieces: NDArray[np.float32]
    vectors: NDArray[np.float32]
    owner: NDArray[np.int64]
    cut: bool

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which words have a piece: not those that were cut off, nor those that the tokenizer drops (words,)."""
        return np.bincount(self.owner, minlength=len(self.words)) > 0


def read_texts(texts: Sequence[str], tokenizer: Tokenizer, view: LayerView) -> dict[str, ReadText]:
    """Encode distinct texts.

    Args:
        texts: the texts; each is encoded once.
        tokenizer: the encoder's tokenizer.
        view: the layers wanted.

    Returns:
        Text -> what is read of it. A text without words has no vectors.
    """
    empty = np.zeros((len(view.layers), 0, view.dimensions), dtype=np.float32)
    found = {text: ReadText([], empty, empty, np.zeros(0, dtype=np.int64), False) for text in texts}
    wanted = [text for text in found if text.split()]
    states = encode_texts(wanted, tokenizer, view)
    view.shared.forget()
    all_vectors = fetch(states.vectors).astype(np.float32, copy=False)
    owners = tokenizer.word_of([text.split() for text in wanted])
    for place, (text, owner) in enumerate(zip(wanted, owners, strict=True)):
        words = text.split()
        start = int(states.offsets[place])
        kept = np.flatnonzero(owner >= 0)
        vectors, owner = all_vectors[:, start + kept], owner[kept]
        means = np.zeros((len(view.layers), len(words), view.dimensions), dtype=np.float32)
        np.add.at(means.swapaxes(0, 1), owner, vectors.swapaxes(0, 1))
        means /= np.maximum(np.bincount(owner, minlength=len(words)), 1).astype(np.float32)[:, None]
        found[text] = ReadText(words, normalise(vectors), means, owner, bool(states.lost[place]))
    return found
