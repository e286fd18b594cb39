"""ROC AUC, DeLong, precision and recall, the best threshold, against literal code and other packages."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm, t
from sklearn import metrics

from bsx.analysis.stats.detection import best_threshold, compare_auc, compare_auc_between, precision_recall, roc_auc
from bsx.analysis.stats.resample import bootstrap_indices, percentile_interval

Array = np.ndarray


def make(n: int = 120, seed: int = 1, *, ties: bool = True) -> tuple[Array, Array, Array]:
    """Labels and two correlated scores, rounded so that many are equal."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.35).astype(int)
    labels[:2] = [0, 1]
    base = labels * 0.8 + rng.normal(size=n)
    a, b = base + 0.5 * rng.normal(size=n), base + rng.normal(size=n)
    return (labels, np.round(a, 1), np.round(b, 1)) if ties else (labels, a, b)


def literal_placements(labels: Array, *columns: Array) -> tuple[list[float], list[Array], list[Array]]:
    """Return areas and placement values: every positive against every negative."""
    areas, v10, v01 = [], [], []
    for scores in columns:
        x, y = scores[labels == 1], scores[labels == 0]
        table = (1 + np.sign(x[:, None] - y)) / 2  # 1 where the positive is higher, a half where they tie
        areas.append(float(table.mean()))
        v10.append(table.mean(axis=1))
        v01.append(table.mean(axis=0))
    return areas, v10, v01


def literal_delong(labels: Array, columns: list[Array]) -> tuple[list[float], Array]:
    """DeLong et al. 1988, equations by placement values."""
    areas, v10, v01 = literal_placements(labels, *columns)
    m, n = int((labels == 1).sum()), int((labels == 0).sum())
    return areas, np.cov(v10, ddof=1) / m + np.cov(v01, ddof=1) / n


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_delong_is_the_literal_computation(ties: bool, seed: int) -> None:
    labels, a, b = make(seed=seed, ties=ties)
    areas, covariance = literal_delong(labels, [a, b])
    found = roc_auc(labels, a, interval="delong")
    half = norm.ppf(0.975) * math.sqrt(covariance[0, 0])
    # Both are the same sums in another order: equal up to rounding.
    assert found.estimate == pytest.approx(areas[0], abs=1e-12)
    assert found.ci == pytest.approx((areas[0] - half, min(1, areas[0] + half)), abs=1e-10)
    odds, scaled = math.log(areas[0] / (1 - areas[0])), half / (areas[0] * (1 - areas[0]))
    expected = tuple(1 / (1 + math.exp(-end)) for end in (odds - scaled, odds + scaled))
    assert roc_auc(labels, a, interval="logit").ci == pytest.approx(expected, abs=1e-10)
    test = compare_auc(a, b, labels)
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    z = (areas[0] - areas[1]) / math.sqrt(variance)
    assert test.statistic == pytest.approx(z, rel=1e-9)
    assert test.p == pytest.approx(norm.sf(z), rel=1e-8)
    assert test.p_two_sided == pytest.approx(2 * norm.sf(abs(z)), rel=1e-8)
    assert compare_auc(b, a, labels).p == pytest.approx(1 - test.p)


def test_auc_and_average_precision_are_those_of_scikit_learn() -> None:
    for seed in range(5):
        labels, a, _ = make(seed=seed)
        assert roc_auc(labels, a).estimate == pytest.approx(metrics.roc_auc_score(labels, a), abs=1e-12)
        found = precision_recall(labels, a, resamples=1)
        assert found.average_precision.estimate == pytest.approx(metrics.average_precision_score(labels, a), abs=1e-12)
        precision, recall, thresholds = metrics.precision_recall_curve(labels, a)
        # scikit-learn goes from the lowest threshold up and ends with precision 1 at recall 0.
        assert found.precision == pytest.approx(precision[:-1][::-1])
        assert found.recall == pytest.approx(recall[:-1][::-1])
        assert found.thresholds == pytest.approx(thresholds[::-1])


