"""Model folders that are damaged: each ends in one line that names the file, whatever the libraries make of it."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli, Model, Outcome
from tests.helpers import tiny

Change = Callable[[Path], object]

pytestmark = pytest.mark.usefixtures("any_backend")


def config(**changes: Any) -> Change:
    return lambda folder: tiny.rewrite(folder, **changes)


def edit(name: str, change: Callable[[Any], object]) -> Change:
    def apply(folder: Path) -> None:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        change(content)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")

    return apply


def without(name: str, *keys: str) -> Change:
    return edit(name, lambda content: [content.pop(key) for key in keys])


def gone(pattern: str, *, folder_instead: bool = False) -> Change:
    def apply(folder: Path) -> None:
        for file in list(folder.glob(pattern)):
            file.unlink()
            if folder_instead:
                file.mkdir()

    return apply


def put(name: str, content: bytes) -> Change:
    return lambda folder: (folder / name).write_bytes(content)


def cut(name: str, share: float) -> Change:
    return lambda folder: os.truncate(folder / name, int((folder / name).stat().st_size * share))


def tensors(change: Callable[[dict[str, Any]], object]) -> Change:
    def changed(held: dict[str, Any]) -> dict[str, Any]:
        change(held)
        return held

    return lambda folder: tiny.rewrite(folder, changed)


def header(change: Callable[[dict[str, Any]], object]) -> Change:
    def apply(folder: Path) -> None:
        file = folder / "model.safetensors"
        raw = file.read_bytes()
        size = int.from_bytes(raw[:8], "little")
        content = json.loads(raw[8 : 8 + size])
        change(content)
        text = json.dumps(content).encode()
        file.write_bytes(len(text).to_bytes(8, "little") + text + raw[8 + size :])

    return apply


def strange_template(content: dict[str, Any]) -> None:
    """Have a token stand before every text that the model has no vector for."""
    single = [{"SpecialToken": {"id": "[X]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    special = {"[X]": {"id": "[X]", "ids": [70_000], "tokens": ["[X]"]}}
    template = {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": special}
    content["post_processor"] = template


def overlapping(content: dict[str, Any]) -> None:
    content[QUERY]["data_offsets"] = content[QUERY.replace("query", "key")]["data_offsets"]


WORDS = "embeddings.word_embeddings.weight"
QUERY = "encoder.layer.0.attention.self.query.weight"

CORRUPTIONS: dict[str, Change] = {
    "config empty": put("config.json", b""),
    "config cut": cut("config.json", 0.5),
    "config list": put("config.json", b"[]"),
    "config without model_type": without("config.json", "model_type", "architectures"),
    "model_type unknown": config(model_type="no-such"),
    "model_type t5": config(model_type="t5"),
    "hidden_size text": config(hidden_size="32"),
    "hidden_size zero": config(hidden_size=0),
    "layers negative": config(num_hidden_layers=-1),
    "heads zero": config(num_attention_heads=0),
    "heads uneven": config(num_attention_heads=5),
    "intermediate other": config(intermediate_size=7),
    "vocab smaller": config(vocab_size=10),
    "positions other": config(max_position_embeddings=8),
    "activation unknown": config(hidden_act="no-such"),
    "dropout beyond": config(hidden_dropout_prob=7),
    "norm eps whole": config(layer_norm_eps=0),
    "dtype unknown": config(dtype="float99"),
    "decoder alone": config(is_decoder=True),
    "tokenizer cut": cut("tokenizer.json", 0.5),
    "tokenizer object": put("tokenizer.json", b"{}"),
    "tokenizer model kind": edit("tokenizer.json", lambda content: content["model"].update(type="NoSuch")),
    "tokenizer vocab negative": edit("tokenizer.json", lambda content: content["model"]["vocab"].update(cat=-1)),
    "tokenizer vocab beyond": edit("tokenizer.json", lambda content: content["model"]["vocab"].update(cat=999_999)),
    "tokenizer processor": edit("tokenizer.json", lambda content: content.update(post_processor={"type": "Bert"})),
    "tokenizer gone": gone("*token*"),
    "tokenizer a folder": gone("tokenizer.json", folder_instead=True),
    "tokenizer class number": edit("tokenizer_config.json", lambda c: c.update(tokenizer_class=3)),
    "tokenizer side": edit("tokenizer_config.json", lambda c: c.update(truncation_side="up")),
    "weights empty": put("model.safetensors", b""),
    "weights cut": cut("model.safetensors", 0.5),
    "weights of nothing": put("model.safetensors", (2).to_bytes(8, "little") + b"{}"),
    "weights offsets": header(lambda content: content[WORDS].update(data_offsets=[0, 10**15])),
    "weights shape": header(lambda content: content[WORDS].update(shape=[1, 1])),
    "weights dtype": header(lambda content: content[WORDS].update(dtype="Q7")),
    "weights a folder": gone("model.safetensors", folder_instead=True),
    "tensor missing": tensors(lambda held: held.pop(QUERY)),
    "tensor flat": tensors(lambda held: held.update({QUERY: held[QUERY].flatten()})),
    "tensor smaller": tensors(lambda held: held.update({WORDS: held[WORDS][:5].contiguous()})),
    "tensor not a number": tensors(lambda held: held[QUERY].fill_(float("nan"))),
    "weights offsets overlapping": header(overlapping),
    "tensors under two names": tensors(lambda held: held.update({f"bert.{WORDS}": held[WORDS].clone()})),
    "tokenizer template": lambda folder: [
        edit("tokenizer.json", strange_template)(folder),
        edit("tokenizer_config.json", lambda c: c.update(tokenizer_class="PreTrainedTokenizerFast"))(folder),
    ],
    "tokenizer cls unknown": edit("tokenizer_config.json", lambda c: c.update(cls_token="[NOWHERE]")),  # noqa: S106
    "an adapter": put("adapter_config.json", b'{"base_model_name_or_path": "../elsewhere"}'),
}


# Of a sentence-transformers model that is whole: modules.json, 1_Pooling, 2_Dense.
MODULES = ("", "1_Pooling", "2_Dense")
POOLING, DENSE = "1_Pooling/config.json", "2_Dense/config.json"


def dense(*, size: int = tiny.DIM, bias: int | None = None, value: float = 1.0) -> Change:
    """Give the dense layer other weights."""

    def apply(folder: Path) -> None:
        import torch
        from safetensors.torch import save_file

        weights = {
            "linear.weight": torch.full((size, size), value),
            "linear.bias": torch.zeros(size if bias is None else bias),
        }
        save_file(weights, folder / "2_Dense/model.safetensors")

    return apply


SENTENCE_CORRUPTIONS: dict[str, Change] = {
    "modules without type": put("modules.json", b'[{"path": ""}]'),
    "modules unknown": put("modules.json", b'[{"type": "models.CLIP", "path": "0_CLIP"}]'),
    "pooling gone": lambda folder: (folder / POOLING).unlink(),
    "pooling none": put(POOLING, b"{}"),
    "dense cut": cut(DENSE, 0.5),
    "dense activation": put(DENSE, b'{"activation_function": "torch.nn.NoSuch"}'),
    "dense weights gone": lambda folder: (folder / "2_Dense/model.safetensors").unlink(),
    "dense weights cut": cut("2_Dense/model.safetensors", 0.5),
    "dense weights other": put("2_Dense/model.safetensors", (2).to_bytes(8, "little") + b"{}"),
    "dense bias of other size": dense(bias=7),
    "dense not a number": dense(value=float("nan")),
    "modules above": put("modules.json", b'[{"type": "Pooling", "path": "../whole/1_Pooling"}]'),
    "limits not a number": put("sentence_bert_config.json", b'{"max_seq_length": NaN}'),
}
ALIKE = ("config empty", "config list", "heads zero", "activation unknown", "tokenizer cut", "weights cut")
BLEURT_CORRUPTIONS: dict[str, Change] = {
    **{name: CORRUPTIONS[name] for name in (*ALIKE, "weights of nothing")},
    "config without size": without("config.json", "hidden_size"),
    "config without layers": without("config.json", "num_hidden_layers"),
    "weights not a number": tensors(lambda held: [tensor.fill_(float("nan")) for tensor in held.values()]),
}


@pytest.fixture
def score(cli: Cli, tmp_path: Path, one_thread: None) -> Callable[..., Outcome]:
    (tmp_path / "c.txt").write_text("a cat\n")
    (tmp_path / "r.txt").write_text("the cat sat\n")
    return lambda *words: cli("score", "-c", tmp_path / "c.txt", "-r", tmp_path / "r.txt", *words)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BSX_TRACEBACK", raising=False)


def check(result: Outcome, folder: Path) -> None:
    error = result.err.splitlines()[-1]
    assert (result.status, result.out) == (2, ""), result
    assert error.startswith((f"bsx: error: {folder}", "bsx: error: sentence: " + str(folder))), error
    assert re.search(r"\w+\.(json|safetensors|bin|txt)|no file of it is there", error), error
    assert "nobody foresaw" not in error
    assert "Traceback" not in result.err


def damaged(whole: str | Path, change: Change, tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    shutil.copytree(whole, folder)
    change(folder)
    return folder


HARMLESS = ("dtype unknown", "dropout beyond")
"""What PyTorch refuses, and the graphs that bsx builds have no use for."""


@pytest.mark.parametrize("backend", ["auto", "torch"])
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_damaged_encoder(
    name: str, backend: str, score: Callable[..., Outcome], tiny_model: Model, tmp_path: Path
) -> None:
    folder = damaged(tiny_model("bert"), CORRUPTIONS[name], tmp_path)
    gc.disable()  # what earlier tests have left would be finalised at the bottom of a deep recursion, and fail there
    try:
        result = score("-m", folder, "--layer", "2", "--encoder", f"backend={backend}")
    finally:
        gc.enable()
    if backend == "auto" and name in HARMLESS:
        whole = score("-m", tiny_model("bert"), "--layer", "2", "--encoder", "backend=onnx")
        assert (result.status, result.out.splitlines()[:2]) == (0, whole.out.splitlines()[:2])
    else:
        check(result, folder)


@pytest.mark.parametrize("name", SENTENCE_CORRUPTIONS)
def test_a_damaged_sentence_encoder(
    name: str, score: Callable[..., Outcome], tiny_model: Model, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(tiny_model("bert"), whole)
    kinds = ("Transformer", "Pooling", "Dense")
    listing = [{"type": f"models.{kind}", "path": at} for kind, at in zip(kinds, MODULES, strict=True)]
    (whole / "modules.json").write_text(json.dumps(listing))
    for at in MODULES[1:]:
        (whole / at).mkdir()
    (whole / POOLING).write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    (whole / DENSE).write_text(json.dumps({"activation_function": "torch.nn.modules.activation.Tanh"}))
    dense()(whole)
    assert score("--metrics", f"sentence:model={whole}").status == 0
    folder = damaged(whole, SENTENCE_CORRUPTIONS[name], tmp_path)
    check(score("--metrics", f"sentence:model={folder}"), folder)


@pytest.mark.parametrize("name", BLEURT_CORRUPTIONS)
def test_a_damaged_bleurt(name: str, score: Callable[..., Outcome], tmp_path: Path) -> None:
    folder = damaged(tiny.build_bleurt(tmp_path / "whole"), BLEURT_CORRUPTIONS[name], tmp_path)
    check(score("--metrics", f"bleurt:model={folder}"), folder)
