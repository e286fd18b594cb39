"""The cache of vectors on disk: the same numbers, the model untouched, and no trust in what the disk returns."""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import bsx
from bsx.encode.vector_cache import _MOST_FILES, KEY_BYTES, SUFFIX, VectorCache
from bsx.errors import InputError
from tests.conftest import Model
from tests.helpers import tiny

CANDIDATES = ["the cat sat on the mat", "a dog walked slowly", "rain at the station", "the bank of the river"]
REFERENCES = ["a cat sat on a mat", "the old dog walked", "it rained at the station", "money in the bank"]
pytestmark = pytest.mark.usefixtures("one_thread")


def scorer(model: str, folder: Path | None, **settings: Any) -> bsx.Scorer:
    # PyTorch, which computes the same bits for a batch; tests/encode/test_onnx.py has the cache over ONNX Runtime
    return bsx.Scorer(model=model, **{"layer": 2, "cache": folder, "backend": "torch", **settings})


def filled(model: str, folder: Path, **settings: Any) -> bsx.Scores:
    """Score all texts with a cache, and write what it holds back, as the end of the process does."""
    first = scorer(model, folder, **settings)
    scores = first.score(CANDIDATES, REFERENCES)
    assert first.encoders.sequences_encoded == 8
    first.encoders.flush()
    return scores


def segments(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"*{SUFFIX}"))


def key_of(number: int) -> bytes:
    return number.to_bytes(KEY_BYTES, "little")  # with zeros at the end, which NumPy takes for filling


def fetched(cache: VectorCache, key: bytes, like: Any) -> Any:
    """Return what a cache has of a key, or None."""
    cache.look_around()
    target = np.empty_like(like)
    return target if cache.read([(key, target)])[0] else None


@pytest.mark.parametrize("kind", ["bert", "roberta", "t5", "xlnet"])
@pytest.mark.parametrize("more", [{}, {"layer": None, "all_layers": True}], ids=["layer", "all_layers"])
def test_second_run_reads_the_same_bits_and_loads_no_model(
    kind: str, more: dict[str, Any], tiny_model: Model, tmp_path: Path
) -> None:
    model = tiny_model(kind)
    plain = scorer(model, None, **more).score(CANDIDATES, REFERENCES)
    cold, second = filled(model, tmp_path, **more), scorer(model, tmp_path, **more)
    warm = second.score(CANDIDATES, REFERENCES)
    assert second.encoders.sequences_encoded == 0
    assert second.metric.encoding.shared._batcher is None
    for one, two, three in zip(plain, cold, warm, strict=True):
        assert np.array_equal(one, two)
        assert two == pytest.approx(three, abs=0 if kind == "bert" else 1e-5)
    assert warm.signature == plain.signature


def test_found_before_it_is_written(tiny_model: Model, tmp_path: Path) -> None:
    one = scorer(tiny_model("bert"), tmp_path)
    first = one.score(CANDIDATES, REFERENCES)
    assert not segments(tmp_path)
    assert np.array_equal(first.f1, one.score(CANDIDATES, REFERENCES).f1)
    assert one.encoders.sequences_encoded == 8


def test_settings_that_change_vectors_do_not_share_them(tiny_model: Model, tmp_path: Path) -> None:
    bert, t5 = tiny_model("bert"), tiny_model("t5")
    seen = 0
    cases: list[tuple[str, dict[str, Any]]] = [
        (bert, {}),
        (bert, {"layer": 1}),
        (t5, {}),
        (t5, {"layer": None, "all_layers": True, "final_norm": False}),
        (t5, {"layer": 1, "final_norm": False}),  # the highest that is run, whose norm is another layer's
        (tiny_model("roberta"), {}),
        (tiny_model("roberta"), {"leading_space": True}),
    ]
    for model, given_settings in cases:
        plain = scorer(model, None, **given_settings).score(CANDIDATES, REFERENCES)
        assert np.array_equal(filled(model, tmp_path, **given_settings).f1, plain.f1)
        assert len(segments(tmp_path)) > seen
        seen = len(segments(tmp_path))


