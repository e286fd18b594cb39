"""From what a user says to one model."""

from __future__ import annotations

from pathlib import Path

import pytest

from bsx.catalog.catalog import shipped
from bsx.catalog.entries.models import Source
from bsx.encode.model import choose
from bsx.errors import InputError, UnknownNameError


@pytest.mark.parametrize("model", ["~/model", "./model", "../model", "/model", "a/b/c", "no-such-model", ".m/x"])
def test_a_path_without_a_folder_is_no_hub_id(model: str) -> None:
    with pytest.raises(UnknownNameError):
        choose(model, None, shipped())


def test_what_is_said_is_a_name_a_folder_or_a_hub_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "minilm").mkdir()
    named, entry = choose("minilm", "en-de", shipped()), shipped().models["minilm"]  # a name wins over a folder
    assert (named.name, named.entry, named.source) == ("minilm", entry, entry.source)
    assert named.language is not None
    assert named.language.code == "de"
    assert choose("FacebookAI/roberta-large", None, shipped()).name == "roberta-large"
    assert choose("./minilm", None, shipped()).source.path == "./minilm"
    folder = choose(tmp_path, None, shipped())
    assert (folder.name, folder.source, folder.entry) == (str(tmp_path), Source(path=str(tmp_path)), None)
    hub = choose("someone/model", None, shipped())
    assert (hub.name, hub.source) == ("someone/model", Source(hub="someone/model", revision="main"))
    assert (hub.entry, hub.language) == (None, None)
    with pytest.raises(InputError, match=r"lang.*model"):
        choose(None, None, shipped())
    with pytest.raises(UnknownNameError):
        choose("minilm", "no-such-language", shipped())
    with pytest.raises(UnknownNameError, match=r"unknown model 'roberta-lage'\. Near: roberta-large"):
        choose("roberta-lage", None, shipped())
