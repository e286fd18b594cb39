"""Word risks against people's marks: scikit-learn's figures, ties, intervals, and the published baseline."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from bsx.analysis.explanations.marks import compare_marks, mark_agreement, sentence_figures
from bsx.errors import InputError


def test_figures_are_those_of_scikit_learn_ties_included() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(2, 12))
        risks, marks = rng.integers(0, 4, n).astype(float), rng.integers(0, 2, n).astype(float)
        if not 0 < marks.sum() < n:
            continue
        auc, precision, recall = sentence_figures(risks, marks)
        assert auc == pytest.approx(roc_auc_score(marks, risks), abs=1e-12)
        assert precision == pytest.approx(average_precision_score(marks, risks), abs=1e-12)
        k = int(marks.sum())
        orders = rng.permuted(np.tile(np.arange(n), (400, 1)), axis=1)
        first = np.argsort(-risks[orders], axis=1, kind="stable")[:, :k]
        drawn = marks[np.take_along_axis(orders, first, axis=1)]
        assert recall == pytest.approx(drawn.mean(), abs=0.12)  # 400 draws: a standard error of at most .025


def test_sentences_of_one_kind_are_left_out_and_counted() -> None:
    found = mark_agreement([[0.1, 0.9], [0.5, 0.5, 0.2], [1.0]], [[0, 1], [0, 0, 0], [1]])
    assert (found.auc.n, found.left_out) == (1, 2)
    assert found.auc.estimate == 1.0


def test_the_interval_holds_the_mean_and_depends_on_the_seed_alone() -> None:
    rng = np.random.default_rng(1)
    marks = [np.append(rng.integers(0, 2, 9), [0, 1]) for _ in range(60)]
    risks = [mark + rng.normal(0, 1, 11) for mark in marks]
    noise = [rng.normal(0, 1, 11) for _ in marks]
    found, again = mark_agreement(risks, marks), mark_agreement(risks, marks)
    assert found.to_dict() == again.to_dict()
    assert found.auc.low < found.auc.estimate < found.auc.high
    apart = compare_marks(risks, noise, marks)
    assert apart["auc"].low > 0
    assert apart["auc"].p_two_sided < 0.01


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="sentence 1: has 2 risks and 1 marks"):
        mark_agreement([[0.1, 0.2]], [[1]])
    with pytest.raises(InputError, match="neither 0 nor 1"):
        mark_agreement([[0.1, 0.2]], [[1, 2]])
    with pytest.raises(InputError, match="both marked and unmarked"):
        mark_agreement([[0.1, 0.2]], [[1, 1]])
    with pytest.raises(InputError, match="1 sentences with risks and 0"):
        mark_agreement([[0.1]], [])
