"""``bsx models``: what the registry knows, which model suits a language, what is here, and how to fetch the rest."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from bsx.catalog.catalog import Catalog, Registry, load_registry
from bsx.catalog.depths import DepthRule
from bsx.catalog.entries import read_lists
from bsx.catalog.entries.models import ModelEntry
from bsx.cli import options
from bsx.cli.options import Format, Full, command
from bsx.cli.output import group, print_rows, refuse_before_command, refuse_beside, say, spelled
from bsx.errors import InputError, ModelUnavailableError
from bsx.models.evidence import spelled_advantage, spelled_figure
from bsx.models.files import find, is_here
from bsx.models.ranking import ListSettings, SelectSettings, rank, select_model, unranked
from bsx.support.settings import part
from bsx.support.terminal import WIDTH, shortened, text_table
from bsx.support.untyped import to_json

models = group()
Name = Annotated[str, typer.Argument(help="Registry name or alias.")]


@models.callback(invoke_without_command=True)
@command(ListSettings)
def list_models(
    settings: ListSettings,
    context: typer.Context,
    languages: Annotated[bool, typer.Option("--languages", help="List the languages instead.")] = False,
    format: Format = "text",
    full: Full = False,
) -> None:
    """List the registry's models, or rank those for a language."""
    if refuse_before_command(context):
        return
    catalog = _load(settings.registry)
    if languages:
        refuse_beside(context, "languages", "registry", "format", "full")
        _list_languages(catalog, format, full=full)
    elif settings.lang is not None:
        _rank(settings, catalog, format, full=full)
    elif settings.prefer == "quality" and str(context.get_parameter_source("prefer")).endswith("COMMANDLINE"):
        raise InputError("prefer quality ranks by agreement with human judgments in a language: name it with --lang")
    else:
        by_cost = settings.prefer == "speed"
        rows = [_row(entry, catalog, None) for entry in unranked(catalog, settings, by_cost=by_cost)]
        if format == "json":
            print(to_json({"models": rows}))
            return
        here = [str(row["name"]) for row in rows if row["available"]]
        where = f"{len(here):,} of them on this machine: {', '.join(here[:_NAMED])}" if here else "none on this machine"
        print(f"{len(rows):,} models, {where}. bsx models --lang CODE says which one to use for a language.\n")
        if not by_cost:
            rows.sort(key=lambda row: not row["available"])
        columns = ("parameters", "licence", "baseline", "here", "source") if full else ("parameters", "licence", "here")
        shown = [{name: row[_FIELDS.get(name, name)] for name in ("name", "layer", "layers", *columns)} for row in rows]
        print_rows("models", shown, full=full)


_FIELDS = {"here": "available"}
_NAMED = 5
_RANKED = 10


def _list_languages(catalog: Catalog, format: str, *, full: bool) -> None:
    rows = []
    for language in catalog.languages.values():
        try:
            default = rank(language, catalog).name
        except InputError:
            default = None
        rows.append(language.model_dump() | {"model": default})
    if format == "json":
        print(to_json({"languages": rows}))
        return
    without = sum(row["model"] is None for row in rows)
    print(f"{len(rows)} languages, each with the model that is used unless one is named; {without} have none.\n")
    shown = [{name: row[name] for name in ("code", "name", "script", "model")} for row in rows]
    print_rows("languages", shown, full=full)


def _rank(settings: ListSettings, catalog: Catalog, format: str, *, full: bool) -> None:
    """Show which model to use for a language, and how far each lies above chrF."""
    choice = select_model(str(settings.lang), **part(settings, SelectSettings))
    rows = [
        {**_row(r.entry, catalog, choice.language.code), "reason": r.reason, "advantage": asdict(r.advantage)}
        for r in choice.ranking
    ]
    if format == "json":
        result = {
            "language": choice.language.code,
            "pair": None if choice.source is None else f"{choice.source.code}-{choice.language.code}",
            "recommended": choice.recommended,
            "selected": choice.name,
            "advice": choice.advice,
            "prefer": choice.prefer,
            "task": settings.task,
            "notes": list(choice.notes),
            "models": rows,
        }
        print(to_json(result))
        return
    print(f"{choice.advice}\n")
    if full:
        columns = ("name", "layer", "layers", "parameters", "licence", "baseline", "here", "reason")
        print_rows("models", [{name: row[_FIELDS.get(name, name)] for name in columns} for row in rows], full=True)
    else:
        heads = ("name", "size", "here", "over chrF", "sets")
        cells: list[tuple[object, ...]] = []
        if choice.recommended not in {row["name"] for row in rows}:
            cells.append(("chrF", "-", True, "0", ""))
        for ranked, row in zip(choice.ranking, rows, strict=True):
            size, advantage = ranked.entry.parameters, ranked.advantage
            above = spelled_advantage(advantage) if advantage.measured else "unknown"
            spelled_size = None if size is None else f"{size / 1e6:,.0f} M"
            cells.append((ranked.entry.name, spelled_size, row["available"], above, advantage.sets))
        shown = [dict(zip(heads, row, strict=True)) for row in cells]
        print_rows("models", shown, most=_RANKED)
        print("\nOver chrF: how much higher the correlation with human judgments is, by all figures together.")
        print(f"Sets: those in {choice.language.name}; models that were measured in none stand below.")
    for note in choice.notes:
        print(f"Note: {note}")


