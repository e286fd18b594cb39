"""A metric as a detector of paraphrases: on one set of pairs, and what it loses from an easy set to a hard one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.adversarial.settings import PairSettings
from bsx.analysis.adversarial.triples import complete
from bsx.analysis.stats.clusters import corrected_tests
from bsx.analysis.stats.detection import (
    FEW_LABELS,
    ThresholdAccuracy,
    area_interval,
    best_threshold,
    clustered,
    compare_auc,
    compare_auc_between,
    drawn_of_each,
    precision_recall,
    roc_auc,
)
from bsx.analysis.stats.resample import Resampling
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy
from bsx.support.result import Interval, Number, Result
from bsx.support.settings import settled


@dataclass(frozen=True)
class PairDetection:
    """How well a metric tells paraphrases from other pairs.

    Attributes:
        metric: its name.
        n: pairs.
        positives: share of paraphrases.
        auc: area under the ROC curve.
        ci: its interval.
        p: two-sided p of "the area is one half".
        average_precision: area under precision and recall.
        accuracy: at the best threshold.
        interval: kind of ``ci``: ``logit`` or ``wilson``; empty where it is not known.
    """

    metric: str
    n: int
    positives: Number
    auc: Number
    ci: Interval
    p: Number
    average_precision: Estimate
    accuracy: ThresholdAccuracy
    interval: str = ""


@dataclass(frozen=True)
class HarderSet:
    """All metrics on the second, harder set of pairs.

    Attributes:
        name: of its file.
        results: one a metric.
        tests: of each pair of metrics.
    """

    name: str
    results: tuple[PairDetection, ...]
    tests: tuple[Comparison, ...]


@dataclass(frozen=True, repr=False)
class PairsResult(Result):
    """Metrics as detectors of paraphrases on one set of pairs, and on a harder one if there is one.

    Attributes:
        results: one a metric.
        tests: of each pair of metrics.
        against: the same on a second set.
        drops: metric -> its area on the first set compared with that on the second.
    """

    kind: ClassVar[str] = "adversarial-pairs"

    results: tuple[PairDetection, ...]
    tests: tuple[Comparison, ...]
    against: HarderSet | None = None
    drops: dict[str, Comparison] = field(default_factory=dict)


@settled(PairSettings)
def detect_pairs(labels: ArrayLike, scores: Mapping[str, ArrayLike], settings: PairSettings) -> PairsResult:
    """Measure how well metrics detect paraphrases.

    Source: Zhang, Baldridge & He 2019 (PAWS) for the sets; Zhang et al. 2020 (BERTScore), section 6, for the use.

    Args:
        labels: 1 for a paraphrase (n,).
        scores: metric -> scores, higher is better (n,).
        settings: see `PairSettings`.

    Raises:
        InputError: if sizes differ, numbers are missing, or all pairs have one label.
    """
    marks, columns, of = _complete(labels, scores, settings.cluster, settings.nan)
    if not columns:
        raise InputError("there is no metric to look at")
    confidence, seed = settings.confidence, settings.seed
    drawn: Resampling = {"confidence": confidence, "resamples": settings.resamples, "seed": seed}
    kind = area_interval(marks, cluster=of)
    results = []
    for name, values in columns.items():
        auc = roc_auc(marks, values, interval=kind, cluster=of, **drawn)
        curve = precision_recall(marks, values, cluster=of, **drawn)
        best = best_threshold(marks, values, cluster=of, confidence=confidence, seed=seed)
        results.append(
            PairDetection(
                metric=name,
                n=len(marks),
                positives=curve.positives,
                auc=auc.estimate,
                ci=auc.ci,
                p=auc.p,
                average_precision=curve.average_precision,
                accuracy=best,
                interval=kind,
            )
        )
    tests = [
        replace(compare_auc(columns[a], columns[b], marks, cluster=of, confidence=confidence), a=a, b=b)
        for a, b in combinations(columns, 2)
    ]
    positive, _, sets = clustered({"labels": marks, "scores": marks}, of, "error")
    counts = drawn_of_each(positive, sets)
    notes: tuple[str, ...] = ()
    if min(counts) < FEW_LABELS:  # on their number everything rests
        label = "paraphrases" if counts[0] <= counts[1] else "pairs that are none"
        what = label if sets is None else f"sets of pairs that share sentences hold {label}"
        notes = (f"only {min(counts)} {what}: intervals of areas allow for mistakes that so few do not show",)
    return PairsResult(tuple(results), corrected_tests(tests, settings.correction), notes=notes)


def easy_to_hard(
    easy: tuple[ArrayLike, Mapping[str, ArrayLike]],
    hard: tuple[ArrayLike, Mapping[str, ArrayLike]],
    *,
    clusters: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
    confidence: float = 0.95,
    nan: NanPolicy = "error",
) -> dict[str, Comparison]:
    """Measure how much of each metric's ROC AUC is lost from an easy set of pairs to a hard one.

    Args:
        easy: labels (n,) and scores of each metric (n,).
        hard: the same of the hard set (m,), with the same metrics.
        clusters: of the easy set and of the hard one, as for `detect_pairs`.
        confidence: level of the intervals.
        nan: as `detect_pairs`.

    Returns:
        Metric -> comparison of the areas; ``difference`` is the drop, ``p`` of "it is easier on the easy set".

    Raises:
        InputError: as `detect_pairs`, or if the metrics differ.
    """
    if set(easy[1]) != set(hard[1]):
        raise InputError(f"the two sets have other metrics: {', '.join(easy[1])} and {', '.join(hard[1])}")
    (marks_a, a, of_a), (marks_b, b, of_b) = (
        _complete(*scored, cluster, nan) for scored, cluster in zip((easy, hard), clusters, strict=True)
    )
    how: dict[str, Any] = {"cluster_a": of_a, "cluster_b": of_b, "confidence": confidence}
    return {name: compare_auc_between(marks_a, a[name], marks_b, b[name], **how) for name in a}


def _complete(
    labels: ArrayLike, scores: Mapping[str, ArrayLike], cluster: ArrayLike | None, nan: NanPolicy
) -> tuple[Array, dict[str, Array], NDArray[Any] | None]:
    """Return labels, scores and sets of the pairs that miss none, (k,) each."""
    columns, kept = complete({"the labels": labels, **scores}, nan)
    return columns.pop("the labels"), columns, None if cluster is None else np.asarray(cluster)[kept]
