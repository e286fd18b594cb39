"""``bsx models``: what the registry knows, which model suits a language, what is here, and how to fetch the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.models import ModelEntry
from bsx.catalog.languages import Asked
from bsx.cli.options import Format, Full, Registry, command
from bsx.cli.output import group, refuse_before_command, refuse_beside, say
from bsx.models.ranking import Constraints, Prefer, select_model
from bsx.support.settings import set_fields
from bsx.support.terminal import SHOWN, WIDTH, short_table, shortened, text_table
from bsx.support.untyped import to_json

if TYPE_CHECKING:
    from bsx.catalog.entries import Judged
    from bsx.models.evidence import Ranked
    from bsx.models.ranking import ModelChoice

models = group()
Name = Annotated[str, typer.Argument(help="Registry name or alias.")]


@models.callback(invoke_without_command=True)
@command(Constraints)
def list_models(
    constraints: Constraints,
    context: typer.Context,
    lang: Annotated[
        str | None,
        typer.Option("-l", "--lang", help="Rank the models that know this language, or the target of a pair: en-de."),
    ] = None,
    prefer: Annotated[
        Prefer,
        typer.Option(
            help="Rank by the papers' choice (paper), by agreement with human judgments (quality) or by cost (speed)."
        ),
    ] = "paper",
    task: Annotated[
        str,
        typer.Option(help="What is judged (human-translation, human-summary, similarity): figures of this come first."),
    ] = "human-translation",
    languages: Annotated[bool, typer.Option("--languages", help="List the languages instead.")] = False,
    registry: Registry = None,
    format: Format = "text",
    full: Full = False,
) -> None:
    """List the registry's models, or rank those for a language."""
    if refuse_before_command(context):
        return
    catalog = _load(registry)
    if languages:
        refuse_beside(context, "languages", "registry", "format", "full")
        rows = [entry.model_dump() for entry in catalog.languages.values()]
        if format == "text":
            without = sum(entry.model is None for entry in catalog.languages.values())
            print(
                f"{len(rows)} languages, each with the model that is used unless one is named; {without} have none.\n"
            )
        _print_rows("languages", rows, ["code", "name", "script", "model"], format, full=full)
        return
    from bsx.models.ranking import list_models as fitting

    if lang is None:
        fit = fitting(catalog, prefer=prefer, constraints=constraints)
        rows = [_row(entry, catalog, None) for entry in fit]
        if format == "json":
            print(to_json({"models": rows}))
            return
        here = [str(row["name"]) for row in rows if row["available"]]
        there = f"{len(here):,} of them on this machine: {', '.join(here[:_NAMED])}" if here else "none on this machine"
        print(f"{len(rows):,} models, {there}. bsx models --lang CODE says which one to use for a language.\n")
        if prefer == "paper":  # by name; any other order is the one asked for
            rows.sort(key=lambda row: not row["available"])
        columns = ["name", "layer", "layers", *_FACTS, "source"] if full else ["name", "layer", "layers", *_SHORT]
        _print_rows("models", rows, columns, format, full=full)
        return

    choice = select_model(
        lang,
        prefer=prefer,
        task=cast("Judged", task),
        registry=catalog,
        **set_fields(constraints),
    )
    rows = [{**_row(r.entry, catalog, choice.language.code), "reason": r.reason} for r in choice.ranking]
    if format == "json":
        result = {
            "language": choice.language.code,
            "pair": None if choice.source is None else f"{choice.source.code}-{choice.language.code}",
            "selected": choice.name,
            "prefer": prefer,
            "task": task,
            "notes": list(choice.notes),
            "tests": [
                {
                    **{name: getattr(test.evidence, name) for name in _TESTED},
                    "kind": test.evidence.judged,
                    "year": test.evidence.when,
                    "chrf": test.chrf,
                    "models": [
                        {"name": entry.name, **figure.model_dump(include={"value", "interval", "n", "source"})}
                        for entry, figure in test.figures
                    ],
                }
                for test in choice.tests
            ],
            "models": rows,
        }
        print(to_json(result))
        return
    print(f"{_chosen(choice, rows)}\n")
    if full:
        _print_rows("models", rows, ["name", "layer", "layers", *_FACTS, "reason"], format, full=True)
    elif choice.tests and prefer != "speed":
        _print_tests(choice, rows, catalog)
    else:
        of = {name: entry.name for name, entry in catalog.languages.items()}
        rows = [{**row, **_spoken(ranked, of)} for row, ranked in zip(rows, choice.ranking, strict=True)]
        said = [column for column in ("measured in", "evidence") if any(row[column] for row in rows)]
        _print_rows("models", rows, ["name", "size", "available", *said], format, most=_RANKED)
    from bsx.models.evidence import unmeasured

    for note in choice.notes:
        if note != unmeasured(choice.language):
            print(f"Note: {note}")


_FACTS = ("parameters", "licence", "baseline", "available")
_SHORT = ("parameters", "licence", "available")
_NAMED = 5
_RANKED = 10
_TESTS = 3
_TESTED = ("dataset", "language", "direction", "level", "statistic")
_COMPARED = 6


def _chosen(choice: ModelChoice, rows: Sequence[Mapping[str, object]]) -> str:
    """Return which model to use for a language, why, and which to use where that is not on this machine."""
    from bsx.models.evidence import unmeasured

    language = Asked(choice.language, choice.source).name
    told = f"{language}: use {choice.name} ({choice.reason})."
    if not rows[0]["available"]:
        there = next((row for row in rows if row["available"]), None)
        told += f" It is not on this machine; bsx models pull {choice.name} fetches it."
        if there is not None:
            told += f" On this machine: {there['name']}."
    missing = unmeasured(choice.language)
    if missing in choice.notes:
        told += f"\n{missing[0].upper()}{missing[1:]}."
    return f"{told}\nOnly figures of one test compare models; no difference between models is tested."


