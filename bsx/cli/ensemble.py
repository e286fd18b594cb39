"""``bsx ensemble``: metrics together, beside the best of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.analysis.ensembles.settings import EnsembleSettings
from bsx.cli.messages import say
from bsx.cli.options import Lower, with_settings
from bsx.support.json_text import to_json


@with_settings(config=EnsembleSettings)
def ensemble(
    file: Annotated[Path, typer.Argument(help="Table of scores: .tsv (unquoted), .csv, .jsonl, .parquet.")],
    column: Annotated[list[str], typer.Option(help="Columns of metrics' scores, separated by commas; repeatable.")],
    human: Annotated[str, typer.Option(help="Column of human scores.")],
    group: Annotated[str | None, typer.Option(help="Column of groups, such as language pairs.")] = None,
    segment: Annotated[str | None, typer.Option(help="Column of segments; rows of one stay in one fold.")] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of texts; equal ones stay in one fold. Repeatable. [source, reference, candidate, …]"
        ),
    ] = None,
    fold: Annotated[str | None, typer.Option(help="Column of ready-made folds.")] = None,
    lower: Lower = None,
    fit: Annotated[
        Path | None, typer.Option(help="Table to fit on, with the same columns, instead of cross-validation.")
    ] = None,
    factors: Annotated[
        list[str] | None, typer.Option(help="For --how factors: columns of factors to compute profiles from.")
    ] = None,
    profiles: Annotated[
        Path | None, typer.Option(help="For --how factors: what bsx disentangle --format json printed.")
    ] = None,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print.")] = "text",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the result to this file.", writable=True)
    ] = None,
    save: Annotated[
        str | None, typer.Option(help="Keep the ensemble as the metric ensemble:NAME, or in a file NAME.yaml.")
    ] = None,
    member: Annotated[
        list[str] | None, typer.Option(help="For --save: COLUMN=METRIC, where the column is not its name. Repeatable.")
    ] = None,
    registry: Annotated[Path | None, typer.Option(help="Registry folder to save in; your own unless given.")] = None,
    **settings: Any,
) -> None:
    """Combine metrics: gains over the best of them with intervals and tests, fitted weights by cross-validation."""
    from bsx.cli.output import names, write_result
    from bsx.jobs.combining.run import ensemble as combine
    from bsx.support.provenance import provenance
    from bsx.support.settings import build_config

    found = combine(
        file,
        names(column),
        human,
        group=group,
        segment=segment,
        text=text,
        fold=fold,
        lower=names(lower),
        fit=fit,
        factors=None if factors is None else names(factors),
        profiles=profiles,
        save=save,
        member=member or (),
        registry=registry,
        settings=build_config(settings, EnsembleSettings),
    )
    result = found.result
    content = {**result.to_dict(), "provenance": provenance("ensemble", found.files, found.signatures)}
    write_result(to_json(content) if format == "json" else result.to_text(), output)
    say(result.notes)
    if found.saved is not None:
        print(f"bsx: saved {found.saved}; use it as --metric ensemble:{save}", file=sys.stderr)
