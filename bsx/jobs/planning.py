"""How large a study must be, from a table as its pilot or from stated variances."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from bsx.analysis.planning.designs import plan_compare as design_compare
from bsx.analysis.planning.designs import plan_meta as design_meta
from bsx.analysis.planning.result import PlanResult
from bsx.analysis.planning.settings import ComparePlan, MetaPlan
from bsx.data.columns import Labels, read_columns
from bsx.data.sidecar import known_signatures, scored_columns
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.jobs.tables import FORMATS, TableSettings, find_columns, turned
from bsx.support.checks import Array
from bsx.support.settings import Option, refuse_idle, set_fields, settled

_PILOT = f"Pilot: a table, {FORMATS}; none plans from stated variances."
_ROLES = ("system", "segment", "document", "human")
_IDLE = ("columns", "segment", "document", "system")


class PlanCompareRun(ComparePlan, TableSettings):
    """A comparison of two systems to plan, and the table that holds a pilot of it."""

    table: Annotated[str | None, Field(description=_PILOT), Option(argument=True)] = None


class PlanMetaRun(MetaPlan, TableSettings):
    """A comparison of two metrics to plan, and the table that holds a pilot of it."""

    table: Annotated[str | None, Field(description=_PILOT), Option(argument=True)] = None


@settled(PlanCompareRun)
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
    table = Table(settings.table)
    found = _found(settings, table)
    human = found.pop("human")
    columns = list(settings.columns) or scored_columns(table.name, table.columns)
    columns = columns or [name for name in [human] if name is not None]
    plan = design_compare(
        _read(table, columns, found), **{**set_fields(settings, "table"), **found, "columns": columns}
    )
    return replace(plan, signatures=known_signatures(table.name, columns))


@settled(PlanMetaRun)
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
    table = Table(settings.table)
    found = _found(settings, table)
    columns, human = list(settings.columns) or scored_columns(table.name, table.columns), found["human"]
    if human is None:
        there = ", ".join(table.columns)
        raise InputError(f"human names the column of human scores; it has {there}", file=table.name)
    read = _read(table, [*columns, human], {**found, "human": None})
    less, notes = turned(table, columns, settings.lower)
    plan = design_meta(read, **{**set_fields(settings, "table"), **found, "columns": columns, "lower": less})
    return replace(plan, signatures=known_signatures(table.name, columns), notes=tuple(notes))


def _found(settings: PlanCompareRun | PlanMetaRun, table: Table) -> dict[str, str | None]:
    """Return what holds systems, segments, documents and human scores: as named, or by the usual names."""
    asked = {name: getattr(settings, name, None) for name in _ROLES}
    return {role: next(iter(names), None) for role, names in find_columns(table.columns, asked, *_ROLES).items()}


def _read(table: Table, numbers: list[str], labels: dict[str, str | None]) -> dict[str, Array | Labels]:
    named = [name for name in dict.fromkeys(labels.values()) if name is not None]
    pair = ["lp"] if "lp" in table.columns and "lp" not in named else []
    read = read_columns(table, list(dict.fromkeys(numbers)), [*named, *pair])
    if pair and len(set(read["lp"])) > 1:  # segments are numbered within language pairs
        raise InputError(f"column 'lp': {len(set(read['lp']))} language pairs: plan one at a time", file=table.name)
    return read
