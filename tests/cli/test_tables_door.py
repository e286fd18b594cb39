"""Commands made of classes of settings: what they show, in which order, and what they refuse in which words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest

from bsx.cli.options import command as command_of
from bsx.errors import InputError
from bsx.support.settings import BaseSettings, Option, settled
from tests.conftest import Cli


@pytest.mark.parametrize("name", ["train", "registry", "data", "adversarial"])
def test_a_group_without_a_command_shows_its_help(name: str, cli: Cli) -> None:
    result = cli(name)
    assert (result.status, result.err) == (0, "")
    assert "Commands:" in result.out


class Shared(BaseSettings):
    """Settings that share an option."""

    folder: Annotated[Path | str | None, Option(folded="rare")] = None
    text: Annotated[str | None, Option(folded="rare")] = None
    switch: Annotated[bool, Option(folded="rare")] = True


def test_a_shared_option_takes_folders_texts_and_switches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    take = command_of(Shared)(lambda settings: settings)
    taken = take(rare=["folder=~/my folder, text=Find it, please: ,switch=false"])
    assert taken == Shared(folder=tmp_path / "my folder", text="Find it, please: ", switch=False)
    with pytest.raises(InputError, match="'a,b' has a comma") as caught:
        take(rare=["folder=a,b"])
    assert caught.value.setting == "folder"


class Told(BaseSettings):
    """Settings of `tell`."""

    names: Sequence[str] = ()
    count: int


@settled(Told)
def tell(texts: list[str], settings: Told) -> int:
    return settings.count


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "count: is missing"),
        ({"count": "x"}, "count: must be a whole number (got 'x')"),
        ({"count": 1, "names": "a"}, "names: must be a list (got 'a')"),
        ({"count": 1, "names": {"a"}}, "names: must be a list (got {'a'})"),
        ({"count": 1, "names": [3]}, "names: must be text (got 3)"),
    ],
)
def test_a_wrong_keyword_is_told_in_words(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        tell([], **given)
    assert str(caught.value) == said
    assert caught.value.setting in (*given, "count")


def test_arguments_are_counted_as_in_any_call() -> None:
    assert tell(texts=[], count=1) == 1  # type: ignore[call-arg]
    for call in (lambda: tell([], 1), lambda: tell([], texts=[], count=1), lambda: tell(count=1)):  # type: ignore
        with pytest.raises(TypeError, match=r"tell\(\): "):
            call()
