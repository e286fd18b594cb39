"""Segments that come from documents: systems' and metrics' tests and intervals over whole documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from benchmarks.calibration.rates import covers
from benchmarks.calibration.worlds import Section, Table, World
from bsx.analysis.meta.run import meta_evaluate
from bsx.analysis.stats.resample import percentile_interval
from bsx.analysis.stats.systems.grouped import resampled_groups
from bsx.support.checks import Array

DRAWS = 499
Rows = Mapping[str, Array]

Statistic = Literal["pearson", "spearman"]
R: Mapping[Statistic, float] = {"pearson": 0.5, "spearman": 6 / np.pi * np.arcsin(0.25)}
"""Correlation of two normal columns of which half of the variance is common."""


def in_clusters(rng: np.random.Generator, clusters: int, size: int) -> Array:
    """Draw normal scores (clusters x size,) with an intraclass correlation of .5."""
    of_clusters, own = rng.normal(size=(clusters, 1)), rng.normal(size=(clusters, size))
    scores: Array = ((of_clusters + own) / np.sqrt(2)).ravel()
    return scores


def documents(rng: np.random.Generator, count: int, size: int = 8) -> Rows:
    """Draw two equally good metrics and human judgments; a document's segments are alike in quality and all errors."""
    quality = in_clusters(rng, count, size)
    columns = {name: quality + in_clusters(rng, count, size) for name in ("a", "b", "human")}
    return {**columns, "doc": np.repeat(np.arange(count), size)}


