"""``bsx compare``: are these systems different under this metric?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bsx.analysis.agreement.compare_settings import CompareSettings
from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import say
from bsx.cli.meta import Format, Output
from bsx.cli.options import OF_ONE_METRIC, specs, take, with_settings
from bsx.cli.output import progress_bar
from bsx.support.settings import set_fields


@with_settings(config=CompareSettings)
@with_settings(*OF_ONE_METRIC, config=ScorerConfig)
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
    from bsx.cli.output import write_tables
    from bsx.jobs.comparing import compare as run
    from bsx.jobs.score import Input
    from bsx.support.provenance import provenance

    how = take(settings, CompareSettings)
    files, columns = ([], systems) if data is not None else (systems, [])
    with progress_bar() as report:
        found = run(
            specs(metric),
            Input(files, references or [], sources, data, columns, reference or [], source, None),
            settings=take(settings, ScorerConfig),
            progress=report,
            **set_fields(how),
        )
    write_tables(found.result, format, lambda: provenance("compare", found.files, found.signatures), output)
    say(found.notes)
