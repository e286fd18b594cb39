"""``bsx reproduce``: the published tables of a paper, from its published scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from bsx.cli.messages import spelled


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
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print.")] = "text",
) -> None:
    """Recompute a paper's tables, print them beside the printed ones; exit status 1 if they are not met."""
    from bsx.analysis.published.kaster2021 import as_text
    from bsx.analysis.published.kaster2021 import reproduce as recompute

    result = recompute(data, lex=lex, wmt17=wmt17)
    print(json.dumps(result.to_dict(), ensure_ascii=False) if format == "json" else spelled(as_text(result)))
    if not result.ok:
        raise typer.Exit(1)