def test_the_bootstraps_are_those_of_resampled_lists() -> None:
    labels, a, _ = make(80)
    order = np.argsort(-a, kind="stable")
    y, s = labels[order], a[order]
    pos, neg = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    rng = np.random.default_rng(1)
    first, second = (rng.integers(len(side), size=(200, len(side))) for side in (pos, neg))
    rows = [np.concatenate([pos[i], neg[j]]) for i, j in zip(first, second, strict=True)]
    area = roc_auc(labels, a, interval="bootstrap", resamples=200)
    precision = precision_recall(labels, a, resamples=200).average_precision
    for found, measure in ((area, metrics.roc_auc_score), (precision, metrics.average_precision_score)):
        draws = [measure(y[drawn], s[drawn]) for drawn in rows]
        assert found.ci == pytest.approx(tuple(np.percentile(draws, [2.5, 97.5])), abs=1e-12)
    assert roc_auc(labels, a, interval="bootstrap", resamples=200) == area
    assert math.isnan(precision.p)


def test_clusters_are_drawn_whole() -> None:
    """The interval is that of as many clusters as the rarer label has."""
    labels, a, _ = make(80)
    assert roc_auc(labels, a, cluster=np.arange(80)).ci == roc_auc(labels, a).ci
    of = np.arange(80) // 2
    fewest = min(len(np.unique(of[labels == side])) for side in (0, 1))
    members = [np.concatenate([2 * k, 2 * k + 1]) for k in next(bootstrap_indices(200, 40, 1))]
    area = roc_auc(labels, a, interval="bootstrap", resamples=200, cluster=of)
    precision = precision_recall(labels, a, resamples=200, cluster=of).average_precision
    for found, measure in ((area, metrics.roc_auc_score), (precision, metrics.average_precision_score)):
        values = np.array([measure(labels[drawn], a[drawn]) for drawn in members])
        assert found.ci == pytest.approx(percentile_interval(values, 0.95, fewest), abs=1e-12)


def test_two_sets_add_their_variances() -> None:
    easy, hard = make(seed=1), make(seed=2)
    areas, variance = [], 0.0
    for labels, a, _ in (easy, hard):
        area, covariance = literal_delong(labels, [a, a])
        areas.append(area[0])
        variance += covariance[0, 0]
    found = compare_auc_between(*easy[:2], *hard[:2])
    assert found.difference == pytest.approx(areas[0] - areas[1])
    assert found.statistic == pytest.approx(found.difference / math.sqrt(variance))
    assert found.n == 240


def test_a_perfect_detector_and_one_item_of_a_class() -> None:
    found = roc_auc([0, 0, 1, 1], [1, 2, 3, 4])
    assert (found.estimate, found.ci[1]) == (1, 1)
    assert found.ci[0] == pytest.approx(0.025 ** (1 / 2))  # two of two, Clopper and Pearson
    assert found.p == pytest.approx(2 / 6)  # six orders of two positives and two negatives
    worst = roc_auc([1, 1, 0, 0], [1, 2, 3, 4])
    assert worst.ci == pytest.approx((0, 1 - found.ci[0]))
    assert precision_recall([0, 0, 1, 1], [1, 2, 3, 4]).average_precision.ci[0] == pytest.approx(found.ci[0])
    assert roc_auc([0, 0, 1], [1, 3, 2]).estimate == 0.5
    assert compare_auc([1, 2, 3, 4], [4, 3, 2, 1], [0, 0, 1, 1]).p == 0


def test_few_labels_have_the_interval_of_what_they_can_be_worth() -> None:
    """DeLong's variance of ten positives is often too small; then at most 3 m n / (m + n + 1) items are believed."""
    rng = np.random.default_rng(3)
    labels = (np.arange(200) < 10).astype(int)
    scores = rng.normal(size=200) + 4 * labels
    found, logit = roc_auc(labels, scores), roc_auc(labels, scores, interval="logit")
    assert "wilson" in found.method
    assert found.estimate == logit.estimate
    assert found.ci[0] < logit.ci[0]
    for interval in ("wilson", "auto"):
        assert roc_auc([0, 0, 1], [1, 3, 2], interval=interval).ci[0] < 0.1


