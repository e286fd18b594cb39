"""``bsx report``: one file that a person reads; ``bsx reproduce``: published tables, recomputed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli.options import (
    OF_ONE_METRIC,
    Column,
    Full,
    Lower,
    Output,
    Segment,
    System,
    TableFormat,
    take,
    with_settings,
)
from bsx.cli.output import names, progress_bar, say, write_shown
from bsx.errors import InputError
from bsx.support.settings import refuse_idle


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
    column: Column = None,
    lower: Lower = None,
    human: Annotated[str | None, typer.Option(help="Column of human scores. [human, human_z or z]")] = None,
    system: System = None,
    segment: Segment = None,
    examples: Annotated[int, typer.Option(help="Worst examples to show, and to align, of each document.")] = 10,
    format: Annotated[
        Literal["html", "markdown"] | None, typer.Option(help="For a name that ends in neither .html nor .md.")
    ] = None,
) -> None:
    """Write a report: agreement with people, factor profiles, robustness, ensembles, segments, how to repeat it."""
    from bsx.analysis.report.documents import TableColumns
    from bsx.jobs.reporting import report as write

    columns = TableColumns(names(column), names(lower), system, segment, human)
    say(write(files, output, title=title, align=align, examples=examples, format=format, columns=columns))
    print(f"bsx: wrote {output}", file=sys.stderr)


@with_settings(*OF_ONE_METRIC, "model", "lang", config=ScorerConfig)
def reproduce(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            help="Tables: kaster2021, effeval, wmt22-auto, mteb, wmt17, demetr, eval4nlp, flickr8k, paws. kaster2021 "
            "alone is printed in the layout of that paper."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the data: a table's own folder, or the one above. Required."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All tables that the data allow; the others are listed.")
    ] = False,
    beside: Annotated[
        list[str] | None, typer.Option(help="Metrics to put beside the published ones, where there are texts.")
    ] = None,
    lex: Annotated[
        bool, typer.Option("--lex/--no-lex", help="kaster2021: recompute LEX and lexical overlaps from the texts.")
    ] = True,
    wmt17: Annotated[
        Path | None,
        typer.Option(
            help="kaster2021: table of WMT17's segment judgments, for Table 13; looked for in and beside --data."
        ),
    ] = None,
    full: Full = False,
    format: TableFormat = None,
    output: Output = None,
    **settings: Any,
) -> None:
    """Recompute published tables and print ours beside them; exit status 1 if a cell is off without a reason."""
    if bool(tables) == every:
        raise InputError("name tables, or give --all (bsx reproduce --help lists them)")
    if data is None:
        raise InputError("--data DIR is missing: the folder of the data")
    if not every and "kaster2021" not in (tables or ()):
        refuse_idle({"lex": lex, "wmt17": wmt17}, {"lex": True, "wmt17": None}, "without the table kaster2021")
    if tables == ["kaster2021"] and not beside:
        from bsx.analysis.published.kaster2021 import files
        from bsx.analysis.published.kaster2021 import reproduce as recompute

        paper = recompute(data, lex=lex, wmt17=wmt17)
        write_shown(paper, files(data), format, output, full=full)
        ok = paper.ok
    else:
        from bsx.jobs.reporting import reproduce as run

        with progress_bar() as report:
            found = run(
                None if every else tables,
                data,
                beside=names(beside),
                lex=lex,
                wmt17=wmt17,
                settings=take(settings, ScorerConfig),
                progress=report,
            )
        write_shown(found, None, format, output, full=full)
        ok = found.ok
    if not ok:
        raise typer.Exit(1)
