"""Numbers out of range: every numeric option of every command says so in one line, before it does anything."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import shlex
import shutil
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from typer.main import get_command

import bsx
from bsx.analysis import build_paws, pearson, perturb
from bsx.analysis.compare.settings import CompareSettings
from bsx.analysis.disentangle.settings import DisentangleSettings
from bsx.analysis.ensemble.settings import EnsembleSettings
from bsx.analysis.meta.settings import MetaSettings
from bsx.analysis.train.run import TrainSettings
from bsx.catalog.catalog import load_registry
from bsx.cli.commands import COMMANDS, build
from bsx.errors import InputError
from bsx.metrics.base import find_metric
from bsx.scoring.run import ScoreRun
from bsx.support.settings import BaseSettings, DrawSettings, Significance, build_config
from tests.fuzz.world import RIGHT, command

WRONG = ["-1", "nan", "inf", "1e400", "1" + "0" * 300, str(2**63), "", "x"]
SIZES = ["0", "-1", "nan", "inf", "1e400GB", f"{'9' * 400}GB", ""]
# Options that are texts and hold numbers -> what is wrong for them.
TEXTS = {
    "--encoder": [f"{name}={size}" for name in ("memory", "cache_size") for size in SIZES]
    + [f"batch_tokens={number}" for number in (*WRONG, "0")],
    "--detail": [f"{name}={number}" for name in ("hybrids", "sample", "threshold") for number in (*WRONG, "0")]
    + [f"{name}={number}" for name in ("human_ties", "keep", "tolerance") for number in WRONG],
    "--network": [f"{name}={number}" for name in ("hidden", "epochs") for number in (*WRONG, "0")]
    + [f"dropout={number}" for number in WRONG],
    "--layers": ["-1", "9" * 300, "", "1.5"],
    "--train-sizes": ["-1", "0"],
    "--sizes": ["0", "-1", "9" * 300, ""],
    "--judgments": ["-1", "9" * 300, ""],
    "--seeds": ["-1", str(2**32), "9" * 300, ""],
    "--strength": ["-1", "nan", "inf", "1e400", "2"],
}
ZERO = {"resamples", "alpha", "confidence", "folds", "size", "jobs", "workers"}
ZERO |= {"batch_tokens", "limit", "repeats", "pairs", "patience", "batch_size"}
NEGATIVE = {"at_least", "at_most"}
"""Human scores, of which -1 is one."""
SIZED = {"memory", "cache_size"}
"""Sizes in bytes, which may be text: one validator reads and bounds them."""


def _is_number(annotation: Any) -> bool:
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    return any(part in (int, float) for part in typing.get_args(annotation) or (annotation,))


def cases() -> Iterator[tuple[str, str]]:
    """Yield each command with each of its options that hold numbers, as it is wrong."""
    root: Any = get_command(build(list(COMMANDS)))
    seen = set()
    for name in RIGHT:
        words = command(name)
        if tuple(words) in seen:
            continue
        seen.add(tuple(words))
        found = root
        for word in [*words, *["ARCHITECTURE"] * (words == ["train"])]:
            found = found.commands[word]
        signature = inspect.signature(found.callback, eval_str=True).parameters
        for option in found.params:
            spelled = next((one for one in option.opts if one.startswith("--")), None)
            if spelled is not None and option.name in signature and _is_number(signature[option.name].annotation):
                none = words == ["disentangle"] and option.name == "resamples"  # there 0 is no bootstrap
                wrong = WRONG[option.name in NEGATIVE :]
                for value in [*wrong, *["0"] * (option.name in ZERO and not none)]:
                    yield name, f"{spelled}={value}"
            for value in TEXTS.get(spelled or "", ()):
                yield name, f"{spelled}={value}"


CASES = list(cases())


@pytest.mark.slow
@pytest.mark.parametrize("name", list(dict.fromkeys(name for name, _ in CASES)))
def test_a_number_out_of_range_is_one_line(
    name: str, world: Path, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    failed = []
    for _, option in (case for case in CASES if case[0] == name):
        out = tmp_path / "out"
        out.mkdir()
        more = ["--encoder", f"cache={out}/cache"] if option.startswith("--encoder=cache_size") else []
        done = cli(*command(name), *shlex.split(RIGHT[name].format(out=out)), *more, option)
        if done.status != 2 or done.err.count("\n") != 1 or len(done.err) > 500 or list(out.iterdir()):
            failed.append((option[:40], done.status, done.err[-200:]))
        shutil.rmtree(out)
    assert not failed


DRAWS = ("--resamples",)
DRAWN = {name: option.partition("=")[0] for name, option in CASES if option.startswith(DRAWS)}


@pytest.mark.parametrize("draws", [2, 19, 10**6 + 1, 99_999_999_999])
@pytest.mark.parametrize("name", DRAWN)
def test_resamples_too_few_for_an_interval_or_too_many_are_refused(
    name: str, draws: int, world: Path, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    out = tmp_path / "out"
    out.mkdir()
    done = cli(*command(name), *shlex.split(RIGHT[name].format(out=out)), DRAWN[name], draws)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert re.search(
        f"takes at least 20 resamples, not {draws}|must be at least [12]0|must be at most 1000000", done.err
    ), done.err
    assert not list(out.iterdir())


def test_every_command_that_draws_resamples_is_among_them() -> None:
    def commands(found: Any, *words: str) -> Iterator[tuple[str, ...]]:
        for word, one in getattr(found, "commands", {}).items():
            yield from commands(one, *words, word)
        if any(option in DRAWS for parameter in found.params for option in parameter.opts):
            yield words

    assert set(commands(get_command(build(list(COMMANDS))))) == {tuple(command(name)) for name in DRAWN}
    assert (len(CASES) > 800, len({name for name, _ in CASES}) > 18) == (True, True)


def _commands(command: Any) -> Iterator[Any]:
    yield command
    for one in getattr(command, "commands", {}).values():
        yield from _commands(one)


def _below(kind: type) -> Iterator[type]:
    inner: type
    for inner in kind.__subclasses__():
        yield inner
        yield from _below(inner)


def _settings() -> Iterator[tuple[type, str, Any]]:
    """Yield what the settings classes of functions, commands and metrics hold: class, name, field."""
    for module in pkgutil.walk_packages(bsx.analysis.__path__, "bsx.analysis."):
        importlib.import_module(module.name)
    catalog = load_registry(None)
    kinds: list[type[BaseModel]] = [find_metric(name, catalog)[0].Config for name in sorted(catalog.metrics)]
    kinds += [kind for kind in _below(BaseSettings) if kind.__module__.startswith("bsx.")]
    for kind in dict.fromkeys(kinds):
        yield from ((kind, *item) for item in kind.model_fields.items())


def test_every_number_has_a_range() -> None:
    """Beside its field, on both sides; also where no fuzz case calls the command."""
    numbers, unbounded = set(), {}
    for kind, name, field in _settings():
        if _is_number(field.annotation) and name not in SIZED:
            numbers.add(name)
            limits = " ".join(type(mark).__name__ for mark in field.metadata)
            if not (re.search("G[et]", limits) and re.search("L[et]", limits)):
                unbounded[name] = kind.__name__
    for one in _commands(get_command(build(list(COMMANDS)))):
        signature = inspect.signature(one.callback, eval_str=True).parameters if one.callback else {}
        for option in one.params:
            if option.name in signature and _is_number(signature[option.name].annotation):
                assert option.name in numbers | SIZED
    assert len(numbers) > 50
    assert not unbounded


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (DrawSettings, "seed", -1),
        (DrawSettings, "seed", 2**32),
        (DrawSettings, "resamples", 0),
        (DrawSettings, "resamples", 10**30),
        (DrawSettings, "confidence", float("nan")),
        (Significance, "alpha", 1),
        (EnsembleSettings, "folds", 1),
        (ScoreRun, "workers", 10**6),
        (ScoreRun, "batch_tokens", 2**63),
        (ScoreRun, "memory", -1.0),
        (ScoreRun, "context", 2**63),
        (MetaSettings, "human_ties", float("inf")),
        (TrainSettings, "seeds", (1, -1)),
    ],
)
def test_python_refuses_them_too(kind: type[BaseSettings], name: str, value: object) -> None:
    required = {"architecture": "esim", "tables": ["t"], "valid": ["t"], "output": "o", "model": "m"}
    with pytest.raises(InputError, match=f"^{name}: .*") as raised:
        build_config({name: value, **(required if kind is TrainSettings else {})}, kind)
    assert raised.value.setting == name
    assert len(str(raised.value)) < 120


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("seed", lambda: perturb(["a b"], "drop-words", seed=-1)),
        ("seed", lambda: perturb(["a b"], "drop-words", seed=2**32)),
        ("keep", lambda: build_paws([("a", "b", 1)], keep=0)),
        ("resamples", lambda: pearson([1, 2, 3, 4], [1, 3, 2, 4], resamples=10**9)),
    ],
)
def test_functions_without_settings_refuse_them_too(name: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="must lie between") as raised:
        call()
    assert raised.value.setting == name


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (DrawSettings, {"resamples": 19}),
        (DrawSettings, {"confidence": 0.9999}),
        (CompareSettings, {"confidence": 0.9999}),
        (CompareSettings, {"resamples": 19}),
        (DisentangleSettings, {"resamples": 19}),
    ],
)
def test_too_few_draws_for_the_level_of_an_interval(kind: type[BaseSettings], given: dict[str, float]) -> None:
    with pytest.raises(InputError) as raised:
        build_config(given, kind)
    assert raised.value.setting == "resamples"


def test_no_bootstrap_and_no_number_of_draws_are_enough() -> None:
    assert build_config({"resamples": 0}, DisentangleSettings).resamples == 0
    assert build_config({}, CompareSettings).resamples is None
