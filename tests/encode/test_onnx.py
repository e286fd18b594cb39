"""The encoders that bsx builds for ONNX Runtime against PyTorch's on every architecture; which of them runs; int8."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

import bsx
from bsx.catalog.catalog import shipped
from bsx.encode import light, model
from bsx.encode.architecture import Architecture, StoredArrays
from bsx.encode.light import GraphBuilder, LightEmbedder, fast_bytes, obstacle, open_session
from bsx.encode.run_config import RunConfig
from bsx.encode.torch_encoder import TransformerEmbedder
from bsx.errors import InputError, MissingExtraError
from bsx.models.files import find
from tests.conftest import Model
from tests.helpers import tiny
from tests.helpers.sample import CANDIDATES, REFERENCES

pytest.importorskip("onnxruntime", reason="needs the extra onnx")
pytestmark = pytest.mark.usefixtures("any_backend")

BUILT = ("bert", "bert-cased", "roberta", "xlm-roberta", "distilbert", "electra", "albert", "mpnet")
TOLERANCE = 1e-5  # fp32


def figures(folder: str, **settings: Any) -> np.ndarray:
    scores = bsx.Scorer(model=folder, **settings).score(CANDIDATES, REFERENCES)
    return np.stack([scores.precision, scores.recall, scores.f1])


@pytest.mark.parametrize("kind", [*BUILT, "minilm"])
def test_every_layer_of_every_graph_is_that_of_pytorch(kind: str, tiny_model: Model) -> None:
    """Compare all layers with those of PyTorch in 64 bits, from which both may be off by rounding alone."""
    folder = Path(tiny_model(kind)) if kind in BUILT else find(shipped().model(kind).source)
    if folder is None:
        pytest.skip("needs the extra offline")
    architecture = Architecture.read(folder, shipped().families)
    assert obstacle(architecture) is None
    layers = list(range(architecture.depth + 1))
    light = LightEmbedder(architecture, layers)
    peer = TransformerEmbedder(architecture, layers=None, device="cpu")
    exact = TransformerEmbedder(architecture, layers=None, device="cpu")
    exact.module.double()
    rng = np.random.default_rng(7)
    for batch, tokens in ((1, 2), (4, 23), (3, 50)):
        ids = rng.integers(5, architecture.vocabulary or 0, (batch, tokens))
        mask = (np.arange(tokens) < tokens - 3 * np.arange(batch)[:, None]).astype(np.int64)
        ids[mask == 0] = light.pad_id
        kept = mask.astype(bool)
        truth = exact.begin(ids, mask)()[:, kept]
        size = np.abs(truth).max(axis=(1, 2))
        ours, theirs = (np.abs(e.begin(ids, mask)()[:, kept] - truth).max(axis=(1, 2)) for e in (light, peer))
        assert (ours <= np.maximum(1e-6 * size, 3 * theirs)).all(), (ours / size, theirs / size)


@pytest.mark.parametrize("dtype", ["fp32", "int8"])
def test_batches_padding_and_order_do_not_matter(dtype: Any, tiny_model: Model) -> None:
    scorer = bsx.Scorer(model=tiny_model("bert"), layer=2, backend="onnx", dtype=dtype)
    together = scorer.score(CANDIDATES, REFERENCES).f1
    turned = scorer.score(CANDIDATES[::-1], REFERENCES[::-1]).f1[::-1]
    alone = [float(scorer.score([c], [r]).f1[0]) for c, r in zip(CANDIDATES, REFERENCES, strict=True)]
    np.testing.assert_allclose(turned, together, atol=TOLERANCE)
    np.testing.assert_allclose(alone, together, atol=TOLERANCE)


def backend(scorer: bsx.Scorer) -> str:
    return scorer.metric.encoding.shared.opener.backend.partition("-")[0]


def test_the_signature_names_the_precision_and_not_what_makes_no_difference(tiny_model: Model) -> None:
    given: list[dict[str, Any]] = [{"backend": "onnx"}, {}, {"dtype": "int8"}, {"backend": "torch"}]
    scorers = [bsx.Scorer(model=tiny_model("bert"), layer=2, **settings) for settings in given]
    assert [backend(scorer) for scorer in scorers] == ["onnxruntime"] * 3 + ["torch"]
    fast, auto, small, slow = (scorer.signature() for scorer in scorers)
    assert (small["dtype"], fast["dtype"]) == ("int8-rows", "fp32")
    assert fast == auto == slow
    assert scorers[1].notes == ()


def test_the_environment_says_what_auto_is(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model("bert")
    monkeypatch.setenv("BSX_BACKEND", "torch")
    assert backend(bsx.Scorer(model=folder, layer=2)) == "torch"
    assert backend(bsx.Scorer(model=folder, layer=2, backend="onnx")) == "onnxruntime"
    assert bsx.Scorer(model=folder, layer=2, dtype="int8").signature()["dtype"] == "int8-rows"
    monkeypatch.setenv("BSX_BACKEND", "tpu")
    with pytest.raises(InputError, match="BSX_BACKEND is 'tpu': set it to auto, torch or onnx"):
        bsx.Scorer(model=folder, layer=2)


def test_on_a_cluster_auto_is_pytorch() -> None:
    from bsx.cluster.corpus import alike

    assert alike(RunConfig(device="cpu")) == RunConfig(device="cpu", backend="torch")
    assert alike(RunConfig(backend="onnx")).backend == "onnx"


@pytest.mark.parametrize(
    ("kind", "settings", "why"), [("longformer", {}, "longformer"), ("bert", {"hidden_act": "silu"}, "silu")]
)
def test_auto_falls_back_and_says_so(
    kind: str, settings: dict[str, Any], why: str, tiny_model: Model, tmp_path: Path
) -> None:
    folder = tiny.rewrite(shutil.copytree(tiny_model(kind), tmp_path / "changed"), **settings)
    scorer = bsx.Scorer(model=folder, layer=2)
    assert backend(scorer) == "torch"
    (note,) = scorer.notes
    assert note.startswith("PyTorch runs the encoder")
    assert note.endswith(why)
    with pytest.raises(InputError, match=f"{why}; use backend=torch"):
        bsx.Scorer(model=folder, layer=2, backend="onnx")


def test_code_that_is_not_trusted_keeps_no_graph_from_being_built(tiny_model: Model, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"auto_map": {"AutoModel": "somebody/code--modeling.Model"}, "hidden_dropout_prob": 0}
    folder = tiny.rewrite(
        shutil.copytree(tiny_model("bert"), tmp_path / "own"), **settings, attention_probs_dropout_prob=1
    )
    plain = bsx.Scorer(model=tiny_model("bert"), layer=2, backend="onnx").score(["a cat"], ["a dog"])
    for name in ("onnx", "torch"):
        found = bsx.Scorer(model=folder, layer=2, backend=name).score(["a cat"], ["a dog"])
        np.testing.assert_allclose(found.f1, plain.f1, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_stored_in_few_bits_are_read(dtype: torch.dtype, tiny_model: Model, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_model("bert"), tmp_path / "small")
    folder = tiny.rewrite(copy, lambda weights: {name: weight.to(dtype) for name, weight in weights.items()})
    got, expected = (figures(folder, backend=which, layer=3)[:2] for which in ("onnx", "torch"))
    np.testing.assert_allclose(got, expected, atol=TOLERANCE)


def test_a_filled_cache_opens_no_encoder_but_for_vectors_that_are_others(tiny_model: Model, tmp_path: Path) -> None:
    f1 = []
    runs: list[tuple[dict[str, Any], bool]] = [({}, False), ({}, True), ({"backend": "torch"}, False)]
    runs += [({"dtype": "int8"}, False), ({"dtype": "int8"}, True)]
    for settings, known in runs:
        scorer = bsx.Scorer(model=tiny_model("bert"), layer=2, cache=tmp_path, **settings)
        f1.append(scorer.score(CANDIDATES, REFERENCES).f1)
        scorer.encoders.flush()
        loaded = scorer.metric.encoding.shared._batcher is not None
        assert loaded == (scorer.encoders.sequences_encoded > 0) == (not known)
    np.testing.assert_array_equal(f1[::3], f1[1::3])
    np.testing.assert_allclose(f1[2], f1[0], atol=TOLERANCE)


def test_contradictions_are_errors(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model("bert")
    with pytest.raises(InputError, match="int8 is computed by ONNX Runtime"):
        bsx.Scorer(model=folder, layer=2, dtype="int8", backend="torch")
    from bsx.encode.run_config import choose_dtype

    with pytest.raises(InputError, match="int8 runs on the CPU only"):
        choose_dtype("int8", "cuda")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"\[onnx\]"):
        bsx.Scorer(model=folder, layer=2, backend="onnx")
    assert backend(bsx.Scorer(model=folder, layer=2)) == "torch"
    monkeypatch.setattr(model, "has_torch", lambda: False)
    with pytest.raises(MissingExtraError, match=r"needs ONNX Runtime or PyTorch: pip install '.*\[onnx\]'"):
        bsx.Scorer(model=folder, layer=2)
    with pytest.raises(
        MissingExtraError, match=r"t5 \(bsx has no graph of .* t5\) needs PyTorch.*pip install '.*\[torch\]'"
    ):
        bsx.Scorer(model=tiny_model("t5"), layer=2)
    with pytest.raises(MissingExtraError, match=r"^The backend torch needs PyTorch.*pip install '.*\[torch\]'"):
        bsx.Scorer(model=folder, layer=2, backend="torch")


def eight_bit_product(states: np.ndarray, matrix: np.ndarray, bias: np.ndarray, byte: Any) -> np.ndarray:
    """Return what a graph in eight bits makes of states (batch, tokens, size) and a matrix (rows, size)."""
    folder = {"x.weight": matrix, "x.bias": bias}
    settings = {"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2, "layer_norm_eps": 1e-5}
    weights = SimpleNamespace(get=lambda name, shape: folder[name].reshape(shape))
    builder = GraphBuilder(settings, cast(StoredArrays, weights), eight_bits=byte)
    state = builder.graph.input("state", np.float32, ("batch", "tokens", matrix.shape[1]))
    product = builder.product(state, "x", *matrix.shape, bias=True)
    builder.graph.output(builder.graph.node("Identity", product, name="out"), ("batch", "tokens", matrix.shape[0]))
    found: np.ndarray = open_session(builder.graph).run(
        ["out"], {"state": states, "mask": np.ones(states.shape[:2], dtype=np.int32)}
    )[0]
    return found


def in_steps(states: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the product of states and a matrix, each rounded to 256 and 255 steps, by NumPy in fp64."""
    least, most = (np.asarray(edge(states, axis=-1, keepdims=True), np.float64) for edge in (np.min, np.max))
    least, most = np.minimum(least, 0), np.maximum(most, 0)
    step = np.maximum((most - least) / 255, 1e-38)
    zero = np.rint(-least / step)
    rounded = (np.clip(np.rint(states / step) + zero, 0, 255) - zero) * step
    size = np.maximum(np.abs(matrix).max(axis=1, keepdims=True) / 127, 1e-38)
    return rounded @ (np.rint(matrix / size) * size).T


