"""``bsx factors``: how alike sentence pairs are, factor by factor; ``bsx intervene``: what moving one factor costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bsx.cli.options import Format, Full, Output, TableFormat, command
from bsx.cli.output import progress_bar, say, show, write_shown
from bsx.jobs.factoring import FactorRun
from bsx.jobs.intervening import InterveneRun
from bsx.support.settings import set_fields

_OFTEN_INTERVENE = """
    table edits base factors candidate reference source human edits_out lang model metrics
"""
_OFTEN_FACTOR = """
    table factors human candidate reference source vectors train_vectors output lang
"""


@command(FactorRun, often=_OFTEN_FACTOR)
def factors(settings: FactorRun, format: Format = "text") -> None:
    """Score sentence pairs by linguistic factors; `bsx disentangle` explains metrics by them."""
    from bsx.jobs.factoring import factors as run

    with progress_bar() as report:
        result = run(**{**set_fields(settings), "progress": report})
    say(result.notes)
    show(result.summary, result.to_text, format)


@command(InterveneRun, often=_OFTEN_INTERVENE)
def intervene(
    settings: InterveneRun,
    plot: Annotated[
        Path | None, typer.Option(help="Draw both sides' coefficients: .png, .svg or .pdf.", writable=True)
    ] = None,
    format: TableFormat = None,
    output: Output = None,
    full: Full = False,
) -> None:
    """Edit texts factor by factor: how far scores fall, and what scores are associated with in unedited texts."""
    from bsx.data.output import check_picture
    from bsx.jobs.intervening import intervene as run

    if plot is not None:
        check_picture(plot)
    with progress_bar() as report:
        result = run(**{**set_fields(settings), "progress": report})
    if plot is not None:
        result.plot(plot)
    read = [path for path in (settings.table, settings.parses, settings.treebank) if path is not None]
    write_shown(result, read, format, output, full=full)
