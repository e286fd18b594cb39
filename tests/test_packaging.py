"""What is in the wheel, and that it works where the source tree is not."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
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
ARCHIVES = (("linked", "wheel"), ("linkless", "wheel"), ("linked", "sdist"))
EDITABLE = (("linked", "editable lenient"), ("linkless", "editable lenient"), ("linkless", "editable strict"))
FOLDERS = {"bsx": "bsx", "analysis": "bsx/analysis", "registry": "bsx/registry"}


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Copy the tracked files, so that nothing left lying around gets into what is built: with links and without."""
    linked, linkless = (tmp_path_factory.mktemp("clones") / kind for kind in ("linked", "linkless"))
    for name in tracked():
        if "/" not in name or name.partition("/")[0] in FOLDERS:
            copy = linked / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((REPOSITORY / name).read_bytes())
    shutil.copytree(linked, linkless, copy_function=os.link)
    for link in LINKS:
        (linked / link).symlink_to(Path("..", Path(link).name))
    git("-c", "core.symlinks=false", "checkout-index", "--force", f"--prefix={linkless}/", "--", *LINKS)
    return {"linked": linked, "linkless": linkless}


@pytest.fixture(scope="module")
def builds(clones: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Build archives, (clone, kind) -> file, all of a clone in one process."""
    code = """
import sys
from setuptools import build_meta
_, target, *kinds = sys.argv
for kind in kinds:
    build, _, mode = kind.partition(" ")
    getattr(build_meta, f"build_{build}")(f"{target}/{kind}", {"editable_mode": mode} if mode else None)
"""
    target = tmp_path_factory.mktemp("builds")
    for clone in clones:
        kinds = [kind for where, kind in (*ARCHIVES, *EDITABLE) if where == clone]
        run(Path(sys.executable), "-c", code, str(target / clone), *kinds, cwd=clones[clone])
    return {(clone, kind): next((target / clone / kind).iterdir()) for clone, kind in (*ARCHIVES, *EDITABLE)}


@pytest.fixture(scope="module")
def wheel(builds: dict[tuple[str, str], Path]) -> Path:
    return builds["linked", "wheel"]


def git(*arguments: str) -> str:
    # The checkout may be another user's, as in a container: git asks to be told that this is meant.
    command = ["git", "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY).stdout


def tracked() -> list[str]:
    """Names of all files git tracks, or that are new and not ignored; not the links."""
    names = set(git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()) - set(LINKS)
    return sorted(name for name in names if (REPOSITORY / name).is_file())


def packaged() -> list[str]:
    """Names of the tracked files that are to be installed, as in the repository."""
    ends = (".py", ".yaml", ".tsv", ".md", ".conllu", ".json", ".xz", ".safetensors", "py.typed")
    names = [name for name in tracked() if name.partition("/")[0] in FOLDERS]
    return [name for name in names if name.endswith(ends) or "/page/" in name]


def environment(home: Path, wheel: Path) -> Path:
    """Make an environment that has the packages of this one, but this wheel for its bsx; return its python."""
    venv.create(home, with_pip=False, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    # Path files in the folders that a path file names are not read, and that is how an editable bsx would come.
    folders = dict.fromkeys(path for path in sys.path if Path(path).name in ("site-packages", "dist-packages"))
    (packages / "dependencies.pth").write_text("".join(f"{folder}\n" for folder in folders))
    zipfile.ZipFile(wheel).extractall(packages)  # noqa: S202 - built above
    return home / "bin" / "python"


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the python of a fresh environment that has the wheel."""
    return environment(tmp_path_factory.mktemp("environment"), wheel)


def run(python: Path, *arguments: str, cwd: Path) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run([python, *arguments], capture_output=True, text=True, cwd=cwd, env=clean)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("clone", ["linked", "linkless"])
def test_the_wheel_holds_exactly_the_tracked_files(builds: dict[tuple[str, str], Path], clone: str) -> None:
    """So all folders with code are packages, and at the top level there is bsx alone."""
    inside = [name for name in zipfile.ZipFile(builds[clone, "wheel"]).namelist() if ".dist-info/" not in name]
    split = [name.partition("/") for name in packaged()]
    assert sorted(inside) == sorted(f"{FOLDERS[folder]}/{rest}" for folder, _, rest in split)


def test_the_source_archive_holds_what_builds_the_same_wheel(builds: dict[tuple[str, str], Path]) -> None:
    """The three folders, and files beside them, but nothing in the place of the links."""
    with tarfile.open(builds["linked", "sdist"]) as archive:
        inside = [member.name.partition("/")[2] for member in archive if not member.isdir()]
    assert sorted(name for name in inside if name.partition("/")[0] in FOLDERS) == packaged()
    assert {"pyproject.toml", "setup.py", "README.md", "LICENSE"} <= set(inside)


def test_the_links_lead_to_the_folders_beside(clones: dict[str, Path]) -> None:
    for link in LINKS:
        assert (clones["linkless"] / link).read_text() == f"../{Path(link).name}"


@pytest.mark.parametrize(("clone", "kind"), EDITABLE)
def test_an_editable_install_leads_to_the_folders_beside(
    clones: dict[str, Path], builds: dict[tuple[str, str], Path], clone: str, kind: str, tmp_path: Path
) -> None:
    python = environment(tmp_path / "environment", builds[clone, kind])
    code = """
import importlib.util, pathlib, bsx.analysis, bsx.registry
print(*(pathlib.Path(module.__file__).resolve() for module in (bsx, bsx.analysis, bsx.registry)))
print([name for name in ("analysis", "registry") if importlib.util.find_spec(name) is not None])
"""
    files, others = run(python, "-c", code, cwd=tmp_path).splitlines()
    assert files.split() == [
        str(clones[clone].resolve() / name / "__init__.py") for name in ("bsx", "analysis", "registry")
    ]
    assert others == "[]"
    if (clone, kind) != ("linkless", "editable strict"):  # there bsx/ in the clone hides the folder of links
        assert run(python, "-c", "import bsx.analysis; print(bsx.analysis.__file__)", cwd=clones[clone])


def test_the_installed_wheel_scores_and_finds_its_registry(installed: Path, tmp_path: Path) -> None:
    assert "site-packages" in run(installed, "-c", "import bsx; print(bsx.__file__)", cwd=tmp_path)
    (tmp_path / "candidates.txt").write_text("the cat sat\n\n")
    (tmp_path / "references.txt").write_text("a cat sat\nx\n")
    files = ("-c", "candidates.txt", "-r", "references.txt", "-o", "scores.jsonl")
    printed = run(installed, "-m", "bsx", "score", *files, "--model", "minilm", cwd=tmp_path)
    first, second = (json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines())
    assert 0.8 < first["f1"] < 1
    assert second["f1"] == 0
    assert f"|bsx:{bsx.__version__}" in printed
    assert f"\nversion: {bsx.__version__}\n" in (REPOSITORY / "CITATION.cff").read_text()


@pytest.mark.slow
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
