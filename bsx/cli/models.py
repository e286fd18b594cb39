"""``bsx models``: what the registry knows, what is on this machine, and how to fetch the rest."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from bsx.catalog import Catalog, ModelEntry, shipped

models = typer.Typer(rich_markup_mode=None)
Format = Annotated[Literal["text", "json"], typer.Option("--format", help="How to print.")]


@models.callback(invoke_without_command=True)
def list_models(
    context: typer.Context,
    languages: Annotated[bool, typer.Option("--languages", help="List the languages instead.")] = False,
    format: Format = "text",
) -> None:
    """List the registry's models and what is available here."""
    if context.invoked_subcommand is not None:
        return
    catalog = shipped()
    if languages:
        rows = [{"code": e.code, "name": e.name, "model": e.model} for e in catalog.languages.values()]
        columns = {"code": 8, "name": 24, "model": 0}
    else:
        rows = [_row(entry) for entry in catalog.models.values()]
        columns = {"name": 30, "layer": 6, "layers": 7, "parameters": 12, "available": 10, "source": 0}
    print(json.dumps(rows, ensure_ascii=False) if format == "json" else _table(rows, columns))


@models.command()
def show(name: Annotated[str, typer.Argument(help="Registry name or alias.")], format: Format = "text") -> None:
    """Show everything the registry says about one model."""
    catalog = shipped()
    entry = catalog.model(name)
    details = {**_row(entry), **_details(entry, catalog)}
    if format == "json":
        print(json.dumps(details, ensure_ascii=False))
        return
    for key, value in details.items():
        print(f"{key:<14}{json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value}")


@models.command()
def pull(name: Annotated[str, typer.Argument(help="Registry name or alias.")]) -> None:
    """Fetch a model's files from the hub into the local cache."""
    from bsx.checkpoint import locate
    from bsx.resolve import choose

    catalog = shipped()
    checkpoint = locate(choose(catalog.model(name).name, None, catalog), catalog)
    print(f"{name}: {checkpoint.identity} in {checkpoint.folder}")


def _row(entry: ModelEntry) -> dict[str, Any]:
    from bsx.checkpoint import find

    return {
        "name": entry.name,
        "hub_id": entry.source.hub,
        "layer": entry.layer,
        "layers": entry.layers,
        "parameters": entry.parameters,
        "licence": entry.licence,
        "languages": entry.languages,
        "available": find(entry.source) is not None,
        "source": str(entry.source),
    }


def _details(entry: ModelEntry, catalog: Catalog) -> dict[str, Any]:
    return {
        "aliases": entry.aliases,
        "family": entry.family,
        "dimensions": entry.dimensions,
        "max_tokens": entry.max_tokens,
        "leading_space": entry.leading_space,
        "evidence": [evidence.model_dump() for evidence in entry.evidence],
        "notes": entry.notes,
        "baselines": {
            language: {
                str(layer): {"precision": p, "recall": r, "f1": f}
                for layer, (p, r, f) in enumerate(zip(b.precision, b.recall, b.f1, strict=True))
            }
            for (language, model), b in catalog.baselines.items()
            if model == entry.name
        },
    }


def _table(rows: list[dict[str, Any]], columns: dict[str, int]) -> str:
    def line(values: list[str]) -> str:
        return " ".join(v.ljust(w) for v, w in zip(values, columns.values(), strict=True)).rstrip()

    def spell(value: object) -> str:
        if value is None or isinstance(value, bool):
            return {True: "yes", False: "no", None: "-"}[value]
        return f"{value:,}" if isinstance(value, int) else str(value)

    return "\n".join([line(list(columns)), *(line([spell(row[name]) for name in columns]) for row in rows)])
