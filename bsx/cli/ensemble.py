"""``bsx ensemble``: metrics together, beside the best of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.analysis.ensembles.settings import EnsembleSettings
from bsx.cli.messages import say
from bsx.cli.options import take, take_keywords, with_settings
from bsx.jobs.settings import EnsembleColumns


@with_settings(config=EnsembleSettings)
@with_settings(config=EnsembleColumns, before="format")
def ensemble(
    file: Annotated[Path, typer.Argument(help="Table of scores: .tsv (unquoted), .csv, .jsonl, .parquet.")],
    column: Annotated[list[str], typer.Option(help="Columns of metrics' scores, separated by commas; repeatable.")],
    human: Annotated[str, typer.Option(help="Column of human scores.")],
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print.")] = "text",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the result to this file.", writable=True)
    ] = None,
    **settings: Any,
) -> None:
    """Combine metrics: gains over the best of them with intervals and tests, fitted weights by cross-validation."""
    from bsx.cli.output import names, show
    from bsx.jobs.combining.run import ensemble as combine
    from bsx.support.provenance import provenance

    more = take_keywords(settings, EnsembleColumns)
    found = combine(
        file,
        names(column),
        human,
        settings=take(settings, EnsembleSettings),
        **more,
    )
    result = found.result
    content = {**result.to_dict(), "provenance": provenance("ensemble", found.files, found.signatures)}
    show(content, result.to_text, format, output)
    say(result.notes)
    if found.saved is not None:
        print(f"bsx: saved {found.saved}; use it as --metric ensemble:{more['save']}", file=sys.stderr)
