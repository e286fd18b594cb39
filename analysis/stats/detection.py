"""How well scores tell two classes apart: ROC and its area, precision and recall, the accuracy of a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.folds import unit_folds
from bsx.analysis.stats.preference import clustered_share, wilson_interval, wilson_of_worth
from bsx.analysis.stats.resample import Seed, all_counts, block_sizes, bootstrap_p, percentile_interval
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.rowwise import clip_variance, quadratic_form
from bsx.analysis.stats.validate import settings, several_units, vectors
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy, choice
from bsx.support.optional import need
from bsx.support.result import Endless, Interval, Number, Shown

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


def binary(columns: dict[str, ArrayLike], nan: NanPolicy) -> tuple[Mask, Array]:
    """Check labels, the first of the columns (n,), and scores: which items are positive (n,), and scores (metrics, n).

    Raises:
        InputError: naming the column and what is wrong with it.
    """
    labels, *scores = vectors(columns, nan=nan, minimum=2)
    name = next(iter(columns))
    wrong = ~np.isin(labels, (0.0, 1.0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(f"{name}: item {at} is {labels[at]:g}, a label must be 0 or 1")
    positive = labels == 1
    if positive.all() or not positive.any():
        raise InputError(
            f"{name}: all {len(labels)} items have the label {int(labels[0])}; both 0 and 1 are needed to tell apart"
        )
    return positive, np.stack(scores)


def clustered(
    columns: dict[str, ArrayLike], cluster: ArrayLike | None, nan: NanPolicy
) -> tuple[Mask, Array, Numbers | None]:
    """Check as `binary` does; return the cluster of each item that is kept too (n,), None if each is its own."""
    if cluster is None:
        return *binary(columns, nan), None
    positive, values = binary({**columns, "cluster": np.asarray(cluster, dtype=np.float64)}, nan)
    of = np.unique(values[-1], return_inverse=True)[1].astype(np.int64)
    several_units(int(of.max()) + 1, "cluster", "items", "set")
    return positive, values[:-1], None if of.max() + 1 == len(of) else of


def separated(positive: Mask, of: Numbers | None, area: float, confidence: float) -> tuple[float, float, float]:
    """Return interval and two-sided p of two classes that a score tells apart without a mistake."""
    units = drawn_of_each(positive, of)
    end = ((1 - confidence) / 2) ** (1 / min(units))
    low, high = (end, 1.0) if area == 1 else (0.0, 1 - end)
    orders = math.lgamma(sum(units) + 1) - sum(math.lgamma(size + 1) for size in units)
    return low, high, min(1.0, 2 * math.exp(-orders))


def cuts(scores: Array) -> tuple[Numbers, Numbers]:
    """Return the order of falling scores (n,), and where in it each distinct score ends (t,)."""
    order = np.argsort(-scores, kind="stable")
    return order, np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)


def resampled(
    positive: Mask,
    scores: Array,
    of: Numbers | None,
    statistic: Callable[[Array, Array], Array],
    resamples: int,
    seed: Seed,
) -> Array:
    """Return a statistic of resamples (resamples,): of positives and negatives drawn apart, or of clusters.

    ``statistic`` takes how many positives and how many negatives score at least each distinct score, (b, t) each.
    """
    order, ends = cuts(scores)
    sides = [positive[order], ~positive[order]]
    draws, rng = [], np.random.default_rng(seed)
    for size in block_sizes(resamples, len(scores)):
        if of is None:
            counts = np.zeros((size, len(scores)))
            for side in sides:
                counts[:, side] = all_counts(size, int(side.sum()), rng)
        else:
            counts = all_counts(size, int(of.max()) + 1, rng)[:, of[order]]
        with np.errstate(invalid="ignore", divide="ignore"):
            draws.append(statistic(*(np.cumsum(counts * side, axis=1)[:, ends] for side in sides)))
    return np.concatenate(draws)


AreaInterval = Literal["auto", "logit", "wilson", "delong", "bootstrap"]
FEW_LABELS = 50
"""Items, or clusters of them, that the rarer label has: of fewer, DeLong's variance is too small too often."""


