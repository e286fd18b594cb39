"""Preferences, Wilson's interval and McNemar's test against formulas and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bsx.analysis.stats.preference import clustered_share, mcnemar, preference, share_of_pairs, wilson_interval
from bsx.analysis.stats.resample import percentile_interval
from bsx.errors import InputError

Array = np.ndarray


def wilson(share: float, worth: float, quantile: float) -> tuple[float, float]:
    """The shares p whose score (share - p) / sqrt(p (1 - p) / worth) is the quantile, either way."""
    a, b, c = 1 + quantile**2 / worth, -(2 * share + quantile**2 / worth), share**2
    low, high = sorted(np.roots([a, b, c]).real)
    return max(float(low), 0.0), min(float(high), 1.0)


def test_wilson_is_its_formula() -> None:
    for k, n in ((0, 7), (3, 7), (7, 7), (47, 1452)):
        assert wilson_interval(k, n) == pytest.approx(wilson(k / n, n, stats.norm.ppf(0.975)), abs=1e-7)
    with pytest.raises(InputError, match="8 of 7 items is no share"):
        wilson_interval(8, 7)


def binomial_tail(k: int, n: int) -> float:
    return float(stats.binom.sf(k - 1, n, 0.5))


def test_preference_counts_ties_and_leaves_them_out_of_the_test() -> None:
    found = preference([3, 3, 3, 2, 1, 5], [1, 3, 2, 1, 2, 1], resamples=200)
    assert (found.n, found.first, found.ties) == (6, 4, 1)
    assert found.rate == pytest.approx(4 / 6)
    assert found.margin == pytest.approx(np.mean([2, 0, 1, 1, -1, 4]))
    assert found.p == pytest.approx(binomial_tail(4, 5))
    assert found.p_two_sided == pytest.approx(2 * binomial_tail(4, 5))
    rng = np.random.default_rng(1)
    margins = np.array([2.0, 0, 1, 1, -1, 4])
    draws = margins[rng.integers(6, size=(200, 6))].mean(axis=1)
    # Percentiles of t, as six items are few.
    assert found.margin_ci == pytest.approx(percentile_interval(draws, 0.95, units=6))
    even = preference([1, 1], [1, 1])
    assert (even.ties, even.rate, even.p, even.p_two_sided) == (2, 0, 1, 1)


def test_mcnemar_is_that_of_statsmodels() -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    rng = np.random.default_rng(4)
    for n in (5, 30, 200):
        a, b = rng.random(n) < 0.6, rng.random(n) < 0.5
        found = mcnemar(a, b)
        counts = [[int((a & b).sum()), int((a & ~b).sum())], [int((~a & b).sum()), int((~a & ~b).sum())]]
        assert found.p_two_sided == pytest.approx(tables.mcnemar(counts, exact=True).pvalue)
        assert (found.only_a, found.only_b, found.both) == (counts[0][1], counts[1][0], counts[0][0])
        assert found.p == pytest.approx(binomial_tail(found.only_a, found.only_a + found.only_b))
    assert mcnemar([1, 0], [1, 0]).p_two_sided == 1


def test_preferences_in_clusters() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(2, 200)) + np.array([[0.3], [0.0]])
    plain = preference(first, second, resamples=300)
    of = np.repeat(np.arange(200), 3)
    tripled = preference(np.repeat(first, 3), np.repeat(second, 3), cluster=of, resamples=300)
    assert tripled.ci == pytest.approx(plain.ci, abs=0.002)
    assert tripled.margin_ci[0] == pytest.approx(plain.margin_ci[0], abs=0.03)
    assert tripled.p_two_sided == pytest.approx(plain.p_two_sided, abs=0.02)
    a, b = first > 0, second > 0
    same = mcnemar(np.repeat(a, 3), np.repeat(b, 3), cluster=of)
    assert same.p_two_sided == pytest.approx(mcnemar(a, b).p_two_sided, abs=0.02)
    assert mcnemar(np.repeat(a, 3), np.repeat(b, 3)).p_two_sided < same.p_two_sided


RIGHT = np.array([1, 1, 1, 0, 1, 0, 0, 1, 1, 1], dtype=bool)


@pytest.mark.parametrize("right", [RIGHT, np.ones(10, dtype=bool), ~RIGHT])
def test_a_share_of_clusters_is_worth_what_its_linearised_variance_says(right: Array) -> None:
    of = np.array([0, 0, 0, 1, 1, 2, 2, 2, 3, 3])
    share = right.mean()
    totals = [(right[of == k] - share).sum() for k in range(4)]
    variance = 4 / 3 * sum(total**2 for total in totals) / 10**2
    worth = min(max(share * (1 - share) / variance, 1), 10) if variance else 4
    expected = wilson(share, worth, stats.t.ppf(0.975, 3))
    assert clustered_share(right, of, 0.95) == pytest.approx(expected, abs=1e-7)
    if variance:  # two hundred items by themselves have the normal's quantile, and are worth one less
        expected = wilson(share, 199, stats.norm.ppf(0.975))
        assert clustered_share(np.tile(right, 20), np.arange(200), 0.95) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("alike", [False, True])
def test_a_share_of_all_pairs_is_worth_what_the_jackknife_says(n: int, alike: bool) -> None:
    values = np.random.default_rng(n).random((n, n)) if not alike else np.ones((n, n))
    values = (values + values.T) / 2
    pairs = [(i, j) for i in range(n) for j in range(i)]
    share = np.mean([values[pair] for pair in pairs])
    least, most = n / 2, 9 * n * (n - 1) / (4 * n + 10)
    worth = least
    if n > 2:
        without = np.array([np.mean([values[pair] for pair in pairs if k not in pair]) for k in range(n)])
        variance = (n - 1) / n * np.square(without - without.mean()).sum()
        worth = most if alike else share * (1 - share) / variance
    expected = wilson(share, min(max(worth, least), max(most, least)), stats.norm.ppf(0.975))
    assert share_of_pairs(values, 0.95) == pytest.approx(expected, abs=1e-7)


def test_signs_of_clusters_have_a_normal_test() -> None:
    first, second, of = [2.0, 2, 2, 0, 2, 2, 1], [1.0, 1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 2, 2]
    # Sums of signs are 3, 0 and 1: z = 4 / sqrt 10.
    found = preference(first, second, cluster=of, resamples=50)
    z = 4 / math.sqrt(10)
    assert (found.p, found.p_two_sided) == pytest.approx((stats.norm.sf(z), 2 * stats.norm.sf(z)))
    draws = np.random.default_rng(1).integers(3, size=(50, 3))
    sums, sizes = np.array([3.0, 0, 1]), np.array([3, 2, 2])
    expected = percentile_interval(sums[draws].sum(axis=1) / sizes[draws].sum(axis=1), 0.95, units=3)
    assert found.margin_ci == pytest.approx(expected)
    even = preference([1, 0, 1, 0], [0, 1, 0, 1], cluster=[0, 0, 1, 1], resamples=50)
    assert (even.p, even.p_two_sided) == (1, 1)
