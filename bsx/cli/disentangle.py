"""``bsx disentangle``: which linguistic factors explain a metric's scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from bsx.cli.messages import say


def disentangle(
    file: Annotated[Path, typer.Argument(help="Table of scores and factors: .tsv (unquoted), .csv, .jsonl, .parquet.")],
    column: Annotated[list[str], typer.Option(help="Columns of metrics' scores, separated by commas; repeatable.")],
    factors: Annotated[list[str], typer.Option(help="Columns of factors to explain them with, likewise.")],
    se: Annotated[Literal["classic", "hc3", "cluster"], typer.Option(help="Kind of standard errors.")] = "classic",
    cluster: Annotated[str | None, typer.Option(help="Column of clusters, for --se cluster.")] = None,
    group: Annotated[str | None, typer.Option(help="Column of groups to fit one by one and compare.")] = None,
    lang: Annotated[
        str | None, typer.Option("-l", "--lang", help="Keep rows of a column lp that go into this language.")
    ] = None,
    intercept: Annotated[bool, typer.Option(help="Fit an intercept.")] = False,
    bootstrap: Annotated[int, typer.Option(help="Resamples for bootstrap intervals; 0 for none.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the resamples.")] = 1,
    confidence: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    correction: Annotated[
        Literal["none", "holm", "bh"], typer.Option(help="Correct p for the number of coefficients.")
    ] = "none",
    nan: Annotated[
        Literal["error", "omit"], typer.Option(help="Refuse missing numbers, or leave such rows out.")
    ] = "error",
    add: Annotated[
        list[str] | None, typer.Option(help="Test whether these factors add anything to the others; repeatable.")
    ] = None,
    checks: Annotated[bool, typer.Option("--checks", help="Test for bends and for products of factors.")] = False,
    compare: Annotated[str | None, typer.Option(help="Two metrics A,B whose coefficients to compare.")] = None,
    format: Annotated[Literal["text", "json", "csv", "latex", "markdown"], typer.Option(help="How to print.")] = "text",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for all forms of the result.", writable=True, file_okay=False),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw pictures into the folder too.")] = False,
) -> None:
    """Regress metric scores on linguistic factors: coefficients, intervals, explained variance and its shares."""
    from bsx.cli.output import names, split_names
    from bsx.errors import InputError
    from bsx.jobs.explaining import disentangle as run
    from bsx.support.provenance import provenance

    if plot and output is None:
        raise InputError("--plot draws into a folder: say which with -o DIR")
    a, _, b = (part.strip() for part in (compare or "").partition(","))
    found = run(
        file,
        names(column),
        names(factors),
        se=se,
        cluster=cluster,
        group=group,
        lang=lang,
        intercept=intercept,
        bootstrap=bootstrap,
        seed=seed,
        confidence=confidence,
        correction=correction,
        nan=nan,
        add=[split_names(added) for added in add or []],
        checks=checks,
        compare=None if compare is None else (a, b),
    )
    origin = provenance("disentangle", [file], found.signatures)
    if output is not None:
        found.save(output, origin, plot=plot)
    if format != "text":
        say(notice.message for notice in found.result.warnings)
    print(found.form(format, origin), end="")
