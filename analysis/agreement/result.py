"""What a meta-evaluation returns, with its ways out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.analysis.agreement import sheets
from bsx.analysis.agreement.groups import Average, AverageTest, GroupResult
from bsx.analysis.agreement.plots import draw_agreement
from bsx.analysis.agreement.settings import MetaSettings
from bsx.analysis.documents.agreement import MetaAverageRow, MetaDocument, MetaMetricRow
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.sheets import Sheet, latex_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class MetaResult(InNotebooks):
    """A meta-evaluation.

    Attributes:
        settings: how it was done.
        human: the column of human scores.
        metrics: names, in the order given.
        groups: one result a group, in order of first appearance.
        average: one entry a metric, then one a control.
        notes: what was left out or turned round, one sentence each.
        systems: whether rows are arranged by system and segment.
        average_tests: of each pair of metrics' mean difference; empty for one group, or if nothing was tested.
        sentinels: names of the controls.
        control_tests: of the mean difference of each metric from each control.
        averaged: whether a mean over groups says anything; not where they are kinds of errors.
    """

    settings: MetaSettings
    human: str
    metrics: tuple[str, ...]
    groups: tuple[GroupResult, ...]
    average: tuple[Average, ...]
    notes: tuple[str, ...] = ()
    average_tests: tuple[AverageTest, ...] = ()
    systems: bool = False
    sentinels: tuple[str, ...] = ()
    control_tests: tuple[AverageTest, ...] = ()
    averaged: bool = True

    @property
    def short(self) -> str:
        """Figure, people, metrics and groups."""
        groups = ", ".join(group.group for group in self.groups)
        return f"{self.headline} of {', '.join(self.metrics)} with {self.human}; {groups}"

    def beats(self, metric: str, sentinel: str, group: str) -> bool | None:
        """Return whether a metric agrees better than a control in a group.

        It does if the difference is significant, as it is for winners, or without tests if its value is higher. None
        if one of the two has no value there.
        """
        found = next(one for one in self.groups if one.group == group)
        for test in found.control_tests:
            if (test.a, test.b) == (metric, sentinel):
                return test.wins(self.settings.alternative, self.settings.alpha)
        ours, control = found.find(metric), found.find(sentinel)
        return None if ours is None or control is None else ours.value > control.value

    def shown(self, metric: str) -> str:
        """Return what a row of a table is called: a control says that it is one."""
        return f"{metric} (control)" if metric in self.sentinels else metric

    @property
    def headline(self) -> str:
        """Name of the figure that has intervals, tests and an average."""
        return {"darr": "tau", "hybrid": "limit"}.get(self.settings.level, self.settings.statistic)

    def to_document(self) -> MetaDocument:
        """Return the document that ``bsx meta`` prints, without provenance."""
        rows = [
            MetaMetricRow.model_validate(
                {"metric": a.metric}
                | ({**a.figures, "ci": (a.low, a.high)} if self.averaged else dict.fromkeys([*a.figures, "ci"]))
                | {"wins": a.wins}
                | ({"control": True} if a.metric in self.sentinels else {})
            )
            for a in self.average
        ]
        how = f"mean difference, normal, {self.settings.sources} groups"
        more = {"control_tests": [test.to_row(how) for test in self.control_tests]} if self.sentinels else {}
        return MetaDocument(
            groups=[group.to_row() for group in self.groups],
            average=MetaAverageRow(
                groups=len(self.groups),
                metrics=rows,
                tests=[test.to_row(how) for test in self.average_tests],
                **more,
            ),
            target=self.settings.target,
            headline=self.headline,
            human=self.human,
            settings=self.settings.model_dump(),
            notes=[*self.notes, *sheets.beside_controls(self), *sheets.unseen(self)],
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain values; what is not defined is None."""
        return self.to_document().to_dict()

    def sheets(self) -> Sequence[Sheet]:
        """Return metrics by groups, winners bold, then the tests of each group."""
        return sheets.tables(self)

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return one row a group and metric, then one of averages a metric; the group of these is ``average``."""
        return sheets.records(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw every metric's agreement with its interval, group by group; winners are filled."""
        return draw_agreement(self, path)

    def to_text(self) -> str:
        """Return tables for a terminal, a summary first if there are several groups; winners are bold."""
        return sheets.text(self)

    def to_latex(self, *, data: str = "", signatures: Mapping[str, str] | None = None, label: str = "") -> str:
        """Return the same tables as LaTeX, see `bsx.analysis.render.notebook.InNotebooks.to_latex`.

        Intervals stand in small print below the figures.
        """
        made = [sheets.narrow(self), *sheets.tables(self)[1:]]
        return latex_tables(made, data=data, signatures=signatures, label=label or self._label())
