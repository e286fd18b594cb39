"""Whether systems are different under metrics, computed here or read from a table: their segments are resampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.analysis.agreement.compare import compare_systems, together
from bsx.analysis.agreement.result import CompareResult
from bsx.analysis.agreement.settings import CompareSettings
from bsx.catalog.catalog import load_registry
from bsx.catalog.specs import split_specs
from bsx.data.columns import read_columns
from bsx.data.corpus import Corpus
from bsx.data.documents import document_of_segment, refuse_single, seem_together
from bsx.data.long import USUAL, DocumentColumn, ScoreColumns, rows_by_system
from bsx.data.pairing import texts_of_rows
from bsx.data.sidecar import known_metrics, known_signatures
from bsx.data.tables import Table
from bsx.errors import InputError, UnknownNameError
from bsx.jobs.scoring.input import Input
from bsx.jobs.scoring.metrics import load_metrics, wanted_sides
from bsx.jobs.scoring.thresholds import published_curves
from bsx.jobs.tables import (
    MetricSettings,
    TableSettings,
    TestSets,
    TextColumns,
    TextFiles,
    Watched,
    find_columns,
    known_columns,
    on_table,
    turned,
)
from bsx.metrics.paired import PairedScores, paired_scores, split
from bsx.metrics.summary import about, flags
from bsx.support.checks import Array
from bsx.support.near import did_you_mean
from bsx.support.progress import told
from bsx.support.result import Notice
from bsx.support.settings import build_config, part, set_fields


class CompareRun(
    Watched,
    CompareSettings,
    TestSets,
    DocumentColumn,
    TextColumns,
    TextFiles,
    MetricSettings,
    ScoreColumns,
    TableSettings,
):
    """A comparison of systems by scores that stand in a table, or by metrics computed on texts."""

    systems: Annotated[
        Sequence[str],
        Field(
            description="Systems to compare, the baseline first: names in the column of systems, columns of "
            "candidates, or files of candidates without their ending. [all, as they come]"
        ),
    ] = ()


@on_table(CompareRun)
def compare(settings: CompareRun) -> CompareResult:
    """Compare systems with the first one, or all pairs, with each metric's own corpus score.

    Systems are files of candidates, columns of candidates, or stand one below the other in a table with a column of
    systems. A table without metrics to compute holds the scores.

    Args:
        settings: see `CompareRun`.

    Raises:
        UnknownNameError: for a system that is not there.
        InputError: for files or metrics that cannot be used.
    """
    if not settings.metrics:
        return _compare_scores(settings)
    if settings.columns or settings.lower:
        raise InputError(
            "columns and lower name scores that stand in a table: leave out metrics, or them", setting="columns"
        )
    notes: list[str] = []
    with texts_of(settings).opened(notes.append) as opened:
        return _compare_texts(_with_documents(opened), settings, notes)


def texts_of(settings: CompareRun) -> Input:
    """Return what is read: files of texts, a table with its columns of texts, or a test set."""
    return build_config(part(settings, Input), Input)


def _with_documents(texts: Input) -> Input:
    """Return what is read, with the usual column of documents where a table has one."""
    if texts.table_name in (None, "-") or texts.table is None or texts.document is not None:
        return texts
    asked = {name: getattr(texts, name) for name in ("system", "segment", "candidate", "reference", "source")}
    found = find_columns(Table(texts.table, first_line=True).columns, asked, "document")["document"]
    return texts.model_copy(update={"document": found[0]}) if found else texts


def _compare_texts(texts: Input, settings: CompareRun, notes: list[str]) -> CompareResult:
    """Compare systems by metrics computed on their texts."""
    specs = [spec for text in settings.metrics for spec in split_specs(text)]
    progress = told(settings.progress)
    with texts.open(wanted_sides(specs, settings), keep_rows=False) as corpus:
        below = texts.table is not None and len(corpus.systems) == 1
        places = _places(corpus, str(texts.table_name), settings.systems) if below else {}  # before anything is scored
        names = list(places) if below else _chosen(corpus.systems, settings.systems)
        built, plan = load_metrics(specs, settings, corpus, notes.append)
        segments, documents = _documents(corpus, texts, places)
        prepared, totals, scored = paired_scores(built, corpus, plan=plan, progress=progress)
    scored = [split(paired, places) for paired in scored] if below else scored
    signatures = {paired.metric.spec: str(prepared.signature(i)) for i, paired in enumerate(scored)}
    compared = [
        compare_systems(
            {name: paired.scores[name] for name in names},
            metric=paired.metric.spec,
            aggregate=paired.aggregate,
            higher_is_better=paired.metric.higher_is_better,
            signature=signatures[paired.metric.spec],
            documents=documents,
            **part(settings, CompareSettings),
        )
        for paired in scored
    ]
    notes += [*about(built), *flags(prepared, totals)]
    if documents is None:
        notes += _undrawn(segments, {name: _of_segments(scored[0], name) for name in names})
    language = built[0].encoders.language
    curves = published_curves(load_registry(settings.registry), signatures, language)
    result = together(compared, curves)
    return replace(result, signatures=signatures, notes=tuple(notes))


def _chosen(there: Sequence[str], systems: Sequence[str]) -> list[str]:
    """Return the systems to compare, of those that are there.

    Raises:
        UnknownNameError: for one that is not there.
        InputError: if they are fewer than two.
    """
    for name in systems:
        if name not in there:
            hint = did_you_mean(name, list(there))
            raise UnknownNameError(
                f"systems: there is no system {name!r}; there are {', '.join(there)}.{hint}", setting="systems"
            )
    chosen = list(dict.fromkeys(systems)) or list(there)
    if len(chosen) < 2:
        raise InputError(f"only the system {chosen[0]} is there: two are needed to compare")
    return chosen


def _places(corpus: Corpus, file: str, systems: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return the rows of systems that stand one below the other in a corpus."""
    own = [(segment.system, segment.id, hash((segment.references, segment.source))) for segment in corpus]
    lacking = next((place for place, (system, _, _) in enumerate(own, start=1) if system is None), None)
    if all(system is None for system, _, _ in own):
        raise InputError(
            "holds one system: name several columns of candidates, candidate, or the column of systems, system",
            file=file,
        )
    if lacking is not None:
        raise InputError(f"row {lacking} names no system: leave such rows out", file=file)
    names, segments, texts = (list(column) for column in zip(*own, strict=True))
    return _two(file, rows_by_system(file, list(map(str, names)), segments, systems, texts))


