"""``bsx disentangle``: which linguistic factors explain a metric's scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.cli.options import Column, Full, TableFormat, take_keywords, with_settings
from bsx.cli.output import FILE_OR_FOLDER, FORMS, names, split_names, write_shown
from bsx.jobs.settings.factors import DisentangleSettings


@with_settings(config=DisentangleSettings, before="add")
def disentangle(
    file: Annotated[Path, typer.Argument(help="Table of scores and factors: .tsv (unquoted), .csv, .jsonl, .parquet.")],
    column: Column = None,
    factor_column: Annotated[
        list[str] | None,
        typer.Option(
            "--factor-columns", help="Columns of factors to explain them with, likewise. [those that bsx factors wrote]"
        ),
    ] = None,
    add: Annotated[
        list[str] | None, typer.Option(help="Test whether these factors add anything to the others; repeatable.")
    ] = None,
    compare: Annotated[str | None, typer.Option(help="Two metrics A,B whose coefficients to compare.")] = None,
    format: TableFormat = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar=FILE_OR_FOLDER,
            help="Write the tables to this file instead: .txt .md .tex .csv .json .html; or a folder for all forms.",
            writable=True,
        ),
    ] = None,
    full: Full = False,
    plot: Annotated[bool, typer.Option("--plot", help="Draw pictures into the folder too.")] = False,
    **settings: Any,
) -> None:
    """Regress metric scores on linguistic factors: coefficients, intervals, explained variance and its shares."""
    from bsx.analysis.present.forms import files_in, save, save_pictures
    from bsx.data.run import check_outputs
    from bsx.errors import InputError
    from bsx.jobs.disentangling import disentangle as run
    from bsx.jobs.disentangling import residuals
    from bsx.support.provenance import Provenance, provenance

    folder = output if output is not None and (output.suffix.lower() not in FORMS or output.is_dir()) else None
    if plot and folder is None:
        raise InputError("--plot draws into a folder: say which with -o DIR")
    if folder is not None and folder.is_dir():
        check_outputs(files_in(folder, "disentangle"))
    a, _, b = (part.strip() for part in (compare or "").partition(","))
    how = take_keywords(settings, DisentangleSettings)
    found = run(
        file,
        names(column),
        names(factor_column),
        add=[split_names(added) for added in add or []],
        compare=None if compare is None else (a, b),
        **how,
    )
    if folder is not None:
        whole = replace(found, provenance=Provenance.read(provenance(found.kind, [file], found.signatures)))
        save(whole, folder, "disentangle", pictures=plot)
        for left in residuals(file, names(column), names(factor_column), **how) if plot else ():
            save_pictures(left, folder)
        output = None
    write_shown(found, [file], format, output, full=full)
