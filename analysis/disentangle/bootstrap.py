"""Pairs bootstrap of standardised regressions: whole rows are drawn, and every resample is standardised anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.disentangle.result import CoefficientComparison
from bsx.analysis.disentangle.settings import ComparisonSettings
from bsx.analysis.disentangle.standard_errors import Errors, choose_errors
from bsx.analysis.stats.equivalence import equivalence_p
from bsx.analysis.stats.resample import Seed, bootstrap_counts, compared
from bsx.analysis.stats.results import Comparison
from bsx.data.columns import TableLike, numeric_columns, standardised
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.settings import settled


@dataclass(frozen=True)
class Draws:
    """What the resamples gave; NaN where a resample had a constant column or collinear factors.

    Attributes:
        coef: (resamples, metrics, factors).
        r2: (resamples, metrics).
        correlations: of the factors (resamples, factors, factors).
        responses: of the factors with the metrics (resamples, metrics, factors).
        defined: which resamples are (resamples,).
    """

    coef: Array
    r2: Array
    correlations: Array
    responses: Array
    defined: NDArray[np.bool_]


def bootstrap_regressions(
    x: Array, y: Array, *, resamples: int, seed: Seed, clusters: Sequence[str] | None = None
) -> Draws:
    """Fit the standardised regression of every metric on the factors in every resample.

    A standardised regression is a function of the correlations, so a resample needs sums of products only, and
    standardising inside it costs nothing. All metrics share the resamples, which makes their coefficients comparable.

    Source: Freedman 1981 for resampling pairs; Field & Welsh 2007 for resampling whole clusters.

    Args:
        x: factors (n, p).
        y: metrics (n, m).
        resamples: how many.
        seed: of the draws.
        clusters: cluster of each row: whole clusters are drawn instead of rows.
    """
    p = x.shape[1]
    z = np.column_stack([x, y])
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    k = z.shape[1]
    upper = np.triu_indices(k)
    sums = np.column_stack([np.ones(len(z)), z, z[:, upper[0]] * z[:, upper[1]]])
    if clusters is not None:
        names, codes = np.unique(np.asarray(clusters), return_inverse=True)
        by_cluster = np.zeros((len(names), sums.shape[1]))
        np.add.at(by_cluster, codes, sums)
        sums = by_cluster
    moments = np.concatenate([counts @ sums for counts in bootstrap_counts(resamples, len(sums), seed)])
    moments /= moments[:, :1]
    means, products = moments[:, 1 : k + 1], moments[:, k + 1 :]
    covariance = np.empty((resamples, k, k))
    covariance[:, upper[0], upper[1]] = covariance[:, upper[1], upper[0]] = products
    covariance -= means[:, :, None] * means[:, None, :]
    variance = np.einsum("bii->bi", covariance)
    spread = np.sqrt(np.where(variance > 1e-12, variance, np.nan))
    correlations = covariance / (spread[:, :, None] * spread[:, None, :])
    inner = correlations[:, :p, :p]
    defined = ~np.isnan(correlations).any(axis=(1, 2))
    inner[~defined] = np.eye(p)
    defined &= np.linalg.eigvalsh(inner)[:, 0] > 1e-10
    inner[~defined] = np.eye(p)
    outer = correlations[:, :p, p:]
    outer[~defined] = np.nan
    coef = np.linalg.solve(inner, outer)
    responses = np.swapaxes(outer, 1, 2)
    return Draws(np.swapaxes(coef, 1, 2), (coef * outer).sum(axis=1), inner, responses, defined)


def widened(draws: Draws, x: Array, y: Array, errors: Errors, *, intercept: bool = False) -> Draws:
    """Return draws whose coefficients and R² spread as errors in two ways do; as they are if there is one way.

    Only whole clusters of the first way are drawn. Deviations from the estimate are multiplied by what the second adds
    to the standard error: drawing both ways would count each row's own error three times (Owen 2007). The shares that
    factors have in R² are not widened.

    Args:
        draws: over clusters of the first way.
        x: standardised factors (n, p).
        y: standardised metrics (n, m).
        errors: standard errors.
        intercept: fit one.
    """
    if errors.crossed is None:
        return draws
    alone, first = errors.one_way(), int(intercept)
    coef, r2 = draws.coef.copy(), draws.r2.copy()
    for j, column in enumerate(y.T):
        two, one = (how.fit(column, x, intercept=intercept) for how in (errors, alone))
        coef[:, j] = _stretched(coef[:, j], two.coef[first:], two.se[first:], one.se[first:])
        influence = r2_influence(column, two.residuals, two.r2)
        spreads = (np.sqrt(np.diag(how.spread(influence[:, None]))) for how in (errors, alone))
        r2[:, j] = _stretched(r2[:, j], np.array(two.r2), *spreads)
    return replace(draws, coef=coef, r2=r2)


def r2_influence(y: Array, residuals: Array, r2: float) -> Array:
    """Return each row's influence on R² of a standardised metric (n,)."""
    return ((1 - r2) * y**2 - residuals**2) / len(y)


