"""Every command reads what it can read but once (named pipes, standard input) whole, and waits for nobody."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Outcome
from tests.fuzz.test_corpus import inputs
from tests.fuzz.world import RIGHT, build, command

Cli = Callable[..., Outcome]
LINES = 1500
# Digests of files, which pipes do not have, and what a digest over these makes of them.
DIGESTS = re.compile(rb"""["']files["']: \[.*?\]|^# sha256 of the lines below: \w+$""", re.DOTALL | re.MULTILINE)
# One of each kind; the others follow in `make test-all`.
QUICK = ("score", "compare", "meta", "disentangle", "registry baseline")
NAMES = [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in RIGHT if inputs(name)]
pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes"),
]


def _in_segment(row: bytes, number: int) -> bytes:
    lp, system, _, *rest = row.split(b"\t")
    return b"\t".join([lp, system, str(number).encode(), *rest])


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inputs of the fuzz corpus, 1,500 lines each."""
    folder = build(tmp_path_factory.mktemp("long"))
    for file in folder.iterdir():
        if file.suffix in (".tsv", ".txt"):
            lines = file.read_bytes().splitlines(keepends=True)
            head = lines[:1] if file.suffix == ".tsv" else []
            rows = (lines[len(head) :] * LINES)[:LINES]
            if b"\tseg\t" in b"".join(head):
                rows = [_in_segment(row, i // 4) for i, row in enumerate(rows)]
            if b"document\t" in b"".join(head):  # the rows of a document stand together
                rows = [b"d%d\t%b" % (i // 8, row.split(b"\t", 1)[1]) for i, row in enumerate(rows)]
            if b"system\tsegment\t" in b"".join(head):  # two systems with all segments, one below the other
                half = (len(lines) - 1) // 2
                cells = [lines[1 + i // 2 % half + half * (i % 2)].split(b"\t")[2:] for i in range(LINES)]
                rows = [b"\t".join([b"s%d" % (i % 2), b"%d" % (i // 2), *cell]) for i, cell in enumerate(cells)]
            if b"judge\t" in b"".join(head):  # nobody judges an item twice
                several = (row.split(b"\t") for row in rows)
                rows = [b"\t".join([*cell[:2], b"%d" % (i // 3), cell[3]]) for i, cell in enumerate(several)]
            file.write_bytes(b"".join([*head, *rows]))
    return folder


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """End what hangs."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it hangs"))
    signal.alarm(180)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def call(cli: Cli, name: str, words: list[str]) -> tuple[Outcome, dict[str, bytes]]:
    """Run a command; return what came of it, its files too."""
    out = Path("out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    done = cli(*command(name), *words)
    files = {
        str(file): bytes(sorted(file.read_bytes()))  # safetensors orders its facts by chance
        if file.suffix == ".safetensors"
        else DIGESTS.sub(b"", file.read_bytes())
        for file in sorted(out.rglob("*"))
        if file.is_file()
    }
    return done._replace(out=DIGESTS.sub(b"", done.out.encode()).decode()), files


@pytest.mark.parametrize("name", NAMES)
def test_pipes_are_read_whole(name: str, cli: Cli, long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bert").symlink_to(long / "bert")
    words = shlex.split(RIGHT[name].format(out="out"))
    read = inputs(name)
    for file in read:
        shutil.copy(long / file, file)
    expected = call(cli, name, words)
    assert expected[0].status == 0, expected[0].err
    if name != "report":  # which goes by names
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(read[0]).read_bytes())))
        assert call(cli, name, [word if word != read[0] else "-" for word in words])[0].status == 0
        assert sys.stdin.buffer.read() == b""
    for file in read:
        Path(file).unlink()
        os.mkfifo(file)
        threading.Thread(target=Path(file).write_bytes, args=[(long / file).read_bytes()], daemon=True).start()
    assert call(cli, name, words) == expected
