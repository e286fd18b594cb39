"""Control characters from tables, folders and checkpoints never reach a terminal as they are."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bsx.support.terminal import Messages, Printed

EVIL = "A\x1b[31m\x07\x9bB"
SPELLED = r"A\u001b[31m\u0007\u009bB"


def bsx(*words: object, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "bsx", *map(str, words)], cwd=cwd, capture_output=True, check=False)


def controls(output: bytes) -> set[str]:
    return {c for c in output.decode() if (ord(c) < 32 or 127 <= ord(c) < 160) and c not in "\t\n"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="such names of files need POSIX")
def test_names_are_spelled_out_and_tables_are_not_touched(tmp_path: Path) -> None:
    table = tmp_path / f"{EVIL}.tsv"
    table.write_text(f"system\tcandidate\treference\n{EVIL}\tx y\tx y z\nC\tx y z\tx y z\n", encoding="utf-8")
    score = ("score", table, "--metrics", "chrf")
    done = bsx(*score, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert SPELLED in done.stdout.decode()
    assert not controls(done.stdout + done.stderr)
    done = bsx(*score, "--format", "json", cwd=tmp_path)
    assert not controls(done.stdout + done.stderr)
    assert json.loads(done.stdout)["systems"][0] == EVIL  # the spelling is JSON's own
    assert EVIL in bsx(*score, "-o", "-", cwd=tmp_path).stdout.decode()  # a table is data
    for words in (("score", f"no{EVIL}.tsv", "--metrics", "chrf"), ("score", f"--{EVIL}"), (EVIL,)):
        done = bsx(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert not controls(done.stdout + done.stderr)


def test_bars_still_move_the_cursor() -> None:
    below = io.BytesIO()
    stream = Messages(io.TextIOWrapper(io.BufferedWriter(below)))
    for text in ("\r 10%", "\n\x1b[A", f"\rx{EVIL}", f"{EVIL}\r\n"):
        assert stream.write(text) == len(text)
    stream.flush()
    assert below.getvalue().decode() == rf"{chr(13)} 10%{chr(10)}{chr(27)}[A{chr(13)}x{SPELLED}{SPELLED}\u000d{chr(10)}"
    plain = io.BytesIO()
    out = Printed(io.TextIOWrapper(io.BufferedWriter(plain)))
    out.write("\r\x1b[A")
    out.flush()
    assert plain.getvalue() == rb"\u000d\u001b[A"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_bar_on_a_terminal_names_nothing_raw(tmp_path: Path) -> None:
    import pty

    (tmp_path / "t.tsv").write_text(f"system\tcandidate\treference\n{EVIL}\tx y\tx y z\nC\tx\tx\n", encoding="utf-8")
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "bsx", "score", "t.tsv", "--metrics", "chrf"],
        cwd=tmp_path,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(main, 4096):
            shown += part
    except OSError:  # how Linux says that the other end is closed
        pass
    assert process.wait() == 0
    os.close(main)
    assert SPELLED in shown.decode()
    assert EVIL not in shown.decode()
