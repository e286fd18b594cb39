"""How well metrics agree with human judgments: scores of a table, or computed here and now, beside human scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.analysis.meta.categories import matching
from bsx.analysis.meta.evaluate import meta_evaluate
from bsx.analysis.meta.result import Judgments, MetaResult
from bsx.analysis.meta.sentinels import columns_of, is_learned, meant
from bsx.analysis.meta.settings import MetaSettings
from bsx.catalog.catalog import load_registry
from bsx.catalog.specs import split_specs
from bsx.data.frame import PAIR, Frame, LongTable
from bsx.data.long import ColumnNames, ScoreColumns
from bsx.data.output import check_table
from bsx.data.run import as_one_run
from bsx.data.sidecar import control_columns, known_scores
from bsx.errors import InputError
from bsx.frames.open import open_frame
from bsx.frames.settings import (
    HumanColumns,
    MetricSettings,
    TableSettings,
    TestSets,
    TextColumns,
    Watched,
    on_table,
)
from bsx.metrics.base import metric_names
from bsx.metrics.learned.seen import seen_notices
from bsx.support.settings import Option, part
from bsx.support.untyped import JsonObject


class MetaRun(
    Watched,
    MetaSettings,
    TestSets,
    TextColumns,
    MetricSettings,
    ScoreColumns,
    HumanColumns,
    TableSettings,
):
    """A meta-evaluation of scores that stand in a table, or of metrics computed on its texts."""

    human: Annotated[
        ColumnNames,
        Field(
            description="Columns of human scores; with several columns of candidates one for each, else several are "
            "several judgments, with a table each. [human, human_z or z]"
        ),
    ] = ()
    scores_out: Annotated[
        Path | str | None,
        Field(description="Keep the computed scores: .tsv, .csv, .jsonl, .parquet or .xlsx."),
        Option(writable=True),
    ] = None


@on_table(MetaRun)
@as_one_run
def meta(settings: MetaRun) -> MetaResult | Judgments:
    """Correlate metrics with human scores: per group with intervals, the average, and significant differences.

    Several columns of human scores are several judgments, with a result each.

    Args:
        settings: see `MetaRun`.

    Raises:
        InputError: for a table, column or metric that cannot be used.
    """
    if settings.scores_out is not None:
        check_table(Path(settings.scores_out))
        if not settings.metrics:
            raise InputError("scores_out needs metrics", setting="scores_out")
    frame, settings = open_frame(settings, chosen=_controls)
    if settings.scores_out is not None:
        frame.save(Path(settings.scores_out), frame.scores, _entries(frame, settings))
    return judged(frame, settings)


def _controls(frame: Frame, settings: MetaRun) -> tuple[Frame, MetaRun]:
    """Tell metrics and controls apart: names for patterns, learned sentinels, what a table knows, what is computed."""
    there, metrics, columns = frame.table.columns, list(settings.metrics), list(settings.columns)
    sentinels = meant(settings.sentinels, there if any("*" in name for name in settings.sentinels) else [])
    if not (metrics or columns):
        if not sentinels:
            sentinels = control_columns(frame.name, there)  # what was a control when it was scored stays one
        columns = [name for name in known_scores(frame.table) if is_learned(name) or name not in sentinels]
    sentinels += [name for name in columns if is_learned(name) and name not in sentinels]
    columns = [name for name in columns if not is_learned(name)]
    specs = [spec for text in metrics for spec in split_specs(text)]
    if twice := [name for name in sentinels if name in specs]:
        told = f"sentinels: {twice[0]!r} is among the metrics already: it is one or the other"
        raise InputError(told, setting="sentinels")
    computed = [name for name in sentinels if metrics and name.partition(":")[0] in metric_names()]
    if not (specs or columns):
        raise InputError(
            f"columns names the scores of metrics in it, metrics computes some; it has {', '.join(there)}",
            file=frame.name,
            setting="columns",
        )
    human = [frame.needed("human", "human scores")] if not settings.human else list(frame.roles["human"])
    if settings.categories and (len(human) > 1 or isinstance(frame.table, LongTable)):
        told = "categories needs one column of candidates and one of human scores: its scores are of one system"
        raise InputError(told, setting="categories")
    if settings.document is not None and settings.sampled == "systems":
        level = f"level {settings.level}" if settings.resample is None else f"resample {settings.resample}"
        raise InputError(f"document needs resample segments or both: {level} draws systems", setting="document")
    categories = matching(settings.categories, there, human[0])
    if settings.scores_out is not None and (twice := [name for name in (*specs, *computed) if name in there]):
        told = f"has a column {twice[0]!r} already, which scores_out adds: rename it"
        raise InputError(told, file=frame.name, setting="scores_out")
    frame.table.require(*columns, *human, *filter(None, [settings.group]))
    changed = {"sentinels": sentinels, "metrics": [*specs, *computed], "categories": categories}
    return frame, settings.model_copy(update={**changed, "columns": columns})


def _entries(frame: Frame, settings: MetaRun) -> list[JsonObject]:
    """Return what is known of the computed scores, with controls marked."""
    control = {"control": True}
    entries = (frame.summary or {})["metrics"]
    return [entry | (control if entry["metric"] in settings.sentinels else {}) for entry in entries]


def judged(frame: Frame, settings: MetaRun) -> MetaResult | Judgments:
    """Correlate scores with human scores; see `meta`.

    Args:
        frame: the scores.
        settings: how, with the sentinels by name.
    """
    metrics = [name for name in frame.metrics if name not in settings.sentinels]
    controls = columns_of(settings.sentinels, [*frame.metrics, *frame.table.columns], metrics)
    human, group = list(frame.roles["human"]), settings.group
    labels = [group, frame.column("segment")]
    document = frame.column("document")
    drawn = document if settings.sampled != "systems" else None
    labels += [drawn]
    within = [document] if document is not None and drawn is None and document not in labels else []
    system = frame.column("system")
    guessed = [system] if system is not None and not (settings.paired or "system" in frame.named) else []
    labels += [system] if not guessed else []
    numbers = [*metrics, *controls, *human, *settings.categories]
    pairs = [PAIR] if PAIR in frame.table.columns and PAIR not in (*numbers, *labels, *guessed) else []
    values = frame.read(numbers, labels, keys=[*guessed, *pairs, *within])
    unit = frame.unit(values, group=group, paired=settings.paired, judged=~np.isnan(np.asarray(values[human[0]])))
    lower = [name for name in frame.lower if name in (*metrics, *controls)]
    own = {**part(settings, MetaSettings), "group": group, "lower": lower, "corpus": frame.corpus}
    own |= {"system": unit.system, "segment": unit.segment}
    own |= {"document": unit.document if drawn is not None else None}
    results = [meta_evaluate(unit.values, metrics, name, **own) for name in human]
    named = [*metrics, *controls]
    signatures = {name: text for name, text in frame.signatures.items() if name in named}
    warnings = seen_notices(named, load_registry(settings.registry), lambda: frame.texts(human), signatures=signatures)
    notes = [*frame.notes, *unit.notes]
    if len(results) == 1:
        warnings = (*warnings, *results[0].warnings)
        return replace(results[0], signatures=signatures, notes=(*notes, *results[0].notes), warnings=warnings)
    # What holds for all judgments is said once.
    every = [result.notes for result in results]
    shared = [note for note in every[0] if all(note in others for others in every)]
    apart = [f"{result.human}: {note}" for result in results for note in result.notes if note not in shared]
    parts = tuple(replace(result, notes=()) for result in results)
    return Judgments(parts, signatures=signatures, notes=(*notes, *shared, *apart), warnings=warnings)
