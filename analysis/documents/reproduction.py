"""What ``bsx reproduce`` prints: published figures beside ours."""

from __future__ import annotations

from typing import Literal

from bsx.analysis.documents.base import DocumentPart, Number, ResultDocument

Verdict = Literal["met", "exception", "exception no longer needed", "off", "ours"]
"""``met``: within the tolerance. ``exception``: beyond it, for a named reason. ``exception no longer needed``: named as
an exception, but within the tolerance. ``off``: beyond it without a reason. ``ours``: no figure is published."""


class ReproducedCell(DocumentPart):
    """One figure.

    Attributes:
        at: which one: key, such as ``pair`` -> value, such as ``cs-en``.
        published: as published, or what else the table's ``called`` says.
        ours: recomputed.
        difference: ours - published.
        tolerance: how large the difference may be.
        verdict: what came out.
        reason: why it is an exception, or what else to know.
    """

    at: dict[str, str]
    published: Number
    ours: Number
    difference: Number = None
    tolerance: Number
    verdict: Verdict
    reason: str = ""


class LeftOut(DocumentPart):
    """What was not recomputed, and why."""

    what: str
    reason: str


class ReproducedTable(DocumentPart):
    """One publication's figures.

    Attributes:
        title: what they are.
        source: where they were published.
        data: what was read, as it lies in the folder of data.
        settings: what was published under which settings, and how ours are computed.
        cells: the figures.
        left_out: published figures that were not recomputed.
        called: what its figures are: ``published``, or ``independent`` if nobody printed them: computed from the same
            data by somebody else, or without bsx.
    """

    title: str
    source: str
    called: str = "published"
    data: list[str] = []
    settings: list[str] = []
    cells: list[ReproducedCell]
    left_out: list[LeftOut] = []

    def count(self, *verdicts: Verdict) -> int:
        """Return how many cells have one of these verdicts."""
        return sum(cell.verdict in verdicts for cell in self.cells)

    @property
    def largest(self) -> ReproducedCell | None:
        """The cell that uses up most of its tolerance, of those that meet it."""
        met = [cell for cell in self.cells if cell.verdict.endswith(("met", "needed"))]
        return max(met, key=lambda cell: abs(cell.difference or 0.0) / (cell.tolerance or 1.0), default=None)


class ReproduceDocument(ResultDocument):
    """``bsx reproduce``: ``tables`` is name -> figures, ``left_out`` the tables that were not recomputed."""

    ok: bool
    tables: dict[str, ReproducedTable]
    left_out: list[LeftOut] = []
