"""``bsx factors``: how alike sentence pairs are, factor by factor; ``bsx intervene``: what moving one factor costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.analysis.factors.base import Resources
from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import say, spelled
from bsx.cli.options import OF_ONE_METRIC, Format, Full, Output, TableFormat, specs, take, take_keywords, with_settings
from bsx.cli.output import names, progress_bar, show, write_shown
from bsx.jobs.settings.factors import FactorSettings, InterveneSettings


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


@with_settings(config=InterveneSettings)
@with_settings(*OF_ONE_METRIC, config=ScorerConfig)
def intervene(
    file: Annotated[str, typer.Argument(help="Table of texts: .tsv (unquoted), .csv, .jsonl, .parquet; - is stdin.")],
    metric: Annotated[
        list[str],
        typer.Option(help="Compute these metrics: NAME[:field=value,…][,NAME…]; see bsx metrics. Repeatable."),
    ],
    factor: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure these factors: NAME[:field=value,…][,NAME…]. Repeatable.",
            show_default="lex, syn with a parser, mor with vectors",
        ),
    ] = None,
    edit: Annotated[
        str,
        typer.Option(help="Perturbations that aim at one factor, separated by commas; all: those that can be made."),
    ] = "all",
    save: Annotated[
        Path | None,
        typer.Option(help="Keep every edited text, what it moved and what that cost: .tsv, .csv, …", writable=True),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw both sides' coefficients: .png, .svg or .pdf.", writable=True)
    ] = None,
    format: TableFormat = None,
    output: Output = None,
    full: Full = False,
    **settings: Any,
) -> None:
    """Edit texts factor by factor and explain how far scores fall, beside what scores go with as they come."""
    from bsx.data.output import check_picture
    from bsx.jobs.intervening import intervene as run

    if plot is not None:
        check_picture(plot)
    how = take_keywords(settings, InterveneSettings)
    with progress_bar() as report:
        found = run(
            file,
            specs(metric),
            edits=None if edit == "all" else names([edit]),
            factors=specs(factor) or None,
            save=save,
            settings=take(settings, ScorerConfig),
            progress=report,
            **how,
        )
    if plot is not None:
        found.plot(plot)
    left_out = {name: spelled(why) for name, why in found.left_out.items()}
    found = replace(found, left_out=left_out, notes=tuple(map(spelled, found.notes)))
    read: list[str | Path] = [file, *(path for path in (how["parses"], how["treebank"]) if path is not None)]
    write_shown(found, read, format, output, full=full)
