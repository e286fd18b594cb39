"""Several devices of one machine: a process each, the same numbers as one device, and an end to all if one ends."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from bsx import score_files
from bsx.cluster import devices
from bsx.cluster.devices import DeviceError
from bsx.data.corpus import MemoryCorpus
from bsx.encode.run_config import choose_devices
from bsx.errors import InputError
from bsx.metrics import run
from bsx.metrics.base import get_metrics
from bsx.metrics.run import ScoredBlock
from bsx.scoring.run import ScoreRun
from bsx.support.children import starting_children
from tests.conftest import Model

WORDS = "rain train house river bank old man young woman walked slowly bridge station people city water".split()  # noqa: SIM905 - prose reads better


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write 90 rows, none of whose texts comes again, of which a block holds a few."""
    monkeypatch.setattr(run, "_BLOCK_TOKENS", 100)
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(180)]
    rows = [f"{texts[i]} {i}\t{texts[90 + i]} {90 + i}" for i in range(90)]
    path = tmp_path / "table.tsv"
    path.write_text("\n".join(["candidate\treference", *rows]) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def _nobody_is_left() -> Iterator[None]:
    yield
    assert not multiprocessing.active_children()


def alike(one: Path, two: Path) -> None:
    assert one.read_bytes() == two.read_bytes()
    said = [json.loads(Path(f"{path}.signatures.json").read_text(encoding="utf-8")) for path in (one, two)]
    assert said[0]["metrics"] == said[1]["metrics"]


@pytest.mark.parametrize(
    "metrics", [["chrf", "bleu", "ter"], pytest.param(["bertscore:layer=1,idf=true", "chrf"], marks=pytest.mark.slow)]
)
def test_two_processes_are_one(metrics: list[str], table: str, tiny_model: Model, tmp_path: Path) -> None:
    settings: Any = {"table": table, "metrics": metrics}
    settings |= {} if metrics[0] == "chrf" else {"model": tiny_model("bert")}
    done, blocks = list[tuple[int, int]](), list[ScoredBlock]()
    whole = score_files(output=tmp_path / "one.tsv", device="cpu", **settings)
    report: Any = {"progress": lambda phase, *at: done.append(at) if phase == "scoring" else None}
    both = score_files(output=tmp_path / "two.tsv", device="cpu,cpu", blocks=blocks.append, **settings, **report)
    alike(tmp_path / "one.tsv", tmp_path / "two.tsv")
    assert both.to_dict()["metrics"] == whole.to_dict()["metrics"]
    assert both.notes() == whole.notes()
    assert len(blocks) > 4
    assert done == sorted(done)
    assert len(done) == len(blocks)
    assert done[-1] == (90, 90)


@pytest.mark.slow
def test_a_run_goes_on_where_it_was_stopped(table: str, tmp_path: Path) -> None:
    settings: Any = {"table": table, "metrics": ["chrf"], "resume": True}
    score_files(output=tmp_path / "one.tsv", **settings)
    seen = list[ScoredBlock]()

    def stop(block: ScoredBlock) -> None:
        seen.append(block)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_files(output=tmp_path / "two.tsv", device="cpu,cpu", blocks=stop, **settings)
    assert not multiprocessing.active_children()
    said = list[str]()
    score_files(output=tmp_path / "two.tsv", device="cpu,cpu", say=said.append, **settings)
    assert any("of 90 segments were scored before" in line for line in said)
    alike(tmp_path / "one.tsv", tmp_path / "two.tsv")


def test_a_process_that_is_killed_ends_the_run(table: str, tmp_path: Path) -> None:
    def kill(_: ScoredBlock) -> None:
        for child in multiprocessing.active_children():
            if child.pid is not None:
                os.kill(child.pid, signal.SIGKILL)

    with pytest.raises(DeviceError, match="cpu"):
        score_files(table=table, metrics=["chrf"], device="cpu,cpu", output=tmp_path / "out.tsv", blocks=kill)
    assert not (tmp_path / "out.tsv").exists()


def test_what_goes_wrong_in_a_process_is_said_here(table: str, tiny_model: Model, tmp_path: Path) -> None:
    long = Path(table).read_text(encoding="utf-8") + f"{'rain ' * 2000}\train\n"
    (tmp_path / "long.tsv").write_text(long, encoding="utf-8")
    settings: Any = {"table": str(tmp_path / "long.tsv"), "metrics": ["bertscore:layer=1"], "model": tiny_model("bert")}
    with pytest.raises(InputError, match="segment 91"):
        score_files(device="cpu,cpu", strict=True, **settings)


def test_processes_on_one_processor_share_its_cores(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    starting = Mock(wraps=starting_children)
    monkeypatch.setattr(devices, "starting_children", starting)
    for cores in (1, 5):
        monkeypatch.setattr(devices, "threads", lambda cores=cores: cores)
        score_files(table=table, metrics=["chrf"], device="cpu,cpu")
    assert [call.args for call in starting.call_args_list] == [(1,), (1,), (2,), (2,)]


@pytest.mark.slow
def test_a_long_table_is_spread_over_the_cores(table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: Any = {"table": table, "metrics": ["ter", "chrf"]}
    running = set[int]()

    def count(_: ScoredBlock) -> None:
        running.add(len(multiprocessing.active_children()))

    monkeypatch.setattr(devices, "threads", lambda: 3)
    short = score_files(output=tmp_path / "one.tsv", blocks=count, **settings)
    assert running == {0}
    monkeypatch.setattr(devices, "_REPAYS", 1e-4)
    alone = score_files(output=tmp_path / "off.tsv", spread="off", blocks=count, **settings)
    assert running == {0}
    long = score_files(output=tmp_path / "three.tsv", blocks=count, **settings)
    assert running == {0, 3}
    for file in ("off.tsv", "three.tsv"):
        alike(tmp_path / "one.tsv", tmp_path / file)
    assert short.to_dict()["metrics"] == alone.to_dict()["metrics"] == long.to_dict()["metrics"]


@pytest.mark.parametrize(
    ("metrics", "characters", "start", "cores", "processes"),
    [
        ("ter", 4_100_000, 0, 2, 1),
        ("ter", 4_200_000, 0, 2, 2),
        ("meteor:synonyms=false,rouge-l", 2_400_000, 0, 2, 1),
        ("meteor:synonyms=false,rouge-l", 2_600_000, 0, 2, 2),
        ("bleu,ter,chrf", 9_000_000, 0, 16, 4),
        ("ter", 10**9, 0, 16, 16),
        ("ter", 10**9, 0, 1, 1),
        ("ter", 20_000_000, 90, 16, 1),
        ("ter", 10**9, 100, 16, 1),
        ("bleu,chrf,rouge-l", 10**9, 0, 16, 1),
        ("ter,length", 10**9, 0, 16, 1),
    ],
)
def test_how_many_processes_are_worth_their_start(
    metrics: str, characters: int, start: int, cores: int, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "threads", lambda: cores)
    prepared: Any = SimpleNamespace(metrics=get_metrics(metrics), plan=run.Plan(100, {}, (1, 1), characters=characters))
    assert devices.worthwhile(prepared, start) == processes


def test_characters_of_candidates_are_counted_for_each_reference() -> None:
    corpus = MemoryCorpus({"a": ["four", ""], "b": ["seven77", "x"]}, [["r", "s", " "], ["t"]])
    assert run.survey(corpus, "none").characters == 2 * 11 + 1


def test_devices_are_there_and_of_one_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    assert choose_devices("cpu, cpu") == ["cpu", "cpu"]
    for names in ("cuda:all", "cuda:0,cuda:1", "cpu,", "gpu,cpu"):
        with pytest.raises(InputError):
            choose_devices(names)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert choose_devices("cuda:all") == ["cuda:0", "cuda:1", "cuda:2"]
    assert choose_devices("cuda:2,cuda:0") == ["cuda:2", "cuda:0"]
    with pytest.raises(InputError):
        choose_devices("cuda:0,cpu")
    with pytest.raises(InputError):
        choose_devices("cuda:2,cuda:3")


@pytest.mark.parametrize("other", [{"engine": "ray"}, {"lang_column": "lang"}])
def test_what_cannot_be_combined(other: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="several devices"):
        ScoreRun(table="in.tsv", device="cuda:all", **other)
