"""Variances that are 0 in exact arithmetic, under noise of a few units in the last place, as of another processor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from bsx.analysis.disentangle.variants import pooled_mean
from bsx.analysis.stats import correlation, detection, preference, significance
from bsx.analysis.stats.regression import fit_ols, wald
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.rowwise import clip_variance, quadratic_form
from bsx.analysis.stats.systems.hybrid import compare_hybrid_limits, hybrid_correlation_limit
from bsx.analysis.stats.validate import several_units
from bsx.errors import BsxError, InputError
from bsx.support.checks import Array

EPS = float(np.finfo(np.float64).eps)
SEEDS = range(4)
INTERVALS: tuple[detection.AreaInterval, ...] = ("auto", "logit", "wilson", "delong", "bootstrap")


def noisy(values: Array, seed: int) -> Array:
    """Return values each of which is up to three units in the last place away; as they are for seed 0."""
    rng = np.random.default_rng(seed)
    values = np.asarray(values, dtype=np.float64)
    return values if seed == 0 else values * (1 + EPS * rng.integers(-3, 4, values.shape))


def columns(n: int = 12) -> Iterator[tuple[str, Array, Array, Array]]:
    """Yield a name, two columns and human scores whose correlations or variances are at their ends."""
    rng = np.random.default_rng(5)
    x, h = rng.normal(size=n), rng.normal(size=n)
    yield "perfect", h * 0.3 + 0.1, h / 7, h
    yield "upside down", -h / 3, h, h
    yield "twice", x, x, h
    yield "twice, scaled", x, x * 0.1 + 1e3, h
    yield "sum", x, h - x, h
    yield "constant", np.full(n, 0.1), x, h
    yield "equal scores", np.repeat([0.1, 0.7], n // 2), np.tile([0.3, 1 / 3], n // 2), np.repeat([1 / 3, 0.9], n // 2)
    yield "all equal", np.full(n, 0.3), np.full(n, 0.3), np.full(n, 1 / 3)
    yield "large", x + 1e6, x * 2 + 1e6, h + 1e6


def labelled() -> Iterator[tuple[str, Array, Array, Array | None]]:
    """Yield a name, labels, scores and clusters."""
    six = np.array([0.0, 1, 0, 1, 0, 1])
    yield "parts of clusters that cancel", six, np.array([0.0, 0, 0, 0, 1, 1]), np.array([0.0, 0, 1, 1, 2, 2])
    yield "pairs one step apart", np.tile([0.0, 1], 7), np.linspace(0, 1.3, 14), np.repeat(np.arange(7.0), 2)
    for of in (None, np.repeat(np.arange(7.0), 2)):
        labels = np.tile([0.0, 1], 7)
        yield "separated", labels, np.asarray(labels * 0.7 + np.arange(14) * 1e-3), of
        yield "separated upside down", labels, np.asarray(0.1 - labels / 3), of
        yield "equal scores", labels, np.full(14, 0.1), of
    yield "many", np.tile([0.0, 1], 60), np.tile([0.0, 1 / 3], 60), np.repeat(np.arange(60.0), 2)


def kept(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what a function returns, or None if it refuses its input."""
    try:
        return call(*args, **kwargs)
    except BsxError:
        return None


def check(result: Any, low: float = -1.0, high: float = 1.0) -> None:
    """Assert that an estimate or comparison has all its numbers, in their ranges."""
    if result is None:
        return
    if isinstance(result, Estimate):
        assert low <= result.estimate <= high, result
        ps = [result.p]
    else:
        assert isinstance(result, Comparison)
        assert not math.isnan(result.statistic), result
        ps = [result.p, result.p_two_sided]
    low, high = result.ci
    assert low <= high, result
    assert all(0 <= p <= 1 for p in ps), result


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "labels", "scores", "of"), list(labelled()))
def test_areas(name: str, labels: Array, scores: Array, of: Array | None, seed: int) -> None:
    found, other = noisy(scores, seed), noisy(scores, seed + 100)
    for interval in INTERVALS:
        area = detection.roc_auc(labels, found, cluster=of, interval=interval, resamples=40)
        check(area, low=0.0)
        if "separated" in name or name == "many":  # the exact treatment, not one of noise
            assert area.p == pytest.approx(detection.roc_auc(labels, scores, cluster=of).p)
    curve = detection.precision_recall(labels, found, cluster=of, resamples=40)
    assert 0 <= curve.average_precision.ci[0] <= curve.average_precision.ci[1] <= 1
    check(detection.compare_auc(found, found * 0.1, labels, cluster=of))
    check(detection.compare_auc(found, other, labels, cluster=of))
    check(detection.compare_auc(found, 1 - other, labels, cluster=of))
    check(detection.compare_auc_between(labels, found, labels, other, cluster_a=of, cluster_b=of))


def test_parts_of_clusters_that_cancel_have_no_variance() -> None:
    _, labels, scores, of = next(labelled())
    area = detection.roc_auc(labels, scores, cluster=of, interval="delong")
    assert (area.estimate, *area.ci, area.p) == (0.5, 0.5, 0.5, 1.0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "x", "y", "h"), list(columns()))
