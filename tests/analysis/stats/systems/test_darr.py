"""DARR's tau: loops written out, WMT20's published counts and intervals, simulation."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsx.analysis.stats.resample import bootstrap_indices
from bsx.analysis.stats.systems.darr import TIES, DarrTau, compare_darr, darr_from_pairs, preferences, tau_of
from tests.helpers import wmt20

NAN = float("nan")


def darr(metric: np.ndarray, human: np.ndarray, threshold: float = 25.0, **how: Any) -> DarrTau:
    better, worse = preferences(np.where(np.isnan(metric), NAN, human), threshold=threshold, nan="omit")
    return darr_from_pairs(metric[better], metric[worse], better[1], **how)


def counts_by_hand(metric: np.ndarray, human: np.ndarray, threshold: float) -> tuple[int, int, int]:
    concordant = discordant = tied = 0
    for k in range(metric.shape[1]):
        for i, j in combinations(range(len(metric)), 2):
            if np.isnan([metric[i, k], metric[j, k], human[i, k], human[j, k]]).any():
                continue
            if abs(human[i, k] - human[j, k]) < threshold:
                continue
            better, worse = (i, j) if human[i, k] > human[j, k] else (j, i)
            concordant += metric[better, k] > metric[worse, k]
            discordant += metric[better, k] < metric[worse, k]
            tied += metric[better, k] == metric[worse, k]
    return concordant, discordant, tied


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 25.0, 40.0]))
def test_counts_are_loops(seed: int, threshold: float) -> None:
    rng = np.random.default_rng(seed)
    metric, human = rng.integers(4, size=(5, 6)).astype(float), rng.integers(0, 101, size=(5, 6)) // 5 * 5.0
    metric[rng.random((5, 6)) < 0.1] = NAN
    human[rng.random((5, 6)) < 0.1] = NAN
    concordant, discordant, tied = expected = counts_by_hand(metric, human, threshold)
    if not sum(expected):
        return
    n = sum(expected)
    taus = {
        "discordant": (concordant - discordant - tied) / n,
        "drop": (concordant - discordant) / (n - tied) if n > tied else NAN,
        "half": (concordant - discordant) / n,
    }
    for ties in TIES:
        result = darr(metric, human, threshold, ties=ties, resamples=20)
        assert (result.concordant, result.discordant, result.ties, result.n) == (*expected, n)
        assert result.estimate == pytest.approx(taus[ties], nan_ok=True)


def test_the_threshold_is_inclusive() -> None:
    sides = preferences([[50.0, 50.0, 10.0], [75.0, 74.9, 90.0]])
    assert [[cells.tolist() for cells in side] for side in sides] == [[[1, 1], [0, 2]], [[0, 0], [0, 2]]]
    assert preferences([[0.0, 1.0], [0.5, 1.0]], threshold=0.5)[0][1].tolist() == [0]


@pytest.mark.parametrize("ties", TIES)
def test_bootstrap_resamples_whole_segments(ties: str) -> None:
    rng = np.random.default_rng(1)
    segment = rng.integers(7, size=40)
    segment = np.unique(segment, return_inverse=True)[1]
    better, worse = rng.integers(4, size=(2, 40)).astype(float)
    result = darr_from_pairs(better, worse, segment, ties=ties, resamples=1, seed=3)  # type: ignore[arg-type]
    chosen = next(bootstrap_indices(1, result.segments, 3))[0]
    rows = np.concatenate([np.flatnonzero(segment == k) for k in chosen])
    again = darr_from_pairs(better[rows], worse[rows], segment[rows], ties=ties, resamples=1)  # type: ignore[arg-type]
    assert result.ci[0] == pytest.approx(again.estimate)
    names = darr_from_pairs(better, worse, [f"s{k}" for k in segment], ties=ties, resamples=1, seed=3)  # type: ignore[arg-type]
    assert (names.estimate, names.segments) == (result.estimate, result.segments)


def test_judgments_are_drawn_one_by_one() -> None:
    """The multinomial shortcut has the spread of resampling pairs."""
    rng = np.random.default_rng(2)
    better, worse = rng.integers(4, size=(2, 300)).astype(float)
    result = darr_from_pairs(better, worse, unit="judgment", resamples=20_000)
    sign = np.sign(better - worse)
    draws = [np.where(sign[i] > 0, 1, -1).mean() for block in bootstrap_indices(3000, 300, 1) for i in block]
    assert [*result.ci] == pytest.approx(np.percentile(draws, [2.5, 97.5]), abs=0.012)


def test_missing_scores_drop_the_pair_only_if_asked() -> None:
    result = darr_from_pairs([2, NAN, 1], [1, 1, 2], [1, 1, 2], nan="omit")
    assert (result.concordant, result.discordant, result.n, result.segments) == (1, 1, 2, 2)
    assert np.isnan(tau_of([0, 0, 3], "drop"))


def test_comparing_is_symmetric_and_paired() -> None:
    rng = np.random.default_rng(3)
    segment = np.repeat(np.arange(50), 4)
    truth = rng.normal(size=200) + 1.5
    good, bad = truth + rng.normal(size=200), truth + 6 * rng.normal(size=200)
    zero = np.zeros(200)
    for unit in ("segment", "judgment"):
        better = compare_darr((good, zero), (bad, zero), segment, unit=unit, seed=4)
        worse = compare_darr((bad, zero), (good, zero), segment, unit=unit, seed=4)
        assert better.p < 0.01 < 0.9 < worse.p
        assert better.difference == pytest.approx(-worse.difference)
        assert better.ci[0] > 0
        same = compare_darr((good, zero), (good, zero), segment, unit=unit)
        assert (same.difference, *same.ci, same.p_two_sided) == (0, 0, 0, 1)
        assert better.value_a == darr_from_pairs(good, zero, segment, unit=unit).estimate


def test_wmt20_counts(shared: Path) -> None:
    values = wmt20.reference(shared)
    for name, expected in values["wmt20_darr_tau"].items():
        pair, metric = name.split("_", 1)
        scores = wmt20.judged(shared, pair)
        result = darr(scores[metric], scores["human_raw"], resamples=1)
        assert (result.concordant, result.ties, result.n) == (expected["concordant"], expected["ties"], expected["n"])
        assert result.estimate == pytest.approx(expected["tau"], abs=values["_tolerances"]["deterministic_statistics"])
    ter = wmt20.judged(shared, "cs-en")
    dropped = darr(ter["TER"], ter["human_raw"], ties="drop", resamples=1)
    assert dropped.estimate == pytest.approx(0.109, abs=5e-4)
    for pair, part in values["wmt20_complete_matrix"].items():
        scores = wmt20.complete(shared, pair)
        for metric, expected in part["metrics"].items():
            result = darr(scores[metric], scores["human_raw"], resamples=1)
            assert [result.estimate, result.n] == pytest.approx(expected["kendall_like25_raw"][::2], abs=1e-5)


def test_wmt20_intervals_and_comparisons(shared: Path) -> None:
    values = wmt20.reference(shared)
    ends, p = values["_tolerances"]["bootstrap_ci_endpoints"], values["_tolerances"]["perm_p"]
    for name, expected in values["wmt20_tau_bootstrap"].items():
        pair, what = name.split("|")
        scores = wmt20.judged(shared, pair)
        better, worse = preferences(scores["human_raw"], nan="omit")
        units: tuple[tuple[Any, str], ...] = (("segment", "seg"), ("judgment", "pair"))
        if "tau" in expected:
            for unit, key in units:
                sides = scores[what][better], scores[what][worse]
                result = darr_from_pairs(*sides, better[1], unit=unit, resamples=2000)
                assert [*result.ci] == pytest.approx(expected[key + "95"], abs=ends), name
                assert (result.n, result.segments) == (expected["n"], expected["segments"])
                assert result.estimate == pytest.approx(expected["tau"], abs=1e-5)
            continue
        a, b = "chrF", what.removeprefix("chrF-")
        for unit, key in units:
            first, second = ((scores[metric][better], scores[metric][worse]) for metric in (a, b))
            found = compare_darr(first, second, better[1], unit=unit, resamples=2000)
            assert found.difference == pytest.approx(expected["delta"], abs=1e-5)
            if found.difference != 0:
                assert found.p == pytest.approx(expected["p_" + key], abs=p), name
            else:  # around a difference of nothing the share of exact ties makes p vague
                assert found.p == pytest.approx(expected["p_" + key], abs=2 * p), name


def test_one_preference_is_enough() -> None:
    found = darr_from_pairs([0.7], [0.2], [3])
    assert (found.estimate, found.concordant, found.discordant, found.n, found.segments) == (1, 1, 0, 1, 1)
    assert darr_from_pairs([0.1], [0.2], unit="judgment").estimate == -1
