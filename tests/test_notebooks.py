"""Every notebook is stored as a reader wants it, with outputs and pictures, and runs from top to bottom to the same."""

from __future__ import annotations

import ast
import importlib
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY, SHARED

NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
# What notebooks import beside the public face and Python's own.
BESIDE = {"IPython.display", "matplotlib.pyplot", "numpy", "pandas"}
FACES = {"bsx", "bsx.analysis"}

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@cache
def read(path: Path) -> Any:
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def outputs(path: Path) -> list[Any]:
    return [output for cell in read(path).cells for output in cell.get("outputs", [])]


def test_there_are_six_notebooks_and_each_is_a_page() -> None:
    navigation = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) == 6
    assert [path.stem for path in NOTEBOOKS] == re.findall(r"notebooks/(\w+)\.md$", navigation, flags=re.MULTILINE)


@every_notebook
def test_it_is_stored_with_what_it_printed(path: Path) -> None:
    code = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert path.stat().st_size < 300_000
    # What differs between two runs, and who ran it, is not stored.
    assert all(not cell.metadata for cell in read(path).cells)
    assert set(read(path).metadata) == {"kernelspec", "language_info"}
    assert set(read(path).metadata.language_info) == {"name"}


@every_notebook
def test_its_outputs_are_results_and_pictures(path: Path) -> None:
    pictures = 0
    for output in outputs(path):
        assert output.output_type != "error"
        assert output.get("name") != "stderr", f"warnings and notes: {output.get('text')}"
        data = output.get("data", {})
        pictures += bool({"image/png", "image/svg+xml"} & set(data))
        text = output.get("text") or data.get("text/plain", "")
        assert len(text.splitlines()) <= 40
        assert not re.search(r"\b(array|tensor)\(|<[\w. ]+ at 0x", text), text
        assert not re.search(r"(/|\\)(home|root|tmp|work|usr|Users)(/|\\)", text + data.get("text/html", "")), text
    assert pictures >= 2


@every_notebook
def test_it_imports_from_the_public_face_only(path: Path) -> None:
    for cell in read(path).cells:
        if cell.cell_type != "code":
            continue
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            else:
                continue
            for module in modules:
                own = module.partition(".")[0] in sys.stdlib_module_names
                assert own or module in FACES | BESIDE, module
                if module in FACES and isinstance(node, ast.ImportFrom):
                    assert {alias.name for alias in node.names} <= set(dir(importlib.import_module(module)))


@every_notebook
def test_it_says_where_its_data_come_from(path: Path) -> None:
    """Texts of others are named with their licence and with the command that fetches them."""
    prose = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    named = data_sets(path)
    assert all(f"bsx data get {name}" in prose for name in named)
    assert not named or re.search(r"licence|CC |allows any use", prose)
    assert named or "invented" in prose


def data_sets(path: Path) -> list[str]:
    return re.findall(r'load_data_or_example\("([\w-]+)"', "\n".join(cell.source for cell in read(path).cells))


@pytest.mark.slow
@every_notebook
def test_it_runs_to_the_same_kinds_of_outputs(path: Path) -> None:
    """In a kernel of its own, as ``make notebooks`` runs it."""
    data = SHARED / "data"
    if data_sets(path) and not data.is_dir():
        pytest.skip(f"{', '.join(data_sets(path))} are not here: they are not part of the repository")
    execute("--check", path, data=data)


def execute(*arguments: str | Path, data: Path) -> None:
    command = [sys.executable, REPOSITORY / "tools" / "notebooks.py", *arguments]
    environment = {**os.environ, "BSX_DATA": str(data), "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


WITH_DATA = [path for path in NOTEBOOKS if data_sets(path)]


@pytest.mark.slow
@pytest.mark.parametrize("path", [pytest.param(one, id=one.stem) for one in WITH_DATA])
def test_it_runs_on_the_shipped_examples_where_data_are_missing(path: Path, tmp_path: Path) -> None:
    import nbformat

    copy = Path(shutil.copy(path, tmp_path))
    execute(copy, data=tmp_path / "none")
    printed = [output for cell in nbformat.read(copy, as_version=4).cells for output in cell.get("outputs", [])]
    assert not [output for output in printed if output.get("name") == "stderr"]
    said = "\n".join(output.get("text", "") for output in printed)
    for name in data_sets(path):
        assert f"`bsx data get {name}` fetches it" in said
    assert "is an invented example" in said  # the final words say what the figures are of


@every_notebook
def test_its_last_words_are_what_its_figures_say(path: Path) -> None:
    """A notebook that may run on other data than those stored computes its findings."""
    if not data_sets(path):
        return
    _, end = (
        "\n".join(cell.source for cell in read(path).cells).rsplit("## What this means", 1)
        if (path.stem != "02_multilingual")
        else ("", read(path).cells[12].source)
    )
    assert ".answer" in end
    assert ".scope" in end


@every_notebook
def test_its_commands_are_ones_that_bsx_takes(path: Path) -> None:
    """Every option is one of its command, and each column of texts is named by itself."""
    from typer.main import get_command

    from bsx.cli.commands import COMMANDS, build

    prose = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    for block in re.findall(r"```console\n(.*?)```", prose, flags=re.DOTALL):
        for line in block.replace("\\\n", " ").strip().splitlines():
            words = shlex.split(line)
            assert words.pop(0) == "bsx"
            command: Any = get_command(build(list(COMMANDS)))
            while words[0] in getattr(command, "commands", ()):
                command = command.commands[words.pop(0)]
            with command.make_context(command.name, [], resilient_parsing=True) as context:
                given = command.make_parser(context).parse_args(words)[0]
            named = [given.get(kind) or [] for kind in ("candidate", "reference", "source")]
            assert not [column for column in named if "," in "".join(column)], line


def test_what_only_the_first_use_of_a_model_says_is_not_stored() -> None:
    from nbformat.v4 import new_output

    merged = runpy.run_path(str(REPOSITORY / "tools" / "notebooks.py"))["merged"]
    first = "bsx: note: small.bin was converted to /somewhere/models/small-1, once (7 s)\n"
    other = "bsx: note: 2 rows are empty\n"

    def stream(text: str, name: str = "stderr") -> Any:
        return new_output("stream", name=name, text=text)

    assert merged([stream(first[:9]), stream(first[9:])]) == []
    assert [one.text for one in merged([stream(first + other), stream(first, "stdout")])] == [other, first]
