"""What is known of words: best matches, where words have no piece or the other text is empty, and the network."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import bsx
from bsx.errors import InputError
from bsx.risk.explainer import (
    ReadText,
    TrainedNetwork,
    best_matches,
    idf_weights,
    mean_rank,
    ranks,
    rarities,
    rarity_features,
    rarity_of,
    read_texts,
    trained_rank,
    word_features,
    worst_piece,
    written_in,
)
from bsx.risk.network import RiskNetwork


@pytest.fixture(scope="module")
def read(tiny_model: Callable[[str], str]) -> dict[str, ReadText]:
    encoders = bsx.Encoders(model=tiny_model("bert"))
    located = encoders.locate(None)
    view = encoders.encoder(located).view([1, 2])
    return read_texts(["the cats sat", "a cat sat", "", "one"], located.tokenizer(), view)


def test_the_worst_piece_of_a_word_speaks_for_it(read: dict[str, ReadText]) -> None:
    text, other = read["the cats sat"], read["a cat sat"]
    best, where = best_matches(text, other, 1)
    cosines = text.pieces[1] @ other.pieces[1].T
    np.testing.assert_allclose(best, cosines.max(axis=1), rtol=1e-6)
    assert (where == cosines.argmax(axis=1)).all()
    worst = worst_piece(best, text)
    for word in range(3):
        assert worst[word] == best[text.owner == word].min()


def test_every_pair_of_texts_has_finite_features(read: dict[str, ReadText]) -> None:
    sizes = set()
    for text in read.values():
        for other in read.values():
            found = word_features(text, other, range(2))
            assert found.shape[0] == len(text.words)
            assert np.isfinite(found).all()
            sizes.add(found.shape[1])
    assert sizes == {2 * 3 * 6 + 10}


def test_the_network_reads_a_text_alone_as_in_a_batch() -> None:
    torch.manual_seed(0)
    network = RiskNetwork(5, 4).eval()
    inputs, words = torch.randn(2, 6, 5), torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
    together = network(inputs, words)
    alone = network(inputs[1:, :3], words[1:, :3])
    torch.testing.assert_close(together[1, :3], alone[0], rtol=1e-5, atol=1e-6)
    arrays = {name: value.numpy() for name, value in network.state_dict().items()}
    without = TrainedNetwork(arrays, "it").logits(inputs[1, :3].numpy())
    np.testing.assert_allclose(without, alone[0].detach().numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(InputError, match="it: does not hold the weights .*'centre'"):
        TrainedNetwork({"entrance.weight": np.zeros((4, 5))}, "it")
    with pytest.raises(InputError, match="shape of centre"):
        TrainedNetwork({**arrays, "centre": np.zeros(3)}, "it")


def test_words_of_every_text_have_no_weight() -> None:
    weights = idf_weights(["The cat", "the dog", "the dog"])
    assert weights["the"] == 0
    assert weights["cat"] == pytest.approx(0.5)  # log(4 / 2) / log(4)
    assert weights["dog"] < weights["cat"]


def test_a_word_is_rare_among_the_texts_given_alone() -> None:
    rarity = rarities(["The cat, the dog", "the «dog»"])
    assert rarity["the"] == pytest.approx(np.log(7 / 4))  # 3 of 6 words
    assert rarity["dog"] == pytest.approx(np.log(7 / 3))
    assert rarity_of(["DOG!", "unseen"], rarity).tolist() == [rarity["dog"], rarity["cat"]]
    features = rarity_features(["the", "dog"], rarity)
    np.testing.assert_allclose(features.sum(axis=0)[1:], 0, atol=1e-12)
    assert rarity_features([], rarity).shape == (0, 3)
    assert rarities([]) == {}


def test_ranks_say_nothing_of_how_many_words_are_errors() -> None:
    assert ranks(np.array([3.0, 1.0, 1.0, 9.0])).tolist() == [0.625, 0.25, 0.25, 0.875]
    rarity = rarities(["a long sentence"])
    found = mean_rank(np.array([0.1, 0.2, 0.3]), ["a", "long", "sentence"], rarity)
    np.testing.assert_allclose(found, [(1 / 6 + 1 / 6 + 1 / 2) / 3, 0.5, (5 / 6 + 5 / 6 + 1 / 2) / 3])
    np.testing.assert_allclose(trained_rank(found, np.array([5.0, -5.0, 0.0])).mean(), 0.5)
    assert mean_rank(np.zeros(0), [], rarity).shape == (0,)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("She returned the book to him.", "en"),
        ("Sie gab ihm das Buch in der Stadt zurück.", "Latn"),
        ("वह किताब है", "Deva"),
        ("这是一本书", "Hani"),
        ("12 %", "Latn"),
        ("", "Latn"),
    ],
)
def test_pairs_are_told_by_english_and_script(text: str, kind: str) -> None:
    assert written_in([text]) == kind
