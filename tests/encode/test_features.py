"""Vectors of sentences and words: the means of their pieces, wherever they stand, and who has none."""

from __future__ import annotations

import numpy as np

import bsx
from bsx.encode.features import pooled_features
from bsx.encode.states import encode_texts
from tests.conftest import Model


def test_vectors_are_means_of_pieces_and_none_without_a_piece(tiny_model: Model) -> None:
    encoders = bsx.Encoders(model=tiny_model("bert"))
    located = encoders.locate(None)
    view, tokenizer = encoders.encoder(located).view([1, 2]), located.tokenizer()
    texts = ["the cat", "", "the cat", "rain " * 100]
    found = pooled_features([(text,) for text in texts], tokenizer, view, pooling="mean", budget=10**6)
    assert (found.present.tolist(), found.truncated) == ([True, False, True, True], 1)
    assert found.vectors.any(axis=(0, 2)).tolist() == found.present.tolist()
    states = encode_texts(texts[:1], tokenizer, view)
    for place in (0, 2):  # the mean of its pieces
        np.testing.assert_allclose(found.vectors[:, place], states.vectors[:, 1:-1].mean(axis=1), atol=1e-5)
    split = [tuple(text.split()) for text in texts]
    words = pooled_features(split, tokenizer, view, pooling="words", budget=10**6)
    read = (tokenizer.max_tokens or 0) - 2
    assert (words.present.tolist(), words.truncated) == ([True] * (4 + read) + [False] * (100 - read), 1)
    assert words.vectors.any(axis=(0, 2)).tolist() == words.present.tolist()
    for start, sentence in ((0, split[0]), (2, split[2]), (4, split[3])):
        alone = pooled_features([sentence], tokenizer, view, pooling="words", budget=10**6).vectors
        np.testing.assert_allclose(words.vectors[:, start : start + alone.shape[1]], alone, atol=1e-5)
