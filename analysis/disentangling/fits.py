"""What a disentangling regression finds: coefficients with their errors, shares of R², tests between groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from bsx.analysis.stats.clusters import Correction
from bsx.analysis.stats.importance import Dominance
from bsx.analysis.stats.regression import PooledTest, StandardErrors
from bsx.errors import UnknownNameError
from bsx.support.checks import Array
from bsx.support.near import did_you_mean

Interval = tuple[float, float]


@dataclass(frozen=True)
class Notice:
    """Something to know before the numbers are believed.

    Attributes:
        name: ``collinearity``, ``tiny-n``, ``few-clusters``, ``stars-depend-on-se``, ``undefined-resamples``,
            ``influential-rows`` or ``group-left-out``.
        message: what was found.
    """

    name: str
    message: str


@dataclass(frozen=True)
class MetricFit:
    """The regression of one metric on the factors; dictionaries are keyed by factor.

    Attributes:
        metric: the response.
        coef: standardised coefficients.
        se: their standard errors.
        statistic: coef / se.
        p: two-sided p-values, uncorrected.
        p_adjusted: the same, corrected for the number of coefficients in the whole table.
        ci: analytic intervals.
        ci_bootstrap: percentile intervals over resamples of rows; empty unless asked for.
        significant: whether ``p_adjusted`` is below alpha; the paper stars the others.
        r2: share of the metric's variance that the factors explain.
        adj_r2: adjusted for the number of factors.
        r2_bootstrap: percentile interval of ``r2``, or None.
        vif: variance inflation factors (of the factors: the same for all metrics).
        r2_share: Shapley/LMG shares, which sum to ``r2``.
        r2_share_bootstrap: their percentile intervals; empty unless asked for.
        partial_r2: share of what the other factors leave unexplained that this factor explains.
        semipartial_r2: drop in ``r2`` without this factor.
        dominance: which factor is worth more than which.
        intercept: 0 up to rounding, because the columns are standardised; None if the model has none.
        intercept_se: its standard error.
        df: residual degrees of freedom.
        fitted: (n,), standardised.
        residuals: (n,), standardised.
        leverage: (n,).
    """

    metric: str
    coef: dict[str, float]
    se: dict[str, float]
    statistic: dict[str, float]
    p: dict[str, float]
    p_adjusted: dict[str, float]
    ci: dict[str, Interval]
    ci_bootstrap: dict[str, Interval]
    significant: dict[str, bool]
    r2: float
    adj_r2: float
    r2_bootstrap: Interval | None
    vif: dict[str, float]
    r2_share: dict[str, float]
    r2_share_bootstrap: dict[str, Interval]
    partial_r2: dict[str, float]
    semipartial_r2: dict[str, float]
    dominance: Dominance = field(repr=False)
    intercept: float | None
    intercept_se: float | None
    df: int
    fitted: Array = field(repr=False)
    residuals: Array = field(repr=False)
    leverage: Array = field(repr=False)


@dataclass(frozen=True)
class Regressions:
    """The regressions of all metrics, as data.

    Attributes:
        n: rows fitted.
        factors: names.
        results: one fit a metric.
        se: kind of standard errors.
        reference: distribution behind p and ``ci``, in words.
        intercept: whether the models have one.
        confidence: level of all intervals.
        alpha: p at or above which a coefficient is starred.
        correction: for many coefficients.
        bootstrap: resamples; 0 if none.
        omitted: rows left out because a number was missing.
        condition_number: of the standardised factors (largest over smallest singular value).
        warnings: what to know before the numbers are believed.
        groups: group -> its own result, if groups were asked for.
        pooled: one test a metric of "all groups have the same coefficients".
    """

    n: int
    factors: tuple[str, ...]
    results: tuple[MetricFit, ...]
    se: StandardErrors
    reference: str
    intercept: bool
    confidence: float
    alpha: float
    correction: Correction
    bootstrap: int
    omitted: int
    condition_number: float
    warnings: tuple[Notice, ...]
    groups: dict[str, Self] = field(default_factory=dict)
    pooled: tuple[PooledTest, ...] = ()

    @property
    def parts(self) -> dict[str, Regressions]:
        """All rows together, under the empty name, then every group."""
        return {"": self, **self.groups}

    def __getitem__(self, metric: str) -> MetricFit:
        """Return a metric's fit.

        Raises:
            UnknownNameError: if there is none; lists those there are.
        """
        for fit in self.results:
            if fit.metric == metric:
                return fit
        names = [fit.metric for fit in self.results]
        raise UnknownNameError(f"no metric {metric!r}; there are {', '.join(names)}.{did_you_mean(metric, names)}")

    def __iter__(self) -> Iterator[MetricFit]:
        """Iterate over the fits."""
        return iter(self.results)
