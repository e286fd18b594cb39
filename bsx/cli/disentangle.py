"""``bsx disentangle``, which can write a folder with all forms of its result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bsx.analysis.disentangle.run import DisentangleRun
from bsx.analysis.disentangle.run import disentangle as regress
from bsx.analysis.present.forms import files_in, save
from bsx.cli.options import Full, TableFormat, command
from bsx.cli.output import FILE_OR_FOLDER, FORMS, answer
from bsx.data.run import check_outputs
from bsx.errors import InputError
from bsx.support.optional import need

_OFTEN = """
    table system segment document columns factor_columns group within cluster controls reliability repeat
    spline compare lang metrics
"""


@command(DisentangleRun, often=_OFTEN)
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
    """Regress metric scores on linguistic factors."""
    folder = output if output is not None and (output.suffix.lower() not in FORMS or output.is_dir()) else None
    if pictures and folder is None:
        raise InputError("pictures are drawn into a folder: say which with -o DIR", setting="pictures")
    if pictures:
        need("vl_convert", "drawing charts")
    if folder is not None and folder.is_dir():
        check_outputs(files_in(folder, "disentangle"))
    result = answer(regress, settings, format, None if folder else output, full=full)
    if folder is not None:
        save(result, folder, "disentangle", pictures=pictures)
