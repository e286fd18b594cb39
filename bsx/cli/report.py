"""``bsx report``: one file that a person reads; ``bsx reproduce``: a paper's tables, from its published scores."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from bsx.cli.messages import say, spelled
from bsx.cli.options import Format
from bsx.cli.output import show


def report(
    files: Annotated[
        list[Path],
        typer.Argument(help="Tables of scores (.tsv, .csv, .jsonl, .parquet), and .json documents of --format json."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The report: .html or .md.", writable=True)],
    title: Annotated[str, typer.Option(help="Heading of the report.")] = "Evaluation report",
    align: Annotated[
        str | None, typer.Option(help="Draw token alignments of the worst examples with this model.")
    ] = None,
    examples: Annotated[int, typer.Option(help="Worst examples to show, and to align, of each document.")] = 10,
    format: Annotated[
        Literal["html", "markdown"] | None, typer.Option(help="For a name that ends in neither .html nor .md.")
    ] = None,
) -> None:
    """Write a report: agreement with people, factor profiles, robustness, ensembles, segments, how to repeat it."""
    from bsx.jobs.reporting import report as write

    say(write(files, output, title=title, align=align, examples=examples, format=format))
    print(f"bsx: wrote {output}", file=sys.stderr)


def reproduce(
    paper: Annotated[Literal["kaster2021"], typer.Argument(help="Which paper: Kaster, Zhao & Eger 2021.")],
    data: Annotated[
        Path,
        typer.Option(help="Checkout of the authors' repository, or a folder with wmt-en.tsv, sts-en.tsv and so on."),
    ],
    lex: Annotated[bool, typer.Option("--lex/--no-lex", help="Recompute LEX and lexical overlaps from the texts.")] = (
        True
    ),
    wmt17: Annotated[
        Path | None,
        typer.Option(help="Table of WMT17's segment judgments, for Table 13; looked for in and beside --data."),
    ] = None,
    format: Format = "text",
) -> None:
    """Recompute a paper's tables, print them beside the printed ones; exit status 1 if they are not met."""
    from bsx.analysis.published.kaster2021 import reproduce as recompute

    result = recompute(data, lex=lex, wmt17=wmt17)
    show(result.to_dict(), lambda: spelled(result.to_text()), format)
    if not result.ok:
        raise typer.Exit(1)
