"""What the battery of perturbations returns, as numbers, JSON and text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.analysis.adversarial.tables import ALPHA
from bsx.analysis.documents.adversarial import DropExampleRow, DropRow, LeftOutRow, PerturbDocument, RangeRow
from bsx.analysis.perturbations.perturb import Perturbed
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.numbers import p_value
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Sheet
from bsx.support.aligned import text_table
from bsx.support.checks import Array
from bsx.support.untyped import JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class CaseResult:
    """One metric under one perturbation, over the rows whose text changed; NaN where no row is left.

    Attributes:
        metric: name.
        perturbation: name.
        strength: share of words or letters; None if it has none.
        preserves: whether the meaning stays.
        n: rows whose text changed and whose scores are defined.
        unchanged: rows on which the perturbation acted without changing them.
        not_applicable: rows in which there was nothing it could act on.
        failed: rows whose text changed but which have no score.
        nearer: rows of the n in which a change of meaning brought the text nearer to its reference, by words in common.
        mean_clean: mean score of those rows' clean texts.
        mean_score: mean score of their changed texts.
        drop: mean of clean score minus changed score.
        low: lower end of its bootstrap interval.
        high: upper end.
        relative_drop: drop as a share of the metric's range.
        unnoticed: share of the rows whose changed text scores at least as high as the clean one.
        excess: mean of drop minus the control's drop, over rows that both changed; NaN for the control itself.
        excess_low: lower end of its bootstrap interval.
        excess_high: upper end.
        excess_n: rows that both changed.
        p: one-sided p-value of "the drop is greater than the control's" from random swaps of the two within rows.
        p_adjusted: p corrected for the number of tests; the same without a correction.
    """

    metric: str
    perturbation: str
    strength: float | None
    preserves: bool
    n: int
    unchanged: int
    not_applicable: int
    failed: int
    nearer: int
    mean_clean: float
    mean_score: float
    drop: float
    low: float
    high: float
    relative_drop: float
    unnoticed: float
    excess: float
    excess_low: float
    excess_high: float
    excess_n: int
    p: float
    p_adjusted: float

    def to_row(self) -> DropRow:
        """Return it as it stands in the document of ``bsx adversarial perturb``."""
        return DropRow.from_results(self, excess_ci=(self.excess_low, self.excess_high))


@dataclass(frozen=True)
class MetricRange:
    """How far a metric's scores can fall in practice.

    Attributes:
        metric: name.
        clean: mean score of the clean texts.
        unrelated: mean score of unrelated texts of the corpus against the same references.
        n: rows for which both are defined.
    """

    metric: str
    clean: float
    unrelated: float
    n: int

    @property
    def range(self) -> float:
        """Clean minus unrelated."""
        return self.clean - self.unrelated


@dataclass(frozen=True, repr=False)
class Robustness(InNotebooks):
    """How metrics behave under perturbations.

    Attributes:
        results: metrics x perturbations x strengths.
        worst: rows on which each metric did worst under each, without those counted as ``nearer``.
        ranges: the scale of relative drops, by metric.
        left_out: perturbation -> why it could not be applied.
        notes: what a reader should know.
        settings: everything that changes a number, besides the metrics.
        cases: the changed texts, in the order of the results of one metric.
        clean_scores: metric -> scores of the clean texts (n,).
        case_scores: metric -> scores under each case (cases, n); NaN where a text did not change.
    """

    results: tuple[CaseResult, ...]
    worst: tuple[DropExampleRow, ...]
    ranges: tuple[MetricRange, ...]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]
    settings: JsonObject
    cases: tuple[Perturbed, ...] = field(repr=False)
    clean_scores: Mapping[str, Array] = field(repr=False)
    case_scores: Mapping[str, Array] = field(repr=False)

    def to_document(self) -> PerturbDocument:
        """Return the document that ``bsx adversarial perturb`` prints, without provenance."""
        return PerturbDocument(
            results=[result.to_row() for result in self.results],
            worst=list(self.worst),
            ranges=[RangeRow.from_results(one) for one in self.ranges],
            left_out=[LeftOutRow(perturbation=name, why=why) for name, why in self.left_out.items()],
            settings=dict(self.settings),
            notes=list(self.notes),
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain values; what is not defined is None."""
        return self.to_document().to_dict()

    @property
    def short(self) -> str:
        """Metrics and perturbations."""
        changes = dict.fromkeys(result.perturbation for result in self.results)
        return f"{', '.join(one.metric for one in self.ranges)}; {len(changes)} perturbations"

    def sheets(self) -> Sequence[Sheet]:
        """Return a table for each metric."""
        made = []
        level = f"{100 * self.settings['confidence']:g} % bootstrap intervals"
        control = self.settings["control"]
        correction = self.settings["correction"]
        corrected = ", uncorrected" if correction == "none" else f", {correction} correction"
        note = (
            "drop: clean minus perturbed; rel: drop / (clean - unrelated); unseen: share of rows not scored lower; "
            f"excess: drop minus that of {control} on the same rows. †: excess > 0, p < {ALPHA}."
        )
        for scale in self.ranges:
            chosen = [result for result in self.results if result.metric == scale.metric]
            rows = []
            for one, cells in zip(chosen, _cells(chosen, control), strict=True):
                name, meaning, n, _, _, drop, ends, relative, unseen, excess, excess_ends, p = cells
                mark = "†" if one.p_adjusted < ALPHA else ""
                rows.append([name, meaning, n, f"{drop} {ends}", relative, unseen, f"{excess} {excess_ends}", p + mark])
            header = ["perturbation", "meaning", "n", "drop", "rel", "unseen", "excess", "p"]
            title = f"{_scale(scale)}; n = {scale.n}, {level}; one-sided permutation tests within rows{corrected}"
            made.append(Sheet(title, header, rows, note, names=2))
        return made

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return one row a metric, perturbation and strength."""
        return [asdict(one) for one in self.results]

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw relative drops, a panel for each metric; hollow: changes that keep the meaning."""
        panels = {}
        for scale in self.ranges:
            dots = []
            for one in (result for result in self.results if result.metric == scale.metric):
                name = one.perturbation + (f" {one.strength:g}" if one.strength is not None else "")
                low, high = (end / scale.range if scale.range else math.nan for end in (one.low, one.high))
                dots.append(Dot(name, one.relative_drop, low, high, hollow=one.preserves))
            panels[scale.metric] = dots
        return draw_dots(panels, "drop as a share of clean minus unrelated; hollow: the meaning stays", path, line=0)

    def to_text(self) -> str:
        """Return a table for each metric; what its columns mean stands below."""
        blocks = []
        for scale in self.ranges:
            chosen = [result for result in self.results if result.metric == scale.metric]
            head = ["perturbation", "meaning", "n", "n/a", "same", "drop", "", "rel", "unseen", "excess", "", "p"]
            lines = text_table([head, *_cells(chosen, self.settings["control"])], "llr")
            blocks.append(f"{_scale(scale)}\n{lines}")
        level = f"{100 * self.settings['confidence']:g}%"
        ending = [
            f"drop: clean minus perturbed, {level} bootstrap interval; rel: drop / (clean - unrelated); unseen: share "
            f"of rows not scored lower; excess: drop minus that of {self.settings['control']} on the same rows; "
            "p: excess > 0, one-sided"
            + ("" if self.settings["correction"] == "none" else f", {self.settings['correction']}")
        ]
        return "\n\n".join([*blocks, *ending]) + "\n"


def _scale(scale: MetricRange) -> str:
    return f"{scale.metric}: clean {_number(scale.clean)}, unrelated {_number(scale.unrelated)}"


def _cells(results: Sequence[CaseResult], control: str) -> list[list[str]]:
    rows = []
    for one in results:
        name = one.perturbation + (f" {one.strength:g}" if one.strength is not None else "")
        own = one.perturbation == control
        rows.append(
            [
                name + (" (control)" if own else ""),
                "keeps" if one.preserves else "changes",
                str(one.n),
                str(one.not_applicable),
                str(one.unchanged),
                _number(one.drop),
                _interval(one.low, one.high),
                _number(one.relative_drop, 2),
                _number(one.unnoticed, 2),
                _number(one.excess),
                _interval(one.excess_low, one.excess_high),
                p_value(one.p_adjusted),
            ]
        )
    return rows


def _number(value: float, digits: int = 4) -> str:
    return "-" if value != value else f"{value:.{digits}f}"


def _interval(low: float, high: float) -> str:
    return "" if low != low else f"[{low:.4f}, {high:.4f}]"
