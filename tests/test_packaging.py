"""What is in the wheel, and that it works where the source tree is not."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import bsx
from tests.conftest import REPOSITORY

LINKS = ("bsx/analysis", "bsx/registry")
FOLDERS = {"bsx": "bsx", "analysis": "bsx/analysis", "registry": "bsx/registry"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the tracked files, so that nothing left lying around gets into what is built."""
    folder = tmp_path_factory.mktemp("source")
    for name in tracked():
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((REPOSITORY / name).read_bytes())
    for link in LINKS:
        (folder / link).symlink_to((REPOSITORY / link).readlink())
    return folder


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""
    return built("wheel", source, tmp_path_factory.mktemp("wheel"))


def built(kind: str, source: Path, target: Path) -> Path:
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(target)!r}))"
    return target / run(Path(sys.executable), "-c", code, cwd=source).splitlines()[-1]


def tracked() -> list[str]:
    """Names of all files git tracks, or that are new and not ignored."""
    # The checkout may be another user's, as in a container: git asks to be told that this is meant.
    command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY).stdout.splitlines()
    return [name for name in names if (REPOSITORY / name).is_file()]


def environment(home: Path) -> Path:
    """Make an environment that has the packages of this one, but not its editable bsx; return its python."""
    venv.create(home, with_pip=False, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    # Path files in the folders that a path file names are not read, and that is how an editable bsx would come.
    folders = dict.fromkeys(path for path in sys.path if Path(path).name in ("site-packages", "dist-packages"))
    (packages / "dependencies.pth").write_text("".join(f"{folder}\n" for folder in folders))
    return home / "bin" / "python"


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the python of a fresh environment that has the wheel."""
    home = tmp_path_factory.mktemp("environment")
    python = environment(home)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    zipfile.ZipFile(wheel).extractall(packages)  # noqa: S202 - built above
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
        data = name.endswith((".py", ".yaml", ".tsv", ".md", ".conllu", ".json", ".xz", ".safetensors", "py.typed"))
        if folder in FOLDERS and (data or "/page/" in name):
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


def test_a_wheel_by_way_of_the_source_archive_is_the_same(source: Path, wheel: Path, tmp_path: Path) -> None:
    """The archive holds files where the checkout has links: one can build from it where there are none."""
    with tarfile.open(built("sdist", source, tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.glob("bsx_eval-*/")
    assert not any((folder / link).is_symlink() for link in LINKS)
    again = built("wheel", folder, tmp_path)
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())


def test_an_editable_install_leads_to_the_folders_beside(source: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "environment")
    settings = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    run(python, "-m", "pip", "install", *settings, "--editable", str(source), cwd=tmp_path)
    code = """
import importlib.util, pathlib, bsx.analysis, bsx.registry
print(*(pathlib.Path(module.__file__).resolve() for module in (bsx, bsx.analysis, bsx.registry)))
print([name for name in ("analysis", "registry") if importlib.util.find_spec(name) is not None])
"""
    files, others = run(python, "-c", code, cwd=tmp_path).splitlines()
    assert files.split() == [str(source.resolve() / name / "__init__.py") for name in ("bsx", "analysis", "registry")]
    assert others == "[]"


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
    assert version == bsx.__version__
    assert f"\nversion: {version}\n" in (REPOSITORY / "CITATION.cff").read_text()
    assert "minilm" in run(installed, "-m", "bsx", "models", cwd=tmp_path)


def test_doctests_hold_on_the_installed_wheel(installed: Path, tmp_path: Path) -> None:
    code = """
import doctest, importlib, pathlib, pkgutil, bsx
failed = tried = 0
for info in pkgutil.walk_packages(bsx.__path__, "bsx."):
    source = pathlib.Path(info.module_finder.find_spec(info.name).origin).read_text(encoding="utf-8")
    if ">>> " not in source:
        continue
    result = doctest.testmod(importlib.import_module(info.name))
    failed, tried = failed + result.failed, tried + result.attempted
print(failed, tried)
"""
    output = run(installed, "-c", code, cwd=tmp_path)
    failed, tried = map(int, output.split()[-2:])
    assert failed == 0, output
    assert tried > 0


def _installed(wanted: list[str]) -> set[str]:
    """Return the installed packages behind some requirements: their own, and what these need in turn."""
    todo, seen, found = [Requirement(one) for one in wanted], set(), set()
    while todo:
        one = todo.pop()
        if str(one) in seen:
            continue
        seen.add(str(one))
        try:
            needs = [Requirement(need) for need in importlib.metadata.requires(one.name) or []]
        except importlib.metadata.PackageNotFoundError:
            continue
        found.add(re.sub(r"[-_.]+", "-", one.name.lower()))
        extras = ["", *one.extras]
        todo += [
            need for need in needs if need.marker is None or any(need.marker.evaluate({"extra": e}) for e in extras)
        ]
    return found


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
        assert name in pins | {"bsx-eval"}, name
    assert "torch==2.13.0" in lines
    assert sorted(_installed(wanted) - {re.sub("[-_.]+", "-", name) for name in pins} - {"bsx-eval"}) == []


def test_a_missing_extra_names_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from bsx.errors import MissingExtraError
    from bsx.support.optional import EXTRAS, need

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    for module, extra in EXTRAS.items():
        assert extra in project["optional-dependencies"]
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(
            MissingExtraError, match=rf"Drawing needs the package {module}.*pip install '.*\[{extra}\]'"
        ):
            need(module, "Drawing")


@pytest.mark.slow
def test_the_check_of_a_release_holds(installed: Path, tmp_path: Path) -> None:
    """The workflow runs it in clean environments; here all packages are there."""
    said = run(installed, str(REPOSITORY / "tools" / "try_install.py"), "all", cwd=tmp_path)
    assert f"bsx {bsx.__version__} with all" in said
