"""``bsx probe``, which can write a table with a row a task and layer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bsx.analysis.probe import run as probing
from bsx.analysis.probe.run import ProbeSettings
from bsx.cli.options import Full, Plot, TableFormat, command
from bsx.cli.output import FORMS, answer
from bsx.data.output import FORMATS, PICTURES
from bsx.errors import InputError

_OFTEN = "tasks candidate reference human tokens labels layers probe judged limit model lang"


@command(ProbeSettings, often=_OFTEN)
def probe(
    settings: ProbeSettings,
    plot: Plot = None,
    format: TableFormat = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write a row a task and layer: .tsv .csv .jsonl .parquet .xlsx; or the tables: .txt .md .tex .json "
            ".html.",
            writable=True,
        ),
    ] = None,
    full: Full = False,
) -> None:
    """Fit probes on every layer's frozen vectors."""
    for path, suffixes in ((plot, PICTURES), (output, tuple(dict.fromkeys((*FORMATS, *FORMS))))):
        if path is not None and path.suffix not in suffixes:
            raise InputError(f"the name must end in {', '.join(suffixes)}", file=path)
    table = output if output is not None and output.suffix in FORMATS else None
    probed = answer(probing.probe, settings, format, None if table else output, full=full, plot=plot)
    if table is not None:
        probing.save_rows(probed, table)
