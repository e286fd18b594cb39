"""``bsx probe``: what each layer of a model knows, side by side with how well it agrees with human judgments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bsx.cli.options import Full, Plot, TableFormat, command
from bsx.cli.output import FORMS, progress_bar, write_shown
from bsx.jobs import probing
from bsx.jobs.probing import ProbeSettings
from bsx.support.settings import set_fields

_OFTEN = "tasks candidate reference human tokens labels layers probe judged limit model lang"


@command(ProbeSettings, leave_out=("strict",), often=_OFTEN)
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
    """Fit probes on every layer's frozen vectors: what does it know, and does it know more than a control task?"""
    from bsx.data.output import FORMATS, PICTURES
    from bsx.errors import InputError

    for path, suffixes in ((plot, PICTURES), (output, tuple(dict.fromkeys((*FORMATS, *FORMS))))):
        if path is not None and path.suffix not in suffixes:
            raise InputError(f"the name must end in {', '.join(suffixes)}", file=path)
    with progress_bar() as report:
        probed = probing.probe(**set_fields(settings), progress=report)
    if plot is not None:
        probed.plot(plot)
    if output is not None and output.suffix in FORMATS:
        probing.save_rows(probed, output)
        output = None
    read = [*settings.tasks, *settings.test_data, *([str(settings.judged)] if settings.judged is not None else [])]
    write_shown(probed, read, format, output, full=full)
