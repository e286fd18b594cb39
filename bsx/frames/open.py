"""The one way from what a user names to a `Frame`: a table, a test set or files of texts, with scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from bsx.catalog.specs import split_specs
from bsx.data.frame import CorpusScores, Frame, LineTable, LongTable
from bsx.data.long import SEGMENTS, SYSTEM, find_columns
from bsx.data.open import TableFile, open_table
from bsx.data.sidecar import known_metrics, known_scores, turned
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.frames.metrics import build_metrics, detected, wanted_sides
from bsx.frames.settings import Input, MetricSettings, TableSettings, TextColumns, TextFiles
from bsx.metrics.run import prepare, stream, survey
from bsx.metrics.summary import Tally, about
from bsx.support.checks import Array
from bsx.support.progress import reporter
from bsx.support.provenance import provenance
from bsx.support.result import as_json
from bsx.support.settings import build_config, option_of, part, set_fields

if TYPE_CHECKING:
    from bsx.data.corpus import Corpus
    from bsx.data.open import LineFiles
    from bsx.metrics.run import ScoredBlock

Asked = TypeVar("Asked", bound=TableSettings)
OF_TEXTS = frozenset({*TextColumns.model_fields, *TextFiles.model_fields, *MetricSettings.model_fields})
"""Settings that have an effect only where scores are computed."""
_ROLES = ("system", "segment", "document", "candidate", "reference", "source", "human", "family", "rater")


def no_scores(table: Table) -> InputError:
    """Return the error for a table without scores, where no metrics are named."""
    what = f"columns names the scores in it, metrics computes some, such as chrf; it has {', '.join(table.columns)}"
    return InputError(what, file=table.name, setting="columns")


def texts_of(settings: TableSettings) -> Input:
    """Return what is read: a table with its columns of texts, files of texts, or a test set."""
    return build_config(part(settings, Input), Input)


def open_frame(
    settings: Asked,
    *useful: str,
    chosen: Callable[[Frame, Asked], tuple[Frame, Asked]] = lambda frame, settings: (frame, settings),
    scoring: Callable[..., Iterator[ScoredBlock]] = stream,
) -> tuple[Frame, Asked]:
    """Open a table, find its columns, and compute the metrics that were asked for.

    Args:
        settings: the table, a test set or files of texts; what columns are called; metrics and where they run.
        useful: settings that have an effect without metrics too, of those that else need some.
        chosen: called with the frame before anything is scored, and settings; returns both as they shall be: there
            patterns become names of columns, and rows are left out.
        scoring: called with what was prepared, and whom to tell how far it is; yields blocks of scores.

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
    of_lines = bool(texts.candidates) and (bool(metrics) or "candidates" in useful)
    if texts.table is None and texts.test_set is None and not of_lines:
        more = ", or files of candidates" if "candidates" in type(settings).model_fields else ""
        raise InputError(f"name a table of scores, or texts with metrics to compute on them{more}", setting="table")
    notes: list[str] = []
    texts = texts.opened(notes.append)
    frame, settings = chosen(_frame_of(texts, settings, metrics), settings)
    specs = [spec for text in getattr(settings, "metrics", ()) for spec in split_specs(text)]
    columns = list(getattr(settings, "columns", ())) or ([] if specs else known_scores(frame.table))
    frame = replace(frame, columns=columns)
    if not columns and not specs:
        raise no_scores(frame.table)
    if twice := next((spec for spec in specs if spec in columns), None):
        raise InputError(f"the metric {twice} is asked for twice", setting="metrics")
    frame.table.require(*columns)
    if specs:
        frame = _scored(frame, cast("MetricSettings", settings), specs, scoring, notes)
    lower, _ = turned(frame.table, frame.metrics, getattr(settings, "lower", ()))
    known = {item.metric: item.signature for item in known_metrics(frame.name) if item.signature}
    frame = replace(
        frame,
        lower=[*dict.fromkeys([*frame.lower, *lower])],
        signatures={name: text for name, text in known.items() if name in columns} | dict(frame.signatures),
        notes=[*notes, *frame.notes],
    )
    return frame, settings


