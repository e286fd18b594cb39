"""How large a study must be, from a table as its pilot or from stated variances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from bsx.analysis.plan.designs import plan_compare as design_compare
from bsx.analysis.plan.designs import plan_meta as design_meta
from bsx.analysis.plan.result import PlanResult
from bsx.analysis.plan.settings import ComparePlan, MetaPlan
from bsx.data.columns import Labels
from bsx.data.frame import PAIR, Frame
from bsx.data.sidecar import known_scores, turned
from bsx.data.sources import AnyTable
from bsx.errors import InputError
from bsx.frames.open import open_frame
from bsx.frames.settings import FORMATS, TableSettings, on_table
from bsx.support.checks import Array
from bsx.support.settings import Option, refuse_idle, set_fields

_IDLE = ("columns", "segment", "document", "system")
_PILOT = Annotated[
    AnyTable | None,
    Field(description=f"Pilot: a table, {FORMATS}; none plans from stated variances."),
    Option(argument=True),
]


class PlanCompareRun(ComparePlan, TableSettings):
    """A comparison of two systems to plan, and the table that holds a pilot of it."""

    table: _PILOT = None


class PlanMetaRun(MetaPlan, TableSettings):
    """A comparison of two metrics to plan, and the table that holds a pilot of it."""

    table: _PILOT = None


@on_table(PlanCompareRun)
def plan_compare(settings: PlanCompareRun) -> PlanResult:
    """Plan a comparison of two systems, by a metric's scores or by human judgments.

    Args:
        settings: see `PlanCompareRun`.

    Raises:
        UnknownNameError: for a missing column or system.
        InputError: for a pilot or settings that cannot be used.
    """
    if settings.table is None:
        refuse_idle(settings, "without a table", *_IDLE, "systems")
        return design_compare(None, **set_fields(settings, "table"))
    frame, labels = _pilot(settings)
    read, (system, segment, document) = _read(frame, frame.metrics, labels), labels.values()
    if segment is not None and document is not None:
        read[segment] = frame.numbered(read[segment], read[document], None if system is None else read[system])
    plan = design_compare(read, **_given(settings), **labels, columns=frame.metrics)
    return replace(plan, signatures=dict(frame.signatures))


@on_table(PlanMetaRun)
def plan_meta(settings: PlanMetaRun) -> PlanResult:
    """Plan a comparison of two metrics by their correlations with human judgments.

    Args:
        settings: see `PlanMetaRun`.

    Raises:
        UnknownNameError: for a missing column.
        InputError: for a pilot or settings that cannot be used.
    """
    if settings.table is None:
        refuse_idle(settings, "without a table", *_IDLE, "human", "lower")
        return design_meta(None, **set_fields(settings, "table"))
    frame, labels = _pilot(settings)
    columns, human = frame.metrics, frame.needed("human", "human scores")
    guessed = [name for name in (labels["system"],) if name is not None and "system" not in frame.named]
    texts = {role: name for role, name in labels.items() if name not in guessed}
    read = _read(frame, [*columns, human], texts, guessed)
    unit = frame.unit(read, judged=~np.isnan(np.asarray(read[human])))  # rows are bound as `meta` binds them
    labels = {role: getattr(unit, role) for role in ("system", "segment", "document")}
    less, notes = turned(frame.table, columns, settings.lower)
    plan = design_meta(unit.values, **_given(settings, "lower"), **labels, human=human, columns=columns, lower=less)
    return replace(plan, signatures=dict(frame.signatures), notes=(*unit.notes, *notes))


def _pilot(settings: PlanCompareRun | PlanMetaRun) -> tuple[Frame, dict[str, Any]]:
    """Return a pilot, and its columns of what rows are: named, or by usual names."""

    def by_people(frame: Frame, settings: Any) -> tuple[Frame, Any]:
        human, columns = frame.column("human"), settings.columns or known_scores(frame.table)
        lacking = not columns and human is not None and isinstance(settings, PlanCompareRun)
        return frame, settings.model_copy(update={"columns": [human]}) if lacking else settings

    frame, _ = open_frame(settings, chosen=by_people)
    return frame, {role: frame.column(role) for role in ("system", "segment", "document")}


def _given(settings: PlanCompareRun | PlanMetaRun, *but: str) -> dict[str, Any]:
    return set_fields(settings, "table", "columns", "system", "segment", "document", "human", *but)


def _read(
    frame: Frame, numbers: list[str], labels: dict[str, str | None], keys: Sequence[str] = ()
) -> dict[str, Array | Labels]:
    pair = [PAIR] if PAIR in frame.table.columns and PAIR not in labels.values() else []
    read = frame.read(numbers, [*labels.values(), *pair], keys=keys)
    if pair and len(set(read[PAIR])) > 1:  # segments are numbered within language pairs
        raise InputError(f"column 'lp': {len(set(read[PAIR]))} language pairs: plan one at a time", file=frame.name)
    return read
