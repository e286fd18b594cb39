"""Scores of sentence pairs by linguistic factors, as new columns of their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from bsx.analysis.factors.base import (
    FactorScores,
    FactorSettings,
    FactorSummary,
    Resources,
    ScoredFactors,
    SentencePairs,
)
from bsx.analysis.factors.zoo import get_factors, scored
from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import language_pair
from bsx.data.long import ColumnName, called_references
from bsx.data.open import TableFile, open_table
from bsx.data.output import ScoreTable, check_table
from bsx.data.run import as_one_run
from bsx.data.sidecar import carried, carried_factors
from bsx.data.sources import AnyTable
from bsx.data.tables import Table
from bsx.errors import InputError, MissingExtraError, ModelUnavailableError
from bsx.frames.settings import FORMATS, NEEDED, on_table
from bsx.support.optional import need
from bsx.support.result import as_json
from bsx.support.settings import Option, refuse_idle

USUAL = ("syn", "lex", "mor")


class FactorRun(FactorSettings):
    """Which factors of which columns are computed, and how the new columns are written."""

    table: Annotated[AnyTable, Field(description=f"Sentence pairs: {FORMATS}."), Option(argument=True)] = NEEDED
    output: Annotated[
        Path | str, Field(description="Table to write: all columns and one a factor."), Option(("-o",), writable=True)
    ]
    factors: Annotated[
        Sequence[str],
        Field(
            description="Compute these factors: NAME[:field=value,…]. [those of syn,lex,mor for which parser and "
            "vectors are here]"
        ),
    ] = ()
    candidate: Annotated[ColumnName, Field(description="Column of candidates. [sentence2, question2 or candidate]")] = (
        None
    )
    reference: Annotated[
        ColumnName, Field(description="Column of references, LEX's too. [sentence1, question1 or reference]")
    ] = None
    source: Annotated[
        ColumnName,
        Field(description="Column of sources, instead, where lang names two languages. [sentence1 or source]"),
    ] = None
    registry: Annotated[Path | None, Field(description="Folder laid over the registry.")] = None


@on_table(FactorRun)
@as_one_run
def factors(settings: FactorRun) -> ScoredFactors:
    """Score sentence pairs by linguistic factors and write their table with one more column a factor.

    Args:
        settings: see `FactorRun`.

    Raises:
        InputError: for a table or factor that cannot be used.
    """
    lang, output = settings.lang, Path(settings.output)
    lang1, lang2 = language_pair(lang)
    catalog = load_registry(settings.registry)
    made = get_factors(settings.factors or USUAL, preset=settings.preset, registry=catalog)
    replaced = [note for factor in made if (note := catalog.replacement("factor", factor.entry.name)) is not None]
    check_table(output)
    of = f"with the factors {', '.join(factor.entry.name for factor in made)}"
    unread = Resources.model_fields.keys() - {"progress"}.union(*(factor.reads for factor in made))
    refuse_idle(settings, of, *unread)
    table = open_table(settings.table, first_line=True)
    sentence1, sentence2 = _sides(settings, table, lang1 == lang2)
    taken = [factor.spec for factor in made if factor.spec in table.columns]
    if taken:
        raise InputError(f"has a column {taken[0]!r} already: give that another name", file=table.name)
    segments = list(TableFile(table, [sentence1, sentence2], [], keep_rows=True))
    rows: list[dict[str, Any]] = [dict(segment.row or {}) for segment in segments]
    columns = {name: [row[name] for row in rows] for name in table.columns if name not in (sentence1, sentence2)}
    first, second = ([segment.candidates[side] for segment in segments] for side in (0, 1))
    pairs = SentencePairs(first, second, lang1, lang2, columns)
    results: dict[str, FactorScores] = {}
    if settings.factors:
        for factor in made:
            factor.check(pairs, settings)  # of all, before any computes
    for factor in made:
        try:
            results[factor.spec] = scored(factor, pairs, settings)
        except (MissingExtraError, ModelUnavailableError) as error:
            if settings.factors:
                raise
            note = f"{factor.spec} is left out: {str(error).removeprefix(f'{factor.spec}: ')}"
            results[factor.spec] = FactorScores(np.full(len(rows), np.nan), {}, (note,), excluded=str(error))
    kept = {name: scores for name, scores in results.items() if scores.excluded is None}
    described = []
    for name, scores in results.items():
        present = scores.values[~np.isnan(scores.values)].tolist()
        mean, sd = (fmean(present), pstdev(present)) if present else (None, None)
        described.append(FactorSummary(name, len(present), mean, sd, scores.excluded, dict(scores.details)))
    result = ScoredFactors(len(rows), lang, settings.preset, tuple(described))
    types = None
    if output.suffix == ".parquet":
        types = {**table.types(), **dict.fromkeys(kept, need("pyarrow", "writing Parquet files").float64())}
    with ScoreTable(output, types) as written:
        for index, row in enumerate(rows):
            written.write(row | {name: float(scores.values[index]) for name, scores in kept.items()})
        metrics = carried(table.name)
        written.sidecar = {
            **result.to_dict(),
            **({"metrics": metrics} if metrics else {}),
            "factors": [*carried_factors(table.name), *as_json(described)],
        }
    return replace(result, notes=(*replaced, *(note for scores in results.values() for note in scores.notes)))


def _sides(settings: FactorRun, table: Table, one_language: bool) -> tuple[str, str]:
    """Return the columns of the two sides."""
    role, other = ("reference", "source") if one_language else ("source", "reference")
    if getattr(settings, other) is not None:
        raise InputError(f"{other} has no effect with lang {settings.lang}: name a column with {role}", setting=other)
    usual = ("sentence1", "question1", "reference") if one_language else ("sentence1", "source")
    first = getattr(settings, role) or table.first(*usual)
    first = first or next(iter(called_references(table.columns) if one_language else ()), None)
    second = settings.candidate or table.first("sentence2", "question2", "candidate")
    for name, column in ((role, first), ("candidate", second)):
        if column is None:
            message = f"{name} names the column; it has {', '.join(table.columns)}"
            raise InputError(message, setting=name, file=table.name)
    if first == second:
        raise InputError(f"{role} and candidate both name the column {first!r}", setting=role)
    return str(first), str(second)
