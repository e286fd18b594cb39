"""Hidden states of whole texts, flat in memory: what every metric on an encoder starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bsx.encode.rows import encode_rows
from bsx.encode.shared import LayerView
from bsx.encode.tokenizer import Tokenizer


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

    vectors: torch.Tensor
    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    lost: NDArray[np.int64]

    def select(self, keep: NDArray[np.bool_]) -> States:
        """Return the states of some tokens only (tokens,); a text may be left with none."""
        kept = np.concatenate([[0], np.cumsum(keep)])
        offsets = kept[self.offsets]
        lengths = kept[self.offsets + self.lengths] - offsets
        rows = torch.from_numpy(np.flatnonzero(keep)).to(self.vectors.device)
        return States(self.vectors.index_select(1, rows), self.ids[keep], offsets, lengths, self.lost)

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
    vectors = torch.zeros(shape, dtype=torch.float32, device=encoding.device)
    for rows, states in encode_rows(list(zip(texts, tokenized, offsets.tolist(), strict=True)), encoding):
        vectors.index_copy_(1, rows, states.float())
    ids = np.concatenate([text.ids for text in tokenized]) if len(texts) else np.zeros(0, dtype=np.int64)
    return States(vectors, ids, offsets, lengths, np.array([text.lost for text in tokenized], dtype=np.int64))


def segment_sum(values: torch.Tensor, text_of: NDArray[np.int64], texts: int) -> torch.Tensor:
    """Sum rows (tokens, …) by the text they belong to; returns (texts, …)."""
    total = torch.zeros((texts, *values.shape[1:]), dtype=values.dtype, device=values.device)
    return total.index_add_(0, torch.from_numpy(text_of).to(values.device), values)
