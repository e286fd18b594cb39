"""``bsx explain``, which words are probably wrong, and ``bsx spans``, how well such spans find those people marked."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from bsx.cli.options import Full, Output, Plot, TableFormat, command
from bsx.cli.output import form_of, progress_bar, say, write_result, write_shown
from bsx.jobs import explaining
from bsx.jobs.explaining import ExplainTableSettings
from bsx.jobs.spans import judging
from bsx.jobs.spans.judging import SpansRun
from bsx.support.settings import set_fields

_OFTEN = "table candidate reference source reference_free metrics model lang"


@command(ExplainTableSettings, often=_OFTEN)
def explain(
    settings: ExplainTableSettings,
    format: Annotated[
        Literal["text", "csv", "json", "jsonl", "latex", "markdown", "html", "xlsx"] | None,
        typer.Option(help="How to print: jsonl is one object a row. [what the name of -o ends in; text]"),
    ] = None,
    output: Output = None,
    full: Full = False,
) -> None:
    """Tell how likely each word of a candidate, and of its source, is an error."""
    from bsx.analysis.present.forms import parts_of
    from bsx.analysis.present.parts import Answer

    with progress_bar() as report:
        result = explaining.explain_table(**set_fields(settings), progress=report)
    if form_of(format, output) != "jsonl":
        write_shown(result, [settings.table], format, output, full=full)
        return
    write_result(explaining.json_lines(result), output)
    say(part.text for part in parts_of(result) if isinstance(part, Answer) and result.marks)
    say(result.notes)


@command(SpansRun, often="table predicted texts judged gold as_predicted threshold credit side scores_out")
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
