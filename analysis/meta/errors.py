"""Errors that do not cancel out: of means over groups that have segments in common, and of raters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from bsx.analysis.meta.result import Figure, GroupResult, MetricAgreement
from bsx.analysis.meta.settings import MetaSettings, averaged
from bsx.analysis.stats.clusters import adjust, corrected_tests
from bsx.analysis.stats.correlation import influence
from bsx.analysis.stats.equivalence import equivalence_p
from bsx.analysis.stats.resample import Indices, cluster_codes
from bsx.analysis.stats.results import Comparison
from bsx.data.columns import Labels
from bsx.support.checks import Array
from bsx.support.optional import need

FEWEST_RATERS = 5  # of fewer, next to nothing is known of other raters: intervals speak of those that judged


def shared_units(documents: Labels | None, segments: Labels | None, sources: Sequence[str] | None) -> Indices | None:
    """Number what groups may share: documents or segments that have the same sources, or the same names (n,).

    A document is that with which most of its sources stood first, so that one which misses a segment is still known.
    Documents are given if they are drawn, segments if they are named, and the text of sources if it is known (n,).
    """
    if sources is None or documents is None:
        names = sources or documents or segments
        return None if names is None else cluster_codes([name or f"\0{row}" for row, name in enumerate(names)])
    first: dict[Hashable, Hashable] = {}
    stood: dict[Hashable, Counter[Hashable]] = {}
    for document, source in zip(documents, sources, strict=True):
        stood.setdefault(document, Counter())[first.setdefault(source, document)] += 1
    return cluster_codes([stood[document].most_common(1)[0][0] for document in documents])


def added_by(
    rows: Mapping[str, Array],
    human: str,
    names: Sequence[Labels | None],
    units: Indices | None,
    places: Indices,
    settings: MetaSettings,
) -> dict[str, Array]:
    """Return what each unit adds to each metric's figure in a group (units,), which tells how far groups err together.

    It is the influence on Pearson's r: of ranks for rank correlations, and of scores less their mean by segment or
    system where pairs of these are judged. Where the systems' scores are correlated, units are only counted, as if all
    erred alike; systems that are drawn are not shared.
    """
    if units is None or (settings.level == "sys" and settings.sampled == "systems"):
        return {}
    present = ~np.any([np.isnan(x) for x in rows.values() if not np.isnan(x).all()], axis=0)
    by = "item" if settings.level in ("darr", "hybrid") else settings.grouped_by
    within = {"item": names[1], "sys": names[0]}.get(by)
    of = None if within is None else cluster_codes(list(compress(within, present)))

    def prepared(x: Array) -> Array:
        x = x[present]
        if of is not None:
            return x - (np.bincount(of, weights=x) / np.bincount(of))[of]
        if settings.statistic in ("pearson", "acc_eq"):
            return x
        return np.asarray(need("scipy.stats", "averages over groups").rankdata(x), dtype=np.float64)

    results, judged = dict[str, Array](), prepared(rows[human])
    for name, x in rows.items():
        scores = np.ones(len(judged))
        if settings.level != "sys":
            scores = prepared(x)
            with np.errstate(invalid="ignore", divide="ignore"):  # of what does not vary, as a constant
                turned = -1.0 if settings.absolute and (scores - scores.mean()) @ judged < 0 else 1.0
                scores = np.nan_to_num(turned * influence(scores, judged))
        added = np.bincount(units[places[present]], weights=scores, minlength=int(units.max()) + 1)
        results[name] = added.astype(np.float64)
    return results


def together(parts: Sequence[float], added: Sequence[Array]) -> float:
    """Return the error of the sum of groups' estimates from those of the groups.

    Errors of independent groups add up in squares; of those that share units, so do the products of each two, as far as
    the same units make both err. Errors that undo each other are not counted. ``added`` is what each unit adds to the
    estimate of each group (units,); empty where nothing is shared.

    Source: Zou & Donner 2008, with the correlations of Zou 2007.
    """
    errors = np.array(parts)
    square = float(errors @ errors)
    if added:
        table = np.stack(added)
        norms = np.linalg.norm(table, axis=1)
        table = table / np.where(norms > 0, norms, 1.0)[:, None] * errors[:, None]
        square = max(square, square + float(np.square(table.sum(axis=0)).sum() - np.square(table).sum()))
    return math.sqrt(square)


def standard_error(test: Comparison) -> float:
    """Return the standard error that gives a difference its two-sided p, or its interval its width if p is no help."""
    normal, (low, high) = need("scipy.stats", "standard errors").norm, test.ci
    if 1e-6 < test.p_two_sided < 0.9 and test.difference and not test.at_floor:
        return abs(test.difference) / float(normal.isf(test.p_two_sided / 2))
    if not math.isnan(low):
        return (high - low) / (2 * float(normal.ppf((1 + test.confidence) / 2)))
    # Permutations bound p from below; a smaller one would only make the error smaller.
    return abs(test.difference) / float(normal.isf(min(max(test.p_two_sided, 1e-6), 0.9) / 2))


def with_margin(tests: Sequence[Comparison], settings: MetaSettings) -> tuple[Comparison, ...]:
    """Test equivalence too, where there is a margin: by the interval, or the error that gives a test its p."""
    if settings.margin is None or not tests:
        return tuple(tests)
    normal = need("scipy.stats", "the test of equivalence").norm
    p = []
    for test in tests:
        half = float(normal.ppf((1 + settings.confidence) / 2)) * standard_error(test)
        ends = (test.difference - half, test.difference + half) if math.isnan(test.ci[0]) else test.ci
        p.append(equivalence_p(test.difference, ends, settings.margin, confidence=settings.confidence))
    place = {frozenset((test.a, test.b)): i for i, test in enumerate(tests)}  # both directions are one test
    adjusted = dict(zip(place, adjust([p[i] for i in place.values()], settings.corrected_by), strict=True))
    return tuple(replace(test, p_equivalence=float(adjusted[frozenset((test.a, test.b))])) for test in tests)


def average_tests(
    pairs: Iterable[tuple[str, str]],
    groups: Sequence[GroupResult],
    settings: MetaSettings,
    added: Sequence[Mapping[str, Array]] = (),
) -> tuple[Comparison, ...]:
    """Test whether two metrics' mean differences over groups are 0, one test for each pair, corrected.

    Each group's standard error is that with which its own test gets its two-sided p; ``added`` is, of each group, what
    each unit adds to a metric's figure (units,); see `together`.
    """
    normal = need("scipy.stats", "the test of an average").norm
    results, of_pairs = list[Comparison](), dict[tuple[str, str], list[Comparison]]()
    how: dict[str, Any] = {"method": "mean difference, normal", "unit": "group", "confidence": settings.confidence}
    for test in (test for group in groups for test in (*group.tests, *group.control_tests)):
        of_pairs.setdefault((test.a, test.b), []).append(test)
    for a, b in pairs:
        tests = of_pairs.get((a, b), [])
        if len(tests) < len(groups):
            continue
        adds = [of[a] if settings.level == "sys" else of[a] - of[b] for of in added if a in of and b in of]
        error = together(list(map(standard_error, tests)), adds if len(adds) == len(tests) else []) / len(tests)
        difference = float(np.mean([test.difference for test in tests]))
        z = difference / error if error > 0 else 0.0
        half = float(normal.ppf((1 + settings.confidence) / 2)) * error
        ends = (difference - half, difference + half)
        known = {**how, "n": len(tests), "p": float(normal.sf(z)), "p_two_sided": float(2 * normal.sf(abs(z)))}
        results.append(Comparison(a=a, b=b, difference=difference, ci=ends, statistic=z, **known))
    return with_margin(corrected_tests(results, settings.corrected_by), settings)


def average_of(
    metric: str,
    groups: Sequence[GroupResult],
    settings: MetaSettings,
    added: Sequence[Mapping[str, Array]] = (),
    *,
    competes: bool,
) -> MetricAgreement:
    """Return the plain mean over groups; its interval combines those of the groups, see `together`.

    Source: Zou & Donner 2008 (MOVER) for the interval of a sum from the intervals of its parts.
    """
    present = [agreement for group in groups if (agreement := group.find(metric)) is not None]
    tested = [group.clusters for group in groups if group.clusters is not None]
    wins = sum(metric in clusters.winners for clusters in tested) if tested and competes else None
    value, ends = math.nan, (math.nan, math.nan)
    figures: dict[str, Figure] = dict.fromkeys(averaged(settings.level, settings.statistic), math.nan)
    if len(present) == len(groups):
        for name in figures:
            figures[name] = float(np.mean(np.array([item.figures[name] for item in present], dtype=np.float64)))
        value = float(np.mean([agreement.value for agreement in present]))
        shared = [of[metric] for of in added if metric in of]
        shared = shared if len(shared) == len(present) else []
        down = together([agreement.value - agreement.ci[0] for agreement in present], shared) / len(present)
        up = together([agreement.ci[1] - agreement.value for agreement in present], shared) / len(present)
        ends = value - down, value + up
    return MetricAgreement(metric, value, ends, figures, control=not competes, wins=wins)


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

    def metric(self, agreement: MetricAgreement) -> MetricAgreement:
        """Return a metric's figure with an interval for other raters too."""
        low, high = self._ends(agreement.value, agreement.ci, *self._reach(agreement.metric))
        return replace(agreement, ci=(max(-1.0, low), min(1.0, high)))

    def test(self, test: Comparison, a: str, b: str) -> Comparison:
        """Return a test of two metrics for other raters too."""
        (wider, df), error = self._reach(a, b), standard_error(test)
        if wider == 1 or not error > 0:
            return test
        p = float(2 * need("scipy.stats", "tests").t.sf(abs(test.difference) / error / wider, df))
        ends, floor = self._ends(test.difference, test.ci, wider, df), test.at_floor and math.isnan(test.ci[0])
        return replace(test, ci=ends, p=p / 2 if test.p < 0.5 else 1 - p / 2, p_two_sided=p, at_floor=floor)


def raters_of(
    rows: Mapping[str, Array], human: str, names: Sequence[Labels | None], raters: Labels, settings: MetaSettings
) -> Raters | None:
    """Return the raters of a group's rows, if they are drawn: at level seg, `FEWEST_RATERS` or more, not one a row.

    ``rows`` are scores (n,), human ones among them; ``names`` each row's system, segment and document, if known.
    """
    present = ~np.any([np.isnan(x) for x in rows.values() if not np.isnan(x).all()], axis=0)
    many = len({*compress(raters, present)})
    if settings.level != "seg" or settings.sampled != "segments" or not FEWEST_RATERS <= many < int(present.sum()):
        return None
    places = np.arange(len(raters))
    units = names[2] or names[1] or places.tolist()
    ways: list[Sequence[Hashable]] = [units, raters, list(zip(units, raters, strict=True))]
    of_ways = [added_by(rows, human, names, cluster_codes(way), places, settings) for way in ways]
    return Raters(many, of_ways, settings.confidence)
