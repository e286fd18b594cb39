"""Tests between metrics, corrected for their number; the winners that they give; means over groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bsx.analysis.meta.measures import Agreement
from bsx.analysis.meta.result import Figure, GroupResult, MetricAgreement, Winners
from bsx.analysis.meta.settings import MetaSettings, averaged
from bsx.analysis.stats.clusters import Clusters, adjust, compare_all, corrected_tests, significance_clusters
from bsx.analysis.stats.equivalence import equivalence_p
from bsx.analysis.stats.results import Comparison
from bsx.support.optional import need
from bsx.support.untyped import Untyped


def tests_against(
    agreement: Agreement,
    metrics: Sequence[MetricAgreement],
    controls: Sequence[MetricAgreement],
    settings: MetaSettings,
) -> tuple[Comparison, ...]:
    """Return the test of each metric against each control, corrected as the settings say."""
    if agreement.test == "none":
        return ()
    pairs = [(a.metric, b.metric) for a in metrics for b in controls]
    tests = [replace(agreement.compare(a, b), a=a, b=b) for a, b in pairs]
    tests = list(_with_margin(tests, settings))
    return _corrected(tests, settings) if settings.correction_over == "group" else tuple(tests)


def _with_margin(tests: Sequence[Comparison], settings: MetaSettings) -> tuple[Comparison, ...]:
    """Test equivalence too, where there is a margin: by the interval, or the error that gives a test its p."""
    if settings.margin is None or not tests:
        return tuple(tests)
    normal = need("scipy.stats", "the test of equivalence").norm
    p = []
    for test in tests:
        half = float(normal.ppf((1 + settings.confidence) / 2)) * _standard_error(test, settings.confidence, normal)
        ends = (test.difference - half, test.difference + half) if math.isnan(test.ci[0]) else test.ci
        p.append(equivalence_p(test.difference, ends, settings.margin, confidence=settings.confidence))
    place = {frozenset((test.a, test.b)): i for i, test in enumerate(tests)}  # both directions are one test
    adjusted = dict(zip(place, adjust([p[i] for i in place.values()], settings.correction), strict=True))
    return tuple(replace(test, p_equivalence=float(adjusted[frozenset((test.a, test.b))])) for test in tests)


def _corrected(tests: Sequence[Comparison], settings: MetaSettings) -> tuple[Comparison, ...]:
    return corrected_tests(tests, settings.correction, lambda test: _deciding(test, settings))


def tests_between(
    agreement: Agreement, names: list[str], settings: MetaSettings
) -> tuple[tuple[Comparison, ...], Winners | None]:
    """Return all tests, corrected as the settings say, and the clusters they give."""
    if agreement.test == "none" or len(names) < 2:
        return (), None
    # compare_all wants arrays; the comparison of a level knows its own, so names travel as numbers.
    numbered = {name: np.array(i) for i, name in enumerate(names)}
    every = compare_all(
        numbered,
        np.array(0),
        lambda a, b, _: agreement.compare(names[int(np.asarray(a))], names[int(np.asarray(b))]),
        correction=settings.correction,
        alternative=settings.alternative,
        alpha=settings.alpha,
    )
    order = every.clusters.names
    tests = []
    for (a, b), comparison in every.tests.items():
        counts = settings.correction != "none" and order.index(a) < order.index(b)
        p = float(every.p[names.index(a), names.index(b)]) if counts else None
        tests.append(replace(comparison, a=a, b=b, p_adjusted=p))
    return _with_margin(tests, settings), _winners(every.clusters)


def corrected_over_all(results: list[GroupResult], settings: MetaSettings) -> list[GroupResult]:
    """Correct the p-values of all groups together, one family, and find the winners anew."""
    tested = [(group, group.clusters) for group in results if group.clusters is not None]
    better: dict[tuple[int, str, str], float] = {}
    for k, (group, ranked) in enumerate(tested):
        order = list(ranked.ranks)
        better |= {(k, t.a, t.b): _deciding(t, settings) for t in group.tests if order.index(t.a) < order.index(t.b)}
    adjusted = dict(zip(better, adjust(list(better.values()), settings.correction), strict=True))
    outcome = {}
    for k, (group, ranked) in enumerate(tested):
        names = list(ranked.ranks)
        p = np.ones((len(names), len(names)))
        tests = []
        for test in group.tests:
            decides = adjusted.get((k, test.a, test.b))
            p[names.index(test.a), names.index(test.b)] = test.p if decides is None else decides
            tests.append(replace(test, p_adjusted=None if decides is None else float(decides)))
        clusters = significance_clusters({name: group[name].value for name in names}, p, alpha=settings.alpha)
        outcome[group.group] = replace(group, tests=tuple(tests), clusters=_winners(clusters))
    against = iter(_corrected([test for group in results for test in group.control_tests], settings))
    return [
        replace(outcome.get(group.group, group), control_tests=tuple(next(against) for _ in group.control_tests))
        for group in results
    ]


def _deciding(test: Comparison, settings: MetaSettings) -> float:
    return test.p_two_sided if settings.alternative == "two-sided" else test.p


def _winners(clusters: Clusters) -> Winners:
    return Winners(clusters.winners, dict(zip(clusters.names, clusters.ranks, strict=True)), clusters.alpha)


def average_tests(
    pairs: Sequence[tuple[str, str]], groups: Sequence[GroupResult], settings: MetaSettings
) -> tuple[Comparison, ...]:
    """Test whether two metrics' mean differences over groups are 0, one test for each pair, corrected.

    Each group's standard error is that with which its own test gets its two-sided p. Errors of independent groups add
    up in squares; those of groups that share sources, at worst, as they are.
    """
    normal = need("scipy.stats", "the test of an average").norm
    results: list[Comparison] = []
    for a, b in pairs:
        every = [test for group in groups for test in (*group.tests, *group.control_tests)]
        tests = [test for test in every if (test.a, test.b) == (a, b)]
        if len(tests) < len(groups):
            continue
        errors = [_standard_error(test, settings.confidence, normal) for test in tests]
        together = sum(errors) if settings.group_sources == "shared" else math.hypot(*errors)
        difference, error = float(np.mean([test.difference for test in tests])), together / len(tests)
        z = difference / error if error > 0 else 0.0
        half = float(normal.ppf((1 + settings.confidence) / 2)) * error
        results.append(
            Comparison(
                a=a,
                b=b,
                difference=difference,
                ci=(difference - half, difference + half),
                p=float(normal.sf(z)),
                p_two_sided=float(2 * normal.sf(abs(z))),
                n=len(tests),
                method=f"mean difference, normal, {settings.group_sources} groups",
                unit="group",
                statistic=z,
                confidence=settings.confidence,
            )
        )
    return _with_margin(corrected_tests(results, settings.correction), settings)


def _standard_error(test: Comparison, confidence: float, normal: Untyped) -> float:
    """Return the standard error that gives a difference its two-sided p, or its interval its width if p is no help."""
    low, high = test.ci
    if 1e-6 < test.p_two_sided < 0.9 and test.difference:
        return abs(test.difference) / float(normal.isf(test.p_two_sided / 2))
    if not math.isnan(low):
        return (high - low) / (2 * float(normal.ppf((1 + confidence) / 2)))
    # Permutations bound p from below; a smaller one would only make the error smaller.
    return abs(test.difference) / float(normal.isf(min(max(test.p_two_sided, 1e-6), 0.9) / 2))


def average_of(
    metric: str, groups: Sequence[GroupResult], settings: MetaSettings, *, competes: bool
) -> MetricAgreement:
    """Return the plain mean over groups; its interval combines those of the groups, as independent or as dependent.

    Source: Zou & Donner 2008 (MOVER) for the interval of a sum from the intervals of its parts.
    """
    results = [group.find(metric) for group in groups]
    tested = [group.clusters for group in groups if group.clusters is not None]
    wins = sum(metric in clusters.winners for clusters in tested) if tested and competes else None
    present = [agreement for agreement in results if agreement is not None]
    nothing = math.nan
    names = averaged(settings.level, settings.statistic)
    if len(present) < len(groups):
        return MetricAgreement(
            metric, nothing, (nothing, nothing), dict.fromkeys(names, nothing), control=not competes, wins=wins
        )
    figures: dict[str, Figure] = {}
    for name in names:
        values = [value for item in present if isinstance(value := item.figures[name], float | int)]
        figures[name] = float(np.mean(values)) if len(values) == len(present) else nothing
    value = float(np.mean([agreement.value for agreement in present]))
    # Errors of groups that may depend on each other in any way add up at worst.
    together = sum if settings.group_sources == "shared" else lambda parts: math.hypot(*parts)
    down = together([agreement.value - agreement.ci[0] for agreement in present]) / len(present)
    up = together([agreement.ci[1] - agreement.value for agreement in present]) / len(present)
    return MetricAgreement(metric, value, (value - down, value + up), figures, control=not competes, wins=wins)
