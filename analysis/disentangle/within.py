"""Coefficients within segments, systems or groups: every level has its own intercept; does pooling hide them?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.disentangle.noise import reference
from bsx.analysis.disentangle.result import ROWS_PER_FACTOR, Variant
from bsx.analysis.disentangle.settings import DisentangleSettings
from bsx.analysis.disentangle.standard_errors import Errors
from bsx.analysis.disentangle.variants import make_variant
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
        """Return coefficients, standard errors and degrees of freedom of their reference, of the factors that vary.

        What is left of the metric is regressed on what is left of the factors, which gives the coefficients that a
        column for every level would. Intercepts count in the residual degrees of freedom, except those of levels
        that lie within clusters: the sums over clusters hold what estimating them costs.

        Source: Frisch & Waugh 1933; Cameron & Miller 2015, section III.B, for what counts with clusters.

        Args:
            metric: its place.
            errors: of the rows in `rows`.
        """
        x, y = self.x[:, self.varies], self.y[:, metric]
        n, p = x.shape
        if errors.kind == "hc3":
            fit = fit_ols(y, x)
            scores = (x * (fit.residuals / (1 - self._leverage))[:, None]) @ np.linalg.inv(x.T @ x)
            return fit.coef, np.sqrt(np.square(scores).sum(axis=0)), np.full(p, np.inf)
        if errors.kind == "cluster":
            fit, taken = errors.fit(y, x), self._beside(errors)
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
        own = errors.of(self.rows)
        if own.kind == "hc3" and self._leverage.max() > 1 - 1e-10:
            return replace(own, kind="classic", why="a row decides a coefficient alone: HC3 is not defined")
        return own

    def _beside(self, errors: Errors) -> int:
        """Return how many of the intercepts are of levels that do not lie within one cluster each."""
        clusters = level_codes(errors.clusters or ())
        beside = [of for of in self.codes if len(np.unique(of * (clusters.max() + 1) + clusters)) > of.max() + 1]
        if len(beside) == len(self.codes):
            return self.intercepts
        return sum(int(of.max()) for of in beside)  # of another column's intercepts, one stands for the constant


def inside(factors: Sequence[str], x: Array, y: Array, levels: Mapping[str, Labels]) -> Inside:
    """Take the intercepts of one or two columns of levels out of factors and metrics.

    Args:
        factors: names (p,).
        x: factors (n, p).
        y: metrics (n, m).
        levels: column -> level of each row (n,).

    Raises:
        InputError: if every level has one row, no factor varies within levels, two say the same there, or no degree of
            freedom is left.
    """
    named = ",".join(levels)
    codes = [level_codes(labels) for labels in levels.values()]
    for name, of in zip(levels, codes, strict=True):
        many, n = int(of.max()) + 1, len(of)
        if many < 2:
            raise InputError(
                f"within: {name} has one level in all {n:,} rows: there is nothing to tell apart", setting="within"
            )
        if many == n:
            raise InputError(
                f"within: {name}: {n:,} levels in {n:,} rows; an intercept needs several rows a level", setting="within"
            )
    rows = rows_within(codes)
    if not len(rows):
        raise InputError(f"within: {named}: no row shares its level with another: nothing is within", setting="within")
    kept = tuple(np.unique(of[rows], return_inverse=True)[1].astype(np.int64) for of in codes)
    p = x.shape[1]
    left = absorb(np.column_stack([x[rows], y[rows]]), kept)
    varies = [j for j in range(p) if left[:, j].std() > 1e-8]
    if not varies:
        raise InputError(f"within: {named}: no factor varies within one {' and '.join(levels)}", setting="within")
    found = Inside(rows, kept, left[:, :p], left[:, p:], varies, absorbed(kept))
    if found.df < 1:
        raise InputError(
            f"within: {named}: {len(rows):,} rows are too few for {found.intercepts:,} intercepts and {len(varies)} "
            "coefficients",
            setting="within",
        )
    refuse_collinear([f"{factors[j]} within {named}" for j in varies], found.x[:, varies])
    return found


def within(
    metrics: Sequence[str],
    factors: Sequence[str],
    x: Array,
    y: Array,
    levels: Mapping[str, Labels],
    errors: Errors,
    how: DisentangleSettings,
) -> Variant:
    """Return coefficients within the levels of one or two columns, such as segment and system.

    They are on the scale of all rows together, as the pooled coefficients are, and so can be compared. R² is of what
    varies within levels. ``details``: ``within``, with ``rows``, ``intercepts``, ``df`` and the ``r2`` that counts
    what the intercepts explain; ``difference``, p of "the pooled coefficient is the one within". Where two columns are
    absorbed and no rows share a segment or a text, rows of the column with more levels are the clusters.

    Args:
        metrics: names (m,).
        factors: names (p,).
        x: factors, standardised over all rows (n, p).
        y: metrics, standardised over all rows (n, m).
        levels: column -> level of each row (n,).
        errors: standard errors.
        how: levels and corrections.

    Raises:
        InputError: as `inside`; also for HC3 with two columns, which is not defined here.
    """
    found = inside(factors, x, y, levels)
    own = found.errors(errors)
    if errors.kind == "hc3" and len(levels) > 1:
        if not errors.why:
            raise InputError(
                f"within: {','.join(levels)}: two columns need se cluster or classic, not hc3", setting="within"
            )
        name = max(levels, key=lambda column: len(set(levels[column])))
        own = Errors("cluster", [levels[name][i] for i in found.rows], own.units, f"those of {name}")
    coef, se = (np.full((len(metrics), len(factors)), np.nan) for _ in range(2))
    r2, details, dfs = np.empty(len(metrics)), [], np.full_like(coef, np.inf)
    for i in range(len(metrics)):
        coef[i, found.varies], se[i, found.varies], dfs[i, found.varies] = found.fit(i, own)
        rest = found.y[:, i] - found.x[:, found.varies] @ coef[i, found.varies]
        totals = (float(np.square(v - v.mean()).sum()) for v in (found.y[:, i], y[found.rows, i]))
        r2[i], with_intercepts = (1 - float(rest @ rest) / total if total > 0 else math.nan for total in totals)
        figures = {"rows": len(found.rows), "intercepts": found.intercepts, "df": found.df, "r2": with_intercepts}
        different = {factors[j]: p for j, (_, _, p) in _compare(found, x, y, i, errors).items()}
        details.append({"difference": different, "within": {name: float(value) for name, value in figures.items()}})
    what = (
        f"within {' and '.join(levels)}: every level has its own intercept, R² is of what is within "
        f"({found.intercepts:,} intercepts, {len(found.rows):,} rows, {found.df:,} degrees of freedom; {own.kind} "
        "standard errors)"
    )
    student = need("scipy.stats", "the regression").t(dfs)
    made = make_variant("within", what, metrics, factors, coef, se, student, how, r2=r2, details=details)
    return replace(made, levels=tuple(levels))


def _compare(found: Inside, x: Array, y: Array, metric: int, errors: Errors) -> dict[int, tuple[float, float, float]]:
    """Return a factor's place -> its pooled coefficient, the one within, and p of "they are the same".

    Both are sums over rows of how each row moves them, and so is their difference: a test of Hausman 1978 that holds
    with clusters too.
    """
    varies = found.varies
    pooled = np.linalg.solve(x.T @ x, x.T @ y[:, metric])
    moves = (x * (y[:, metric] - x @ pooled)[:, None]) @ np.linalg.inv(x.T @ x)
    part, left = found.x[:, varies], found.y[:, metric]
    inner = np.linalg.solve(part.T @ part, part.T @ left)
    difference = moves[:, varies]
    difference[found.rows] -= (part * (left - part @ inner)[:, None]) @ np.linalg.inv(part.T @ part)
    spread = np.sqrt(np.diag(errors.spread(difference)))
    distribution = reference(errors)
    return {
        j: (
            float(pooled[j]),
            float(inner[k]),
            1.0
            if abs(pooled[j] - inner[k]) < 1e-12  # of standardised coefficients: rounding
            else float(2 * distribution.sf(abs(pooled[j] - inner[k]) / max(float(spread[k]), 1e-300))),
        )
        for k, j in enumerate(varies)
    }


def simpson(
    metrics: Sequence[str],
    factors: Sequence[str],
    x: Array,
    y: Array,
    column: str,
    labels: Labels,
    errors: Errors,
    how: DisentangleSettings,
    tests: int = 1,
) -> list[Notice]:
    """Return a notice named ``simpson`` if coefficients of all rows and those within levels differ; otherwise none.

    They must differ significantly in these very systems, corrected for metrics, factors and columns looked at, and by
    more than `SIMPSON`, or by more than `HALVED` and more than half. A column that leaves too little within its levels
    says nothing.

    Args:
        metrics: names (m,).
        factors: names (p,).
        x: factors, standardised over all rows (n, p).
        y: metrics, standardised over all rows (n, m).
        column: name of the levels.
        labels: level of each row (n,).
        errors: standard errors.
        how: level of significance.
        tests: columns that are looked at.
    """
    try:
        found = inside(factors, x, y, {column: labels})
    except InputError:
        return []
    if found.df < ROWS_PER_FACTOR * len(factors):
        return []
    own, alpha = found.errors(errors), how.alpha / (len(metrics) * len(factors) * tests)
    differences: list[dict[str, object]] = []
    for i, metric in enumerate(metrics):
        apart = {
            j: values
            for j, values in _compare(found, x, y, i, errors.one_way()).items()
            if values[2] < alpha and _far(values[0], values[1])
        }
        if apart:
            coef, se, df = found.fit(i, own)
            p_within = 2 * need("scipy.stats", "the regression").t(df).sf(np.abs(coef) / np.maximum(se, 1e-300))
        for j, (pooled, inner, _) in apart.items():
            p = float(p_within[found.varies.index(j)])
            differences.append({"metric": metric, "factor": factors[j], "pooled": pooled, "within": inner, "p": p})
    differences.sort(key=lambda one: -abs(float(one["pooled"]) - float(one["within"])))  # type: ignore[arg-type]
    return [Notice("simpson", column, {"differences": differences})] if differences else []


def _far(pooled: float, inner: float) -> bool:
    apart = abs(pooled - inner)
    return apart > SIMPSON or (apart > HALVED and apart > abs(pooled) / 2)
