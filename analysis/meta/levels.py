"""How well metrics agree with human judgments in one group: of segments, preferences, systems or hybrid systems.

`bsx.analysis.meta.run` puts groups together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from bsx.analysis.meta.result import Figure, MetricAgreement, WithoutOne
from bsx.analysis.meta.settings import MetaSettings, Test
from bsx.analysis.stats import correlation
from bsx.analysis.stats.correlation import FEW_ITEMS, HEAVY_TAILS, bootstrap_correlations, tail_weight, without_each
from bsx.analysis.stats.resample import FEW_UNITS, Clustered, compared, drawn_units, percentile_interval, sampled_units
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.rowwise import ROWS
from bsx.analysis.stats.selection import expected_model_selection
from bsx.analysis.stats.significance import perm_both, williams
from bsx.analysis.stats.systems.darr import compare_darr, darr_from_pairs, preferences
from bsx.analysis.stats.systems.grouped import (
    POOLING,
    By,
    SegmentsToSystems,
    Statistic,
    group_mean,
    group_values,
    grouped,
    means_of_drawn,
    resampled_groups,
    resampled_scores,
    units_of,
)
from bsx.analysis.stats.systems.hybrid import compare_hybrid_limits, hybrid_correlation_limit, hybrid_systems
from bsx.analysis.stats.systems.soft import soft_pairwise_accuracy
from bsx.analysis.stats.systems.ties import compare_ties, pairwise_accuracy_with_ties
from bsx.data.frame import CorpusScores
from bsx.errors import InputError
from bsx.support.checks import Array

STATISTICS: tuple[Statistic, ...] = ("pearson", "spearman", "kendall")
FEWEST_ITEMS = 6  # of fewer, an interval of r = .5 holds more than three quarters of what r can be
Compare = Callable[[str, str], Comparison]


@dataclass(frozen=True)
class Rows:
    """One group's scores, every value present that is present in any column.

    Attributes:
        metrics: name -> scores, (n,) or (systems, segments); NaN where there is no row.
        human: of the same shape.
        segments: whether the columns of a matrix are segments; False if there is one row a system.
        systems: names of a matrix's rows, for messages.
        clusters: what is drawn whole, counted from 0: of vectors the document or segment of each row (n,), of matrices
            the document of each segment (segments,); None if rows or segments are drawn.
        families: the family of each system, drawn whole where systems are (systems,); None if systems are drawn.
        corpus: name -> what corpus scores are made of, in the arrangement of a matrix.
        whole: for ``level=sys``, the scores of all segments, judged or not; None where these are they.
    """

    metrics: Mapping[str, Array]
    human: Array
    segments: bool = True
    systems: Sequence[Hashable] = ()
    clusters: Clustered = None
    families: Clustered = None
    corpus: Mapping[str, CorpusScores] = field(default_factory=dict)
    whole: Rows | None = None

    def scored(self, name: str | None = None) -> SegmentsToSystems:
        """Return the function from how often segments are drawn (b, segments) to scores of systems (b, systems).

        They are a metric's, or human scores without a name.
        """
        if self.whole is not None:
            return self.whole.scored(name)
        corpus = None if name is None else self.corpus.get(name)
        if corpus is None:
            return means_of_drawn(self.human if name is None else self.metrics[name])

        def scores(counts: Array) -> Array:
            sums = np.einsum("bt,stk->bsk", counts, corpus.statistics)
            flat = [corpus.score(row) for row in sums.reshape(-1, sums.shape[-1])]
            return np.array(flat, dtype=np.float64).reshape(sums.shape[:2])

        return scores

    def of_systems(self, name: str | None = None) -> Array:
        """Return a metric's score of each system, human scores without a name (systems,)."""
        scores: Array = self.scored(name)(np.ones((1, (self.whole or self).human.shape[1])))[0]
        return scores

    def turned(self, names: Collection[str]) -> Rows:
        """Return the rows with the sign of some metrics turned."""
        metrics = {name: -x if name in names else x for name, x in self.metrics.items()}
        corpus = {name: upside_down(x) if name in names else x for name, x in self.corpus.items()}
        whole = None if self.whole is None else self.whole.turned(names)
        return replace(self, metrics=metrics, corpus=corpus, whole=whole)


