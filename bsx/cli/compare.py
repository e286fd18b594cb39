"""``bsx compare``: are these systems different under this metric?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bsx.analysis.agreement.compare_settings import CompareSettings
from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import say
from bsx.cli.meta import LEFT_OUT, Format, Output
from bsx.cli.options import with_settings
from bsx.errors import InputError


@with_settings(config=CompareSettings)
@with_settings(*LEFT_OUT, config=ScorerConfig)
def compare(
    systems: Annotated[
        list[str], typer.Argument(help="Files of candidates, one per line, or columns of --data; the baseline first.")
    ],
    metric: Annotated[list[str], typer.Option(help="Metrics: NAME[:field=value,…][,NAME…]; see bsx metrics.")],
    references: Annotated[
        list[str] | None, typer.Option("-r", "--references", help="File of references, one per line; repeatable.")
    ] = None,
    sources: Annotated[str | None, typer.Option("-s", "--sources", help="File of sources, one per line.")] = None,
    data: Annotated[str | None, typer.Option(help="Table instead: .tsv (unquoted), .csv, .jsonl or .parquet.")] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="Reference column of --data; repeatable. [reference]")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Source column of --data. [source]")] = None,
    format: Format = "text",
    output: Output = None,
    **settings: Any,
) -> None:
    """Compare systems with the first one (or all pairs) by resampling segments, with the metric's own corpus score."""
    from bsx.analysis.agreement.compare import CompareResult, compare_systems
    from bsx.catalog.specs import split_specs
    from bsx.cli.output import render, write_result
    from bsx.cli.progress import progress_bar
    from bsx.jobs.score import Input, load_metrics, wanted_sides
    from bsx.metrics.paired import paired_scores
    from bsx.metrics.summary import flags, summarise
    from bsx.support.provenance import provenance
    from bsx.support.settings import build_config

    given_settings = {name: settings.pop(name) for name in CompareSettings.model_fields if name in settings}
    config = build_config(given_settings, CompareSettings)
    if len(systems) < 2:
        raise InputError("name at least two systems to compare")
    specs = [spec for part in metric for spec in split_specs(part)]
    files, columns = ([], systems) if data is not None else (systems, [])
    given = Input(files, references or [], sources, data, columns, reference or [], source, None)
    with given.open(wanted_sides(specs, settings), keep_rows=False) as corpus, progress_bar() as report:
        metrics, plan = load_metrics(specs, settings, corpus, lambda note: say([note]))
        prepared, totals, scored = paired_scores(metrics, corpus, plan=plan, progress=report)
    found = [
        compare_systems(
            paired.scores,
            metric=paired.metric.spec,
            aggregate=paired.aggregate,
            settings=config,
            higher_is_better=paired.metric.higher_is_better,
            signature=str(prepared.signature(i)),
        )
        for i, paired in enumerate(scored)
    ]
    read = [name for name in (data, *files, *(references or []), sources) if name is not None]
    signatures = {one.metric: one.signature for one in found if one.signature is not None}
    result = CompareResult(config, prepared.segments, tuple(found))
    write_result(render(result, format, lambda: provenance("compare", read, signatures)), output)
    notes = [note for one in metrics for note in one.notes]
    say([*notes, *flags(summarise(prepared, totals))])
