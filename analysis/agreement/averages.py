"""Means over groups: each metric's, and the differences between two metrics, with intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from bsx.analysis.agreement.result import AverageAgreement, AverageTest, GroupResult, PairTest
from bsx.analysis.agreement.settings import MetaSettings
from bsx.analysis.stats.clusters import adjust
from bsx.support.optional import need
from bsx.support.untyped import Untyped

# What is averaged over groups, level by level; the first figure of each list may be replaced by the statistic chosen.
_AVERAGED = {
    "seg": ("pearson", "spearman", "kendall"),
    "sys": ("pearson", "spearman", "kendall", "pairwise_accuracy", "spa"),
    "darr": ("tau",),
    "hybrid": ("limit", "pearson", "hits_at_1", "mrr", "difference"),
}


def averaged(level: str, statistic: str) -> tuple[str, ...]:
    """Return the figures that are averaged over groups."""
    more = {"acc_eq": ("acc_eq", "chance"), "kendall_c": ("kendall_c",)}.get(statistic, ())
    return (*more, *_AVERAGED[level])


def average_tests(
    pairs: Sequence[tuple[str, str]], groups: Sequence[GroupResult], config: MetaSettings
) -> tuple[AverageTest, ...]:
    """Test whether two metrics' mean differences over groups are 0, one test for each pair, corrected.

    Each group's standard error is that with which its own test gets its two-sided p. Errors of independent groups add
    up in squares; those of groups that share sources, at worst, as they are.
    """
    normal = need("scipy.stats", "the test of an average").norm
    method = f"mean difference, normal, {config.sources} groups"
    found: list[AverageTest] = []
    for a, b in pairs:
        every = [test for group in groups for test in (*group.tests, *group.control_tests)]
        tests = [test for test in every if (test.a, test.b) == (a, b)]
        if len(tests) < len(groups):
            continue
        errors = [_standard_error(test, config.confidence, normal) for test in tests]
        together = sum(errors) if config.sources == "shared" else math.hypot(*errors)
        difference, error = float(np.mean([test.difference for test in tests])), together / len(tests)
        z = difference / error if error > 0 else 0.0
        half = float(normal.ppf((1 + config.confidence) / 2)) * error
        p, two = float(normal.sf(z)), float(2 * normal.sf(abs(z)))
        found.append(AverageTest(a, b, difference, (difference - half, difference + half), p, two, two, method))
    adjusted: Iterable[float] = adjust([test.p_two_sided for test in found], config.correction) if found else ()
    return tuple(replace(test, p_adjusted=float(p)) for test, p in zip(found, adjusted, strict=True))


def _standard_error(test: PairTest, confidence: float, normal: Untyped) -> float:
    """Return the standard error that gives a difference its two-sided p, or its interval its width if p is no help."""
    low, high = test.ci
    if 1e-6 < test.p_two_sided < 0.9 and test.difference:
        return abs(test.difference) / float(normal.isf(test.p_two_sided / 2))
    if not math.isnan(low):
        return (high - low) / (2 * float(normal.ppf((1 + confidence) / 2)))
    # Permutations bound p from below; a smaller one would only make the error smaller.
    return abs(test.difference) / float(normal.isf(min(max(test.p_two_sided, 1e-6), 0.9) / 2))


def average_of(metric: str, groups: Sequence[GroupResult], config: MetaSettings, *, competes: bool) -> AverageAgreement:
    """Return the plain mean over groups; its interval combines those of the groups, as independent or as dependent.

    Source: Zou & Donner 2008 (MOVER) for the interval of a sum from the intervals of its parts.
    """
    found = [group.find(metric) for group in groups]
    tested = [group.clusters for group in groups if group.clusters is not None]
    wins = sum(metric in clusters.winners for clusters in tested) if tested and competes else None
    present = [agreement for agreement in found if agreement is not None]
    nothing = math.nan
    names = averaged(config.level, config.statistic)
    if len(present) < len(groups):
        figures = dict.fromkeys(names, nothing)
        return AverageAgreement(metric, nothing, (nothing, nothing), figures, wins, not competes)
    figures = {}
    for name in names:
        values = [value for one in present if isinstance(value := one.figures[name], float | int)]
        figures[name] = float(np.mean(values)) if len(values) == len(present) else nothing
    value = float(np.mean([agreement.value for agreement in present]))
    # Errors of groups that may depend on each other in any way add up at worst.
    together = sum if config.sources == "shared" else lambda parts: math.hypot(*parts)
    down = together([agreement.value - agreement.ci[0] for agreement in present]) / len(present)
    up = together([agreement.ci[1] - agreement.value for agreement in present]) / len(present)
    return AverageAgreement(metric, value, (value - down, value + up), figures, wins, not competes)
