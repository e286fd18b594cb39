"""Runs that are killed at random moments and go on: no row lost, none twice, the very bytes of a run left in peace."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx.data.journal import Journal
from bsx.errors import InputError
from tests.conftest import Cli, Model
from tests.helpers.tables import write_rows

pytestmark = pytest.mark.usefixtures("one_thread")
WORDS = "rain train house river bank old man young woman walked slowly bridge station people city water".split()  # noqa: SIM905 - prose reads better


def write_pairs(folder: Path, rows: int, kind: str) -> Path:
    """Write a table of distinct texts."""
    rng = np.random.default_rng(1)
    names = [[" ".join(rng.choice(WORDS, rng.integers(2, 8))) for _ in range(2)] for _ in range(rows)]
    table = [{"key": f"k{i}", "candidate": f"{a} {i}", "reference": f"{b} {i}"} for i, (a, b) in enumerate(names)]
    path = folder / f"pairs{kind}"
    if kind == ".parquet":
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.Table.from_pylist(table), path)
    else:
        write_rows(path, table)
    return path


class Slow:
    """Make blocks small and the run stop itself after some of them, as a kill would, without a process of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 10**9
        monkeypatch.setattr("bsx.metrics.run._BLOCK_TOKENS", 256)
        append = Journal.append

        def stopping(journal: Journal, arrays: Any) -> None:
            if self.left == 0:
                raise MemoryError("stopped here")
            self.left -= 1
            append(journal, arrays)

        monkeypatch.setattr(Journal, "append", stopping)

    def stop(self, cli: Cli, blocks: int, *arguments: object) -> None:
        self.left = blocks
        assert cli(*arguments).status == 2
        self.left = 10**9


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    return Slow(monkeypatch)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_pairs(tmp_path, 120, ".tsv")


@pytest.fixture
def model(tiny_model: Model) -> str:
    return tiny_model("bert")


def command(metric: str, model: str, data: Path, output: Path) -> list[object]:
    chosen = ["--metrics", metric] if metric else ["--layer", "2"]
    return ["score", "-m", model, *chosen, data, "--segment", "key", "-o", output]


@pytest.mark.parametrize("kind", [".tsv", ".parquet"])
@pytest.mark.parametrize("metric", ["", "chrf,bleu,bertscore:layer=2,idf=true"])
def test_goes_on_where_it_stopped(metric: str, kind: str, cli: Cli, slow: Slow, model: str, tmp_path: Path) -> None:
    data = write_pairs(tmp_path, 120, kind)
    whole, parts = tmp_path / f"whole{kind}", tmp_path / f"parts{kind}"
    expected = cli(*command(metric, model, data, whole))
    assert expected.status == 0, expected.err
    for blocks in (1, 0, 2):
        slow.stop(cli, blocks, *command(metric, model, data, parts), "--resume")
        assert not parts.exists()
    assert len(list((tmp_path / f"parts{kind}.partial").glob("block-*.npz"))) == 3
    result = cli(*command(metric, model, data, parts), "--resume")
    assert result.status == 0, result.err
    assert re.search(r"bsx: note: \d+ of 120 segments were scored before", result.err)
    assert result.out == expected.out
    assert parts.read_bytes() == whole.read_bytes()
    left = {path.name for path in tmp_path.iterdir()}
    assert {name for name in left if name.startswith("parts")} == {
        name.replace("whole", "parts") for name in left if name.startswith("whole")
    }
    assert not list(tmp_path.glob(".*"))


def test_idf_and_several_layers(cli: Cli, slow: Slow, data: Path, model: str, tmp_path: Path) -> None:
    settings = ["score", "-m", model, "--all-layers", "--idf", data]
    assert cli(*settings, "-o", tmp_path / "whole.tsv").status == 0
    slow.stop(cli, 2, *settings, "-o", tmp_path / "parts.tsv")  # the first run need not be told that it will go on
    assert cli(*settings, "-o", tmp_path / "parts.tsv", "--resume").status == 0
    assert (tmp_path / "parts.tsv").read_bytes() == (tmp_path / "whole.tsv").read_bytes()


def test_another_input_or_other_settings(cli: Cli, slow: Slow, data: Path, model: str, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    slow.stop(cli, 2, *command("", model, data, out))
    other = cli(*command("", model, data, out), "--resume", "--idf")
    assert (other.status, other.err.count("\n")) == (2, 1)
    assert "was begun with another signature: idf:no then, idf:" in other.err
    data.write_text(data.read_text(encoding="utf-8").replace("rain", "snow", 1), encoding="utf-8")
    other = cli(*command("", model, data, out), "--resume")
    assert other.status == 2
    assert "was begun with another input" in other.err
    assert Journal(out).exists()
    anew = cli(*command("", model, data, out))
    assert anew.status == 0
    assert "was left by an unfinished run; starting over" in anew.err
    assert not Journal(out).folder.exists()


def test_a_damaged_block_is_computed_again(cli: Cli, slow: Slow, data: Path, model: str, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    assert cli(*command("", model, data, tmp_path / "whole.tsv")).status == 0
    slow.stop(cli, 3, *command("", model, data, out))
    blocks = sorted(Journal(out).folder.glob("block-*.npz"))
    content = bytearray(blocks[1].read_bytes())
    content[len(content) // 2] ^= 0xFF
    blocks[1].write_bytes(content)
    assert cli(*command("", model, data, out), "--resume").status == 0
    assert out.read_bytes() == (tmp_path / "whole.tsv").read_bytes()


def test_two_at_once(tmp_path: Path) -> None:
    one, two = Journal(tmp_path / "out.tsv"), Journal(tmp_path / "out.tsv")
    one.start({"input": ["a"]}, {})
    for begin in (lambda: two.resume({"input": ["a"]}), lambda: two.start({"input": ["a"]}, {}), two.discard):
        with pytest.raises(InputError, match="another process is writing"):
            begin()
    one.close()
    assert two.resume({"input": ["a"]})
    two.discard()
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kind", [pytest.param(".parquet", marks=pytest.mark.slow), ".tsv"])
def test_killed_at_many_random_moments(kind: str, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import bsx.metrics.run

    monkeypatch.setattr(bsx.metrics.run, "_BLOCK_TOKENS", 200)
    data = write_pairs(tmp_path, 600, kind)
    began = time.monotonic()
    arguments = ["score", "--metrics", "chrf", data, "--segment", "key", "-o"]
    assert cli(*arguments, tmp_path / f"whole{kind}").status == 0
    duration = time.monotonic() - began
    rng = np.random.default_rng(7)
    kept = [0]
    rounds = 0
    while rounds < 20 or (len(set(kept)) <= 3 and rounds < 200):  # the clock says little on a busy machine
        rounds += 1
        child = os.fork()  # all is imported already, so that most of its time goes into scoring
        if child == 0:
            os._exit(cli(*arguments, tmp_path / f"parts{kind}", "--resume").status)
        time.sleep(float(rng.uniform(0, duration)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kept.append(len(list((tmp_path / f"parts{kind}.partial").glob("block-*.npz"))))
        if (tmp_path / f"parts{kind}").exists():  # it was complete before the signal came
            assert (tmp_path / f"parts{kind}").read_bytes() == (tmp_path / f"whole{kind}").read_bytes()
            (tmp_path / f"parts{kind}").unlink()
    assert len(set(kept)) > 3  # it did go on in between
    assert cli(*arguments, tmp_path / f"parts{kind}", "--resume").status == 0
    assert (tmp_path / f"parts{kind}").read_bytes() == (tmp_path / f"whole{kind}").read_bytes()
    assert not (tmp_path / f"parts{kind}.partial").exists()
