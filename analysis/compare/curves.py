"""How often people agreed with a difference between two systems that large, as published for a metric."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bsx.catalog.catalog import Catalog
from bsx.catalog.thresholds import covering
from bsx.support.result import Number, Shown


@dataclass(frozen=True)
class PublishedShare:
    """How often people agree with a difference.

    Attributes:
        curve: the metric as the study calls it.
        source: the study.
        delta: the size of the difference in points of the curve.
        share: of pairs of systems that differ by this much, in which people prefer the one that scores higher. Under
            0.5, which curves reach near 0, the difference says nothing.
    """

    curve: str
    source: str
    delta: Number
    share: Number


@dataclass(frozen=True, repr=False)
class PublishedCurve(Shown):
    """A published curve from the size of a difference between systems to the share of pairs in which people agree.

    The share of a difference of d points is a / (1 + exp(-b d)). Source: Kocmi, Zouhar, Federmann & Post 2024,
    Navigating the Metrics Maze, ACL, section 3.3.

    Attributes:
        metric: the metric that it is of here.
        curve: that metric as the study calls it.
        version: which version and settings were studied.
        source: the study.
        citation: of the study.
        data: the name of its data.
        population: what its pairs are.
        pairs: how many pairs of systems.
        languages: how many languages.
        a: the share that no difference goes beyond.
        b: steepness, in 1 / points.
        scale: points of the curve in one point of the metric here.
        agreement: share of all pairs in which people agree with the metric.
        versions: the same of pairs of versions of one system.
        unrelated: the same of unrelated systems.
        fewest: segments under which nothing is claimed.
        claimed: whether the systems compared here have as many segments.
    """

    metric: str
    curve: str
    version: str
    source: str
    citation: str
    data: str
    population: str
    pairs: int
    languages: int
    a: Number
    b: Number
    scale: Number
    agreement: Number
    versions: Number
    unrelated: Number
    fewest: int
    claimed: bool = True

    def at(self, difference: float) -> PublishedShare | None:
        """Return how often people agree with a difference of the metric here, of either sign; None for none, or NaN."""
        delta = abs(difference) * self.scale
        if not delta > 0:
            return None
        return PublishedShare(self.curve, self.source, delta, self.share(delta))

    def share(self, delta: float) -> float:
        """Return the share of pairs that differ by so many points in which people agree."""
        return self.a / (1 + math.exp(-self.b * delta))

    def needed(self, share: float) -> float | None:
        """Return the points that pairs differ by in a share of which people agree; None if no difference has that."""
        return -math.log(self.a / share - 1) / self.b if 0 < share < self.a else None


def published_curves(
    catalog: Catalog, signatures: Mapping[str, str], language: str | None = None, *, means: bool = False
) -> list[PublishedCurve]:
    """Return the published curves that cover scores of these signatures, at most one a metric.

    Args:
        catalog: the registry.
        signatures: of each metric's scores.
        language: code of that of the texts, if it is known.
        means: whether a system's score is the mean of its segments' whatever the metric, as that of a table of scores;
            a curve of a metric's corpus score says nothing of it.
    """
    result = []
    for metric, signature in signatures.items():
        for study, curve in covering(catalog, signature, language):
            if curve.scale is None or (means and curve.system == "corpus"):
                continue
            result.append(
                PublishedCurve(
                    metric=metric,
                    curve=curve.called,
                    version=curve.version,
                    source=study.called,
                    citation=study.citation,
                    data=study.data,
                    population=study.population,
                    pairs=study.system_pairs,
                    languages=study.languages,
                    a=curve.a / 100,
                    b=curve.b,
                    scale=curve.scale,
                    agreement=curve.accuracy.all / 100,
                    versions=curve.accuracy.versions / 100,
                    unrelated=curve.accuracy.unrelated / 100,
                    fewest=study.fewest_segments,
                )
            )
            break
    return result