def upside_down(corpus: CorpusScores) -> CorpusScores:
    """Return the corpus scores with their sign turned."""
    return CorpusScores(corpus.statistics, lambda sums: -corpus.score(sums))


@dataclass(frozen=True)
class Agreement:
    """All metrics of one group.

    Attributes:
        metrics: in the order given.
        test: the test that ``compare`` runs.
        compare: names of two metrics -> the test of "the first agrees better".
        notes: what was chosen for the reader.
    """

    metrics: list[MetricAgreement]
    test: Test
    compare: Compare
    notes: tuple[str, ...] = ()


def agreement(rows: Rows, settings: MetaSettings) -> Agreement:
    """Measure every metric of a group, whose rows are matrices for all levels but ``seg``.

    Raises:
        InputError: if rows are too few for what is asked, or nothing is defined.
    """
    if settings.absolute:  # metrics that rank upside down are turned round

        def flat(name: str | None = None) -> Array:
            if settings.level == "sys":
                return rows.of_systems(name)
            return (rows.human if name is None else rows.metrics[name]).ravel()

        human = flat()
        rows = rows.turned([name for name in rows.metrics if ROWS[settings.statistic](flat(name), human) < 0])
    if settings.level != "seg":
        return {"darr": _preferences, "sys": _systems, "hybrid": _hybrids}[settings.level](rows, settings)
    if rows.human.ndim == 2:
        return (_tied if settings.statistic == "acc_eq" else _grouped)(rows, settings)
    return _rowwise(rows, settings)


def _rowwise(rows: Rows, settings: MetaSettings) -> Agreement:
    """Rows that are independent, or of which some belong together: whole documents or segments are drawn."""
    x, human, clusters, statistic = rows.metrics, rows.human, rows.clusters, settings.statistic
    unit = "documents" if settings.document is not None else "segments"
    heavy = heavy_tails(x, human, settings) if clusters is None else []
    how: dict[str, Any] = {"clusters": clusters, "unit": unit}
    metrics = [correlations(name, x[name], human, settings, heavy=name in heavy, **how) for name in x]
    test = settings.test_for(dependent=clusters is not None, heavy=bool(heavy))
    if clusters is None:
        notes = about_tails(heavy, test, len(human), settings)
    else:
        like = {name: units_of((x[name][None],), human[None], "none", statistic, clusters=clusters) for name in x}
        notes = about_weights(like, drawn_units(len(human), clusters), unit)
    return Agreement(metrics, test, items_compared(x, human, test, settings, **how), notes)


def _grouped(rows: Rows, settings: MetaSettings) -> Agreement:
    """Segment level of matrices: intervals and tests resample the same, by default segments as a whole."""
    by, over, human, statistic = settings.grouped_by, settings.sampled, rows.human, settings.correlation
    how: dict[str, Any] = {"by": by, "statistic": statistic, "resample": over, "nan": "omit", "cluster": rows.clusters}
    metrics, notes = [], tuple[str, ...]()
    for name, x in rows.metrics.items():
        main = grouped(x, human, **how, **settings.resampling)
        figures = _by_group(x, human, by, statistics_of(settings))
        if by != "none":
            figures |= {"defined": main.groups, "undefined": main.undefined}
        metrics.append(MetricAgreement(name, main.estimate, main.ci, figures, main.method))
    test = settings.test_for(dependent=True)
    if over == "segments":
        like = {name: units_of((x,), human, by, statistic, over, rows.clusters) for name, x in rows.metrics.items()}
        unit = sampled_units(over, rows.clusters)
        notes = about_weights(like, drawn_units(rows.human.shape[1], rows.clusters), unit)
    if test != "williams":
        return Agreement(metrics, test, matrices_compared(rows, metrics, by, test, settings), notes)
    present = ~np.isnan(rows.human)
    flat = {name: x[present] for name, x in rows.metrics.items()}
    return Agreement(metrics, test, items_compared(flat, rows.human[present], test, settings), notes)


def _by_group(x: Array, human: Array, by: By, statistics: Sequence[Statistic]) -> dict[str, Figure]:
    """Return the mean over groups of each statistic."""
    return {statistic: float(group_mean(group_values(x, human, by, statistic))) for statistic in statistics}


