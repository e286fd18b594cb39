"""``bsx models``: what the registry knows, which model suits a language, what is here, and how to fetch the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.models import ModelEntry
from bsx.cli.options import Format, Registry, command
from bsx.cli.output import group, refuse_before_command, refuse_beside, say
from bsx.data.cells import finite
from bsx.errors import InputError
from bsx.models.ranking import Constraints, select_model
from bsx.support.aligned import text_table
from bsx.support.json_text import to_json
from bsx.support.settings import set_fields

if TYPE_CHECKING:
    from bsx.models.evidence import Weights
    from bsx.models.ranking import Prefer

models = group()
Name = Annotated[str, typer.Argument(help="Registry name or alias.")]


@models.callback(invoke_without_command=True)
@command(Constraints)
def list_models(
    constraints: Constraints,
    context: typer.Context,
    lang: Annotated[str | None, typer.Option("-l", "--lang", help="Rank the models that know this language.")] = None,
    prefer: Annotated[
        str,
        typer.Option(
            help="Rank by the papers' choice (paper), by agreement with human judgments (quality), by cost (speed), or "
            "by what metric cards measured in the language: agreement, robustness, semantics, or weights such as "
            "semantics=2,agreement=1."
        ),
    ] = "paper",
    languages: Annotated[bool, typer.Option("--languages", help="List the languages instead.")] = False,
    registry: Registry = None,
    format: Format = "text",
) -> None:
    """List the registry's models, or rank those for a language."""
    if refuse_before_command(context):
        return
    catalog = _load(registry)
    if languages:
        refuse_beside(context, "languages", "registry", "format")
        rows = [entry.model_dump() for entry in catalog.languages.values()]
        _print_rows("languages", rows, ["code", "name", "script", "model"], format)
        return
    columns = ["name", "layer", "layers", "parameters", "licence", "baseline", "available"]
    from bsx.models.ranking import list_models as fitting

    if lang is None:
        fit = fitting(catalog, prefer=_prefer(prefer), constraints=constraints)
        rows = [_row(entry, catalog, None) for entry in fit]
        _print_rows("models", rows, [*columns, "source"], format)
        return

    choice = select_model(
        lang,
        prefer=_prefer(prefer),
        registry=catalog,
        **set_fields(constraints),
    )
    rows = [{**_row(r.entry, catalog, choice.language.code), "reason": r.reason} for r in choice.ranking]
    if format == "json":
        result = {
            "language": choice.language.code,
            "selected": None if choice.abstains else choice.name,
            "prefer": prefer,
            "notes": list(choice.notes),
            "models": rows,
        }
        print(to_json(result))
        return
    chosen = "none is chosen, without evidence" if choice.abstains else f"{choice.name} ({choice.reason})"
    print(f"{choice.language.name}: {chosen}")
    for note in choice.notes:
        print(f"note: {note}")
    _print_rows("models", rows, [*columns, "reason"], format)


@models.command()
def show(name: Name, registry: Registry = None, format: Format = "text") -> None:
    """Show everything the registry says about one model, and where the entry comes from."""
    from bsx.models.evidence import spelled_figure

    catalog = _load(registry)
    entry = catalog.model(name)
    details = {**_row(entry, catalog, None), **_details(entry, catalog)}
    if format == "json":
        print(to_json(details))
        return
    rows = []
    for key, value in details.items():
        if key == "evidence":
            rows += [[key, spelled_figure(evidence, whole=True)] for evidence in entry.evidence]
            continue
        if key == "baselines" and isinstance(value, dict):
            value = {lang: f"layers 0 to {len(layers) - 1}" for lang, layers in value.items()}
        nested = isinstance(value, list | dict)
        rows.append([key, to_json(value) if nested else _spell(value)])
    print(text_table(rows, "l"))


