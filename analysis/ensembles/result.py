"""What an ensemble is worth: correlations, gains, tests, and their ways out, text and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bsx.analysis.documents.ensembles import EnsembleDocument, FoldWeights, GainRow, GainTestRow
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.numbers import p_value
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Bold, Sheet
from bsx.analysis.stats.results import Comparison
from bsx.catalog.combination import Combination
from bsx.support.aligned import text_table
from bsx.support.checks import Array
from bsx.support.untyped import JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = 0.05


@dataclass(frozen=True)
class GroupGain:
    """The ensemble in one group.

    Attributes:
        group: its name; ``all`` without groups.
        n: rows.
        members: metric -> Pearson's r with human scores, sign turned if lower is better.
        ensemble: r of the ensemble.
        best: the member that the ensemble is compared with.
        best_r: its r.
        gain: ensemble / best_r - 1; NaN where best_r is not above 0.
        low: lower end of the bootstrap interval of the gain.
        high: upper end.
        williams: Williams test of the ensemble against the best member.
        bootstrap_p: one-sided bootstrap p of "the ensemble agrees better than its best member".
        undefined: resamples in which the best member's r is not above 0; they are left out of the interval.
    """

    group: str
    n: int
    members: dict[str, float]
    ensemble: float
    best: str
    best_r: float
    gain: float
    low: float
    high: float
    williams: Comparison
    bootstrap_p: float
    undefined: int = 0

    def to_row(self) -> GainRow:
        """Return the group as it stands in the document of ``bsx ensemble``."""
        test = self.williams
        tests = [
            GainTestRow.from_results(test, a="ensemble", b=self.best, test="williams"),
            GainTestRow(a="ensemble", b=self.best, test="bootstrap", difference=test.difference, p=self.bootstrap_p),
        ]
        return GainRow.from_results(self, undefined_resamples=self.undefined, tests=tests)


@dataclass(frozen=True, repr=False)
class EnsembleResult(InNotebooks):
    """An ensemble, measured.

    Attributes:
        combination: the ensemble as it would be saved, fitted on all rows (or on the table given to fit on).
        groups: the ensemble in each group. Where weights are fitted and no table to fit on was given, its scores are
            those of cross-validation: no row's score comes from weights that the row was trained on.
        average_gain: mean of the groups' gains; NaN if one is undefined.
        low: lower end of its bootstrap interval.
        high: upper end.
        p: one-sided bootstrap p of "the average gain is above 0".
        folds: the training parts, if there were any.
        kept_together: columns whose equal cells keep rows in one fold and in one unit of the bootstrap.
        units: how many such sets of rows there are.
        fitted: rows that the combination was fitted on.
        omitted: rows left out because a number was missing.
        settings: as asked for.
        notes: what to know about the numbers.
        scores: of each row of the table (n,), those that `groups` are measured with; NaN where a number was missing.
    """

    combination: Combination
    groups: tuple[GroupGain, ...]
    average_gain: float
    low: float
    high: float
    p: float
    folds: tuple[FoldWeights, ...]
    kept_together: tuple[str, ...]
    units: int
    fitted: int
    omitted: int
    settings: JsonObject
    notes: tuple[str, ...]
    scores: Array = field(default_factory=lambda: np.empty(0), repr=False, compare=False)

    def to_document(self) -> EnsembleDocument:
        """Return the document that ``bsx ensemble`` prints, without provenance."""
        return EnsembleDocument(
            how=self.combination.how,
            normalise=self.combination.normalise,
            members=[member.metric for member in self.combination.members],
            lower=[member.metric for member in self.combination.members if member.lower],
            weights=dict(self.combination.weights),
            groups=[group.to_row() for group in self.groups],
            average_gain=self.average_gain,
            average_ci=(self.low, self.high),
            average_p=self.p,
            folds=list(self.folds),
            kept_together=list(self.kept_together),
            units=self.units,
            fitted=self.fitted,
            omitted=self.omitted,
            settings=self.settings,
            notes=list(self.notes),
        )

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain values for JSON; a number that is not finite becomes None."""
        return self.to_document().to_dict()

    @property
    def short(self) -> str:
        """Rule, members, groups and the average gain."""
        members = ", ".join(member.metric for member in self.combination.members)
        return f"{self.combination.how} of {members}; {len(self.groups)} groups, gain {_percent(self.average_gain)}"

    def sheets(self) -> Sequence[Sheet]:
        """Return the ensemble beside its best member in every group, then the weights."""
        rows = []
        for group in self.groups:
            best, own = f"{group.best_r:.4f}", f"{group.ensemble:.4f}"
            gain = f"{_percent(group.gain)} {_interval(group.low, group.high)}".rstrip()
            mark = "†" if group.williams.p < ALPHA else ""
            cells = [Bold(best) if group.best_r >= group.ensemble else best]
            cells += [Bold(own) if group.ensemble >= group.best_r else own, gain, f"{p_value(group.williams.p)}{mark}"]
            rows.append([group.group, group.best, str(group.n), *cells])
        average = f"{_percent(self.average_gain)} {_interval(self.low, self.high)}".rstrip()
        p = "-" if math.isnan(self.p) else f"{p_value(self.p)}{'†' if self.p < ALPHA else ''}"
        rows.append(["average", "", "", "", "", average, p])
        level = f"{100 * self.settings['confidence']:g} % intervals"
        members = len(self.combination.members)
        title = (
            f"{self.combination.how} of {members} metrics beside the best of them, Pearson's r with people, "
            f"n = {sum(group.n for group in self.groups)}; {level}; Williams tests (of the average: bootstrap), "
            "one-sided, uncorrected"
        )
        header = ["group", "best member", "n", "its r", "ensemble", "gain", "p"]
        note = f"Bold: the higher r. †: the ensemble agrees better, p < {ALPHA}."
        weights = [[name, f"{weight:+.4f}"] for name, weight in self.combination.weights.items()]
        where = "Weights, fitted on all rows" if self.folds else "Weights"
        return [Sheet(title, header, rows, note, names=2, foot=1), Sheet(where, ["metric", "weight"], weights)]

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return one row a group, then the average."""
        rows: list[Mapping[str, object]] = [
            {"group": one.group, "n": one.n, **{f"r_{name}": r for name, r in one.members.items()}}
            | {"ensemble": one.ensemble, "best": one.best, "best_r": one.best_r}
            | {"gain": one.gain, "low": one.low, "high": one.high}
            | {"p": one.williams.p, "bootstrap_p": one.bootstrap_p}
            for one in self.groups
        ]
        average = {"gain": self.average_gain, "low": self.low, "high": self.high, "bootstrap_p": self.p}
        return [*rows, {"group": "average", **average}]

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the gain over the best member in every group and on average, with intervals."""
        dots = [Dot(one.group, 100 * one.gain, 100 * one.low, 100 * one.high) for one in self.groups]
        dots.append(Dot("average", 100 * self.average_gain, 100 * self.low, 100 * self.high))
        return draw_dots({"": dots}, "gain over the best member (% of its r)", path, line=0)

    def to_text(self) -> str:
        """Return tables for the terminal."""
        level = f"{100 * self.settings['confidence']:g} % interval"
        rows = [["group", "n", "best member", "r", "ensemble", "gain", level, "Williams p"]]
        for group in self.groups:
            figures = [group.best, f"{group.best_r:.4f}", f"{group.ensemble:.4f}", _percent(group.gain)]
            ends = _interval(group.low, group.high)
            rows.append([group.group, str(group.n), *figures, ends, p_value(group.williams.p)])
        p = "" if math.isnan(self.p) else f"bootstrap p = {p_value(self.p)}"
        rows.append(["average", "", "", "", "", _percent(self.average_gain), _interval(self.low, self.high), p])
        weights = [[f"  {name}", f"{weight:+.4f}"] for name, weight in self.combination.weights.items()]
        head = f"{self.combination.how} of {len(self.combination.members)} metrics, Pearson's r with people"
        where = "weights, fitted on all rows" if self.folds else "weights"
        return "\n".join([head, text_table(rows, "lrlrrrl"), "", where, text_table(weights)])


def _interval(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"[{_percent(low)}, {_percent(high)}]"


def _percent(share: float) -> str:
    return "none" if math.isnan(share) else f"{100 * share:+.1f} %"