def _frame_of(texts: Input, settings: TableSettings, metrics: Sequence[str]) -> Frame:
    """Return the table, with a row for each system and segment, and what its columns hold."""
    fields = type(settings).model_fields
    asked = {name: getattr(settings, name) for name, field in fields.items() if option_of(field).column}
    named = frozenset(name for name, value in asked.items() if value)
    table: Table
    if texts.table is None:
        wants = wanted_sides(metrics, cast("MetricSettings", settings)) if metrics else frozenset[str]()
        table = LineTable(cast("LineFiles", texts.open(wants, keep_rows=False)))
        asked |= {**table.roles, "candidate": table.corpus.systems}
    elif texts.candidates or texts.references or texts.sources is not None:
        raise InputError("give either candidates and references, or a table with its columns, not both")
    else:
        table = open_table(texts.table)
        asked |= {"reference": texts.reference} if texts.reference else {}
    candidates, human = list(asked.get("candidate") or ()), asked.get("human") or ()
    if len(candidates) > 1 or texts.table is None:
        if asked.get("system") is not None:
            wrong = "several columns of candidates are the systems already: leave out system"
            raise InputError(wrong, setting="system")
        if asked.get("columns"):
            wrong = "columns needs one column of candidates: its scores are of one system"
            raise InputError(wrong, setting="columns")
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


def corpus_of(frame: Frame, wants: frozenset[str]) -> Corpus:
    """Return the texts to score: rows of a table, its columns of candidates side by side, or files of lines.

    Args:
        frame: whose rows they are, in its order.
        wants: what candidates are compared with: ``reference``, ``source`` or both.

    Raises:
        InputError: if the table has no such column.
    """
    table, candidates = frame.table, frame.roles["candidate"]
    if isinstance(table, LongTable):
        candidates, table = table.systems, table.wide
    if isinstance(table, LineTable):
        return table.corpus
    for role in ("candidate", "reference") if "reference" in wants else ("candidate",):
        replace(frame, table=table).needed(role)  # or lists the columns of this table
    references = frame.roles["reference"] if "reference" in wants else ()
    strict = "source" in wants or "source" in frame.named
    segment = None if frame.column("system") is None or table is not frame.table else frame.column("segment")
    return TableFile(table, candidates, references, segment, source=frame.column("source"), beside=not strict)


def _scored(
    frame: Frame,
    settings: MetricSettings,
    specs: Sequence[str],
    scoring: Callable[..., Iterator[ScoredBlock]],
    notes: list[str],
) -> Frame:
    """Return the frame with scores of these metrics."""
    progress = reporter(getattr(settings, "progress", None))
    column = frame.column("system") if not isinstance(frame.table, LongTable) else None
    systems = list(map(str, frame.read([], keys=[column])[column])) if column is not None else None
    corpus = corpus_of(frame, wanted_sides(specs, settings))
    plan = survey(corpus, settings.normalize)  # malformed input is found before a model is loaded
    metrics = build_metrics(specs, detected(settings, corpus, notes.append))
    prepared = prepare(metrics, corpus, plan=plan, progress=progress, say=getattr(settings, "say", None))
    tally, at = Tally(prepared), 0
    values, statistics = list[list[Array]](), list[list[Array]]()
    for block in scoring(prepared, progress=progress):
        named = None if systems is None else systems[at : at + len(block.segments)]
        tally.add(block, None if named is None else [name or None for name in named])
        values.append([scores.values for scores in block.scores])
        statistics.append([scores.statistics for scores in block.scores if scores.statistics is not None])
        at += len(block.segments)
    notes += [*about(metrics), *tally.flags(), *tally.outputs.notes()]
    summary, outputs = tally.summary(), tally.outputs.notices()
    summary |= {"outputs": as_json(outputs)} if outputs else {}
    signatures = {entry["metric"]: entry["signature"] for entry in summary["metrics"]}
    whole = [metric for metric, total in zip(metrics, tally.totals, strict=True) if total.statistics is not None]
    language = metrics[0].encoders.language
    return replace(
        frame,
        scores={
            metric.spec: np.concatenate(column).astype(np.float64)
            for metric, column in zip(metrics, zip(*values, strict=True), strict=True)
        },
        lower=[metric.spec for metric in metrics if not metric.higher_is_better],
        signatures=signatures,
        corpus={
            metric.spec: CorpusScores(np.concatenate(column), metric.system_score)
            for metric, column in zip(whole, zip(*statistics, strict=True), strict=True)
        },
        summary={**summary, "provenance": provenance("score", list(frame.files), signatures)},
        language=None if language is None else language.code,
        outputs=outputs,
    )
