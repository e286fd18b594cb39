"""Raters who are drawn beside segments or documents: intervals and tests that speak of other raters too."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bsx.analysis.meta.average import added_by, standard_error
from bsx.analysis.meta.result import MetricAgreement
from bsx.analysis.meta.settings import MetaSettings
from bsx.analysis.stats.resample import cluster_codes
from bsx.analysis.stats.results import Comparison
from bsx.data.columns import Labels
from bsx.support.checks import Array
from bsx.support.optional import need

FEWEST_RATERS = 5  # of fewer, next to nothing is known of other raters: intervals speak of those that judged


@dataclass(frozen=True, eq=False)
class Raters:
    """Raters who are drawn beside segments or documents, so that intervals and tests speak of other raters too.

    The variance over both is that over segments and that over raters less that over what a rater judged of a segment,
    which is in both; it is never taken to be less than the first. Degrees of freedom are those of the raters' part.

    Source: Cameron, Gelbach & Miller 2011 for two ways of clusters; Satterthwaite 1946 for degrees of freedom.

    Attributes:
        many: how many there are.
        added: what each segment (or document), each rater, and each two of them add to a metric's figure (units,).
        confidence: level of intervals.
    """

    many: int
    added: Sequence[Mapping[str, Array]]
    confidence: float

    def _reach(self, a: str, b: str | None = None) -> tuple[float, float]:
        """Return by how much the error of a figure, or a difference, is larger; and its degrees of freedom."""
        units, raters, both = (float(np.square(of[a] - (0.0 if b is None else of[b])).sum()) for of in self.added)
        more = max(0.0, raters * self.many / (self.many - 1) - both)
        if not (units > 0 and more > 0):
            return 1.0, math.inf
        return math.sqrt(1 + more / units), (self.many - 1) * (1 + units / more) ** 2

    def _ends(self, value: float, ends: tuple[float, float], wider: float, df: float) -> tuple[float, float]:
        stats, tail = need("scipy.stats", "intervals"), (1 - self.confidence) / 2
        wider *= float(stats.t.isf(tail, df) / stats.norm.isf(tail))
        return value - wider * (value - ends[0]), value + wider * (ends[1] - value)

    def metric(self, one: MetricAgreement) -> MetricAgreement:
        """Return a metric's figure with an interval for other raters too."""
        low, high = self._ends(one.value, one.ci, *self._reach(one.metric))
        return replace(one, ci=(max(-1.0, low), min(1.0, high)))

    def test(self, one: Comparison, a: str, b: str) -> Comparison:
        """Return a test of two metrics for other raters too."""
        (wider, df), error = self._reach(a, b), standard_error(one)
        if wider == 1 or not error > 0:
            return one
        p = float(2 * need("scipy.stats", "tests").t.sf(abs(one.difference) / error / wider, df))
        ends, floor = self._ends(one.difference, one.ci, wider, df), one.at_floor and math.isnan(one.ci[0])
        return replace(one, ci=ends, p=p / 2 if one.p < 0.5 else 1 - p / 2, p_two_sided=p, at_floor=floor)


def raters_of(
    rows: Mapping[str, Array],
    human: str,
    names: Sequence[Labels | None],
    raters: Labels,
    settings: MetaSettings,
) -> Raters | None:
    """Return the raters of a group's rows, if they are drawn: at level seg, `FEWEST_RATERS` or more, not one a row.

    Args:
        rows: scores (n,).
        human: name of the human scores among them.
        names: each row's system, segment and document, if known.
        raters: who judged each row (n,), empty where it is not known.
        settings: how.
    """
    here = ~np.any([np.isnan(x) for x in rows.values() if not np.isnan(x).all()], axis=0)
    who = [name or f"\0{row}" for row, name in enumerate(raters)]
    many = len({name for name, there in zip(who, here, strict=True) if there})
    if settings.level != "seg" or settings.sampled != "segments" or not FEWEST_RATERS <= many < int(here.sum()):
        return None
    _, segment, document = names
    units = document or segment or range(len(who))
    ways: list[Sequence[Hashable]] = [units, who, list(zip(units, who, strict=True))]
    places = np.arange(len(who))
    of_ways = [added_by(rows, human, names, cluster_codes(way), places, settings) for way in ways]
    return Raters(many, of_ways, settings.confidence)
