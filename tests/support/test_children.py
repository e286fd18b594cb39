"""Nobody else's code: what lies in the folder that somebody works in is never imported, in whatever process."""

from __future__ import annotations

import ast
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bsx.support.children import run_code
from tests.fuzz.world import RIGHT, build, command

ROOT = Path(__file__).resolve().parents[2]
PLANT = """
import os as _os
_os.close(_os.open(_os.path.join(_os.environ["PLANTED"], __name__), _os.O_CREAT | _os.O_WRONLY))
raise ImportError("planted")
"""
# Below what every Python imports before it looks anywhere, all may be planted; and what bsx itself brings and needs.
NAMES = sorted({*sys.stdlib_module_names, "bsx", "numpy", "torch", "fasttext", "yaml", "comet_model", "laser_encoders"})
# What runs all of its arguments as commands of bsx, in one process that was started as the installed program is.
SCRIPT = """
import json, sys
sys.path[0] = {bin!r}
from bsx.cli.main import _status

ends = {{}}
for call in json.loads(sys.argv[1]):
    sys.argv[1:] = call
    ends[" ".join(call)] = _status()
print("\\n" + json.dumps(ends))
"""
STARTS = [
    "score -c cand.txt -r ref.txt --metrics chrf --encoder device=cpu,cpu",
    "score -c cand.txt -r ref.txt -s src.txt --metrics comet",
    "score -c cand.txt -r ref.txt --metrics laser",
]
"""Calls that start a further process, beside what `tests.fuzz.world.RIGHT` has."""


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


def run_all(calls: list[str], planted: Path) -> dict[str, int]:
    script = planted / "bsx-script"
    script.write_text(SCRIPT.format(bin=str(Path(sys.executable).parent)), encoding="utf-8")
    words = []
    for number, call in enumerate(calls):  # each with an output folder of its own
        (out := planted / "out" / str(number)).mkdir(parents=True, exist_ok=True)
        words.append(shlex.split(call.format(out=out)))
    done = subprocess.run([sys.executable, script, json.dumps(words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    ends: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return ends


def test_the_plants_would_be_run(planted: Path) -> None:
    subprocess.run([sys.executable, "-c", "import json"], capture_output=True, check=False)
    assert ran(planted) == ["json"]


@pytest.mark.slow
def test_commands_that_start_processes_run_no_plants(planted: Path) -> None:
    assert list(run_all(STARTS, planted).values()) == [0, 2, 2]  # COMET and LASER are not installed
    assert ran(planted) == []


@pytest.mark.slow
def test_no_command_runs_plants(planted: Path) -> None:
    calls = [" ".join((*command(name), arguments)) for name, arguments in RIGHT.items()]
    assert {call: status for call, status in run_all(calls, planted).items() if status} == {}
    assert ran(planted) == []


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


@pytest.fixture
def emptied(planted: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, with the folder among those that modules are looked for in: an empty entry means it."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep + str(ROOT))
    for name in sys.stdlib_module_names:  # what Python and the console script import first is out of anybody's hands
        if name not in ("secrets", "multiprocessing", "csv", "sqlite3"):
            (planted / "world" / f"{name}.py").unlink()
    (planted / "world" / "bsx.py").unlink()
    return planted


def test_an_empty_entry_of_pythonpath_is_no_way_in(emptied: Path) -> None:
    subprocess.run([sys.executable, "-P", "-c", "import csv"], capture_output=True, check=False)
    assert ran(emptied) == ["csv"]
    (emptied / "ran" / "csv").unlink()
    plain = "score -c cand.txt -r ref.txt --metrics chrf"
    assert list(run_all([f"{plain} --encoder device=cpu,cpu", plain], emptied).values()) == [0, 0]
    assert ran(emptied) == []


@pytest.mark.parametrize("entry", ["", "."])
def test_children_of_a_process_that_looks_in_the_folder_do_not(emptied: Path, entry: str) -> None:
    """Somebody's own program, which may look there; what bsx starts for it may not."""
    script = emptied / "starts.py"
    script.write_text(
        "import multiprocessing, os, sys\n"
        "from bsx.support.children import run_code, start, starting_children\n"
        "if __name__ == '__main__':\n"
        "    assert os.getcwd() in sys.path\n"
        "    assert run_code('import csv, bsx', cwd=os.getcwd()).returncode == 0\n"
        "    with start('-c', 'import csv, bsx') as child:\n"
        "        assert child.communicate() == (b'', b'')\n"
        "    child = multiprocessing.get_context('spawn').Process(target=exec, args=('import secrets, bsx',))\n"
        "    with starting_children():\n"
        "        child.start()\n"
        "    child.join()\n"
        "    assert child.exitcode == 0\n"
        "    assert os.getcwd() in sys.path\n"
    )
    (emptied / "world" / "multiprocessing.py").unlink()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([entry, str(ROOT)])}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert ran(emptied) == []


def test_an_interactive_python_looks_in_the_folder_and_its_children_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    done = run_code("import planted", cwd=tmp_path)
    assert done.returncode == 1
    assert "ModuleNotFoundError" in done.stderr


STARTING = {
    "subprocess": {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "multiprocessing": {"Process", "Pool", "Manager", "get_context", "Queue", "Value", "Array"},
    "concurrent.futures": {"ProcessPoolExecutor"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "pty": {"spawn", "fork"},
}
NAMED = set[str]().union(*STARTING.values())
OF_OS = ("system", "popen", "exec", "spawn", "posix_spawn", "fork", "startfile")


def starters(tree: ast.Module) -> set[str]:
    """Return what code may start a process with, by the module's name."""
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            found |= {module for module in STARTING if node.module == module and names & STARTING[module]}
            found |= {"os"} if node.module == "os" and any(name.startswith(OF_OS) for name in names) else set()
        elif isinstance(node, ast.Attribute) and (node.attr in NAMED or node.attr.startswith(OF_OS)):
            whole = ast.unparse(node.value)
            found |= {module for module in STARTING if whole == module and node.attr in STARTING[module]}
            found |= {"os"} if whole == "os" and node.attr.startswith(OF_OS) else set()
    return found


def without_annotations(tree: ast.Module) -> None:
    """Take annotations out of code: `subprocess.Popen` as a type starts nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign | ast.arg):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None


def test_processes_are_started_in_one_place_only() -> None:
    """Whoever starts a process elsewhere has to see to what that imports."""
    found: dict[str, set[str]] = {}
    for top in ("bsx", "analysis"):
        for file in (ROOT / top).rglob("*.py"):
            where = file.relative_to(ROOT).as_posix()
            if not where.startswith(("bsx/analysis/", "bsx/registry/")):  # links to what is looked through anyway
                content = file.read_text(encoding="utf-8")
                without_annotations(tree := ast.parse(content))
                if names := starters(tree):
                    found[where] = names
                    if "multiprocessing" in names:
                        assert "with starting_children(" in content, where
    assert found == {
        "bsx/support/children.py": {"subprocess"},
        "bsx/cluster/devices.py": {"multiprocessing"},
    }
