"""``bsx explain``: which words are probably wrong, one number for each."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import say
from bsx.cli.options import OF_ONE_METRIC, Full, Output, one_spec, take, take_keywords, with_settings
from bsx.cli.output import form_of, progress_bar, write_result, write_shown
from bsx.jobs.settings.factors import ExplainSettings


@with_settings("metric", config=ExplainSettings, before="format")
@with_settings(*OF_ONE_METRIC, config=ScorerConfig)
def explain(
    data: Annotated[str, typer.Option(help="Table of texts: .tsv (unquoted), .csv, .jsonl or .parquet; - is stdin.")],
    reference_free: Annotated[
        bool, typer.Option("--reference-free", help="Hold candidates against their sources, not against references.")
    ] = False,
    candidate: Annotated[str, typer.Option(help="Column of candidates.")] = "candidate",
    reference: Annotated[list[str] | None, typer.Option(help="Column of references; repeatable. [reference]")] = None,
    source: Annotated[str | None, typer.Option(help="Column of sources. [source]")] = None,
    marks: Annotated[
        str | None,
        typer.Option(help="Column of human marks: 0 or 1 (an error) for each word of the candidate, to measure by."),
    ] = None,
    source_marks: Annotated[str | None, typer.Option(help="The same for the source.")] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metrics", help="Metric whose score is explained: NAME[:field=value,…].")
    ] = None,
    format: Annotated[
        Literal["text", "csv", "json", "jsonl", "latex", "markdown", "html"] | None,
        typer.Option(help="How to print: jsonl is one object a row. [what the name of -o ends in; text]"),
    ] = None,
    output: Output = None,
    full: Full = False,
    **settings: Any,
) -> None:
    """Tell how likely each word of a candidate, and of its source, is an error."""
    from bsx.analysis.present.forms import parts_of
    from bsx.analysis.present.parts import Answer
    from bsx.jobs.explaining import explain_table, json_lines

    explained = one_spec(metric)
    if explained is not None:
        settings["metric"] = explained
    how = take_keywords(settings, ExplainSettings)  # first: the scorer has an idf and a layer of its own
    with progress_bar() as report:
        found = explain_table(
            data,
            reference_free=reference_free,
            candidate=candidate,
            reference=reference or (),
            source=source,
            marks=marks,
            source_marks=source_marks,
            settings=take(settings, ScorerConfig),
            progress=report,
            **how,
        )
    if form_of(format, output) != "jsonl":
        write_shown(found, [data], format, output, full=full)
        return
    write_result(json_lines(found), output)
    say(part.text for part in parts_of(found) if isinstance(part, Answer) and found.marks)
    say(found.notes)
