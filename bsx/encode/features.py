"""Frozen vectors of sentences and words from every layer: what probes are fitted on."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.encode.states import LayerView, States, encode_texts, segment_max, segment_sum
from bsx.encode.tokenizer import Tokenizer
from bsx.errors import InputError
from bsx.support.arrays import beside, fetch
from bsx.support.progress import Progress

Pooling = Literal["mean", "cls", "max"]
Words = tuple[str, ...]  # of a sentence; a sentence that gets one vector is one word
Pooled = tuple[NDArray[np.float32], NDArray[np.bool_]]  # vectors (layers, items, dim); which have a token (items,)
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

    def pool(block: Sequence[Words], states: States) -> Pooled:
        if pooling == "cls":
            rows = beside(states.offsets, states.vectors)
            return fetch(states.vectors[:, rows]), np.ones(len(block), dtype=bool)
        owner = states.text_of()
        if not specials:
            owner = np.where(tokenizer.is_special[states.ids], -1, owner)
        if pooling == "mean":
            return _mean(states, owner, len(block))
        vectors, owner = states.select(owner >= 0).vectors, owner[owner >= 0]
        highest = np.stack([fetch(segment_max(layer, owner, len(block))) for layer in vectors])
        return highest, np.bincount(owner, minlength=len(block)) > 0

    return _features([(text,) for text in texts], tokenizer, view, pool, budget, progress)


def word_features(
    sentences: Sequence[Sequence[str]],
    tokenizer: Tokenizer,
    view: LayerView,
    *,
    budget: int,
    progress: Progress | None = None,
) -> Features:
    """Return one vector a word from each layer, the mean of its pieces, word after word, sentence after sentence.

    The words of a sentence are joined by spaces and read in context. Arguments are as of `sentence_features`.
    """

    def pool(block: Sequence[Words], states: States) -> Pooled:
        first, owners = 0, []
        for words, owner in zip(block, tokenizer.word_of(block), strict=True):
            owners.append(np.where(owner < 0, -1, owner + first))
            first += len(words)
        return _mean(states, np.concatenate(owners), first)

    return _features(sentences, tokenizer, view, pool, budget, progress)


def _features(
    sentences: Sequence[Sequence[str]],
    tokenizer: Tokenizer,
    view: LayerView,
    pool: Callable[[Sequence[Words], States], Pooled],
    budget: int,
    progress: Progress | None,
) -> Features:
    """Encode each distinct sentence once and pool its states to a vector an item, wherever it stands."""
    starts: dict[Words, list[int]] = {}  # sentence -> its first item, at each place where it stands
    total = 0
    for words in sentences:
        starts.setdefault(tuple(words), []).append(total)
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
        pooled, has_token = pool(block, states)
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


def _mean(states: States, owner: NDArray[np.int64], items: int) -> Pooled:
    """Return the mean (layers, items, dim) of the tokens of each item; tokens of owner -1 belong to none."""
    kept = states.select(owner >= 0)
    owner = owner[owner >= 0]
    counts = np.bincount(owner, minlength=items)
    sums = np.stack([fetch(segment_sum(layer, owner, items)) for layer in kept.vectors])
    sums /= np.maximum(counts, 1).astype(np.float32)[:, None]
    return sums, counts > 0
