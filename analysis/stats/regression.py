"""Ordinary least squares with the standard errors of one's choice, and Wald tests on its coefficients."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Endless, Number, Shown

StandardErrors = Literal["classic", "hc3", "cluster"]


@dataclass(frozen=True, repr=False)
class Ols(Shown):
    """A fitted linear model; arrays have one entry for each column of the design, an intercept first if there is one.

    Attributes:
        coef: coefficients (p,).
        se: their standard errors (p,).
        statistic: coef / se (p,).
        p: two-sided p-values of "the coefficient is 0" (p,).
        low: lower ends of the analytic intervals (p,).
        high: upper ends (p,).
        covariance: of the coefficients (p, p).
        r2: share of the response's variance that the model explains.
        adj_r2: the same, adjusted for the number of columns.
        df: residual degrees of freedom, n - p.
        reference_df: degrees of freedom of the reference distribution; infinite for the normal.
        reference: the reference distribution in words.
        fitted: (n,).
        residuals: (n,).
        leverage: diagonal of the hat matrix (n,).
        intercept: whether the first column is one.
    """

    coef: Array
    se: Array
    statistic: Array
    p: Array
    low: Array
    high: Array
    covariance: Array = field(repr=False)
    r2: float
    adj_r2: float
    df: int
    reference_df: float
    reference: str
    fitted: Array = field(repr=False)
    residuals: Array = field(repr=False)
    leverage: Array = field(repr=False)
    intercept: bool


@dataclass(frozen=True, repr=False)
class WaldTest(Shown):
    """A test that several coefficients are all 0.

    Attributes:
        statistic: F; with classic standard errors the F of the two nested models.
        df1: number of coefficients tested.
        df2: degrees of freedom of the denominator; infinite where the reference is chi-squared / df1.
        p: of "all are 0".
    """

    statistic: float
    df1: int
    df2: float
    p: float


def fit_ols(
    y: Array,
    x: Array,
    *,
    se: StandardErrors = "classic",
    clusters: Sequence[str] | None = None,
    intercept: bool = False,
    confidence: float = 0.95,
) -> Ols:
    """Fit a linear model by statsmodels.

    Standard errors: ``classic`` from the residual variance, with t on n - p degrees of freedom; ``hc3`` with squared
    residuals e²/(1 - h)², h the leverage, and the normal distribution; ``cluster`` with sums over clusters, the
    correction G/(G - 1) · (n - 1)/(n - p), and t on G - 1 degrees of freedom.

    Source: MacKinnon & White 1985 for HC3; Liang & Zeger 1986 and Cameron & Miller 2015 for clusters.

    Args:
        y: response (n,).
        x: regressors (n, p).
        se: ``classic``, ``hc3`` or ``cluster``.
        clusters: cluster of each row; needed for ``cluster``.
        intercept: add one.
        confidence: level of the intervals.

    Raises:
        InputError: if there are too few rows or clusters, or a row has leverage 1 under ``hc3``.
    """
    linear = need("statsmodels.regression.linear_model", "the regression")
    design = np.column_stack([np.ones(len(y)), x]) if intercept else x
    n, columns = design.shape
    require_rows(n, columns)
    leverage = np.square(np.linalg.qr(design)[0]).sum(axis=1)
    options: dict[str, object] = {}
    reference_df, reference = float(n - columns), f"t with {n - columns} degrees of freedom"
    if se == "hc3":
        if leverage.max() > 1 - 1e-10:
            raise InputError(
                f"row {int(np.argmax(leverage)) + 1} of those fitted decides a coefficient alone (leverage 1): HC3 is "
                "not defined; use classic standard errors or leave the row out"
            )
        options = {"cov_type": "HC3", "use_t": False}
        reference_df, reference = math.inf, "normal"
    elif se == "cluster":
        if clusters is None:
            raise InputError("cluster-robust standard errors need a column of clusters: cluster")
        names, codes = np.unique(np.asarray(clusters), return_inverse=True)
        if len(names) < 2:
            raise InputError(
                f"cluster-robust standard errors need at least 2 clusters, {str(names[0])!r} is the only one"
            )
        options = {"cov_type": "cluster", "cov_kwds": {"groups": codes}, "use_t": True}
        reference_df, reference = float(len(names) - 1), f"t with {len(names) - 1} degrees of freedom"
    with np.errstate(divide="ignore", invalid="ignore"):  # a perfect fit has standard errors of 0
        result = linear.OLS(y, design, hasconst=intercept).fit(**options)
        interval = np.asarray(result.conf_int(1 - confidence))
        return Ols(
            coef=np.asarray(result.params),
            se=np.asarray(result.bse),
            statistic=np.asarray(result.tvalues),
            p=np.asarray(result.pvalues),
            low=interval[:, 0],
            high=interval[:, 1],
            covariance=np.asarray(result.cov_params()),
            r2=float(result.rsquared),
            adj_r2=float(result.rsquared_adj),
            df=n - columns,
            reference_df=reference_df,
            reference=reference,
            fitted=np.asarray(result.fittedvalues),
            residuals=np.asarray(result.resid),
            leverage=leverage,
            intercept=intercept,
        )


def wald(fit: Ols, columns: Sequence[int]) -> WaldTest:
    """Test that the coefficients of these columns of the design are all 0.

    The reference is the one of the fit's own standard errors: F where that is t, chi-squared where it is normal.

    Source: Wald 1943; with classic standard errors it is the F test of nested models.

    Raises:
        InputError: if there are fewer clusters than coefficients to test.
    """
    chosen = list(columns)
    beta = fit.coef[chosen]
    covariance = fit.covariance[np.ix_(chosen, chosen)]
    if len(chosen) > fit.reference_df:
        raise InputError(
            f"{len(chosen)} coefficients cannot be tested together with {fit.reference_df:g} degrees of freedom: there "
            "are too few clusters"
        )
    stats = need("scipy.stats", "the test of nested models")
    statistic = float(beta @ np.linalg.pinv(covariance, hermitian=True) @ beta) / len(chosen)
    if math.isinf(fit.reference_df):
        p = float(stats.chi2.sf(statistic * len(chosen), len(chosen)))
    else:
        p = float(stats.f.sf(statistic, len(chosen), fit.reference_df))
    return WaldTest(statistic, len(chosen), fit.reference_df, p)


def require_rows(n: int, columns: int) -> None:
    """Raise InputError unless there are more rows than coefficients."""
    if n <= columns:
        raise InputError(f"{n} rows are too few for {columns} coefficients: at least {columns + 1} are needed")


def refuse_collinear(names: Sequence[str], x: Array) -> None:
    """Raise InputError, naming it, if a column of x (n, p) is a linear combination of those before it."""
    for j in range(1, x.shape[1]):
        rest = x[:, j] - x[:, :j] @ np.linalg.lstsq(x[:, :j], x[:, j], rcond=None)[0]
        if np.linalg.norm(rest) <= 1e-7 * np.linalg.norm(x[:, j]):
            others = ", ".join(names[:j])
            raise InputError(f"column {names[j]!r} is a linear combination of {others}: leave one of them out")


@dataclass(frozen=True, repr=False)
class PooledTest(Shown):
    """One metric's coefficients over groups.

    Attributes:
        metric: the response.
        groups: what was compared.
        statistic: F of "all groups have the same coefficients".
        df1: coefficients tested, factors x (groups - 1).
        df2: degrees of freedom of the denominator; infinite where the reference is chi-squared / df1.
        p: small means that one regression for all groups hides differences.
        by_factor: factor -> p-value of "this factor has the same coefficient in all groups".
        method: the test in words.
    """

    metric: str
    groups: tuple[str, ...]
    statistic: Number
    df1: int
    df2: Endless
    p: Number
    by_factor: dict[str, Number]
    method: str


def pooled_test(
    metric: str,
    factors: Sequence[str],
    parts: Mapping[str, tuple[Array, Array]],
    *,
    se: StandardErrors = "classic",
    clusters: Mapping[str, Sequence[str]] | None = None,
    intercept: bool = False,
) -> PooledTest:
    """Test whether groups share their coefficients.

    All groups are stacked; to the common factors come their products with each group but the first, and the test is
    that all products have coefficient 0. Response and factors are standardised inside each group, as in the groups' own
    fits, so that what is compared is the standardised coefficients and not the groups' scales. With classic standard
    errors this is Chow's test, which takes the residual variance to be the same in all groups; ``hc3`` does not.

    Source: Chow 1960; Gujarati 1970 for its form with products.

    Args:
        metric: name of the response.
        factors: names of the factors (p,).
        parts: group -> (response (n_g,), factors (n_g, p)), standardised inside the group.
        se: ``classic``, ``hc3`` or ``cluster``.
        clusters: group -> cluster of each of its rows.
        intercept: give each group one.

    Raises:
        InputError: if there are too few rows or clusters.
    """
    groups, p = list(parts), len(factors)
    y = np.concatenate([response for response, _ in parts.values()])
    x = np.concatenate([columns for _, columns in parts.values()])
    member = np.repeat(np.arange(len(groups)), [len(response) for response, _ in parts.values()])
    products = [np.where((member == g)[:, None], x, 0.0) for g in range(1, len(groups))]
    dummies = [(member == g).astype(np.float64)[:, None] for g in range(1, len(groups))] if intercept else []
    together = [label for group in groups for label in clusters[group]] if clusters is not None else None
    fit = fit_ols(y, np.column_stack([x, *products, *dummies]), se=se, clusters=together, intercept=intercept)
    first = p + intercept
    total = wald(fit, range(first, first + p * (len(groups) - 1)))
    by_factor = {
        name: wald(fit, [first + j + p * g for g in range(len(groups) - 1)]).p for j, name in enumerate(factors)
    }
    method = "Chow test" if se == "classic" else f"Wald test of group x factor products, {se} standard errors"
    return PooledTest(metric, tuple(groups), total.statistic, total.df1, total.df2, total.p, by_factor, method)
