"""Coefficients within the levels of columns, such as segment and system, and whether those of all rows differ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.disentangle.errors import Errors
from bsx.analysis.disentangle.result import ROWS_PER_FACTOR, Variant
from bsx.analysis.disentangle.sample import RegressionSample
from bsx.analysis.disentangle.variants import make_variant, reference
from bsx.analysis.stats.intercepts import Codes, absorb, absorbed, level_codes, rows_within
from bsx.analysis.stats.regression import fit_ols, refuse_collinear
from bsx.data.columns import Labels
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Notice

SIMPSON = 0.1
"""Pooled and within coefficients that differ by more (in standard deviations), and significantly, are warned of."""
HALVED = 0.05
"""So are those that differ by more than this and by more than half of the pooled one."""


@dataclass(frozen=True, eq=False)
class Inside:
    """Rows less the intercepts of their levels.

    Attributes:
        rows: the rows that are not alone in a level (r,).
        codes: level of each of them, for each column.
        x: factors, less the intercepts (r, p).
        y: metrics, less the intercepts (r, m).
        varies: places of the factors that vary within levels.
        intercepts: how many degrees of freedom the intercepts take.
    """

    rows: NDArray[np.int64] = field(repr=False)
    codes: tuple[Codes, ...] = field(repr=False)
    x: Array = field(repr=False)
    y: Array = field(repr=False)
    varies: list[int]
    intercepts: int

    @property
    def df(self) -> int:
        """Residual degrees of freedom."""
        return len(self.rows) - self.intercepts - len(self.varies)

    def fit(self, metric: int, errors: Errors) -> tuple[Array, Array, Array]:
        """Return, of the factors that vary, a metric's coefficients, standard errors and their degrees of freedom.

        What is left of the metric is regressed on what is left of the factors, which gives the coefficients that a
        column for every level would. Intercepts count in the residual degrees of freedom, except those of levels
        that lie within clusters: the sums over clusters hold what estimating them costs.

        Source: Frisch & Waugh 1933; Cameron & Miller 2015, section III.B, for what counts with clusters.
        """
        x, y = self.x[:, self.varies], self.y[:, metric]
        n, p = x.shape
        if errors.kind == "hc3":
            fit = fit_ols(y, x)
            scores = (x * (fit.residuals / (1 - self._leverage))[:, None]) @ np.linalg.inv(x.T @ x)
            return fit.coef, np.sqrt(np.square(scores).sum(axis=0)), np.full(p, np.inf)
        if errors.kind == "cluster":
            fit, clusters = errors.fit(y, x), level_codes(errors.clusters or ())
            # Levels that do not lie within one cluster each; of another column's, one stands for the constant.
            beside = [of for of in self.codes if len(np.unique(of * (clusters.max() + 1) + clusters)) > of.max() + 1]
            every = len(beside) == len(self.codes)
            taken = self.intercepts if every else sum(int(of.max()) for of in beside)
            df = np.broadcast_to(np.asarray(fit.reference_df, dtype=np.float64), (p,))
            return fit.coef, fit.se * math.sqrt((n - p) / (n - p - taken)), df
        fit = fit_ols(y, x)
        return fit.coef, fit.se * math.sqrt((n - p) / self.df), np.full(p, float(self.df))

    @property
    def _leverage(self) -> Array:
        """Leverage of each row with the intercepts of one column."""
        leverage = np.square(np.linalg.qr(self.x[:, self.varies])[0]).sum(axis=1)
        return np.asarray(leverage + 1 / np.bincount(self.codes[0])[self.codes[0]])

    def errors(self, errors: Errors) -> Errors:
        """Return standard errors of `rows` from those of all rows: classic ones where HC3 is not defined."""
        kept = errors.of(self.rows)
        if kept.kind == "hc3" and self._leverage.max() > 1 - 1e-10:
            return replace(kept, kind="classic", why="a row decides a coefficient alone: HC3 is not defined")
        return kept


def inside(sample: RegressionSample, levels: Mapping[str, Labels]) -> Inside:
    """Take the intercepts of one or two columns of levels (name -> level of each row) out of factors and metrics.

    Raises:
        InputError: if every level has one row, no factor varies within levels, two say the same there, or no degree of
            freedom is left.
    """
    named = ",".join(levels)
    codes = [level_codes(labels) for labels in levels.values()]
    for name, of in zip(levels, codes, strict=True):
        many, n = int(of.max()) + 1, len(of)
        if many < 2:
            message = f"within: {name} has one level in all {n:,} rows: there is nothing to tell apart"
            raise InputError(message, setting="within")
        if many == n:
            message = f"within: {name}: {n:,} levels in {n:,} rows; an intercept needs several rows a level"
            raise InputError(message, setting="within")
    rows = rows_within(codes)
    if not len(rows):
        raise InputError(f"within: {named}: no row shares its level with another: nothing is within", setting="within")
    kept = tuple(np.unique(of[rows], return_inverse=True)[1].astype(np.int64) for of in codes)
    p = len(sample.factors)
    left = absorb(np.column_stack([sample.x[rows], sample.y[rows]]), kept)
    varies = [j for j in range(p) if left[:, j].std() > 1e-8]
    if not varies:
        raise InputError(f"within: {named}: no factor varies within one {' and '.join(levels)}", setting="within")
    result = Inside(rows, kept, left[:, :p], left[:, p:], varies, absorbed(kept))
    if result.df < 1:
        few = f"{len(rows):,} rows are too few for {result.intercepts:,} intercepts and {len(varies)} coefficients"
        raise InputError(f"within: {named}: {few}", setting="within")
    refuse_collinear([f"{sample.factors[j]} within {named}" for j in varies], result.x[:, varies])
    return result


def within(sample: RegressionSample, levels: Mapping[str, Labels]) -> Variant:
    """Return coefficients within the levels (n,) of one or two columns, such as segment and system.

    They are on the scale of all rows together, as the pooled coefficients are, and so can be compared. R² is of what
    varies within levels. ``details``: ``within``, with ``rows``, ``intercepts``, ``df`` and the ``r2`` that counts
    what the intercepts explain; ``difference``, p of "the pooled coefficient is the one within". Where two columns are
    absorbed and no rows share a segment or a text, rows of the column with more levels are the clusters.

    Raises:
        InputError: as `inside`; also for HC3 with two columns, which is not defined here.
    """
    left, all_errors = inside(sample, levels), sample.errors.defined_for(sample.x)
    errors = left.errors(all_errors)
    if all_errors.kind == "hc3" and len(levels) > 1:
        if not all_errors.why:
            message = f"within: {','.join(levels)}: two columns need se cluster or classic, not hc3"
            raise InputError(message, setting="within")
        name = max(levels, key=lambda column: len(set(levels[column])))
        errors = Errors("cluster", [levels[name][i] for i in left.rows], errors.units, f"those of {name}")
    coef, se, df = (np.full((len(sample.metrics), len(sample.factors)), fill) for fill in (np.nan, np.nan, np.inf))
    r2, details = np.empty(len(sample.metrics)), []
    for i in range(len(sample.metrics)):
        coef[i, left.varies], se[i, left.varies], df[i, left.varies] = left.fit(i, errors)
        rest = left.y[:, i] - left.x[:, left.varies] @ coef[i, left.varies]
        totals = (float(np.square(v - v.mean()).sum()) for v in (left.y[:, i], sample.y[left.rows, i]))
        r2[i], with_intercepts = (1 - float(rest @ rest) / total if total > 0 else math.nan for total in totals)
        figures = {"rows": len(left.rows), "intercepts": left.intercepts, "df": left.df, "r2": with_intercepts}
        p = _compare(left, sample, i, all_errors)[2]
        different = {sample.factors[j]: float(value) for j, value in zip(left.varies, p, strict=True)}
        details.append({"difference": different, "within": {name: float(value) for name, value in figures.items()}})
    what = (
        f"within {' and '.join(levels)}: every level has its own intercept, R² is of what is within "
        f"({left.intercepts:,} intercepts, {len(left.rows):,} rows, {left.df:,} degrees of freedom; {errors.kind} "
        "standard errors)"
    )
    student = need("scipy.stats", "the regression").t(df)
    return make_variant("within", what, sample, coef, se, student, r2=r2, details=details, levels=list(levels))


def _compare(left: Inside, sample: RegressionSample, metric: int, errors: Errors) -> tuple[Array, Array, Array]:
    """Return, of the factors that vary, coefficients over all rows, those within, and p of "they are the same".

    Both are sums over rows of how each row moves them, and so is their difference: a test of Hausman 1978 that holds
    with clusters too.
    """
    x, y, varies = sample.x, sample.y[:, metric], left.varies
    pooled = np.asarray(np.linalg.solve(x.T @ x, x.T @ y), dtype=np.float64)
    moves = (x * (y - x @ pooled)[:, None]) @ np.linalg.inv(x.T @ x)
    x_left, y_left = left.x[:, varies], left.y[:, metric]
    inner = np.asarray(np.linalg.solve(x_left.T @ x_left, x_left.T @ y_left), dtype=np.float64)
    difference = moves[:, varies]
    difference[left.rows] -= (x_left * (y_left - x_left @ inner)[:, None]) @ np.linalg.inv(x_left.T @ x_left)
    spread = np.sqrt(np.diag(errors.spread(difference)))
    distance = np.abs(pooled[varies] - inner)
    p = 2 * reference(errors).sf(distance / np.maximum(spread, 1e-300))
    return pooled[varies], inner, np.asarray(np.where(distance < 1e-12, 1.0, p))  # below it is rounding


def simpson(sample: RegressionSample, column: str, labels: Labels, tests: int = 1) -> list[Notice]:
    """Return a notice named ``simpson`` if coefficients of all rows and those within levels (n,) differ; else none.

    They must differ significantly in these very systems, corrected for metrics, factors and columns looked at (so many
    tests), and by more than `SIMPSON`, or by more than `HALVED` and more than half. A column that leaves too little
    within its levels says nothing.
    """
    metrics, factors = sample.metrics, sample.factors
    try:
        left = inside(sample, {column: labels})
    except InputError:
        return []
    if left.df < ROWS_PER_FACTOR * len(factors):
        return []
    errors = sample.errors.defined_for(sample.x)
    own_errors, alpha = left.errors(errors), sample.settings.alpha / (len(metrics) * len(factors) * tests)
    differences = []
    for i, metric in enumerate(metrics):
        pooled, inner, p = _compare(left, sample, i, errors.one_way())
        different = [k for k in range(len(p)) if p[k] < alpha and _far(pooled[k], inner[k])]
        if different:
            coef, se, df = left.fit(i, own_errors)
            p_within = 2 * need("scipy.stats", "the regression").t(df).sf(np.abs(coef) / np.maximum(se, 1e-300))
        for k in different:
            figures = {"pooled": float(pooled[k]), "within": float(inner[k]), "p": float(p_within[k])}
            named = {"metric": metric, "factor": factors[left.varies[k]], **figures}
            differences.append((abs(pooled[k] - inner[k]), named))
    differences.sort(key=itemgetter(0), reverse=True)
    return [Notice("simpson", column, {"differences": [named for _, named in differences]})] if differences else []


def _far(pooled: float, inner: float) -> bool:
    distance = abs(pooled - inner)
    return bool(distance > SIMPSON or (distance > HALVED and distance > abs(pooled) / 2))
