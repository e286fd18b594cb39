"""``bsx report``: one file that a person reads, from tables of scores and documents of results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer


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
    from bsx.analysis.report import build_report, read_document
    from bsx.analysis.report.build import has_examples
    from bsx.analysis.report.result import which_format
    from bsx.data.output import atomic_path
    from bsx.support.provenance import provenance

    which_format(output, format)
    with atomic_path(output) as temporary:  # an unwritable place is found before any work
        documents = [read_document(file) for file in files]
        function = None
        if align is not None and any(has_examples(document) for document in documents):
            function = _aligner(align)
        elif align is not None:
            print("bsx: note: no document has examples to align", file=sys.stderr)
        origin = provenance("report", files)
        made = build_report(documents, title=title, align=function, examples=examples, origin=origin)
        made.save(temporary, format=which_format(output, format))
    print(f"bsx: wrote {output}", file=sys.stderr)


def _aligner(model: str) -> Callable[[str, str], dict[str, Any]]:
    from bsx.bertscore.scorer import Scorer

    scorer = Scorer(model=model)
    return lambda candidate, reference: scorer.align(candidate, reference).to_dict()
