"""Units against their definitions written out: windows of tokens, power means, and which tokens are left out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bsx.encode.states import States
from bsx.errors import InputError
from bsx.match.ngrams import TokenFilter, ngram_units, power_means


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_windows_against_their_definition(n: int) -> None:
    draw = np.random.default_rng(n)
    lengths = [4, 0, 1, 3, 2]
    vectors, weights = draw.normal(size=(10, 3)).astype(np.float32), draw.uniform(0.5, 2, 10).astype(np.float32)
    weights[[1, 4, 8, 9]] = 0  # inside a text, a text of one token, and a whole text
    first = np.cumsum([0, *lengths[:-1]])
    rows: list[np.ndarray] = []
    masses, offsets, counts = [], [], []
    for start, length in zip(first.tolist(), lengths, strict=True):
        windows = [range(start + i, start + i + n) for i in range(length - n + 1)]
        windows = windows or [range(start, start + length)] * (length > 0)
        offsets.append(len(rows))
        counts.append(len(windows))
        for window in windows:
            mass = sum(float(weights[i]) for i in window)
            masses.append(mass)
            rows.append(sum(vectors[i] * (weights[i] if mass > 0 else 1) for i in window))
    units = ngram_units(vectors, weights, (first, np.array(lengths)), n)
    assert units.offsets.tolist() == offsets
    assert units.lengths.tolist() == counts
    # Sums of at most five numbers in fp32.
    np.testing.assert_allclose(units.masses, masses, rtol=1e-6)
    np.testing.assert_allclose(units.vectors, [row / np.linalg.norm(row) for row in rows], atol=1e-6)


def test_power_means_are_minimum_mean_and_maximum_over_layers() -> None:
    layers = np.array([[[1.0, -4.0]], [[2.0, 8.0]], [[6.0, 2.0]]])
    assert power_means(layers).tolist() == [[1, -4, 3, 2, 6, 8]]


MARKS = {
    "##": ["[CLS]", "[SEP]", "the", "cat", "##s", ",", "##,", "The", "##the"],
    "▁": ["<s>", "</s>", "▁the", "▁cat", "s", "▁,", ",", "▁The", "▁"],
    "Ġ": ["<s>", "</s>", "the", "Ġcat", "s", "Ġ,", ",", "ĠThe", "Ġ"],
    "</w>": ["<s>", "</s>", "the</w>", "ca", "t</w>", ",</w>", ",", "The</w>", "</w>"],
    "@@": ["<s>", "</s>", "the", "ca@@", "t", ",", ",@@", "The", "@@"],
    "none": ["<s>", "</s>", "the", "cat", "s", ",", ".", "The", "▁"],
}
"""Vocabularies that mark words in every way; the first two pieces are special."""
TEXTS = ((0, 2, 3, 4, 5, 6, 7, 8, 1), (4, 4, 6, 2))
"""A text with special tokens, and one without any."""
LEFT_OUT: list[tuple[str, dict[str, Any], list[int]]] = [
    # "##," continues a word: it is no punctuation, and "##the" no stop word.
    ("##", {"punctuation": True}, [4]),
    ("##", {"subwords": True}, [3, 5, 7, 9, 10, 11]),
    ("##", {"words": frozenset({"the"})}, [1, 6, 12]),
    # The first piece of a text begins a word, whatever it looks like.
    ("▁", {"punctuation": True}, [4, 5, 11]),
    ("▁", {"subwords": True}, [3, 5, 10, 11]),
    ("▁", {"words": frozenset({"the"})}, [1, 6, 12]),
    ("Ġ", {"punctuation": True}, [4, 5, 11]),
    ("Ġ", {"subwords": True}, [3, 5, 10, 11, 12]),
    ("Ġ", {"words": frozenset({"the", "</s>"})}, [1, 6, 12]),  # special tokens stay
    # A piece whose predecessor ends no word continues one.
    ("</w>", {"punctuation": True}, [4, 5, 11]),
    ("</w>", {"subwords": True}, [3, 6, 12]),
    ("@@", {"punctuation": True}, [4, 5, 11]),
    ("@@", {"subwords": True}, [3, 6, 12]),
    ("none", {"punctuation": True}, [4, 5, 11]),
    ("##", {}, []),
    ("@@", {"punctuation": True, "subwords": True, "words": frozenset({"the"})}, [1, 3, 4, 5, 6, 11, 12]),
]


def _tokenizer(pieces: list[str]) -> Any:
    special = np.arange(len(pieces)) < 2
    return SimpleNamespace(
        is_special=special, vocabulary_size=len(pieces), raw_pieces=lambda ids: [pieces[i] for i in ids]
    )


@pytest.mark.parametrize(("marks", "how", "left_out"), LEFT_OUT)
def test_which_tokens_are_left_out(marks: str, how: dict[str, Any], left_out: list[int]) -> None:
    ids = np.array([i for text in TEXTS for i in text])
    offsets, lengths = np.array([0, len(TEXTS[0])]), np.array([len(text) for text in TEXTS])
    states = States(np.zeros((1, len(ids), 2), dtype=np.float32), ids, offsets, lengths, np.zeros(2, dtype=np.int64))
    chosen = TokenFilter(_tokenizer(MARKS[marks]), **{"punctuation": False, "subwords": False, **how})
    for _ in range(2):  # pieces seen before are remembered
        assert np.flatnonzero(~chosen.keep(states)).tolist() == left_out


def test_pieces_inside_words_need_a_mark_on_a_hundredth_of_all() -> None:
    for pieces in (MARKS["none"], ["##x"] * 2 + ["x"] * 198):
        with pytest.raises(InputError):
            TokenFilter(_tokenizer(pieces), punctuation=False, subwords=True)
    TokenFilter(_tokenizer(["##x"] * 3 + ["x"] * 197), punctuation=False, subwords=True)
