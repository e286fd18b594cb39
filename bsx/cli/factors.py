"""``bsx factors``: how alike sentence pairs are, factor by factor; ``bsx intervene``: what moving one factor costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bsx.analysis.factors.run import FactorRun
from bsx.analysis.intervene.run import InterveneRun
from bsx.cli.options import Full, Output, Printed, TableFormat, command
from bsx.cli.output import answer

_OFTEN_INTERVENE = """
    table edits base factors candidate reference source human edits_out lang model metrics
"""
_OFTEN_FACTOR = """
    table factors human candidate reference source vectors train_vectors output lang
"""


@command(FactorRun, often=_OFTEN_FACTOR)
def factors(settings: FactorRun, format: Printed = "text") -> None:
    """Score sentence pairs by linguistic factors; `bsx disentangle` explains metrics by them."""
    from bsx.analysis.factors.run import factors as run

    answer(run, settings, [settings.table], format)


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
    from bsx.analysis.intervene.run import intervene as run

    answer(run, settings, (settings.table, settings.parses, settings.treebank), format, output, full=full, plot=plot)
