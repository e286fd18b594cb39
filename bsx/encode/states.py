"""Hidden states of whole texts, flat in memory: what every metric on an encoder starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.encode.shared import LayerView
from bsx.encode.tokenizer import TokenizedText, Tokenizer
from bsx.support.arrays import Array, as_fp32, beside, zeros


def normalise(vectors: Array) -> Array:
    """Return vectors (…, dim) in fp32 at length 1; zero vectors stay zero."""
    vectors = as_fp32(vectors)
    if isinstance(vectors, np.ndarray):
        lengths = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
        return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
    return vectors / vectors.norm(dim=-1, keepdim=True).clamp_min(float(np.finfo(np.float32).tiny))


def encode_rows(texts: Sequence[tuple[str, TokenizedText, int]], encoding: LayerView) -> Iterator[tuple[Array, Array]]:
    """Encode texts whose tokens lie one after another in a flat array.

    Args:
        texts: texts, tokenised, and the row of each one's first token.
        encoding: runs the encoder.

    Yields:
        Rows (tokens,) and the hidden states that belong there (layers, tokens, dim), as the encoder gives them.
    """
    sequences: list[Sequence[int]] = []
    kept: list[NDArray[np.int64]] = []  # positions in each sequence
    starts: list[int] = []  # where the kept part of each sequence goes
    names: list[str] = []
    for name, text, first in texts:
        row = first
        for span in text.spans:
            names.append(name)
            sequences.append(span.ids)
            kept.append(span.positions)
            starts.append(row)
            row += len(kept[-1])
    for batch, output in encoding.run(sequences, names):
        layers, _, longest, dimensions = output.shape
        source = np.concatenate([kept[i] + n * longest for n, i in enumerate(batch)])
        target = np.concatenate([np.arange(len(kept[i])) + starts[i] for i in batch])
        flat = output.reshape(layers, -1, dimensions)
        rows, places = beside(np.stack([target, source]), output)
        yield rows, flat[:, places]


@dataclass
class States:
    """Hidden states of texts, token after token, text after text.

    Attributes:
        vectors: (layers, tokens, dim), fp32, not normalised, on the encoder's device.
        ids: token ids, special ones included (tokens,).
        offsets: first row of each text (texts,).
        lengths: tokens of each text (texts,).
        lost: tokens of each text that the model's limit cut off (texts,).
    """

    vectors: Array
    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    lost: NDArray[np.int64]

    def select(self, keep: NDArray[np.bool_]) -> States:
        """Return the states of some tokens only (tokens,); a text may be left with none."""
        kept = np.concatenate([[0], np.cumsum(keep)])
        offsets = kept[self.offsets]
        lengths = kept[self.offsets + self.lengths] - offsets
        rows = beside(np.flatnonzero(keep), self.vectors)
        return States(self.vectors[:, rows], self.ids[keep], offsets, lengths, self.lost)

    def text_of(self) -> NDArray[np.int64]:
        """Return which text each token belongs to (tokens,)."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def encode_texts(texts: Sequence[str], tokenizer: Tokenizer, encoding: LayerView) -> States:
    """Return the hidden states of texts.

    Args:
        texts: distinct texts.
        tokenizer: the encoder's tokenizer.
        encoding: the encoder, which says which layers.
    """
    tokenized = tokenizer.tokenize(texts)
    lengths = np.array([len(text.ids) for text in tokenized], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64) if len(texts) else lengths
    shape = (len(encoding.layers), int(lengths.sum()), encoding.dimensions)
    vectors = zeros(shape, encoding.device)
    for rows, states in encode_rows(list(zip(texts, tokenized, offsets.tolist(), strict=True)), encoding):
        vectors[:, rows] = as_fp32(states)
    ids = np.concatenate([text.ids for text in tokenized]) if len(texts) else np.zeros(0, dtype=np.int64)
    return States(vectors, ids, offsets, lengths, np.array([text.lost for text in tokenized], dtype=np.int64))


def segment_sum(values: Array, text_of: NDArray[np.int64], texts: int) -> Array:
    """Sum rows (tokens, …) by the text they belong to, which never falls (tokens,); returns (texts, …)."""
    if isinstance(values, np.ndarray):
        return _reduced(np.add, values, text_of, texts)
    total = values.new_zeros((texts, *values.shape[1:]))
    return total.index_add_(0, beside(text_of, values), values)


def segment_max(values: Array, text_of: NDArray[np.int64], texts: int) -> Array:
    """Return the highest of rows (tokens, dim) by the text they belong to, which never falls; 0 for none."""
    if isinstance(values, np.ndarray):
        return _reduced(np.maximum, values, text_of, texts)
    highest = values.new_zeros((texts, values.shape[-1]))
    index = beside(text_of, values)[:, None].expand_as(values)
    return highest.scatter_reduce_(0, index, values, reduce="amax", include_self=False)


def _reduced(how: np.ufunc, values: Array, text_of: NDArray[np.int64], texts: int) -> Array:
    total = np.zeros((texts, *values.shape[1:]), dtype=values.dtype)
    starts = np.flatnonzero(np.diff(text_of, prepend=-1))
    if len(starts):
        total[text_of[starts]] = how.reduceat(values, starts, axis=0)
    return total
