"""Downloads: the hub client's own code against a hub on this machine, with tiny models in it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bsx
from bsx.catalog.catalog import load_registry
from bsx.catalog.entries.models import Source
from bsx.errors import ModelUnavailableError
from bsx.models.files import resolve_commit
from tests.conftest import Cli, Model
from tests.helpers import hub as hubs
from tests.helpers import tiny
from tests.helpers.hub import COMMIT, Hub

NAME = "someone/some-bert"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: Model) -> Iterator[Hub]:
    """A hub with one model, and an empty cache."""
    import huggingface_hub
    import huggingface_hub.constants as constants

    with hubs.serve() as served:
        served.models[NAME] = tmp_path / "served"
        shutil.copytree(tiny_model("bert"), served.models[NAME])
        monkeypatch.setattr(constants, "ENDPOINT", served.url)
        template = served.url + constants.HUGGINGFACE_CO_URL_TEMPLATE.removeprefix(constants._HF_DEFAULT_ENDPOINT)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        huggingface_hub.close_session()
        yield served
    huggingface_hub.close_session()


def downloaded(hub: Hub) -> set[str]:
    return {entry.partition(f"{COMMIT}/")[2] for entry in hub.asked if entry.startswith("GET") and "resolve" in entry}


def test_a_model_is_fetched_once_and_scores_as_its_folder_does(hub: Hub, tiny_model: Model) -> None:
    (hub.models[NAME] / "onnx").mkdir()
    (hub.models[NAME] / "onnx" / "model.onnx").write_bytes(b"not wanted")
    (hub.models[NAME] / "tf_model.h5").write_bytes(b"not wanted")
    scores = bsx.Scorer(model=NAME, layer=2).score(["the cat sat"], ["a cat sat"])
    there = bsx.Scorer(model=tiny_model("bert"), layer=2).score(["the cat sat"], ["a cat sat"])
    assert scores.f1.tolist() == there.f1.tolist()
    assert scores.signature["model"] == f"{NAME}@hub-{COMMIT[:12]}"
    assert {"config.json", "model.safetensors"} <= downloaded(hub)
    assert not downloaded(hub) & {"onnx/model.onnx", "tf_model.h5"}
    before = len(hub.asked)
    assert bsx.Scorer(model=NAME, layer=2).score(["the cat sat"], ["a cat sat"]).f1.tolist() == scores.f1.tolist()
    assert len(hub.asked) == before


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_the_hub_is_not_asked_where_that_was_forbidden_late(
    hub: Hub, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client reads the variables when it is imported, which it has been."""
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv(variable, "1")
    with pytest.raises(ModelUnavailableError, match=f"{variable} is set"):
        bsx.Scorer(model=NAME, layer=2)
    with pytest.raises(ModelUnavailableError, match=f"{variable} is set"):
        resolve_commit(Source(hub=NAME, revision="main"))
    assert hub.asked == []


@pytest.mark.usefixtures("any_backend")
def test_weights_of_pytorch_are_fetched_where_there_are_no_others(hub: Hub) -> None:
    import torch
    from safetensors.torch import load_file

    weights = hub.models[NAME] / "model.safetensors"
    torch.save(load_file(weights), hub.models[NAME] / "pytorch_model.bin")
    weights.unlink()
    assert 0 < bsx.Scorer(model=NAME, layer=2).score(["the cat sat"], ["a cat sat"]).f1[0] < 1
    assert "pytorch_model.bin" in downloaded(hub)
    (hub.models[NAME] / "pytorch_model.bin").rename(hub.models[NAME] / "flax_model.msgpack")
    hub.models["someone/other"] = hub.models[NAME]
    with pytest.raises(ModelUnavailableError, match="someone/other holds neither safetensors nor PyTorch weights"):
        bsx.Scorer(model="someone/other", layer=2)


def test_the_modules_of_a_sentence_encoder_come_too(hub: Hub) -> None:
    sentence = pytest.importorskip("sentence_transformers")
    modules = sentence.sentence_transformer.modules
    folder = hub.models["someone/sentences"] = hub.models[NAME].parent / "sentences"
    encoder = modules.Transformer(str(hub.models[NAME]))
    pooling = modules.Pooling(encoder.get_embedding_dimension(), pooling_mode="cls")
    sentence.SentenceTransformer(modules=[encoder, pooling], device="cpu").save(str(folder))
    metric = bsx.get_metric("sentence:model=someone/sentences")
    assert metric.score(["the cat sat"], ["the cat sat"]).values[0] == pytest.approx(1)
    assert metric.signature()["pooling"] == "cls"
    assert "1_Pooling/config.json" in downloaded(hub)


def test_checkpoints_that_are_no_encoders(hub: Hub) -> None:
    hub.models["someone/bleurt"] = tiny.build_bleurt(hub.models[NAME].parent / "bleurt")
    metric = bsx.get_metric("bleurt:model=someone/bleurt")
    here = bsx.get_metric("bleurt", model=str(hub.models["someone/bleurt"]))
    texts = ["the cat sat", "rain"], ["a cat sat", "the rain"]
    assert metric.score(*texts).values.tolist() == here.score(*texts).values.tolist()
    assert metric.signature()["model"] == f"someone/bleurt@hub-{COMMIT[:12]}"


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda hub: hub.models.clear(), f"the model hub answered 404 for {NAME}@main"),
        (lambda hub: hub.status.update({"/main": 401}), f"the model hub answered 401 for {NAME}@main"),
        (lambda hub: hub.status.update({"model.safetensors": 403}), f"the model hub answered 403 for {NAME}@main"),
    ],
)
def test_a_hub_that_refuses_is_one_line(hub: Hub, cli: Cli, prepare: Callable[[Hub], None], message: str) -> None:
    prepare(hub)
    done = cli("models", "pull", NAME)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert f"bsx models pull {NAME}" in done.err


def test_a_file_that_comes_in_part_is_not_kept(hub: Hub, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # the client waits before it tries again
    hub.cut.add("model.safetensors")
    done = cli("models", "pull", NAME)
    assert done.status == 2
    assert f"bsx: error: the model {NAME} is not on this machine: downloading {NAME} failed (" in done.err
    assert cli("models", "where", NAME).status == 2
    hub.cut.clear()
    assert cli("models", "pull", NAME).status == 0
    assert cli("models", "where", NAME).out.strip().endswith(COMMIT)


def test_pulled_found_and_pinned(hub: Hub, cli: Cli, tmp_path: Path) -> None:
    hub.models["google-bert/bert-base-uncased"] = hub.models[NAME]
    mine = tmp_path / "mine"
    mine.mkdir()
    refused = cli("models", "pin", "roberta-large", "--registry", mine)
    assert refused.status == 2
    assert "its commit cannot be looked up: the model hub answered 404" in refused.err
    pinned = cli("models", "pin", "bert-base-uncased", "--registry", mine)
    assert f"pinned to {COMMIT}" in pinned.out, pinned.err
    assert load_registry(mine).model("bert-base-uncased").source.revision == COMMIT
    assert "only hub models" in cli("models", "pin", "minilm", "--registry", mine).err
    pulled = cli("models", "pull", "bert-base-uncased", "--registry", mine)
    assert pulled.status == 0, pulled.err
    assert cli("models", "where", "bert-base-uncased", "--registry", mine).out.strip().endswith(COMMIT)
