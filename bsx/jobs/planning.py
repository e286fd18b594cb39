"""How large a study must be, from a table as its pilot or from stated variances."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from bsx.analysis.planning.designs import plan_compare as design_compare
from bsx.analysis.planning.designs import plan_disentangle as design_disentangle
from bsx.analysis.planning.designs import plan_meta as design_meta
from bsx.analysis.planning.result import PlanResult
from bsx.analysis.planning.settings import ComparePlan, DisentanglePlan, MetaPlan, PilotColumns
from bsx.data.columns import Labels, read_columns
from bsx.data.sidecar import factor_columns, known_signatures, scored_columns
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.jobs.tables import FORMATS, TableSettings, find_columns, turned
from bsx.support.checks import Array
from bsx.support.settings import Option, set_fields, settled
from bsx.support.untyped import Settings

_PILOT = f"Pilot: a table, {FORMATS}; none plans from stated variances."


class PlanCompareRun(ComparePlan, TableSettings):
    """A comparison of two systems to plan, and the table that holds a pilot of it."""

    table: Annotated[str | None, Field(description=_PILOT), Option(argument=True)] = None


class PlanMetaRun(MetaPlan, TableSettings):
    """A comparison of two metrics to plan, and the table that holds a pilot of it."""

    table: Annotated[str | None, Field(description=_PILOT), Option(argument=True)] = None


class PlanDisentangleRun(DisentanglePlan, TableSettings):
    """A regression to plan, and the table that holds a pilot of it."""

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
        _refuse_columns(settings, "system", "systems")
        return design_compare(None, **set_fields(settings, "table"))
    table = Table(settings.table)
    roles = find_columns(table.columns, _asked(settings, "system"), "system", "segment", "document", "human")
    columns = list(settings.columns) or scored_columns(table.name, table.columns) or roles["human"]
    found = {name: _first(roles[name]) for name in ("system", "segment", "document")}
    read = _read(table, columns, [*found.values()])
    plan = design_compare(read, **{**_given(settings), **found, "columns": columns})
    return _signed(plan, table, columns)


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
        _refuse_columns(settings, "system", "human", "lower")
        return design_meta(None, **set_fields(settings, "table"))
    table = Table(settings.table)
    roles = find_columns(table.columns, _asked(settings, "system", "human"), "system", "segment", "document", "human")
    columns = list(settings.columns) or scored_columns(table.name, table.columns)
    found = {name: _first(roles[name]) for name in ("system", "segment", "document", "human")}
    if found["human"] is None:
        there = ", ".join(table.columns)
        raise InputError(f"human names the column of human scores; it has {there}", file=table.name)
    read = _read(table, [*columns, found["human"]], [found["system"], found["segment"], found["document"]])
    less, notes = turned(table, columns, settings.lower)
    plan = design_meta(read, **{**_given(settings), **found, "columns": columns, "lower": less})
    return replace(_signed(plan, table, columns), notes=tuple(notes))


@settled(PlanDisentangleRun)
def plan_disentangle(settings: PlanDisentangleRun) -> PlanResult:
    """Plan a regression for one coefficient; `bsx.analysis.plan_disentangle` works on columns.

    Args:
        settings: see `PlanDisentangleRun`.

    Raises:
        UnknownNameError: for a missing column.
        InputError: for a pilot or settings that cannot be used.
    """
    if settings.system is not None:
        raise InputError("system has no effect here: what rows share is their segments and documents", setting="system")
    if settings.table is None:
        _refuse_columns(settings)
        return design_disentangle(None, **set_fields(settings, "table"))
    table = Table(settings.table)
    roles = find_columns(table.columns, _asked(settings), "segment", "document")
    columns = list(settings.columns) or scored_columns(table.name, table.columns)
    factors = list(settings.factor_columns) or factor_columns(table.name, table.columns)
    found = {name: _first(roles[name]) for name in ("segment", "document")}
    read = _read(table, [*columns, *factors], [*found.values()])
    plan = design_disentangle(read, **{**_given(settings), **found, "columns": columns, "factor_columns": factors})
    return _signed(plan, table, [*columns, *factors])


def _asked(settings: PilotColumns, *names: str) -> dict[str, str | None]:
    return {name: getattr(settings, name) for name in ("segment", "document", *names)}


def _read(table: Table, numbers: list[str], labels: list[str | None]) -> dict[str, Array | Labels]:
    there = [name for name in dict.fromkeys(labels) if name is not None]
    pair = ["lp"] if "lp" in table.columns and "lp" not in there else []
    read = read_columns(table, list(dict.fromkeys(numbers)), [*there, *pair])
    if pair and len(set(read["lp"])) > 1:  # segments are numbered within language pairs
        raise InputError(f"column 'lp': {len(set(read['lp']))} language pairs: plan one at a time", file=table.name)
    return read


def _first(names: list[str]) -> str | None:
    return names[0] if names else None


def _given(settings: PilotColumns) -> Settings:
    return set_fields(settings, "table", "columns", "factor_columns", "system", "segment", "document", "human")


def _refuse_columns(settings: PilotColumns, *names: str) -> None:
    """Refuse columns where no table is given."""
    for name in ("columns", "segment", "document", *names):
        if getattr(settings, name) not in (None, ()):
            raise InputError(f"{name} has no effect without a table: leave it out, or name a pilot", setting=name)


def _signed(plan: PlanResult, table: Table, columns: list[str]) -> PlanResult:
    return replace(plan, signatures=known_signatures(table.name, columns))
