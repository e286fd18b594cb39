"""Ordinary least squares with the standard errors of one's choice, and Wald tests on its coefficients."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from bsx.analysis.stats.sandwich import ClusterRobust, Codes, two_way
from bsx.analysis.stats.validate import several_units
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
        reference_df: degrees of freedom of each coefficient's reference distribution (p,); infinite for the normal, NaN
            where clusters do not determine a standard error.
        reference: the reference distribution in words.
        fitted: (n,).
        residuals: (n,).
        leverage: diagonal of the hat matrix (n,).
        intercept: whether the first column is one.
        design: what was fitted (n, p).
        clusters: cluster of each row (n,), for each set of clusters; empty without.
        scales: what each row adds to the coefficients through the standard deviations of the columns (n, p), if
            ``covariance``, ``se`` and the intervals allow for these; None otherwise.
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
    reference_df: Array = field(repr=False)
    reference: str
    fitted: Array = field(repr=False)
    residuals: Array = field(repr=False)
    leverage: Array = field(repr=False)
    intercept: bool
    design: Array = field(repr=False)
    clusters: tuple[Codes, ...] = field(default=(), repr=False)
    scales: Array | None = field(default=None, repr=False)


@dataclass(frozen=True, repr=False)
class WaldTest(Shown):
    """A test that several coefficients are all 0.

    Attributes:
        statistic: F; with classic standard errors the F of the two nested models.
        df1: number of coefficients tested.
        df2: degrees of freedom of the denominator; infinite where the reference is chi-squared / df1.
        p: of "all are 0".
    """

    statistic: Number
    df1: int
    df2: Endless
    p: Number


def fit_ols(
    y: Array,
    x: Array,
    *,
    se: StandardErrors = "classic",
    clusters: Sequence[str] | None = None,
    crossed: Sequence[str] | None = None,
    intercept: bool = False,
    confidence: float = 0.95,
) -> Ols:
    """Fit a linear model.

    Standard errors: ``classic`` from the residual variance, with t on n - p degrees of freedom; ``hc3`` with squared
    residuals e²/(1 - h)², h the leverage, and the normal distribution; ``cluster`` by CR2, with t on Satterthwaite's
    degrees of freedom of each coefficient, which are few where few clusters decide it. With ``crossed`` they are those
    of clusters in two ways, such as segments and systems.

    Source: MacKinnon & White 1985 for HC3; Bell & McCaffrey 2002 and Pustejovsky & Tipton 2018 for clusters; Cameron,
    Gelbach & Miller 2011 for two ways (see `bsx.analysis.stats.sandwich`).

    Args:
        y: response (n,).
        x: regressors (n, p).
        se: ``classic``, ``hc3`` or ``cluster``.
        clusters: cluster of each row; needed for ``cluster``.
        crossed: cluster of each row in the second way.
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
    df, reference = np.full(columns, float(n - columns)), f"t with {n - columns} degrees of freedom"
    ways: tuple[Codes, ...] = ()
    if se == "hc3":
        if leverage.max() > 1 - 1e-10:
            raise InputError(
                f"row {int(np.argmax(leverage)) + 1} of those fitted decides a coefficient alone (leverage 1): HC3 is "
                "not defined; use classic standard errors or leave the row out"
            )
        options = {"cov_type": "HC3", "use_t": False}
        df, reference = np.full(columns, math.inf), "normal"
    elif se == "cluster":
        if clusters is None:
            raise InputError("cluster-robust standard errors need a column of clusters: cluster")
        for labels in (clusters, crossed):
            if labels is not None:
                names, codes = np.unique(np.asarray(labels), return_inverse=True)
                where, unit = "cluster-robust standard errors", f"cluster, {str(names[0])!r}"
                several_units(len(names), where, "rows", unit)
                ways += (codes.astype(np.int64),)
    with np.errstate(divide="ignore", invalid="ignore"):  # a perfect fit has standard errors of 0
        result = linear.OLS(y, design, hasconst=intercept).fit(**options)
        coef, residuals = np.asarray(result.params), np.asarray(result.resid)
        covariance, errors = np.asarray(result.cov_params()), np.asarray(result.bse)
        p, interval = np.asarray(result.pvalues), np.asarray(result.conf_int(1 - confidence))
        if ways:
            covariance, df = _robust(design, ways, residuals)
            errors = np.where(np.isnan(df), np.nan, np.sqrt(np.diag(covariance)))
            low, high = (f"{end:.1f}".removesuffix(".0") for end in (np.nanmin(df), np.nanmax(df)))
            reference = f"t with {low if low == high else f'{low} to {high}'} degrees of freedom (Satterthwaite)"
            t = need("scipy.stats", "the regression").t(df)
            p = np.asarray(2 * t.sf(np.abs(coef / errors)))
            wide = t.isf((1 - confidence) / 2) * errors
            interval = np.column_stack([coef - wide, coef + wide])
        return Ols(
            coef=coef,
            se=errors,
            statistic=coef / errors,
            p=p,
            low=interval[:, 0],
            high=interval[:, 1],
            covariance=covariance,
            r2=min(1.0, max(0.0, float(result.rsquared))),
            adj_r2=float(result.rsquared_adj),
            df=n - columns,
            reference_df=df,
            reference=reference,
            fitted=np.asarray(result.fittedvalues),
            residuals=residuals,
            leverage=leverage,
            intercept=intercept,
            design=design,
            clusters=ways,
        )


