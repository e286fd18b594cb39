"""Preferences, Wilson's interval and McNemar's test against formulas and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("scipy")
from bsx.analysis.stats.preference import mcnemar, preference, wilson_interval
from bsx.analysis.stats.resample import percentile_interval
from bsx.errors import InputError

Array = np.ndarray


def test_wilson_is_its_formula() -> None:
    from scipy.stats import norm

    z = norm.ppf(0.975)
    for k, n in ((0, 7), (3, 7), (7, 7), (47, 1452)):
        p = k / n
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        assert wilson_interval(k, n) == pytest.approx((middle - half, middle + half), abs=1e-12)
    with pytest.raises(InputError, match="8 of 7 items is no share"):
        wilson_interval(8, 7)


def binomial_tail(k: int, n: int) -> float:
    return sum(math.comb(n, i) for i in range(k, n + 1)) / 2**n


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
    assert (found.margin_low, found.margin_high) == pytest.approx(percentile_interval(draws, 0.95, units=6))
    even = preference([1, 1], [1, 1])
    assert (even.ties, even.rate, even.p, even.p_two_sided) == (2, 0, 1, 1)


def test_mcnemar_is_that_of_statsmodels() -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    rng = np.random.default_rng(4)
    for n in (5, 30, 200):
        a, b = rng.random(n) < 0.6, rng.random(n) < 0.5
        found = mcnemar(a, b)
        counts = [[int((a & b).sum()), int((a & ~b).sum())], [int((~a & b).sum()), int((~a & ~b).sum())]]
        assert found.p == pytest.approx(tables.mcnemar(counts, exact=True).pvalue)
        assert (found.only_a, found.only_b, found.both) == (counts[0][1], counts[1][0], counts[0][0])
        assert found.p_better == pytest.approx(binomial_tail(found.only_a, found.only_a + found.only_b))
    assert mcnemar([1, 0], [1, 0]).p == 1


def test_preferences_in_clusters() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(2, 200)) + np.array([[0.3], [0.0]])
    plain = preference(first, second, resamples=300)
    of = np.repeat(np.arange(200), 3)
    tripled = preference(np.repeat(first, 3), np.repeat(second, 3), cluster=of, resamples=300)
    assert (tripled.low, tripled.high) == pytest.approx((plain.low, plain.high), abs=0.002)
    assert tripled.margin_low == pytest.approx(plain.margin_low, abs=0.03)
    assert tripled.p_two_sided == pytest.approx(plain.p_two_sided, abs=0.02)
    a, b = first > 0, second > 0
    same = mcnemar(np.repeat(a, 3), np.repeat(b, 3), cluster=of)
    assert same.p == pytest.approx(mcnemar(a, b).p, abs=0.02)
    assert mcnemar(np.repeat(a, 3), np.repeat(b, 3)).p < same.p