def _tied(rows: Rows, settings: MetaSettings) -> Agreement:
    """Segment level: pairwise accuracy with ties calibrated for each metric, beside what chance would give."""
    by, human, metrics, epsilons = settings.grouped_by, rows.human, [], {}
    how: dict[str, Any] = {"by": by, "human_epsilon": settings.human_ties, "nan": "omit", "cluster": rows.clusters}
    for name, x in rows.metrics.items():
        result = pairwise_accuracy_with_ties(x, human, epsilon=None, **how, **settings.resampling)
        figures: dict[str, Figure] = {"acc_eq": result.estimate, "chance": result.chance, "epsilon": result.epsilon}
        figures |= _by_group(x, human, by, STATISTICS)
        epsilons[name] = result.epsilon
        metrics.append(MetricAgreement(name, result.estimate, result.ci, figures, result.method))
    test = settings.test_for(dependent=True)
    how |= {"test": "bootstrap" if test == "bootstrap" else "permutation", "plus_one": test == "permutation"}
    how |= {"swap": "pairs" if test == "perm-both" else "segments", **settings.resampling}

    def compare(a: str, b: str) -> Comparison:
        x, y = rows.metrics[a], rows.metrics[b]
        return compare_ties(x, y, human, epsilon_a=epsilons[a], epsilon_b=epsilons[b], **how)

    return Agreement(metrics, test, compare)


def _preferences(rows: Rows, settings: MetaSettings) -> Agreement:
    """Preferences between systems on one segment (DARR)."""
    better, worse = preferences(rows.human, threshold=settings.threshold, nan="omit")
    segment = better[1]
    if not len(segment):
        raise InputError(
            f"no two systems' human scores differ by {settings.threshold:g} or more on any segment; "
            "is the threshold on the scale of the human scores?"
        )
    clusters = None if rows.clusters is None else rows.clusters[segment]
    how: dict[str, Any] = {"ties": settings.ties, "unit": settings.unit, "cluster": clusters, **settings.resampling}
    sides = {name: (x[better], x[worse]) for name, x in rows.metrics.items()}
    metrics = []
    for name, both in sides.items():
        result = darr_from_pairs(*both, segment, **how)
        fields = ("concordant", "discordant", "ties", "n", "segments")
        figures: dict[str, Figure] = {"tau": result.estimate, **{field: getattr(result, field) for field in fields}}
        metrics.append(MetricAgreement(name, result.estimate, result.ci, figures, result.method))

    def compare(a: str, b: str) -> Comparison:
        return compare_darr(sides[a], sides[b], segment, **how)

    return Agreement(metrics, settings.test_for(dependent=True), compare)


