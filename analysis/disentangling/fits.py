"""What a disentangling regression finds of one metric: coefficients with their errors, shares of R²."""

from __future__ import annotations

from dataclasses import dataclass

from bsx.analysis.stats.results import Comparison
from bsx.support.result import Interval, Number, Shown


@dataclass(frozen=True, repr=False)
class Coefficients(Shown):
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
    coef: dict[str, Number]
    se: dict[str, Number]
    p: dict[str, Number]
    p_adjusted: dict[str, Number]
    ci: dict[str, Interval]
    significant: dict[str, bool]


@dataclass(frozen=True, repr=False)
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
        conditional_dominance: mean gain in R² by adding the factor to models of 0, 1, … other factors.
        dominates: ``completely``, ``conditionally`` and ``generally``: (stronger, weaker).
        df: residual degrees of freedom.
        intercept: 0 up to rounding, because the columns are standardised; None if the model has none.
        intercept_se: its standard error.
    """

    statistic: dict[str, Number]
    ci_bootstrap: dict[str, Interval]
    r2: Number
    adj_r2: Number
    r2_ci: Interval
    r2_out: Number
    r2_bootstrap: Interval | None
    vif: dict[str, Number]
    r2_share: dict[str, Number]
    r2_share_bootstrap: dict[str, Interval]
    partial_r2: dict[str, Number]
    partial_r2_ci: dict[str, Interval]
    semipartial_r2: dict[str, Number]
    semipartial_r2_ci: dict[str, Interval]
    importance: dict[str, Number]
    commonality: dict[str, Number]
    conditional_dominance: dict[str, tuple[Number, ...]]
    dominates: dict[str, tuple[tuple[str, str], ...]]
    df: int
    intercept: float | None = None
    intercept_se: float | None = None


@dataclass(frozen=True, repr=False)
class CoefficientComparison(Shown):
    """Two metrics' coefficients compared.

    Attributes:
        a: the first metric.
        b: the second.
        by: factor -> Comparison, and ``"r2"`` -> that of the explained variance.
    """

    a: str
    b: str
    by: dict[str, Comparison]
