"""Commands read what can be read but once (named pipes, standard input) whole, and wait for nobody."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path

import pytest

from tests.conftest import Cli

COMMANDS = {
    "score": "score {} --metrics chrf -o out.tsv",
    "compare": "compare {} --columns a --resamples 20 --format json",
    "meta": "meta {} --columns a --human human --resamples 20 --format json",
    "disentangle": "disentangle {} --columns a --factor-columns human --format json",
}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Two systems, more rows than a pipe holds at once."""
    monkeypatch.chdir(tmp_path)
    rows = ["system\tsegment\tcandidate\treference\thuman\ta"]
    for i in range(1500):
        texts = f"the cat number {i} sat on the mat\tthe cat {i // 2} was on the old mat"
        rows.append(f"{'xy'[i % 2]}\t{i // 2}\t{texts}\t{i * 7 % 5}\t{i * 13 % 17 / 17 + i % 2}")
    return ("\n".join(rows) + "\n").encode()


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
@pytest.mark.parametrize("name", COMMANDS)
def test_pipes_are_read_whole(name: str, cli: Cli, table: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(file: str) -> tuple[str, str, bytes]:
        done = cli(*COMMANDS[name].format(file).split())
        assert done.status == 0, done.err
        before = done.out.partition('"provenance"')[0].replace("standard input", "t.tsv")  # a pipe has no digest
        return before, done.err, Path("out.tsv").read_bytes() if name == "score" else b""

    Path("t.tsv").write_bytes(table)
    expected = call("t.tsv")
    Path("t.tsv").unlink()
    os.mkfifo("t.tsv")
    threading.Thread(target=Path("t.tsv").write_bytes, args=[table], daemon=True).start()
    assert call("t.tsv") == expected
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(table)))
    assert call("-")[2] == expected[2]
    assert sys.stdin.buffer.read() == b""