def of_systems(rng: np.random.Generator, count: int, size: int = 8, systems: int = 6) -> Rows:
    """Draw the same for several systems, whose outputs of a segment have nothing more in common."""
    parts = [documents(rng, count, size) for _ in range(systems)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    n = count * size
    return {**columns, "system": np.repeat(np.arange(systems), n), "segment": np.tile(np.arange(n), systems)}


def measured(
    rows: Rows, statistic: Statistic, by: str, named: Mapping[str, str], how: Mapping[str, object]
) -> dict[str, bool]:
    """Return what is found with and without the column that says what belongs together."""
    found = {}
    settings: dict[str, Any] = {"statistic": statistic, "resamples": DRAWS, **how}
    for name, more in (("by itself", {}), (by, named)):
        group = meta_evaluate(rows, ["a", "b"], "human", **{**settings, **more}).groups[0]
        found[f"size, {name}"] = group.tests[0].p_two_sided < 0.05
        found[f"coverage, {name}"] = covers(group["a"].ci, R[statistic])
    return found


def by_documents(rows: Rows, statistic: Statistic = "pearson", **how: object) -> dict[str, bool]:
    """Return what is found with a column of documents and without."""
    return measured(rows, statistic, "documents", {"document": "doc"}, how)


def by_segments(rows: Rows, statistic: Statistic = "pearson") -> dict[str, bool]:
    """Return what is found with a column of segments and without."""
    return measured(rows, statistic, "segments", {"segment": "doc"}, {})


def ordinal(rng: np.random.Generator, systems: int = 6, segments: int = 40) -> Rows:
    """Draw grades from 0 to 6 and two metrics, one better; both err alike on all outputs of a segment."""
    shape = (systems, segments)
    quality = (
        0.7 * rng.normal(size=shape) + 0.7 * rng.normal(size=(1, segments)) + np.linspace(-0.4, 0.4, systems)[:, None]
    )
    human = np.clip(np.round(1.2 * quality + 3 + 0.8 * rng.normal(size=shape)), 0, 6)
    a, b = (quality + spread * rng.normal(size=shape) + 0.6 * rng.normal(size=(1, segments)) for spread in (0.6, 1.0))
    return {"a": a, "b": b, "human": human}


def heavy(rng: np.random.Generator, tails: float, systems: int = 6, segments: int = 40) -> Rows:
    """Draw people and two metrics, one better; on some segments all scores are large.

    ``tails`` are the degrees of freedom of t, whose scale segments have; 0 stands for a lognormal one.
    """
    scale = np.exp(rng.normal(size=segments)) if not tails else np.sqrt(tails / rng.chisquare(tails, segments))
    quality = rng.normal(size=(systems, segments))
    a, b, human = ((quality + spread * rng.normal(size=quality.shape)) * scale for spread in (0.7, 1.0, 0.7))
    return {"a": a, "b": b, "human": human}


def few_segments(rows: Rows, truth: Sequence[float], statistic: Statistic) -> dict[str, bool]:
    """Return which intervals of r and of the difference hold the truth: those of `meta_evaluate`, and percentiles."""
    systems, segments = rows["human"].shape
    table = {name: values.ravel() for name, values in rows.items()}
    table |= {"system": np.repeat(np.arange(systems), segments), "segment": np.tile(np.arange(segments), systems)}
    group = meta_evaluate(
        table,
        ["a", "b"],
        "human",
        statistic=statistic,
        system="system",
        segment="segment",
        resamples=DRAWS,
    ).groups[0]
    test = next(test for test in group.tests if (test.a, test.b) == ("a", "b"))
    x, y = (
        resampled_groups(rows[name], rows["human"], "none", statistic, resamples=DRAWS, seed=1) for name in ("a", "b")
    )
    return {
        "r": covers(group["a"].ci, truth[0]),
        "r, percentiles": covers(percentile_interval(x), truth[0]),
        "difference": covers(test.ci, truth[1]),
        "difference, percentiles": covers(percentile_interval(x - y), truth[1]),
    }


BOTH = ("size, documents", "size, by itself", "coverage, documents", "coverage, by itself")
SHARED = ("size, segments", "size, by itself", "coverage, segments", "coverage, by itself")
ENDS = ("r", "r, percentiles", "difference", "difference, percentiles")
# Correlation of a, and its difference from that of b: of 6 x 4,000,000 scores (Spearman: 600,000), or in closed form.
TRUTH: Mapping[tuple[str, Statistic], tuple[float, float]] = {
    ("ordinal", "pearson"): (0.6313, 0.0901),
    ("ordinal", "spearman"): (0.6171, 0.0909),
    ("lognormal", "pearson"): (1 / 1.49, 1 / 1.49 - 1 / np.sqrt(2 * 1.49)),
    ("lognormal", "spearman"): (0.6022, 0.0896),
    ("t3", "pearson"): (1 / 1.49, 1 / 1.49 - 1 / np.sqrt(2 * 1.49)),
    ("t3", "spearman"): (0.6330, 0.0915),
}

STATISTICS: tuple[Statistic, ...] = ("pearson", "spearman")

META = Table(
    "Metrics: rows that come from documents",
    "Two equally good metrics and human judgments; a document has 8 segments, and half of every variance lies between "
    "documents. By itself: without the column of documents, Fisher's interval and the Williams test, or the bootstrap "
    "over segments where there are six systems.",
    BOTH,
    [
        *(
            World(f"{count} documents, Pearson", partial(documents, count=count), by_documents)
            for count in (10, 20, 40)
        ),
        *(
            World(
                f"{count} documents, Spearman",
                partial(documents, count=count),
                partial(by_documents, statistic="spearman"),
            )
            for count in (10, 20, 40)
        ),
        World(
            "20 documents, Pearson, permutation",
            partial(documents, count=20),
            partial(by_documents, test="permutation"),
        ),
        *(
            World(
                f"{count} documents, six systems, Pearson",
                partial(of_systems, count=count),
                partial(by_documents, system="system", segment="segment"),
            )
            for count in (10, 20)
        ),
    ],
)
SEGMENTS = Table(
    "Metrics: rows that share segments, without systems",
    "The same with segments of several rows; no column names systems. By itself: the table without its column of "
    "segments.",
    SHARED,
    [
        World("60 segments of 5 rows, Pearson", partial(documents, count=60, size=5), by_segments),
        World(
            "60 segments of 5 rows, Spearman",
            partial(documents, count=60, size=5),
            partial(by_segments, statistic="spearman"),
        ),
    ],
)
FEW = Table(
    "Metrics: coverage with 6 systems and 40 segments",
    "Grades from 0 to 6, or scores whose scale differs from segment to segment. The interval of r, and that of the "
    "difference of two unequal metrics: percentiles as they are, and those of `meta`, which allow for few segments "
    "and for segments that weigh more than others.",
    ENDS,
    [
        World(
            f"{name}, {statistic.capitalize()}",
            draw,
            partial(few_segments, truth=TRUTH[key, statistic], statistic=statistic),
        )
        for key, name, draw in (
            ("ordinal", "grades", ordinal),
            ("lognormal", "lognormal scale of segments", partial(heavy, tails=0)),
            ("t3", "scale of t(3)", partial(heavy, tails=3)),
        )
        for statistic in STATISTICS
    ],
)
SECTION = Section("documents", "Documents", [META, SEGMENTS, FEW])
