"""A broken file of an overlay costs what it says and nothing else, and is never passed over in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from bsx.catalog.catalog import load_registry
from bsx.catalog.entries import read_yaml
from bsx.catalog.languages import find_language
from bsx.errors import RegistryError
from tests.conftest import Cli

LANGUAGE = "- {code: de, name: German, script: Latn, model: minilm, sacrebleu: 13a, stanza: de, fasttext: de, %s}\n"
BROKEN = {
    "a date that is none": "- {code: de, name: 2024-13-01}\n",
    "a tab": "-\tcode:\tde\n\t- x\n",
    "a field too many": LANGUAGE % "alternatives: [], colour: blue",
    "no list": "de: German\n",
    "a key twice": LANGUAGE % "alternatives: [], name: Deutsch",
    "not UTF-8": b"- {code: de, name: \xff}\n",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=list(BROKEN))
def test_a_broken_list_of_languages_is_named_where_a_language_is_asked_for(
    content: str | bytes, tmp_path: Path, cli: Cli
) -> None:
    file = tmp_path / "languages.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    catalog = load_registry(tmp_path)
    with pytest.raises(RegistryError, match=r"languages\.yaml"):
        find_language("de", catalog)
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


@pytest.mark.parametrize("name", ["metrics.yaml", "perturbations/en.yaml"])
def test_a_file_that_belongs_to_no_kind_is_named(name: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "models").mkdir()
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("modality: must/may\n")
    told = cli("registry", "validate", tmp_path)
    assert told.status == 2
    assert f"{tmp_path / name.partition('/')[0]}: is no " in told.err


@pytest.mark.parametrize(
    ("content", "message"),
    [("a: 1\nb: {c: 2, c: 3}\n", "the key 'c' stands twice"), ("when: 2024-13-01\n", "month must be in 1..12")],
)
def test_yaml_that_means_harm_or_nothing(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(content)
    with pytest.raises(RegistryError, match=message):
        read_yaml(tmp_path / "x.yaml")
