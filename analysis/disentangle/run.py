"""Which linguistic factors explain metrics: regressions on columns of a table, with tests and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from bsx.analysis.disentangle.errors import BINDING, CROSSED, TEXTS, compare_coefficients
from bsx.analysis.disentangle.fit import disentangle as regress
from bsx.analysis.disentangle.result import CoefficientComparison, DisentangleResult, NestedTest
from bsx.analysis.disentangle.sample import with_repeats
from bsx.analysis.disentangle.settings import (
    DETAIL,
    ComparisonSettings,
    DisentangleSettings,
    ErrorSettings,
    RegressionSettings,
)
from bsx.analysis.disentangle.variants import linearity_checks, nested_test
from bsx.analysis.factors.base import FactorScores, Resources, SentencePairs
from bsx.analysis.factors.zoo import get_factors, scored
from bsx.catalog.languages import language_code
from bsx.catalog.specs import split_specs
from bsx.data.columns import TableLike
from bsx.data.documents import DOCUMENTS, one_document, refuse_single, seem_together
from bsx.data.frame import PAIR, Frame, LongTable
from bsx.data.long import RATERS, SEGMENTS, ColumnNames, DocumentColumn, Scores, are_judgments, together
from bsx.data.sidecar import carried_factors, factor_columns, known_scores
from bsx.data.sources import IN_MEMORY, AnyTable
from bsx.errors import BsxError, InputError
from bsx.frames.open import OF_TEXTS, corpus_of, open_frame
from bsx.frames.settings import FORMATS, MetricSettings, TableSettings, TextColumns, Watched, on_table
from bsx.support.settings import Option, part


class DisentangleRun(DisentangleSettings, Watched, MetricSettings, TextColumns, DocumentColumn, TableSettings):
    """Which columns of a table are explained by which, and how."""

    table: Annotated[
        AnyTable | None, Field(description=f"Table of scores and factors: {FORMATS}."), Option(argument=True)
    ] = None
    columns: Scores = ()
    factor_columns: Annotated[
        ColumnNames,
        Field(
            description="Columns of factors to explain them with. [those that bsx factors wrote, else made of texts]"
        ),
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
    made = dict[str, FactorScores]()
    known = settings.factor_columns or carried_factors(settings.table_name or IN_MEMORY)
    frame, settings = open_frame(settings, *(["lang"] if known else OF_TEXTS), chosen=partial(_of_language, made=made))
    table, notes = _columns(frame, settings, made)
    result = regress(table, frame.metrics, settings.factor_columns, **part(settings, DisentangleSettings))
    repeated = with_repeats(table, settings.repeats)
    return replace(
        result,
        tests=_further_terms(repeated, frame.metrics, settings),
        comparison=_comparison(repeated, frame.metrics, settings) if settings.compare else None,
        missing={name: of.excluded for name, of in made.items() if of.excluded is not None},
        seed=settings.seed,
        signatures=dict(frame.signatures),
        notes=tuple(notes),
    )


def _columns(
    frame: Frame, settings: DisentangleRun, made: Mapping[str, FactorScores]
) -> tuple[dict[str, Any], list[str]]:
    """Return metrics, factors and what tells which rows belong together, and what to know of those."""
    cluster, group, repeats = settings.cluster, settings.group, settings.repeats
    system, present = frame.column("system"), frame.table.columns
    named = {usual: frame.column(role) for usual, role in _USUAL.items() if role in frame.named} | {CROSSED: system}
    labels = [name for name in dict.fromkeys((cluster, group, *settings.within)) if name is not None]
    factors = [name for name in settings.factor_columns if name not in (*repeats, *made)]
    measured = [name for columns in repeats.values() for name in columns]
    controls = [name for name in settings.controls if name != "length" or name in present]
    numbers = [*dict.fromkeys([*frame.metrics, *factors, *measured, *controls])]
    if settings.document is not None and cluster is not None:
        raise InputError("document has no effect with cluster: leave out one of them", setting="document")
    if settings.document in numbers:
        message = f"document: the column {settings.document!r} is named twice"
        raise InputError(message, file=frame.name, setting="document")
    taken = {*numbers, *labels}
    taken |= {*SEGMENTS} if settings.segment is not None else set()
    taken |= {*DOCUMENTS} if settings.document is not None else set()
    binding = [name for name in BINDING if name in present and name not in taken]
    keys = dict.fromkeys([*binding, *(name for name in named.values() if name is not None and name not in labels)])
    table: dict[str, Any] = frame.read(numbers, labels, keys=list(keys), alike=TEXTS)
    frame.refuse_apart(table)
    table |= {usual: table[name] for usual, name in named.items() if name is not None}
    table |= {name: of.values for name, of in made.items() if of.excluded is None}
    document = next((name for name in (settings.document, *DOCUMENTS) if name is not None and name in table), None)
    segment = next((name for name in SEGMENTS if name in table), None)
    notes = list(frame.notes)
    if settings.document is not None:
        refuse_single(list(map(str, table[settings.document])), settings.document, frame.name)
    elif document is not None and cluster is None and any(table[document]):
        single = one_document(list(map(str, table[document])))
        notes += single
        for name in DOCUMENTS if single else ():
            if name in binding:
                del table[name]
    if segment and document is None and cluster is None:
        note = seem_together(list(map(str, table[segment])), np.asarray(table[frame.metrics[0]], dtype=np.float64))
        notes += [note] if note else []
    if system is not None and system not in (group, *settings.within):
        notes += together(list(map(str, table[system])), system, f"group {system} fits each by itself")
    return table, notes


def _further_terms(
    table: TableLike, metrics: Sequence[str], settings: DisentangleRun
) -> dict[str, tuple[NestedTest, ...]]:
    """Return the tests of factors to add, and of bends and products, that were asked for: metric -> its tests."""
    factors, tests = settings.factor_columns, {}
    for metric in metrics if settings.add or settings.checks else ():
        of_metric = []
        for text in settings.add:
            added = [text] if text in factors else [name.strip() for name in text.split("+")]
            base = [factor for factor in factors if factor not in added]
            of_metric.append(nested_test(table, metric, base, added, **part(settings, RegressionSettings)))
        if settings.checks:
            of_metric += linearity_checks(table, metric, factors, **part(settings, ErrorSettings)).values()
        if of_metric:
            tests[metric] = tuple(of_metric)
    return tests


def _comparison(table: TableLike, metrics: Sequence[str], settings: DisentangleRun) -> CoefficientComparison:
    pair, how = settings.compare, part(settings, ComparisonSettings)
    if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(metrics):
        raise InputError(
            f"compare: {','.join(pair)}: name two of the metrics {', '.join(metrics)}, as A,B", setting="compare"
        )
    if settings.resamples:
        how["resamples"] = settings.resamples
    return compare_coefficients(table, pair[0], pair[1], settings.factor_columns, **how)


_USUAL = {SEGMENTS[0]: "segment", DOCUMENTS[0]: "document"}
_FACTORS = ("sem", "syn", "lex", "mor")  # as the paper has them


def _of_language(frame: Frame, settings: DisentangleRun, made: dict[str, FactorScores]) -> tuple[Frame, DisentangleRun]:
    """Find the factors, leave out rows of pairs into another language, and make factors where there are none."""
    factors = list(settings.factor_columns) or factor_columns(frame.name, frame.table.columns)
    if frame.column("system") in (*settings.columns, *factors):
        frame = replace(frame, roles={**frame.roles, "system": []})
    settings = settings.model_copy(update={"factor_columns": factors})
    paired, ours = PAIR in frame.table.columns, settings.metrics or not factors
    if settings.lang not in (None, "auto") and (paired or not ours):
        into = language_code(str(settings.lang))
        pairs = frame.read([], [PAIR])[PAIR]
        kept = [place for place, pair in enumerate(pairs) if str(pair).rpartition("-")[2] == into]
        if not kept:
            known = ", ".join(sorted(set(map(str, pairs))))
            raise InputError(f"no row of column 'lp' goes into {into}; there are {known}", file=frame.name)
        frame = frame.only(kept)
    return (frame, settings) if factors else _made(frame, settings, made)


def _made(frame: Frame, settings: DisentangleRun, made: dict[str, FactorScores]) -> tuple[Frame, DisentangleRun]:
    """Make the factors of texts and human scores that can be made here, and choose metrics where there are no scores.

    Source: Kaster, Zhao & Eger 2021, section 3; vectors of MOR are trained on the texts, as there.
    """
    from bsx.analysis.evaluate.run import chosen_metrics

    present, repeat = frame.table.columns, dict(settings.repeats)
    judged = [name for name in present if are_judgments(name) and name not in RATERS]
    human = repeat.get("sem") or frame.roles["human"] or judged
    needed = {"candidate": frame.roles["candidate"], "reference": frame.roles["reference"], "human": human}
    lacking = [f"a column {side!r}" for side, columns in needed.items() if not columns]
    if lacking or {*_FACTORS} & {*present}:
        to_make = f"to make them of texts and human scores, it lacks {' and '.join(lacking)}; " if lacking else ""
        message = f"factor_columns names those of factors; {to_make}it has {', '.join(present)}"
        raise InputError(message, file=frame.name, setting="factor_columns")
    if isinstance(frame.table, LongTable):
        raise InputError("candidate names one column: factors are made of that and the references", setting="candidate")
    if len(human) > 1 and "sem" not in repeat:
        message = f"repeat says which human scores are sem: sem={human[0]}, or several of {','.join(human)}"
        raise InputError(message, file=frame.name, setting="repeat")
    into = {str(pair).rpartition("-")[2] for pair in frame.read([], [PAIR])[PAIR]} if PAIR in present else {""}
    if len(into) > 1:
        message = f"lang takes the rows into one language, of which factors are made: {', '.join(sorted(into))}"
        raise InputError(message, file=frame.name, setting="lang")
    specs, notes = [spec for text in settings.metrics for spec in split_specs(text)], list[str]()
    settings = settings.model_copy(update={"lang": settings.lang or max(into) or None})
    gaps = np.any([np.isnan(np.asarray(x, dtype=np.float64)) for x in frame.read(human).values()], axis=0)
    if gaps.all():
        raise InputError(f"no row has a human score ({', '.join(human)})", file=frame.name)
    if gaps.any():
        notes.append(f"{gaps.sum():,} of {len(gaps):,} rows have no human score and are left out")
        frame = frame.only(np.flatnonzero(~gaps).tolist())
    values = {name: np.asarray(cells, dtype=np.float64).tolist() for name, cells in frame.read(human).items()}
    corpus = corpus_of(frame, frozenset({"reference"}))
    settings, chosen, evidence = chosen_metrics(settings, specs, corpus, notes.append)
    if not (specs or settings.columns or known_scores(frame.table)):
        specs = chosen
        notes.append(f"no scores are named: {' and '.join(specs)} are computed; metrics names others")
    notes += [evidence] if specs and evidence else []
    both = [((segment.references or [""])[0], segment.candidates[0]) for segment in corpus]
    first, second = ([texts[side] for texts in both] for side in (0, 1))
    pairs = SentencePairs(first, second, str(settings.lang), str(settings.lang), values)
    resources = Resources(human=human[0], train_vectors=True, seed=settings.seed, progress=settings.progress)
    for factor in get_factors(_FACTORS[len(human) > 1 :], registry=settings.registry):
        try:
            made[factor.spec] = scored(factor, pairs, resources)
        except BsxError as error:
            why = str(error).removeprefix(f"{factor.spec}: ").partition(" (or download does)")[0]
            made[factor.spec] = FactorScores(np.full(len(pairs), np.nan), {}, excluded=why)
        notes += made[factor.spec].notes
    notes.append(f"sem is {' and '.join(human)}, other factors are of candidates and references ({settings.lang})")
    changed = {
        "metrics": specs,
        "repeat": {name: columns for name, columns in repeat.items() if name != "sem" or len(columns) > 1},
        "factor_columns": [name for name in _FACTORS if name not in made or made[name].excluded is None],
    }
    return replace(frame, notes=[*frame.notes, *notes]), settings.model_copy(update=changed)
