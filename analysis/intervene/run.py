"""What metrics react to: texts of a table edited factor by factor, beside what their scores go with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.analysis.adversarial.perturb import MetricFunctions, WordForms, find_parses, read_texts
from bsx.analysis.factors.base import Resources
from bsx.analysis.factors.zoo import get_factors
from bsx.analysis.intervene.edits import PAIR_COLUMNS, EditedText, save_pairs
from bsx.analysis.intervene.result import Interventions
from bsx.analysis.intervene.settings import InterveneSettings
from bsx.analysis.intervene.texts import intervene_texts as run
from bsx.data.columns import read_columns
from bsx.data.long import COLUMN, ColumnName
from bsx.data.open import open_table
from bsx.data.output import check_table, refuse_taken
from bsx.data.sources import AnyTable
from bsx.errors import InputError
from bsx.frames.metrics import open_distinct
from bsx.frames.settings import FORMATS, NEEDED, MetricSettings, ParseSettings, Skipping, Watched, on_table
from bsx.support.progress import reporter
from bsx.support.settings import Option, part, refuse_idle


class InterveneRun(InterveneSettings, Watched, Skipping, WordForms, ParseSettings, MetricSettings):
    """Which texts of a table are edited, what else they are compared with, and how big edits are."""

    table: Annotated[AnyTable, Field(description=f"Table of texts: {FORMATS}."), Option(argument=True)] = NEEDED
    metrics: Annotated[Sequence[str], Field(description="Metrics to compute: NAME[:field=value,…]; see bsx metrics.")]
    factors: Annotated[
        Sequence[str],
        Field(description="Measure these factors: NAME[:field=value,…]. [lex, syn with a parser, mor with vectors]"),
    ] = ()
    candidate: Annotated[
        ColumnName, Field(description="Column of candidates, whose scores are compared with those of the edits.")
    ] = None
    reference: Annotated[str, Field(description="Column of references."), COLUMN] = "reference"
    source: Annotated[ColumnName, Field(description="Column of sources, for metrics that read them.")] = None
    human: Annotated[ColumnName, Field(description="Column of human scores of the candidates: the factor sem.")] = None
    vectors: Annotated[Path | str | None, Field(description="Word vectors, .vec or .bin, for mor.")] = None
    edits_out: Annotated[
        Path | str | None,
        Field(
            description="Table to write: every minimal pair, what it moved and what that cost, with the table's other "
            "columns, none of which may be called as one of it."
        ),
        Option(writable=True),
    ] = None


@on_table(InterveneRun)
def intervene(settings: InterveneRun) -> Interventions:
    """Edit the texts of a table factor by factor, and explain how far each metric's scores fall.

    `bsx.analysis.intervene_texts` takes functions of texts.

    Args:
        settings: see `InterveneRun`.

    Raises:
        InputError: for a table, metric, edit or factor that cannot be used.
    """
    progress = reporter(settings.progress)
    save = None if settings.edits_out is None else Path(settings.edits_out)
    if save is not None:
        check_table(save)
    if settings.lang in (None, "auto"):
        raise InputError("edits have rules by language; say which it is with lang", setting="lang")
    usual = [*(["syn"] if settings.parser else []), "lex", *(["mor"] if settings.vectors else [])]
    wanted = list(settings.factors) or usual
    measured = get_factors(wanted, registry=settings.registry)
    read = frozenset[str]().union(*(factor.reads for factor in measured))
    if "vectors" not in read:
        refuse_idle(settings, f"with the factors {', '.join(factor.entry.name for factor in measured)}", "vectors")
    if settings.parser is None and "parser_dir" not in read:
        refuse_idle(settings, "without parser", "parser_dir", "download")
    reference, candidate, source, human = settings.reference, settings.candidate, settings.source, settings.human
    by_candidate = settings.base == "candidate"
    if candidate is None and (human is not None or by_candidate):
        raise InputError(f"{'base' if human is None else 'human'} needs candidates: name their column with candidate")
    if settings.meaning is not None and human is None:
        raise InputError("meaning is in units of human scores: name their column with human", setting="meaning")
    table = open_table(settings.table)
    if save is not None:
        refuse_taken(set(table.columns) - {reference}, PAIR_COLUMNS)
    texts = read_texts(table, candidate, reference, source, keep=save is not None)
    judged = None if human is None else np.asarray(read_columns(table, [human])[human], dtype=np.float64).tolist()
    cache = None if settings.cache is None else Path(settings.cache) / "parses"
    column = candidate if by_candidate and candidate is not None else reference
    clean = texts.candidates if by_candidate and texts.candidates is not None else texts.references
    parses, origin = find_parses(clean, column, settings.lang, settings, cache, progress)
    given = {name: getattr(settings, name) for name in ("parser_dir", "download", "vectors")}
    resources = Resources.model_validate({**given, "cache": cache, "progress": progress})
    functions = MetricFunctions(open_distinct(settings), texts.sources, skip=settings.skip_errors)
    pairs: list[EditedText] = []
    result = run(
        texts.references,
        functions.functions,
        **part(settings, InterveneSettings),
        factors=wanted,
        candidates=texts.candidates,
        human=judged,
        parses=parses,
        lang=settings.lang,
        inflections=settings.inflections(),
        resources=resources,
        nan="omit" if settings.skip_errors else "error",
        keep=pairs.extend,
        progress=progress,
    )
    if save is not None:
        save_pairs(pairs, save, texts.rows)
    return replace(
        result,
        skipped=tuple(functions.skipped),
        settings={**result.settings, "parses": origin},
        signatures=functions.signatures,
        notes=(*functions.notes, *texts.notes, *result.notes, *functions.left_out(), *functions.about),
    )
