"""Few systems, heavy tails, rare labels, few clusters: intervals and tests of what a default rests on too little of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import asin, pi, sqrt
from statistics import NormalDist

import numpy as np

from benchmarks.calibration.rates import covers
from benchmarks.calibration.worlds import Section, Table, World
from bsx.analysis import (
    compare_auc,
    kendall,
    pairwise_accuracy,
    pearson,
    perm_both,
    preference,
    roc_auc,
    soft_pairwise_accuracy,
    spearman,
    williams,
    wilson_interval,
)
from bsx.analysis.meta.run import meta_evaluate
from bsx.analysis.stats.preference import clustered_share
from bsx.analysis.stats.rowwise import accuracy_of_drawn, mean_of_drawn_pairs
from bsx.support.checks import Array

DRAWS = 199
OUTLIER = 5.0  # standard deviations that an outlier lies below the others, for human judgments and metric alike


@dataclass(frozen=True)
class Scored:
    """Two equally good metrics and people.

    Attributes:
        a: scores (n,).
        b: scores of the second.
        human: human scores.
        truth: what the correlation of either with people is in the population; that of t(2) is the limit of many rows.
    """

    a: Array
    b: Array
    human: Array
    truth: float


def rows(rng: np.random.Generator, n: int, r: float = 0.5, tails: float = np.inf, outlier: bool = False) -> Scored:
    """Rows or systems; with tails all scores of a row are large together; one in n is an outlier, on average."""
    quality, noise = rng.normal(size=n), rng.normal(size=(3, n)) * sqrt(1 / r - 1)
    scale = 1.0 if np.isinf(tails) else np.sqrt(tails / rng.chisquare(tails, n))
    low = OUTLIER * (rng.random(n) < 1 / n) / sqrt(r) if outlier else 0.0
    a, b, human = (quality + noise) * scale - low
    more = OUTLIER**2 / n * (1 - 1 / n) if outlier else 0.0
    return Scored(a, b, human, (r + more) / (1 + more))


def intervals(drawn: Scored) -> dict[str, bool]:
    """Tell which intervals of a correlation hold the truth, and whether the default has a width."""
    default = meta_evaluate({"a": drawn.a, "human": drawn.human}, ["a"], "human", test="none", resamples=DRAWS)
    plain = pearson(drawn.a, drawn.human)
    again = pearson(drawn.a, drawn.human, interval="bootstrap", resamples=DRAWS)
    return {
        "Fisher": covers(plain.ci, drawn.truth),
        "percentiles": covers(again.ci, drawn.truth),
        "default": covers(default.groups[0]["a"].ci, drawn.truth),
    }


def ranks(drawn: Scored) -> dict[str, bool]:
    """The same of rank correlations of normal scores, whose truth follows from r."""
    truths = {"rho": 6 / pi * asin(drawn.truth / 2), "tau": 2 / pi * asin(drawn.truth)}
    found = {}
    for name, measure in (("rho", spearman), ("tau", kendall)):
        for interval in ("analytic", "leave-one-out"):
            one = measure(drawn.a, drawn.human, interval=interval)
            found[f"{name}, {interval.replace('leave-one-out', 'default')}"] = covers(one.ci, truths[name])
    return found


def tests(drawn: Scored) -> dict[str, bool]:
    """Tell which tests call two equally good metrics different."""
    columns = {"a": drawn.a, "b": drawn.b, "human": drawn.human}
    default = meta_evaluate(columns, ["a", "b"], "human", resamples=DRAWS)
    swapped = perm_both(drawn.a, drawn.b, drawn.human, plus_one=True, resamples=DRAWS)
    return {
        "Williams": williams(drawn.a, drawn.b, drawn.human).p_two_sided <= 0.05,
        "permutation of standard scores": swapped.p_two_sided <= 0.05,
        "default": default.groups[0].tests[0].p_two_sided <= 0.05,
    }


@dataclass(frozen=True)
class Pairs:
    """Systems whose pairs are judged.

    Attributes:
        metric: scores (systems,), or (systems, segments).
        human: human scores.
        truth: share of pairs in agreement, or soft accuracy, of other systems like these.
    """

    metric: Array
    human: Array
    truth: float


def ordered(rng: np.random.Generator, n: int, r: float) -> Pairs:
    """Systems with normal scores."""
    human = rng.normal(size=n)
    return Pairs(r * human + sqrt(1 - r * r) * rng.normal(size=n), human, 0.5 + asin(r) / pi)


def misjudged(rng: np.random.Generator, n: int) -> Pairs:
    """A metric that orders systems well, but puts a fifth of them far too low."""
    drawn = ordered(rng, n, 0.97)
    return Pairs(drawn.metric - 6 * (rng.random(n) < 0.2), drawn.human, 0.7869)  # by 4,000,000 pairs


def accuracies(drawn: Pairs) -> dict[str, bool]:
    """Tell which intervals of pairwise accuracy hold the truth, and which have no width."""
    found = pairwise_accuracy(drawn.metric, drawn.human)
    counts = np.random.default_rng(1).multinomial(len(drawn.human), [1 / len(drawn.human)] * len(drawn.human), DRAWS)
    old = np.nanpercentile(accuracy_of_drawn(drawn.metric, drawn.human, counts.astype(float)), [2.5, 97.5])
    return {
        "percentiles": covers(tuple(old), drawn.truth),
        "percentiles: no width": bool(old[0] == old[1]),
        "default": covers(found.ci, drawn.truth),
        "default: no width": found.ci[0] == found.ci[1],
    }


SEGMENTS = 30
SOFT = 0.7746  # soft accuracy of `segmented`, by 10,000,000 pairs of systems; p-values by the normal limit


def segmented(rng: np.random.Generator, n: int) -> Pairs:
    """Systems with thirty segments, which are the same for all and so for the truth."""
    quality = rng.normal(size=(n, 1)) * 0.5
    human = quality + rng.normal(size=(n, SEGMENTS))
    return Pairs(quality + 0.35 * rng.normal(size=(n, 1)) + rng.normal(size=(n, SEGMENTS)), human, SOFT)


def softly(drawn: Pairs) -> dict[str, bool]:
    """Tell which intervals of soft pairwise accuracy hold the truth."""
    found = soft_pairwise_accuracy(drawn.metric, drawn.human, method="normal", resample="systems", resamples=10)
    counts = np.random.default_rng(1).multinomial(len(drawn.human), [1 / len(drawn.human)] * len(drawn.human), DRAWS)
    old = np.nanpercentile(mean_of_drawn_pairs(alike(drawn.metric, drawn.human), counts.astype(float)), [2.5, 97.5])
    return {"percentiles": covers(tuple(old), drawn.truth), "default": covers(found.ci, drawn.truth)}


def alike(metric: Array, human: Array) -> Array:
    """Return 1 - |p - p'| of each pair of systems, p by the normal limit (pairs,)."""
    normal, i = NormalDist(), np.triu_indices(len(metric), k=1)
    p = []
    for scores in (metric, human):
        d = scores[i[0]] - scores[i[1]]
        p.append(np.array([normal.cdf(z) for z in d.sum(axis=1) / np.sqrt((d * d).sum(axis=1))]))
    return np.asarray(1 - np.abs(p[0] - p[1]))


