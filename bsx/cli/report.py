"""``bsx report``, ``convert``, ``reproduce``: what people read of results, and published tables."""

from __future__ import annotations

import sys

import typer

from bsx import jobs
from bsx.cli.options import Full, Output, TableFormat, command
from bsx.cli.output import progress_bar, say, write_shown
from bsx.jobs.reporting import ConvertRun, ReportRun, ReproduceRun, reproduce_kaster2021
from bsx.support.settings import set_fields


@command(ReportRun)
def report(settings: ReportRun) -> None:
    """Write a report: agreement with human judgments, factor profiles, robustness, ensembles, how to repeat it."""
    say(jobs.report(**set_fields(settings)))
    print(f"bsx: wrote {settings.output}", file=sys.stderr)


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
