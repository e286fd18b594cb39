"""Are systems different under a metric? Every system's score with its interval, and paired tests of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.agreement.human_curve import HumanCurve
from bsx.analysis.agreement.result import CompareResult, MetricComparison, SystemScore, SystemTest
from bsx.analysis.agreement.settings import ComparedMetric, CompareSettings
from bsx.analysis.stats.clusters import adjust, significance_clusters
from bsx.analysis.stats.resample import DrawOptions, bootstrap_counts, percentile_interval
from bsx.analysis.stats.systems.paired import bootstrap_systems, randomise_systems
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Notice
from bsx.support.settings import settled

FEW = 20
"""Segments under which a bootstrap's level is far off: simulated with normal differences, 8 % at this number."""


@settled(ComparedMetric)
def compare_systems(scores: Mapping[str, ArrayLike], settings: ComparedMetric) -> CompareResult:
    """Compare systems under one metric.

    Args:
        scores: system -> metric scores of the same segments (n,), or sufficient statistics (n, k) with ``aggregate``;
            the first system is the baseline.
        settings: see `ComparedMetric`.

    Raises:
        InputError: if there are under two systems or segments, or values are missing.
    """
    aggregate, higher_is_better = settings.aggregate, settings.higher_is_better
    names = list(scores)
    if len(names) < 2:
        raise InputError(f"only the system {names[0]} is given: name at least two to compare" if names else "no system")
    draw: DrawOptions = {"resamples": settings.draws, "seed": settings.seed}
    pairs = list(combinations(names, 2)) if settings.all_pairs else [(name, names[0]) for name in names[1:]]
    results = []
    for a, b in pairs:
        if settings.test == "bootstrap":
            results.append(
                bootstrap_systems(
                    scores[a],
                    scores[b],
                    aggregate=aggregate,
                    higher_is_better=higher_is_better,
                    confidence=settings.confidence,
                    **draw,
                )
            )
        else:
            results.append(
                randomise_systems(scores[a], scores[b], aggregate=aggregate, higher_is_better=higher_is_better, **draw)
            )
    adjusted = adjust([comparison.p_two_sided for comparison in results], settings.correction)
    tests = []
    for (a, b), comparison, p in zip(pairs, results, adjusted, strict=True):
        winner = a if (comparison.difference > 0) == higher_is_better else b
        different = p < settings.alpha and comparison.difference != 0
        tests.append(
            SystemTest(
                a,
                b,
                comparison.difference,
                None if np.isnan(comparison.low) else (comparison.low, comparison.high),
                comparison.p,
                comparison.p_two_sided,
                float(p),
                winner if different else None,
                comparison.method,
            )
        )
    systems = [_score(name, np.asarray(scores[name], dtype=np.float64), settings) for name in names]
    if settings.all_pairs:
        systems = _ranked(systems, tests, 1 if higher_is_better else -1)
    segments = results[0].n
    few = settings.test == "bootstrap" and segments < FEW
    return CompareResult(
        segments=segments,
        systems=tuple(names),
        baseline=None if settings.all_pairs else names[0],
        metrics=(
            MetricComparison(settings.metric, higher_is_better, settings.signature, tuple(systems), tuple(tests)),
        ),
        warnings=(Notice("few-segments", values={"segments": segments}),) if few else (),
        settings={**settings.model_dump(include=set(CompareSettings.model_fields)), "resamples": settings.draws},
    )


def together(comparisons: Sequence[CompareResult], human: Sequence[HumanCurve] = ()) -> CompareResult:
    """Return the comparisons of the same systems under several metrics as one.

    Args:
        comparisons: one a metric.
        human: how often human judgments agreed with differences of these metrics, on other systems; every test gets
            the pairs that differ about as much, of the first curve of its metric.
    """
    curves = {curve.metric: curve for curve in reversed(human)}
    metrics = []
    for item in (metric for result in comparisons for metric in result.metrics):
        curve = curves.get(item.metric)
        tests = item.tests
        if curve is not None:
            tests = tuple(replace(test, human=curve.at(test.difference)) for test in tests)
        metrics.append(replace(item, tests=tests))
    warnings = [notice for result in comparisons for notice in result.warnings]
    once = [notice for place, notice in enumerate(warnings) if notice not in warnings[:place]]
    return replace(comparisons[0], metrics=tuple(metrics), human=tuple(human), warnings=tuple(once))


def _ranked(systems: Sequence[SystemScore], tests: Sequence[SystemTest], sign: int) -> list[SystemScore]:
    """Return the systems with the ranks of their clusters."""
    names = [system.system for system in systems]
    p = np.ones((len(names), len(names)))
    for test in tests:
        if test.better is not None and test.worse is not None:
            p[names.index(test.better), names.index(test.worse)] = 0.0  # whatever alpha the tests had
    clusters = significance_clusters({system.system: sign * system.score for system in systems}, p)
    ranks = dict(zip(clusters.names, clusters.ranks, strict=True))
    return [replace(system, rank=ranks[system.system]) for system in systems]


def _score(name: str, values: Array, settings: ComparedMetric) -> SystemScore:
    n = len(values)
    rows = values if values.ndim == 2 else values[:, None]

    def score(means: Array) -> Array:
        return means[..., 0] if settings.aggregate is None else settings.aggregate(means)

    draws = [score(counts @ rows / n) for counts in bootstrap_counts(min(settings.draws, 1000), n, settings.seed)]
    low, high = percentile_interval(np.concatenate(draws), settings.confidence)
    return SystemScore(name, float(score(rows.mean(axis=0))), (low, high))
