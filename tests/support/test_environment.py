"""No word to anyone: with a fresh home, runs write nothing outside bsx's own cache and look nobody up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from bsx.support.environment import SILENT, silence

# Whatever a process opens to another one, in Python or beneath it. Looking up a user's name in the daemon that some
# systems have for it is no word to anyone.
GUARD = """
import socket, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        print("GUARD", event, arguments, file=sys.stderr)

sys.addaudithook(refuse)
"""

COMMANDS = [
    "score -c c.txt -r r.txt -m minilm --backend onnx -o o.tsv",
    "score -c c.txt -r r.txt --metric chrf,bleu,rouge-l,ter -o m.tsv",
    "match 'a cat' 'the cat' -m minilm --plot picture.png",
    "meta t.tsv --human human --column a,b --resamples 20",
    "report m.tsv -o report.html",
    "models",
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder with one home for all runs: digests are kept from the first on."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "c.txt").write_text("a cat sat\nthe mat\n")
    (folder / "r.txt").write_text("the cat sat\non a mat\n")
    (folder / "t.tsv").write_text("human\ta\tb\n" + "".join(f"{i % 7}\t{i}\t{-i % 5}\n" for i in range(20)))
    return folder


def run(program: list[str], folder: Path) -> tuple[str, list[str]]:
    """Run a program with a fresh home; return what it said, and the files it made there and among temporary ones."""
    home, temporary = folder / "home", folder / "tmp"
    home.mkdir(exist_ok=True)
    temporary.mkdir(exist_ok=True)
    (folder / "guard").mkdir(exist_ok=True)
    (folder / "guard" / "sitecustomize.py").write_text(GUARD)
    inherited = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "SYSTEMROOT")}
    path = os.pathsep.join([str(folder / "guard"), *(part for part in sys.path if part)])
    environment = {**inherited, "HOME": str(home), "TMPDIR": str(temporary), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    tracer = shutil.which("strace")
    trace = folder / "trace"
    if tracer is not None:
        program = [
            tracer,
            "-f",
            "--seccomp-bpf",
            "-o",
            str(trace),
            "-e",
            "trace=connect,sendto,sendmsg,sendmmsg",
            *program,
        ]
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "GUARD" not in done.stderr
    if tracer is not None:
        assert not [line for line in trace.read_text().splitlines() if "AF_INET" in line]
    made = [
        file for place in (home, temporary) for file in place.rglob("*") if file.is_file() or not any(file.iterdir())
    ]
    return done.stdout, [str(file.relative_to(folder)) for file in made]


@pytest.mark.skipif(sys.platform != "linux", reason="knows where Linux keeps a user's files")
def test_commands_write_and_say_nothing_elsewhere(world: Path) -> None:
    for command in COMMANDS:
        _, made = run(["bash", "-c", f"exec {sys.executable} -m bsx {command}"], world)
        assert [file for file in made if not file.startswith("home/.cache/bsx/")] == []
    assert any("digests" in file for file in made)


@pytest.mark.skipif(sys.platform != "linux", reason="knows where Linux keeps a user's files")
def test_scoring_from_python_says_nothing(world: Path) -> None:
    """ONNX Runtime is asked again after `import bsx`, in a process of its own that inherits the environment."""
    code = "import bsx, onnxruntime; print(bsx.score(['a cat'], ['the cat'], model='minilm', backend='onnx').f1[0] > 0)"
    said, made = run([sys.executable, "-c", code], world)
    assert said == "True\n"
    assert [file for file in made if not file.startswith(("home/.cache/bsx/", "tmp/torchinductor"))] == []


def test_attempts_to_reach_the_hub_are_not_reported_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import bsx.cli.commands as c; c.call(['--version']); from huggingface_hub.utils import logging; "
    code += "logging.get_logger('huggingface_hub.utils._http').warning('Retrying in 1s [Retry 1/5].')"

    def said() -> str:
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr

    assert "Retrying" not in said()
    monkeypatch.setenv("HF_HUB_VERBOSITY", "warning")
    assert "Retrying" in said()


def test_what_the_user_says_wins() -> None:
    code = f"import bsx, json, os; print(json.dumps({{name: os.environ[name] for name in {list(SILENT)!r}}}))"

    def told(**given: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in SILENT}
        done = subprocess.run(
            [sys.executable, "-c", code], env={**kept, **given}, capture_output=True, text=True, check=True
        )
        found: dict[str, str] = json.loads(done.stdout)
        return found

    assert told() == SILENT
    assert told(RAY_USAGE_STATS_ENABLED="1") == {**SILENT, "RAY_USAGE_STATS_ENABLED": "1"}


def test_a_notebook_without_widgets_opens_without_tqdms_warning() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        silence()
        warnings.warn("IProgress not found. Please update jupyter and ipywidgets.", stacklevel=1)
        warnings.warn("something else", stacklevel=1)
    assert [str(one.message) for one in said] == ["something else"]
