"""How large a study must be, from a table as its pilot or from stated variances."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from bsx.analysis.planning.designs import plan_compare as design_compare
from bsx.analysis.planning.designs import plan_meta as design_meta
from bsx.analysis.planning.result import PlanResult
from bsx.analysis.planning.settings import ComparePlan, MetaPlan
from bsx.data.columns import Labels, read_columns
from bsx.data.formats.memory import AnyTable
from bsx.data.sidecar import known_signatures
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.jobs.tables import FORMATS, TableSettings, find_columns, known_columns, on_table, turned
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
    """Plan a comparison of two systems; `bsx.analysis.plan_compare` works on columns.

    Args:
        settings: see `PlanCompareRun`.

    Raises:
        UnknownNameError: for a missing column or system.
        InputError: for a pilot or settings that cannot be used.
    """
    if settings.table is None:
        refuse_idle(dict(settings), PlanCompareRun, "without a table", *_IDLE, "systems")
        return design_compare(None, **set_fields(settings, "table"))
    table, columns, human, labels = _pilot(settings, settings.table)
    columns = columns or [name for name in [human] if name is not None]
    plan = design_compare(_read(table, columns, labels), **_given(settings), **labels, columns=columns)
    return replace(plan, signatures=known_signatures(table.name, columns))


@on_table(PlanMetaRun)
def plan_meta(settings: PlanMetaRun) -> PlanResult:
    """Plan a comparison of two metrics' correlations; `bsx.analysis.plan_meta` works on columns.

    Args:
        settings: see `PlanMetaRun`.

    Raises:
        UnknownNameError: for a missing column.
        InputError: for a pilot or settings that cannot be used.
    """
    if settings.table is None:
        refuse_idle(dict(settings), PlanMetaRun, "without a table", *_IDLE, "human", "lower")
        return design_meta(None, **set_fields(settings, "table"))
    table, columns, human, labels = _pilot(settings, settings.table)
    if human is None:
        there = ", ".join(table.columns)
        raise InputError(f"human names the column of human scores; it has {there}", file=table.name, setting="human")
    less, notes = turned(table, columns, settings.lower)
    read = _read(table, [*columns, human], labels)
    plan = design_meta(read, **_given(settings, "lower"), **labels, human=human, columns=columns, lower=less)
    return replace(plan, signatures=known_signatures(table.name, columns), notes=tuple(notes))


def _pilot(
    settings: PlanCompareRun | PlanMetaRun, pilot: AnyTable
) -> tuple[Table, list[str], str | None, dict[str, Any]]:
    """Return a pilot, its columns of metrics' and of human scores, and of what rows are: named, or by usual names."""
    table, roles = Table(pilot), ("system", "segment", "document", "human")
    asked = {role: getattr(settings, role, None) for role in roles}
    found = find_columns(table.columns, asked, *roles)
    labels: dict[str, Any] = {role: next(iter(names), None) for role, names in found.items()}
    columns = known_columns(table, settings.columns)
    return table, columns, labels.pop("human"), labels


def _given(settings: PlanCompareRun | PlanMetaRun, *but: str) -> dict[str, Any]:
    return set_fields(settings, "table", "columns", "system", "segment", "document", "human", *but)


def _read(table: Table, numbers: list[str], labels: dict[str, str | None]) -> dict[str, Array | Labels]:
    named = [name for name in dict.fromkeys(labels.values()) if name is not None]
    pair = ["lp"] if "lp" in table.columns and "lp" not in named else []
    read = read_columns(table, list(dict.fromkeys(numbers)), [*named, *pair])
    if pair and len(set(read["lp"])) > 1:  # segments are numbered within language pairs
        raise InputError(f"column 'lp': {len(set(read['lp']))} language pairs: plan one at a time", file=table.name)
    return read
