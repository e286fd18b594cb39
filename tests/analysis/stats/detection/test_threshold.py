"""The best threshold: all thresholds by hand, whole clusters in folds, noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("scipy")
from bsx.analysis.stats.detection import best_threshold, roc_auc
from bsx.errors import InputError
from tests.analysis.stats.detection.test_roc import make

Array = np.ndarray


def accuracy_at(labels: Array, scores: Array, threshold: float) -> float:
    return float(((scores >= threshold) == (labels == 1)).mean())


def test_the_best_threshold_is_the_best_of_all() -> None:
    for seed in range(6):
        labels, a, _ = make(60, seed)
        found = best_threshold(labels, a, folds=5)
        every = [accuracy_at(labels, a, t) for t in (*np.unique(a), np.inf)]
        assert found.in_sample == pytest.approx(max(every))
        assert accuracy_at(labels, a, found.threshold) == pytest.approx(found.in_sample)
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


def test_too_few_for_folds_and_other_settings() -> None:
    with pytest.raises(InputError, match="folds=10 with 1 items of the rarer label"):
        best_threshold([0, 0, 1], [1, 2, 3])
    with pytest.raises(InputError, match="interval='no'"):
        roc_auc([0, 1], [1, 2], interval="no")  # type: ignore[arg-type]
    assert roc_auc([0, 1, 1], [1, math.nan, 3], nan="omit").n == 2