@dataclass(frozen=True)
class Labelled:
    """Labels, scores of two equally good detectors, clusters (all of n items), and the area of either."""

    labels: Array
    a: Array
    b: Array
    of: Array
    truth: float


def rare(rng: np.random.Generator, positives: int, negatives: int, area: float, spread: float = 1.0) -> Labelled:
    """Normal scores; those of positives spread so much more."""
    labels = (np.arange(positives + negatives) < positives).astype(float)
    gap = NormalDist().inv_cdf(area) * sqrt(1 + spread**2)
    a, b = rng.normal(size=(2, len(labels))) * np.where(labels, spread, 1) + gap * labels
    return Labelled(labels, a, b, np.arange(len(labels), dtype=float), area)


def missed(rng: np.random.Generator, positives: int, negatives: int) -> Labelled:
    """A detector that finds nine positives in ten for sure, and knows nothing of the tenth: area .95."""
    drawn = rare(rng, positives, negatives, 0.5)
    a, b = (scores + 9 * drawn.labels * (rng.random(len(scores)) < 0.9) for scores in (drawn.a, drawn.b))
    return Labelled(drawn.labels, a, b, drawn.of, 0.95)


def carried(rng: np.random.Generator, clusters: int, positive: int, size: int = 8, area: float = 0.8) -> Labelled:
    """Clusters that are positive or negative as a whole, with half of the noise in common."""
    of = np.repeat(np.arange(clusters), size)
    labels = (of < positive).astype(float)
    gap = NormalDist().inv_cdf(area) * sqrt(2)
    a, b = (gap * labels + sqrt(0.5) * (rng.normal(size=clusters)[of] + rng.normal(size=len(of))) for _ in range(2))
    return Labelled(labels, a, b, of.astype(float), area)


