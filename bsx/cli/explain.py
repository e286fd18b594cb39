"""``bsx explain``: which words are probably wrong, one number for each."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import say
from bsx.cli.options import OF_ONE_METRIC, Output, one_spec, take, take_keywords, with_settings
from bsx.cli.output import form_of, progress_bar, write_result
from bsx.jobs.settings.factors import ExplainSettings

_ROWS = 500
"""Rows on a page; of more, the riskiest."""


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
        typer.Option(help="Column of people's marks: 0 or 1 (an error) for each word of the candidate, to measure by."),
    ] = None,
    source_marks: Annotated[str | None, typer.Option(help="The same for the source.")] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Metric whose score is explained: NAME[:field=value,…].")
    ] = None,
    format: Annotated[
        Literal["text", "json", "jsonl", "html", "markdown"] | None,
        typer.Option(help="How to print: jsonl is one object a row. [what the name of -o ends in; text]"),
    ] = None,
    output: Output = None,
    **settings: Any,
) -> None:
    """Tell how likely each word of a candidate, and of its source, is an error."""
    from bsx.jobs.word_risks import explain_table
    from bsx.support.json_text import to_json
    from bsx.support.provenance import provenance

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
    form = form_of(format, output)
    if form == "text":
        write_result(found.to_text(), output)
    elif form == "jsonl":
        write_result(found.to_jsonl(), output)
        if found.marks:
            say(found.marks_text().split("\n"))
    else:
        origin = provenance("explain", [data], {found.by: found.signature})
        content = {**found.to_dict(), "provenance": origin}
        if form == "json":
            write_result(to_json(content), output)
        else:
            from bsx.analysis.report.build import build_report
            from bsx.analysis.report.documents import Document, parse_document

            page = build_report(
                [Document(data, None, parse_document(content, data))], title="Risk of each word", examples=_ROWS
            )
            write_result(page.to_html() if form == "html" else page.to_markdown(), output)
    say(found.notes)
