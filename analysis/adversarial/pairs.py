"""A metric as a detector of paraphrases: on one set of pairs, and what it loses from an easy set to a hard one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.adversarial.tables import corrected_field, draw_pairs, pairs_document, pairs_records, pairs_sheets
from bsx.analysis.adversarial.triples import complete, correct_p
from bsx.analysis.documents.adversarial import (
    AccuracyRow,
    DetectionRow,
    DetectionSet,
    DetectionTestRow,
    EstimateRow,
    PairsDocument,
)
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.sheets import Sheet
from bsx.analysis.stats.clusters import Correction
from bsx.analysis.stats.detection.precision import PrecisionRecall, precision_recall
from bsx.analysis.stats.detection.roc import Interval, compare_auc, compare_auc_between, roc_auc
from bsx.analysis.stats.detection.threshold import ThresholdAccuracy, best_threshold
from bsx.analysis.stats.resample import Resampling, Seed
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy
from bsx.support.settings import in_range

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PairDetection:
    """How well a metric tells paraphrases from other pairs.

    Attributes:
        metric: its name.
        n: pairs.
        auc: area under the ROC curve.
        curve: precision and recall by threshold, with average precision.
        accuracy: at the best threshold.
    """

    metric: str
    n: int
    auc: Estimate
    curve: PrecisionRecall
    accuracy: ThresholdAccuracy


@dataclass(frozen=True, repr=False)
class PairsResult(InNotebooks):
    """Metrics as detectors on one set of pairs.

    Attributes:
        results: one a metric.
        tests: (a, b) -> DeLong's paired test.
        p_corrected: (a, b) -> two-sided p, corrected for the number of tests; empty if no correction was asked for.
        kept: which of the given pairs were used (n,).
    """

    results: tuple[PairDetection, ...]
    tests: Mapping[tuple[str, str], Comparison]
    p_corrected: Mapping[tuple[str, str], float]
    kept: NDArray[np.int64]

    @property
    def short(self) -> str:
        """Metrics and pairs."""
        return f"{', '.join(one.metric for one in self.results)}; {len(self.kept)} pairs"

    def to_set(self, name: str | None = None) -> DetectionSet:
        """Return it as part of a document; ``name`` is that of the second of two sets."""
        results = [
            DetectionRow(
                metric=one.metric,
                n=one.n,
                positives=one.curve.positives,
                auc=one.auc.estimate,
                ci=(one.auc.low, one.auc.high),
                p=one.auc.p,
                average_precision=EstimateRow.from_results(one.curve.average_precision),
                accuracy=AccuracyRow.from_results(one.accuracy, in_sample=one.accuracy.accuracy),
            )
            for one in self.results
        ]
        tests = [
            DetectionTestRow.from_results(
                test,
                a=a,
                b=b,
                auc_a=test.a,
                auc_b=test.b,
                z=test.statistic,
                **corrected_field(self.p_corrected, (a, b)),
            )
            for (a, b), test in self.tests.items()
        ]
        return DetectionSet(results=results, tests=tests, **({} if name is None else {"name": name}))

    def to_document(self) -> PairsDocument:
        """Return the document that ``bsx adversarial pairs`` prints, without settings, notes and provenance."""
        return pairs_document(self.to_set())

    def sheets(self) -> Sequence[Sheet]:
        """Return areas and accuracies of all metrics, then their tests."""
        return pairs_sheets(self.to_document())

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return one row a metric."""
        return pairs_records(self.to_document())

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the areas under the ROC curve with their intervals."""
        return draw_pairs(self.to_document(), path)


@in_range
def detect_pairs(
    labels: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    interval: Interval = "logit",
    cluster: ArrayLike | None = None,
    folds: int = 10,
    correction: Correction = "none",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> PairsResult:
    """Take metrics for detectors of paraphrases.

    Source: Zhang, Baldridge & He 2019 (PAWS) for the sets; Zhang et al. 2020 (BERTScore), section 5, for the use.

    Args:
        labels: 1 for a paraphrase (n,).
        scores: metric -> scores, higher is better (n,).
        interval: of the ROC AUC, ``logit``, ``delong`` or ``bootstrap``.
        cluster: number of the set of pairs that each belongs to (n,), such as those that share a sentence (see
            `bsx.analysis.stats.folds.units`); None: all pairs are independent.
        folds: of the cross-validated threshold.
        correction: of the tests' p-values: ``none``, ``holm`` or ``bh``.
        confidence: level of all intervals.
        resamples: of the bootstraps.
        seed: of bootstraps and folds.
        nan: ``error``, or ``omit`` to leave out pairs that miss the label or any metric's score, for all metrics.

    Raises:
        InputError: if sizes differ, numbers are missing, or all pairs have one label.
    """
    columns, kept = complete({"the labels": labels, **scores}, nan)
    marks = columns.pop("the labels")
    if not columns:
        raise InputError("there is no metric to look at")
    drawn: Resampling = {"confidence": confidence, "resamples": resamples, "seed": seed}
    of = None if cluster is None else np.asarray(cluster)[kept]
    results = []
    for name, values in columns.items():
        results.append(
            PairDetection(
                name,
                len(marks),
                roc_auc(marks, values, interval=interval, cluster=of, **drawn),
                precision_recall(marks, values, cluster=of, **drawn),
                best_threshold(marks, values, cluster=of, folds=folds, confidence=confidence, seed=seed),
            )
        )
    tests = {
        (a, b): compare_auc(columns[a], columns[b], marks, cluster=of, confidence=confidence)
        for a, b in combinations(columns, 2)
    }
    p_corrected = correct_p({pair: test.p_two_sided for pair, test in tests.items()}, correction)
    return PairsResult(tuple(results), tests, p_corrected, kept)


@in_range
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
    found: dict[str, Comparison] = {}
    marks: list[Array] = []
    tables: list[dict[str, Array]] = []
    sets: list[NDArray[np.float64] | None] = []
    for (labels, scores), cluster in zip((easy, hard), clusters, strict=True):
        columns, kept = complete({"the labels": labels, **scores}, nan)
        sets.append(None if cluster is None else np.asarray(cluster, dtype=np.float64)[kept])
        marks.append(columns.pop("the labels"))
        tables.append(columns)
    for name in tables[0]:
        a, b = ((marks[i], tables[i][name]) for i in (0, 1))
        found[name] = compare_auc_between(*a, *b, cluster_a=sets[0], cluster_b=sets[1], confidence=confidence)
    return found
