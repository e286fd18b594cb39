"""``bsx disentangle``: which linguistic factors explain a metric's scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.cli.messages import say, spelled
from bsx.cli.options import Column, take_keywords, with_settings
from bsx.jobs.settings import DisentangleSettings


@with_settings(config=DisentangleSettings, before="add")
def disentangle(
    file: Annotated[Path, typer.Argument(help="Table of scores and factors: .tsv (unquoted), .csv, .jsonl, .parquet.")],
    column: Column = None,
    factor_column: Annotated[
        list[str] | None,
        typer.Option(help="Columns of factors to explain them with, likewise. [those that bsx factors wrote]"),
    ] = None,
    add: Annotated[
        list[str] | None, typer.Option(help="Test whether these factors add anything to the others; repeatable.")
    ] = None,
    compare: Annotated[str | None, typer.Option(help="Two metrics A,B whose coefficients to compare.")] = None,
    format: Annotated[Literal["text", "json", "csv", "latex", "markdown"], typer.Option(help="How to print.")] = "text",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for all forms of the result.", writable=True, file_okay=False),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw pictures into the folder too.")] = False,
    **settings: Any,
) -> None:
    """Regress metric scores on linguistic factors: coefficients, intervals, explained variance and its shares."""
    from bsx.cli.output import names, split_names
    from bsx.data.run import check_outputs
    from bsx.errors import InputError
    from bsx.jobs.explaining import disentangle as run
    from bsx.jobs.explaining import files_in
    from bsx.support.provenance import provenance

    if plot and output is None:
        raise InputError("--plot draws into a folder: say which with -o DIR")
    if output is not None and output.is_dir():
        check_outputs(files_in(output))
    a, _, b = (part.strip() for part in (compare or "").partition(","))
    found = run(
        file,
        names(column),
        names(factor_column),
        add=[split_names(added) for added in add or []],
        compare=None if compare is None else (a, b),
        **take_keywords(settings, DisentangleSettings),
    )
    origin = provenance("disentangle", [file], found.signatures)
    if output is not None:
        found.save(output, origin, plot=plot)
        if output.suffix:
            say([f"{output} is a folder that holds the result in all forms, {output / 'disentangle.json'} among them"])
    if format != "text":
        say(notice.message for notice in found.result.warnings)
    say(found.notes)
    said = found.form(format, origin)
    print(spelled(said) if format == "text" else said, end="")
