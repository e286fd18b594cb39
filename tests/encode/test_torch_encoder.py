"""What a checkpoint's configuration may say, and what it may not."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bsx
from bsx.encode.torch_encoder import TransformerEmbedder
from bsx.errors import InputError
from tests.conftest import Model
from tests.helpers import tiny

TEXTS = ["The cat sat on the mat.", "a young woman"], ["the dog sat on a mat", "the old man"]


@pytest.mark.parametrize(
    "more",
    [
        {"attn_implementation": "kernels-community/flash-attn2"},
        {"_attn_implementation": "somebody/kernel:forward"},
        {"attn_implementation": {"": "somebody/kernel@v1"}},
        {"attn_implementation": "flash_attention_2"},
        {"attn_implementation": "flex_attention"},
        {"attn_implementation": "paged|somebody/kernel"},
        {"experts_implementation": "somebody/kernel"},
        {"_attn_implementation_internal": "somebody/kernel", "_commit_hash": "0" * 40},
        {"auto_map": {"AutoModel": "somebody/code--evil.Model", "AutoConfig": "evil.Config"}},
        {"custom_pipelines": {"x": {"impl": "evil.Pipeline", "pt": ["AutoModel"]}}},
    ],
)
def test_a_configuration_chooses_no_code(
    more: dict[str, Any], tmp_path: Path, tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = bsx.Scorer(model=tiny_model("bert"), layer=2, backend="torch").score(*TEXTS)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it asked for the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    scorer = bsx.Scorer(model=tiny.rewrite(tiny.build("bert", tmp_path / "bert"), **more), layer=2, backend="torch")
    np.testing.assert_array_equal(scorer.score(*TEXTS).f1, plain.f1)
    assert scorer.metric.located.architecture.config._attn_implementation in (None, "eager", "sdpa")


def test_quantised_weights_are_refused(tmp_path: Path) -> None:
    quantised: dict[str, Any] = {"quantization_config": {"quant_method": "finegrained_fp8"}}
    folder = tiny.rewrite(tiny.build("bert", tmp_path / "bert"), **quantised)
    with pytest.raises(InputError, match="its weights are quantised"):
        bsx.Scorer(model=folder, layer=2)


def test_a_signature_names_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny.build("bert", tmp_path / "my-bert")
    monkeypatch.chdir(folder)
    signatures = {
        str(bsx.Scorer(model=name, layer=1).signature()) for name in (str(folder), "./", f"{folder}/../my-bert/")
    }
    (signature,) = signatures
    assert "|model:my-bert@sha256-" in signature
    assert str(tmp_path) not in signature


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "mpnet", "t5", "bart", "albert", "modernbert"])
def test_nobody_asks_a_card_whether_a_padded_batch_is_padded(
    kind: str, tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    architecture = bsx.Encoders(backend="torch").locate(tiny_model(kind)).architecture
    embedder = TransformerEmbedder(architecture, layers=None, device="cpu")
    mask = np.array([[1] * 9, [1] * 5 + [0] * 4, [1] * 2 + [0] * 7])
    ids = np.where(mask, np.random.default_rng(0).integers(5, 12, mask.shape), embedder.pad_id)
    asked = 0
    answer = torch.Tensor.__bool__

    def counting(flag: torch.Tensor) -> bool:
        nonlocal asked
        asked += 1
        return answer(flag)

    monkeypatch.setattr(torch.Tensor, "__bool__", counting)
    with torch.inference_mode():
        plain = embedder.hidden_states(torch.from_numpy(ids), torch.from_numpy(mask))
        assert asked > 0  # on a card, each would wait for all that it was given before
        asked = 0
        finish = embedder.begin(ids, mask)
        assert asked == 0
    vectors = finish()
    assert type(vectors) is np.ndarray
    np.testing.assert_allclose(vectors[:, mask > 0], plain.numpy()[:, mask > 0], rtol=0, atol=1e-5)  # --ulps moves one