def _robust(
    design: Array, ways: tuple[Codes, ...], residuals: Array, scales: Array | None = None
) -> tuple[Array, Array]:
    """Return covariance (p, p) and degrees of freedom (p,): HC3 without clusters, CR2 over them."""
    if len(ways) == 2:
        return two_way(design, ways[0], ways[1], residuals, scales)
    if ways:
        robust = ClusterRobust(design, ways[0])
        scores = robust.scores(residuals, scales) @ robust.back.T
        return scores.T @ scores, robust.df()
    left = 1 - np.square(np.linalg.qr(design)[0]).sum(axis=1)
    scores = (design * (residuals / left)[:, None]) @ np.linalg.inv(design.T @ design)
    scores = scores if scales is None else scores + scales
    return scores.T @ scores, np.full(len(scores.T), math.inf)


def standardised_errors(fit: Ols, *, confidence: float = 0.95) -> Ols:
    """Return a fit of standardised columns with errors and intervals that allow for estimated standard deviations.

    A standardised coefficient is b s_x / s_y, and each row moves all three: beside what it adds to b, its part is
    b (x² - y²) / 2n, divided by 1 less its leverage as in HC3. These parts go into the sums of HC3, CR2 or two ways.
    Without them intervals are too narrow where factors have heavy tails, in any number of rows. Errors that they make
    smaller stay: with outliers in the metric these come nearer to their level. ``statistic`` and ``p`` stay, which are
    of the slope, and so do classic errors, which take factors as fixed.

    The columns have mean 0 and (population) variance 1. Source: Yuan & Chan 2011; Jones & Waller 2015, for any
    distribution.
    """
    y = fit.fitted + fit.residuals
    return _scaled(fit, fit.coef * _moves(fit.design, y, fit.leverage, len(y)), fit.se, confidence)


def _moves(x: Array, y: Array, leverage: Array, n: float | Array) -> Array:
    """Return what each row adds to log (s_x / s_y) of standardised columns (n, p)."""
    left = 1 - leverage
    weight = np.where(left > 1e-10, 1 / np.maximum(left, 1e-10), 1.0) / (2 * n)
    return np.asarray((x**2 - y[:, None] ** 2) * weight[:, None])


def _scaled(fit: Ols, scales: Array, least: Array | float = 0.0, confidence: float = 0.95) -> Ols:
    if not fit.clusters and np.isfinite(fit.reference_df).all():  # classic
        return fit
    covariance, df = _robust(fit.design, fit.clusters, fit.residuals, scales)
    errors = np.sqrt(np.diag(covariance))
    wider = np.fmax(errors, least) / np.where(errors > 0, errors, 1.0)
    covariance, se = covariance * np.outer(wider, wider), np.where(np.isnan(df), np.nan, errors * wider)
    wide = need("scipy.stats", "the regression").t(df).isf((1 - confidence) / 2) * se
    return replace(fit, covariance=covariance, se=se, low=fit.coef - wide, high=fit.coef + wide, scales=scales)


def wald(fit: Ols, columns: Sequence[int]) -> WaldTest:
    """Test that the coefficients of these columns of the design are all 0.

    The reference is the one of the fit's own standard errors: F where that is t, chi-squared where it is normal. Over
    clusters it is the approximate Hotelling test, F with as many degrees of freedom as the clusters leave; in two ways,
    the fewer of both. Where the second way has too few clusters for so many coefficients, it is held fixed.

    Source: Wald 1943; with classic standard errors it is the F test of nested models; Pustejovsky & Tipton 2018 over
    clusters ("HTZ" in the R package clubSandwich).

    Raises:
        InputError: if there are too few clusters for so many coefficients.
    """
    chosen = np.array(list(columns))
    many = len(chosen)
    beta = fit.coef[chosen]
    covariance = fit.covariance[np.ix_(chosen, chosen)]
    df = float(fit.reference_df.min())
    if fit.clusters:
        degrees = [ClusterRobust(fit.design, codes).joint_df(chosen) - many + 1 for codes in fit.clusters]
        if len(degrees) == 2 and degrees[0] > 0 and not degrees[1] > 0:
            degrees = degrees[:1]
            covariance = _robust(fit.design, fit.clusters[:1], fit.residuals, fit.scales)[0][chosen][:, chosen]
        df = float(np.min(degrees))  # of the F statistic; Hotelling's T² has many - 1 more
        if not df > 0:
            raise InputError(
                f"{many} coefficients cannot be tested together: there are too few clusters "
                f"({int(fit.clusters[0].max()) + 1})"
            )
    stats = need("scipy.stats", "the test of nested models")
    statistic = float(beta @ np.linalg.pinv(covariance, 1e-12, hermitian=True) @ beta) / many
    if math.isinf(df):
        p = float(stats.chi2.sf(statistic * many, many))
    else:
        statistic *= df / (df + many - 1) if fit.clusters else 1.0
        p = float(stats.f.sf(statistic, many, df))
    return WaldTest(statistic, many, df, p)


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


