"""Nobody else's code: what lies in the folder that somebody works in is never imported, in whatever process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bsx.support.children import run_code
from tests.fuzz.world import build

ROOT = Path(__file__).resolve().parents[2]
PLANT = """
import os as _os
_os.close(_os.open(_os.path.join(_os.environ["PLANTED"], __name__), _os.O_CREAT | _os.O_WRONLY))
raise ImportError("planted")
"""
# Below what every Python imports before it looks anywhere, all may be planted; and what bsx itself brings and needs.
NAMES = sorted({*sys.stdlib_module_names, "bsx", "numpy", "torch", "fasttext", "yaml", "comet_model", "laser_encoders"})


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of somebody's data in which every module that could be imported by mistake is planted."""
    world = tmp_path / "world"
    world.mkdir()
    build(world)
    for name in NAMES:
        (world / f"{name}.py").write_text(PLANT, encoding="utf-8")
    (tmp_path / "ran").mkdir()
    (tmp_path / "out").mkdir()
    monkeypatch.setenv("PLANTED", str(tmp_path / "ran"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.chdir(world)
    return tmp_path


def ran(planted: Path) -> list[str]:
    return sorted(file.name for file in (planted / "ran").iterdir())


def test_the_plants_would_be_run(planted: Path) -> None:
    subprocess.run([sys.executable, "-c", "import json"], capture_output=True, check=False)
    assert ran(planted) == ["json"]


def test_a_spawned_process_runs_no_plants(planted: Path) -> None:
    script = planted / "spawns.py"
    script.write_text(
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from multiprocessing import get_context\n"
        "from bsx.support.children import starting_children\n"
        "if __name__ == '__main__':\n"
        "    with starting_children():\n"
        "        pool = ProcessPoolExecutor(2, mp_context=get_context('spawn'))\n"
        "    with pool, starting_children():\n"
        "        print(list(pool.map(abs, [1, 2])))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:1]) == (0, "["), done.stderr
    assert ran(planted) == []


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs signals that can be blocked")
def test_what_a_child_is_started_with(tmp_path: Path) -> None:
    """In a fresh process, since only the first child of one was ever reached by Ctrl-C, and without a guard."""
    (tmp_path / "saying.py").write_text(
        "import os, signal\n"
        "def say():\n"
        "    print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []), os.environ['OMP_NUM_THREADS'])\n"
    )
    script = tmp_path / "starts.py"
    script.write_text(
        "import multiprocessing\n"
        "from saying import say\n"
        "from bsx.support.children import starting_children\n"
        "for threads in (None, 3):\n"
        "    child = multiprocessing.get_context('spawn').Process(target=say)\n"
        "    with starting_children(threads):\n"
        "        child.start()\n"
        "    child.join()\n"
        "say()\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "5"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["True 5", "True 3", "False 5"], done.stderr


def test_code_in_a_further_process_runs_no_plants(planted: Path) -> None:
    done = run_code("import json, pathlib, sys, secrets; print(sys.argv[1:])", "ü")
    assert (done.returncode, done.stdout) == (0, "['ü']\n"), done.stderr
    assert ran(planted) == []


def test_python_m_bsx_imports_nothing_late_from_the_working_folder(planted: Path) -> None:
    for name in NAMES:  # what Python itself imports before it comes to bsx is out of anybody's hands
        if name not in ("secrets", "multiprocessing", "numpy", "csv", "torch"):
            (planted / "world" / f"{name}.py").unlink()
    call = ["score", "-c", "cand.txt", "-r", "ref.txt", "--metrics", "chrf"]
    done = subprocess.run([sys.executable, "-m", "bsx", *call], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ran(planted) == []


def test_an_interactive_python_looks_in_the_folder_and_its_children_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    done = run_code("import planted", cwd=tmp_path)
    assert done.returncode == 1
    assert "ModuleNotFoundError" in done.stderr


STARTING = re.compile(
    r"\bsubprocess\.(Popen\(|run|call|check_)|\bget_context\(|\bProcessPoolExecutor\(|\bmultiprocessing\.(Process|Pool)"
    r"|\bos\.(system|popen|exec|spawn|posix_spawn|fork)|create_subprocess|pty\.(spawn|fork)"
)


def test_processes_are_started_in_one_place_only() -> None:
    """Whoever starts a process elsewhere has to see to what that imports."""
    texts = {
        file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8")
        for top in ("bsx", "analysis")
        for file in (ROOT / top).rglob("*.py")
    }
    starting = {name for name, text in texts.items() if STARTING.search(text)}
    assert starting == {"bsx/support/children.py", "bsx/cluster/devices.py"}
    assert "with starting_children(" in texts["bsx/cluster/devices.py"]
