"""Which linguistic factors explain metrics: regressions on columns of a table, with tests and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.analysis.disentangling.bootstrap import compare_coefficients
from bsx.analysis.disentangling.checks import linearity_checks, nested_test
from bsx.analysis.disentangling.fit import disentangle as regress
from bsx.analysis.disentangling.noise import with_repeats
from bsx.analysis.disentangling.result import DisentangleResult, NestedTest
from bsx.analysis.disentangling.settings import (
    ComparisonSettings,
    DisentangleSettings,
    ErrorSettings,
    RegressionSettings,
)
from bsx.analysis.disentangling.standard_errors import BINDING, CROSSED, SEGMENTS, TEXTS
from bsx.catalog.languages import language_code
from bsx.data.columns import read_columns
from bsx.data.documents import DOCUMENTS, refuse_single, seem_together
from bsx.data.formats.memory import AnyTable
from bsx.data.long import SYSTEM, ColumnNames, DocumentColumn, Scores, together
from bsx.data.sidecar import factor_columns, known_signatures
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.jobs.tables import (
    FORMATS,
    ComputedScores,
    TableSettings,
    Watched,
    known_columns,
    on_table,
    score_table,
)
from bsx.support.settings import Option, part


class DisentangleRun(DisentangleSettings, Watched, ComputedScores, DocumentColumn, TableSettings):
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
    checks: Annotated[bool, Field(description="Test for bends and for products of factors.")] = False
    compare: Annotated[Sequence[str], Field(description="Two metrics A,B whose coefficients to compare.")] = ()


@on_table(DisentangleRun)
def disentangle(settings: DisentangleRun) -> DisentangleResult:
    """Regress metric scores on linguistic factors: coefficients, intervals, explained variance and its shares.

    It reads a file; `bsx.analysis.disentangle` works on columns.

    Args:
        settings: see `DisentangleRun`.

    Raises:
        InputError: for a table that cannot be used, or a metric to compare that is not there.
    """
    if settings.table is None:
        raise InputError("table: name a table of scores and factors", setting="table")
    opened = Table(settings.table)
    columns = list(settings.columns) or ([] if settings.metrics else known_columns(opened, ()))
    factors = list(settings.factor_columns) or factor_columns(opened.name, opened.columns)
    if not columns and not settings.metrics:
        raise InputError(
            f"columns names those of scores; it has {', '.join(opened.columns)}", file=opened.name, setting="columns"
        )
    if not factors:
        raise InputError(
            f"factor_columns names those of factors; it has {', '.join(opened.columns)}",
            file=opened.name,
            setting="factor_columns",
        )
    lang = None if settings.lang in (None, "auto") else settings.lang
    lp = "lp" if lang and ("lp" in opened.columns or not settings.metrics) else None
    group, segment, document, repeats = settings.group, settings.segment, settings.document, settings.repeats
    system = settings.system if settings.system is not None else opened.first(SYSTEM)
    system = None if system in (*columns, *factors) else system
    named = {SEGMENTS[0]: segment, DOCUMENTS[0]: document, CROSSED: system}
    opened.require(*(name for name in named.values() if name is not None))
    labels = [name for name in dict.fromkeys((settings.cluster, group, *settings.within, lp)) if name is not None]
    measured = [name for names in repeats.values() for name in names]
    controls = [name for name in settings.controls if name != "length" or name in opened.columns]
    numbers = [*dict.fromkeys([*columns, *(name for name in factors if name not in repeats), *measured, *controls])]
    if document is not None and settings.cluster is not None:
        raise InputError("document has no effect with cluster: leave out one of them", setting="document")
    if document in numbers:
        raise InputError(f"document: the column {document!r} is named twice", file=opened.name, setting="document")
    binding = [name for name in BINDING if name in opened.columns and name not in (*numbers, *labels)]
    binding = [name for name in binding if segment is None or name not in SEGMENTS]
    binding = [name for name in binding if document is None or name not in DOCUMENTS]
    keys = dict.fromkeys([*binding, *(name for name in named.values() if name is not None and name not in labels)])
    table = read_columns(opened, numbers, labels, keys=list(keys), alike=TEXTS)
    table |= {usual: table[name] for usual, name in named.items() if name is not None}
    told = next((name for name in (document, *DOCUMENTS) if name is not None and name in table), None)
    if told is not None and (document is not None or (settings.cluster is None and any(table[told]))):
        refuse_single(list(map(str, table[told])), told, opened.name)
    kept = None
    if lp is not None:
        into = language_code(str(lang))
        kept = [i for i, pair in enumerate(table["lp"]) if str(pair).rpartition("-")[2] == into]
        if not kept:
            pairs = ", ".join(sorted(set(map(str, table["lp"]))))
            raise InputError(f"no row of column 'lp' goes into {into}; there are {pairs}", file=opened.name)
        table = {
            name: [column[i] for i in kept] if isinstance(column, list) else column[kept]
            for name, column in table.items()
        }
    scores = score_table(opened, settings, columns, "lang", rows=kept, progress=settings.progress)
    table |= scores.values
    signatures = known_signatures(opened.name, [*columns, *factors]) | scores.signatures
    columns, notes = [*columns, *scores.values], list(scores.notes)
    named_segment = next((name for name in SEGMENTS if name in table), None)
    if named_segment and not any(name in table for name in DOCUMENTS) and settings.cluster is None:
        scored = np.asarray(table[columns[0]], dtype=np.float64)
        note = seem_together(list(map(str, table[named_segment])), scored)
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
        results, tests=tests, comparison=comparison, seed=settings.seed, signatures=signatures, notes=tuple(notes)
    )
