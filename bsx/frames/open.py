"""The one way from what a user names to a `Frame`: a table, a test set or files of texts, with scores."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from bsx.catalog.specs import split_specs
from bsx.data.files import TableFile
from bsx.data.frame import CorpusScores, Frame, LongTable
from bsx.data.long import SEGMENTS, SYSTEM, find_columns
from bsx.data.open import open_table
from bsx.data.sidecar import known_scores, known_signatures, turned
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.frames.metrics import load_metrics, wanted_sides
from bsx.frames.settings import MetricSettings, TableSettings, TextColumns, TextFiles
from bsx.frames.texts import Input
from bsx.metrics.run import prepare, stream
from bsx.metrics.summary import Tally, about, flags, summarise
from bsx.support.progress import told
from bsx.support.provenance import provenance
from bsx.support.settings import build_config, column_fields, part, set_fields

if TYPE_CHECKING:
    from bsx.data.corpus import Corpus
    from bsx.metrics.core import Values
    from bsx.metrics.run import Prepared, ScoredBlock

Asked = TypeVar("Asked", bound=TableSettings)
OF_TEXTS = frozenset({*TextColumns.model_fields, *TextFiles.model_fields, *MetricSettings.model_fields})
"""Settings that have an effect only where scores are computed."""
_ROLES = ("system", "segment", "document", "candidate", "reference", "source", "human")


def texts_of(settings: TableSettings) -> Input:
    """Return what is read: a table with its columns of texts, files of texts, or a test set."""
    return build_config(part(settings, Input), Input)


def open_frame(
    settings: Asked,
    *useful: str,
    chosen: Callable[[Frame, Asked], tuple[Frame, Asked]] = lambda frame, settings: (frame, settings),
) -> tuple[Frame, Asked]:
    """Open a table, find its columns, and compute the metrics that were asked for.

    Args:
        settings: the table, a test set or files of texts; what columns are called; metrics and where they run.
        useful: settings that have an effect without metrics too, of those that else need some.
        chosen: called with the frame before anything is scored, and settings; returns both as they shall be: there
            patterns become names of columns, and rows are left out.

    Returns:
        The frame, and the settings that ``chosen`` returned.

    Raises:
        UnknownNameError: for a column, metric or test set that is not there.
        InputError: for settings that do not fit together, or texts that cannot be scored.
    """
    metrics = [spec for text in getattr(settings, "metrics", ()) for spec in split_specs(text)]
    for name, value in set_fields(settings, "metrics", *useful).items() if not metrics else ():
        if name in OF_TEXTS and value:
            raise InputError(f"{name} needs metrics, which compute scores: name some, or leave it out", setting=name)
    texts = texts_of(settings)
    if texts.table is None and texts.test_set is None and not (metrics and texts.candidates):
        more = ", or files of candidates" if "candidates" in type(settings).model_fields else ""
        raise InputError(f"name a table of scores, or texts with metrics to compute on them{more}", setting="table")
    notes: list[str] = []
    with texts.opened(notes.append) as texts:
        frame = _found(texts, settings, metrics)
        frame, settings = chosen(frame, settings)
        columns = list(getattr(settings, "columns", ())) or ([] if metrics else known_scores(frame.table))
        frame = replace(frame, columns=columns)
        if not columns and not metrics:
            there = ", ".join(frame.table.columns)
            raise InputError(
                f"columns names the scores in it, metrics computes some; it has {there}",
                file=frame.name,
                setting="columns",
            )
        specs = [spec for text in getattr(settings, "metrics", ()) for spec in split_specs(text)]
        if twice := next((spec for spec in specs if spec in columns), None):
            raise InputError(f"the metric {twice} is asked for twice", setting="metrics")
        frame.table.require(*columns)
        if specs:
            frame = _scored(frame, texts, cast("MetricSettings", settings), specs, notes)
    lower, _ = turned(frame.table, frame.metrics, getattr(settings, "lower", ()))
    return (
        replace(
            frame,
            lower=[*dict.fromkeys([*frame.lower, *lower])],
            signatures={**known_signatures(frame.name, columns), **frame.signatures},
            notes=[*notes, *frame.notes],
        ),
        settings,
    )


def _found(texts: Input, settings: TableSettings, metrics: Sequence[str]) -> Frame:
    """Return the table, with a row for each system and segment, and what its columns hold."""
    if texts.table is None:
        with texts.open(wanted_sides(metrics, cast("MetricSettings", settings)), keep_rows=False) as corpus:
            return _of_lines(corpus, texts)
    table = open_table(texts.table)
    asked = {name: getattr(settings, name) for name in column_fields(type(settings))}
    asked |= {"reference": texts.reference} if texts.reference else {}
    candidates, human = list(asked.get("candidate") or ()), asked.get("human") or ()
    named = frozenset(name for name, value in asked.items() if value)
    if len(candidates) > 1:
        if asked.get("system") is not None:
            told = "several columns of candidates are the systems already: leave out system"
            raise InputError(told, setting="system")
        if asked.get("columns"):
            told = "columns needs one column of candidates: its scores are of one system"
            raise InputError(told, setting="columns")
        if human and len(human) != len(candidates):
            raise InputError(
                f"{len(candidates)} columns of candidates need as many of human scores in the same order, human names "
                f"{len(human)}",
                setting="human",
            )
        table.require(*candidates, *human, *filter(None, [asked.get("segment")]))
        table = LongTable(table, candidates, list(human), asked.get("segment"))
        asked |= {"candidate": "candidate", "system": SYSTEM, "segment": asked.get("segment") or SEGMENTS[0]}
        asked |= {"human": "human"} if human else {}
        named |= {"system", "segment"}
    roles = find_columns(table.columns, asked, *_ROLES)
    table.require(*(name for names in roles.values() for name in names))
    return Frame(table, roles, named, files=texts.files())


def _of_lines(corpus: Corpus, texts: Input) -> Frame:
    """Return the rows of files with a line a segment, without their texts."""
    segments = [segment.id for segment in corpus]
    columns = {
        SYSTEM: [*corpus.systems] * len(segments),
        SEGMENTS[0]: np.repeat(segments, len(corpus.systems)).tolist(),
    }
    roles = {"system": [SYSTEM], "segment": [SEGMENTS[0]]}
    if len(texts.line_documents) == len(segments):
        columns["document"] = np.repeat(texts.line_documents, len(corpus.systems)).tolist()
        roles["document"] = ["document"]
    return Frame(Table(columns), roles, frozenset(("system", "segment")), files=texts.files())


@contextlib.contextmanager
def _corpus(frame: Frame, texts: Input, wants: frozenset[str]) -> Iterator[Corpus]:
    """Open the texts to score: rows of a table, or its columns of candidates side by side."""
    if texts.table is None:
        with texts.open(wants, keep_rows=False) as corpus:
            yield corpus
        return
    table = frame.table.wide if isinstance(frame.table, LongTable) else frame.table
    sides = {role: list(texts.candidate if role == "candidate" and len(texts.candidate) > 1 else frame.roles[role])
             for role in ("candidate", "reference", "source")}  # fmt: skip
    for role in ("candidate", *(("reference",) if "reference" in wants else ())):
        if not sides[role]:
            there = ", ".join(table.columns)
            raise InputError(f"{role} names the column of {role}s; it has {there}", file=table.name, setting=role)
    source = next(iter(sides["source"]), None) if "source" in wants or "source" in frame.named else None
    yield TableFile(table, sides["candidate"], sides["reference"] if "reference" in wants else [], source=source)


def _scored(frame: Frame, texts: Input, settings: MetricSettings, specs: Sequence[str], notes: list[str]) -> Frame:
    """Return the frame with scores of these metrics."""
    progress = told(getattr(settings, "progress", None))
    column = frame.column("system") if not isinstance(frame.table, LongTable) and texts.table is not None else None
    systems = list(map(str, frame.read([], keys=[column])[column])) if column is not None else None
    with _corpus(frame, texts, wanted_sides(specs, settings)) as corpus:
        metrics, plan = load_metrics(specs, settings, corpus, notes.append)
        prepared = prepare(metrics, corpus, plan=plan, progress=progress)
        tally, collected, at = Tally(prepared), Collected(), 0
        for block in stream(prepared, progress=progress):
            named = None if systems is None else systems[at : at + len(block.segments)]
            tally.add(block, None if named is None else [name or None for name in named])
            collected.add(block)
            at += len(block.segments)
    notes += [*about(metrics), *flags(prepared, tally.totals)]
    return collected.put(frame, prepared, tally)


class Collected:
    """Scores that come block by block, without their texts, until they are put into a frame."""

    def __init__(self) -> None:
        self._values: list[list[Values]] = []
        self._statistics: list[list[Values]] = []

    def add(self, block: ScoredBlock) -> None:
        """Keep the scores of a block."""
        self._values.append([scores.values for scores in block.scores])
        self._statistics.append([scores.statistics for scores in block.scores if scores.statistics is not None])

    def put(self, frame: Frame, prepared: Prepared, tally: Tally) -> Frame:
        """Return the frame with all scores.

        Args:
            frame: whose rows were scored, in this order.
            prepared: the metrics, and what they learned.
            tally: what they add up to.
        """
        metrics, summary = prepared.metrics, summarise(prepared, tally.totals, tally.by_system)
        signatures = {entry["metric"]: entry["signature"] for entry in summary["metrics"]}
        whole = [metric for metric, total in zip(metrics, tally.totals, strict=True) if total.has_statistics]
        language = metrics[0].encoders.language
        return replace(
            frame,
            scores={
                metric.spec: np.concatenate(values).astype(np.float64)
                for metric, values in zip(metrics, zip(*self._values, strict=True), strict=True)
            },
            lower=[metric.spec for metric in metrics if not metric.higher_is_better],
            signatures=signatures,
            corpus={
                metric.spec: CorpusScores(np.concatenate(statistics), metric.system_score)
                for metric, statistics in zip(whole, zip(*self._statistics, strict=True), strict=True)
            },
            summary={**summary, "provenance": provenance("score", list(frame.files), signatures)},
            language=None if language is None else language.code,
        )