def _print_tests(choice: ModelChoice, rows: Sequence[Mapping[str, object]], catalog: Catalog) -> None:
    """Print a table for each of the first tests, and how many models none of them measured."""
    from bsx.models.evidence import spelled_test, spelled_value

    by_name = {row["name"]: row for row in rows}
    most = _TESTS if choice.tests[0].near <= 1 else 1  # of other languages, the one that decides is enough
    for test in choice.tests[:most]:
        one = test.evidence
        known = catalog.languages.get(one.language)
        where = "" if test.near <= 1 else f"{known.name if known is not None else one.language}: "
        beside = "" if test.chrf is None else f"; chrF {spelled_value(test.chrf)}"
        print(shortened(f"{where}{spelled_test(one)}{beside}", WIDTH))
        cells = [
            {
                **by_name[entry.name],
                "size": _size(entry),
                "figure": spelled_value(figure.value, figure),
            }
            for entry, figure in test.figures
        ]
        _print_rows("models", cells, ["name", "size", "available", "figure"], "text", most=_COMPARED)
        print()
    if len(choice.tests) > most:
        print(f"More tests: {len(choice.tests) - most}, in --format json.")
    unknown = [ranked.entry.name for ranked in choice.ranking if ranked.evidence is None]
    if unknown:
        print(f"{len(unknown):,} models that know {choice.language.name} were not measured; nothing is known: --full.")


def _size(entry: ModelEntry) -> str:
    return "-" if entry.parameters is None else f"{entry.parameters / 1e6:,.0f} M"


def _spoken(ranked: Ranked, languages: Mapping[str, str]) -> dict[str, object]:
    """Return the figure that a model was ranked by in short: its language, and the rest without its source."""
    from bsx.models.evidence import spelled_figure

    evidence, size = ranked.evidence, _size(ranked.entry)
    if evidence is None:
        return {"size": size, "measured in": "", "evidence": ""}
    figure = spelled_figure(evidence).removesuffix(f"; {evidence.source}")
    return {"size": size, "measured in": languages.get(evidence.language, evidence.language), "evidence": figure}


@models.command()
def show(name: Name, registry: Registry = None, format: Format = "text", full: Full = False) -> None:
    """Show what the registry says about one model; with --full, everything."""
    from bsx.models.evidence import spelled_figure

    catalog = _load(registry)
    entry = catalog.model(name)
    baselines = {}
    for language in catalog.baseline_languages(entry.name):
        table = catalog.baseline(language, entry.name)
        if table is not None:
            figures = zip(table.precision, table.recall, table.f1, strict=True)
            baselines[language] = {
                str(layer): {"precision": p, "recall": r, "f1": f} for layer, (p, r, f) in enumerate(figures)
            }
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
    if isinstance(known, list) and len(known) == 1:
        languages = f"language {known[0]}"
    scored = f"scored with layer {entry.layer} of {entry.layers}"
    scored = scored if isinstance(entry.layer, int) else "no layer is validated"
    here = "It is on this machine" if details["available"] else f"bsx models pull {entry.name} fetches it"
    print(f"{entry.name}: {languages}, {_spell(entry.parameters)} parameters, {scored}. {here}.\n")
    rows, evidence = [], [["evidence", spelled_figure(figure)] for figure in entry.evidence]
    for key, value in details.items():
        if key == "baselines" and isinstance(value, dict):
            value = ", ".join(f"{lang} (layers 0 to {len(layers) - 1})" for lang, layers in value.items())
        if key == "evidence" or (not full and value in (None, "", [], False)):
            continue
        spelled = ", ".join(map(str, value)) if isinstance(value, list) else _spell(value)
        rows.append([key, spelled])
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
    registry: Registry = None,
) -> None:
    """Fetch a model's files from the hub into the local cache."""
    from bsx.encode.model import choose, locate

    catalog = _load(registry)
    choice = choose(name, lang, catalog)
    checkpoint = locate(choice, catalog)
    print(f"{choice.name}: {checkpoint.identity} in {checkpoint.folder}")


@models.command()
def where(name: Name, registry: Registry = None) -> None:
    """Print the folder that holds a model's files on this machine; never uses the network."""
    from bsx.encode.model import choose
    from bsx.errors import ModelUnavailableError
    from bsx.models.files import find

    choice = choose(name, None, _load(registry))
    folder = find(choice.source)
    if folder is None:
        raise ModelUnavailableError(f"{choice.name} is not on this machine: bsx models pull {choice.name} fetches it")
    print(folder)


@models.command()
def pin(name: Name, registry: Registry = None) -> None:
    """Resolve a hub model's revision to a commit and write it to the user's registry."""
    from bsx.encode.model import pin_revision

    catalog = _load(registry if registry is not None and registry.is_dir() else None)
    file, commit = pin_revision(catalog.model(name), registry)
    print(f"{name}: pinned to {commit} in {file}")


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


def _spell(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: "-"}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)


def _print_rows(
    what: str,
    rows: Sequence[Mapping[str, object]],
    columns: Sequence[str],
    format: str,
    *,
    full: bool = False,
    most: int = SHOWN,
) -> None:
    if format == "json":
        print(to_json({what: rows}))
        return
    heads = ["here" if name == "available" else name for name in columns]
    cells = [heads, *([_spell(row[name]) for name in columns] for row in rows)]
    print(short_table(cells, "l", what=what, full=full, cut=len(columns) - 1, most=most))