@dataclass(frozen=True, kw_only=True, repr=False)
class PooledTest(WaldTest):
    """A test that one metric's coefficients are the same in all groups.

    Attributes:
        metric: the response.
        groups: what was compared.
        by_factor: factor -> p-value of "this factor has the same coefficient in all groups".
        method: the test in words.
        p_slopes: p of "all slopes are the same", in units that all groups share: groups in which the metric has more
            noise have smaller coefficients and the same slopes.
        slopes: factor -> p of "this factor has the same slope in all groups".
    """

    metric: str
    groups: tuple[str, ...]
    by_factor: dict[str, Number]
    method: str
    p_slopes: Number = math.nan
    slopes: dict[str, Number] = field(default_factory=dict)


def pooled_test(
    metric: str,
    factors: Sequence[str],
    parts: Mapping[str, tuple[Array, Array]],
    *,
    se: StandardErrors = "classic",
    clusters: Mapping[str, Sequence[str]] | None = None,
    crossed: Mapping[str, Sequence[str]] | None = None,
    intercept: bool = False,
) -> PooledTest:
    """Test whether groups share their coefficients.

    All groups are stacked; to the common factors come their products with each group but the first, and the test is
    that all products have coefficient 0. Response and factors are standardised inside each group, as in the groups' own
    fits, so that what is compared is the standardised coefficients and not the groups' scales; errors allow for that as
    `standardised_errors` says. The slopes, in units that all groups share, are tested beside them. With classic
    standard errors this is Chow's test, which takes the residual variance to be the same in all groups; ``hc3`` does
    not. Clusters may have rows in several groups: their part in the covariance of two groups' coefficients counts.

    Source: Chow 1960; Gujarati 1970 for its form with products; Yuan & Chan 2011 for standardised coefficients.

    Args:
        metric: name of the response.
        factors: names of the factors (p,).
        parts: group -> (response (n_g,), factors (n_g, p)), in units that all groups share.
        se: ``classic``, ``hc3`` or ``cluster``.
        clusters: group -> cluster of each of its rows.
        crossed: group -> cluster of each of its rows in a second way.
        intercept: give each group one.

    Returns:
        p is NaN where there are too few clusters for so many coefficients.

    Raises:
        InputError: if there are too few rows or clusters.
    """
    groups, p = list(parts), len(factors)
    member = np.repeat(np.arange(len(groups)), [len(response) for response, _ in parts.values()])
    ways = [None if way is None else [label for group in groups for label in way[group]] for way in (clusters, crossed)]
    dummies = [(member == g).astype(np.float64)[:, None] for g in range(1, len(groups))] if intercept else []
    first, more = p + intercept, p * (len(groups) - 1)

    def tests(inside: list[Array], standardised: bool) -> tuple[WaldTest, dict[str, Number]]:
        """Return the test of all products and those of each factor's; columns of a group are the response's first."""
        stacked = np.concatenate(inside)
        y, x = stacked[:, 0], stacked[:, 1:]
        products = [np.where((member == g)[:, None], x, 0.0) for g in range(1, len(groups))]
        design = np.column_stack([x, *products, *dummies])
        fit = fit_ols(y, design, se=se, clusters=ways[0], crossed=ways[1], intercept=intercept)
        if standardised:
            of_group = fit.coef[intercept : first + more].reshape(len(groups), p).copy()
            of_group[1:] += of_group[0]
            moves = of_group[member] * _moves(x, y, fit.leverage, np.bincount(member)[member].astype(np.float64))
            scales = np.zeros_like(fit.design)
            for g in range(len(groups)):
                start = intercept + p * g
                scales[:, start : start + p] = np.where((member == g)[:, None], moves, 0.0)
                if g:  # these products are what the group has beyond the first one's coefficients
                    scales[:, start : start + p] -= scales[:, intercept:first]
            fit = _scaled(fit, scales)
        by_factor = {
            name: _tested(fit, [first + j + p * g for g in range(len(groups) - 1)]).p for j, name in enumerate(factors)
        }
        return _tested(fit, range(first, first + more)), by_factor

    centred = [np.column_stack(part) - np.mean(np.column_stack(part), axis=0) for part in parts.values()]
    total, by_factor = tests([part / part.std(axis=0) for part in centred], True)
    unit = np.sqrt(np.mean(np.square(np.concatenate(centred)), axis=0))
    raw, slopes = tests([part / unit for part in centred], False)
    method = "Chow test" if se == "classic" else f"Wald test of group x factor products, {se} standard errors"
    if math.isnan(total.p):
        method += f"; not defined: too few clusters for {more} products"
    return PooledTest(
        **vars(total),
        metric=metric,
        groups=tuple(groups),
        by_factor=by_factor,
        method=method,
        p_slopes=raw.p,
        slopes=slopes,
    )


def _tested(fit: Ols, columns: Sequence[int]) -> WaldTest:
    try:
        return wald(fit, columns)
    except InputError:
        return WaldTest(math.nan, len(columns), math.nan, math.nan)
