"""Frozen vectors of sentences and words from every layer: what probes are fitted on."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.encode.states import LayerView, States, encode_texts, segment_max, segment_sum
from bsx.encode.tokenizer import Tokenizer
from bsx.errors import InputError
from bsx.support.arrays import beside, fetch
from bsx.support.progress import Progress

Pooling = Literal["mean", "cls", "max", "words"]
Words = tuple[str, ...]  # of a sentence; a sentence that gets one vector is one word
_BLOCK = 256  # texts encoded at once


@dataclass(frozen=True)
class Features:
    """Vectors of items.

    Attributes:
        vectors: (layers, items, dim), fp32; a memory map of a temporary file if they exceed the budget.
        present: items that have a token of their own (items,); the vectors of others are zero.
        truncated: texts that the model's length limit cut.
    """

    vectors: NDArray[np.float32]
    present: NDArray[np.bool_]
    truncated: int


def pooled_features(
    sentences: Sequence[Words],
    tokenizer: Tokenizer,
    view: LayerView,
    *,
    pooling: Pooling,
    budget: int,
    progress: Progress | None = None,
) -> Features:
    """Return vectors of items from each layer, item after item; each distinct sentence is encoded once, in context.

    The words of a sentence are joined by spaces. With the pooling ``words`` each is an item, the mean of its pieces;
    else a sentence is one word and one item: ``mean`` or ``max`` over tokens that are not special, or ``cls``, the
    special token in front. Vectors beyond a ``budget`` of bytes in memory go to a temporary file.

    Raises:
        InputError: for ``cls`` if the model puts no special token in front of a text.
    """
    if pooling == "cls" and not tokenizer.prefix:
        raise InputError("this model puts no special token in front of a text: use pooling mean or max")
    starts: dict[Words, list[int]] = {}  # sentence -> its first item, at each place where it stands
    total = 0
    for words in sentences:
        starts.setdefault(words, []).append(total)
        total += len(words)
    shape = (len(view.layers), total, view.dimensions)
    if int(np.prod(shape)) * 4 <= budget:
        vectors = np.zeros(shape, dtype=np.float32)
    else:
        with tempfile.TemporaryFile(prefix="bsx-features-") as stream:  # the map keeps the file until it is let go
            vectors = np.memmap(stream, dtype=np.float32, mode="w+", shape=shape)
    present = np.zeros(total, dtype=bool)
    truncated, distinct = 0, list(starts)
    for begin in range(0, len(distinct), _BLOCK):
        block = distinct[begin : begin + _BLOCK]
        states = encode_texts([" ".join(words) for words in block], tokenizer, view)
        view.shared.forget()
        truncated += int((states.lost > 0).sum())
        pooled, has_token = _pooled(states, block, tokenizer, pooling)
        first = 0
        for words in block:
            items = slice(first, first + len(words))
            for start in starts[words]:
                vectors[:, start : start + len(words)] = pooled[:, items]
                present[start : start + len(words)] = has_token[items]
            first += len(words)
        if progress is not None:
            progress("encoding", begin + len(block), len(distinct))
    return Features(vectors, present, truncated)


def _pooled(
    states: States, block: Sequence[Words], tokenizer: Tokenizer, pooling: Pooling
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return vectors (layers, items, dim) of a block's items, and which of these have a token (items,)."""
    if pooling == "cls":
        rows = beside(states.offsets, states.vectors)
        return fetch(states.vectors[:, rows]), np.ones(len(block), dtype=bool)
    if pooling == "words":
        items, owners = 0, []
        for words, owner in zip(block, tokenizer.word_of(block), strict=True):
            owners.append(np.where(owner < 0, -1, owner + items))
            items += len(words)
        owner = np.concatenate(owners)
    else:
        items, owner = len(block), np.where(tokenizer.is_special[states.ids], -1, states.text_of())
    kept, owner = states.select(owner >= 0), owner[owner >= 0]  # tokens of -1 belong to none
    counts = np.bincount(owner, minlength=items)
    reduced = segment_max if pooling == "max" else segment_sum
    vectors = np.stack([fetch(reduced(layer, owner, items)) for layer in kept.vectors])
    if pooling != "max":
        vectors /= np.maximum(counts, 1).astype(np.float32)[:, None]
    return vectors, counts > 0