def _systems(rows: Rows, settings: MetaSettings) -> Agreement:
    """Scores of systems, their order, and soft pairwise accuracy where there are scores of segments."""
    human, scores, over = rows.of_systems(), {name: rows.of_systems(name) for name in rows.metrics}, settings.sampled
    if over != "systems" and not rows.segments:
        raise InputError(f"resample {over} needs scores of segments: name the column segment", setting="resample")
    whole: dict[str, Any] = {} if rows.families is None else {"clusters": rows.families, "unit": "families"}
    heavy = heavy_tails(scores, human, settings) if not whole else []
    of = sampled_units(over, rows.clusters)
    # What an interval over segments or documents rests on.
    sample = rows.whole or rows
    units = drawn_units(sample.human.shape[1], sample.clusters) if over == "segments" else None

    @cache  # what an interval was made of serves the tests too
    def drawn(name: str, statistic: str) -> Array:
        sides = (rows.scored(name), rows.scored(), sample.human.shape)
        return resampled_scores(*sides, statistic, over, **settings.draw, clusters=sample.clusters)

    soft: dict[str, Any] = {"method": settings.spa, "resample": over, "nan": "omit", "names": rows.systems}
    soft |= {"permutations": 1000 if settings.spa == "wmt" else max(1000, settings.resamples)}
    soft |= {"cluster": rows.clusters, "families": rows.families, **settings.resampling}
    metrics = []
    for name, x in scores.items():
        result = correlations(name, x, human, settings, heavy=name in heavy, **whole)
        accuracy = correlation.pairwise_accuracy(x, human, **settings.resampling, clusters=rows.families)
        ends, method, accuracy_ends = result.ci, result.method, accuracy.ci
        if over != "systems":
            ends = percentile_interval(drawn(name, settings.statistic), settings.confidence, units)
            method = f"{settings.statistic}, bootstrap over {of}"
            accuracy_ends = percentile_interval(drawn(name, "pairwise_accuracy"), settings.confidence, units)
        figures = {**result.figures, "pairwise_accuracy": accuracy.estimate, "pairwise_accuracy_ci": accuracy_ends}
        figures |= {"spa": math.nan, "spa_ci": (math.nan, math.nan)}
        if rows.segments:
            spa = soft_pairwise_accuracy(rows.metrics[name], rows.human, **soft)
            figures |= {"spa": spa.estimate, "spa_ci": spa.ci}
        without, values = None, without_each(x, human, settings.statistic)
        if len(x) >= 4 and not np.isnan(values).all():
            low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
            lowest, highest = ((float(values[place]), str(rows.systems[place])) for place in (low, high))
            without = WithoutOne(*lowest, *highest)
        kind = "corpus scores" if name in sample.corpus else "means"
        method = f"{method}, systems ({kind} of {'judged' if rows.whole is None else 'all'} segments)"
        metrics.append(MetricAgreement(name, result.value, ends, figures, method, without_one=without))
    test = settings.test_for(dependent=True, heavy=bool(heavy or whole))
    swapped = test == "permutation" and over == "segments"
    if swapped and rows.whole is not None:
        raise InputError(
            "test permutation cannot swap the segments of corpus scores, nor those that nobody judged: use "
            "bootstrap, resample systems or system_score judged",
            setting="test",
        )
    values_of = {metric.metric: metric.value for metric in metrics}

    def resampled(a: str, b: str) -> Comparison:
        draws = drawn(a, settings.statistic) - drawn(b, settings.statistic)
        method = f"difference of {settings.statistic} (of systems), paired bootstrap over {of}"
        return compared(values_of[a], values_of[b], draws, len(human), method, settings.confidence, units)

    if test == "bootstrap" and not whole:
        compare: Compare = resampled
    elif swapped or (test == "perm-both" and rows.segments):
        compare = matrices_compared(rows, metrics, "means", test, settings)
    else:
        compare = items_compared(scores, human, test, settings, **whole)
    if whole:
        families = drawn_units(len(human), rows.families)
        note = f"{len(human)} systems of {families} families, which are drawn whole"
        return Agreement(metrics, test, compare, (note,))
    return Agreement(metrics, test, compare, about_tails(heavy, test, len(human), settings))


def _hybrids(rows: Rows, settings: MetaSettings) -> Agreement:
    """Hybrid systems, of segments that are drawn from all systems."""
    x, human = rows.metrics, rows.human
    how: dict[str, Any] = {"nan": "omit", "cluster": rows.clusters, **settings.resampling}
    every = np.stack(list(x.values()))
    drawn, drawn_human = hybrid_systems(every, human, settings.hybrids, seed=settings.seed, nan="omit")
    scores = dict(zip(x, drawn, strict=True))
    metrics = []
    for name, values in scores.items():
        limit = hybrid_correlation_limit(x[name], human, **how)
        sampled = correlation.pearson(values, drawn_human, confidence=settings.confidence)
        chosen = expected_model_selection(values, drawn_human, settings.sample)
        figures: dict[str, Figure] = {"limit": limit.estimate, "pearson": sampled.estimate, "pearson_ci": sampled.ci}
        figures |= {field: getattr(chosen, field) for field in ("hits_at_1", "mrr", "difference")}
        metrics.append(MetricAgreement(name, limit.estimate, limit.ci, figures, limit.method))
    test = settings.test_for(dependent=True)

    def compare(a: str, b: str) -> Comparison:
        if test == "williams":
            return checked_williams(scores[a], scores[b], drawn_human, settings)
        return compare_hybrid_limits(x[a], x[b], human, **how)

    return Agreement(metrics, test, compare)


