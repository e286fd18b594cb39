"""Predicted error spans, held against those that people marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from bsx.analysis.spans.judge import judge_spans
from bsx.analysis.spans.layouts import ERRORS_ONLY, WITHOUT_TEXTS
from bsx.analysis.spans.marked import MarkedOutput
from bsx.analysis.spans.result import SpanResult
from bsx.analysis.spans.settings import SpanSettings
from bsx.analysis.spans.table import LAYOUTS, SpanTable, read_spans, span_scores
from bsx.data.output import ScoreTable, check_table
from bsx.errors import InputError
from bsx.support.settings import BaseSettings, Option, part, settled

_LAYOUTS = ", ".join(LAYOUTS)


class SpanFiles(BaseSettings):
    """Where spans stand, and how they are read."""

    table: Annotated[
        str,
        Field(
            description="Errors that people marked: a table (.tsv, .csv, .jsonl, .parquet or .xlsx) or a JSON document."
        ),
        Option(argument=True),
    ]
    predicted: Annotated[
        Sequence[str],
        Field(description="Files of predicted errors, each one prediction, called as the file."),
        Option(("-p",), whole=True),
    ] = ()
    texts: Annotated[
        str | None, Field(description="Table of the outputs' texts, for layouts without: system, segment, candidate.")
    ] = None
    judged: Annotated[
        str | None,
        Field(description="Table of all outputs with human judgments, for layouts that list errors only."),
    ] = None
    layout: Annotated[
        str | None, Field(description=f"Layout of the people's errors: {_LAYOUTS}. [told by the columns]")
    ] = None
    predicted_layout: Annotated[str | None, Field(description="The same of the predictions. [each by its columns]")] = (
        None
    )
    severities: Annotated[
        Sequence[str], Field(description="What further severities count as: NAME=minor, major, neutral or undecided.")
    ] = ()
    scores_out: Annotated[
        Path | str | None,
        Field(
            description="Write scores made of the errors, for bsx error-free and meta: a row an output, 0 without an "
            "error, minus 1 for a minor and 5 for a major one."
        ),
        Option(writable=True),
    ] = None
    skip_malformed: Annotated[bool, Field(description="Leave malformed rows out, and count them.")] = False

    @field_validator("table", "texts", "judged", mode="before")
    @classmethod
    def _path_as_text(cls, value: object) -> object:
        return str(value) if isinstance(value, Path) else value

    @field_validator("layout", "predicted_layout")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None and value not in LAYOUTS:
            raise ValueError(f"must be one of {_LAYOUTS}")
        return value


class SpansRun(SpanFiles, SpanSettings):
    """Settings of `spans_found`."""


@settled(SpansRun)
def spans_found(settings: SpansRun) -> SpanResult:
    """Measure how well predicted error spans find those that people marked; see `bsx.analysis.judge_spans`.

    Args:
        settings: see `SpansRun`.

    Raises:
        InputError: naming file, line and value of what cannot be read, or that settings do not fit together.
        UnknownNameError: for an annotator or column that is not there.
    """
    out = None if settings.scores_out is None else Path(settings.scores_out)
    if out is not None:
        check_table(out)
    if not settings.predicted and not settings.as_predicted:
        raise InputError(
            "there is nothing to judge: name files with predicted, or annotators of the table with as_predicted",
            setting="predicted",
        )
    given = {"severities": settings.severities, "skip_malformed": settings.skip_malformed}
    beside = {"texts": settings.texts, "judged": settings.judged}
    marked = read_spans(settings.table, layout=settings.layout, **beside, **given)  # type: ignore[arg-type]
    predicted: dict[str, SpanTable] = {}
    for path in settings.predicted:
        read = read_spans(
            path,
            layout=settings.predicted_layout,
            texts=settings.texts,
            judged=settings.judged,
            **given,  # type: ignore[arg-type]
        )
        if read.name in predicted:
            raise InputError(f"two predictions are called {read.name!r}: rename a file", file=path)
        predicted[read.name] = read
    layouts = {marked.layout, *(one.layout for one in predicted.values())}
    for name, using in (("texts", WITHOUT_TEXTS), ("judged", ERRORS_ONLY)):
        if beside[name] is not None and layouts.isdisjoint(using):
            raise InputError(f"{name} has no effect: it is for the layouts {', '.join(using)}", setting=name)
    result = judge_spans(marked, predicted, **part(settings, SpanSettings))
    if out is not None:
        rows = span_scores(
            [marked, *(replace(table, outputs=_called(name, table)) for name, table in predicted.items())]
        )
        kinds = {name: "double" for name in rows[0] if name not in ("system", "document", "segment")}
        with ScoreTable(out, kinds) as written:
            for row in rows:
                written.write(row)
    return result


def _called(name: str, table: SpanTable) -> tuple[MarkedOutput, ...]:
    """Return the outputs of a prediction as marked by one of its name."""
    return tuple(replace(one, annotator=name) for one in table.outputs)
