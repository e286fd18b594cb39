"""``bsx report``, ``convert``: what people read of results."""

from __future__ import annotations

from bsx.analysis.report import run as reporting
from bsx.analysis.report.run import ConvertRun, ReportRun
from bsx.cli.options import command
from bsx.cli.output import say
from bsx.support.settings import set_fields


@command(ReportRun)
def report(settings: ReportRun) -> None:
    """Write a report: agreement with human judgments, factor profiles, robustness, ensembles, how to repeat it."""
    say(reporting.report(**set_fields(settings)))


@command(ConvertRun)
def convert(settings: ConvertRun) -> None:
    """Write a table in another format, or what a command printed as JSON in another form."""
    reporting.convert(**set_fields(settings))
