"""Which published curves of agreement with people cover the metrics that systems are compared by."""

from __future__ import annotations

from collections.abc import Mapping

from bsx.analysis.agreement.published_curve import PublishedCurve
from bsx.catalog.catalog import Catalog
from bsx.catalog.thresholds import covering


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
