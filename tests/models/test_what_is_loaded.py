"""What is loaded of a model's folder is what its signature says: no other file, no other configuration."""

from __future__ import annotations

import contextlib
import json
import pickle
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx
from bsx import Scorer
from bsx.catalog.entries.models import Source
from bsx.encode.model import identified
from bsx.errors import InputError
from bsx.models.files import config_digest, file_digest, weight_files
from tests.conftest import Model
from tests.helpers.tiny import build_gpt2, rewrite

TEXTS = (["a cat sat on the mat", "rain"], ["the cat is on the mat", "a train"])
BACKENDS = ("onnx", "torch")
pytestmark = pytest.mark.usefixtures("one_thread")


def scores(folder: Path, backend: Any, **settings: Any) -> Any:
    return Scorer(model=str(folder), layer=2, backend=backend, **settings).score(*TEXTS)


@pytest.fixture
def folder(tiny_model: Model, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_model("bert"), tmp_path / "model"))


def in_parts(folder: Path) -> None:
    """Spread the weights over two files that an index lists."""
    from safetensors.torch import load_file, save_file

    held = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(held)
    listing = {name: f"model-0000{1 + number % 2}-of-00002.safetensors" for number, name in enumerate(names)}
    for file in set(listing.values()):
        save_file({name: held[name] for name in names if listing[name] == file}, folder / file, {"format": "pt"})
    index = {"metadata": {"total_size": 1}, "weight_map": listing}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_files_beside_the_weights_are_not_read(backend: str, parts: bool, folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    other = {name: tensor + 1 for name, tensor in load_file(folder / "model.safetensors").items()}
    whole = scores(folder, backend)
    if parts:
        in_parts(folder)
    before, identity = scores(folder, backend), [file.name for file in weight_files(folder)]
    np.testing.assert_allclose(before.f1, whole.f1, atol=1e-5)
    for name in ("adapter_model", "checkpoint-old", "zz"):
        save_file(other, folder / f"{name}.safetensors", {"format": "pt"})
    after = scores(folder, backend)
    np.testing.assert_array_equal(after.f1, before.f1)
    assert after.signature == before.signature
    assert [file.name for file in weight_files(folder)] == identity


def test_an_index_cannot_bring_other_weights_past_the_digest(folder: Path, tmp_path: Path) -> None:
    source = Source(path=str(folder), sha256=file_digest(folder / "model.safetensors"))
    assert identified(source, folder, "pinned").identity == f"sha256:{source.sha256}"
    shutil.copytree(folder, tmp_path / "other")
    (folder / "model.safetensors").rename(folder / "kept.safetensors")
    outside = str(tmp_path / "other/model.safetensors")
    for name in ("../other/model.safetensors", outside, "..", "a/../kept.safetensors"):
        index = {"metadata": {}, "weight_map": {"x": name}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        with pytest.raises(InputError, match="index"):
            identified(source, folder, "pinned")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("listing", [{"x": None}, {"x": 5}, {"x": ["a"]}, {}, None, [], 5])
def test_an_index_that_names_no_files_is_refused(listing: Any, backend: str, folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "kept.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": listing}))
    with pytest.raises(InputError, match="index"):
        scores(folder, backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", [np.int8, np.bool_])
def test_weights_in_whole_numbers_are_refused(kind: Any, backend: str, folder: Path) -> None:
    """A quantised checkpoint whose configuration does not say so would run without its scales, as another model."""
    from safetensors.numpy import load_file, save_file

    held = load_file(folder / "model.safetensors")
    name = "encoder.layer.1.output.dense.weight"
    save_file(held | {name: (held[name] * 100).astype(kind)}, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match="number format"):
        scores(folder, backend)
    kept = held | {"embeddings.position_ids": np.arange(64)[None]}  # as older checkpoints have them
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    assert np.isfinite(scores(folder, backend).f1).all()


def test_a_pickle_that_holds_code_is_refused_in_one_line(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(folder, protocol=4))
    with warnings.catch_warnings(action="error"), pytest.raises(InputError, match="cannot be loaded"):
        scores(folder, "torch")


@pytest.mark.parametrize("said", [{"num_attention_heads": 8}, {"hidden_act": "relu"}, {"layer_norm_eps": 1e-5}])
def test_another_configuration_is_another_model(said: dict[str, Any], folder: Path) -> None:
    before = identified(Source(path=str(folder)), folder, "model")
    pinned = Source(path=str(folder), sha256=before.identity.partition(":")[2], config=before.config)
    assert identified(pinned, folder, "pinned").label == before.label[: len("sha256-") + 12]
    first = Scorer(model=str(folder), layer=2)
    rewrite(folder, **said)
    after = identified(Source(path=str(folder)), folder, "model")
    assert after.identity == before.identity
    assert after.label != before.label
    assert Scorer(model=str(folder), layer=2).score(*TEXTS).signature != first.score(*TEXTS).signature
    with pytest.raises(InputError, match=r"configuration .*pins"):
        identified(pinned, folder, "pinned")


def test_what_changes_no_score_is_no_other_configuration(folder: Path) -> None:
    before = config_digest(folder)
    rewrite(folder, transformers_version="9.9", _name_or_path="elsewhere", dtype="bfloat16")
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(dict(reversed(content.items()))))
    assert config_digest(folder) == before


def test_the_shipped_model_is_called_by_its_weights_alone(minilm: Scorer) -> None:
    assert minilm.metric.located.identity == "minilm@sha256-53aa51172d14"


SAME: dict[str, Any] = {
    "return_dict": False,
    "chunk_size_feed_forward": 3,
    "output_hidden_states": True,
    "output_attentions": True,
    "torchscript": True,
    "use_cache": True,
    "transformers_weights": "other.safetensors",
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("backend", BACKENDS)
def test_how_an_encoder_is_run_is_not_for_its_configuration_to_say(backend: str, name: str, folder: Path) -> None:
    before = scores(folder, backend)
    shutil.copy(folder / "model.safetensors", folder / "other.safetensors")
    rewrite(folder, **{name: SAME[name]})
    np.testing.assert_allclose(scores(folder, backend).f1, before.f1, atol=1e-5)


def test_vectors_of_another_configuration_are_not_served_from_the_cache(folder: Path, tmp_path: Path) -> None:
    scores(folder, "onnx", cache=tmp_path / "cache")
    rewrite(folder, num_attention_heads=8)
    np.testing.assert_array_equal(
        scores(folder, "onnx", cache=tmp_path / "cache").f1, scores(folder, "onnx", cache=tmp_path / "new").f1
    )


def test_a_language_model_brings_no_code_of_its_own(tmp_path: Path) -> None:
    from bsx.metrics.embedding.fluency import LanguageModel

    folder = build_gpt2(tmp_path / "gpt2")
    plain = LanguageModel(str(folder), bsx.Encoders()).score(["the cat sat on the mat"])
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    rewrite(folder, auto_map={"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"})
    with contextlib.suppress(InputError):
        assert LanguageModel(str(folder), bsx.Encoders()).score(["the cat sat on the mat"]) == pytest.approx(plain)
    assert not (tmp_path / "ran").exists()
