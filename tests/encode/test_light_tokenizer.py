"""Tokenizers that bsx loads by itself against those of transformers: equal ids, places, special tokens and limits."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx.encode.tokenizer import load_light, load_tokenizer
from bsx.errors import MissingExtraError
from tests.conftest import SHARED, Model

KINDS = ("bert", "bert-cased", "bert-chinese", "roberta", "xlm-roberta", "distilbert", "electra", "albert", "mpnet")
TEXTS = [
    "",
    " ",
    "a",
    "The cat sat on the mat, slowly.",
    "[SEP] x [MASK] <mask> </s> <s> [UNK] [PAD] <pad> hi",
    "Ünïcödé ﬁ ligature na\u0308ive ẞ İstanbul",
    "a  b\tc\u00a0d\r\ne\u3000f",
    "🤗 emoji 👩‍👩‍👧 ☂️",
    "it's \u2019quoted\u2019 ``x'' don't . ,",
    "\u0000\ufffd\u200b zero",
    "ＡＢＣ full ①",
    "一只猫坐在垫子上。今天天气很好",
    "Он никогда не звонит. नमस्ते दुनिया สวัสดี مرحبا 안녕",
    "x" * 300,
    "3.14 1,000 -- --- ... !!",
]


def assert_alike(folder: Path, texts: list[str]) -> None:
    ours = load_light(folder)
    theirs: Any = load_tokenizer(folder)
    assert ours is not None
    for special in (False, True):
        got = ours(texts, add_special_tokens=special, return_offsets_mapping=True)
        quick = ours(texts, add_special_tokens=special)
        wanted = theirs(texts, add_special_tokens=special, return_offsets_mapping=True, verbose=False)
        for i, text in enumerate(texts):
            assert list(got["input_ids"][i]) == list(quick["input_ids"][i]) == list(wanted["input_ids"][i]), text
            assert [*map(tuple, got["offset_mapping"][i])] == [*map(tuple, wanted["offset_mapping"][i])], text
    assert len(ours) == len(theirs)
    assert sorted(ours.all_special_ids) == sorted(theirs.all_special_ids)
    for name in ("unk_token_id", "cls_token_id", "sep_token_id", "model_max_length", "truncation_side"):
        assert getattr(ours, name) == getattr(theirs, name), name
    ids = list(range(min(200, len(theirs))))
    assert ours.convert_ids_to_tokens(ids) == theirs.convert_ids_to_tokens(ids)
    assert [ours.decode([i]).strip() for i in ids] == [theirs.decode([i]).strip() for i in ids]


@pytest.mark.parametrize("kind", KINDS)
def test_ids_and_places_are_those_of_transformers(kind: str, tiny_model: Model) -> None:
    assert_alike(Path(tiny_model(kind)), TEXTS)


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta", "albert", "mpnet"])
def test_special_tokens_that_nobody_names_are_the_usual_ones(kind: str, tiny_model: Model, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model(kind), tmp_path / kind))
    (folder / "tokenizer_config.json").unlink()
    ours, named = load_light(folder), load_light(Path(tiny_model(kind)))
    assert ours is not None
    assert named is not None
    for name in ("unk_token_id", "cls_token_id", "sep_token_id", "all_special_ids"):
        assert getattr(ours, name) == getattr(named, name), name


def test_a_folder_without_tokenizer_json_is_left_to_transformers(
    tiny_model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(tiny_model("bert"), tmp_path / "older"))
    whole = load_light(folder)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in vocabulary), encoding="utf-8")
    (folder / "tokenizer.json").unlink()
    assert whole is not None
    assert load_light(folder) is load_light(Path(tiny_model("t5"))) is None  # as is a class that is not known
    assert load_tokenizer(folder, light=True)(TEXTS)["input_ids"] == whole(TEXTS)["input_ids"]
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"no tokenizer.json.*\[torch\]"):
        load_tokenizer(folder, light=True)


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("bert", {"do_lower_case": False}),
        ("distilbert", {"strip_accents": False}),
        ("mpnet", {"tokenize_chinese_chars": False}),
        ("roberta", {"add_prefix_space": True}),
        ("xlm-roberta", {"add_prefix_space": False}),
        ("albert", {"keep_accents": True}),
    ],
)
def test_a_file_that_contradicts_the_settings_of_its_class_is_left_to_transformers(
    kind: str, setting: dict[str, bool], tiny_model: Model, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(tiny_model(kind), tmp_path / kind))
    assert load_light(folder) is not None
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **setting}))
    assert load_light(folder) is None


@pytest.mark.slow
@pytest.mark.parametrize("model", ["minilm", "me5-small-q4"])
def test_ten_thousand_texts_in_all_scripts_at_hand(model: str) -> None:
    from bsx.catalog.catalog import shipped
    from bsx.encode.model import choose, locate

    files = [file for file in sorted((SHARED / "data" / "mono").rglob("*")) if file.is_file() and file.suffix != ".gz"]
    if not files:
        pytest.skip("needs the shared data")
    rng = np.random.default_rng(7)
    each = -(-10_000 // len(files))
    texts: list[str] = []
    for file in files:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        texts += [lines[i] for i in rng.permutation(len(lines))[:each]]
    assert_alike(locate(choose(model, None, shipped()), shipped()).folder, [*TEXTS, *texts])
