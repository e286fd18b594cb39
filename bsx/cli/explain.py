"""``bsx spans``: how well predicted error spans find those that people marked."""

from __future__ import annotations

from bsx.cli.options import Full, Output, Plot, TableFormat, command
from bsx.cli.output import write_shown
from bsx.jobs.spans import judging
from bsx.jobs.spans.judging import SpansRun
from bsx.support.settings import set_fields


@command(SpansRun, often="table predicted texts judged gold as_predicted credit side scores_out")
def spans(
    settings: SpansRun, plot: Plot = None, format: TableFormat = None, output: Output = None, full: Full = False
) -> None:
    """Measure how well predicted error spans find those that people marked: precision, recall, F1, and the ceiling."""
    from bsx.data.output import check_picture

    if plot is not None:
        check_picture(plot)
    result = judging.spans_found(**set_fields(settings))
    if plot is not None:
        result.plot(plot)
    beside = [path for path in (settings.texts, settings.judged) if path is not None]
    write_shown(result, [settings.table, *settings.predicted, *beside], format, output, full=full)
