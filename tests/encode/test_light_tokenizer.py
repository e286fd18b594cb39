"""Tokenizers that bsx loads by itself against those of transformers: equal ids, places, special tokens and limits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx.encode.light.sentencepiece import read_pieces
from bsx.encode.light.tokenizer import load_light
from bsx.encode.tokenizer import load_tokenizer
from bsx.errors import InputError
from tests.conftest import SHARED

KINDS = (
    "bert",
    "bert-cased",
    "bert-chinese",
    "roberta",
    "xlm-roberta",
    "distilbert",
    "electra",
    "albert",
    "deberta",
    "deberta-v2",
    "mpnet",
)
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


def assert_alike(folder: Path, texts: list[str], words: str = "") -> None:
    """Compare with transformers, but for ``words``: it lists them as special, and says of each that it is not."""
    ours = load_light(folder, json.loads((folder / "config.json").read_text())["model_type"])
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
    assert not any(theirs.added_tokens_decoder[i].special for i in theirs.convert_tokens_to_ids([*words]))
    assert sorted(ours.all_special_ids) == sorted({*theirs.all_special_ids} - {*theirs.convert_tokens_to_ids([*words])})
    for name in ("unk_token_id", "cls_token_id", "sep_token_id", "model_max_length", "truncation_side"):
        assert getattr(ours, name) == getattr(theirs, name), name
    ids = list(range(min(200, len(theirs))))
    assert ours.convert_ids_to_tokens(ids) == theirs.convert_ids_to_tokens(ids)
    assert [ours.decode([i]).strip() for i in ids] == [theirs.decode([i]).strip() for i in ids]


@pytest.mark.parametrize("kind", KINDS)
def test_ids_and_places_are_those_of_transformers(kind: str, tiny_model: Callable[[str], str]) -> None:
    assert_alike(Path(tiny_model(kind)), TEXTS)


@pytest.mark.parametrize(("kind", "kept"), [("bert", "vocab.txt"), ("roberta", "vocab.json"), ("mpnet", "vocab.txt")])
def test_older_files_are_read_too(kind: str, kept: str, tiny_model: Callable[[str], str], tmp_path: Path) -> None:
    folder = tmp_path / kind
    shutil.copytree(tiny_model(kind), folder)
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    if kept == "vocab.txt":
        (folder / kept).write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    else:
        (folder / kept).write_text(json.dumps(model["vocab"]))
        pairs = (pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"])
        (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{pair}\n" for pair in pairs), encoding="utf-8")
    (folder / "tokenizer.json").unlink()
    assert_alike(folder, TEXTS)


def sentencepiece_file(folder: Path, *, name: str = "spm", **settings: Any) -> None:
    """Write a small file of SentencePiece, by its own trainer."""
    import sentencepiece

    words = ["the", "cat", "sat", "mat", "and", "old", "man", "walked", "slowly", "river", "rain", "一只猫坐在垫子上"]
    rng = np.random.default_rng(1)
    lines = (" ".join(rng.choice(words, 8)) for _ in range(300))
    (folder / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text.txt"),
        model_prefix=str(folder / name),
        vocab_size=45,
        hard_vocab_limit=False,
        minloglevel=2,
        **settings,
    )


def test_files_of_sentencepiece_are_read_as_their_own_package_reads_them(tmp_path: Path) -> None:
    import sentencepiece

    sentencepiece_file(tmp_path)
    found = read_pieces(tmp_path / "spm.model")
    processor: Any = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "spm.model"))
    size = processor.get_piece_size()
    assert [piece for piece, _ in found.scored] == [processor.id_to_piece(i) for i in range(size)]
    assert [score for _, score in found.scored] == pytest.approx([processor.get_score(i) for i in range(size)])
    assert found.added == [("<s>", True), ("</s>", True)]
    assert found.charsmap
    whole = (tmp_path / "spm.model").read_bytes()
    for content in (b"", whole[:-7], b"\xff" * 40):
        (tmp_path / "cut.model").write_bytes(content)
        with pytest.raises(InputError, match="cut.model"):
            read_pieces(tmp_path / "cut.model")


FILES_ALONE: dict[str, tuple[str, dict[str, Any]]] = {
    "xlm-roberta": ("sentencepiece.bpe", {}),
    "camembert": ("sentencepiece.bpe", {}),
    "albert": (
        "spiece",
        {
            "pad_id": 0,
            "unk_id": 1,
            "bos_id": -1,
            "eos_id": -1,
            "control_symbols": "[CLS],[SEP],[MASK]",
            "user_defined_symbols": [*'()"-.–£€'],
        },
    ),
    "deberta-v2": (
        "spm",
        {
            "pad_id": 0,
            "bos_id": 1,
            "eos_id": 2,
            "unk_id": 3,
            "pad_piece": "[PAD]",
            "bos_piece": "[CLS]",
            "eos_piece": "[SEP]",
            "unk_piece": "[UNK]",
        },
    ),
}
"""What the published files of these architectures are called, and how they were trained."""


@pytest.mark.parametrize("kind", FILES_ALONE)
@pytest.mark.parametrize(
    "said", [{}, {"do_lower_case": True, "keep_accents": True}, {"add_prefix_space": False}], ids=str
)
def test_a_file_of_sentencepiece_is_enough(kind: str, said: dict[str, Any], tmp_path: Path) -> None:
    name, settings = FILES_ALONE[kind]
    words = "".join(settings.get("user_defined_symbols", ""))
    sentencepiece_file(tmp_path, name=name, **settings)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    if said:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(said))
    assert_alike(tmp_path, [*TEXTS, "the Cat and  theold man, sat (slowly) - £5 [MASK] 一只猫坐在 rainriver"], words)


def test_a_class_that_is_not_known_is_left_to_transformers(tiny_model: Callable[[str], str]) -> None:
    assert load_light(Path(tiny_model("t5")), "t5") is None


@pytest.mark.slow
@pytest.mark.parametrize("model", ["minilm", "me5-small-q4"])
def test_ten_thousand_texts_in_all_scripts_at_hand(model: str) -> None:
    from bsx.catalog.catalog import shipped
    from bsx.models.choice import choose
    from bsx.models.locate import locate

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
