"""What a disentangling regression finds: coefficients with their errors, shares of R², tests, and what is to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from bsx.analysis.stats.clusters import Correction
from bsx.analysis.stats.regression import PooledTest, StandardErrors, WaldTest
from bsx.analysis.stats.results import Comparison
from bsx.errors import UnknownNameError, did_you_mean
from bsx.support.checks import Array
from bsx.support.result import Interval, Notice, Number, Result, Shown

VIF_LIMIT = 10.0  # Marquardt 1970
CONDITION_LIMIT = 30.0  # Belsley, Kuh & Welsch 1980
COOK_LIMIT = 1.0  # Cook & Weisberg 1982
ROWS_PER_FACTOR = 10
FEW_DEGREES = 8.0  # twice the 4 under which the reference distribution is a poor one (Tipton 2015)
FEW_CLUSTERS = 20  # Cameron & Miller 2015, section VI: few, "depending on the situation", from under 20 to under 50
MOST_SHARE = 0.5  # of a factor's own variation, in one cluster
"""Beyond which figures there is a `Notice`."""

CurvePoint = tuple[Number, Number, Number, Number, Number]


@dataclass(frozen=True, repr=False)
class Coefficients(Shown):
    """One metric's coefficients; dictionaries are keyed by factor.

    Attributes:
        metric: the response.
        coef: standardised coefficients; NaN where one is not defined.
        se: their standard errors; robust ones allow for the estimated standard deviations of the columns.
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

    @classmethod
    def of(
        cls,
        metric: str,
        factors: Sequence[str],
        alpha: float,
        figures: Mapping[str, Array],
        ends: tuple[Array, Array],
        **more: Any,
    ) -> Self:
        """Return the coefficients of a metric.

        Args:
            metric: the response.
            factors: names (p,).
            alpha: p below which a coefficient is significant.
            figures: field -> values of all factors (p,).
            ends: of the intervals, lower and upper ones (p,).
            more: the other fields.
        """
        by_factor = {field: dict(zip(factors, values.tolist(), strict=True)) for field, values in figures.items()}
        ci = dict(zip(factors, zip(*(end.tolist() for end in ends), strict=True), strict=True))
        significant = {factor: p < alpha for factor, p in by_factor["p_adjusted"].items()}
        return cls(metric=metric, **by_factor, ci=ci, significant=significant, **more)


@dataclass(frozen=True, repr=False)
class MetricFit(Coefficients):
    """The regression of one metric on the factors; dictionaries are keyed by factor.

    Attributes:
        statistic: coef / the standard error of the slope, which ``p`` is of: no standard deviation changes whether it
            is 0.
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
        df: residual degrees of freedom.
        intercept: 0 up to rounding, because the columns are standardised; None if the model has none.
        intercept_se: its standard error.
        p_equivalence: of "the coefficient is the margin or more away from 0", corrected as ``p_adjusted``; empty
            without a margin.
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
    df: int
    intercept: float | None = None
    intercept_se: float | None = None
    p_equivalence: dict[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class CoefficientComparison(Shown):
    """Two metrics' coefficients compared.

    Attributes:
        a: the first metric.
        b: the second.
        by: factor -> Comparison, and ``"r2"`` -> that of the explained variance.
        margin: largest difference that does not matter; None without one.
    """

    a: str
    b: str
    by: dict[str, Comparison]
    margin: float | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class NestedTest(WaldTest):
    """A larger model against a smaller one: a test that the added terms explain nothing.

    Attributes:
        name: of the question.
        base: terms of the smaller model.
        added: terms that only the larger one has.
        r2_base: R² of the smaller model.
        r2_full: R² of the larger.
        gain: their difference.
        n: rows.
        coef: added term -> its coefficient in the larger model.
        term_p: added term -> p-value of that coefficient alone.
    """

    name: str
    base: tuple[str, ...]
    added: tuple[str, ...]
    r2_base: Number
    r2_full: Number
    gain: Number
    n: int
    coef: dict[str, Number]
    term_p: dict[str, Number]


@dataclass(frozen=True, kw_only=True, repr=False)
class Bend(WaldTest):
    """What a metric gains if factors act in curves instead of straight lines; a test that there is no curve.

    Attributes:
        metric: the response.
        factor: the factor that is bent, or several joined by ``+``; all others act in straight lines.
        knots: where the pieces of its curve meet, in its own units; empty for several factors.
        r2_line: R² of straight lines.
        r2_curve: R² with the curves.
        out_line: the same on rows that were not fitted, by cross-validation; NaN if all rows belong together.
        out_curve: likewise.
        p_adjusted: the same, corrected for the number of such tests.
        curve: value of the factor in its own units, what it adds to the metric (sd, 0 at its mean) with the ends of the
            interval, and what the straight line adds; empty for several factors.
        coef: factor that stays straight -> its coefficient beside the curves.
        coef_p: factor that stays straight -> p of that coefficient.
    """

    metric: str
    factor: str
    knots: tuple[Number, ...]
    r2_line: Number
    r2_curve: Number
    out_line: Number
    out_curve: Number
    p_adjusted: Number
    curve: tuple[CurvePoint, ...]
    coef: dict[str, Number]
    coef_p: dict[str, Number]


@dataclass(frozen=True)
class Reliability:
    """How much of a factor's variance is not noise.

    Attributes:
        factor: which.
        value: the share, from 0 to 1.
        source: where the value comes from, in words.
    """

    factor: str
    value: Number
    source: str


@dataclass(frozen=True)
class VariantFit(Coefficients):
    """One metric's coefficients, estimated otherwise.

    Attributes:
        r2: share of the metric's variance explained; None where the variant has none.
        details: further figures: what -> factor (or component) -> figure.
    """

    r2: float | None = None
    details: dict[str, dict[str, Number]] = field(default_factory=dict)


@dataclass(frozen=True)
class Variant:
    """The coefficients of all metrics, estimated otherwise than in the main table.

    Attributes:
        name: ``errors-in-variables``, ``random-effects``, ``within`` or ``controls``.
        what: what it is, in words.
        factors: names; those of ``controls`` have the control variables last.
        results: one fit a metric.
        levels: columns whose levels have intercepts of their own.
    """

    name: str
    what: str
    factors: tuple[str, ...]
    results: tuple[VariantFit, ...]
    levels: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> VariantFit:
        """Return a metric's fit; a KeyError if there is none."""
        return {fit.metric: fit for fit in self.results}[metric]


