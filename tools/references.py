"""Write the generated parts of the documentation while it is built; mkdocs calls this file as a hook.

docs/reference/cli.md gets every command with its options, from the commands themselves; docs/reference/bsx.md,
analysis.md and jobs.md get a section for every name that `bsx`, `bsx.analysis` and `bsx.jobs` export;
docs/attack/perturbations.md gets the table of perturbations, docs/explain/factors.md that of factors. All are made
anew in each build, so they cannot go stale.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import griffe
import typer

from bsx.analysis.perturbations.perturb import PERTURBATIONS
from bsx.catalog.catalog import load_registry
from bsx.cli.commands import COMMANDS, build
from bsx.cli.output import help_entry
from bsx.support.faces import exports
from bsx.support.settings import settings_of

# page -> the public module that it describes
FACES = {"reference/bsx.md": "bsx", "reference/analysis.md": "bsx.analysis", "reference/jobs.md": "bsx.jobs"}
MARK = "<!-- generated -->"


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


def commands() -> str:
    """Return every command with its help and its options as Markdown."""
    app = typer.main.get_command(build(list(COMMANDS)))
    context_class = app.context_class
    lines: list[str] = []

    def walk(command: Any, parent: Any, name: str, level: int) -> None:
        context = context_class(command, info_name=name, parent=parent)
        if parent is not None:
            lines.extend((f"{'#' * level} {context.command_path}", "", inspect.cleandoc(command.help or ""), ""))
            usage = " ".join(command.collect_usage_pieces(context))
            lines.extend(("```text", f"{context.command_path} {usage}", "```", ""))
            lines.extend(options(command, context))
        for child in getattr(command, "commands", {}).values():
            walk(child, context, child.name, level + 1)

    walk(app, None, "bsx", 1)
    return "\n".join(lines)


def members(module: str) -> str:
    """Return a mkdocstrings section for every name that a module exports, by room, each with the room's own words."""
    face = importlib.import_module(module)
    rooms: dict[str, list[str]] = {}
    for name, home in exports(module).items():
        inside = home.startswith(f"{module}.")
        room = home.removeprefix(f"{module}.").partition(".")[0] if inside else home.rpartition(".")[0]
        rooms.setdefault(room, []).append(name)
    own = sorted(set(dir(face)) - {*exports(module), "__version__"})
    lines = [f"::: {module}.{name}" for name in own]
    for room, names in rooms.items():
        words = inspect.getdoc(importlib.import_module(room if "." in room else f"{module}.{room}")) or ""
        lines += [f"## {room}", words.partition("\n\n")[0], *(f"::: {module}.{name}" for name in names)]
    return "\n\n".join(lines)


def perturbations() -> str:
    """Return the table of all perturbations, from what each says of itself."""
    lines = ["| name | what it does | meaning | languages | acts on |", "|---|---|---|---|---|"]
    needs = {"parse": "with parses", "source": "with sources", "inflections": "beyond English with a treebank"}
    for one in PERTURBATIONS.values():
        languages = "any" if one.languages is None else " ".join(one.languages)
        asked = "".join(f", {words}" for need, words in needs.items() if need in one.needs)
        name, meaning = f"`{one.name}`{' *' if one.graded else ''}", "stays" if one.preserves else "changes"
        lines.append(f"| {name} | {cell(one.description)} | {meaning} | {languages}{asked} | {cell(one.acts_on)} |")
    return "\n".join(lines)


def factors() -> str:
    """Return the table of all factors, from their entries in the registry."""
    lines = ["| factor | what it is | reads beside the texts | range |", "|---|---|---|---|"]
    for entry in sorted(load_registry().factors.values(), key=lambda entry: entry.name):
        ends = "any" if entry.low is None or entry.high is None else f"{entry.low:g} to {entry.high:g}"
        lines.append(f"| `{entry.name}` | {cell(entry.title)} | {', '.join(entry.reads) or 'nothing'} | {ends} |")
    return "\n".join(lines)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill the mark on a generated page; mkdocs calls this for every page."""
    if page.file.src_uri == "reference/cli.md":
        return markdown.replace(MARK, commands())
    if page.file.src_uri == "attack/perturbations.md":
        return markdown.replace(MARK, perturbations())
    if page.file.src_uri == "explain/factors.md":
        return markdown.replace(MARK, factors())
    if page.file.src_uri in FACES:
        return markdown.replace(MARK, members(FACES[page.file.src_uri]))
    return markdown
