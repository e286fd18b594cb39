"""``bsx ensemble``: metrics together, beside the best of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.analysis.ensembles.settings import EnsembleSettings
from bsx.cli.messages import say
from bsx.cli.options import with_settings


@with_settings(config=EnsembleSettings)
def ensemble(
    file: Annotated[Path, typer.Argument(help="Table of scores: .tsv (unquoted), .csv, .jsonl, .parquet.")],
    metrics: Annotated[str, typer.Option(help="Columns to combine, separated by commas.")],
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
    lower: Annotated[
        list[str] | None, typer.Option(help="Metrics of which lower is better: their sign is turned. Repeatable.")
    ] = None,
    fit: Annotated[
        Path | None, typer.Option(help="Table to fit on, with the same columns, instead of cross-validation.")
    ] = None,
    factors: Annotated[
        str | None, typer.Option(help="For --how factors: columns of factors to compute profiles from.")
    ] = None,
    profiles: Annotated[
        Path | None, typer.Option(help="For --how factors: what bsx disentangle --format json printed.")
    ] = None,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print.")] = "text",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the result to this file.")] = None,
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
    from bsx.analysis.ensembles.run import ensemble as combine
    from bsx.cli.ensemble_inputs import read_profiles, read_table
    from bsx.cli.ensemble_save import save_ensemble
    from bsx.cli.names import split_names
    from bsx.cli.results import write_result
    from bsx.cli.sidecar import known_signatures, lower_by_sidecar
    from bsx.errors import InputError
    from bsx.support.provenance import provenance

    names = split_names(metrics)
    if save is None and (member or registry is not None):
        raise InputError("--member and --registry go with --save")
    if (factors is not None or profiles is not None) != (settings.get("how") == "factors"):
        raise InputError("--how factors and --factors COLUMNS, or --profiles FILE, go together")
    table = read_table(file, names, human, [group, segment, fold], text)
    other = None if fit is None else read_table(fit, names, human, [group, segment], text)
    turned = [name for part in lower or [] for name in split_names(part)]
    source = file if fit is None else fit
    known = [name for name in lower_by_sidecar(source) if name in names and name not in turned]
    files = [path for path in (file, fit, profiles) if path is not None]
    result = combine(
        table,
        names,
        human,
        group=group,
        segment=segment,
        fold=fold,
        texts=text,
        lower=[*turned, *known],
        fit=other,
        profiles=read_profiles(profiles, source, names, factors, settings.get("nan", "error")),
        **settings,
    )
    content = {**result.to_dict(), "provenance": provenance("ensemble", files, known_signatures(file, names))}
    saved = None
    if save is not None:
        saved = save_ensemble(result, save, member or [], human, [source], known_signatures(source, names), registry)
    write_result(json.dumps(content, ensure_ascii=False) if format == "json" else result.to_text(), output)
    say(result.notes)
    if saved is not None:
        print(f"bsx: saved {saved}; use it as --metric ensemble:{save}", file=sys.stderr)
