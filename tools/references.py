"""Write the generated parts of the documentation while it is built; mkdocs calls this file as a hook.

Every command gets a page with its options, from the commands themselves, below reference/cli/; every room whose names
`bsx` and `bsx.analysis` export gets one with a section for each name, below reference/bsx/ and
analysis/. docs/reference/cli.md, bsx.md and analysis.md list them; docs/reference/python.md gets the names that
`help(bsx)` lists, docs/attack/perturbations.md the table of perturbations, docs/explain/factors.md that of factors,
docs/calibration.md those of benchmarks/calibration. All are made anew in each build, so they cannot go stale.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import griffe
import typer
from mkdocs.structure.files import File

import bsx
from bsx.analysis.perturbations.perturb import PERTURBATIONS
from bsx.catalog.catalog import load_registry
from bsx.cli.commands import COMMANDS, build
from bsx.cli.output import help_entry
from bsx.support.faces import exports
from bsx.support.settings import settings_of

# page -> the public module that it describes
FACES = {"reference/bsx.md": "bsx", "reference/analysis.md": "bsx.analysis"}
MARK = "<!-- generated -->"
CALIBRATION = Path(__file__).resolve().parent.parent / "benchmarks" / "calibration" / "results.md"


def cell(text: str) -> str:
    return re.sub(r"([|\[\]])", r"\\\1", " ".join(text.split())).replace("<", "&lt;")


class Doctests(griffe.Extension):
    """Lets the examples of docstrings stand in a section of their own: as Markdown, ``>>>`` would be a quotation."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Put a heading before the first example; griffe calls this for everything that has a docstring."""
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            text, mark, rest = inspect.cleandoc(obj.docstring.value).partition("\n>>> ")
            obj.docstring.value = f"{text}\nExamples:\n" + "\n".join(
                f"    {line}" for line in (mark[1:] + rest).split("\n")
            )


class Settings(griffe.Extension):
    """Shows a function that takes settings with the keywords that callers write, each with type, default and help."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Describe the fields of the class of settings; griffe calls this for everything that has a docstring."""
        if not isinstance(obj, griffe.Function) or obj.docstring is None:
            return
        if not any(str(decorator.value).startswith("settled(") for decorator in obj.decorators):
            return
        last = list(obj.parameters)[-1]
        kind = getattr(importlib.import_module(obj.module.path), str(last.annotation))
        last.kind = griffe.ParameterKind.var_keyword
        lines = ["Keyword Args:"]
        for name, (annotation, default) in settings_of(kind).items():
            spelled = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", inspect.formatannotation(annotation))
            usual = "" if default in (None, (), inspect.Parameter.empty) else f" Default: {default!r}."
            lines.append(f"    {name} ({spelled}): {cell(kind.model_fields[name].description or '')}{usual}")
        text = inspect.cleandoc(obj.docstring.value)
        place = re.search(r"^(?:Returns:|Raises:|>>> )", f"{text}\n>>> ", re.MULTILINE)
        start = len(text) if place is None else place.start()
        obj.docstring.value = "\n".join([text[:start].rstrip(), "", *lines, "", text[start:]]).rstrip()


def options(command: Any, context: Any) -> list[str]:
    """Return the table of a command's arguments and options, as its help says them."""
    rows = []
    for parameter in command.params:
        entry = help_entry(parameter, context)
        if entry is None or "--help" in parameter.opts:
            continue
        spelling, text = entry
        rows.append(f"| `{spelling}` | {cell(text)} |")
    return ["| option | meaning |", "|---|---|", *rows, ""] if rows else []


def commands() -> dict[str, str]:
    """Return a page for each command: its help and its options as Markdown, those of its own commands below."""
    app = typer.main.get_command(build(list(COMMANDS)))
    root = app.context_class(app, info_name="bsx")

    def walk(command: Any, parent: Any, level: int) -> list[str]:
        context = app.context_class(command, info_name=command.name, parent=parent)
        told = inspect.cleandoc(command.help or "")
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        lines = [f"{'#' * level} {context.command_path}", "", told, "", "```text", usage, "```", ""]
        lines += options(command, context)
        for child in getattr(command, "commands", {}).values():
            lines += walk(child, context, level + 1)
        return lines

    return {name: "\n".join(walk(app.commands[name], root, 1)) for name in COMMANDS}  # type: ignore[attr-defined]