def test_correlations(name: str, x: Array, y: Array, h: Array, seed: int) -> None:
    x, y, h = noisy(x, seed), noisy(y, seed + 100), noisy(h, seed + 200)
    for interval in ("analytic", "leave-one-out", "bootstrap"):
        for one in (correlation.pearson, correlation.spearman, correlation.kendall):
            check(kept(one, x, h, interval=interval, resamples=40))
    check(kept(significance.williams, x, y, h))
    check(kept(significance.paired_bootstrap, x, y, h, resamples=40))
    grids = [z.reshape(2, -1) for z in (x, y, h)]
    for by in ("none", "item", "sys"):
        swapped = kept(significance.perm_both, *grids, by=by, resamples=40)
        assert swapped is None or 0 <= swapped.p <= 1
    limit = kept(hybrid_correlation_limit, grids[0], grids[2], resamples=40)
    check(limit)
    check(kept(compare_hybrid_limits, *grids, resamples=40))


@pytest.mark.parametrize("seed", SEEDS)
def test_shares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(7), 3)
    alike = np.tile([True, False, False], 7)  # each set has one of three right: no set says more than another
    assert preference.clustered_share(alike, of, 0.95) == preference.clustered_share(alike[::-1], of, 0.95)
    assert preference.clustered_share(alike, of, 0.95) == preference.wilson_of_worth(1 / 3, 7, 0.95, 6)
    for right in (alike, np.ones(21, bool), np.zeros(21, bool), rng.random(21) < 0.5):
        low, high = preference.clustered_share(right, of, 0.95)
        assert 0 <= low <= right.mean() <= high <= 1
    for values in (np.ones((5, 5)), np.full((5, 5), 1 / 3), np.full((5, 5), 0.9)):
        low, high = preference.share_of_pairs(noisy(values, seed), 0.95)
        assert 0 <= low <= high <= 1
        exact = preference.share_of_pairs(values, 0.95)
        assert (low, high) == pytest.approx(exact, abs=1e-9)
    margins = noisy(np.tile([0.1, -0.1], 10), seed)
    result = preference.preference(margins, np.zeros(20), cluster=np.repeat(np.arange(10), 2), resamples=40)
    assert 0 <= result.p_two_sided <= 1


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_regressions(seed: int) -> None:
    rng = np.random.default_rng(9)
    n = 48
    x = rng.normal(size=(n, 2))
    segment, system = np.repeat(np.arange(12), 4), np.tile(np.arange(4), 12)
    level = rng.normal(size=12)[segment]
    cases = (x @ [0.3, -1 / 7], level, level + x[:, 0], np.repeat(x[::4, 0], 4) + level, rng.normal(size=n))
    for response in cases:
        y = noisy(response, seed)
        for how in (
            {"se": "classic"},
            {"se": "hc3"},
            {"se": "cluster", "clusters": segment.astype(str)},
            {"se": "cluster", "clusters": segment.astype(str), "crossed": system.astype(str)},
        ):
            fit = fit_ols(y, noisy(x, seed + 100), intercept=True, **how)
            assert 0 <= fit.r2 <= 1
            assert (np.diag(fit.covariance) >= 0).all()
            assert not np.isnan(fit.se).any()
            test = kept(wald, fit, [1, 2])
            assert test is None or (test.statistic >= 0 and 0 <= test.p <= 1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("effects", [[0.1, 0.1, 0.1], [0.1, 0.2, 0.7], [0.0, 0.0, 0.0]])
@pytest.mark.parametrize("shared", [0.0, 0.9, 1.0])
def test_means_of_groups(effects: list[float], shared: float, seed: int) -> None:
    covariance = noisy(np.full((3, 3), shared * 0.01), seed)
    covariance = (covariance + covariance.T) / 2
    np.fill_diagonal(covariance, noisy(np.full(3, 0.01), seed))
    found = pooled_mean(noisy(np.array(effects), seed + 100), covariance)
    assert found.se >= 0
    assert found.tau2 >= 0
    assert 0 <= found.i2 <= 1
    assert 0 <= found.q_p <= 1


def test_a_variance_of_rounding_size_is_0() -> None:
    assert clip_variance([-1e-17, 1e-17, 1e-3], [1.0, 1.0, 1.0]).tolist() == [0, 0, 1e-3]
    assert clip_variance(1e-17, 1e-17) == 1e-17  # a small one that is no difference of large ones
    same = np.array([[0.1, 0.1], [0.1, 0.1]]) / 3
    assert quadratic_form(np.array([1.0, -1.0]), same * (1 + EPS * np.array([[1, 0], [0, 2]]))) == 0


def test_one_unit_says_nothing_about_others() -> None:
    several_units(2, "cluster")
    for units in (0, 1):
        with pytest.raises(InputError, match="nothing is known about others"):
            several_units(units, "cluster")
    for call in (
        lambda one: detection.roc_auc([0, 1, 0, 1], [1, 2, 3, 4], cluster=one),
        lambda one: preference.preference([1, 2, 3, 4], [0, 0, 0, 0], cluster=one),
        lambda one: preference.mcnemar([1, 1, 1, 1], [0, 0, 0, 0], cluster=one),
        lambda one: significance.perm_both(np.eye(4), np.eye(4) + 1, np.eye(4), swap="segments", cluster=one),
        lambda one: fit_ols(np.arange(4.0), np.ones((4, 1)), se="cluster", clusters=list("aaaa")),
    ):
        with pytest.raises(InputError, match="nothing is known about others"):
            call(np.zeros(4))
