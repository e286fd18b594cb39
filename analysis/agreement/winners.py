"""Tests between the metrics of a group, corrected for their number, and the winners that they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bsx.analysis.agreement.measures import Agreement
from bsx.analysis.agreement.result import GroupResult, MetricAgreement, PairTest, Winners
from bsx.analysis.agreement.settings import MetaSettings
from bsx.analysis.stats.clusters import Clusters, adjust, compare_all, significance_clusters
from bsx.analysis.stats.results import Comparison


def tests_against(
    found: Agreement, metrics: Sequence[MetricAgreement], controls: Sequence[MetricAgreement], config: MetaSettings
) -> tuple[PairTest, ...]:
    """Return the test of each metric against each control, corrected as the settings say."""
    if found.test == "none":
        return ()
    pairs = [(a.metric, b.metric) for a in metrics for b in controls]
    tests = [_pair(a, b, found.compare(a, b), None) for a, b in pairs]
    return _corrected(tests, config) if config.correction_over == "group" else tuple(tests)


def _corrected(tests: Sequence[PairTest], config: MetaSettings) -> tuple[PairTest, ...]:
    if config.correction == "none" or not tests:
        return tuple(tests)
    adjusted = adjust([_deciding(test, config) for test in tests], config.correction)
    return tuple(replace(test, p_adjusted=float(p)) for test, p in zip(tests, adjusted, strict=True))


def tests_between(
    found: Agreement, names: list[str], config: MetaSettings
) -> tuple[tuple[PairTest, ...], Winners | None]:
    """Return all tests, corrected as the settings say, and the clusters they give."""
    if found.test == "none" or len(names) < 2:
        return (), None
    # compare_all wants arrays; the comparison of a level knows its own, so names travel as numbers.
    numbered = {name: np.array(i) for i, name in enumerate(names)}
    every = compare_all(
        numbered,
        np.array(0),
        lambda a, b, _: found.compare(names[int(np.asarray(a))], names[int(np.asarray(b))]),
        correction=config.correction,
        alternative=config.alternative,
        alpha=config.alpha,
    )
    order = every.clusters.names
    tests = []
    for (a, b), comparison in every.tests.items():
        corrected = config.correction != "none" and order.index(a) < order.index(b)
        p = float(every.p[names.index(a), names.index(b)]) if corrected else None
        tests.append(_pair(a, b, comparison, p))
    return tuple(tests), _winners(every.clusters)


def corrected_over_all(results: list[GroupResult], config: MetaSettings) -> list[GroupResult]:
    """Correct the p-values of all groups together, one family, and find the winners anew."""
    tested = [(group, group.clusters) for group in results if group.clusters is not None]
    better: dict[tuple[int, str, str], float] = {}
    for k, (group, ranked) in enumerate(tested):
        order = list(ranked.ranks)
        better |= {(k, t.a, t.b): _deciding(t, config) for t in group.tests if order.index(t.a) < order.index(t.b)}
    adjusted = dict(zip(better, adjust(list(better.values()), config.correction), strict=True))
    found = {}
    for k, (group, ranked) in enumerate(tested):
        names = list(ranked.ranks)
        p = np.ones((len(names), len(names)))
        tests = []
        for test in group.tests:
            corrected = adjusted.get((k, test.a, test.b))
            p[names.index(test.a), names.index(test.b)] = test.p if corrected is None else corrected
            tests.append(replace(test, p_adjusted=None if corrected is None else float(corrected)))
        clusters = significance_clusters({name: group[name].value for name in names}, p, alpha=config.alpha)
        found[group.group] = replace(group, tests=tuple(tests), clusters=_winners(clusters))
    against = iter(_corrected([test for group in results for test in group.control_tests], config))
    return [
        replace(found.get(group.group, group), control_tests=tuple(next(against) for _ in group.control_tests))
        for group in results
    ]


def _deciding(test: PairTest, config: MetaSettings) -> float:
    return test.p_two_sided if config.alternative == "two-sided" else test.p


def _pair(a: str, b: str, found: Comparison, p_adjusted: float | None) -> PairTest:
    ends = (found.low, found.high)
    return PairTest(a, b, found.difference, ends, found.statistic, found.p, found.p_two_sided, p_adjusted, found.method)


def _winners(found: Clusters) -> Winners:
    return Winners(found.winners, dict(zip(found.names, found.ranks, strict=True)), found.alpha)
