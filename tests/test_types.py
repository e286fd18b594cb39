"""The checkout as type checkers and editors see it: every module under its one name, in the file one edits."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.skipif(not (REPOSITORY / "bsx" / "analysis").is_dir(), reason="a clone without symbolic links")
HOMES = {
    "bsx.analysis": "analysis/__init__.py",
    "bsx.analysis.stats.correlation": "analysis/stats/correlation.py",
    "bsx.registry": "registry/__init__.py",
    "bsx.support.optional": "bsx/support/optional.py",
}
"""Modules in the three folders that are one package, and the files they stand in."""


def said(*command: str | Path, cwd: Path = REPOSITORY) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MYPY"))}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=clean, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_mypy_holds_on_the_checkout_and_the_tests() -> None:
    files = re.search(r"no issues found in (\d+) source files", said(sys.executable, "-m", "mypy"))
    assert files is not None
    folders = (REPOSITORY / name for name in ("bsx", "analysis", "registry", "tests"))
    # Each once, though the links lead to them a second time: rglob does not follow them, mypy does.
    assert int(files[1]) == sum(1 for folder in folders for _ in folder.rglob("*.py"))


@pytest.mark.slow
def test_mypy_finds_what_stands_behind_the_links(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import bsx.registry\nfrom bsx.analysis.stats.correlation import pearson\nreveal_type(pearson([1.0], [2.0]))\n"
    )
    assert 'Revealed type is "bsx.analysis.stats.results.Estimate"' in said(sys.executable, "-m", "mypy", script)


def test_pyright_finds_the_files_one_edits(tmp_path: Path) -> None:
    pyright = Path(sysconfig.get_path("scripts"), "basedpyright")
    if not pyright.exists():
        pytest.skip("needs basedpyright, which the extra dev installs")
    script = tmp_path / "script.py"
    script.write_text("# pyright: basic\n" + "".join(f"import {module}\n" for module in HOMES), encoding="utf-8")
    found = said(pyright, "--pythonpath", sys.executable, "--dependencies", "--verbose", script)
    assert "0 errors" in found
    imported = re.search(r"script\.py\n Imports .*\n((?:    .*\n)+)", found)
    assert imported is not None, found
    files = {Path(line.strip().removeprefix("file://")).resolve() for line in imported[1].splitlines()}
    assert {REPOSITORY / home for home in HOMES.values()} <= files


def test_no_tool_meets_a_file_twice() -> None:
    shown = said(sys.executable, "-m", "ruff", "check", "--show-files", ".").splitlines()
    assert len({Path(file).resolve() for file in shown}) == len(shown)
    assert REPOSITORY / "analysis/stats/correlation.py" in map(Path, shown)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["analysis", "bsx/analysis"])
def test_pytest_runs_a_file_by_either_path(folder: str) -> None:
    file = f"{folder}/stats/preference.py"
    shown = said(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules", file)
    assert "1 passed" in shown
