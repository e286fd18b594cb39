"""Which linguistic factors explain metrics: regressions on columns of a table, with tests and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.analysis.disentangle.errors import BINDING, CROSSED, TEXTS, compare_coefficients
from bsx.analysis.disentangle.fit import disentangle as regress
from bsx.analysis.disentangle.fit import with_repeats
from bsx.analysis.disentangle.result import DisentangleResult, NestedTest
from bsx.analysis.disentangle.settings import (
    DETAIL,
    ComparisonSettings,
    DisentangleSettings,
    ErrorSettings,
    RegressionSettings,
)
from bsx.analysis.disentangle.variants import linearity_checks, nested_test
from bsx.catalog.languages import language_code
from bsx.data.documents import DOCUMENTS, one_document, refuse_single, seem_together
from bsx.data.frame import PAIR, Frame
from bsx.data.long import SEGMENTS, ColumnNames, DocumentColumn, Scores, together
from bsx.data.sidecar import factor_columns
from bsx.data.sources import AnyTable
from bsx.errors import InputError
from bsx.frames.open import open_frame
from bsx.frames.settings import (
    FORMATS,
    MetricSettings,
    TableSettings,
    TextColumns,
    Watched,
    on_table,
)
from bsx.support.settings import Option, part


class DisentangleRun(DisentangleSettings, Watched, MetricSettings, TextColumns, DocumentColumn, TableSettings):
    """Which columns of a table are explained by which, and how."""

    table: Annotated[
        AnyTable | None, Field(description=f"Table of scores and factors: {FORMATS}."), Option(argument=True)
    ] = None
    columns: Scores = ()
    factor_columns: Annotated[
        ColumnNames, Field(description="Columns of factors to explain them with. [those that bsx factors wrote]")
    ] = ()
    lang: Annotated[
        str | None,
        Field(
            description="Language of the texts; rows of a column lp into another are left out. It chooses the model of "
            "metrics that are computed."
        ),
        Option(("-l",)),
    ] = None
    add: Annotated[
        Sequence[str],
        Field(description="Test whether these factors add anything to the others: syn,lex each, syn+lex together."),
    ] = ()
    checks: Annotated[bool, Field(description="Test for bends and for products of factors."), DETAIL] = False
    compare: Annotated[Sequence[str], Field(description="Two metrics A,B whose coefficients to compare.")] = ()


@on_table(DisentangleRun)
def disentangle(settings: DisentangleRun) -> DisentangleResult:
    """Regress metric scores on linguistic factors: coefficients, intervals, explained variance and its shares.

    Args:
        settings: see `DisentangleRun`.

    Raises:
        InputError: for a table that cannot be used, or a metric to compare that is not there.
    """
    frame, settings = open_frame(settings, "lang", chosen=_of_language)
    columns, factors, group = frame.metrics, list(settings.factor_columns), settings.group
    cluster, repeats = settings.cluster, settings.repeats
    named = {usual: frame.column(role) for usual, role in _USUAL.items() if role in frame.named}
    named |= {CROSSED: frame.column("system")}
    labels = [name for name in dict.fromkeys((cluster, group, *settings.within)) if name is not None]
    measured = [name for names in repeats.values() for name in names]
    controls = [name for name in settings.controls if name != "length" or name in frame.table.columns]
    numbers = [*dict.fromkeys([*columns, *(name for name in factors if name not in repeats), *measured, *controls])]
    if settings.document is not None and cluster is not None:
        raise InputError("document has no effect with cluster: leave out one of them", setting="document")
    if settings.document in numbers:
        told = f"document: the column {settings.document!r} is named twice"
        raise InputError(told, file=frame.name, setting="document")
    binding = [name for name in BINDING if name in frame.table.columns and name not in (*numbers, *labels)]
    binding = [name for name in binding if settings.segment is None or name not in SEGMENTS]
    binding = [name for name in binding if settings.document is None or name not in DOCUMENTS]
    keys = dict.fromkeys([*binding, *(name for name in named.values() if name is not None and name not in labels)])
    table = frame.read(numbers, labels, keys=list(keys), alike=TEXTS)
    frame.refuse_apart(table)
    table |= {usual: table[name] for usual, name in named.items() if name is not None}
    document = next((name for name in (settings.document, *DOCUMENTS) if name is not None and name in table), None)
    notes, system = list(frame.notes), frame.column("system")
    if settings.document is not None:
        refuse_single(list(map(str, table[settings.document])), settings.document, frame.name)
    elif document is not None and cluster is None and any(table[document]):
        one = one_document(list(map(str, table[document])))
        notes += one
        table = {name: column for name, column in table.items() if not (one and name in binding and name in DOCUMENTS)}
    segment = next((name for name in SEGMENTS if name in table), None)
    if segment and document is None and cluster is None:
        note = seem_together(list(map(str, table[segment])), np.asarray(table[columns[0]], dtype=np.float64))
        notes += [note] if note else []
    if system is not None and system not in (group, *settings.within):
        notes += together(list(map(str, table[system])), system, f"group {system} fits each by itself")

    results = regress(table, columns, factors, **part(settings, DisentangleSettings))
    repeated = with_repeats(table, repeats)
    tests: dict[str, tuple[NestedTest, ...]] = {}
    for name in columns if settings.add or settings.checks else ():
        made = []
        for text in settings.add:
            added = [text] if text in factors else [name.strip() for name in text.split("+")]
            base = [factor for factor in factors if factor not in added]
            made.append(nested_test(repeated, name, base, added, **part(settings, RegressionSettings)))
        if settings.checks:
            made += linearity_checks(repeated, name, factors, **part(settings, ErrorSettings)).values()
        if made:
            tests[name] = tuple(made)
    comparison, pair = None, settings.compare
    if pair:
        if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(columns):
            raise InputError(
                f"compare: {','.join(pair)}: name two of the metrics {', '.join(columns)}, as A,B", setting="compare"
            )
        how = part(settings, ComparisonSettings)
        if settings.resamples:
            how["resamples"] = settings.resamples
        comparison = compare_coefficients(repeated, pair[0], pair[1], factors, **how)
    return replace(
        results,
        tests=tests,
        comparison=comparison,
        seed=settings.seed,
        signatures=dict(frame.signatures),
        notes=tuple(notes),
    )


_USUAL = {SEGMENTS[0]: "segment", DOCUMENTS[0]: "document"}


def _of_language(frame: Frame, settings: DisentangleRun) -> tuple[Frame, DisentangleRun]:
    """Find the factors, and leave out rows of pairs into another language."""
    factors = list(settings.factor_columns) or factor_columns(frame.name, frame.table.columns)
    if not factors:
        raise InputError(
            f"factor_columns names those of factors; it has {', '.join(frame.table.columns)}",
            file=frame.name,
            setting="factor_columns",
        )
    if frame.column("system") in (*settings.columns, *factors):
        frame = replace(frame, roles={**frame.roles, "system": []})
    settings = settings.model_copy(update={"factor_columns": factors})
    if settings.lang in (None, "auto") or (settings.metrics and PAIR not in frame.table.columns):
        return frame, settings
    into = language_code(str(settings.lang))
    pairs = frame.read([], [PAIR])[PAIR]
    kept = [place for place, pair in enumerate(pairs) if str(pair).rpartition("-")[2] == into]
    if not kept:
        there = ", ".join(sorted(set(map(str, pairs))))
        raise InputError(f"no row of column 'lp' goes into {into}; there are {there}", file=frame.name)
    return frame.only(kept), settings
