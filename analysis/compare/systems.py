"""Are systems different under a metric? Every system's score with its interval, and paired tests of systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.compare.curves import PublishedCurve
from bsx.analysis.compare.result import CompareResult, MetricComparison, SystemScore, SystemTest
from bsx.analysis.compare.settings import ComparedMetric, CompareSettings
from bsx.analysis.stats.clusters import adjust, corrected_tests, significance_clusters
from bsx.analysis.stats.equivalence import verdict
from bsx.analysis.stats.resample import percentile_interval
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.systems.paired import bootstrapped, prepared, randomised
from bsx.errors import InputError
from bsx.support.result import Notice
from bsx.support.settings import settled

FEW = 20
"""Segments or documents under which a bootstrap is doubted, corrected as it is."""


@settled(ComparedMetric)
def compare_systems(scores: Mapping[str, ArrayLike], settings: ComparedMetric) -> CompareResult:
    """Compare systems under one metric.

    Args:
        scores: system -> metric scores of the same segments (n,), or sufficient statistics (n, k) with ``aggregate``;
            the first system is the baseline.
        settings: see `ComparedMetric`.

    Raises:
        InputError: if there are under two systems, segments or documents, or values are missing.
    """
    aggregate, higher_is_better = settings.aggregate, settings.higher_is_better
    names = list(scores)
    if len(names) < 2:
        raise InputError(f"only the system {names[0]} is given: name at least two to compare" if names else "no system")
    pairs = list(combinations(names, 2)) if settings.all_pairs else [(name, names[0]) for name in names[1:]]
    paired = [prepared(scores[a], scores[b], aggregate, settings.documents) for a, b in pairs]
    units, segments = paired[0].units, len(paired[0].x)
    test, draws = settings.test_for(units), settings.draws(units, len(pairs))
    sides = {
        name: side for (a, b), pair in zip(pairs, paired, strict=True) for name, side in ((a, pair.x), (b, pair.y))
    }
    # Every system's score in the same resamples; the first of them are enough for its own interval.
    own = min(draws, 1000)
    every = paired[0].draws(list(sides.values()), draws if test == "bootstrap" else own, settings.seed)
    drawn = dict(zip(sides, every, strict=True))
    how: _How = {
        "higher_is_better": higher_is_better,
        "confidence": settings.confidence,
        "margin": settings.margin,
    }
    results = [
        bootstrapped(pair, drawn[a] - drawn[b], **how)
        if test == "bootstrap"
        else randomised(pair, draws, settings.seed, **how)
        for (a, b), pair in zip(pairs, paired, strict=True)
    ]
    same = adjust([_p_equivalence(comparison) for comparison in results], settings.correction)
    tests = []
    for (a, b), comparison, p_same in zip(pairs, corrected_tests(results, settings.correction), same, strict=True):
        winner = a if (comparison.difference > 0) == higher_is_better else b
        different = bool(comparison.decisive < settings.alpha and comparison.difference != 0)
        known = {**vars(comparison), "a": a, "b": b}
        if not np.isfinite(comparison.ci).all():  # so few segments give none
            known["ci"] = (np.nan, np.nan)
        if settings.margin is not None:
            known |= {"p_equivalence": float(p_same), "verdict": verdict(different, p_same, settings.alpha)}
        tests.append(SystemTest(**known, better=winner if different else None))
    systems = [
        SystemScore(
            name,
            float(paired[0].score(sides[name].mean(axis=0))),
            percentile_interval(drawn[name][:own], settings.confidence, units),
        )
        for name in names
    ]
    if settings.all_pairs:
        systems = _ranked(systems, tests, 1 if higher_is_better else -1)
    return CompareResult(
        segments=segments,
        documents=None if settings.documents is None else units,
        systems=tuple(names),
        baseline=None if settings.all_pairs else names[0],
        metrics=(
            MetricComparison(settings.metric, higher_is_better, settings.signature, tuple(systems), tuple(tests)),
        ),
        warnings=tuple(_doubts(settings, units, draws, len(pairs))),
        settings={
            **settings.model_dump(include=set(CompareSettings.model_fields) - ({"margin"} - settings.model_fields_set)),
            "test": test,
            "resamples": draws,
        },
    )


class _How(TypedDict):
    """How two systems are judged, as keyword arguments."""

    higher_is_better: bool
    confidence: float
    margin: float | None


def _p_equivalence(comparison: Comparison) -> float:
    return np.nan if comparison.p_equivalence is None else comparison.p_equivalence


def _doubts(settings: ComparedMetric, units: int, draws: int, tests: int) -> Iterator[Notice]:
    """Yield why the tests of so few segments, documents or resamples cannot be trusted, or cannot find anything."""
    what = "segments" if settings.documents is None else "documents"
    corrected = 1 if settings.correction == "none" else tests
    smallest = 2.0 ** (1 - units)
    if settings.test_for(units) == "randomise" and corrected * smallest >= settings.alpha:
        values = {what: units, "tests": corrected, "p": min(1.0, corrected * smallest)}
        yield Notice("too-few-to-swap", values=values)
    elif settings.test_for(units) == "bootstrap" and units < FEW:
        yield Notice("few-segments", values={what: units})
    if corrected / (draws + 1) >= settings.alpha:
        yield Notice("few-resamples", values={"resamples": draws, "tests": corrected, "p": corrected / (draws + 1)})


def together(comparisons: Sequence[CompareResult], published: Sequence[PublishedCurve] = ()) -> CompareResult:
    """Return the comparisons of the same systems under several metrics as one.

    Args:
        comparisons: one a metric.
        published: curves of these metrics; every test gets its share, unless there are fewer segments than the study
            asks for.
    """
    known = tuple(replace(curve, claimed=comparisons[0].segments >= curve.fewest) for curve in published)
    claimed = {curve.metric: curve for curve in reversed(known) if curve.claimed}
    metrics = []
    for item in (metric for result in comparisons for metric in result.metrics):
        tests = item.tests
        if item.metric in claimed:
            tests = tuple(replace(test, published=claimed[item.metric].at(test.difference)) for test in tests)
        metrics.append(replace(item, tests=tests))
    warnings = [notice for result in comparisons for notice in result.warnings]
    once = [notice for place, notice in enumerate(warnings) if notice not in warnings[:place]]
    return replace(comparisons[0], metrics=tuple(metrics), warnings=tuple(once), published=known)


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
