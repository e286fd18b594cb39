"""One file that a person reads, from tables of scores and documents of results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from bsx.analysis.report.build import build_report, has_examples
from bsx.analysis.report.documents import read_document
from bsx.analysis.report.result import which_format
from bsx.data.output import atomic_path
from bsx.data.run import as_one_run
from bsx.errors import InputError
from bsx.support.provenance import provenance
from bsx.support.settings import in_range


@in_range
@as_one_run
def report(
    files: Sequence[Path],
    output: Path,
    *,
    title: str = "Evaluation report",
    align: str | None = None,
    examples: int = 10,
    format: Literal["html", "markdown"] | None = None,
) -> list[str]:
    """Write a report: agreement with people, factor profiles, robustness, ensembles, segments, how to repeat it.

    Args:
        files: tables of scores, and documents of results.
        output: the report, ``.html`` or ``.md``.
        title: its heading.
        align: draw token alignments of the worst examples with this model.
        examples: worst examples to show, and to align, of each document.
        format: for a name that ends in neither .html nor .md.

    Returns:
        What the reader should know.

    Raises:
        InputError: for a file that cannot be read, or a name whose format is not known.
    """
    form = which_format(output, format)
    twice = next((file for file in files if [one.resolve() for one in files].count(file.resolve()) > 1), None)
    if twice is not None:
        raise InputError(f"{twice}: is named twice")
    notes, draw = [], None
    with atomic_path(output) as temporary:  # an unwritable place is found before any work
        documents = [read_document(file) for file in files]
        if align is not None and any(has_examples(document) for document in documents):
            from bsx.bertscore.scorer import Scorer

            scorer = Scorer(model=align)
            draw = lambda candidate, reference: scorer.align(candidate, reference).to_dict()  # noqa: E731
        elif align is not None:
            notes.append("no document has examples to align")
        origin = provenance("report", files)
        made = build_report(documents, title=title, align=draw, examples=examples, origin=origin)
        made.save(temporary, format=form)
    return notes
