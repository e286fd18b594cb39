"""The area under the ROC curve, and whether one area is larger than another."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.stats.detection.labelled import Mask, Numbers, clustered, resampled, separated
from bsx.analysis.stats.resample import Seed, bootstrap_p, percentile_interval
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.validate import settings
from bsx.support.checks import Array, NanPolicy, choice
from bsx.support.optional import need

Interval = Literal["logit", "delong", "bootstrap"]


def roc_auc(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    interval: Interval = "logit",
    cluster: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Estimate:
    """Return the area under the ROC curve: how likely a positive scores above a negative; a tie counts half.

    Source: DeLong, DeLong & Clarke-Pearson 1988 for the variance, Sun & Xu 2014 for its computation, Obuchowski 1997
    for clusters; Pepe 2003, section 5.2, for the logit; Efron 1979 for the bootstrap, which draws positives and
    negatives apart, or whole clusters.

    Args:
        labels: 1 for positive, 0 for negative (n,).
        scores: higher means rather positive (n,).
        interval: ``logit`` (normal on the scale of log-odds, so that it stays within 0 and 1), ``delong`` (normal, cut
            off at 0 and 1) or ``bootstrap`` (percentiles).
        cluster: number of the set of items that each belongs to (n,), such as pairs that share a sentence; the items of
            different sets are independent. None: all items are.
        confidence: level of the interval.
        resamples: of the bootstrap.
        seed: of the bootstrap.
        nan: ``error``, or ``omit`` to leave out items that miss label or score.

    Returns:
        The area; ``p`` is two-sided, of "the area is 0.5". If all positives score above all negatives, the variance is
        estimated as 0. The interval's other end is then the exact one of as many successes as the rarer class has items
        (or clusters; Clopper & Pearson 1934), and p that of the most extreme of all orders.

    Raises:
        InputError: if sizes differ, values are missing or infinite, a label is neither 0 nor 1, or one class is empty.
    """
    choice("interval", interval, ("logit", "delong", "bootstrap"))
    settings(resamples=resamples, confidence=confidence)
    positive, columns, of = clustered({"labels": labels, "scores": scores}, cluster, nan)
    area, covariance = _delong(positive, columns, of)
    auc, error = float(area[0]), math.sqrt(covariance[0, 0])
    if error < 1e-12 and auc in (0.0, 1.0):
        low, high, p = separated(positive, of, auc, confidence)
    elif interval == "bootstrap":
        draws = resampled(positive, columns[0], of, _weighted_auc, resamples, seed)
        low, high = percentile_interval(draws, confidence)
        p = bootstrap_p(draws, 0.5)[1]
    else:
        normal = need("scipy.stats", "DeLong's interval").norm
        half = float(normal.ppf((1 + confidence) / 2)) * error
        low, high = max(0.0, auc - half), min(1.0, auc + half)
        if interval == "logit" and 0 < auc < 1:
            centre, half = math.log(auc / (1 - auc)), half / (auc * (1 - auc))
            low, high = (1 / (1 + math.exp(-end)) for end in (centre - half, centre + half))
        p = float(2 * normal.sf(abs(_ratio(auc - 0.5, error))))
    grouped = "" if of is None else f", {of.max() + 1} clusters"
    return Estimate(auc, low, high, p, len(positive), f"ROC AUC, {interval} interval{grouped}", confidence)


def compare_auc(
    a: ArrayLike,
    b: ArrayLike,
    labels: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    confidence: float = 0.95,
    nan: NanPolicy = "error",
) -> Comparison:
    """Test whether metric a's area is larger than metric b's on the same items.

    Source: DeLong, DeLong & Clarke-Pearson 1988, section 3; Obuchowski 1997 for clusters.

    Args:
        a: scores of the first metric (n,).
        b: scores of the second (n,).
        labels: 1 or 0 (n,).
        cluster: as `roc_auc`.
        confidence: level of the interval.
        nan: ``error``, or ``omit`` to leave out items that miss any of the three.

    Returns:
        Comparison of the two areas; ``statistic`` is normal.

    Raises:
        InputError: as `roc_auc`.
    """
    settings(confidence=confidence)
    positive, columns, of = clustered({"labels": labels, "a": a, "b": b}, cluster, nan)
    areas, covariance = _delong(positive, columns, of)
    variance = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    return _compared(float(areas[0]), float(areas[1]), variance, len(positive), "DeLong test, paired", confidence)


def compare_auc_between(
    labels_a: ArrayLike,
    scores_a: ArrayLike,
    labels_b: ArrayLike,
    scores_b: ArrayLike,
    *,
    cluster_a: ArrayLike | None = None,
    cluster_b: ArrayLike | None = None,
    confidence: float = 0.95,
    nan: NanPolicy = "error",
) -> Comparison:
    """Test whether a metric's area is larger on set a than on set b, which share no items.

    Source: variances of DeLong et al. 1988, which add up for independent samples.

    Args:
        labels_a: 1 or 0 (n,), of the easy set, say.
        scores_a: (n,).
        labels_b: 1 or 0 (m,), of the hard set.
        scores_b: (m,).
        cluster_a: as `roc_auc`, of set a (n,).
        cluster_b: of set b (m,).
        confidence: level of the interval.
        nan: ``error``, or ``omit`` to leave out items that miss label or score.

    Returns:
        Comparison of the two areas; ``n`` counts the items of both sets.

    Raises:
        InputError: as `roc_auc`.
    """
    settings(confidence=confidence)
    areas, variance, n = [], 0.0, 0
    for labels, scores, cluster in ((labels_a, scores_a, cluster_a), (labels_b, scores_b, cluster_b)):
        positive, columns, of = clustered({"labels": labels, "scores": scores}, cluster, nan)
        area, covariance = _delong(positive, columns, of)
        areas.append(float(area[0]))
        variance += float(covariance[0, 0])
        n += len(positive)
    return _compared(areas[0], areas[1], variance, n, "DeLong variances, independent samples", confidence)


def _delong(positive: Mask, scores: Array, of: Numbers | None = None) -> tuple[Array, Array]:
    """Return the areas (metrics,) and their covariance (metrics, metrics) by midranks, in O(n log n)."""
    rank = need("scipy.stats", "DeLong's variance").rankdata
    x, y = scores[:, positive], scores[:, ~positive]
    m, n = x.shape[1], y.shape[1]
    together = rank(np.concatenate([x, y], axis=1), axis=1)
    # Placement values: the share of the other class that each item beats, ties by half.
    v10 = (together[:, :m] - rank(x, axis=1)) / n
    v01 = 1 - (together[:, m:] - rank(y, axis=1)) / m
    areas = v10.mean(axis=1)
    covariance = np.zeros((len(scores), len(scores)))
    if of is not None:  # what each cluster adds to the area, over or below the mean
        parts = np.zeros((len(scores), len(positive)))
        parts[:, positive], parts[:, ~positive] = (v10 - areas[:, None]) / m, (v01 - areas[:, None]) / n
        sums = np.stack([np.bincount(of, weights=row) for row in parts])
        return areas, sums @ sums.T * sums.shape[1] / (sums.shape[1] - 1)
    for placements in (v10, v01):
        count = placements.shape[1]
        if count > 1:  # a class of one item has no variance that could be estimated
            centred = placements - placements.mean(axis=1, keepdims=True)
            covariance += centred @ centred.T / (count - 1) / count
    return areas, covariance


def _compared(a: float, b: float, variance: float, n: int, method: str, confidence: float) -> Comparison:
    normal = need("scipy.stats", "DeLong's test").norm
    # Two identical metrics have a variance of 0 up to rounding, of either sign.
    error = math.sqrt(variance) if variance > 1e-14 else 0.0
    difference = a - b
    z = _ratio(difference, error)
    half = float(normal.ppf((1 + confidence) / 2)) * error
    return Comparison(
        a=a,
        b=b,
        difference=difference,
        low=max(-1.0, difference - half),  # two areas cannot lie further apart
        high=min(1.0, difference + half),
        statistic=z,
        p=float(normal.sf(z)),
        p_two_sided=float(2 * normal.sf(abs(z))),
        n=n,
        method=method,
        confidence=confidence,
    )


def _ratio(difference: float, error: float) -> float:
    if error > 0:
        return difference / error
    return 0.0 if abs(difference) < 1e-12 else math.copysign(math.inf, difference)


def _weighted_auc(true: Array, false: Array) -> Array:
    """Return the area by trapezoids from cumulated counts (b, t) of positives and negatives: (b,)."""
    start = np.zeros((len(true), 1))
    gained = np.diff(false, axis=1, prepend=start)
    height = true - np.diff(true, axis=1, prepend=start) / 2
    return np.asarray((gained * height).sum(axis=1) / (true[:, -1] * false[:, -1]))
