"""What is in the wheel, and that it works where the source tree is not."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

LINKS = ("bsx/analysis", "bsx/registry")
FOLDERS = {"bsx": "bsx", "analysis": "bsx/analysis", "registry": "bsx/registry"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the tracked files, so that nothing left lying around gets in."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in tracked():
        copy = source / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((REPOSITORY / name).read_bytes())
    for link in LINKS:
        (source / link).symlink_to((REPOSITORY / link).readlink())
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", target, source], check=True, cwd=target)
    return next(target.glob("bsx-*.whl"))


def tracked() -> list[str]:
    """Names of all files git tracks, or that are new and not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY).stdout.splitlines()
    return [name for name in names if (REPOSITORY / name).is_file()]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the python of a fresh environment that has the wheel and, by a path file, its dependencies."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    zipfile.ZipFile(wheel).extractall(packages)
    # The path file brings the dependencies of this environment, but not its editable install of bsx.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def run(python: Path, *arguments: str, cwd: Path) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run([python, *arguments], capture_output=True, text=True, cwd=cwd, env=clean)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_exactly_the_tracked_files(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = set()
    for name in tracked():
        folder, _, rest = name.partition("/")
        data = name.endswith((".py", ".yaml", ".tsv", ".md", ".conllu", ".json", "py.typed"))
        if folder in FOLDERS and (data or name.startswith("analysis/report/page/")):
            expected.add(f"{FOLDERS[folder]}/{rest}")
    assert inside == expected


def test_every_folder_with_code_is_a_package() -> None:
    for folder in FOLDERS:
        for file in (REPOSITORY / folder).rglob("*.py"):
            assert (file.parent / "__init__.py").is_file(), f"{file.parent} lacks __init__.py, so it is not installed"


def test_the_links_lead_to_the_folders_beside() -> None:
    for link in LINKS:
        assert (REPOSITORY / link).resolve() == REPOSITORY / Path(link).name


def test_nothing_is_installed_at_the_top_level_but_bsx(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"bsx"}


def test_the_installed_wheel_scores_and_finds_its_registry(installed: Path, tmp_path: Path) -> None:
    code = """
import bsx, sys, bsx.registry, bsx.analysis
assert "site-packages" in bsx.__file__ and "site-packages" in bsx.registry.__file__
scores = bsx.score(["the cat sat", ""], ["a cat sat", "x"], model="minilm")
print(round(float(scores.f1[0]), 3), len(scores.empty), bsx.__version__)
"""
    f1, empty, version = run(installed, "-c", code, cwd=tmp_path).split()
    assert 0.8 < float(f1) < 1
    assert empty == "1"
    assert version == tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    assert "minilm" in run(installed, "-m", "bsx", "models", cwd=tmp_path)


def test_doctests_hold_on_the_installed_wheel(installed: Path, tmp_path: Path) -> None:
    code = """
import doctest, importlib, pkgutil, bsx
failed = tried = 0
for info in pkgutil.walk_packages(bsx.__path__, "bsx."):
    if info.name.endswith("__main__"):
        continue
    result = doctest.testmod(importlib.import_module(info.name))
    failed, tried = failed + result.failed, tried + result.attempted
print(failed, tried)
"""
    failed, tried = map(int, run(installed, "-c", code, cwd=tmp_path).split()[-2:])
    assert failed == 0
    assert tried > 0


def test_versions_are_pinned() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    pins = {line.partition("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    for requirement in wanted:
        name = requirement.split("[")[0].split(">")[0].split("=")[0].split("<")[0].strip().lower().replace("_", "-")
        assert name in pins | {"bsx"}, name
    assert "torch==2.13.0" in lines


def test_a_missing_extra_names_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from bsx.errors import MissingExtraError
    from bsx.support.optional import EXTRAS, need

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    for module, extra in EXTRAS.items():
        assert extra in project["optional-dependencies"]
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(
            MissingExtraError, match=rf"Drawing needs the package {module}.*pip install 'bsx\[{extra}\]'"
        ):
            need(module, "Drawing")
