"""What is written to a registry folder is read again as it was."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

from bsx.catalog.catalog import Catalog, shipped, shipped_folder
from bsx.catalog.entries import read_entry
from bsx.catalog.entries.metrics import EnsembleEntry
from bsx.catalog.entries.models import ModelEntry
from bsx.catalog.overlay import write_entry
from bsx.errors import RegistryError


def test_shipped_models_and_a_baseline_survive_being_written(tmp_path: Path) -> None:
    baseline = shipped().baseline("en", "minilm")
    assert baseline is not None
    for model in shipped().models.values():
        write_entry(model, tmp_path)
    write_entry(baseline, tmp_path)
    again = Catalog(shipped_folder(), tmp_path)
    assert again.problems == []
    assert again.baseline("en", "minilm") == baseline
    for name, entry in shipped().models.items():
        assert again.origins["model", name].is_relative_to(tmp_path)
        assert again.models[name] == entry


def test_an_entry_that_would_not_be_read_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    entry = shipped().models["minilm"]
    file = write_entry(entry, tmp_path)
    before = file.read_bytes()
    wrong: ModelEntry = entry.model_copy(update={"max_tokens": 1})
    with pytest.raises(RegistryError, match="max_tokens"):
        write_entry(wrong, tmp_path)
    assert file.read_bytes() == before


def test_a_flipped_byte_of_a_saved_ensemble_is_found(tmp_path: Path) -> None:
    file = write_entry(shipped().ensemble("lexical"), tmp_path)

    def read() -> EnsembleEntry:
        return read_entry(EnsembleEntry, file)

    content, written, chance = read(), file.read_bytes(), np.random.default_rng(0)
    for number in range(300):  # as a bad disk returns it: with one bit turned, or cut
        at = int(chance.integers(len(written)))
        turned = bytes([written[at] ^ 1 << int(chance.integers(8))]) + written[at + 1 :]
        file.write_bytes(written[:at] + (b"" if number % 5 == 0 else turned))
        with contextlib.suppress(RegistryError):
            assert read() == content
    file.write_bytes(written)
    file.write_text(file.read_text(encoding="utf-8").partition("\n")[2], encoding="utf-8")
    assert read() == content  # without its seal it may be changed by hand


def test_files_of_no_kind_are_problems_however_deep_they_lie(tmp_path: Path) -> None:
    files = [tmp_path / "models" / "old" / "x.yaml", tmp_path / "y.yml"]
    files[0].parent.mkdir(parents=True)
    for file in files:
        file.write_text("name: x\n")
    problems = [str(problem) for problem in Catalog(shipped_folder(), tmp_path).check()]
    assert [problem.partition(": ")[0] for problem in problems] == list(map(str, files))
    assert all("is no file of a registry" in problem for problem in problems)