# What the levels share: correlations with intervals, heavy tails, and tests between two metrics.


def statistics_of(settings: MetaSettings) -> tuple[Statistic, ...]:
    """Return what is measured: tau-c only on request."""
    return (*STATISTICS, "kendall_c") if settings.statistic == "kendall_c" else STATISTICS


def correlations(
    name: str,
    x: Array,
    human: Array,
    settings: MetaSettings,
    *,
    heavy: bool = False,
    clusters: Clustered = None,
    unit: str = "items",
) -> MetricAgreement:
    """Correlate vectors (n,).

    The interval of fewer than 20 items reaches over those without each one of them; of more, it is Fisher's, and a
    bootstrap where tails are heavy, or of Kendall's tau, as grades tie often. With ``clusters`` (n,) it is a bootstrap
    over those, which are called ``unit``.
    """
    results: dict[str, Estimate] = {}
    for statistic in statistics_of(settings):
        if statistic != settings.statistic or clusters is not None:
            interval = "none"
        elif len(human) < FEW_ITEMS and statistic != "kendall_c":
            interval = "leave-one-out"
        else:
            interval = "bootstrap" if statistic.startswith("kendall") or heavy else "analytic"
        variant = {"variant": "c"} if statistic == "kendall_c" else {}
        measure = getattr(correlation, statistic.removesuffix("_c"))
        results[statistic] = measure(x, human, interval=interval, **variant, **settings.resampling)
    main = results[settings.statistic]
    ends, method = main.ci, main.method
    if clusters is not None:
        drawn = bootstrap_correlations(x[None], human, settings.statistic, **settings.draw, clusters=clusters)[:, 0]
        units = units_of((x[None],), human[None], "none", settings.statistic, clusters=clusters)
        ends, method = percentile_interval(drawn, settings.confidence, units), f"{method}, bootstrap over {unit}"
    figures: dict[str, Figure] = {statistic: estimate.estimate for statistic, estimate in results.items()}
    return MetricAgreement(name, main.estimate, ends, figures, method)


def heavy_tails(metrics: Mapping[str, Array], human: Array, settings: MetaSettings) -> list[str]:
    """Return the metrics whose tails, with human scores', are too heavy for Fisher's interval and the Williams test.

    Few items show less of their tails than there is: any weight above the normal's counts then.
    """
    if settings.statistic != "pearson":
        return []
    limit = HEAVY_TAILS if len(human) >= FEW_ITEMS else 1.0
    return [name for name, x in metrics.items() if tail_weight(x, human) > limit]


def about_tails(heavy: list[str], test: Test, n: int, settings: MetaSettings) -> tuple[str, ...]:
    """Return what is said of heavy tails and of few items, if there are some: what was chosen, and for what."""
    notes, items = [], "systems" if settings.level == "sys" else "rows"
    permuted = test == "permutation" and settings.test is None
    if heavy:
        tested = ["permutation instead of the Williams test"] if permuted else []
        interval = ["a bootstrap interval instead of Fisher's"] if n >= FEW_ITEMS else []
        if chosen := ", and ".join([*interval, *tested]):
            notes.append(f"heavy tails of {', '.join(heavy)} with human scores: {chosen}")
    if n >= FEW_ITEMS or (settings.level == "sys" and settings.sampled != "systems"):
        return tuple(notes)
    if settings.statistic != "kendall_c":
        each = items.removesuffix("s")
        notes.append(f"{n} {items}: an interval reaches over those without each one {each}, as one can carry them all")
    if n < FEWEST_ITEMS:
        notes.append(f"{n} {items} say next to nothing about others: intervals are as wide as that")
    if permuted and 2.0 ** (1 - n) > settings.alpha:
        notes.append(f"with {n} {items} a permutation cannot give a p under {2.0 ** (1 - n):.2g}")
    return tuple(notes)


def about_weights(worth: Mapping[str, int], units: int, unit: str) -> tuple[str, ...]:
    """Return what is said of metrics whose figures hang on a few of the units that are drawn, if there are some.

    ``worth`` says of each metric how many like units its interval rests on.
    """
    few = [f"{name} ({count})" for name, count in worth.items() if count < min(units, FEW_UNITS) / 2]
    note = (
        f"a few of {units} {unit} determine the correlation of {', '.join(few)}; intervals and tests between metrics "
        f"are as wide as with the number of {unit} in brackets"
    )
    return (note,) if few else ()


