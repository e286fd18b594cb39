"""The house: which room may import which (rooms.toml), and no circle anywhere."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import pydoc
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import bsx
from bsx.bertscore.scorer import ScorerSettings
from bsx.support.faces import exports

ROOT = Path(__file__).resolve().parent.parent
ROOMS: dict[str, list[str]] = tomllib.loads((ROOT / "rooms.toml").read_text())["rooms"]
FRONT_DOORS = {"bsx", "bsx.analysis", "bsx.__main__"}
"""Modules that stand in no room, and that no room may import: the two lazy public faces and the way in."""
EVERYBODYS = ("bsx.errors", "bsx.registry", "bsx.examples")
"""What everybody may import, and what imports nothing: errors, and folders of files."""

MOST = 20
"""Modules that a folder may hold, so that any is found at a glance."""


@functools.cache
def modules() -> dict[str, Path]:
    """Return every module of the product: dotted name -> file."""
    found = {}
    for folder, name in (("bsx", "bsx"), ("analysis", "bsx.analysis"), ("registry", "bsx.registry")):
        for file in sorted((ROOT / folder).rglob("*.py")):
            if any(part.is_symlink() for part in (file, *file.parents)):
                continue
            parts = [name, *file.relative_to(ROOT / folder).with_suffix("").parts]
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(file: Path, known: dict[str, Path]) -> Iterator[str]:
    """Yield what a module imports of the product, inside functions and for type checkers too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in known else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = node.value.partition(":")[0]  # what importlib is given, or a registry entry says
            if named in known and "." in named:
                yield named


@functools.cache
def graph() -> dict[str, set[str]]:
    """Return module -> modules of the product that it imports."""
    known = modules()
    return {name: {to for to in imports(file, known) if to in known and to != name} for name, file in known.items()}


def room(module: str) -> str | None:
    """Return the room a module stands in."""
    return next((name for name in ROOMS if module == name or module.startswith(f"{name}.")), None)


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """Return nodes that lead back to the first of them; none if there is no circle."""
    try:
        graphlib.TopologicalSorter(arrows).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def forbidden(arrows: dict[str, set[str]]) -> list[str]:
    """Return the arrows that the table does not allow."""
    found = []
    order = list(ROOMS)
    for module, targets in arrows.items():
        own = room(module)
        for to in targets:
            other = room(to)
            everybodys = to.startswith(EVERYBODYS)
            if own is None:  # a face may import anything, what everybody imports may import nothing
                wrong = module.startswith(EVERYBODYS) and not everybodys
            elif other is None:
                wrong = not everybodys
            elif "*" in ROOMS[own]:
                wrong = order.index(other) > order.index(own)
            else:
                wrong = other not in (own, *ROOMS[own])
            if wrong:
                found.append(f"{module} -> {to}")
    return sorted(found)


def test_every_module_stands_in_a_room() -> None:
    homeless = [name for name in modules() if room(name) is None and name not in FRONT_DOORS]
    assert not [name for name in homeless if not name.startswith(EVERYBODYS)], "not in rooms.toml"


def test_no_folder_holds_too_many_modules() -> None:
    held = Counter(file.parent.relative_to(ROOT) for file in modules().values() if file.name != "__init__.py")
    assert not {str(folder): count for folder, count in held.items() if count > MOST}, f"more than {MOST} modules"


def test_imports_follow_the_table() -> None:
    assert not forbidden(graph()), "not allowed by rooms.toml"


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("bsx.metrics.run", "from bsx.analysis import kendall"),
        ("bsx.networks.run", "import bsx.analysis"),
        ("bsx.support.memory", 'import importlib\nimportlib.import_module("bsx.cli.main")'),
        ("bsx.support.result", "def late():\n    from bsx.analysis.present import forms"),
        ("bsx.examples", "import bsx.analysis.report.build"),
        ("bsx.errors", "def late():\n    from bsx.support import memory"),
        ("bsx.match.greedy", "from bsx import Scorer"),
        ("bsx.analysis.stats.resample", "from bsx.analysis.meta.run import meta_evaluate"),
        (
            "bsx.analysis.tune.run",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from bsx.cli.main import run",
        ),
    ],
)
def test_a_forbidden_arrow_would_be_found(module: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(code)
    known = modules()
    assert forbidden({module: {to for to in imports(tmp_path / "planted.py", known) if to in known}})


def test_registry_entries_name_code_of_their_rooms() -> None:
    homes = {"metrics": ("bsx.metrics.", "bsx.bertscore."), "factors": ("bsx.analysis.factors.",)}
    for folder, rooms in homes.items():
        for file in (ROOT / "registry" / folder).glob("*.yaml"):
            implementation = yaml.safe_load(file.read_text(encoding="utf-8"))["implementation"]
            assert implementation.startswith(rooms), file


def test_no_two_public_classes_share_a_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for name, file in modules().items():
        if ".workers." not in name:  # programs of other interpreters
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].append(name)
    assert not {name: where for name, where in homes.items() if len(where) > 1}


def test_no_circle_between_modules() -> None:
    assert not circle(graph())


def test_no_circle_between_rooms() -> None:
    between: dict[str, set[str]] = defaultdict(set)
    for module, targets in graph().items():
        for to in targets:
            if room(module) and room(to) and room(module) != room(to):
                between[str(room(module))].add(str(room(to)))
    assert not circle(between)


def test_a_circle_would_be_found() -> None:
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"b"}})) == {"b", "c"}


@pytest.mark.parametrize("face", ["bsx", "bsx.analysis"])
def test_the_public_faces_export_what_they_say(face: str) -> None:
    package = importlib.import_module(face)
    typed = {
        alias.name: str(node.module)
        for node in ast.walk(ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == alias.asname
    }
    lazy = exports(face)
    assert typed == lazy
    assert dir(package) == sorted([*lazy, *(["__version__"] if face == "bsx" else [])])
    rooms = {name.removeprefix(f"{face}.") for name in modules()}
    for name, home in lazy.items():
        value = getattr(package, name)
        assert value.__module__ == home, f"{name} is defined in {value.__module__}, not in {home}"
        assert value.__doc__, f"{name} has no docstring"
        assert name not in rooms, f"{name} is a room too"
    with pytest.raises(AttributeError, match="has no attribute 'scroe'"):
        _ = package.scroe


def test_help_lists_the_names_that_all_says() -> None:
    text = bsx.__doc__ or ""
    told = re.findall(r"^ {4}(\w+)  +\S", text, re.MULTILINE)
    assert told == bsx.__all__
    assert set(told) <= set(dir(bsx))
    assert 40 <= len(told) <= 50
    for name in told:
        assert getattr(bsx, name).__doc__, name
    shown = pydoc.plain(pydoc.render_doc(bsx))
    assert text.splitlines()[-1] in shown
    starred: dict[str, object] = {}
    exec("from bsx import *", starred)  # noqa: S102
    assert set(told) == set(starred) - {"__builtins__"}


def test_help_explains_the_settings_of_a_scorer_that_matter() -> None:
    text = pydoc.plain(pydoc.render_doc(bsx.Scorer))
    told = re.findall(r"^ \|          - ``(\w+)``: ", text, re.MULTILINE)
    assert len(told) == 10
    assert set(told) <= set(ScorerSettings.model_fields)


def test_only_the_command_line_knows_of_a_command_line() -> None:
    for name, file in modules().items():
        if not name.startswith("bsx.cli"):
            tops = {imported.partition(".")[0] for imported in imports(file, {})}
            assert not tops & {"typer", "click"}, name
