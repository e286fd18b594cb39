"""Precision and recall by threshold, and average precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.stats.detection.labelled import clustered, cuts, resampled, separated
from bsx.analysis.stats.resample import Seed, percentile_interval
from bsx.analysis.stats.results import Estimate
from bsx.analysis.stats.validate import settings
from bsx.support.checks import Array, NanPolicy
from bsx.support.result import Shown


@dataclass(frozen=True, repr=False)
class PrecisionRecall(Shown):
    """Precision and recall at every threshold, from the highest to the lowest.

    Attributes:
        thresholds: distinct scores, falling (t,); everything at or above one is called positive.
        precision: (t,).
        recall: (t,).
        average_precision: mean of the precisions, each weighted by the recall gained there; with interval. Its ``p`` is
            NaN: the value of a score that says nothing is the share of positives, not a constant.
        positives: share of positive labels.
    """

    thresholds: Array
    precision: Array
    recall: Array
    average_precision: Estimate
    positives: float


def precision_recall(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> PrecisionRecall:
    """Return precision and recall by threshold, and average precision with a bootstrap interval.

    The bootstrap draws positives and negatives apart, or whole clusters. If all positives score above all negatives,
    the lower end is that of `roc_auc`.

    Source: average precision as the sum over thresholds of precision times gained recall, without interpolation
    (Manning, Raghavan & Schütze 2008, section 8.4; scikit-learn's definition).

    Args and errors: as `bsx.analysis.stats.detection.roc.roc_auc`.
    """
    settings(resamples=resamples, confidence=confidence)
    positive, columns, of = clustered({"labels": labels, "scores": scores}, cluster, nan)
    order, ends = cuts(columns[0])
    true, false = (np.cumsum(mask[order])[ends].astype(np.float64)[None] for mask in (positive, ~positive))
    area = float(_weighted_precision(true, false)[0])
    draws = resampled(positive, columns[0], of, _weighted_precision, resamples, seed)
    low, high = percentile_interval(draws, confidence)
    if columns[0][positive].min() > columns[0][~positive].max():
        low, high, _ = separated(positive, of, 1.0, confidence)
    method = f"average precision, bootstrap interval, {'stratified' if of is None else f'{of.max() + 1} clusters'}"
    average = Estimate(area, low, high, float("nan"), len(positive), method, confidence)
    precision, recall = (true / (true + false))[0], (true / true[:, -1:])[0]
    return PrecisionRecall(columns[0][order][ends], precision, recall, average, float(positive.mean()))


def _weighted_precision(true: Array, false: Array) -> Array:
    """Return average precision from cumulated counts (b, t) of positives and negatives: (b,)."""
    called = true + false
    precision = np.divide(true, called, out=np.zeros_like(true), where=called > 0)
    gained = np.diff(true, axis=1, prepend=np.zeros((len(true), 1)))
    return np.asarray((precision * gained).sum(axis=1) / true[:, -1])