def test_clusters_that_carry_a_label_are_counted_by_label() -> None:
    """Four of twenty clusters are positive: each label's part of the variance has its own correction, and t its df."""
    rng = np.random.default_rng(4)
    of = np.repeat(np.arange(20), 5)
    labels = (of < 4).astype(int)
    a, b = labels + rng.normal(size=20)[of] + rng.normal(size=(2, 100))
    _, v10, v01 = literal_placements(labels, a, b)

    def variance_and_degrees(contrast: list[float]) -> tuple[float, float]:
        parts = []
        for side, values in ((1, v10), (0, v01)):
            added = np.dot(contrast, values)
            sums = np.bincount(of[labels == side], weights=(added - added.mean()) / len(added), minlength=20)
            sums, count = sums[np.unique(of[labels == side])], len(np.unique(of[labels == side]))
            parts.append((sums @ sums * count / (count - 1), count - 1))
        variance = sum(part for part, _ in parts)
        return variance, min(variance**2 / sum(part**2 / df for part, df in parts), 19)

    found, (variance, degrees) = compare_auc(a, b, labels, cluster=of), variance_and_degrees([1, -1])
    assert found.statistic == pytest.approx(found.difference / math.sqrt(variance))
    assert f"t with {degrees:.1f} degrees" in found.method
    alone, (variance, degrees) = roc_auc(labels, a, interval="delong", cluster=of), variance_and_degrees([1, 0])
    assert alone.ci[0] == pytest.approx(alone.estimate - t.ppf(0.975, degrees) * math.sqrt(variance))
    assert alone.p == pytest.approx(2 * t.sf(abs(alone.estimate - 0.5) / math.sqrt(variance), degrees))


def test_areas_and_their_test_are_those_of_proc() -> None:
    """R: ci.auc(roc(y, a)) and roc.test(roc(y, a), roc(y, b), method="delong", paired=TRUE) of pROC, ten positives."""
    i = np.arange(40)
    labels = (i % 4 == 0).astype(int)
    a, b = (7 * i) % 31 + 6 * labels, (11 * i) % 29 + 4 * labels
    found = roc_auc(labels, a, interval="delong")
    assert (found.ci[0], found.estimate, found.ci[1]) == pytest.approx(
        (0.4630492678, 0.6616666667, 0.8602840656), abs=1e-9
    )
    test = compare_auc(a, b, labels)
    assert (test.statistic, test.p_two_sided) == pytest.approx((1.78164189212, 0.07480764833), abs=1e-9)


def test_the_best_threshold_is_the_best_of_all() -> None:
    for seed in range(6):
        labels, a, _ = make(60, seed)
        found = best_threshold(labels, a, folds=5)
        every = {t: np.mean((a >= t) == (labels == 1)) for t in (*np.unique(a), np.inf, found.threshold)}
        assert found.in_sample == pytest.approx(max(every.values()))
        assert found.in_sample == pytest.approx(every[found.threshold])
        assert found.ci[0] <= found.cross_validated <= found.ci[1]
        assert found.majority == pytest.approx(max(labels.mean(), 1 - labels.mean()))


def test_clusters_stay_in_one_fold_and_widen_the_interval() -> None:
    """Each pair stands ten times in the table: apart from its copies, a threshold cannot be learnt from them."""
    rng = np.random.default_rng(5)
    labels, scores = np.arange(24) % 2, rng.normal(size=24)
    rows = np.repeat(np.arange(24), 10)
    alone = best_threshold(labels, scores, folds=4)
    cloned = best_threshold(labels[rows], scores[rows], folds=4)
    clustered = best_threshold(labels[rows], scores[rows], cluster=rows, folds=4)
    assert cloned.cross_validated > alone.cross_validated + 0.05
    assert clustered.cross_validated <= cloned.cross_validated - 0.05
    assert clustered.ci[1] - clustered.ci[0] == pytest.approx(alone.ci[1] - alone.ci[0], abs=0.05)
    assert cloned.ci[1] - cloned.ci[0] < 0.4 * (clustered.ci[1] - clustered.ci[0])
    assert best_threshold(labels[rows], scores[rows], cluster=rows, folds=50).folds == 24


def test_cross_validation_does_not_flatter_noise() -> None:
    """Scores that say nothing: the best threshold looks better than a coin on its own items, not on others."""
    rng = np.random.default_rng(3)
    both = []
    for _ in range(60):
        labels = np.arange(40) % 2
        found = best_threshold(labels, rng.normal(size=40), folds=10, seed=rng)
        both.append((found.in_sample, found.cross_validated))
    fitted, honest = np.mean(both, axis=0)
    assert fitted > 0.58
    assert honest < 0.53
