"""From token vectors to the units that are matched: filtered tokens, n-gram windows, power means over layers."""

from __future__ import annotations

import string
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.encode.states import States, normalise
from bsx.encode.tokenizer import Tokenizer
from bsx.errors import InputError
from bsx.support.arrays import Array, beside, namespace


@dataclass
class Units:
    """Vectors with a mass each, text after text: what transport and greedy matching compare.

    Attributes:
        vectors: unit vectors (units, dim).
        masses: non-negative masses (units,).
        offsets: first unit of each text (texts,).
        lengths: units of each text (texts,).
    """

    vectors: Array
    masses: NDArray[np.float32]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]


def power_means(layers: Array) -> Array:
    """Return minimum, mean and maximum over layers, one after another: (layers, tokens, dim) -> (tokens, 3 dim).

    These are the power means of order -inf, 1 and +inf. Source: Zhao et al. 2019, section 3.3, ordered as in its code.
    """
    xp = namespace(layers)
    return xp.concatenate([xp.amin(layers, axis=0), layers.mean(0), xp.amax(layers, axis=0)], axis=-1)


def ngram_units(
    vectors: Array, weights: NDArray[np.float32], texts: tuple[NDArray[np.int64], NDArray[np.int64]], n: int
) -> Units:
    """Slide a window of n tokens over each text; a text of fewer tokens is one window.

    A window's vector is the weighted sum of its tokens' vectors, at length 1, its mass the sum of their weights.
    Source: Zhao et al. 2019, equation 4 and below it.

    Args:
        vectors: token vectors (tokens, dim).
        weights: non-negative weights (tokens,).
        texts: first token and number of tokens of each text.
        n: tokens of a window.
    """
    first, count = texts
    windows = np.where(count > n, count - n + 1, np.minimum(count, 1))
    offsets = np.concatenate([[0], np.cumsum(windows)[:-1]]).astype(np.int64)
    within = np.arange(int(windows.sum())) - np.repeat(offsets, windows)
    start = np.repeat(first, windows) + within
    size = np.minimum(n, np.repeat(count, windows))
    steps = [np.flatnonzero(step < size) for step in range(min(n, int(size.max(initial=0))))]
    masses = np.zeros(len(start), dtype=np.float32)
    for step, chosen in enumerate(steps):
        masses[chosen] += weights[start[chosen] + step]
    total = beside(np.zeros((len(start), vectors.shape[-1]), dtype=np.float32), vectors)
    for step, chosen in enumerate(steps):
        rows = start[chosen] + step
        # A window without mass moves nothing, but greedy matching may match it: its tokens count the same.
        share = np.where(masses[chosen] > 0, weights[rows], np.float32(1))
        weighed = vectors[beside(rows, vectors)] * beside(share, vectors)[:, None]
        total[beside(chosen, vectors)] += weighed
    return Units(normalise(total), masses, offsets, windows)


_SAMPLE = 4000


class TokenFilter:
    """Which tokens to leave out: punctuation, and pieces inside words.

    Args:
        tokenizer: the encoder's tokenizer.
        punctuation: leave out pieces that are one ASCII punctuation character.
        subwords: leave out pieces that continue a word.
        words: further pieces to leave out (stop words), in lower case.

    Raises:
        InputError: if pieces inside words cannot be told from others.
    """

    def __init__(
        self, tokenizer: Tokenizer, *, punctuation: bool, subwords: bool, words: frozenset[str] = frozenset()
    ) -> None:
        self._tokenizer = tokenizer
        self._special = tokenizer.is_special
        size = tokenizer.vocabulary_size
        # A few thousand pieces show how words are marked; the rest are looked at when they occur.
        self._scheme = _scheme(tokenizer.raw_pieces(range(0, size, max(1, size // _SAMPLE))))
        if subwords and self._scheme is None:
            raise InputError(
                "this model's tokenizer does not mark where words begin, so pieces inside words cannot be left out: "
                "turn that off"
            )
        self._punctuation, self._subwords, self._words = punctuation, subwords, words
        self._seen = np.zeros(size, dtype=bool)
        self._drop = np.zeros(size, dtype=bool)
        self._mark = np.zeros(size, dtype=bool)

    def keep(self, states: States) -> NDArray[np.bool_]:
        """Return which tokens stay (tokens,); special tokens always do."""
        ids = states.ids
        new = np.unique(ids[~self._seen[ids]])
        for i, piece in zip(new.tolist(), self._tokenizer.raw_pieces(new.tolist()), strict=True):
            bare = piece
            if self._scheme is not None:
                marker, at_end = self._scheme
                self._mark[i] = piece.endswith(marker) if at_end else piece.startswith(marker)
                if piece != marker and marker != "##":  # "##," is a piece inside a word, not the comma
                    bare = piece.removesuffix(marker) if at_end else piece.removeprefix(marker)
            is_mark = len(bare) == 1 and bare in string.punctuation
            self._drop[i] = (self._punctuation and is_mark) or bare.lower() in self._words
        self._seen[new] = True
        drop, special = self._drop[ids], self._special[ids]
        if self._subwords and self._scheme is not None:
            marked, (marker, at_end) = self._mark[ids], self._scheme
            before = np.concatenate([[True], special[:-1]])  # the first piece of a text begins a word
            before[states.offsets[states.lengths > 0]] = True
            if marker == "##":
                drop |= marked
            elif not at_end:  # a marker at the start of a piece begins a word
                drop |= ~marked & ~before
            else:
                previous = np.concatenate([[False], marked[:-1]])
                drop |= ~(previous if marker == "</w>" else ~previous) & ~before
        return ~drop | special


def _scheme(pieces: list[str]) -> tuple[str, bool] | None:
    """Return how a vocabulary marks words: the marker, and whether it stands at the end of a piece."""
    for marker, at_end in (("##", False), ("▁", False), ("Ġ", False), ("</w>", True), ("@@", True)):
        share = sum(len(p) > len(marker) and (p.endswith(marker) if at_end else p.startswith(marker)) for p in pieces)
        if share > len(pieces) // 100:
            return marker, at_end
    return None
