"""What is known of each word beside another text: how well its pieces match there, and what the word looks like."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.encode.rows import normalise
from bsx.risk.reading import ReadText
from bsx.support.arrays import within

Floats = NDArray[np.float64]
_OF_A_LAYER = 6
_OF_A_WORD = 10


def best_matches(text: ReadText, other: ReadText, layer: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return the best cosine of each piece with a piece of the other text, and which one that is (pieces,).

    Args:
        text: whose pieces.
        other: the other text; without pieces, every cosine is 0 and every match -1.
        layer: by its place among the layers that were read.
    """
    if not len(other.owner) or not len(text.owner):
        return np.zeros(len(text.owner)), np.full(len(text.owner), -1)
    cosines = within(text.pieces[layer] @ other.pieces[layer].T)
    return cosines.max(axis=1).astype(np.float64), cosines.argmax(axis=1)


def worst_piece(values: Floats, text: ReadText) -> Floats:
    """Return the lowest value among the pieces of each word (words,); NaN for words without pieces."""
    lowest = np.full(len(text.words), np.inf)
    np.minimum.at(lowest, text.owner, values)
    return np.where(text.seen, lowest, np.nan)


def word_features(text: ReadText, other: ReadText, layers: Sequence[int]) -> Floats:
    """Return what is known of each word of a text beside another text (words, features).

    For each layer: the best match of the word's worst piece and the mean of its pieces' best matches, by how much the
    match of the worst piece has a better match elsewhere, how far apart the two stand in their sentences, how far the
    word's vector is ahead of the second best word, and how well its two neighbours match. All of these once more less
    their mean over the sentence, and that mean. Then the word itself: its place, whether the other text has it too,
    lengths, letters, figures, capitals.

    Args:
        text: the text.
        other: its source, or its translation.
        layers: places of the layers to match on.
    """
    words = len(text.words)
    columns: list[Floats] = []
    for layer in layers:
        columns += _of_layer(text, other, layer)
    matched = np.nan_to_num(np.stack(columns, axis=1)) if words else np.zeros((0, _OF_A_LAYER * len(layers)))
    mean = matched.mean(axis=0, keepdims=True) if words else matched
    of_words = [_of_word(word, place, text, other) for place, word in enumerate(text.words)]
    pieces = np.bincount(text.owner, minlength=words)[:, None]
    surface = np.array(of_words, dtype=np.float64).reshape(words, _OF_A_WORD - 1)
    return np.concatenate([matched, matched - mean, np.repeat(mean, words, axis=0), surface, pieces], axis=1)


def _of_layer(text: ReadText, other: ReadText, layer: int) -> list[Floats]:
    words = len(text.words)
    if not words or not other.words:
        return [np.zeros(words)] * _OF_A_LAYER
    best, where = best_matches(text, other, layer)
    back, _ = best_matches(other, text, layer)
    worst = worst_piece(best, text)
    mean = np.bincount(text.owner, best, words) / np.maximum(np.bincount(text.owner, minlength=words), 1)
    elsewhere = np.zeros(words)
    apart = np.zeros(words)
    taken = best <= worst[text.owner]  # the pieces that are their word's worst
    of_worst = text.owner[taken]
    if len(other.owner):
        elsewhere[of_worst] = back[where[taken]] - best[taken]
        apart[of_worst] = np.abs((other.owner[where[taken]] + 0.5) / len(other.words) - (of_worst + 0.5) / words)
    unit = [normalise(one.vectors[layer]) for one in (text, other)]
    two = np.sort(within(unit[0] @ unit[1].T), axis=1)[:, ::-1][:, :2].astype(np.float64)
    ahead = two[:, 0] - two[:, 1] if two.shape[1] == 2 else two[:, 0]
    known = np.nan_to_num(worst)
    beside = np.concatenate([[known.mean()], known, [known.mean()]])
    return [worst, mean, elsewhere, apart, ahead, (beside[:-2] + beside[2:]) / 2]


def _of_word(word: str, place: int, text: ReadText, other: ReadText) -> list[float]:
    lower = word.casefold()
    others = {one.casefold() for one in other.words}
    kinds = {unicodedata.category(character)[0] for character in word}
    return [
        (place + 0.5) / len(text.words),
        float(lower in others),
        math.log(len(text.words)),
        math.log((len(text.words) + 1) / (len(other.words) + 1)),
        math.log(len(word)),
        float("L" not in kinds and "N" not in kinds),
        float("N" in kinds),
        float(word[0].isupper()),
        float(lower in {one.casefold() for one in text.words[:place]}),
    ]
