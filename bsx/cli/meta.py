"""``bsx meta``: does a metric agree with people?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.analysis.agreement.settings import MetaSettings
from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import say
from bsx.cli.options import with_settings
from bsx.encode.run_config import RunConfig
from bsx.errors import InputError

LEFT_OUT = set(ScorerConfig.model_fields) - {*RunConfig.model_fields, "model", "lang"}
Format = Annotated[Literal["text", "csv", "json", "latex"], typer.Option("--format", help="How to print the tables.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write the tables to this file instead.")]
_PICTURE = ".png, .svg or .pdf"


@with_settings(config=MetaSettings)
@with_settings(*LEFT_OUT, config=ScorerConfig)
def meta(
    human: Annotated[
        list[str], typer.Option(help="Column of human scores; with several --candidate columns one for each.")
    ],
    file: Annotated[
        str | None, typer.Argument(help="Table with scores: .tsv (unquoted), .csv, .jsonl, .parquet; - is stdin.")
    ] = None,
    column: Annotated[list[str] | None, typer.Option(help="Column with a metric's scores; repeatable.")] = None,
    lower: Annotated[
        list[str] | None, typer.Option(help="A --column of which lower is better: its sign is turned; repeatable.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="Column whose values are analysed apart and averaged.")] = None,
    system: Annotated[str | None, typer.Option(help="Column of systems.")] = None,
    segment: Annotated[str | None, typer.Option(help="Column of segments.")] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(help="Score --data with these metrics first: NAME[:field=value,…][,NAME…]; see bsx metrics."),
    ] = None,
    data: Annotated[str | None, typer.Option(help="Table with texts to --score.")] = None,
    candidate: Annotated[
        list[str] | None, typer.Option(help="Candidate column of --data; several are systems. [candidate]")
    ] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="Reference column of --data; repeatable. [reference]")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Source column of --data. [source]")] = None,
    scores_out: Annotated[Path | None, typer.Option(help="Keep the scores: .tsv, .csv, .jsonl or .parquet.")] = None,
    format: Format = "text",
    output: Output = None,
    plot: Annotated[Path | None, typer.Option(help=f"Draw correlations with intervals: {_PICTURE}.")] = None,
    plot_tests: Annotated[Path | None, typer.Option(help=f"Draw the matrix of tests: {_PICTURE}.")] = None,
    **settings: Any,
) -> None:
    """Correlate metrics with human scores: per group with intervals, the average, and significant differences."""
    from bsx.analysis.agreement.evaluate import meta_evaluate
    from bsx.cli.meta_inputs import Wanted, read_columns
    from bsx.cli.meta_score import score_columns, write_scores
    from bsx.cli.output import render, write_result
    from bsx.jobs.score import Input
    from bsx.support.provenance import provenance
    from bsx.support.settings import build_config

    how = {name: settings.pop(name) for name in MetaSettings.model_fields if name in settings}
    build_config(how, MetaSettings)  # before anything is read or scored
    for path in (plot, plot_tests):
        if path is not None:
            from bsx.data.picture import check_picture

            check_picture(path)
    wanted = Wanted(column or [], human, group, system, segment, lower or [])
    if score:
        if file is not None or data is None:
            raise InputError("--score needs the texts as --data FILE, and no other FILE")
        from bsx.catalog.specs import split_specs

        specs = [spec for part in score for spec in split_specs(part)]
        given = Input([], [], None, data, candidate or [], reference or [], source, None)
        columns = score_columns(specs, given, wanted, settings)
        if scores_out is not None:
            write_scores(columns, scores_out)
    else:
        if file is None or not column:
            raise InputError("give FILE and --column COL for each metric in it, or --score METRICS --data FILE")
        if data is not None or scores_out is not None or settings:
            name = next((n for n, v in (("data", data), ("scores-out", scores_out)) if v is not None), None)
            raise InputError(f"--{name or next(iter(settings)).replace('_', '-')} goes with --score")
        columns = read_columns(file, wanted)
    names = columns.wanted
    result = meta_evaluate(
        columns.values,
        metrics=names.metrics,
        human=names.human[0],
        group=names.group,
        system=names.system,
        segment=names.segment,
        lower=names.lower,
        **how,
    )
    if plot is not None or plot_tests is not None:
        from bsx.analysis.agreement.plots import draw_agreement, draw_significance

        if plot is not None:
            draw_agreement(result, plot)
        if plot_tests is not None:
            draw_significance(result, plot_tests)
    read = [str(path) for path in (file, data) if path is not None]
    write_result(render(result, format, lambda: provenance("meta", read, columns.signatures)), output)
    say([*columns.notes, *result.notes])
