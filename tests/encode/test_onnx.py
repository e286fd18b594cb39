"""ONNX Runtime against PyTorch on every architecture; which of them runs; int8; the cache of exports."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bsx
from bsx.encode import opening
from bsx.errors import InputError, MissingExtraError
from tests.helpers import tiny

pytest.importorskip("onnxruntime", reason="needs the extra onnx")
pytest.importorskip("onnx", reason="needs the extra onnx")

CANDIDATES = [
    "The cat sat on the mat.",
    "A young woman walked",
    "一只猫坐在垫子上",
    "It is raining, said the man!",
    "the",
]
REFERENCES = [
    "the dog sat on a mat",
    "the old man walked slowly",
    "一只狗坐在垫子上",
    "He said that it was raining.",
    "a",
]
SEVERAL = [[first, second] for first, second in zip(REFERENCES, reversed(REFERENCES), strict=True)]
NOT_EXPORTED = ("longformer", "led")
TOLERANCE = 1e-5  # fp32, issue 9


@pytest.fixture(autouse=True)
def _auto(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``auto`` be what it is for users."""
    monkeypatch.delenv("BSX_BACKEND")


@pytest.fixture(scope="module")
def exports() -> Path:
    from bsx.encode.onnx_export import export_folder

    return export_folder()


def figures(folder: str, references: Any = REFERENCES, **settings: Any) -> np.ndarray:
    scores = bsx.Scorer(folder, **settings).score(CANDIDATES, references)
    return np.stack([scores.precision, scores.recall, scores.f1])


def assert_same(got: np.ndarray, expected: np.ndarray, message: str = "") -> None:
    """Compare P, R and F1; F1 not where P or R is negative, as with random weights it may be: it blows rounding up."""
    np.testing.assert_allclose(got[:2], expected[:2], atol=TOLERANCE, err_msg=message)
    tame = (expected >= 0).all(axis=0) & (expected[2] <= 1)
    np.testing.assert_allclose(got[2][tame], expected[2][tame], atol=TOLERANCE, err_msg=message)


@pytest.mark.parametrize("kind", [kind for kind in tiny.RECIPES if kind not in NOT_EXPORTED])
def test_scores_are_those_of_pytorch(kind: str, tiny_model: Callable[[str], str]) -> None:
    folder = tiny_model(kind)
    cases: list[tuple[Any, dict[str, Any]]] = [
        (REFERENCES, {"all_layers": True}),
        (SEVERAL, {"all_layers": True, "idf": True}),
        (SEVERAL, {"layer": 2, "multi_ref": "best", "batch_tokens": 16}),
    ]
    for references, settings in cases:
        got = figures(folder, references, backend="onnx", **settings)
        expected = figures(folder, references, backend="torch", **settings)
        assert_same(got, expected, f"{kind} {settings}")


@pytest.mark.parametrize("kind", ["t5", "mbart"])
def test_the_residual_stream_is_exported_too(kind: str, tiny_model: Callable[[str], str]) -> None:
    folder = tiny_model(kind)
    got = figures(folder, backend="onnx", all_layers=True, final_norm=False)
    assert_same(got, figures(folder, backend="torch", all_layers=True, final_norm=False))
    assert np.abs(got - figures(folder, backend="onnx", all_layers=True)).max() > 1e-3


@pytest.mark.parametrize("dtype", ["fp32", "int8"])
def test_batches_padding_and_order_do_not_matter(dtype: Any, tiny_model: Callable[[str], str]) -> None:
    scorer = bsx.Scorer(tiny_model("bert"), layer=2, backend="onnx", dtype=dtype)
    together = scorer.score(CANDIDATES, REFERENCES).f1
    turned = scorer.score(CANDIDATES[::-1], REFERENCES[::-1]).f1[::-1]
    alone = [float(scorer.score([c], [r]).f1[0]) for c, r in zip(CANDIDATES, REFERENCES, strict=True)]
    np.testing.assert_allclose(turned, together, atol=TOLERANCE)
    np.testing.assert_allclose(alone, together, atol=TOLERANCE)