def _documents(
    corpus: Corpus, texts: Input, places: Mapping[str, NDArray[np.int64]]
) -> tuple[list[str], list[str] | None]:
    """Return the names of the segments that are compared, and the document of each, if that is known.

    Raises:
        InputError: if all are of one document, or one is of several.
    """
    read = [(segment.id, segment.document) for segment in corpus]
    rows = next(iter(places.values())).tolist() if places else range(len(read))
    segments = [read[row][0] for row in rows]
    if texts.line_documents:
        documents: list[str] | None = list(texts.line_documents) if len(texts.line_documents) == len(read) else None
        column = "document"
    elif texts.document is not None:
        column = texts.document
        documents = [str(read[row][1]) for row in rows]
        if places:
            document_of_segment(
                [segment for segment, _ in read], [str(document) for _, document in read], column, texts.table_name
            )
    else:
        return segments, None
    if documents is not None:
        refuse_single(documents, column, texts.table_name)
    return segments, documents


def _of_segments(paired: PairedScores, system: str) -> Array:
    """Return the scores of a system's segments (n,), of a corpus-level metric by themselves."""
    values = paired.scores[system]
    return values if paired.aggregate is None else paired.aggregate(values / len(values))


def _undrawn(segments: Sequence[str], scores: Mapping[str, Array]) -> list[str]:
    """Return a note if the systems' differences look like those of segments from documents."""
    first, *others = scores.values()
    note = seem_together(segments, np.mean([values - first for values in others], axis=0), "differences")
    return [note] if note else []


def _two(file: str, places: dict[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
    if len(places) < 2:
        raise InputError(f"only the system {next(iter(places))} is there: two are needed to compare", file=file)
    return places


def _compare_scores(settings: CompareRun) -> CompareResult:
    """Compare systems by the means of scores that stand in a table."""
    of_texts = [*TextFiles.model_fields, *TextColumns.model_fields, *TestSets.model_fields]
    idle = [*of_texts, *MetricSettings.model_fields]
    if named := [name for name in set_fields(settings) if name in idle and getattr(settings, name)]:
        raise InputError(
            f"{named[0]} needs metrics, which compute scores: name some, or leave it out", setting=named[0]
        )
    if settings.table is None:
        raise InputError("name what to compare by: a table of scores, or metrics with texts")
    table = Table(settings.table)
    columns = known_columns(table, settings.columns)
    if not columns:
        raise InputError(
            f"columns names the scores in it, metrics computes some; it has {', '.join(table.columns)}",
            file=table.name,
            setting="columns",
        )
    asked = {name: getattr(settings, name) for name in ("system", "segment", "document")} | {"columns": columns}
    roles = find_columns(table.columns, asked, "system", "segment", "document")
    for role, names in roles.items():
        if not names and settings.document in USUAL[role]:
            raise InputError(
                f"document: {settings.document!r} is the column of {role}s", file=table.name, setting="document"
            )
        if not names and role != "document":
            raise InputError(f"{role} names the column of {role}s; it has {', '.join(table.columns)}", file=table.name)
    (system,), (segment,), document = roles["system"], roles["segment"], next(iter(roles["document"]), None)
    lower = turned(table, columns, settings.lower)[0]
    known = {entry.metric: entry for entry in known_metrics(table.name)}
    values = read_columns(table, columns, labels=[system, segment, *([document] if document else [])])
    names, segments = (list(map(str, values[name])) for name in (system, segment))
    texts = texts_of_rows(table)
    places = _two(table.name, rows_by_system(table.name, names, segments, settings.systems, texts))
    rows_of_first = next(iter(places.values())).tolist()
    kept, documents = [segments[row] for row in rows_of_first], None
    if document:
        own = list(map(str, values[document]))
        of = document_of_segment(segments, own, document, table.name)
        documents = [of[name] for name in kept]
        refuse_single(documents, document, table.name)
    warnings, compared = [], []
    for name in columns:
        scores = {one: np.asarray(values[name], dtype=np.float64)[rows] for one, rows in places.items()}
        entry = known.get(name)
        compared.append(
            compare_systems(
                scores,
                metric=name,
                higher_is_better=name not in lower,
                signature=None if entry is None else entry.signature,
                documents=documents,
                **part(settings, CompareSettings),
            )
        )
        for row in entry.scores if entry is not None else []:
            if row.score is not None and row.system in scores and not np.isclose(row.score, scores[row.system].mean()):
                whole = {"system": row.system, "score": row.score}
                warnings.append(Notice("mean-of-segments", name, whole))
                break
    signatures = known_signatures(table.name, columns)
    result = together(compared, published_curves(load_registry(settings.registry), signatures, means=True))
    first = np.asarray(values[columns[0]], dtype=np.float64)
    notes = () if documents else _undrawn(kept, {one: first[rows] for one, rows in places.items()})
    return replace(result, signatures=signatures, warnings=(*warnings, *result.warnings), notes=tuple(notes))