def test_settings_that_leave_vectors_alone_share_them(tiny_model: Model, tmp_path: Path) -> None:
    model = tiny_model("bert")
    filled(model, tmp_path)
    for given_settings in ({"specials": "exclude"}, {"idf": True}, {"long": "window"}, {"batch_tokens": 16}):
        one, plain = scorer(model, tmp_path, **given_settings), scorer(model, None, **given_settings)
        found = one.score(CANDIDATES, REFERENCES)
        assert one.encoders.sequences_encoded == 0
        assert found.f1 == pytest.approx(plain.score(CANDIDATES, REFERENCES).f1, abs=1e-5)  # other batches round anew
        assert found.signature == plain.score(CANDIDATES, REFERENCES).signature


def test_other_weights_under_the_same_name(tiny_model: Model, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny_model("bert"), model)
    before = filled(str(model), tmp_path / "cache")
    tiny.rewrite(model, lambda weights: {name: tensor + 0.1 for name, tensor in weights.items()})
    assert not np.array_equal(before.f1, filled(str(model), tmp_path / "cache").f1)


def test_all_metrics_of_a_run_use_it(tiny_model: Model, tmp_path: Path) -> None:
    specs = ["bertscore:layer=2", "bertr:layer=1", "sbert"]
    values = []
    for encoded in (8, 0):
        encoders = bsx.Encoders(model=tiny_model("bert"), cache=tmp_path, backend="torch")
        metrics = bsx.get_metrics(specs, encoders=encoders)
        values.append([metric.score(CANDIDATES, REFERENCES).values for metric in metrics])
        assert encoders.sequences_encoded == encoded
        encoders.flush()
    plain = bsx.get_metrics(specs, encoders=bsx.Encoders(model=tiny_model("bert"), backend="torch"))
    for cold, warm, metric in zip(*values, plain, strict=True):
        assert np.array_equal(cold, warm)
        assert np.array_equal(cold, metric.score(CANDIDATES, REFERENCES).values)


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "header"])
def test_damage_is_computed_again(
    damage: str, tiny_model: Model, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = tiny_model("bert")
    expected = filled(model, tmp_path)
    (file,) = segments(tmp_path)
    content = bytearray(file.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    elif damage == "header":
        content[20] ^= 0xFF
    file.write_bytes({"truncate": bytes(content[:-100]), "empty": b""}.get(damage, bytes(content)))
    with caplog.at_level(logging.WARNING, logger="bsx.cache"):
        second = scorer(model, tmp_path)
        again = second.score(CANDIDATES, REFERENCES)
    assert again.f1 == pytest.approx(expected.f1, abs=1e-5)
    assert second.encoders.sequences_encoded > 0
    assert [record.message.endswith("computed again") for record in caplog.records] == [True]
    assert not file.exists()
    second.encoders.flush()
    assert scorer(model, tmp_path).score(CANDIDATES, REFERENCES).f1 == pytest.approx(expected.f1, abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_changed_byte_is_returned(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("cache")
    truth = {key_of(i): np.random.default_rng(i).normal(size=(i + 1, 4)).astype(np.float32) for i in range(5)}
    first = VectorCache(folder)
    for key, vectors in truth.items():
        first.put(key, vectors)
    first.publish()
    (file,) = segments(folder)
    content = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) - 1, len(content) // 2]))])
    cache = VectorCache(folder)
    for key, vectors in truth.items():
        read = fetched(cache, key, vectors)
        assert read is None or np.array_equal(read, vectors)


def _vectors(number: int) -> Any:
    return np.full((1 + number % 7, 64), number, dtype=np.float32)


def _fill(arguments: tuple[str, int]) -> int:
    """In a process of its own, put and read vectors of which half are another process's too; count what was read."""
    folder, seed = arguments
    one = VectorCache(folder, "4MB")
    read = 0
    for number in np.random.default_rng(seed).integers(0, 300, 600).tolist():
        found = fetched(one, key_of(number), _vectors(number))
        if found is not None:
            assert np.array_equal(found, _vectors(number))
            read += 1
        else:
            one.put(key_of(number), _vectors(number))
        if number % 10 == 0:
            one.publish()
    one.publish()
    return read


@pytest.mark.slow
def test_processes_share_a_folder(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        read = pool.map(_fill, [(str(tmp_path), seed) for seed in (1, 2)])
    assert min(read) > 200
    one = VectorCache(tmp_path)
    found = {number: fetched(one, key_of(number), _vectors(number)) for number in range(300)}
    there = {number: vectors for number, vectors in found.items() if vectors is not None}
    assert len(there) > 200
    assert all(np.array_equal(vectors, _vectors(number)) for number, vectors in there.items())


def test_one_run_sees_what_another_writes(tmp_path: Path) -> None:
    one, other = VectorCache(tmp_path), VectorCache(tmp_path)
    one.put(key_of(1), _vectors(1))
    assert fetched(other, key_of(1), _vectors(1)) is None
    one.publish()
    assert np.array_equal(fetched(other, key_of(1), _vectors(1)), _vectors(1))


def test_size_is_bounded_and_the_oldest_go(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "1MB")
    assert cache.file_bytes == 2**16
    earlier = tmp_path / "vectors-1" / "encoder" / f"old{SUFFIX}"  # another layout, which is never read
    earlier.parent.mkdir(parents=True)
    earlier.write_bytes(bytes(2**19))
    os.utime(earlier, ns=(10**17, 10**17))
    for i in range(400):  # 8 KiB each: eight to a file
        cache.put(key_of(i), np.full((32, 64), i, dtype=np.float32))
        if i % 8:
            continue
        for age, file in enumerate(sorted(segments(tmp_path), key=lambda path: path.stat().st_mtime_ns)):
            os.utime(file, ns=(10**18 + age, 10**18 + age))  # a clock too coarse for so fast a test
        assert sum(file.stat().st_size for file in segments(tmp_path)) <= 2**20
    cache.publish()
    assert not earlier.exists()
    kept = [fetched(VectorCache(tmp_path), key_of(i), np.empty((32, 64), np.float32)) for i in range(400)]
    assert [vectors[0, 0] for vectors in kept[-60:]] == [*range(340, 400)]
    assert kept[:200] == [None] * 200


def test_what_is_used_stays(tmp_path: Path) -> None:
    ones = np.ones((100, 64), dtype=np.float32)
    cache = VectorCache(tmp_path, "1MB")
    for number in (1, 2):
        cache.put(key_of(number), ones)
        cache.publish()
        (new,) = (file for file in segments(tmp_path) if file.stat().st_mtime > 2)
        os.utime(new, (number, number))
    assert fetched(cache, key_of(1), ones) is not None  # which makes it the newer one
    cache._make_room(2**20 - 40_000)
    for one in (VectorCache(tmp_path), cache):
        assert fetched(one, key_of(1), ones) is not None
        assert fetched(one, key_of(2), ones) is None


def test_files_do_not_get_many(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.put(key_of(0), _vectors(0))
    cache.publish()
    (file,) = segments(tmp_path)
    most = _MOST_FILES + cache.limit // cache.file_bytes
    for i in range(most + 10):
        (file.parent / f"{i}{SUFFIX}").touch()
        os.utime(file.parent / f"{i}{SUFFIX}", (1 + i, 1 + i))
    cache.put(key_of(1), _vectors(1))
    cache.publish()
    assert len(segments(tmp_path)) == most + 1
    assert file.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file sizes")
def test_a_full_disk_is_no_reason_not_to_score(
    tiny_model: Model, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import resource

    model = tiny_model("bert")
    expected, one = scorer(model, None).score(CANDIDATES, REFERENCES).f1, scorer(model, tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, limits[1]))
    try:
        for _ in range(2):
            one.encoders.forget()
            assert np.array_equal(one.score(CANDIDATES, REFERENCES).f1, expected)
            one.encoders.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    own = [record for record in caplog.records if str(tmp_path) in record.getMessage()]  # others may end meanwhile
    assert len(own) == 1
    assert "cannot be written to ([Errno 27] File too large)" in own[0].message
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_cache_that_is_a_file(tiny_model: Model, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be used"):
        scorer(tiny_model("bert"), tmp_path / "file")
    with pytest.raises(InputError, match="cannot read the size 'much'"):
        scorer(tiny_model("bert"), tmp_path, cache_size="much")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_low_precision_is_kept_as_it_is(dtype: torch.dtype, tmp_path: Path) -> None:
    from bsx.support.tensors import as_stored

    vectors = torch.randn(5, 8).to(dtype)
    stored = as_stored(vectors)[1]
    cache = VectorCache(tmp_path)
    cache.put(key_of(1), stored)
    cache.publish()
    found = fetched(VectorCache(tmp_path), key_of(1), stored)
    assert torch.equal(torch.from_numpy(found).view(dtype), vectors)
