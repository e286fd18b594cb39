"""Commands made of classes of settings: what they show, in which order, and what they refuse in which words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from bsx.cli.commands import COMMANDS, build
from bsx.cli.options import command as command_of
from bsx.encode.run_config import RunConfig
from bsx.errors import InputError
from bsx.support.settings import BaseSettings, Option, settled

Cli = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = ["candidate\treference\thuman\ta", *(f"the cat {i}\tthe cats {i * i}\t{i % 5}\t{i}" for i in range(12))]
    (tmp_path / "s.tsv").write_text("\n".join(rows) + "\n")
    (tmp_path / "task.tsv").write_text("".join(f"the cat {i}\tL{i % 2}\n" for i in range(40)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def leaves(group: Any, path: Sequence[str] = ()) -> Iterator[tuple[str, Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield from leaves(command, (*path, name))
    if not hasattr(group, "commands"):
        yield " ".join(path), group


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("score s.tsv --model minilm --layer -1", ["layer: must be at least 0", "-1"]),
        ("score s.tsv --model minilm --layer x", ["layer: must be a whole number", "'x'"]),
        ("score s.tsv --metrics chrf:beta=x", ["beta: must be a whole number", "'x'"]),
        ("score s.tsv --model minilm --encoder backend=tpu", ["backend: must be 'auto', 'torch' or 'onnx'", "'tpu'"]),
        ("score s.tsv --model minilm --encoder memory=", ["memory: cannot read the size ''"]),
        ("score s.tsv --model minilm --encoder memory=1GB,", ["memory: cannot read the size '1GB,'"]),
        ("score s.tsv --model minilm --encoder nosuch=1", ["encoder: 'nosuch=1' is not NAME=VALUE", "batch_tokens"]),
        ("score s.tsv --model minilm --encoder dtype=fp16,dtype=fp32", ["encoder: dtype is given twice"]),
        ("meta s.tsv --columns ,", ["columns is given without any name"]),
        ("meta s.tsv --columns a --lower ''", ["lower is given without any name"]),
        ("meta s.tsv --columns a --resamples 0", ["resamples: must be at least 1", "'0'"]),
        ("meta s.tsv --columns a -o s.tsv", ["s.tsv: is an input of this run", "give output another name"]),
        ("adversarial perturb s.tsv --metrics chrf --strengths 5", ["strengths: must be at most 1", "'5'"]),
        ("probe task.tsv -m minilm --train-sizes 5,x", ["train-sizes: must be a whole number", "'x'"]),
        ("meta '' --columns a", ["the name of a file to read is empty"]),
        ("train esim s.tsv --valid s.tsv -o m -m minilm --seeds 1,-1", ["seeds: must be at least 0", "got '-1'"]),
        ("probe task.tsv -m minilm --train-sizes 5,1", ["train-sizes: must be at least 2", "got '1'"]),
        (
            "disentangle s.tsv --columns a --factor-columns human --reliability human=.9,human=.8",
            ["reliability: human is given twice"],
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_setting(line: str, parts: list[str], cli: Cli, folder: Path) -> None:
    before = sorted(folder.iterdir())
    result = cli(*(word.strip("'") for word in line.split(" ")))
    assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
    for part in parts:
        assert part in result.err
    assert "Input should be" not in result.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("name", ["train", "registry", "data", "adversarial"])
def test_a_group_without_a_command_shows_its_help(name: str, cli: Cli) -> None:
    result = cli(name)
    assert (result.status, result.err) == (0, "")
    assert "Commands:" in result.out


def test_settings_of_several_values_are_read_as_lists() -> None:
    commands = dict(leaves(typer.main.get_command(build(COMMANDS))))
    assert next(p for p in commands["probe"].params if p.name == "train_sizes").multiple


def test_help_has_arguments_first_and_what_all_commands_share_last() -> None:
    last = {*RunConfig.model_fields, "metrics", "model", "lang"}
    made = 0
    for name, command in leaves(typer.main.get_command(build(COMMANDS))):
        if {"registry", "encoder"} <= {p.name for p in command.params}:
            kinds = [0 if p.param_type_name == "argument" else 2 if p.name in last else 1 for p in command.params]
            end = max(place for place, p in enumerate(command.params) if p.name in RunConfig.model_fields)
            assert kinds[: end + 1] == sorted(kinds[: end + 1]), name
            made += 1
    assert made > 15


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
