"""Special tokens, limits and leading spaces of every tokenizer family."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from transformers import AutoTokenizer

from bsx import Scorer
from bsx.encode.tokenizer import Tokenizer, load_tokenizer
from tests.conftest import Model
from tests.helpers import tiny
from tests.helpers.oracle import bertscore
from tests.helpers.oracle_metrics import hidden_states

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


def tokenizer_of(folder: str, **settings: Any) -> Tokenizer:
    return Tokenizer(load_tokenizer(Path(folder)), **{"position_limit": None, **settings})


@pytest.mark.parametrize("kind", tiny.RECIPES)
def test_ids_are_those_of_the_tokenizer_itself(kind: str, tiny_model: Model) -> None:
    inner = AutoTokenizer.from_pretrained(tiny_model(kind))
    ours = tokenizer_of(tiny_model(kind))
    for text in (TEXT, "\t the cat \n", " ", "", "我们 ж\u2028 x"):  # white space around it does not count
        assert ours.tokenize([text])[0].ids.tolist() == inner(text.strip())["input_ids"]


@pytest.mark.parametrize("kind", FRAMES)
def test_every_special_token_weighs_nothing(kind: str, tiny_model: Model) -> None:
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


@pytest.mark.usefixtures("any_backend")
def test_limit_is_the_models_where_the_tokenizer_names_none(tiny_model: Model) -> None:
    # RoBERTa's table of positions has two rows that no token can use.
    for kind, limit in (("bert", 64), ("roberta", 64), ("bart", 64), ("xlm", 64)):
        scorer = Scorer(model=tiny_model(kind), layer=1)
        assert scorer.metric.located.architecture.position_limit == limit
        assert scorer.tokenizer.max_tokens == limit
        full = scorer.score(["cat " * 200], ["cat " * 200])  # the longest sequence runs through the model
        assert full.f1[0] == pytest.approx(1, abs=1e-5)
    inner = AutoTokenizer.from_pretrained(tiny_model("t5"))
    inner.model_max_length = int(1e30)
    assert Tokenizer(inner, position_limit=None).max_tokens is None


def test_pieces_are_readable(tiny_model: Model) -> None:
    ours = tokenizer_of(tiny_model("roberta"))
    assert ours.pieces(ours.tokenize(["of an"])[0].ids.tolist()) == ["<s>", "of", "an", "</s>"]


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta", "xlm", "t5"])
@pytest.mark.parametrize("space", [False, True])
def test_pieces_know_their_white_space_word(tiny_model: Model, kind: str, space: bool) -> None:
    tokenizer = tokenizer_of(tiny_model(kind), position_limit=64, leading_space=space)
    text = "the cat, walked  to café train."
    ids = tokenizer.contents([text])[0]
    words = tokenizer.words(text)
    assert len(words) == len(ids)
    assert tokenizer.contents([""]) == [[]]
    assert sorted(set(words.tolist())) == list(range(6))
    assert (np.diff(words) >= 0).all()
    for number, word in enumerate(text.split()):
        piece = "".join(tokenizer.pieces([i for i, w in zip(ids, words, strict=True) if w == number]))
        assert word[0] in piece


@pytest.mark.parametrize("kind", ["bert", "roberta", "t5", "mbart", "xlnet"])
def test_a_prefix_is_context_whose_vectors_are_not_kept(kind: str, tiny_model: Model) -> None:
    made = partial(tokenizer_of, tiny_model(kind), position_limit=16, leading_space=kind == "roberta")
    plain, ours, pooled = made(), made(before="the mat: "), made(before="the mat: ", keep_before=True)
    lead = plain.contents(["the mat:"])[0]
    (text,), (bare,), (whole,) = (one.tokenize(["a cat"]) for one in (ours, plain, pooled))
    content = plain.contents(["a cat"])[0]
    assert text.spans[0].ids == whole.ids.tolist() == [*plain.prefix, *lead, *content, *plain.suffix]
    assert text.ids.tolist() == bare.ids.tolist()
    assert [text.spans[0].ids[at] for at in text.spans[0].positions] == bare.ids.tolist()
    assert ours.word_of([["a", "cat"]])[0].tolist() == plain.word_of([["a", "cat"]])[0].tolist()
    assert len(pooled.word_of([["a", "cat"]])[0]) == len(whole.ids)
    long = " ".join(["cat sat mat on a"] * 4)
    cut, windows = ours.tokenize([long])[0], made(before="the mat:", long="window").tokenize([long])[0]
    assert cut.lost == plain.tokenize([long])[0].lost + len(lead)
    assert windows.ids.tolist() == [*plain.prefix, *plain.contents([long])[0], *plain.suffix]
    assert len(windows.spans) > 1
    for span in windows.spans:
        assert len(span.ids) <= 16
        assert span.ids[len(plain.prefix) :][: len(lead)] == lead


@pytest.mark.parametrize("backend", ["torch", "onnx"])
def test_a_prefix_is_never_matched(backend: Literal["torch", "onnx"], tiny_model: Model) -> None:
    if backend == "onnx":
        pytest.importorskip("onnxruntime")
    folder, pair = tiny_model("bert"), ("the old cat", "a cat sat on the mat")
    scorer = Scorer(model=folder, layer=2, prefix="the mat:", backend=backend)
    lead = len(hidden_states(folder, "the mat:")[0]) - 2
    states = [hidden_states(folder, f"the mat: {text}")[1][2] for text in pair]
    sides = [np.concatenate([of[:1], of[1 + lead :]]) for of in states]
    expected = bertscore(sides[0], sides[1], *([0.0, *[1.0] * (len(side) - 2), 0.0] for side in sides))
    scores = scorer.score(*([text] for text in pair))
    assert (scores.precision[0], scores.recall[0], scores.f1[0]) == pytest.approx(expected, abs=1e-5)
    alignment = scorer.align(*pair)
    assert alignment.cosines.shape == tuple(map(len, sides))
    assert alignment.precision == pytest.approx(expected[0], abs=1e-5)
    plain = Scorer(model=folder, layer=2, backend=backend)
    assert "|prefix:the mat:|" in str(scorer.signature())
    assert "prefix" not in str(plain.signature())
    assert scorer.count_idf(["cat sat"]).digest == plain.count_idf(["cat sat"]).digest
