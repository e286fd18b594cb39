"""Maps between the vectors of two languages: fitting, storing, loading."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bsx
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.metrics.embedding.mapping import Mapping, fit_clp, fit_umd, load_mapping
from tests.helpers.oracle_metrics import clp, cosine, hidden_states, umd

DIM = 12


def rotation(seed: int = 0) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(DIM, DIM)))[0]


@pytest.mark.parametrize("words", [DIM // 2, 50])
def test_clp_is_the_best_orthogonal_map(words: int) -> None:
    from scipy.linalg import orthogonal_procrustes

    rng = np.random.default_rng(2)
    source, target = rng.normal(size=(words, DIM)), rng.normal(size=(words, DIM))
    if words > DIM:
        np.testing.assert_allclose(fit_clp(source, source @ rotation()), rotation(), atol=1e-6)
    fitted = fit_clp(source, target).astype(np.float64)
    np.testing.assert_allclose(fitted @ fitted.T, np.eye(DIM), atol=1e-6)
    best, _ = orthogonal_procrustes(source, target)
    distances = [np.linalg.norm(source @ matrix - target) for matrix in (fitted, best)]
    assert distances[0] == pytest.approx(distances[1], abs=1e-6)


def test_umd_is_the_direction_in_which_words_differ_most() -> None:
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(300, DIM))
    source = shared + rng.normal(3, 1, size=(300, 1)) * rotation()[0] + 0.5 * rng.normal(size=shared.shape)
    # It is the first right singular vector of the differences, whatever its sign; ours is fixed.
    first, found = np.linalg.svd(source - shared)[2][0], fit_umd(source, shared)
    np.testing.assert_allclose(found, first * np.sign(first @ found), atol=1e-5)
    assert found[np.abs(found).argmax()] > 0
    np.testing.assert_array_equal(found, fit_umd(shared, source))


@pytest.mark.parametrize("kind", ["clp", "umd"])
def test_what_is_saved_is_loaded_with_its_facts(kind: Any, tmp_path: Path) -> None:
    array = (rotation() if kind == "clp" else rotation()[0]).astype(np.float32)
    facts = {"model": "a model", "layer": "8", "pairs": "[1, 2]"}
    mapping = Mapping(kind, array, facts)
    mapping.save(tmp_path / "map.safetensors")
    assert [file.name for file in tmp_path.iterdir()] == ["map.safetensors"]
    loaded = load_mapping(tmp_path / "map.safetensors", kind, DIM)
    np.testing.assert_array_equal(loaded.array, array)
    assert loaded.facts == facts
    assert loaded.kind == kind
    assert loaded.digest == mapping.digest
    assert Mapping(kind, -array, facts).digest != mapping.digest
    other: Any = "umd" if kind == "clp" else "clp"
    with pytest.raises(InputError, match=f"holds {kind}, not a {other} map"):
        load_mapping(tmp_path / "map.safetensors", other, DIM)


@pytest.mark.parametrize("kind", ["umd", "clp"])
@pytest.mark.parametrize("shape", [(DIM,), (1, DIM), (DIM, 1)])
def test_arrays_of_every_shape_and_form(kind: Any, shape: tuple[int, ...], tmp_path: Path) -> None:
    wanted = rotation()[0] if kind == "umd" else rotation()
    array = wanted.reshape(shape) if kind == "umd" else wanted
    np.save(tmp_path / "m.npy", array)
    torch.save(torch.from_numpy(array), tmp_path / "GBDD.pt")
    torch.save(torch.from_numpy(array).half(), tmp_path / "BAM.map")
    for name, tolerance in (("m.npy", 1e-7), ("GBDD.pt", 1e-7), ("BAM.map", 1e-3)):
        loaded = load_mapping(tmp_path / name, kind, DIM)
        assert (loaded.array.shape, loaded.array.dtype) == (wanted.shape, np.float32)
        np.testing.assert_allclose(loaded.array, wanted, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "content", "kind", "message"),
    [
        ("absent.npy", None, "clp", "there is no such file.*fit_mapping"),
        ("m.npy", rotation(), "umd", r"shape \(12, 12\); a umd map of this model has \(12,\)"),
        ("v.npy", rotation()[0], "clp", r"shape \(12,\); a clp map of this model has \(12, 12\)"),
        ("large.npy", np.eye(DIM + 1), "clp", r"shape \(13, 13\); a clp map of this model has \(12, 12\)"),
        ("small.npy", np.ones(DIM - 1), "umd", r"shape \(11,\)"),
        *((f"nan.{form}", rotation() * np.nan, "clp", "finite") for form in ("npy", "pt", "safetensors")),
        ("huge.npy", rotation() * 1e38, "clp", "finite"),
        ("texts.npy", np.full((DIM, DIM), "a"), "clp", "real"),
        ("complex.npy", rotation() * 1j, "clp", "real"),
        ("one.npz", rotation(), "clp", "several arrays"),
        ("objects.npy", np.array([{}, []], dtype=object), "clp", "is not an array saved by NumPy"),
        ("text.npy", b"no array", "clp", "is not an array saved by NumPy"),
        ("nothing.npy", b"", "clp", "is not an array saved by NumPy"),
        ("dict.pt", {"map": torch.zeros(DIM)}, "umd", "holds dict, not an array of real numbers"),
        ("text.pt", b"no tensor", "umd", "is not an array saved by PyTorch"),
        ("code.pt", pickle.dumps(Path("x"), protocol=4), "umd", "is not an array saved by PyTorch"),
        ("text.safetensors", b"no tensors", "umd", "is not a safetensors file"),
    ],
)
def test_wrong_files_are_clear_errors(name: str, content: Any, kind: Any, message: str, tmp_path: Path) -> None:
    file = tmp_path / name
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif file.suffix == ".pt":
        torch.save(torch.from_numpy(content) if isinstance(content, np.ndarray) else content, file)
    elif file.suffix == ".safetensors":
        Mapping("clp", content.astype(np.float32), {}).save(file)
    elif content is not None:
        (np.savez if file.suffix == ".npz" else np.save)(file, content)
    with warnings.catch_warnings(action="error"), pytest.raises(InputError, match=message) as raised:
        load_mapping(file, kind, DIM)  # that it is refused is said once
    assert str(file) in str(raised.value)


def test_a_changed_map_is_found_out(tmp_path: Path) -> None:
    file = tmp_path / "map.safetensors"
    Mapping("clp", rotation().astype(np.float32), {"model": "m"}).save(file)
    whole = file.read_bytes()
    file.write_bytes(whole[:-64] + bytes(64))
    with pytest.raises(InputError, match="is damaged"):
        load_mapping(file, "clp", DIM)


def test_pieces_of_scripts_without_spaces_are_words(tiny_model: Callable[[str], str]) -> None:
    texts = [("我们在这里看见一只猫",) * 2, ("老人 had a cat",) * 2]  # the same on both sides: every word finds itself
    encoders = Encoders(model=tiny_model("bert"))
    assert bsx.fit_mapping(texts, encoders, kind="umd", max_words=4).facts["words"] == "15"
    # Of three words whose nearest is the same one, that one's own nearest counts.
    assert bsx.fit_mapping([("a cat sat", "cat")], encoders, kind="umd").facts["words"] == "1"
    # Links count the words that white space separates.
    assert bsx.fit_mapping(texts, encoders, kind="umd", links=[[(0, 0)], [(0, 0), (3, 3)]]).facts["words"] == "3"


def test_fit_a_map_and_score_with_it(tiny_model: Callable[[str], str], tmp_path: Path) -> None:
    pairs, file = [("die Katze schläft", "the cat sleeps"), ("es regnet", "it rains")] * 6, tmp_path / "umd.safetensors"
    encoders = Encoders(model=tiny_model("bert"))
    fitted = bsx.fit_mapping(pairs, encoders, kind="umd", lang="de-en")
    assert (fitted.facts["source"], fitted.facts["target"]) == ("de", "en")
    fitted.save(file)
    spec = f"xmoverscore:mapping=umd,mapping_file={file},model={tiny_model('bert')}"
    scores = bsx.get_metric(spec).score(["the cat sleeps"], sources=["die Katze schläft"])
    assert scores.signature["mapping"] == "umd"
    assert scores.signature["mapping_file"] == fitted.digest
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("words are aligned: an orthogonal map of 32 dimensions needs", {"max_words": 6}),
        (r"pair 1: \(0, 9\) points beyond", {"links": [[(0, 9)]] * 12}),
        ("12 sentence pairs", {"links": [[(0, 0)]]}),
    ]
    for message, settings in wrong:
        with pytest.raises(InputError, match=message):
            bsx.fit_mapping(pairs, encoders, **settings)
    with pytest.raises(InputError, match="must end in .safetensors"):
        fitted.save(tmp_path / "map.npy")


@pytest.mark.parametrize("kind", ["clp", "umd"])
def test_a_map_of_the_source_in_a_sentence_cosine(kind: str, tiny_model: Callable[[str], str], tmp_path: Path) -> None:
    model, layer = tiny_model("bert"), 1
    candidates, sources = ["the cat sat", "a man walked"], ["a woman and the old man", "the rain"]
    means = np.array([hidden_states(model, text)[1][layer].mean(axis=0) for text in (*candidates, *sources)])
    matrix = np.linalg.qr(np.random.default_rng(0).normal(size=(means.shape[1],) * 2))[0]
    array = matrix if kind == "clp" else matrix[0]
    np.save(tmp_path / "map.npy", array)
    # The source's side is mapped, and no other.
    mapped = clp(means[2:], array) if kind == "clp" else umd(means[2:], array)
    expected = [cosine(a, b) for a, b in zip(means[:2], mapped, strict=True)]
    metric = bsx.get_metric("sentence-qe", model=model, layer=layer, mapping=kind, mapping_file=tmp_path / "map.npy")
    scores = metric.score(candidates, sources=sources)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    assert scores.signature["mapping_file"] == load_mapping(tmp_path / "map.npy", kind, len(matrix)).digest  # type: ignore[arg-type]
    # Without a map it is the cosine that `sentence` has for the sources as references.
    unmapped = bsx.get_metric("sentence-qe", model=model)
    assert not any("mapping" in note for note in unmapped.notes)
    plain = unmapped.score(candidates, sources=sources)
    np.testing.assert_array_equal(plain, bsx.get_metric("sentence", model=model).score(candidates, sources))


@pytest.mark.parametrize("name", ["sentence-qe", "xmoverscore"])
def test_a_map_belongs_to_its_model_and_languages(name: str, tiny_model: Callable[[str], str], tmp_path: Path) -> None:
    model, file = tiny_model("bert"), tmp_path / "map.safetensors"
    located = Encoders(model=model).locate(None)

    def metric(lang: str | None = None, **facts: str) -> Any:
        array = np.eye(located.architecture.dimensions, dtype=np.float32)[0]
        Mapping("umd", array, facts).save(file)
        return bsx.get_metric(
            name, encoders=Encoders(model=model, lang=lang), layer=1, mapping="umd", mapping_file=file
        )

    identity = located.identity
    plain = len(metric(model=identity, layer="1").notes)
    assert len(metric(model=f"another-name@{identity.rpartition('@')[2]}", layer="1").notes) == plain
    assert len(metric(layer="1").notes) == plain + 1  # nobody knows which model it is of
    assert "fitted on layer 2, this is layer 1" in metric(model=identity, layer="2").notes[-1]
    with pytest.raises(InputError, match="000000000000"):
        metric(model=f"{identity.rpartition('@')[0]}@sha256-000000000000")
    facts = {"model": identity, "layer": "1", "source": "de", "target": "en"}
    assert len(metric("en", **facts).notes) == len(metric(**facts).notes) == plain
    assert "'en'" in metric("fr", **facts).notes[-1]
    assert len(metric("de-en", **facts).notes) == plain
    assert "'de'" in metric("fi-en", **facts).notes[-1]