@pytest.mark.parametrize("byte", [np.int8, np.uint8])
def test_products_in_eight_bits_are_those_of_rounded_numbers(byte: Any) -> None:
    if byte is np.int8 and fast_bytes() is np.uint8:
        pytest.skip("this processor has no instructions for exact products of signed bytes")
    rng = np.random.default_rng(3)
    states = rng.standard_normal((3, 5, 96)).astype(np.float32)
    states[0, 0] = 0
    states[0, 1] = np.abs(states[0, 1]) + 3  # all of one sign: zero must stay a step
    states[0, 2] = -np.abs(states[0, 2])
    states[0, 3, 7] = 400  # one that is far out
    states[0, 4] *= 1e-20
    states[1] *= np.float32(1e4)
    matrix, bias = rng.standard_normal((40, 96)).astype(np.float32), rng.standard_normal(40).astype(np.float32)
    matrix[3] = 0
    matrix[4, 5] = 1000
    got = eight_bit_product(states, matrix, bias, byte)
    # A number in the middle between two steps may be rounded to the other one in fp32: a step of one number of 96.
    largest = np.ptp(states, axis=-1, keepdims=True) / 255 * np.abs(matrix).max(axis=1)
    expected = in_steps(states, matrix) + bias
    off = np.abs(got - expected) / (np.maximum(largest, np.abs(expected)) + 1e-6)
    assert np.median(off) < 1e-5
    assert off.max() < 1.1
    assert (off > 1e-3).mean() < 0.05
    np.testing.assert_array_equal(got[0, 0], bias)


