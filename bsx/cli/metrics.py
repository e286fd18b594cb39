"""``bsx metrics``: the zoo, one of its metrics, and the two jobs that go with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.cli.messages import say, spelled
from bsx.cli.metrics_ablation import ablation
from bsx.cli.metrics_fit import fit_alignment
from bsx.cli.metrics_layers import layers

metrics = typer.Typer(rich_markup_mode=None)
metrics.command()(ablation)
metrics.command()(layers)
metrics.command("fit-alignment")(fit_alignment)
Format = Annotated[Literal["text", "json"], typer.Option("--format", help="How to print.")]
Registry = Annotated[Path | None, typer.Option("--registry", help="Folder laid over the registry.")]


@metrics.callback(invoke_without_command=True)
def list_metrics(
    context: typer.Context,
    needs: Annotated[
        Literal["reference", "source"] | None, typer.Option(help="Only metrics that compare candidates with this.")
    ] = None,
    registry: Registry = None,
    format: Format = "text",
) -> None:
    """List all metrics, those of other installed packages included."""
    if context.invoked_subcommand is not None:
        return
    from bsx.catalog.catalog import load_registry
    from bsx.metrics.inventory import inventory

    catalog = load_registry(registry)
    say(f"left out of the registry: {problem}" for problem in catalog.problems)
    rows = [
        {**row, "runs": spelled(row["runs"])} for row in inventory(catalog) if needs is None or needs in row["needs"]
    ]
    if format == "json":
        print(json.dumps(rows, ensure_ascii=False))
        return
    width = max(len(row["name"]) for row in rows)
    print(f"{'name':<{width}}  {'needs':<18}  {'extra':<8}  {'runs here':<34}  title")
    for row in rows:
        with_what = "+".join(need for need in row["needs"] if need != "candidate")
        title = row["title"] + ("" if row["higher_is_better"] else " (lower is better)")
        print(f"{row['name']:<{width}}  {with_what:<18}  {row['extra'] or '':<8}  {row['runs']:<34}  {title}")


@metrics.command()
def show(
    name: Annotated[str, typer.Argument(help="A metric's name.")], registry: Registry = None, format: Format = "text"
) -> None:
    """Show everything about one metric: what it needs, its settings with their defaults, whom to cite."""
    from bsx.catalog.catalog import load_registry
    from bsx.metrics.inventory import describe

    details = describe(name, load_registry(registry))
    details["runs"] = spelled(details["runs"])
    if format == "json":
        print(json.dumps(details, ensure_ascii=False))
        return
    settings: list[dict[str, Any]] = details.pop("settings")
    for field, value in details.items():
        print(f"{field}: {', '.join(value) if isinstance(value, list) else '' if value is None else value}")
    print("settings:")
    for setting in settings:
        print(f"  {setting['name']}={setting['default']}  ({setting['type']}) {setting['help']}")
