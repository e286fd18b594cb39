"""What people read: one file from tables of scores and documents of results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from bsx.analysis.present.forms import ENDINGS, in_form
from bsx.analysis.report.build import ReportSettings, build_report, has_examples
from bsx.analysis.report.documents import TableColumns, parse_document, read_document
from bsx.analysis.report.result import which_format
from bsx.data.lines import NamedFile
from bsx.data.long import Segment, find_columns
from bsx.data.open import open_table
from bsx.data.output import ScoreTable, atomic_path, atomic_text, check_table, refuse_taken
from bsx.data.run import as_one_run
from bsx.data.sidecar import beside
from bsx.data.sources import AnyTable
from bsx.errors import InputError
from bsx.frames.settings import NEEDED, on_table
from bsx.support.provenance import provenance
from bsx.support.settings import BaseSettings, Option, part, set_fields, settled


class ReportRun(TableColumns, ReportSettings):
    """What a report is made of, and where it is written."""

    files: Annotated[
        Sequence[AnyTable],
        Field(description="Tables of scores (.tsv, .csv, .jsonl, .parquet), and .json documents of --format json."),
        Option(argument=True, whole=True),
    ]
    output: Annotated[Path | str, Field(description="The report: .html or .md."), Option(("-o",), writable=True)]
    align: Annotated[str | None, Field(description="Draw token alignments of the worst examples with this model.")] = (
        None
    )
    format: Annotated[
        Literal["html", "markdown"] | None, Field(description="For a name that ends in neither .html nor .md.")
    ] = None


class ConvertRun(BaseSettings):
    """A table or a document of results, and the file that it is written into in another form."""

    table: Annotated[
        AnyTable, Field(description="Table, or .json document of --format json."), Option(argument=True)
    ] = NEEDED
    output: Annotated[
        Path | str,
        Field(
            description="What to write: a table under another name, or of a document .tex, .md, .html, .csv or .txt."
        ),
        Option(("-o",), writable=True),
    ]
    segments: Annotated[
        Path | str | None,
        Field(description="Keep these segments of a table only: selection.json of bsx ui, with its notes."),
    ] = None
    segment: Segment = None


@on_table(ConvertRun)
@as_one_run
def convert(settings: ConvertRun) -> int:
    """Write a table in another format, what lies beside it too, or a document of results in another form.

    Args:
        settings: see `ConvertRun`.

    Returns:
        How many rows were written; of a document, 1.

    Raises:
        InputError: for a file that cannot be read, a name whose format is not known, or segments that are not there.
    """
    output = Path(settings.output)
    if str(document := settings.table).endswith(".json") and isinstance(document, str):
        for name in set_fields(settings, "table", "output"):
            raise InputError(f"{name} has no effect on a document: leave it out", setting=name)
        forms = {f".{ending}": form for form, ending in ENDINGS.items() if form != "json"}
        if output.suffix not in forms:
            raise InputError(f"cannot tell the format; the name must end in {', '.join(forms)}", file=output)
        with atomic_text(output) as stream:
            result = parse_document(NamedFile(document).json(), document)
            stream.write(in_form(result, forms[output.suffix], title=f"bsx {result.kind}").rstrip("\n") + "\n")
        return 1
    check_table(output)
    notes = None if settings.segments is None else kept_segments(settings.segments)
    table = open_table(settings.table)
    if notes is not None:
        refuse_taken(table.columns, ["note"])
    column = find_columns(table.columns, {"segment": settings.segment}, "segment")["segment"][:1]
    if (notes is None and settings.segment is not None) or (notes is not None and not column):
        columns = ", ".join(table.columns)
        why = "has no effect without segments" if notes is None else f"names the column of segments; it has {columns}"
        raise InputError(f"segment {why}", file=table.name, setting="segment")
    table.require(*column)
    beside_it, line = beside(table.name, ".signatures.json"), beside(table.name, ".signature.txt")
    types = table.types() if output.suffix == ".parquet" else None
    written, matched = 0, set()
    with ScoreTable(output, types) as made:
        for row in table.rows():
            name = "" if notes is None else row.name(column[0])
            if notes is None or name in notes:
                made.write({**row, **({} if notes is None else {"note": notes[name]})})
                written += 1
                matched.add(name)
        if missing := next((name for name in notes or () if name not in matched), None):
            raise InputError(f"has no segment {missing!r}, which {settings.segments} names", file=table.name)
        if not written:
            raise InputError("has no rows to write", file=table.name)
        made.sidecar = NamedFile(beside_it).json() if beside_it.is_file() else None
        made.signature = "\n".join(NamedFile(line).lines()).strip() if line.is_file() else None
    return written


def kept_segments(file: Path | str) -> dict[str, str]:
    """Return the segments of a selection with their notes."""
    content = NamedFile(file).json()
    segments = content.get("segments") if isinstance(content, dict) else None
    if not isinstance(segments, dict) or not all(isinstance(segment, dict) for segment in segments.values()):
        raise InputError("is no selection: it has no segments with their notes", file=file)
    if not segments:
        raise InputError("holds no segment: keep some first", file=file)
    return {name: str(segment.get("note") or "") for name, segment in segments.items()}


@settled(ReportRun)
@as_one_run
def report(settings: ReportRun) -> list[str]:
    """Write a report: agreement with human judgments, factor profiles, robustness, ensembles, how to repeat it.

    Args:
        settings: see `ReportRun`.

    Returns:
        What the reader should know.

    Raises:
        InputError: for a file that cannot be read, or a name whose format is not known.
        UnknownNameError: for a column that no table has.
    """
    output, files = Path(settings.output), [Path(file) for file in settings.files if isinstance(file, str)]
    form = which_format(output, settings.format)
    real = [os.path.realpath(file) for file in files]
    if twice := next((file for file, path in zip(files, real, strict=True) if real.count(path) > 1), None):
        raise InputError(f"{twice}: is named twice")
    notes, draw = [], None
    with atomic_path(output) as temporary:  # an unwritable place is found before any work
        settings.check(settings.files)
        documents = [read_document(file, settings) for file in settings.files]
        if settings.align is not None and any(has_examples(document) for document in documents):
            from bsx.bertscore.scorer import Scorer

            scorer = Scorer(model=settings.align)
            draw = lambda candidate, reference: scorer.align(candidate, reference).to_dict()  # noqa: E731
        elif settings.align is not None:
            notes.append("no document has examples to align")
        shown = part(settings, ReportSettings)
        made = build_report(documents, **shown, align=draw, origin=provenance("report", files))
        made.save(temporary, format=form)
    return notes