def test_threads_are_the_encoder_s_while_it_runs(tiny_model: Callable[[str], str]) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        scorer = bsx.Scorer(tiny_model("bert"), layer=2, backend="onnx", batch_tokens=8)
        batcher = scorer.metric.encoding.shared.batcher
        batches = batcher.run([[2, 5, 6, 3]] * 12)
        next(batches)
        assert torch.get_num_threads() == 1  # others are being encoded
        del batches
        assert torch.get_num_threads() == 2  # an iteration that is given up gives them back
        assert [torch.get_num_threads() for _ in batcher.run([[2, 5, 6, 3]] * 12)][-1] == 2
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_every_metric_on_encoders_gets_the_backend(tiny_model: Callable[[str], str]) -> None:
    columns = {}
    for backend in ("torch", "onnx"):
        specs = ["bertscore:layer=2", "bertr", "moverscore", "sentence", "sbert-wk:first_layer=0"]
        encoders = bsx.Encoders(model=tiny_model("bert"), backend=backend)
        metrics = bsx.get_metrics(specs, encoders=encoders)
        columns[backend] = [metric.score(CANDIDATES, REFERENCES) for metric in metrics]
    for slow, fast in zip(columns["torch"], columns["onnx"], strict=True):
        # SBERT-WK divides by cosines that random weights bring near 0: rounding grows.
        near = 1e-4 if slow.metric.startswith("sbert-wk") else TOLERANCE
        np.testing.assert_allclose(fast.values, slow.values, atol=near)
        assert slow.signature["backend"].startswith("torch-")
        assert fast.signature["backend"].startswith("onnxruntime-")


def test_the_signature_names_backend_and_precision(tiny_model: Callable[[str], str]) -> None:
    folder = tiny_model("bert")
    fast = bsx.Scorer(folder, layer=2, backend="onnx").signature()
    small = bsx.Scorer(folder, layer=2, dtype="int8").signature()
    slow = bsx.Scorer(folder, layer=2, backend="torch").signature()
    assert [s["backend"].partition("-")[0] for s in (fast, small, slow)] == ["onnxruntime", "onnxruntime", "torch"]
    assert [s["dtype"] for s in (fast, small, slow)] == ["fp32", "int8", "fp32"]


def test_auto_is_onnx_runtime_where_it_can_be(tmp_path: Path, exports: Path) -> None:
    folder = str(tiny.build("bert", tmp_path / "bert", seed=11))
    there = set(exports.glob("*"))
    first = bsx.Scorer(folder, layer=2)
    scores = first.score(CANDIDATES, REFERENCES)
    assert scores.signature["backend"].startswith("onnxruntime-")
    assert scores.signature == first.signature()
    assert len(set(exports.glob("*")) - there) == 1
    assert "exported for ONNX Runtime" in first.notes[0]
    assert_same(scores.f1[None].repeat(3, 0), figures(folder, layer=2, backend="torch")[2][None].repeat(3, 0))
    again = bsx.Scorer(folder, layer=2)
    assert again.score(CANDIDATES, REFERENCES).signature == scores.signature
    assert again.notes == ()


