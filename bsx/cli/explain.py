"""``bsx explain``: which words are probably wrong."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from bsx.cli.options import Full, Output, command
from bsx.cli.output import form_of, progress_bar, say, write_result, write_shown
from bsx.jobs import explaining
from bsx.jobs.explaining import ExplainTableSettings
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
