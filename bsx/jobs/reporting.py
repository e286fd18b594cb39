"""What people read: one file from tables of scores and documents of results, and published tables, recomputed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from benchmarks.published.harness import reproduce as recompute
from bsx.analysis.published import Reproduced
from bsx.analysis.report.build import build_report, has_examples
from bsx.analysis.report.documents import TableColumns, read_document
from bsx.analysis.report.result import which_format
from bsx.bertscore.config import ScorerConfig
from bsx.catalog.specs import split_specs
from bsx.data.output import atomic_path
from bsx.data.run import as_one_run
from bsx.errors import InputError
from bsx.jobs.metrics import open_metrics
from bsx.metrics.base import Metric
from bsx.metrics.results import MetricScores
from bsx.support.progress import Watch, told
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
    columns: TableColumns | None = None,
) -> list[str]:
    """Write a report: agreement with people, factor profiles, robustness, ensembles, segments, how to repeat it.

    Args:
        files: tables of scores, and documents of results.
        output: the report, ``.html`` or ``.md``.
        title: its heading.
        align: draw token alignments of the worst examples with this model.
        examples: worst examples to show, and to align, of each document.
        format: for a name that ends in neither .html nor .md.
        columns: which columns of the tables are what.

    Returns:
        What the reader should know.

    Raises:
        InputError: for a file that cannot be read, or a name whose format is not known.
        UnknownNameError: for a column that no table has.
    """
    form = which_format(output, format)
    real = [os.path.realpath(file) for file in files]
    twice = next((file for file, path in zip(files, real, strict=True) if real.count(path) > 1), None)
    if twice is not None:
        raise InputError(f"{twice}: is named twice")
    notes, draw = [], None
    with atomic_path(output) as temporary:  # an unwritable place is found before any work
        if columns is not None:
            columns.check(files)
        documents = [read_document(file, columns) for file in files]
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


def reproduce(
    names: Sequence[str] | None,
    data: Path | str,
    *,
    beside: Sequence[str] = (),
    lex: bool = True,
    wmt17: Path | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
) -> Reproduced:
    """Recompute published tables, see `bsx.analysis.reproduce`; metrics that a table needs are built once.

    Args:
        names: tables; None for all that the data allow.
        data: folder of the data.
        beside: specs of metrics to put beside the published ones, each perhaps several with commas between.
        lex: for kaster2021, recompute lexical overlaps from the texts.
        wmt17: for kaster2021, table of WMT17's segment judgments.
        settings: where and within what limits to run. A ``cache`` lets a run that was stopped go on.
        progress: called with a phase's name, what is done, and what there is in all; True draws bars.

    Raises:
        BsxError: as `bsx.analysis.reproduce`.
    """
    progress = told(progress)
    scorer = settings or ScorerConfig()
    built: dict[str, Metric] = {}
    signatures: dict[str, str] = {}

    def score(
        spec: str, candidates: Sequence[str], references: Sequence[str] | Sequence[Sequence[str]]
    ) -> MetricScores:
        if spec not in built:
            built[spec] = open_metrics([spec], scorer)[0]
        scored = built[spec].score(candidates, references, progress=progress)
        signatures[spec] = str(scored.signature)
        return scored

    asked = [spec for part in beside for spec in split_specs(part)]
    for spec in asked:
        built[spec] = open_metrics([spec], scorer)[0]
    result = recompute(names, data, score=score, beside=asked, lex=lex, wmt17=wmt17, progress=progress)
    if result.provenance is None:
        return result
    return replace(result, provenance=replace(result.provenance, signatures=signatures))