@models.command()
def pull(
    name: Annotated[str | None, typer.Argument(help="Registry name, alias, or hub id.")] = None,
    lang: Annotated[str | None, typer.Option("-l", "--lang", help="The default model of this language.")] = None,
    registry: Registry = None,
) -> None:
    """Fetch a model's files from the hub into the local cache."""
    from bsx.models.choice import choose
    from bsx.models.locate import locate

    catalog = _load(registry)
    choice = choose(name, lang, catalog)
    checkpoint = locate(choice, catalog)
    print(f"{choice.name}: {checkpoint.identity} in {checkpoint.folder}")


@models.command()
def where(name: Name, registry: Registry = None) -> None:
    """Print the folder that holds a model's files on this machine; never uses the network."""
    from bsx.errors import ModelUnavailableError
    from bsx.models.choice import choose
    from bsx.models.files import find

    choice = choose(name, None, _load(registry))
    folder = find(choice.source)
    if folder is None:
        raise ModelUnavailableError(f"{choice.name} is not on this machine: bsx models pull {choice.name} fetches it")
    print(folder)


@models.command()
def pin(name: Name, registry: Registry = None) -> None:
    """Resolve a hub model's revision to a commit and write it to the user's registry."""
    from bsx.models.locate import pin_revision

    catalog = _load(registry if registry is not None and registry.is_dir() else None)
    file, commit = pin_revision(catalog.model(name), registry)
    print(f"{name}: pinned to {commit} in {file}")


def _prefer(text: str) -> Prefer | Weights:
    """Return a rule, or the weights that a text such as ``semantics=2,agreement=1`` spells.

    Raises:
        InputError: for one that is neither.
    """
    if "=" not in text:
        return cast("Prefer", text)
    weights: dict[Any, float] = {}
    for part in text.split(","):
        name, equals, weight = part.partition("=")
        if not equals or name.strip() in weights:
            raise InputError(f"prefer {text}: write each aspect once with its weight, such as semantics=2,agreement=1")
        weights[name.strip()] = finite(weight, f"prefer {name.strip()}")
    return weights


def _load(registry: Path | None) -> Catalog:
    catalog = load_registry(registry)
    say(f"left out of the registry: {problem}" for problem in catalog.problems)
    return catalog


def _row(entry: ModelEntry, catalog: Catalog, language: str | None) -> dict[str, object]:
    from bsx.models.files import is_here

    with_baseline = catalog.baseline_languages(entry.name)
    return {
        "name": entry.name,
        "hub_id": entry.source.hub,
        "layer": entry.layer,
        "layers": entry.layers,
        "parameters": entry.parameters,
        "licence": entry.licence,
        "evidence": [evidence.model_dump(exclude_none=True) for evidence in entry.evidence],
        "baseline": language in with_baseline if language is not None else bool(with_baseline),
        "available": is_here(entry.source),
        "source": str(entry.source),
    }


def _details(entry: ModelEntry, catalog: Catalog) -> dict[str, object]:
    baselines = {}
    for language in catalog.baseline_languages(entry.name):
        table = catalog.baseline(language, entry.name)
        if table is not None:
            figures = zip(table.precision, table.recall, table.f1, strict=True)
            baselines[language] = {
                str(layer): {"precision": p, "recall": r, "f1": f} for layer, (p, r, f) in enumerate(figures)
            }
    return {
        "languages": entry.languages,
        "languages_source": entry.languages_source,
        "aliases": entry.aliases,
        "family": entry.family,
        "dimensions": entry.dimensions,
        "max_tokens": entry.max_tokens,
        "leading_space": entry.leading_space,
        "notes": entry.notes,
        "entry": str(catalog.origins["model", entry.name]),
        "baselines": baselines,
    }


def _spell(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: "-"}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)


def _print_rows(what: str, rows: list[dict[str, object]], columns: list[str], format: str) -> None:
    if format == "json":
        print(to_json({what: rows}))
        return
    print(text_table([columns, *([_spell(row[name]) for name in columns] for row in rows)], "l"))