def members(module: str) -> dict[str, str]:
    """Return a page for each room of a module: a mkdocstrings section for every name that the module exports."""
    face = importlib.import_module(module)
    rooms: dict[str, list[str]] = {}
    for name, home in exports(module).items():
        inside = home.startswith(f"{module}.")
        room = home.removeprefix(f"{module}.").partition(".")[0] if inside else home.rpartition(".")[0]
        rooms.setdefault(room, []).append(name)
    pages = {}
    for room, names in rooms.items():
        words = inspect.getdoc(importlib.import_module(room if "." in room else f"{module}.{room}")) or ""
        sections = (f"::: {module}.{name}" for name in names)
        pages[room] = "\n\n".join([f"# {module}: {room}", words.partition("\n\n")[0], *sections])
    if own := sorted(set(dir(face)) - {*exports(module), "__version__"}):
        pages[module] = "\n\n".join([f"# {module}", f"Rooms of {module}.", *(f"::: {module}.{name}" for name in own)])
    return pages


@functools.cache
def made() -> dict[str, dict[str, str]]:
    """Return the list pages, and for each the pages that it lists: title -> Markdown."""
    return {"reference/cli.md": commands(), **{page: members(module) for page, module in FACES.items()}}


def _below(page: str, title: str) -> str:
    return f"{page.removesuffix('.md')}/{title}.md"


def on_config(config: Any, **_: Any) -> Any:
    """Put the pages into the navigation, below the page that lists them."""

    def placed(entry: Any) -> Any:
        if isinstance(entry, list):
            return [placed(item) for item in entry]
        if not isinstance(entry, dict):
            return entry
        (title, value), *_ = entry.items()
        if not isinstance(value, str) or value not in made():
            return {title: placed(value)}
        return {title: [value, *({name: _below(value, name)} for name in made()[value])]}

    config["nav"] = placed(config["nav"])
    return config


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the pages."""
    for page, parts in made().items():
        for title, content in parts.items():
            files.append(File.generated(config, _below(page, title), content=content))
    return files


def listed(page: str) -> str:
    """Return the list of the pages below one, each with its first words."""
    folder = page.rpartition("/")[2].removesuffix(".md")
    lines = []
    for title, content in made()[page].items():
        told = content.split("\n\n", 2)[1].replace("\n", " ")
        lines.append(f"- [{title}]({folder}/{title}.md): {told}")
    return "\n".join(lines)


def perturbations() -> str:
    """Return the table of all perturbations, from what each says of itself."""
    lines = ["| name | what it does | meaning | languages | acts on |", "|---|---|---|---|---|"]
    needs = {"parse": "with parses", "source": "with sources", "inflections": "beyond English with a treebank"}
    for one in PERTURBATIONS.values():
        languages = "any" if one.languages is None else " ".join(one.languages)
        languages += f", not {' '.join(one.withdrawn)}" if one.withdrawn else ""
        asked = "".join(f", {words}" for need, words in needs.items() if need in one.needs)
        name, meaning = f"`{one.name}`{' *' if one.graded else ''}", "stays" if one.preserves else "changes"
        lines.append(f"| {name} | {cell(one.description)} | {meaning} | {languages}{asked} | {cell(one.acts_on)} |")
    return "\n".join(lines)


def factors() -> str:
    """Return the table of all factors, from their entries in the registry."""
    lines = ["| factor | what it is | reads in addition to the texts | range |", "|---|---|---|---|"]
    for entry in sorted(load_registry().factors.values(), key=lambda entry: entry.name):
        ends = "any" if entry.low is None or entry.high is None else f"{entry.low:g} to {entry.high:g}"
        lines.append(f"| `{entry.name}` | {cell(entry.title)} | {', '.join(entry.reads) or 'nothing'} | {ends} |")
    return "\n".join(lines)


def names() -> str:
    """Return the names that `help(bsx)` lists, group by group, as it explains them."""
    _, *groups = re.split(r"\n\n(?=[A-Z][^\n]*:\n {4})", inspect.getdoc(bsx) or "")
    lines = []
    for group in groups:
        title, *told = group.split("\n")
        rows = (re.split(r"  +", line.strip(), maxsplit=1) for line in told)
        lines += [f"## {title.rstrip(':')}", "", "| name | what it is |", "|---|---|"]
        lines += [*(f"| `{name}` | {cell(text)} |" for name, text in rows), ""]
    return "\n".join(lines)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill the mark on a generated page; mkdocs calls this for every page."""
    if page.file.src_uri in made():
        return markdown.replace(MARK, listed(page.file.src_uri))
    if page.file.src_uri == "attack/perturbations.md":
        return markdown.replace(MARK, perturbations())
    if page.file.src_uri == "reference/python.md":
        return markdown.replace(MARK, names())
    if page.file.src_uri == "explain/factors.md":
        return markdown.replace(MARK, factors())
    if page.file.src_uri == "calibration.md":
        return markdown.replace(MARK, CALIBRATION.read_text(encoding="utf-8"))
    return markdown