def items_compared(
    metrics: Mapping[str, Array],
    human: Array,
    test: Test,
    settings: MetaSettings,
    clusters: Clustered = None,
    unit: str = "items",
) -> Compare:
    """Return the comparison of columns (n,) whose items are independent, or whose clusters (n,), called ``unit``."""
    if test == "williams":
        return lambda a, b: checked_williams(metrics[a], metrics[b], human, settings)
    statistic = settings.correlation
    if test in ("perm-both", "permutation"):
        whole = test == "permutation"
        items = unit if clusters is not None else "systems" if settings.level == "sys" else "rows"
        chosen = settings.test is None and (len(human) < FEW_ITEMS or bool(heavy_tails(metrics, human, settings)))

        method = f"difference of {statistic}, permutation of {items}"
        method += ", scores over their median absolute deviation" if chosen else ""
        how: dict[str, Any] = {"statistic": statistic, "plus_one": whole, "scale": "mad" if chosen else "sd"}
        how |= {"cluster": clusters if whole else None, **settings.draw}

        def permuted(a: str, b: str) -> Comparison:
            result = perm_both(metrics[a], metrics[b], human, **how)
            return replace(result, method=method) if whole else result

        return permuted

    @cache  # drawn when the first pair needs it, for all pairs
    def resampled() -> dict[str, Array]:
        columns = np.stack(list(metrics.values()))
        draws = bootstrap_correlations(columns, human, statistic, clusters=clusters, **settings.draw)
        return dict(zip(metrics, draws.T, strict=True))

    values = {name: float(ROWS[statistic](x, human)) for name, x in metrics.items()}
    method = f"difference of {statistic}, paired bootstrap{'' if clusters is None else f' over {unit}'}"

    def compare(a: str, b: str) -> Comparison:
        both, units = (metrics[a][None], metrics[b][None]), None
        if clusters is not None:
            units = units_of(both, human[None], "none", statistic, clusters=clusters)
        draws = resampled()[a] - resampled()[b]
        return compared(values[a], values[b], draws, len(human), method, settings.confidence, units)

    return compare


def matrices_compared(
    rows: Rows, agreements: list[MetricAgreement], by: By, test: Test, settings: MetaSettings
) -> Compare:
    """Return the comparison of matrices (systems, segments) by resampling or swapping."""
    x, human, statistic, over = rows.metrics, rows.human, settings.correlation, settings.sampled
    clusters = rows.clusters
    if test in ("perm-both", "permutation"):
        swap = "cells" if test == "perm-both" else "systems" if over == "systems" else "segments"
        how: dict[str, Any] = {"swap": swap, "plus_one": test == "permutation", "nan": "omit", **settings.draw}
        how["cluster"] = clusters if swap == "segments" else None
        return lambda a, b: perm_both(x[a], x[b], human, by=by, statistic=statistic, **how)

    @cache  # drawn when the first pair needs it, for all pairs
    def resampled(name: str) -> Array:
        draws: dict[str, Any] = {**settings.draw, "resample": over, "clusters": clusters}
        return resampled_groups(x[name], human, by, statistic, **draws)

    values = {metric.metric: metric.value for metric in agreements}
    drawn = sampled_units(over, clusters)
    method = f"difference of {statistic} ({POOLING[by]}), paired bootstrap over {drawn}"
    n = int((~np.isnan(human)).sum())

    def compare(a: str, b: str) -> Comparison:
        units = units_of((x[a], x[b]), human, by, statistic, over, clusters)
        return compared(values[a], values[b], resampled(a) - resampled(b), n, method, settings.confidence, units)

    return compare


def checked_williams(a: Array, b: Array, human: Array, settings: MetaSettings) -> Comparison:
    """Run the Williams test; say what to do if there are too few items for it."""
    if len(human) < 4:
        raise InputError(
            f"{len(human)} rows or systems are too few for the Williams test, which needs 4; test none leaves it out"
        )
    return williams(a, b, human, confidence=settings.confidence)
