"""``bsx registry``: make a model or language a first-class citizen."""

from __future__ import annotations

from typing import Annotated

import typer

from bsx.cli.registry_baseline import baseline
from bsx.cli.registry_tune import tune

registry = typer.Typer(rich_markup_mode=None)
registry.command()(tune)
registry.command()(baseline)


@registry.callback(invoke_without_command=True)
def show_help(context: typer.Context) -> None:
    """Tune a model's layer, compute its baseline, validate registry files."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@registry.command()
def validate(
    folder: Annotated[str | None, typer.Argument(help="An overlay folder; the registry in use unless given.")] = None,
) -> None:
    """Read every file of the registry and report all problems."""
    from pathlib import Path

    from bsx.catalog.catalog import load_registry
    from bsx.catalog.dataset_entries import load_dataset_catalog
    from bsx.errors import RegistryError

    named = Path(folder) if folder is not None else None
    catalog = load_registry(named)
    problems = catalog.check()
    datasets = 0
    try:
        datasets = len(load_dataset_catalog(named).entries)
    except RegistryError as error:
        problems.append(error)
    if problems:
        raise RegistryError(f"{len(problems)} problems: " + " | ".join(map(str, problems)))
    kinds = [kind for kind, _ in catalog.origins]
    counts = ", ".join(
        f"{kinds.count(kind)} {kind}s" for kind in ("model", "language", "metric", "ensemble", "baseline")
    )
    print(f"{counts}, {datasets} datasets: all valid")


@registry.command()
def schema(
    kind: Annotated[str, typer.Argument(help="model, language, metric, ensemble, baseline, family or dataset.")],
) -> None:
    """Print the JSON Schema of a kind of registry file, for editors."""
    from bsx.catalog.schema import schema_text

    print(schema_text(kind), end="")
