"""Hidden states of many texts as the rows of one array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.encode.shared import LayerView
from bsx.encode.tokenizer import TokenizedText
from bsx.support.arrays import Array, as_fp32, beside


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
