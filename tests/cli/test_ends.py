"""How runs end: by a signal at any moment, with streams that are closed, full or broken, and by what nobody foresaw."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and shells")
BSX = [sys.executable, "-m", "bsx"]


def bash(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in which ``bsx`` is this one; anything undecodable in its output is an error."""
    variables = {**os.environ, "BSX": " ".join(BSX), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={**variables, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


# Sends a signal where a module's import begins, so that no moment is left to chance; what it is about stands above it.
AT_IMPORT = """
import os, signal, sys

number = getattr(signal, SIGNAL)
if not AS_IT_IS and signal.getsignal(number) is signal.SIG_IGN:  # the tests themselves may run under nohup
    signal.signal(number, signal.SIG_DFL)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), number)

finder = Finder()
sys.meta_path.insert(0, finder)
sys.argv = ["bsx", *WORDS]
from bsx.cli.main import run
run()
"""


def no_ones(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that stands in no file: an error in it is not one of a user's own metric."""
    return types.FunctionType(
        function.__code__.replace(co_filename="<nowhere>"), function.__globals__, closure=function.__closure__
    )


def at_import(module: str, name: str, words: list[str], *, as_it_is: bool = False) -> str:
    about = {"MODULE": module, "SIGNAL": name, "WORDS": words, "AS_IT_IS": as_it_is}
    return "".join(f"{key} = {value!r}\n" for key, value in about.items()) + AT_IMPORT


@posix
@pytest.mark.parametrize(
    ("module", "name", "status", "said"),
    [
        ("typer", "SIGINT", 130, "interrupted"),
        ("yaml", "SIGTERM", 143, "terminated"),
        pytest.param("yaml", "SIGHUP", 129, "terminated", marks=pytest.mark.slow),
        pytest.param("torch.nn", "SIGINT", 130, "interrupted", marks=pytest.mark.slow),
    ],
)
def test_a_signal_while_modules_are_imported(module: str, name: str, status: int, said: str) -> None:
    words = ["match", "a", "b", "-m", "minilm", "--encoder", "backend=torch"] if module == "torch.nn" else ["models"]
    code = at_import(module, name, words)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr == f"bsx: {said}; nothing half-written was left behind\n"


@posix
def test_what_the_shell_has_us_ignore_stays_ignored(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(at_import("yaml", "SIGHUP", ["models"], as_it_is=True))
    done = bash(f"nohup {sys.executable} code.py", tmp_path)
    assert done.returncode == 0
    assert "minilm" in done.stdout


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    (tmp_path / "c.txt").write_text("a cat\nthe mat\n")
    (tmp_path / "r.txt").write_text("a cat sat\non a mat\n")
    return tmp_path


@posix
def test_messages_of_nobody_and_control_characters_reach_no_output(texts: Path) -> None:
    """A number that was closed and is free again is that of the next file."""
    (texts / "t.tsv").write_text("system\tcandidate\treference\nA\x1b[31mX\ta\ta\nB\ta\tb\n")
    code = "import bsx.cli.output as o; o._Lines.seconds = 0; from bsx.cli.main import run; run()"
    done = bash(f"{sys.executable} -c '{code}' score t.tsv --metrics chrf -o o.tsv 2>&-", texts)
    assert done.returncode == 0
    assert "bsx: " not in (texts / "o.tsv").read_text()
    shown = bash("$BSX score t.tsv --metrics chrf", texts).stdout
    assert "A\\u001b[31mX" in shown
    assert "\x1b" not in shown


@posix
@pytest.mark.parametrize(
    ("script", "status", "said"),
    [
        ("$BSX models | head -n 1 > /dev/null", 0, ""),
        ("ulimit -f 0; $BSX models > full", 2, "bsx: error: standard output: File too large\n"),
        ("$BSX score --metrics chrf -c c.txt -r r.txt -o o.tsv 2> /dev/full && test -s o.tsv", 0, ""),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("$BSX models >&-", 2, "bsx: error: standard output: Bad file descriptor\n"),
                ("$BSX nonsense 2>&-", 2, ""),
                ("$BSX score --metrics chrf -c - -r r.txt <&-", 2, "bsx: error: standard input: is empty\n"),
            )
        ),
    ],
)
def test_streams_that_are_closed_full_or_broken(script: str, status: int, said: str, texts: Path) -> None:
    done = bash(script, texts)
    assert (done.returncode, done.stderr) == (status, said)


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    "locale",
    [{"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}],
    ids=str,
)
def test_any_locale(locale: dict[str, str], texts: Path) -> None:
    (texts / "größe 😀.txt").write_text("a cat\nthe mat\n")
    done = bash("$BSX score --metrics chrf -c c.txt -c 'größe 😀.txt' -r r.txt; $BSX scöre", texts, **locale)
    assert "größe 😀" in done.stdout
    assert done.stderr.startswith("bsx: error: No such command 'sc")


class Panic(BaseException):
    """What libraries written in Rust raise."""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("x"), "bsx models ended with an error that nobody foresaw (KeyError: 'x'): please report it; "),
        (Panic("called unwrap"), "bsx models ended with an error that nobody foresaw (Panic: called unwrap): "),
        (EOFError(), "bsx models ended with an error that nobody foresaw (EOFError: ): "),
        (SystemExit(3), "bsx models ended with an error that nobody foresaw (SystemExit: 3): "),
        (MemoryError(), "the memory does not suffice: memory and batch_tokens bound it"),
        (RuntimeError("can't allocate memory: 9 bytes"), "the memory does not suffice (can't allocate memory: 9 bytes"),
        (OSError(errno.ENOSPC, "No space left", "o.tsv"), "o.tsv: No space left"),
        (PermissionError(errno.EACCES, "Permission denied", "x"), "x: Permission denied"),
    ],
)
def test_what_nobody_foresaw_is_one_line(
    error: BaseException, said: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(arguments: object) -> int:
        raise error

    monkeypatch.setattr("bsx.cli.commands.call", no_ones(fail))
    monkeypatch.delenv("BSX_TRACEBACK", raising=False)
    result = cli("models", "--format", "json")
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(f"bsx: error: {said}")
    assert len(result.err.splitlines()) == 1
    monkeypatch.setenv("BSX_TRACEBACK", "1")
    result = cli("models")
    assert result.err.startswith("Traceback")
    assert result.err.splitlines()[-1].startswith(f"bsx: error: {said}")


def test_the_end_lets_go_of_objects_as_ever() -> None:
    """Frozen objects are never let go of: libraries that count theirs (nanobind) print pages about leaks."""
    code = "import atexit, gc, sys; atexit.register(lambda: print('frozen', gc.get_freeze_count())); "
    code += "from bsx.cli.main import run; sys.argv = ['bsx', '--version']; run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "frozen 0"
