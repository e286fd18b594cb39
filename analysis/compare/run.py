"""Whether systems are different under metrics, computed here or read from a table: their segments are resampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.analysis.compare.curves import published_curves
from bsx.analysis.compare.result import CompareResult
from bsx.analysis.compare.settings import CompareSettings
from bsx.analysis.compare.systems import compare_systems, together
from bsx.catalog.catalog import load_registry
from bsx.data.documents import document_of_segment, refuse_single, seem_together
from bsx.data.frame import Frame
from bsx.data.long import USUAL, DocumentColumn, ScoreColumns, rows_by_system
from bsx.data.sidecar import known_metrics
from bsx.errors import InputError
from bsx.frames.open import open_frame
from bsx.frames.settings import (
    MetricSettings,
    TableSettings,
    TestSets,
    TextColumns,
    TextFiles,
    Watched,
    on_table,
)
from bsx.metrics.paired import aggregate_of
from bsx.support.checks import Array
from bsx.support.result import Notice
from bsx.support.settings import part


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
    return compared(*open_frame(settings, chosen=paired))


def compared(frame: Frame, settings: CompareRun) -> CompareResult:
    """Compare systems by scores that are there; see `compare`.

    Args:
        frame: the scores, with columns of systems and segments.
        settings: how.
    """
    labels = [frame.column(role) for role in ("system", "segment", "document")]
    values = frame.read(frame.metrics, labels)
    unit = frame.unit(values, paired=True)
    names, segments = (list(map(str, unit.values[str(name)])) for name in (unit.system, unit.segment))
    places = _places(frame, names, segments, settings.systems)
    rows_of_first = next(iter(places.values())).tolist()
    documents, kept = None, [segments[row] for row in rows_of_first]
    if unit.document is not None:
        of = document_of_segment(segments, list(map(str, unit.values[unit.document])), unit.document, frame.name)
        documents = [of[name] for name in kept]
        refuse_single(documents, unit.document, frame.name)
    known = {entry.metric: entry for entry in known_metrics(frame.name) if entry.metric in frame.columns}
    warnings, compared, first = [], [], dict[str, Array]()
    for name in frame.metrics:
        corpus, own = frame.corpus.get(name), np.asarray(values[name], dtype=np.float64)
        if name in frame.scores and (missing := int(np.isnan(own).sum())):
            raise InputError(
                f"{name} has no score for {missing:,} of {len(own):,} rows, and nothing stands in for it: bsx score "
                "says which; leave those segments out"
            )
        source = own if corpus is None else corpus.statistics
        scores = {one: source[rows] for one, rows in places.items()}
        aggregate = None if corpus is None else aggregate_of(corpus.score, len(kept))
        compared.append(
            compare_systems(
                scores,
                metric=name,
                aggregate=aggregate,
                higher_is_better=name not in frame.lower,
                signature=frame.signatures.get(name),
                documents=documents,
                **part(settings, CompareSettings),
            )
        )
        if not first:  # of a corpus-level metric, the score of each segment by itself
            first = scores if aggregate is None else {one: aggregate(x / len(kept)) for one, x in scores.items()}
        for row in known[name].scores if name in known else []:
            if row.score is not None and row.system in scores and not np.isclose(row.score, scores[row.system].mean()):
                warnings.append(Notice("mean-of-segments", name, {"system": row.system, "score": row.score}))
                break
    catalog, signatures = load_registry(settings.registry), dict(frame.signatures)
    computed = {name: text for name, text in signatures.items() if name in frame.scores}
    read = {name: text for name, text in signatures.items() if name in frame.columns}
    curves = published_curves(catalog, computed, frame.language) + published_curves(catalog, read, means=True)
    notes = [*frame.notes, *unit.notes, *(_undrawn(kept, first) if documents is None else [])]
    result = together(compared, curves)
    return replace(result, signatures=signatures, warnings=(*warnings, *result.warnings), notes=tuple(notes))


def paired(frame: Frame, settings: CompareRun) -> tuple[Frame, CompareRun]:
    """Check, before anything is scored, that there are systems, each with a row for the same segments."""
    frame.table.require(*settings.columns)
    for role in ("system", "segment"):
        if frame.column(role) is None and settings.document in USUAL[role]:
            told = f"document: {settings.document!r} is the column of {role}s"
            raise InputError(told, file=frame.name, setting="document")
    if frame.column("system") is None:
        raise InputError(
            "holds one system: name several columns of candidates, candidate, or the column of systems, system; it "
            f"has {', '.join(frame.table.columns)}",
            file=frame.name,
            setting="system",
        )
    values = frame.read([], [frame.column(role) for role in ("system", "segment", "document")])
    unit = frame.unit(values, paired=True)
    if unit.segment is None:
        why = "".join(f"{note.partition(': ')[0]}: " for note in unit.notes)
        raise InputError(
            f"{why}segment names the column of segments; it has {', '.join(frame.table.columns)}",
            file=frame.name,
            setting="segment",
        )
    names, segments = (list(map(str, unit.values[str(name)])) for name in (unit.system, unit.segment))
    _places(frame, names, segments, settings.systems)
    return frame, settings


def _places(
    frame: Frame, names: Sequence[str], segments: Sequence[str], systems: Sequence[str]
) -> dict[str, NDArray[np.int64]]:
    """Return the rows of each system that is compared, in one order of segments."""
    places = rows_by_system(frame.name, names, segments, list(dict.fromkeys(systems)), frame.shared_texts())
    if len(places) < 2:
        only = next(iter(places))
        raise InputError(f"only the system {only} is there: two are needed to compare", file=frame.name)
    return places


def _undrawn(segments: Sequence[str], scores: Mapping[str, Array]) -> list[str]:
    """Return a note if the systems' differences look like those of segments from documents."""
    first, *others = scores.values()
    note = seem_together(segments, np.mean([values - first for values in others], axis=0), "differences")
    return [note] if note else []
