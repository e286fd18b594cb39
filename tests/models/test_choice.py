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


def test_what_is_said_is_a_name_a_folder_or_a_hub_id(tmp_path: Path) -> None:
    named = choose("minilm", "en-de", shipped())
    assert (named.name, named.entry, named.source) == (
        "minilm",
        shipped().models["minilm"],
        shipped().models["minilm"].source,
    )
    assert named.language is not None
    assert named.language.code == "de"
    folder = choose(tmp_path, None, shipped())
    assert (folder.name, folder.source, folder.entry) == (str(tmp_path), Source(path=str(tmp_path)), None)
    hub = choose("someone/model", None, shipped())
    assert (hub.name, hub.source) == ("someone/model", Source(hub="someone/model", revision="main"))
    assert (hub.entry, hub.language) == (None, None)
    with pytest.raises(InputError):
        choose(None, None, shipped())
    with pytest.raises(UnknownNameError):
        choose("minilm", "no-such-language", shipped())
