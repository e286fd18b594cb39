"""Systems under several metrics, beside what people said of differences as large: documents, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bsx.analysis.agreement.people import PeopleCurve, PeopleStep
from bsx.analysis.agreement.systems.compare import HOLLOW, MetricComparison, SystemTest, bold, daggers, digits_of
from bsx.analysis.agreement.systems.settings import CompareSettings
from bsx.analysis.documents.agreement import CompareDocument, ComparedRow, SystemRow, SystemTestRow
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.numbers import p_value
from bsx.analysis.render.plots import draw_dots
from bsx.analysis.render.sheets import Bold, Sheet
from bsx.analysis.render.svg import dots_svg
from bsx.support.result import as_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class CompareResult(InNotebooks):
    """Systems under several metrics.

    Attributes:
        settings: how they were compared.
        segments: how many segments they were compared on.
        metrics: one entry a metric.
        people: how often people agreed with differences of these metrics, by group, on other systems that they judged;
            may be empty.
        judged: name of the table of those systems.
    """

    settings: CompareSettings
    segments: int
    metrics: tuple[MetricComparison, ...]
    people: tuple[PeopleCurve, ...] = ()
    judged: str = ""

    @property
    def short(self) -> str:
        """Metrics, systems and segments."""
        return (
            f"{', '.join(found.metric for found in self.metrics)}; "
            f"{', '.join(score.system for score in self.metrics[0].systems)}; {self.segments} segments"
        )

    def agreed(self, metric: str, difference: float) -> PeopleStep | None:
        """Return the judged pairs that differ about as much under a metric, of all groups together; None without."""
        curve = next((one for one in self.people if one.metric == metric), None)
        return None if curve is None else curve.at(difference)

    def to_document(self) -> CompareDocument:
        """Return the document that ``bsx compare`` prints, without provenance."""
        names = [score.system for score in self.metrics[0].systems]
        people: dict[str, Any] = {}
        if self.people:
            people["people"] = [replace(curve, data=self.judged).to_dict() for curve in self.people]
        return CompareDocument(
            segments=self.segments,
            systems=names,
            baseline=None if self.settings.all_pairs else names[0],
            metrics=[_metric(found, self) for found in self.metrics],
            **people,
            settings={**self.settings.model_dump(), "resamples": self.settings.draws},
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain values; a randomisation has no interval of the difference."""
        return self.to_document().to_dict()

    def to_text(self) -> str:
        """Return a table for a terminal: the best are bold, and a dagger marks a significant difference."""
        level = f"{100 * self.settings.confidence:g}% interval"
        head = ["metric", "system", "score", level, "against", "difference", "p", ""]
        lines = Sheet("", head, self._rows(), "", names=2).table_text()
        note = f"Bold: {bold(self.settings.all_pairs)}.\n† {self._test}."
        return "\n\n".join([lines, *self._ranked(), note, *self._people()])

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return one row a metric and test."""
        return [row for found in self.metrics for row in found.records()]

    def sheets(self) -> Sequence[Sheet]:
        """Return systems by metrics, with the marks that the note explains."""
        header, *rows = self._systems()
        scores = ", ".join(found.shown for found in self.metrics)
        said = [line for part in [*self._ranked(), *self._people()] for line in part.split("\n")]
        every = self.settings.all_pairs
        note = " ".join([f"Bold: {bold(every)}. †: {daggers(every)}, p < {self.settings.alpha:g}.", *said])
        uncorrected = ", uncorrected" if self.settings.correction == "none" else ""
        title = f"Systems by {scores}; n = {self.segments} segments; {self._test}{uncorrected}"
        return [Sheet(title, header, rows, note)]

    def to_markdown(self, *, data: str = "", signatures: Mapping[str, str] | None = None) -> str:
        """Return the same table as Markdown, the signatures below."""
        return super().to_markdown(data=data, signatures={**self._signatures(), **(signatures or {})})

    def to_latex(self, *, data: str = "", signatures: Mapping[str, str] | None = None, label: str = "") -> str:
        """Return the same table as LaTeX, see `bsx.analysis.render.notebook.InNotebooks.to_latex`."""
        return super().to_latex(data=data, signatures={**self._signatures(), **(signatures or {})}, label=label)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw every system's score with its interval, a panel for each metric, the best on top."""
        level = f"{100 * self.settings.confidence:g} % interval"
        return draw_dots({found.shown: found.dots() for found in self.metrics}, f"{level}; {HOLLOW}", path)

    def charts(self) -> Mapping[str, str]:
        """Return the same picture for pages, one for each metric."""
        level = f"{100 * self.settings.confidence:g} % interval"
        return {
            found.shown: dots_svg(found.dots(), f"Systems by {found.shown}, the best on top", f"{level}; {HOLLOW}")
            for found in self.metrics
        }

    def _ranked(self) -> list[str]:
        """Return the systems of each metric by their rank clusters, one line a metric."""
        lines = []
        for found in self.metrics:
            if self.settings.all_pairs and (clusters := found.clusters) is not None:
                places: dict[int, list[str]] = {}
                for name, rank in zip(clusters.names, clusters.ranks, strict=True):
                    places.setdefault(rank, []).append(name)
                said = "; ".join(f"{rank} {', '.join(names)}" for rank, names in places.items())
                lines.append(f"Ranks by {found.metric}: {said}.")
        return ["\n".join(lines)] if lines else []

    def _signatures(self) -> dict[str, str]:
        return {found.metric: found.signature for found in self.metrics if found.signature is not None}

    def _people(self) -> list[str]:
        """Return what people said of differences as large, one line a test."""
        if not self.people:
            return []
        lines = []
        for found in self.metrics:
            curve = next((one for one in self.people if one.metric == found.metric), None)
            for test in found.tests if curve is not None else ():
                step = self.agreed(found.metric, test.comparison.difference)
                digits = digits_of(found)
                size = f"{abs(test.comparison.difference):.{digits}f}"
                size = f"{found.metric}, {test.a} and {test.b}: a difference of {size}"
                if step is None:
                    lines.append(f"{size} is 0, or larger than all in {self.judged}")
                    continue
                ends = f"[{100 * step.ci[0]:.0f}, {100 * step.ci[1]:.0f}]"
                lines.append(
                    f"{size}: people agreed on {100 * step.share:.0f} % {ends} of {step.n} pairs of systems in "
                    f"{self.judged} that differ by {step.low:.{digits}f} to {step.high:.{digits}f}"
                )
        return ["\n".join(lines)] if lines else []

    @property
    def _test(self) -> str:
        corrected = "" if self.settings.correction == "none" else f", {self.settings.correction} correction"
        method = self.metrics[0].tests[0].comparison.method
        drawn = f"{self.settings.draws} resamples of {self.segments} segments"
        return f"p < {self.settings.alpha:g}, two-sided{corrected}: {method}, {drawn}"

    def _systems(self) -> list[list[str]]:
        """Return a row a system, numbered if all pairs are compared, and a column a metric."""
        names = [score.system for score in self.metrics[0].systems]
        if self.settings.all_pairs:
            names = [f"{i + 1} {name}" for i, name in enumerate(names)]
        columns = [found.cells(every=self.settings.all_pairs) for found in self.metrics]
        head = ["system", *(found.metric for found in self.metrics)]
        return [head, *([name, *cells] for name, *cells in zip(names, *columns, strict=True))]

    def _rows(self) -> list[list[str]]:
        rows = []
        for found in self.metrics:
            digits, leaders = digits_of(found), found.leaders(every=self.settings.all_pairs)
            arrow = "" if found.higher_is_better else " (lower is better)"
            for score in found.systems:
                ends = f"[{score.low:.{digits}f}, {score.high:.{digits}f}]"
                figure = f"{score.score:.{digits}f}"
                cell = Bold(figure) if score.system in leaders else figure
                shown = [found.metric + arrow, score.system, cell, ends]
                tests = [test for test in found.tests if test.a == score.system]
                for k, test in enumerate(tests):
                    mark = "†" if test.better is not None else ""
                    difference = f"{test.comparison.difference:+.{digits}f}"
                    start = shown if k == 0 else [""] * len(shown)
                    rows.append([*start, test.b, difference, p_value(test.p_adjusted), mark])
                if not tests:
                    rows.append([*shown, *([""] * 4)])
        return rows


def _metric(found: MetricComparison, result: CompareResult) -> ComparedRow:
    clusters = found.clusters if result.settings.all_pairs else None
    ranks = {} if clusters is None else {n: {"rank": r} for n, r in zip(clusters.names, clusters.ranks, strict=True)}
    return ComparedRow(
        metric=found.metric,
        higher_is_better=found.higher_is_better,
        signature=found.signature,
        systems=[SystemRow.from_results(score, **ranks.get(score.system, {})) for score in found.systems],
        tests=[_test(test, result.agreed(found.metric, test.comparison.difference)) for test in found.tests],
    )


def _test(test: SystemTest, step: PeopleStep | None) -> SystemTestRow:
    found = test.comparison
    more: dict[str, object] = {} if step is None else {"people": as_json(step)}
    if np.isnan(found.low):
        more["ci"] = None
    return SystemTestRow.from_results(found, test, **more)
