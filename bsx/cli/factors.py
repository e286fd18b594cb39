"""``bsx factors``: how alike sentence pairs are in meaning, structure, words and word forms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.analysis.factors.base import Resources
from bsx.cli.messages import say
from bsx.cli.options import Format, specs, take, take_keywords, with_settings
from bsx.cli.output import progress_bar, show
from bsx.jobs.settings import FactorSettings


@with_settings("progress", config=Resources, before="format")
@with_settings(config=FactorSettings, before="format")
def factors(
    file: Annotated[Path, typer.Argument(help="Sentence pairs: .tsv (unquoted), .csv, .jsonl or .parquet.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Table to write: all columns and one a factor.", writable=True)
    ],
    factor: Annotated[
        list[str] | None,
        typer.Option(
            help="Compute these factors: NAME[:field=value,…][,NAME…]. Repeatable.",
            show_default="those of syn,lex,mor for which parser and vectors are here",
        ),
    ] = None,
    format: Format = "text",
    **settings: Any,
) -> None:
    """Score sentence pairs by linguistic factors; `bsx disentangle` explains metrics by them."""
    from bsx.jobs.factoring import factors as run

    with progress_bar() as report:
        resources = take({**settings, "progress": report}, Resources)
        found = run(file, output, specs(factor) or None, resources=resources, **take_keywords(settings, FactorSettings))
    say(found.notes)
    show(found.summary, found.to_text, format)