def test_products_in_eight_bits_know_nothing_of_other_tokens() -> None:
    rng = np.random.default_rng(4)
    states = rng.standard_normal((4, 7, 64)).astype(np.float32)
    matrix, bias = rng.standard_normal((32, 64)).astype(np.float32), np.ones(32, dtype=np.float32)
    together = eight_bit_product(states, matrix, bias, fast_bytes())
    for i, j in np.ndindex(4, 7):
        alone = eight_bit_product(states[i : i + 1, j : j + 1], matrix, bias, fast_bytes())
        np.testing.assert_array_equal(alone[0, 0], together[i, j])


def test_int8_is_the_same_on_processors_with_and_without_instructions_for_it(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, found = tiny_model("bert"), []
    if fast_bytes() is np.uint8:
        pytest.skip("this processor has no instructions for exact products of signed bytes")
    for byte in (np.int8, np.uint8):
        monkeypatch.setattr(light, "fast_bytes", lambda byte=byte: byte)
        found.append(figures(folder, dtype="int8", layer=2))
    np.testing.assert_array_equal(found[0], found[1])


def test_int8_is_close_to_fp32(tiny_model: Model) -> None:
    # A number of a state is off by half a step at most, 1/510 of its token's range, and a weight by 1/254 of the
    # largest in its row. Random weights drawn wide, as here, are harder than trained ones.
    for kind in ("bert", "albert", "mpnet"):
        folder = tiny_model(kind)
        gap = np.abs(figures(folder, dtype="int8", layer=2) - figures(folder, backend="torch", layer=2))
        assert 0 < gap.max() < 0.05, kind


WITHOUT = """
import sys
for name in ("torch", "transformers", "safetensors", "onnx", "pandas", "sentencepiece"):
    sys.modules[name] = None
import bsx
import numpy as np
candidates, references, folder, specs = CANDIDATES, REFERENCES, FOLDER, SPECS
encoders = bsx.Encoders(model=folder)
metrics = bsx.get_metrics(specs, encoders=encoders)
rows = [metric.score(candidates, references).values for metric in metrics]
rows.append(bsx.Scorer(model=folder, layer=2, idf=True).score(candidates, references).f1)
np.save(TARGET, np.array(rows))
for metric in ("chrf", "sentbleu"):
    assert len(bsx.get_metrics([metric])[0].score(candidates, references).values) == len(candidates)
assert not {name for name, module in sys.modules.items() if module and name in ("torch", "transformers")}
"""


@pytest.mark.parametrize("kind", ["bert", pytest.param("xlm-roberta", marks=pytest.mark.slow)])
def test_scores_are_the_same_where_pytorch_and_transformers_cannot_be_imported(
    kind: str, tiny_model: Model, tmp_path: Path
) -> None:
    specs = ["bertscore:layer=2", "bertr:layer=2", "sentence", "sentence:pooling=max"]
    named = {"CANDIDATES": CANDIDATES, "REFERENCES": REFERENCES, "FOLDER": tiny_model(kind), "SPECS": specs}
    code = WITHOUT.replace("TARGET", repr(str(tmp_path / "rows.npy")))
    for name, value in named.items():
        code = code.replace(name, repr(value))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    encoders = bsx.Encoders(model=tiny_model(kind), backend="torch")
    rows: list[Any] = [m.score(CANDIDATES, REFERENCES).values for m in bsx.get_metrics(specs, encoders=encoders)]
    rows.append(bsx.Scorer(model=tiny_model(kind), layer=2, idf=True, backend="torch").score(CANDIDATES, REFERENCES).f1)
    np.testing.assert_allclose(np.load(tmp_path / "rows.npy"), np.array(rows), atol=TOLERANCE)
