"""``bsx mbr``: the best of many candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.cli.options import Format, command
from bsx.cli.output import progress_bar, say
from bsx.jobs.deciding import MbrRun
from bsx.support.settings import set_fields
from bsx.support.untyped import to_json

_OFTEN = "table references method prune_to candidate source segment output model lang metrics"


@command(MbrRun, leave_out=("output",), often=_OFTEN)
def mbr(
    settings: MbrRun,
    output: Annotated[
        Path, typer.Option("-o", "--output", help=MbrRun.model_fields["output"].description, writable=True)
    ] = Path("-"),
    format: Format = "text",
) -> None:
    """Choose from each list the candidate that a metric expects to be best (minimum Bayes risk decoding)."""
    from bsx.jobs.deciding import mbr
    from bsx.support.provenance import provenance

    with progress_bar() as report:
        watched: dict[str, Any] = {"output": output, "progress": report, "say": lambda note: say([note])}
        decided = mbr(**set_fields(settings), **watched)
    read = [name for name in (settings.table, settings.references) if name is not None]
    origin = provenance("mbr", read, decided.summary["signatures"])
    print(to_json({**decided.to_dict(), "provenance": origin}) if format == "json" else decided.to_text())
    say(decided.notes)
