"""Cluster-robust covariances against the R package clubSandwich, and what two ways of clustering promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bsx.analysis.stats.regression import fit_ols, pooled_test, standardised_errors, wald
from bsx.analysis.stats.sandwich import ClusterRobust
from bsx.support.checks import Array

SIZES = (2, 3, 4, 5, 8, 10, 12, 16)


def example() -> tuple[Array, Array, list[str]]:
    i, g = np.arange(60), np.repeat(np.arange(8), SIZES)
    x = np.column_stack([np.sin(1.7 * i), np.cos(2.3 * g) + 0.3 * np.sin(0.9 * i), g < 3])
    return 0.3 * x[:, 0] + np.sin(5 * g) + np.cos(3.1 * i), x, [f"c{label}" for label in g]


def test_cr2_is_that_of_clubsandwich_coefficient_by_coefficient() -> None:
    # i <- 0:59; g <- rep(0:7, times=c(2,3,4,5,8,10,12,16)); a <- sin(1.7*i); b <- cos(2.3*g) + 0.3*sin(0.9*i)
    # c <- as.numeric(g < 3); y <- 0.3*a + sin(5*g) + cos(3.1*i); f <- lm(y ~ a + b + c)
    # coef_test(f, vcov="CR2", cluster=g, test="Satterthwaite")  (clubSandwich 0.5.8)
    y, x, clusters = example()
    fit = fit_ols(y, x, se="cluster", clusters=clusters, intercept=True)
    assert fit.se == pytest.approx([0.32488204874, 0.06472600138, 0.37277818124, 0.37968065310], rel=1e-9)
    assert fit.reference_df == pytest.approx([3.092874590, 4.720753646, 3.684774819, 2.420257686], rel=1e-9)
    assert fit.p == pytest.approx([0.56086227469, 0.00410099676, 0.73959613202, 0.56982387451], rel=1e-8)
    wide = stats.t.isf(0.025, fit.reference_df) * fit.se
    assert fit.high == pytest.approx(fit.coef + wide)
    # Wald_test(f, constraints=constrain_zero(2:3), vcov="CR2", cluster=g, test="HTZ"), and 2:4
    for columns, expected in (
        ([1, 2], (10.61791556877, 3.45215341837, 0.03351565741)),
        ([1, 2, 3], (5.2231541857, 2.6148050678, 0.1224434581)),
    ):
        test = wald(fit, columns)
        assert (test.statistic, test.df2, test.p) == pytest.approx(expected, rel=1e-8)


def test_a_cluster_that_decides_a_coefficient_alone_is_handled_as_clubsandwich_does() -> None:
    # d <- as.numeric(g == 7); f <- lm(y ~ a + d); coef_test(f, vcov="CR2", cluster=g, test="Satterthwaite")
    y, x, clusters = example()
    alone = np.array([label == "c7" for label in clusters], dtype=np.float64)
    fit = fit_ols(y, np.column_stack([x[:, 0], alone]), se="cluster", clusters=clusters, intercept=True)
    assert fit.se == pytest.approx([0.35123328489, 0.08184405924, 0.35250727426], rel=1e-8)
    assert fit.reference_df == pytest.approx([4.385738160, 4.811661175, 4.377299309], rel=1e-8)
    assert ClusterRobust(fit.design, fit.clusters[0]).largest()[2] > 0.5


def test_two_ways_are_never_below_the_first_and_do_not_hang_on_units() -> None:
    rng = np.random.default_rng(3)
    first, second = np.repeat(np.arange(20), 6), np.tile(np.arange(6), 20)
    x = rng.normal(size=(120, 3))
    y = x[:, 0] * rng.normal(size=6)[second] + rng.normal(size=120)
    labels = [str(label) for label in first], [str(label) for label in second]
    two = fit_ols(y, x, se="cluster", clusters=labels[0], crossed=labels[1])
    one = fit_ols(y, x, se="cluster", clusters=labels[0])
    assert np.linalg.eigvalsh(two.covariance - one.covariance)[0] > -1e-12
    assert two.se[0] > 2 * one.se[0]
    assert two.reference_df == pytest.approx(np.minimum(*(ClusterRobust(x, codes).df() for codes in (first, second))))
    scaled = fit_ols(y, x * [1, 10, 100], se="cluster", clusters=labels[0], crossed=labels[1])
    assert scaled.se * [1, 10, 100] == pytest.approx(two.se)
    ways = [ClusterRobust(x, codes) for codes in (first, second, 6 * first + second)]
    parts = [way.scores(two.residuals) @ way.back.T for way in ways]
    assert two.covariance[0, 0] >= sum(s * (u[:, 0] @ u[:, 0]) for s, u in zip((1, 1, -1), parts, strict=True)) - 1e-12


def test_more_coefficients_than_clusters_are_not_tested_together() -> None:
    rng = np.random.default_rng(4)
    parts = {f"g{i}": (rng.normal(size=8), rng.normal(size=(8, 3))) for i in range(6)}
    shared = {name: [str(i) for i in range(8)] for name in parts}
    found = pooled_test("m", ["a", "b", "c"], parts, se="cluster", clusters=shared)
    assert np.isnan(found.p)
    assert "too few clusters for 15 products" in found.method


def heavy(n: int = 900) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A factor of which 60 % are 0, in clusters of three rows: standardised factors, metric, clusters."""
    rng = np.random.default_rng(5)
    sem = -rng.gamma(0.5, size=n) * (rng.random(n) < 0.4)
    x = np.column_stack([sem, 0.5 * sem + rng.normal(size=n)])
    y = 2 * sem + rng.normal(size=n)
    return standardised(x), standardised(y), np.arange(n) // 3


