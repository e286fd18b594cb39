"""Pairwise accuracy with ties, its calibration and its test: loops, full enumeration, WMT20's figures."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bsx.analysis.stats.resample import bootstrap_indices
from bsx.analysis.stats.systems.ties import compare_ties, pairwise_accuracy_with_ties
from tests.helpers import wmt20

NAN = float("nan")


def by_hand(metric: np.ndarray, human: np.ndarray, epsilon: float) -> tuple[float, float, list[int]]:
    """acc_eq, tau_eq and the five counts, segment after segment and pair after pair."""
    acc, tau, total = [], [], np.zeros(5, dtype=int)
    for k in range(metric.shape[1]):
        counts = np.zeros(5, dtype=int)  # C, D, T_h, T_m, T_hm
        for i, j in combinations(range(len(metric)), 2):
            dm, dh = metric[i, k] - metric[j, k], human[i, k] - human[j, k]
            if np.isnan([dm, dh]).any():
                continue
            tied = abs(dm) <= epsilon
            kind = (4 if tied else 2) if dh == 0 else 3 if tied else 0 if dm * dh > 0 else 1
            counts[kind] += 1
        if counts.sum():
            c, d, h, m, both = counts
            acc.append((c + both) / counts.sum())
            tau.append((c + both - d - h - m) / counts.sum())
            total += counts
    return float(np.mean(acc)), float(np.mean(tau)), total.tolist()


def small(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    metric, human = rng.integers(6, size=(5, 7)) / 2, rng.integers(4, size=(5, 7)).astype(float)
    metric[rng.random((5, 7)) < 0.15] = NAN
    metric[:2, 0] = 1.0  # one pair at least
    return metric, human


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 0.75, 2.0, 9.0]))
def test_counts_and_averages_are_loops(seed: int, epsilon: float) -> None:
    metric, human = small(seed)
    acc, tau, counts = by_hand(metric, human, epsilon)
    result = pairwise_accuracy_with_ties(metric, human, epsilon=epsilon, nan="omit", resamples=20)
    assert (result.estimate, result.tau_eq) == (pytest.approx(acc), pytest.approx(tau))
    kinds = [result.concordant, result.discordant, result.tied_human, result.tied_metric, result.tied_both]
    assert kinds == counts
    assert result.n == sum(counts)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_calibration_tries_every_candidate(seed: int) -> None:
    metric, human = small(seed)
    seen = np.where(np.isnan(metric), NAN, metric)
    differences = np.abs(seen[:, None] - seen[None]).ravel()
    candidates = sorted({0.0, *differences[~np.isnan(differences)]})
    values = [by_hand(metric, human, candidate)[0] for candidate in candidates]
    best = next(c for c, value in zip(candidates, values, strict=True) if value > max(values) - 1e-12)
    result = pairwise_accuracy_with_ties(metric, human, nan="omit", resamples=20, epsilon=None)
    assert result.estimate == pytest.approx(max(values))
    assert result.epsilon == best
    assert result.ci[0] <= result.estimate <= result.ci[1]


def test_wmt20_ties(shared: Path) -> None:
    values = wmt20.reference(shared)
    tolerance = values["_tolerances"]["deterministic_statistics"]
    for pair, part in values["wmt20_complete_matrix"].items():
        scores = wmt20.complete(shared, pair)
        for metric, expected in part["metrics"].items():
            result = pairwise_accuracy_with_ties(scores[metric], scores["human_raw"], resamples=20, epsilon=None)
            assert result.estimate == pytest.approx(expected["acc_eq_raw_mtme"], abs=tolerance)
            assert result.epsilon == expected["eps_mtme"] == 0
    bins = {
        "min(4,floor(raw/20))": lambda raw: np.minimum(4, raw // 20),
        "round(raw/50)": lambda raw: np.round(raw / 50),
    }
    scores = wmt20.complete(shared, "cs-en")
    for name, expected in values["acc_eq_binned"].items():
        _, binned, metric = name.split("|")
        human = bins[binned](scores["human_raw"])
        result = pairwise_accuracy_with_ties(scores[metric], human, resamples=20, epsilon=None)
        assert result.estimate == pytest.approx(expected["acc_eq"], abs=tolerance)
        assert result.tau_eq == pytest.approx(expected["tau23"], abs=tolerance)
        assert result.epsilon == pytest.approx(expected["own_eps"])
        zero = pairwise_accuracy_with_ties(scores[metric], human, resamples=20, epsilon=0)
        assert zero.estimate == pytest.approx(expected["acc_eq_eps0"], abs=tolerance)


@pytest.mark.parametrize("swap", ["segments", "pairs"])
def test_comparing_ties_tends_to_the_full_enumeration(swap: Literal["segments", "pairs"]) -> None:
    rng = np.random.default_rng(5)
    human, a, b = rng.integers(3, size=(3, 3, 4)).astype(float)
    a[0, 1] = NAN
    result = compare_ties(a, b, human, epsilon_a=0.0, epsilon_b=1.0, swap=swap, resamples=20_000, nan="omit")
    b_seen, seen = np.where(np.isnan(a), NAN, b), np.where(np.isnan(a), NAN, human)
    assert result.value_a == pytest.approx(by_hand(a, seen, 0.0)[0])
    assert result.value_b == pytest.approx(by_hand(b_seen, seen, 1.0)[0])
    difference: list[float] = []
    for k in range(4):
        verdicts = []
        for i, j in combinations(range(3), 2):
            cells = [[i], [j]]
            if not np.isnan(a[cells, k]).any():
                one, two = (by_hand(z[[i, j]][:, [k]], human[[i, j]][:, [k]], e)[0] for z, e in ((a, 0.0), (b, 1.0)))
                verdicts.append(one - two)
        shares = [d / len(verdicts) / 4 for d in verdicts]
        difference += shares if swap == "pairs" else [sum(shares)]
    draws = np.array(list(product([-1, 1], repeat=len(difference)))) @ difference
    assert result.p == pytest.approx(np.mean(draws >= result.difference - 1e-9), abs=0.015)
    assert result.p_two_sided == pytest.approx(np.mean(np.abs(draws) >= abs(result.difference) - 1e-9), abs=0.015)
    calibrated = compare_ties(a, b, human, nan="omit")
    assert calibrated.value_a == pytest.approx(pairwise_accuracy_with_ties(a, seen, nan="omit", epsilon=None).estimate)
    same = compare_ties(b, b, human)
    assert (same.difference, same.p, same.p_two_sided) == (0, 1, 1)


@pytest.mark.parametrize("by", ["sys", "none"])
def test_ties_within_systems_and_everywhere_by_hand(by: Literal["sys", "none"]) -> None:
    rng = np.random.default_rng(9)
    human, metric = rng.integers(4, size=(2, 3, 5)).astype(float)
    groups = [(human[k], metric[k]) for k in range(3)] if by == "sys" else [(human.ravel(), metric.ravel())]
    shares = []
    for h, m in groups:
        pairs = list(combinations(range(len(h)), 2))
        shares.append(np.mean([np.sign(m[i] - m[j]) == np.sign(h[i] - h[j]) for i, j in pairs]))
    result = pairwise_accuracy_with_ties(metric, human, by=by, resamples=300, epsilon=0)
    assert result.estimate == pytest.approx(np.mean(shares))
    assert result.ci[0] < result.estimate < result.ci[1]
    best = max(pairwise_accuracy_with_ties(metric, human, by=by, epsilon=e, resamples=1).estimate for e in (0, 1, 2, 3))
    assert pairwise_accuracy_with_ties(metric, human, by=by, resamples=1, epsilon=None).estimate == pytest.approx(best)


def test_human_ties_forgive_rounding_and_what_is_asked() -> None:
    human = np.array([[0.1 + 0.2, 1.0], [0.3, 1.4], [0.9, 2.0]])
    found = pairwise_accuracy_with_ties(human, human, resamples=1, epsilon=0)
    assert (found.tied_human, found.tied_both, found.n) == (1, 0, 6)
    assert pairwise_accuracy_with_ties(human, human, human_epsilon=0.5, resamples=1, epsilon=0).tied_human == 2
    assert found.chance == pytest.approx((1 - (1 / 3 + 0) / 2) / 2)


@pytest.mark.parametrize("documents", [[0, 0, 1, 1, 2, 2, 3, 3], None])
def test_the_interval_over_few_documents_is_expanded(documents: list[int] | None) -> None:
    rng = np.random.default_rng(4)
    metric, human = rng.integers(3, size=(2, 4, 8)).astype(float)
    metric[1:, 6:] = NAN  # the last document has no pair, and is not drawn
    found = pairwise_accuracy_with_ties(metric, human, nan="omit", cluster=documents, resamples=400, seed=3, epsilon=0)
    units = 6 if documents is None else 3
    per = 6 // units
    counts = np.stack([np.bincount(row, minlength=units) for row in next(bootstrap_indices(400, units, 3))])
    shares = np.array([by_hand(metric[:, [k]], human[:, [k]], 0)[0] for k in range(6)]).reshape(units, per)
    draws = counts @ shares.sum(axis=1) / (counts.sum(axis=1) * per)
    # The percentiles of t with n - 1 degrees of freedom, of n units whose resamples spread by sqrt((n - 1) / n) only.
    tail = stats.norm.sf(np.sqrt(units / (units - 1)) * stats.t.isf(0.025, units - 1))
    assert found.ci == pytest.approx(tuple(np.quantile(draws, [tail, 1 - tail])), rel=1e-9)
    assert found.segments == 6
