"""``bsx report``, ``convert``, ``reproduce``: what people read of results, and published tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bsx import jobs
from bsx.cli.options import Full, Output, TableFormat, command
from bsx.cli.output import FORMS, check_ending, progress_bar, say, write_shown
from bsx.errors import InputError
from bsx.jobs.reporting import ConvertRun, ReportRun, ReproduceRun, reproduce_kaster2021
from bsx.support.settings import set_fields


@command(ReportRun, leave_out=("format",))
def report(
    settings: ReportRun,
    checklist: Annotated[
        bool,
        typer.Option(
            "--checklist", help="Print what a paper should say and which of it these files hold, in any --format."
        ),
    ] = False,
    full: Full = False,
    format: TableFormat = None,
) -> None:
    """Write a report: agreement with human judgments, factor profiles, robustness, ensembles, how to repeat it."""
    if not checklist:
        if full:
            raise InputError("full has no effect without checklist: a report is always full", setting="full")
        if format is not None and format != "html" and format != "markdown":
            raise InputError(f"format: a report is html or markdown, a checklist {format} too", setting="format")
        say(jobs.report(**set_fields(settings), format=format))
        print(f"bsx: wrote {settings.output}", file=sys.stderr)
        return
    for name in ("title", "examples", "align"):
        if name in settings.model_fields_set:
            raise InputError(f"{name} has no effect together with checklist: leave it out", setting=name)
    output = None if settings.output is None else Path(settings.output)
    if output is not None:
        check_ending(output, {*FORMS.values()} - {"jsonl"}, format, is_file=True)
    made = jobs.checklist(**{name: value for name, value in set_fields(settings).items() if name != "output"})
    write_shown(made, None, format, output, full=full)
    if output is not None:
        print(f"bsx: wrote {output}", file=sys.stderr)


@command(ConvertRun)
def convert(settings: ConvertRun) -> None:
    """Write a table in another format, or what a command printed as JSON in another form."""
    written = jobs.convert(**set_fields(settings))
    what = "" if settings.file.endswith(".json") else f", {written:,} row{'s' * (written != 1)}"
    print(f"bsx: wrote {settings.output}{what}", file=sys.stderr)


@command(ReproduceRun)
def reproduce(settings: ReproduceRun, full: Full = False, format: TableFormat = None, output: Output = None) -> None:
    """Recompute published tables and print ours next to them; exit status 1 if a cell is off without a reason."""
    if settings.tables == ["kaster2021"] and not settings.metrics:
        paper = reproduce_kaster2021(settings.data_dir, lex=settings.lex, wmt17=settings.wmt17)
        write_shown(paper, None, format, output, full=full)
        ok = vars(paper)["ok"]
    else:
        with progress_bar() as watch:
            result = jobs.reproduce(**set_fields(settings), progress=watch)
        write_shown(result, None, format, output, full=full)
        ok = result.ok
    if not ok:
        raise typer.Exit(1)