def areas(drawn: Labelled) -> dict[str, bool]:
    """Tell which intervals of an area hold the truth, and whether two equal detectors are told apart."""
    of = None if len(np.unique(drawn.of)) == len(drawn.of) else drawn.of
    logit, default = (roc_auc(drawn.labels, drawn.a, cluster=of, interval=how) for how in ("logit", "auto"))
    test = compare_auc(drawn.a, drawn.b, drawn.labels, cluster=of)
    normal = 2 * NormalDist().cdf(-abs(test.statistic))
    return {
        "logit": covers(logit.ci, drawn.truth),
        "default": covers(default.ci, drawn.truth),
        "size, normal": normal <= 0.05,
        "size, default": test.p_two_sided <= 0.05,
    }


def triples(rng: np.random.Generator, clusters: int, share: float, within: float = 0.4, size: int = 10) -> Labelled:
    """Margins of triples whose clusters have so much of their variance in common; a share is above 0."""
    of = np.repeat(np.arange(clusters), size)
    margins = sqrt(within) * rng.normal(size=clusters)[of] + sqrt(1 - within) * rng.normal(size=len(of))
    margins += NormalDist().inv_cdf(share)
    return Labelled(margins, margins, np.zeros(len(of)), of.astype(float), share)


def preferred(drawn: Labelled) -> dict[str, bool]:
    """Tell which intervals of a share of triples hold the truth: of rows, normal quantile, and the default's t."""
    right, n = drawn.a > 0, len(drawn.a)
    rows_ = wilson_interval(int(right.sum()), n)
    found = preference(drawn.a, drawn.b, cluster=drawn.of, resamples=DRAWS)
    clusters = len(np.unique(drawn.of))
    # Wilson's normal quantile: the confidence at which t's is 1.96.
    from scipy.stats import t

    normal = clustered_share(right, drawn.of.astype(int), float(1 - 2 * t.sf(1.959964, clusters - 1)))
    return {
        "rows": covers(rows_, drawn.truth),
        "clusters, normal": covers(normal, drawn.truth),
        "clusters (default)": covers(found.ci, drawn.truth),
        "mean margin (default)": covers(found.margin_ci, NormalDist().inv_cdf(drawn.truth)),
    }


def every(worlds: Mapping[str, Callable[[np.random.Generator], object]], measure: Callable[..., Mapping[str, bool]]):  # type: ignore[no-untyped-def]
    """Return worlds that are measured alike."""
    return [World(name, draw, measure) for name, draw in worlds.items()]