@dataclass(frozen=True, repr=False)
class DisentangleResult(Result):
    """The regressions of all metrics.

    Attributes:
        n: rows fitted.
        factors: names.
        results: one fit a metric.
        se: kind of standard errors.
        se_reason: why they were chosen; empty where they were asked for.
        sampled: what intervals and tests take to be drawn at random: ``row``, or columns such as ``segment``,
            ``document`` and ``system``.
        held: columns that they take as they are: nothing is said about other systems, say.
        reference: distribution behind p and ``ci``, in words; degrees of freedom of the first metric.
        intercept: whether the models have one.
        confidence: level of all intervals.
        alpha: p below which a coefficient is significant.
        correction: for many coefficients.
        bootstrap: resamples; 0 if none.
        omitted: rows left out because a number was missing.
        condition_number: of the standardised factors (largest over smallest singular value).
        warnings: what to know before the numbers are believed: ``collinearity``, ``tiny-n``, ``few-clusters``,
            ``stars-depend-on-se``, ``undefined-resamples``, ``influential-rows``, ``group-left-out``,
            ``simpson``, ``bent``, ``product`` or ``mostly-length``.
        groups: group -> its own result, if groups were asked for.
        pooled: one test a metric of "all groups have the same coefficients".
        reliability: of the factors whose noise was corrected for.
        variants: the same coefficients, estimated otherwise.
        bends: what curves gain over straight lines, if that was asked.
        tests: metric -> nested tests, if any were asked for.
        comparison: of two metrics, if that was asked.
        seed: of the resamples of a job.
        margin: largest coefficient that does not matter; None without one.
        missing: factor -> why it could not be made of the texts, and what brings it.
    """

    kind: ClassVar[str] = "disentangle"

    n: int
    factors: tuple[str, ...]
    results: tuple[MetricFit, ...]
    se: StandardErrors
    se_reason: str
    reference: str
    intercept: bool
    confidence: float
    alpha: float
    correction: Correction
    bootstrap: int
    omitted: int
    condition_number: Number
    warnings: tuple[Notice, ...]
    sampled: tuple[str, ...] = ("row",)
    held: tuple[str, ...] = ()
    groups: dict[str, DisentangleResult] = field(default_factory=dict)
    pooled: tuple[PooledTest, ...] = ()
    reliability: tuple[Reliability, ...] = ()
    variants: tuple[Variant, ...] = ()
    bends: tuple[Bend, ...] = ()
    tests: dict[str, tuple[NestedTest, ...]] = field(default_factory=dict)
    comparison: CoefficientComparison | None = None
    seed: int | None = None
    margin: float | None = None
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def params(self) -> dict[str, dict[str, float]]:
        """Metric -> factor -> standardised coefficient."""
        return {fit.metric: fit.coef for fit in self.results}

    def __getitem__(self, metric: str) -> MetricFit:
        """Return a metric's fit.

        Raises:
            UnknownNameError: if there is none; lists those there are.
        """
        fits = {fit.metric: fit for fit in self.results}
        if metric not in fits:
            raise UnknownNameError(f"no metric {metric!r}; there are {', '.join(fits)}.{did_you_mean(metric, fits)}")
        return fits[metric]

    def variant(self, name: str) -> Variant:
        """Return the coefficients estimated in another way.

        Raises:
            UnknownNameError: if there is none of this name; lists those there are.
        """
        named = {variant.name: variant for variant in self.variants}
        if name not in named:
            known = ", ".join(named) or "none"
            raise UnknownNameError(f"no variant {name!r}; there are {known}.{did_you_mean(name, named)}")
        return named[name]
