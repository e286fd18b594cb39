"""Special tokens, limits and leading spaces of every tokenizer family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from bsx import Scorer
from bsx.encode.tokenizer import Tokenizer, load_tokenizer
from tests.helpers import tiny

TEXT = "The old cat sat on a mat, quickly!"
FRAMES = {
    "bert": (["[CLS]"], ["[SEP]"]),
    "roberta": (["<s>"], ["</s>"]),
    "xlm": (["<s>"], ["</s>"]),
    "xlnet": ([], ["<sep>", "<cls>"]),
    "t5": ([], ["</s>"]),
    "byt5": ([], ["</s>"]),
    "mbart": ([], ["</s>", "en_XX"]),
    "deberta": (["[CLS]"], ["[SEP]"]),
    "mpnet": (["<s>"], ["</s>"]),
}


def tokenizer_of(folder: str, **settings: object) -> Tokenizer:
    from pathlib import Path

    return Tokenizer(load_tokenizer(Path(folder)), position_limit=None, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", tiny.RECIPES)
def test_ids_are_those_of_the_tokenizer_itself(kind: str, tiny_model: Callable[[str], str]) -> None:
    inner = AutoTokenizer.from_pretrained(tiny_model(kind))
    ours = tokenizer_of(tiny_model(kind))
    for text in (TEXT, "cat", "", "我们 ж\u2028 x"):
        assert ours.tokenize([text])[0].ids.tolist() == inner(text.strip())["input_ids"]


@pytest.mark.parametrize("kind", FRAMES)
def test_every_special_token_weighs_nothing(kind: str, tiny_model: Callable[[str], str]) -> None:
    inner = AutoTokenizer.from_pretrained(tiny_model(kind))
    ours = tokenizer_of(tiny_model(kind))
    before, after = FRAMES[kind]
    assert inner.convert_ids_to_tokens(ours.prefix) == before
    assert inner.convert_ids_to_tokens(ours.suffix) == after
    ids = ours.tokenize([TEXT])[0].ids
    content = slice(len(before), len(ids) - len(after))
    assert not ours.weighs_nothing[ids[content]].any()
    assert ours.weighs_nothing[ids[: len(before)]].all()
    assert ours.weighs_nothing[ids[len(ids) - len(after) :]].all()
    assert not ours.is_special[inner.unk_token_id]


def test_surrounding_white_space_does_not_count(tiny_model: Callable[[str], str]) -> None:
    for kind in ("bert", "roberta", "t5"):
        ours = tokenizer_of(tiny_model(kind))
        assert ours.contents(["\t the cat \n", " "]) == ours.contents(["the cat", ""])


def test_leading_space_reads_the_first_word_as_any_other(tiny_model: Callable[[str], str]) -> None:
    spaced = tokenizer_of(tiny_model("roberta"), leading_space=True)
    plain = tokenizer_of(tiny_model("roberta"))
    assert spaced.contents(["the cat"])[0] == plain.contents(["x the cat"])[0][1:]
    assert spaced.contents(["the cat"]) != plain.contents(["the cat"])
    assert spaced.contents([""]) == [[]]


def test_limit_is_the_models_where_the_tokenizer_names_none(tiny_model: Callable[[str], str]) -> None:
    # RoBERTa's table of positions has two rows that no token can use.
    for kind, limit in (("bert", 64), ("roberta", 64), ("bart", 64), ("xlm", 64)):
        scorer = Scorer(tiny_model(kind), layer=1)
        assert scorer.metric.located.architecture.position_limit == limit
        assert scorer.tokenizer.max_tokens == limit
        full = scorer.score(["cat " * 200], ["cat " * 200])  # the longest sequence runs through the model
        assert full.f1[0] == pytest.approx(1, abs=1e-5)
    inner = AutoTokenizer.from_pretrained(tiny_model("t5"))
    inner.model_max_length = int(1e30)
    assert Tokenizer(inner, position_limit=None).max_tokens is None


def test_pieces_are_readable(tiny_model: Callable[[str], str]) -> None:
    ours = tokenizer_of(tiny_model("roberta"))
    assert ours.pieces(ours.tokenize(["of an"])[0].ids.tolist()) == ["<s>", "of", "an", "</s>"]


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta", "xlm", "t5"])
@pytest.mark.parametrize("space", [False, True])
def test_pieces_know_their_white_space_word(tiny_model: Callable[[str], str], kind: str, space: bool) -> None:
    tokenizer = Tokenizer(load_tokenizer(Path(tiny_model(kind))), position_limit=64, leading_space=space)
    text = "the cat, walked  to café train."
    ids = tokenizer.contents([text])[0]
    words = tokenizer.words(text)
    assert len(words) == len(ids)
    assert sorted(set(words.tolist())) == list(range(6))
    assert (np.diff(words) >= 0).all()
    for number, word in enumerate(text.split()):
        piece = "".join(tokenizer.pieces([i for i, w in zip(ids, words, strict=True) if w == number]))
        assert word[0] in piece
