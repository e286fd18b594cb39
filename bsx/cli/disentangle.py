"""``bsx disentangle``: which linguistic factors explain a metric's scores; ``bsx ensemble``: metrics together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bsx.analysis.disentangle.run import DisentangleRun
from bsx.analysis.ensemble.run import EnsembleRun
from bsx.cli.options import Full, Output, TableFormat, command
from bsx.cli.output import FILE_OR_FOLDER, FORMS, answer

_OFTEN_ENSEMBLE = """
    table system segment document columns human how group save lang metrics
"""
_OFTEN_DISENTANGLE = """
    table system segment document columns factor_columns group within cluster controls reliability repeat
    spline compare lang metrics
"""


@command(DisentangleRun, often=_OFTEN_DISENTANGLE)
def disentangle(
    settings: DisentangleRun,
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
    pictures: Annotated[bool, typer.Option("--pictures", help="Draw pictures into the folder too.")] = False,
) -> None:
    """Regress metric scores on linguistic factors: coefficients, intervals, explained variance and its shares."""
    from bsx.analysis.disentangle.run import disentangle as regress
    from bsx.analysis.present.forms import files_in, save
    from bsx.data.run import check_outputs
    from bsx.errors import InputError
    from bsx.support.optional import need

    folder = output if output is not None and (output.suffix.lower() not in FORMS or output.is_dir()) else None
    if pictures and folder is None:
        raise InputError("pictures are drawn into a folder: say which with -o DIR", setting="pictures")
    if pictures:
        need("vl_convert", "drawing charts")
    if folder is not None and folder.is_dir():
        check_outputs(files_in(folder, "disentangle"))
    result = answer(regress, settings, [str(settings.table)], format, None if folder else output, full=full)
    if folder is not None:
        save(result, folder, "disentangle", pictures=pictures)


@command(EnsembleRun, often=_OFTEN_ENSEMBLE)
def ensemble(settings: EnsembleRun, format: TableFormat = None, output: Output = None, full: Full = False) -> None:
    """Combine metrics: gains over the best of them with intervals and tests, fitted weights by cross-validation."""
    from bsx.analysis.ensemble.run import ensemble as combine
    from bsx.analysis.ensemble.run import place_of

    files = [str(path) for path in (settings.table, settings.fit) if path is not None]
    answer(combine, settings, files, format, output, full=full)
    if settings.save is not None:
        place = place_of(settings.save, settings.registry)
        print(f"bsx: saved {place}; use it as --metrics ensemble:{settings.save}", file=sys.stderr)