@models.command()
def show(name: Name, registry: options.Registry = None, format: Format = "text", full: Full = False) -> None:
    """Show what the registry says about one model; with --full, everything."""
    catalog = _load(registry)
    entry = catalog.model(name)
    baselines = {}
    for language in catalog.baseline_languages(entry.name):
        if (table := catalog.baseline(language, entry.name)) is not None:
            figures = enumerate(zip(table.precision, table.recall, table.f1, strict=True))
            baselines[language] = {str(at): {"precision": p, "recall": r, "f1": f} for at, (p, r, f) in figures}
    details = {
        **_row(entry, catalog, None),
        **{field: getattr(entry, field) for field in _DETAILS},
        "entry": str(catalog.origins["model", entry.name]),
        "baselines": baselines,
    }
    if format == "json":
        print(to_json(details))
        return
    known = entry.languages
    languages = "many languages" if known == "multilingual" else f"{len(known)} languages"
    languages = f"language {known[0]}" if len(known) == 1 else languages
    scored = f"scored with layer {entry.layer} of {entry.layers}"
    if not isinstance(entry.layer, int):
        rule = read_lists(DepthRule, catalog.folders)[catalog.families[entry.family].kind]
        scored = f"no layer is validated (by rule {rule.layer(entry.layers)} of {entry.layers})"
    here = "It is on this machine" if details["available"] else f"bsx models pull {entry.name} fetches it"
    print(f"{entry.name}: {languages}, {spelled(entry.parameters)} parameters, {scored}. {here}.\n")
    rows, evidence = [], [["evidence", spelled_figure(figure)] for figure in entry.evidence]
    for key, value in details.items():
        if key == "baselines" and isinstance(value, dict):
            value = ", ".join(f"{lang} (layers 0 to {len(layers) - 1})" for lang, layers in value.items())
        if key == "evidence" or (not full and value in (None, "", [], False)):
            continue
        rows.append([key, ", ".join(map(str, value)) if isinstance(value, list) else spelled(value)])
    rows += evidence if full else [[key, shortened(figure, WIDTH - 18)] for key, figure in evidence[:_EVIDENCE]]
    print(text_table(rows, "l"))
    if not full and len(evidence) > _EVIDENCE:
        print(f"{len(evidence) - _EVIDENCE} more figures of evidence: --full.")


_EVIDENCE = 5
_DETAILS = (
    *("languages", "languages_source", "aliases", "family", "dimensions", "max_tokens", "leading_space", "notes"),
)


@models.command()
def pull(
    name: Annotated[str | None, typer.Argument(help="Registry name, alias, or hub id.")] = None,
    lang: Annotated[str | None, typer.Option("-l", "--lang", help="The default model of this language.")] = None,
    registry: options.Registry = None,
) -> None:
    """Fetch a model's files from the hub into the local cache."""
    from bsx.encode.model import choose, locate

    catalog = _load(registry)
    if name is None and lang is not None:  # the best of all, not of those that are here
        name = select_model(lang, registry=catalog).name
    choice = choose(name, lang, catalog)
    checkpoint = locate(choice, catalog)
    print(f"{choice.name}: {checkpoint.identity} in {checkpoint.folder}")


@models.command()
def where(name: Name, registry: options.Registry = None) -> None:
    """Print the folder that holds a model's files on this machine; never uses the network."""
    from bsx.encode.model import choose

    choice = choose(name, None, _load(registry))
    folder = find(choice.source)
    if folder is None:
        raise ModelUnavailableError(f"{choice.name} is not on this machine: bsx models pull {choice.name} fetches it")
    print(folder)


@models.command()
def pin(name: Name, registry: options.Registry = None) -> None:
    """Resolve a hub model's revision to a commit and write it to the user's registry."""
    from bsx.encode.model import pin_revision

    catalog = _load(registry if registry is not None and registry.is_dir() else None)
    file, commit = pin_revision(catalog.model(name), registry)
    print(f"{name}: pinned to {commit} in {file}")


def _load(registry: Registry) -> Catalog:
    catalog = load_registry(registry)
    say(f"left out of the registry: {problem}" for problem in catalog.problems)
    return catalog


def _row(entry: ModelEntry, catalog: Catalog, language: str | None) -> dict[str, object]:
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