SECTION = Section(
    "systems",
    "Few systems, heavy tails, rare labels",
    [
        Table(
            "Coverage of intervals of Pearson's r",
            "True r .5 or .9. An outlier lies five standard deviations below the others for human judgments and metric "
            "alike, and one system in n is one. With tails of t(2) all scores of a row are large together. Under 20 "
            "items the default reaches from the lowest to the highest end of Fisher's intervals without each one: too "
            "wide where all is normal, which so few items cannot show. What is rare and absent from the sample widens "
            "no interval.",
            ("Fisher", "percentiles", "default"),
            every(
                {
                    "4 systems, normal, r .5": partial(rows, n=4),
                    "8 systems, normal, r .5": partial(rows, n=8),
                    "12 systems, normal, r .5": partial(rows, n=12),
                    "8 systems, normal, r .9": partial(rows, n=8, r=0.9),
                    "8 systems, outlier, r .5": partial(rows, n=8, outlier=True),
                    "8 systems, outlier, r .9": partial(rows, n=8, r=0.9, outlier=True),
                    "12 systems, outlier, r .9": partial(rows, n=12, r=0.9, outlier=True),
                    "8 systems, t(2), r .5": partial(rows, n=8, tails=2),
                    "8 systems, t(2), r .9": partial(rows, n=8, r=0.9, tails=2),
                    "12 systems, t(2), r .9": partial(rows, n=12, r=0.9, tails=2),
                    "19 rows, t(2), r .5": partial(rows, n=19, tails=2),
                    "500 rows, t(2), r .5": partial(rows, n=500, tails=2),
                },
                intervals,
            ),
        ),
        Table(
            "Coverage of intervals of rank correlations",
            "Normal scores. With few systems a perfect order is likely, and Fisher's interval then has no width.",
            ("rho, analytic", "rho, default", "tau, analytic", "tau, default"),
            every(
                {
                    "6 systems, r .5": partial(rows, n=6),
                    "6 systems, r .9": partial(rows, n=6, r=0.9),
                    "8 systems, r .9": partial(rows, n=8, r=0.9),
                    "12 systems, r .9": partial(rows, n=12, r=0.9),
                },
                ranks,
            ),
        ),
        Table(
            "Size of tests between two metrics",
            "Two equally good metrics. The default runs the Williams test, or where tails look heavy (under 20 items: "
            "heavier than normal at all) a permutation of scores over their median absolute deviation.",
            ("Williams", "permutation of standard scores", "default"),
            every(
                {
                    "8 systems, normal": partial(rows, n=8),
                    "8 systems, outlier": partial(rows, n=8, outlier=True),
                    "8 systems, t(2)": partial(rows, n=8, tails=2),
                    "12 systems, t(2)": partial(rows, n=12, tails=2),
                    "19 rows, normal": partial(rows, n=19),
                    "19 rows, t(2)": partial(rows, n=19, tails=2),
                    "500 rows, t(2)": partial(rows, n=500, tails=2),
                },
                tests,
            ),
        ),
        Table(
            "Coverage of intervals of pairwise accuracy",
            "True accuracy .67, .80, .90, or .79 where the metric puts a fifth of the systems far too low. The default "
            "has Wilson's interval of what the pairs are worth by the jackknife over systems.",
            ("percentiles", "percentiles: no width", "default", "default: no width"),
            every(
                {
                    "4 systems, .67": partial(ordered, n=4, r=0.5),
                    "4 systems, .80": partial(ordered, n=4, r=0.8),
                    "4 systems, .90": partial(ordered, n=4, r=0.95),
                    "8 systems, .80": partial(ordered, n=8, r=0.8),
                    "8 systems, a fifth too low": partial(misjudged, n=8),
                    "12 systems, .90": partial(ordered, n=12, r=0.95),
                    "12 systems, a fifth too low": partial(misjudged, n=12),
                    "19 systems, a fifth too low": partial(misjudged, n=19),
                },
                accuracies,
            ),
        ),
        Table(
            "Coverage of intervals of soft pairwise accuracy",
            "Thirty segments; of other systems on segments like these.",
            ("percentiles", "default"),
            every({f"{n} systems": partial(segmented, n=n) for n in (4, 6, 10, 15)}, softly),
        ),
        Table(
            "Area under the ROC curve",
            "Few items of a label, and few clusters that carry it as a whole. The default has, where the rarer label "
            "has fewer than 50 items or clusters, Wilson's interval of as many items as give DeLong's variance, within "
            "what so many labels can be worth; t quantiles with clusters. `Size` is of the paired test of two equal "
            "detectors.",
            ("logit", "default", "size, normal", "size, default"),
            every(
                {
                    "10 positives, 190 negatives, .95": partial(rare, positives=10, negatives=190, area=0.95),
                    "10 positives, 190 negatives, .95, uneven spread": partial(
                        rare, positives=10, negatives=190, area=0.95, spread=2.0
                    ),
                    "10 positives, 190 negatives, .80": partial(rare, positives=10, negatives=190, area=0.8),
                    "30 positives, 170 negatives, .95": partial(rare, positives=30, negatives=170, area=0.95),
                    "10 positives, 40 negatives, a tenth missed": partial(missed, positives=10, negatives=40),
                    "30 positives, 170 negatives, a tenth missed": partial(missed, positives=30, negatives=170),
                    "100 positives, 100 negatives, .95": partial(rare, positives=100, negatives=100, area=0.95),
                    "20 clusters, 10 positive": partial(carried, clusters=20, positive=10),
                    "20 clusters, 4 positive": partial(carried, clusters=20, positive=4),
                    "40 clusters, 20 positive": partial(carried, clusters=40, positive=20),
                },
                areas,
            ),
        ),
        Table(
            "Triples in few clusters",
            "Ten triples a cluster, which have two fifths of the variance in common; the share in which the paraphrase "
            "is preferred, and the mean margin.",
            ("rows", "clusters, normal", "clusters (default)", "mean margin (default)"),
            every(
                {
                    f"{n} clusters, share {share:.2f}": partial(triples, clusters=n, share=share)
                    for n in (6, 12, 20)
                    for share in (0.5, 0.8)
                },
                preferred,
            ),
        ),
    ],
)
