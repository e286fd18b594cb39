"""``bsx card``, ``report``, ``convert``: what people read of a metric, and of results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bsx import jobs
from bsx.cli.options import Full, Output, TableFormat, command
from bsx.cli.output import FORMS, check_ending, progress_bar, say, write_shown
from bsx.errors import InputError
from bsx.jobs.cards.inputs import CardSettings
from bsx.jobs.reporting import ConvertRun, ReportRun
from bsx.support.settings import set_fields

_OFTEN_CARD = """
    tables columns lower human system segment document limit parts model lang metrics
"""


@command(CardSettings, often=_OFTEN_CARD)
def card(
    settings: CardSettings,
    side_by_side: Annotated[
        bool,
        typer.Option("--side-by-side", help="Lay cards side by side, with clusters; tables are their .json files."),
    ] = False,
    full: Full = False,
    format: TableFormat = None,
    output: Output = None,
) -> None:
    """Measure all that can be measured of metrics: one card each, step by step, with all tests corrected together."""
    if side_by_side:
        from bsx.analysis.cards.leaderboard import compare_cards
        from bsx.analysis.cards.result import read_cards

        for name in set_fields(settings, "tables", "alpha"):
            raise InputError(f"{name} has no effect with side_by_side, which reads cards: leave it out", setting=name)
        board = compare_cards(read_cards(settings.tables), alpha=settings.alpha)
        write_shown(board, settings.tables, format, output, full=full)
    else:
        from bsx.jobs.cards.run import metric_card

        try:
            with progress_bar() as watch:
                run = metric_card(**set_fields(settings), progress=watch)
        except KeyboardInterrupt:
            say(["steps that are done are kept; the same command goes on with the others"])
            raise
        write_shown(run.cards[0] if len(run.cards) == 1 else run, None, format, output, full=full)
    if output is not None:
        print(f"bsx: wrote {output}", file=sys.stderr)


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
        check_ending(output, {*FORMS.values()}, format, is_file=True)
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
