"""Frozen vectors of sentences and words from every layer: what probes are fitted on."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from bsx.encode.states import LayerView, States, encode_texts, segment_max, segment_sum
from bsx.encode.tokenizer import Tokenizer
from bsx.errors import InputError
from bsx.support.arrays import beside, fetch
from bsx.support.progress import Progress

Pooling = Literal["mean", "cls", "max"]
Item = TypeVar("Item")
_BLOCK = 256  # texts encoded at once


@dataclass(frozen=True)
class Features:
    """Vectors of items.

    Attributes:
        vectors: (layers, items, dim), fp32; a memory map of a temporary file if they exceed the budget.
        found: items that have a token of their own (items,); the vectors of others are zero.
        truncated: texts that the model's length limit cut.
    """

    vectors: NDArray[np.float32]
    found: NDArray[np.bool_]
    truncated: int


def sentence_features(
    texts: Sequence[str],
    tokenizer: Tokenizer,
    view: LayerView,
    *,
    pooling: Pooling = "mean",
    specials: bool = False,
    budget: int,
    progress: Progress | None = None,
) -> Features:
    """Return one vector a text from each layer; each distinct text is encoded once.

    Args:
        texts: the texts.
        tokenizer: the encoder's tokenizer.
        view: the encoder's layers.
        pooling: ``mean`` or ``max`` over tokens, or ``cls``: the special token in front.
        specials: whether special tokens take part in mean and max.
        budget: bytes of vectors to hold in memory; more go to a temporary file.
        progress: called with a phase's name, texts done and texts in all.

    Raises:
        InputError: for ``cls`` if the model puts no special token in front of a text.
    """
    if pooling == "cls" and not tokenizer.prefix:
        raise InputError("this model puts no special token in front of a text: use pooling mean or max")
    rows_of: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        rows_of.setdefault(text, []).append(row)
    vectors = _room((len(view.layers), len(texts), view.dimensions), budget)
    result = np.zeros(len(texts), dtype=bool)
    truncated = 0
    for block in _blocks(list(rows_of), progress):
        states = encode_texts(block, tokenizer, view)
        view.shared.forget()
        truncated += int((states.lost > 0).sum())
        pooled, present = _pool(states, tokenizer, pooling, specials)
        for i, text in enumerate(block):
            vectors[:, rows_of[text]] = pooled[:, i, None]
            result[rows_of[text]] = present[i]
    return Features(vectors, result, truncated)


def word_features(
    sentences: Sequence[Sequence[str]],
    tokenizer: Tokenizer,
    view: LayerView,
    *,
    budget: int,
    progress: Progress | None = None,
) -> Features:
    """Return one vector a word from each layer, the mean of its pieces, word after word, sentence after sentence.

    Args:
        sentences: the words of each sentence; they are joined by spaces and read in context.
        tokenizer: the encoder's tokenizer.
        view: the encoder's layers.
        budget: bytes of vectors to hold in memory; more go to a temporary file.
        progress: called with a phase's name, sentences done and sentences in all.
    """
    starts: dict[tuple[str, ...], list[int]] = {}  # sentence -> items of its first word, wherever it stands
    total = 0
    for words in sentences:
        starts.setdefault(tuple(words), []).append(total)
        total += len(words)
    vectors = _room((len(view.layers), total, view.dimensions), budget)
    result = np.zeros(total, dtype=bool)
    truncated = 0
    for block in _blocks(list(starts), progress):
        states = encode_texts([" ".join(words) for words in block], tokenizer, view)
        view.shared.forget()
        truncated += int((states.lost > 0).sum())
        first, owners = 0, []
        for words, owner in zip(block, tokenizer.word_of(block), strict=True):
            owners.append(np.where(owner < 0, -1, owner + first))
            first += len(words)
        pooled, present = _mean(states, np.concatenate(owners), first)
        first = 0
        for words in block:
            for start in starts[words]:
                vectors[:, start : start + len(words)] = pooled[:, first : first + len(words)]
                result[start : start + len(words)] = present[first : first + len(words)]
            first += len(words)
    return Features(vectors, result, truncated)


def _room(shape: tuple[int, int, int], budget: int) -> NDArray[np.float32]:
    if int(np.prod(shape)) * 4 <= budget:
        return np.zeros(shape, dtype=np.float32)
    with tempfile.TemporaryFile(prefix="bsx-features-") as stream:  # the map keeps the file until it is let go
        return np.memmap(stream, dtype=np.float32, mode="w+", shape=shape)


def _blocks(items: list[Item], progress: Progress | None) -> Iterator[list[Item]]:
    for start in range(0, len(items), _BLOCK):
        yield items[start : start + _BLOCK]
        if progress is not None:
            progress("encoding", min(start + _BLOCK, len(items)), len(items))


def _pool(
    states: States, tokenizer: Tokenizer, pooling: Pooling, specials: bool
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return vectors (layers, texts, dim) and which texts have a token to pool (texts,)."""
    texts = len(states.lengths)
    if pooling == "cls":
        rows = beside(states.offsets, states.vectors)
        return fetch(states.vectors[:, rows]), np.ones(texts, dtype=bool)
    owner = states.text_of()
    if not specials:
        owner = np.where(tokenizer.is_special[states.ids], -1, owner)
    if pooling == "mean":
        return _mean(states, owner, texts)
    vectors, owner = states.select(owner >= 0).vectors, owner[owner >= 0]
    highest = np.stack([fetch(segment_max(layer, owner, texts)) for layer in vectors])
    return highest, np.bincount(owner, minlength=texts) > 0


def _mean(states: States, owner: NDArray[np.int64], items: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the mean (layers, items, dim) of the tokens of each item; tokens of owner -1 belong to none."""
    kept = states.select(owner >= 0)
    owner = owner[owner >= 0]
    counts = np.bincount(owner, minlength=items)
    sums = np.stack([fetch(segment_sum(layer, owner, items)) for layer in kept.vectors])
    sums /= np.maximum(counts, 1).astype(np.float32)[:, None]
    return sums, counts > 0
