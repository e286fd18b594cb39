"""What a disentangling regression finds: coefficients with their errors, shares of R², tests between groups."""

from __future__ import annotations

from dataclasses import dataclass, field

from bsx.analysis.stats.importance import Dominance
from bsx.support.checks import Array

Interval = tuple[float, float]


@dataclass(frozen=True)
class Notice:
    """Something to know before the numbers are believed.

    Attributes:
        name: ``collinearity``, ``tiny-n``, ``few-clusters``, ``stars-depend-on-se``, ``undefined-resamples``,
            ``influential-rows``, ``group-left-out``, ``noise-unstated``, ``simpson``, ``mostly-length`` or
            ``not-converged``.
        message: what was found.
    """

    name: str
    message: str


@dataclass(frozen=True)
class Coefficients:
    """One metric's coefficients; dictionaries are keyed by factor.

    Attributes:
        metric: the response.
        coef: standardised coefficients; NaN where one is not defined.
        se: their standard errors.
        p: two-sided p-values, uncorrected.
        p_adjusted: the same, corrected for the number of coefficients in the whole table.
        ci: analytic intervals.
        significant: whether ``p_adjusted`` is below alpha; the paper stars the others.
    """

    metric: str
    coef: dict[str, float]
    se: dict[str, float]
    p: dict[str, float]
    p_adjusted: dict[str, float]
    ci: dict[str, Interval]
    significant: dict[str, bool]


@dataclass(frozen=True)
class MetricFit(Coefficients):
    """The regression of one metric on the factors; dictionaries are keyed by factor.

    Attributes:
        statistic: coef / se.
        ci_bootstrap: percentile intervals over resamples of rows; empty unless asked for.
        r2: share of the metric's variance that the factors explain.
        adj_r2: adjusted for the number of factors.
        r2_ci: interval of the share that they explain in truth, by inversion; it can begin at 0.
        r2_out: R² on rows that were not fitted, by cross-validation; NaN if all rows belong together.
        r2_bootstrap: percentile interval of the share, less the bias of resampling, or None.
        vif: variance inflation factors (of the factors: the same for all metrics).
        r2_share: Shapley/LMG shares, which sum to ``r2``.
        r2_share_bootstrap: their percentile intervals, less the bias of resampling; empty unless asked for.
        partial_r2: share of what the other factors leave unexplained that this factor explains.
        partial_r2_ci: their intervals, which begin at 0 where the coefficient's holds 0.
        semipartial_r2: drop in ``r2`` without this factor.
        semipartial_r2_ci: their intervals, likewise.
        importance: drop in ``r2_out`` when the factor's values are shuffled.
        commonality: parts of ``r2`` that factors explain alone (``sem``) and in common (``sem+lex``).
        dominance: which factor is worth more than which.
        intercept: 0 up to rounding, because the columns are standardised; None if the model has none.
        intercept_se: its standard error.
        df: residual degrees of freedom.
        fitted: (n,), standardised.
        residuals: (n,), standardised.
        leverage: (n,).
    """

    statistic: dict[str, float]
    ci_bootstrap: dict[str, Interval]
    r2: float
    adj_r2: float
    r2_ci: Interval
    r2_out: float
    r2_bootstrap: Interval | None
    vif: dict[str, float]
    r2_share: dict[str, float]
    r2_share_bootstrap: dict[str, Interval]
    partial_r2: dict[str, float]
    partial_r2_ci: dict[str, Interval]
    semipartial_r2: dict[str, float]
    semipartial_r2_ci: dict[str, Interval]
    importance: dict[str, float]
    commonality: dict[str, float]
    dominance: Dominance = field(repr=False)
    intercept: float | None
    intercept_se: float | None
    df: int
    fitted: Array = field(repr=False)
    residuals: Array = field(repr=False)
    leverage: Array = field(repr=False)