def _stretched(draws: Array, value: Array, wide: Array, narrow: Array) -> Array:
    ratio = np.divide(wide, narrow, out=np.ones_like(wide), where=narrow > 0)
    return np.asarray(value + (draws - value) * ratio)


@settled(ComparisonSettings)
def compare_coefficients(
    table: TableLike, a: str, b: str, factors: Sequence[str], settings: ComparisonSettings
) -> CoefficientComparison:
    """Compare how two metrics go with the factors, over the same bootstrap resamples of rows.

    Source: Efron & Tibshirani 1993, chapter 13 (percentile interval and its p-value).

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        a: column of the first metric.
        b: column of the second.
        factors: columns of the factors.
        settings: see `ComparisonSettings`.

    Returns:
        ``by``: factor -> Comparison of its two standardised coefficients, and ``"r2"`` -> that of the two R².

    Raises:
        UnknownNameError: for a missing column.
        InputError: for cells that are not numbers, constant columns, collinear factors or too few rows.
    """
    if not factors:
        raise InputError("factors: name at least one column", setting="factors")
    if "r2" in factors:
        raise InputError("a factor cannot be called r2 here: that name stands for the explained variance")
    names = [*factors, a, b]
    labels = [settings.cluster] if settings.cluster is not None else []
    columns, _, omitted = numeric_columns(table, names, labels, nan=settings.nan)
    errors = choose_errors(table, names, len(factors), settings, omitted)
    clusters = errors.clusters
    x, y = standardised(columns, factors), standardised(columns, [a, b])
    n, p = x.shape
    if n <= p or np.linalg.matrix_rank(x) < p:
        raise InputError(f"{n} rows and {p} factors: the factors are collinear, or there are too few rows")
    coef = np.linalg.lstsq(x, y, rcond=None)[0]
    r2 = 1 - np.square(y - x @ coef).mean(axis=0)
    draws = bootstrap_regressions(x, y, resamples=settings.resamples, seed=settings.seed, clusters=clusters)
    values = np.vstack([coef, r2])
    sampled = np.concatenate([draws.coef, draws.r2[:, :, None]], axis=2)
    comparisons: dict[str, Comparison] = {}
    for j, name in enumerate([*factors, "r2"]):
        what = "R²" if name == "r2" else "standardised coefficients"
        method = f"difference of {what}, paired bootstrap of {'rows' if clusters is None else 'clusters'}"
        differences = sampled[:, 0, j] - sampled[:, 1, j]
        value = values[j, 0] - values[j, 1]
        if errors.crossed is not None:
            differences = _stretched(
                differences, value, *(_spread_of(x, y, j, how) for how in (errors, errors.one_way()))
            )
            method += ", widened for systems"
        found = compared(
            float(values[j, 0]), float(values[j, 1]), differences, n, method, settings.confidence, errors.few()
        )
        if settings.margin is not None:
            p_same = equivalence_p(found.difference, found.ci, settings.margin, confidence=settings.confidence)
            found = replace(found, p_equivalence=p_same)
        comparisons[name] = replace(found, a=a, b=b)
    return CoefficientComparison(a, b, comparisons, settings.margin)


def _spread_of(x: Array, y: Array, j: int, errors: Errors) -> Array:
    """Return the standard error of a difference of coefficients, or, after the last, of two metrics' R² (1,)."""
    if j < x.shape[1]:
        return errors.fit(y[:, 0] - y[:, 1], x).se[j : j + 1]
    fits = [errors.fit(column, x) for column in y.T]
    first, second = (r2_influence(c, fit.residuals, fit.r2) for c, fit in zip(y.T, fits, strict=True))
    return np.sqrt(np.diag(errors.spread((first - second)[:, None])))