def test_the_environment_says_what_auto_is(tiny_model: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model("bert")
    monkeypatch.setenv("BSX_BACKEND", "torch")
    assert bsx.Scorer(folder, layer=2).signature()["backend"].startswith("torch-")
    assert bsx.Scorer(folder, layer=2, backend="onnx").signature()["backend"].startswith("onnxruntime-")
    assert bsx.Scorer(folder, layer=2, dtype="int8").signature()["dtype"] == "int8"
    monkeypatch.setenv("BSX_BACKEND", "tpu")
    with pytest.raises(InputError, match="BSX_BACKEND is 'tpu': set it to auto, torch or onnx"):
        bsx.Scorer(folder, layer=2)


def test_on_a_cluster_auto_is_pytorch() -> None:
    from bsx.cluster.dataset import alike

    assert alike({"device": "cpu"}) == {"device": "cpu", "backend": "torch"}
    assert alike({"backend": "auto"}) == {"backend": "torch"}
    assert alike({"backend": "onnx"}) == {"backend": "onnx"}


def test_auto_falls_back_and_says_so(
    tiny_model: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_model("longformer")
    scorer = bsx.Scorer(folder, layer=2)
    assert scorer.signature()["backend"].startswith("torch-")
    why = (
        "PyTorch runs the encoder, because ONNX Runtime cannot: the architecture longformer cannot be exported to ONNX"
    )
    assert scorer.notes == (why,)
    with pytest.raises(InputError, match="architecture longformer cannot be exported"):
        bsx.Scorer(folder, layer=2, backend="onnx")
    monkeypatch.setattr("bsx.encode.onnx_export._LARGEST", 1000)
    heavy = str(tiny.build("roberta", tmp_path / "roberta", seed=14))
    for _ in range(2):
        large = bsx.Scorer(heavy, layer=1)
        assert large.score(CANDIDATES, REFERENCES).signature["backend"].startswith("torch-")
        assert "weights do not fit in one ONNX file" in large.notes[0]
        monkeypatch.setattr("bsx.encode.onnx_export._write", None)  # the second run knows, and does not try


def test_a_full_disk_is_no_reason_not_to_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = str(tiny.build("bert", tmp_path / "bert", seed=16))
    monkeypatch.setattr("bsx.encode.onnx_export._trace", full)
    scorer = bsx.Scorer(folder, layer=1)
    assert scorer.score(CANDIDATES, REFERENCES).signature["backend"].startswith("torch-")
    assert "cannot be written (No space left on device)" in scorer.notes[0]
    monkeypatch.undo()
    monkeypatch.delenv("BSX_BACKEND", raising=False)
    assert bsx.Scorer(folder, layer=1).signature()["backend"].startswith("onnxruntime-")  # it was not remembered


def test_a_filled_cache_needs_no_export(tmp_path: Path, exports: Path) -> None:
    folder = str(tiny.build("bert", tmp_path / "bert", seed=15))
    there = set(exports.glob("*"))
    first = bsx.Scorer(folder, layer=2, cache=tmp_path / "vectors")
    scores = first.score(CANDIDATES, REFERENCES)
    assert scores.signature["backend"].startswith("onnxruntime-")
    assert "exported for ONNX Runtime" in first.notes[0]
    first.encoders.flush()
    (export,) = set(exports.glob("*")) - there
    again = bsx.Scorer(folder, layer=2, cache=tmp_path / "vectors")
    export.write_bytes(b"")  # nothing is left to encode, so nothing is opened
    np.testing.assert_array_equal(again.score(CANDIDATES, REFERENCES).f1, scores.f1)
    assert again.signature() == first.signature()
    assert again.encoders.sequences_encoded == 0
    torch_too = bsx.Scorer(folder, layer=2, cache=tmp_path / "vectors", backend="torch")
    np.testing.assert_allclose(torch_too.score(CANDIDATES, REFERENCES).f1, scores.f1, atol=TOLERANCE)
    assert torch_too.encoders.sequences_encoded > 0  # vectors of another backend are others


def test_int8_has_vectors_of_its_own_in_a_cache(tiny_model: Callable[[str], str], tmp_path: Path) -> None:
    counts = []
    for dtype in ("fp32", "int8", "int8"):
        scorer = bsx.Scorer(tiny_model("bert"), layer=2, backend="onnx", dtype=dtype, cache=tmp_path)
        scorer.score(CANDIDATES, REFERENCES)
        scorer.encoders.flush()
        counts.append(scorer.encoders.sequences_encoded)
    assert counts[0] == counts[1] > counts[2] == 0


@pytest.mark.parametrize("kind", NOT_EXPORTED)
def test_exports_that_compute_something_else_are_found_out(kind: str, tiny_model: Callable[[str], str]) -> None:
    # The registry says that these cannot be exported; were it silent, the check of every export would say so.
    from bsx.catalog.catalog import shipped
    from bsx.encode.onnx_export import ExportError
    from bsx.encode.torch_encoder import Architecture

    families = {name: family.model_copy(update={"onnx": True}) for name, family in shipped().families.items()}
    architecture = Architecture.read(Path(tiny_model(kind)), families)
    opener = opening.Opener(architecture, identity="x", device=torch.device("cpu"), dtype="fp32", backend="onnx")
    with pytest.raises(ExportError):
        opener.batcher([2], None)


def test_contradictions_are_errors(tiny_model: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model("bert")
    with pytest.raises(InputError, match="int8 is computed by ONNX Runtime"):
        bsx.Scorer(folder, layer=2, dtype="int8", backend="torch")
    from bsx.encode.torch_encoder import choose_dtype

    with pytest.raises(InputError, match="int8 runs on the CPU only"):
        choose_dtype("int8", torch.device("cuda"))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr(opening, "installed", lambda: False)
    with pytest.raises(MissingExtraError, match=r"bsx\[onnx\]"):
        bsx.Scorer(folder, layer=2, backend="onnx")
    assert bsx.Scorer(folder, layer=2).signature()["backend"].startswith("torch-")


def test_int8_is_close_to_fp32(tiny_model: Callable[[str], str]) -> None:
    # Eight bits in blocks with a scale of their own: weights and activations are off by 1/254 of a block's largest
    # number at most. Random weights drawn wide, as here, are harder than trained ones.
    for kind in ("bert", "albert", "t5"):
        folder = tiny_model(kind)
        gap = np.abs(figures(folder, dtype="int8", layer=2) - figures(folder, backend="torch", layer=2))
        assert 0 < gap.max() < 0.05, kind


def test_a_damaged_export_is_made_anew(tmp_path: Path, exports: Path) -> None:
    folder = str(tiny.build("bert", tmp_path / "bert", seed=12))
    there = set(exports.glob("*"))
    expected = figures(folder, layer=1, backend="onnx")
    (file,) = set(exports.glob("*")) - there
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    scorer = bsx.Scorer(folder, layer=1)
    np.testing.assert_allclose(scorer.score(CANDIDATES, REFERENCES).f1, expected[2], atol=TOLERANCE)
    assert "made anew" in scorer.notes[0]
    assert len(file.read_bytes()) == len(whole)


def test_other_weights_layers_and_settings_have_other_exports(tmp_path: Path) -> None:
    from bsx.catalog.catalog import shipped
    from bsx.encode.onnx_export import export_path
    from bsx.encode.torch_encoder import Architecture

    folder = tiny.build("t5", tmp_path / "t5")
    architecture = Architecture.read(folder, shipped().families)
    fp32: dict[str, Any] = {"precision": "fp32", "final_norm": True}
    paths = [
        export_path(architecture, "a", [2], **fp32),
        export_path(architecture, "b", [2], **fp32),
        export_path(architecture, "a", [1, 2], **fp32),
        export_path(architecture, "a", [2], precision="int8", final_norm=True),
        export_path(architecture, "a", [2], precision="fp32", final_norm=False),
    ]
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"num_heads": 4', '"num_heads": 2'))
    paths.append(export_path(Architecture.read(folder, shipped().families), "a", [2], **fp32))
    assert len(set(paths)) == len(paths)


def test_processes_may_export_at_once(tmp_path: Path) -> None:
    folder = tiny.build("bert", tmp_path / "bert", seed=13)
    code = f"""
import bsx
print(bsx.Scorer({str(folder)!r}, layer=2, backend="onnx").score(["the cat"], ["a cat"]).f1[0])
"""
    jobs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [job.communicate(timeout=300)[0] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0]
    one, two = (float(text) for text in said)
    np.testing.assert_allclose(one, two, atol=TOLERANCE)


def test_a_cache_that_cannot_be_written_is_an_error(
    tmp_path: Path, tiny_model: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BSX_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="set BSX_CACHE to a folder that can be written to"):
        bsx.Scorer(tiny_model("bert"), layer=2, backend="onnx")


def test_memory_that_runs_out_shrinks_batches(
    tiny_model: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = bsx.Scorer(tiny_model("bert"), layer=2, backend="onnx")
    expected = scorer.score(CANDIDATES, REFERENCES).f1
    embedder: Any = scorer.metric.encoding.shared.batcher.embedder
    session: Any = embedder._session

    class Small:
        def get_inputs(self) -> Any:
            return session.get_inputs()

        def run(self, names: Any, given: dict[str, Any]) -> Any:
            if given["ids"].size > 20:
                raise ValueError("Failed to allocate memory for requested buffer of size 99")
            return session.run(names, given)

    monkeypatch.setattr(scorer.metric.encoding.shared.batcher.embedder, "_session", Small())
    np.testing.assert_allclose(scorer.score(CANDIDATES, REFERENCES).f1, expected, atol=TOLERANCE)
    assert scorer.metric.encoding.shared.batcher.batch_tokens <= 20


def test_minilm_in_fp32_and_int8(shared: Path) -> None:
    import csv

    with (shared / "data/wmt/daseg-wmt17.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))[:60]
    columns = [[row[name] for row in rows] for name in ("candidate", "reference")]
    slow = bsx.Scorer("minilm", backend="torch").score(*columns).f1
    np.testing.assert_allclose(bsx.Scorer("minilm", backend="onnx").score(*columns).f1, slow, atol=TOLERANCE)
    assert np.abs(bsx.Scorer("minilm", dtype="int8").score(*columns).f1 - slow).max() < 0.01


@pytest.mark.parametrize("dtype", ["fp32", "int8"])
def test_an_export_with_other_numbers_is_made_anew(dtype: Any, tmp_path: Path, exports: Path) -> None:
    folder = str(tiny.build("bert", tmp_path / "bert", seed=13))
    there = set(exports.glob("*"))
    expected = figures(folder, layer=1, backend="onnx", dtype=dtype)
    (file,) = set(exports.glob("*")) - there
    whole = file.read_bytes()
    middle = len(whole) // 2
    for damaged in (
        whole[:middle] + bytes(4096) + whole[middle + 4096 :],
        whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        whole[:-1] + b"!",
        whole + b"x",
        whole[:50],
        b"",
    ):
        file.write_bytes(damaged)
        scorer = bsx.Scorer(folder, layer=1, backend="onnx", dtype=dtype)
        np.testing.assert_array_equal(scorer.score(CANDIDATES, REFERENCES).f1, expected[2])
        assert f"{file}: is damaged (it is not what was written" in scorer.notes[0]
        assert "made anew" in scorer.notes[0]
        assert len(file.read_bytes()) == len(whole)
