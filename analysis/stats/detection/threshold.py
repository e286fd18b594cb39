"""Accuracy of a threshold on scores: the best one on all items, and what it is on items that did not choose it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.stats.detection.labelled import Mask, Numbers, binary, cuts
from bsx.analysis.stats.folds import unit_folds
from bsx.analysis.stats.preference import clustered_share, wilson_interval
from bsx.analysis.stats.resample import Seed
from bsx.analysis.stats.validate import settings
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy
from bsx.support.result import Shown


@dataclass(frozen=True, repr=False)
class ThresholdAccuracy(Shown):
    """Accuracy of "positive if the score is at least the threshold".

    Attributes:
        threshold: the best one on all items; infinite if calling all items the same is best.
        accuracy: with that threshold on the items it was chosen on: too high for new items.
        cross_validated: each item labelled with the best threshold of the other folds.
        low: lower end of the Wilson interval of ``cross_validated``, for clusters if there are any.
        high: its upper end.
        majority: accuracy of always giving the more frequent label.
        folds: of the cross-validation.
        n: items.
        confidence: level of the interval.
    """

    threshold: float
    accuracy: float
    cross_validated: float
    low: float
    high: float
    majority: float
    folds: int
    n: int
    confidence: float


def best_threshold(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    folds: int = 10,
    confidence: float = 0.95,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> ThresholdAccuracy:
    """Return the accuracy at the best threshold, and what it is on items that did not choose it.

    A threshold lies half-way between two neighbouring scores. Among equally good ones the highest is taken. Folds are
    stratified: each has its share of either label. With clusters, a fold holds whole ones instead, and the interval is
    that of as many independent items as the clusters are worth.

    Source: accuracy at the best threshold as in Zhang, Baldridge & He 2019 (PAWS), section 5; Stone 1974 for choosing
    and judging on different items.

    Args:
        labels: 1 or 0 (n,).
        scores: higher means rather positive (n,).
        cluster: number of the set that each item belongs to, such as the pairs that share a sentence (n,).
        folds: at least 2; not more than the rarer label has items.
        confidence: level of the interval.
        seed: of the division into folds.
        nan: ``error``, or ``omit`` to leave out items that miss label or score.

    Raises:
        InputError: as `bsx.analysis.stats.detection.roc.roc_auc`, or if there are too few items for the folds.
    """
    settings(confidence=confidence)
    given = {} if cluster is None else {"cluster": cluster}
    positive, columns = binary({"labels": labels, "scores": scores, **given}, nan)
    values = columns[0]
    of = None if cluster is None else np.unique(columns[1], return_inverse=True)[1]
    rarer = int(min(positive.sum(), (~positive).sum()))
    if folds < 2 or rarer < 2:
        raise InputError(f"`folds={folds}` with {rarer} items of the rarer label: at least 2 of both are needed")
    folds = min(folds, rarer)
    threshold, right = _best(positive, values)
    if of is None:
        fold = _folds(positive, folds, np.random.default_rng(seed))
    else:
        folds = min(folds, int(of.max()) + 1)
        fold = np.empty(len(positive), dtype=np.int64)
        for k, part in enumerate(unit_folds(of, folds, seed)):
            fold[part.test] = k
    labelled = np.empty(len(positive), dtype=bool)
    for k in range(folds):
        chosen, _ = _best(positive[fold != k], values[fold != k])
        labelled[fold == k] = (values[fold == k] >= chosen) == positive[fold == k]
    n, correct = len(positive), int(labelled.sum())
    low, high = wilson_interval(correct, n, confidence) if of is None else clustered_share(labelled, of, confidence)
    majority = max(float(positive.mean()), 1 - float(positive.mean()))
    return ThresholdAccuracy(threshold, right / n, correct / n, low, high, majority, folds, n, confidence)


def _best(positive: Mask, scores: Array) -> tuple[float, int]:
    """Return the best threshold and how many items it labels rightly."""
    order, ends = cuts(scores)
    ordered, labels = scores[order], positive[order].astype(np.int64)
    true = np.cumsum(labels)[ends]
    negatives = len(labels) - int(labels.sum())
    # Nothing is called positive, then everything down to each distinct score.
    right = np.append(negatives, true + negatives - (ends + 1 - true))
    best = int(np.argmax(right))
    if best == 0:
        return float("inf"), int(right[0])
    if best == len(ends):
        return float("-inf"), int(right[-1])
    return float((ordered[ends[best - 1]] + ordered[ends[best - 1] + 1]) / 2), int(right[best])


def _folds(positive: Mask, folds: int, rng: np.random.Generator) -> Numbers:
    """Return each item's fold (n,); the items of either label are dealt out in turn."""
    fold = np.empty(len(positive), dtype=np.int64)
    for wanted in (True, False):
        place = rng.permutation(np.flatnonzero(positive == wanted))
        fold[place] = np.arange(len(place)) % folds
    return fold
