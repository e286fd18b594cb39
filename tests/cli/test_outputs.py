"""What a command is to write is held against what it reads before anything is computed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.fuzz.world import build

TRAIN = "train esim train.tsv --valid valid.tsv -m ./bert --network hidden=4,epochs=1"
EXPLAIN = "disentangle scores.tsv --columns a,b --factor-columns x1,x2"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = build(tmp_path_factory.mktemp("world"))
    (folder / "f").mkdir()
    (folder / "f" / "disentangle.csv").write_text((folder / "scores.tsv").read_text().replace("\t", ","))
    return folder


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (f"{TRAIN} -o train.tsv", "dir 'train.tsv' is a file"),
        (f"{TRAIN} -o train.tsv/x", "train.tsv is not a folder"),
        (f"{TRAIN} -o ./bert", "is an input of this run, which would overwrite it: give output another name"),
        (f"{EXPLAIN} -o scores.tsv", "scores.tsv is not a folder"),
        ("disentangle f/disentangle.csv --columns a,b --factor-columns x1,x2 -o f", "is an input of this run"),
        (
            "ensemble scores.tsv --columns a,b --human h --save scores.tsv.yaml -o scores.tsv",
            "is an input of this run, which would overwrite it: give output another name",
        ),
        ("ensemble scores.tsv --columns a,b --human h --save f/../no/x.yaml", "does not exist"),
        ("meta scores.tsv --human h --columns a --scores-out scores.tsv", "overwrite it: give --scores-out another"),
    ],
)
def test_outputs_are_refused_before_anything_is_computed(
    words: str, said: str, world: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(*arguments: object, **settings: object) -> None:
        raise AssertionError("it began to compute")

    monkeypatch.chdir(world)
    for job in ("train.run._begin", "disentangle.run.regress", "ensemble.run.open_frame"):
        monkeypatch.setattr(f"bsx.analysis.{job}", computed)
    before = sorted(world.rglob("*"))
    done = cli(*shlex.split(words))
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert sorted(world.rglob("*")) == before