def roc_auc(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    interval: AreaInterval = "auto",
    cluster: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Estimate:
    """Return the area under the ROC curve: how likely a positive scores above a negative; a tie counts half.

    Source: DeLong, DeLong & Clarke-Pearson 1988 for the variance, Sun & Xu 2014 for its computation, Obuchowski 1997
    for clusters; Pepe 2003, section 5.2, for the logit; Wilson 1927 for the share; Efron 1979 for the bootstrap, which
    draws positives and negatives apart, or whole clusters.

    Args:
        labels: 1 for positive, 0 for negative (n,).
        scores: higher means rather positive (n,).
        interval: ``logit`` (normal on the scale of log-odds, so that it stays within 0 and 1), ``wilson`` (Wilson's of
            as many items as give DeLong's variance, but at most as many as if scores said nothing and at least as many
            as the rarer label has; for few items of a label), ``delong`` (normal, cut off at 0 and 1), ``bootstrap``
            (percentiles), or ``auto``: ``wilson`` if the rarer label has fewer than 50 items or clusters, else
            ``logit``.
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
    choice("interval", interval, ("auto", "logit", "wilson", "delong", "bootstrap"))
    settings(resamples=resamples, confidence=confidence)
    positive, columns, of = clustered({"labels": labels, "scores": scores}, cluster, nan)
    units = drawn_of_each(positive, of)
    if interval == "auto":
        interval = "wilson" if min(units) < FEW_LABELS else "logit"
    areas, covariance, degrees_of = _delong(positive, columns, of)
    auc, error = float(areas[0]), math.sqrt(covariance[0, 0])
    degrees = degrees_of(np.ones(1)) if of is not None or interval == "wilson" else math.inf
    if error == 0 and auc in (0.0, 1.0):
        low, high, p = separated(positive, of, auc, confidence)
    elif interval == "bootstrap":
        draws = resampled(positive, columns[0], of, _weighted_auc, resamples, seed)
        fewest = None if of is None else min(units)
        low, high = percentile_interval(draws, confidence, fewest)
        p = bootstrap_p(draws, 0.5, fewest)[1]
    else:
        t = need("scipy.stats", "DeLong's interval").t
        half = float(t.ppf((1 + confidence) / 2, degrees)) * error
        low, high = max(0.0, auc - half), min(1.0, auc + half)
        if interval == "wilson":
            low, high = wilson_of_worth(auc, _worth(positive, of, auc, error), confidence, degrees)
        if interval == "logit" and 0 < auc < 1:
            centre, half = math.log(auc / (1 - auc)), half / (auc * (1 - auc))
            low, high = map(float, need("scipy.special", "DeLong's interval").expit([centre - half, centre + half]))
        p = float(2 * t.sf(abs(_ratio(auc - 0.5, error)), math.inf if of is None else degrees))
    grouped = "" if of is None else f", {of.max() + 1} clusters"
    return Estimate(
        estimate=auc,
        ci=(low, high),
        p=p,
        n=len(positive),
        method=f"ROC AUC, {interval} interval{grouped}",
        confidence=confidence,
    )


def area_interval(labels: ArrayLike, cluster: ArrayLike | None = None) -> AreaInterval:
    """Return which interval `roc_auc` takes for these labels: what ``auto`` stands for. Errors: as there."""
    positive, _, of = clustered({"labels": labels, "scores": labels}, cluster, "error")
    return "wilson" if min(drawn_of_each(positive, of)) < FEW_LABELS else "logit"


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
        Comparison of the two areas; ``statistic`` is normal, or t where few clusters carry a label.

    Raises:
        InputError: as `roc_auc`.
    """
    settings(confidence=confidence)
    positive, columns, of = clustered({"labels": labels, "a": a, "b": b}, cluster, nan)
    (first, second), covariance, degrees_of = _delong(positive, columns, of)
    contrast = np.array([1.0, -1.0])
    degrees, variance = math.inf if of is None else degrees_of(contrast), quadratic_form(contrast, covariance)
    return _compared(float(first), float(second), variance, degrees, len(positive), "DeLong test, paired", confidence)


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
    areas, variances, degrees, n = [], [], [], 0
    for labels, scores, cluster in ((labels_a, scores_a, cluster_a), (labels_b, scores_b, cluster_b)):
        positive, columns, of = clustered({"labels": labels, "scores": scores}, cluster, nan)
        area, covariance, degrees_of = _delong(positive, columns, of)
        areas.append(float(area[0]))
        variances.append(float(covariance[0, 0]))
        degrees.append(math.inf if of is None else degrees_of(np.ones(1)))
        n += len(positive)
    method, together = "DeLong variances, independent samples", satterthwaite(variances, degrees)
    return _compared(areas[0], areas[1], sum(variances), together, n, method, confidence)


def drawn_of_each(positive: Mask, of: Numbers | None) -> tuple[int, int]:
    """Return how many items, or clusters of them, are positive and how many negative."""
    first, second = (int(side.sum()) if of is None else len(np.unique(of[side])) for side in (positive, ~positive))
    return first, second


def satterthwaite(variances: Sequence[float], degrees: Sequence[float]) -> float:
    """Return the degrees of freedom of a sum of variances (Satterthwaite 1946); infinite if all parts are sure."""
    parts = sum(variance**2 / many for variance, many in zip(variances, degrees, strict=True) if variance > 0)
    return sum(variances) ** 2 / parts if parts > 0 else math.inf


def _worth(positive: Mask, of: Numbers | None, auc: float, error: float) -> float:
    """Return how many independent items have this area's variance, between what labels of such number can be worth.

    The variance is at most area * (1 - area) over the items of the rarer label, whatever the distributions (van Dantzig
    1951; Birnbaum & Klose 1957), and that of a score that says nothing is (m + n + 1) / (12 m n) (Mann & Whitney 1947).
    Few items of a label can all lie well by chance, so no fewer mistakes are believed than that.
    """
    m, n = int(positive.sum()), int((~positive).sum())
    worth = auc * (1 - auc) / error**2 if error > 0 else math.inf
    return min(max(worth, min(m, n) if of is None else 1), 3 * m * n / (m + n + 1))


def _delong(positive: Mask, scores: Array, of: Numbers | None = None) -> tuple[Array, Array, Callable[[Array], float]]:
    """Return areas (metrics,) of scores (metrics, n) and their covariance by midranks, in O(n log n).

    Beside them the function from a contrast of areas to the degrees of freedom of its variance. Where few clusters have
    a label, each label's part of the variance is corrected for its own number of clusters.
    """
    rank = need("scipy.stats", "DeLong's variance").rankdata
    x, y = scores[:, positive], scores[:, ~positive]
    m, n = x.shape[1], y.shape[1]
    together = rank(np.concatenate([x, y], axis=1), axis=1)
    # How many of the other class each item is placed rightly to, ties by half. Whole numbers and halves are exact, so
    # deviations that are 0 are exactly 0.
    counts = together[:, :m] - rank(x, axis=1), m - (together[:, m:] - rank(y, axis=1))
    areas, units = counts[0].sum(axis=1) / (m * n), drawn_of_each(positive, of)
    centred = [rights * rights.shape[1] - rights.sum(axis=1, keepdims=True) for rights in counts]
    if of is not None and min(units) < 2 and not np.isin(areas, (0.0, 1.0)).all():
        raise InputError(
            f"labels: all items of the label {int(units[0] < 2)} are in one set of dependent rows: what other sets "
            "would say is not known; at least 2 sets with each label are needed, or cluster none, which takes rows as "
            "independent",
            setting="labels",
        )
    parts = np.zeros((2, len(scores), len(scores)))
    every = len(positive) if of is None else int(of.max()) + 1

    def degrees(contrast: Array) -> float:
        """Return the degrees of freedom of a contrast's variance; infinite if both labels have many units."""
        if min(units) >= FEW_LABELS:
            return math.inf
        variances = [quadratic_form(contrast, part) for part in parts]
        return min(satterthwaite(variances, [max(count - 1, 1) for count in units]), every - 1.0)

    if of is not None:  # what each cluster adds to the area, over or below the mean
        added = np.zeros((2, len(scores), len(positive)))
        added[0][:, positive], added[1][:, ~positive] = centred
        sums = np.stack([[np.bincount(of, weights=row, minlength=every) for row in side] for side in added])
        sums = sums / np.array([m * m * n, n * n * m])[:, None, None]
        few = min(units) < FEW_LABELS
        correction = [count / max(count - 1, 1) if few else every / (every - 1) for count in units]
        for side in (0, 1):
            parts[side] = sums[side] @ sums[side].T * correction[side]
        both = sums[0] @ sums[1].T * every / (every - 1)
        covariance, size = parts.sum(axis=0) + both + both.T, parts.sum(axis=0) + np.abs(both) + np.abs(both.T)
        varying = clip_variance(np.diag(covariance), np.diag(size)) > 0  # in a cluster, the parts may cancel
        return areas, np.where(varying[:, None] & varying, covariance, 0.0), degrees
    for side, (count, deviations) in enumerate(zip((m, n), centred, strict=True)):
        if count > 1:  # a class of one item has no variance that could be estimated
            deviations = deviations / (m * n)
            parts[side] = deviations @ deviations.T / (count - 1) / count
    return areas, parts.sum(axis=0), degrees


def _compared(
    a: float, b: float, variance: float, degrees: float, n: int, method: str, confidence: float
) -> Comparison:
    """Return two areas compared; the statistic is t of so many degrees of freedom, normal if they are infinite."""
    t = need("scipy.stats", "DeLong's test").t
    error, difference = math.sqrt(variance), a - b
    z = _ratio(difference, error)
    half = float(t.ppf((1 + confidence) / 2, degrees)) * error
    if degrees < math.inf:
        method += f", t with {degrees:.1f} degrees of freedom"
    return Comparison.of(
        a,
        b,
        ci=(max(-1.0, difference - half), min(1.0, difference + half)),  # two areas cannot lie further apart
        statistic=z,
        p=float(t.sf(z, degrees)),
        p_two_sided=float(2 * t.sf(abs(z), degrees)),
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

    Arguments and errors are those of `roc_auc`. The bootstrap draws positives and negatives apart, or whole clusters.
    If all positives score above all negatives, the lower end is that of `roc_auc`.

    Source: average precision as the sum over thresholds of precision times gained recall, without interpolation
    (Manning, Raghavan & Schütze 2008, section 8.4; scikit-learn's definition).
    """
    settings(resamples=resamples, confidence=confidence)
    positive, columns, of = clustered({"labels": labels, "scores": scores}, cluster, nan)
    order, ends = cuts(columns[0])
    true, false = (np.cumsum(mask[order])[ends].astype(np.float64)[None] for mask in (positive, ~positive))
    area = float(_weighted_precision(true, false)[0])
    draws = resampled(positive, columns[0], of, _weighted_precision, resamples, seed)
    low, high = percentile_interval(draws, confidence, None if of is None else min(drawn_of_each(positive, of)))
    if columns[0][positive].min() > columns[0][~positive].max():
        low, high, _ = separated(positive, of, 1.0, confidence)
    method = f"average precision, bootstrap interval, {'stratified' if of is None else f'{of.max() + 1} clusters'}"
    average = Estimate(estimate=area, ci=(low, high), n=len(positive), method=method, confidence=confidence)
    precision, recall = (true / (true + false))[0], (true / true[:, -1:])[0]
    return PrecisionRecall(columns[0][order][ends], precision, recall, average, float(positive.mean()))


def _weighted_precision(true: Array, false: Array) -> Array:
    """Return average precision from cumulated counts (b, t) of positives and negatives: (b,)."""
    called = true + false
    precision = np.divide(true, called, out=np.zeros_like(true), where=called > 0)
    gained = np.diff(true, axis=1, prepend=np.zeros((len(true), 1)))
    return np.asarray((precision * gained).sum(axis=1) / true[:, -1])


@dataclass(frozen=True, repr=False)
class ThresholdAccuracy(Shown):
    """Accuracy of "positive if the score is at least the threshold".

    Attributes:
        threshold: the best one on all items; infinite if calling all items the same is best.
        in_sample: accuracy with it on the items it was chosen on: too high for new items.
        cross_validated: each item labelled with the best threshold of the other folds.
        ci: Wilson interval of ``cross_validated``, for clusters if there are any.
        majority: accuracy of always giving the more frequent label.
        folds: of the cross-validation.
        n: items.
        confidence: level of the interval.
    """

    threshold: Endless
    in_sample: Number
    cross_validated: Number
    ci: Interval
    majority: Number
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
        InputError: as `roc_auc`, or if there are too few items for the folds.
    """
    settings(confidence=confidence)
    given = {} if cluster is None else {"cluster": cluster}
    positive, (values, *sets) = binary({"labels": labels, "scores": scores, **given}, nan)
    of = np.unique(sets[0], return_inverse=True)[1] if sets else None
    rarer = int(min(positive.sum(), (~positive).sum()))
    if folds < 2 or rarer < 2:
        raise InputError(f"folds={folds} with {rarer} items of the rarer label: at least 2 of both are needed")
    folds = min(folds, rarer)
    threshold, right = _best(positive, values)
    fold = np.empty(len(positive), dtype=np.int64)
    if of is None:
        rng = np.random.default_rng(seed)
        for wanted in (True, False):  # the items of either label are dealt out in turn
            place = rng.permutation(np.flatnonzero(positive == wanted))
            fold[place] = np.arange(len(place)) % folds
    else:
        folds = min(folds, int(of.max()) + 1)
        for k, part in enumerate(unit_folds(of, folds, seed)):
            fold[part.test] = k
    labelled = np.empty(len(positive), dtype=bool)
    for k in range(folds):
        chosen, _ = _best(positive[fold != k], values[fold != k])
        labelled[fold == k] = (values[fold == k] >= chosen) == positive[fold == k]
    n, correct = len(positive), int(labelled.sum())
    ends = wilson_interval(correct, n, confidence) if of is None else clustered_share(labelled, of, confidence)
    majority = max(float(positive.mean()), 1 - float(positive.mean()))
    return ThresholdAccuracy(threshold, right / n, correct / n, ends, majority, folds, n, confidence)


def _best(positive: Mask, scores: Array) -> tuple[float, int]:
    """Return the best threshold and how many items it labels rightly."""
    order, ends = cuts(scores)
    ordered, true = scores[order], np.cumsum(positive[order])[ends]
    negatives = int((~positive).sum())
    # Nothing is called positive, then everything down to each distinct score.
    right = np.append(negatives, true + negatives - (ends + 1 - true))
    best = int(np.argmax(right))
    if best == 0:
        return float("inf"), int(right[0])
    if best == len(ends):
        return float("-inf"), int(right[-1])
    return float((ordered[ends[best - 1]] + ordered[ends[best - 1] + 1]) / 2), int(right[best])
