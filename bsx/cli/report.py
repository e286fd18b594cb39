"""``bsx report``: one file that a person reads, from tables of scores and documents of results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from bsx.cli.messages import say


def report(
    files: Annotated[
        list[Path],
        typer.Argument(help="Tables of scores (.tsv, .csv, .jsonl, .parquet), and .json documents of --format json."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The report: .html or .md.")],
    title: Annotated[str, typer.Option(help="Heading of the report.")] = "Evaluation report",
    align: Annotated[
        str | None, typer.Option(help="Draw token alignments of the worst examples with this model.")
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="Worst examples to show, and to align, of each document.")] = 10,
    format: Annotated[
        Literal["html", "markdown"] | None, typer.Option(help="For a name that ends in neither .html nor .md.")
    ] = None,
) -> None:
    """Write a report: agreement with people, factor profiles, robustness, ensembles, segments, how to repeat it."""
    from bsx.jobs.reporting import report as write

    say(write(files, output, title=title, align=align, examples=examples, format=format))
    print(f"bsx: wrote {output}", file=sys.stderr)