def standardised(values: np.ndarray) -> np.ndarray:
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


def test_errors_of_standardised_coefficients_are_those_of_leaving_units_out() -> None:
    x, y, clusters = heavy()
    for of, how in (
        (np.arange(900), {"se": "hc3"}),
        (clusters, {"se": "cluster", "clusters": list(map(str, clusters))}),
    ):
        left_out = []
        for unit in np.unique(of):
            kept = of != unit
            left_out.append(np.linalg.lstsq(standardised(x[kept]), standardised(y[kept]), rcond=None)[0])
        jackknife = np.sqrt(np.square(left_out - np.mean(left_out, axis=0)).sum(axis=0) * (1 - 1 / len(left_out)))
        fit = fit_ols(y, x, **how)
        own = standardised_errors(fit)
        # The delta method is the jackknife but for terms of order 1 / n; without it SEM's error is far too small.
        assert own.se == pytest.approx(jackknife, rel=0.05)
        assert fit.se[0] < 0.8 * own.se[0]
        assert list(own.p) == list(fit.p)


def test_errors_of_a_correlation_are_those_of_the_distribution_free_formula() -> None:
    x, y, clusters = heavy()
    x = x[:, :1]
    r = float(x[:, 0] @ y / len(y))
    # Isserlis 1916: the influence of a row on a correlation.
    influence = (x[:, 0] * y - r * (x[:, 0] ** 2 + y**2) / 2) / len(y)
    leverage = x[:, 0] ** 2 / len(y)
    own = standardised_errors(fit_ols(y, x, se="hc3"))
    assert own.se[0] ** 2 == pytest.approx(float(np.square(influence / (1 - leverage)).sum()))
    ways = [list(map(str, clusters)), list(map(str, np.arange(900) % 30))]
    two = standardised_errors(fit_ols(y, x, se="cluster", clusters=ways[0], crossed=ways[1]))
    one = standardised_errors(fit_ols(y, x, se="cluster", clusters=ways[0]))
    assert two.se[0] >= one.se[0] * (1 - 1e-12)
    classic = fit_ols(y, x)
    assert standardised_errors(classic) is classic


def test_groups_that_differ_in_noise_alone_share_their_slopes() -> None:
    rng = np.random.default_rng(2)
    parts = {}
    for name, noise in (("calm", 0.5), ("loud", 3.0)):
        x = rng.normal(size=(300, 2))
        parts[name] = (x @ [1.0, 0.0] + noise * rng.normal(size=300), x)
    test = pooled_test("m", ["sem", "lex"], parts, se="hc3")
    assert test.p < 1e-6
    assert test.p_slopes > 0.05
    assert set(test.slopes) == {"sem", "lex"}
    # Two groups with one factor: the test is that of a difference over the errors of both groups' own coefficients.
    one = {name: (y, x[:, :1]) for name, (y, x) in parts.items()}
    fits = [standardised_errors(fit_ols(standardised(y), standardised(x), se="hc3")) for y, x in one.values()]
    difference = fits[0].coef[0] - fits[1].coef[0]
    rows = [one.design * (one.residuals / (1 - one.leverage))[:, None] / 300 + np.asarray(one.scales) for one in fits]
    expected = difference**2 / sum(float(np.square(of).sum()) for of in rows)
    assert pooled_test("m", ["sem"], one, se="hc3").statistic == pytest.approx(expected)


def test_estimated_standard_deviations_never_make_an_interval_narrower() -> None:
    """Where they would, as of normal scores, the errors of slopes stay; `covariance` goes with them."""
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.normal(size=300), rng.normal(size=300) ** 3])
    y = standardised(x @ [1.0, 0.1] + rng.normal(size=300))
    plain = fit_ols(y, standardised(x), se="hc3")
    fit = standardised_errors(plain)
    assert fit.se[0] == plain.se[0]
    assert fit.se[1] > 1.05 * plain.se[1]
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(fit.se)
    assert fit.scales is not None
    assert np.abs(fit.scales).sum() > 0
