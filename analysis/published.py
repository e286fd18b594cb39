"""Published tables recomputed: every figure as published and as computed here, with a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from bsx.errors import UnknownNameError
from bsx.support.near import did_you_mean
from bsx.support.result import Number, Result

Verdict = Literal["met", "exception", "exception no longer needed", "off", "ours"]
"""``met``: within the tolerance. ``exception``: beyond it, for a named reason. ``exception no longer needed``: named as
an exception, but within the tolerance. ``off``: beyond it without a reason. ``ours``: no figure is published."""


@dataclass(frozen=True, kw_only=True)
class ReproducedCell:
    """One figure.

    Attributes:
        at: which one: key, such as ``pair`` -> value, such as ``cs-en``.
        published: as published; None for a figure of ours next to the published ones.
        ours: recomputed.
        difference: ours - published.
        tolerance: how large the difference may be.
        verdict: what came out.
        reason: why it is an exception, or what else to know.
    """

    at: dict[str, str]
    published: float | None
    ours: Number
    difference: float | None
    tolerance: float | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """What was not recomputed, and why."""

    what: str
    reason: str
    __pydantic_config__: ClassVar[Mapping[str, object]] = {"extra": "forbid"}


@dataclass(frozen=True, kw_only=True)
class ReproducedTable:
    """One publication's figures.

    Attributes:
        title: what they are.
        source: where they were published.
        called: what figures that others computed are called, such as ``published``.
        data: what was read, as it lies in the folder of data.
        settings: what was published under which settings, and how ours are computed.
        cells: the figures.
        left_out: published figures that were not recomputed.
    """

    title: str
    source: str
    called: str = "published"
    data: tuple[str, ...]
    settings: tuple[str, ...]
    cells: tuple[ReproducedCell, ...]
    left_out: tuple[LeftOut, ...]

    def count(self, *verdicts: Verdict) -> int:
        """Return how many cells have one of these verdicts."""
        return sum(cell.verdict in verdicts for cell in self.cells)


@dataclass(frozen=True, kw_only=True, repr=False)
class Reproduced(Result):
    """Published figures and ours.

    Attributes:
        ok: whether no cell is beyond its tolerance without a reason.
        tables: name -> figures.
        left_out: tables that were not recomputed.
    """

    kind: ClassVar[str] = "reproduce"

    ok: bool
    tables: dict[str, ReproducedTable]
    left_out: tuple[LeftOut, ...]

    def __getitem__(self, name: str) -> ReproducedTable:
        """Return a table.

        Raises:
            UnknownNameError: if it was not recomputed.
        """
        if name not in self.tables:
            known = ", ".join(self.tables)
            raise UnknownNameError(f"{name} was not recomputed; there are {known}.{did_you_mean(name, self.tables)}")
        return self.tables[name]


def together(reproductions: Sequence[Reproduced]) -> Reproduced:
    """Return several results as one: of a table that one left out, another may have the figures."""
    tables = {name: table for result in reproductions for name, table in result.tables.items()}
    left_out = tuple(part for result in reproductions for part in result.left_out if part.what not in tables)
    return Reproduced(ok=all(result.ok for result in reproductions), tables=tables, left_out=left_out)
