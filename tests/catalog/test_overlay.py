"""What is written to a registry folder is read again as it was; a broken file costs what it says, never in silence."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

from bsx.catalog.catalog import Catalog, load_registry, shipped, shipped_folder
from bsx.catalog.entries import read_entry
from bsx.catalog.entries.metrics import EnsembleEntry
from bsx.catalog.entries.models import ModelEntry
from bsx.catalog.languages import find_language
from bsx.catalog.overlay import write_entry
from bsx.errors import InputError, RegistryError
from tests.conftest import Cli


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


@pytest.mark.parametrize("name", ["models/old/x.yaml", "metrics.yaml", "perturbations/en.yml"])
def test_a_file_of_no_kind_is_a_problem_and_the_end_where_a_folder_has_no_other(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("name: x\n")
    (problem,) = Catalog(shipped_folder(), tmp_path).check()
    assert str(problem).startswith(f"{file}: is no file of a registry")
    if not name.startswith("models"):
        with pytest.raises(InputError, match=rf"{name.partition('/')[0]}: is no file of a registry"):
            load_registry(tmp_path)


LANGUAGE = "- {code: de, name: German, script: Latn, model: minilm, sacrebleu: 13a, stanza: de, fasttext: de, %s}\n"
BROKEN: dict[str, tuple[str, str]] = {
    "a date that is none": ("- {code: de, name: 2024-13-01}\n", "month must be in 1..12"),
    "a tab": ("-\tcode:\tde\n\t- x\n", "not readable as YAML"),
    "a field too many": (LANGUAGE % "alternatives: [], colour: blue", "colour: Extra inputs"),
    "no list": ("de: German\n", "must be a list"),
    "a key twice": (LANGUAGE % "alternatives: [], name: Deutsch", "the key 'name' stands twice"),
    "not UTF-8": ("- {code: de, name: \udcff}\n", "is not UTF-8"),
}


@pytest.mark.parametrize(("content", "said"), BROKEN.values(), ids=list(BROKEN))
def test_a_broken_list_of_languages_is_named_where_a_language_is_asked_for(
    content: str, said: str, tmp_path: Path, cli: Cli
) -> None:
    file = tmp_path / "languages.yaml"
    file.write_text(content, encoding="utf-8", errors="surrogateescape")
    catalog = load_registry(tmp_path)
    with pytest.raises(RegistryError) as wrong:
        find_language("de", catalog)
    assert str(wrong.value).startswith(str(file))
    assert said in str(wrong.value)
    texts = tmp_path / "texts.txt"
    texts.write_text("one\ntwo\n")
    files = ("-c", texts, "-r", texts, "--registry", tmp_path)
    refused = cli("score", *files, "--metrics", "bleu", "--lang", "de")
    assert refused.status == 2
    assert str(file) in refused.err
    assert len(refused.err.splitlines()) == 1
    assert cli("score", *files, "--metrics", "chrf").status == 0, "no language is asked for"
    told = cli("registry", "validate", tmp_path)
    assert told.status == 2
    assert str(file) in told.err
