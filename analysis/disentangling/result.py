"""What a disentangling regression returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from bsx.analysis.disentangling.bends import Bend
from bsx.analysis.disentangling.checks import NestedTest
from bsx.analysis.disentangling.fits import CoefficientComparison, MetricFit
from bsx.analysis.disentangling.mediation import MediatedPath
from bsx.analysis.disentangling.noise.reliability import Reliability
from bsx.analysis.disentangling.noise.tipping import TippingPoint
from bsx.analysis.disentangling.variants import Variant
from bsx.analysis.stats.clusters import Correction
from bsx.analysis.stats.regression import PooledTest, StandardErrors
from bsx.errors import UnknownNameError
from bsx.support.near import did_you_mean
from bsx.support.result import Notice, Number, Result


@dataclass(frozen=True, repr=False)
class DisentangleResult(Result):
    """The regressions of all metrics.

    Attributes:
        n: rows fitted.
        factors: names.
        results: one fit a metric.
        se: kind of standard errors.
        se_reason: why they were chosen; empty where they were asked for.
        reference: distribution behind p and ``ci``, in words.
        intercept: whether the models have one.
        confidence: level of all intervals.
        alpha: p below which a coefficient is significant.
        correction: for many coefficients.
        bootstrap: resamples; 0 if none.
        omitted: rows left out because a number was missing.
        condition_number: of the standardised factors (largest over smallest singular value).
        warnings: what to know before the numbers are believed: ``collinearity``, ``tiny-n``, ``few-clusters``,
            ``stars-depend-on-se``, ``undefined-resamples``, ``influential-rows``, ``group-left-out``,
            ``noise-unstated``, ``simpson``, ``mostly-length`` or ``not-converged``.
        groups: group -> its own result, if groups were asked for.
        pooled: one test a metric of "all groups have the same coefficients".
        reliability: of the factors whose noise was corrected for.
        simex: simulations, if SIMEX was asked for.
        variants: the same coefficients, estimated otherwise.
        tipping: reliabilities of noisy factors at which other coefficients vanish.
        bends: what curves gain over straight lines, if that was asked.
        mediation: what factors do through another one, if that was asked.
        tests: metric -> nested tests, if any were asked for.
        comparison: of two metrics, if that was asked.
        seed: of the resamples of a job.
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
    groups: dict[str, DisentangleResult] = field(default_factory=dict)
    pooled: tuple[PooledTest, ...] = ()
    reliability: tuple[Reliability, ...] = ()
    simex: int = 0
    variants: tuple[Variant, ...] = ()
    tipping: tuple[TippingPoint, ...] = ()
    bends: tuple[Bend, ...] = ()
    mediation: tuple[MediatedPath, ...] = ()
    tests: dict[str, tuple[NestedTest, ...]] = field(default_factory=dict)
    comparison: CoefficientComparison | None = None
    seed: int | None = None

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

    def variant(self, name: str) -> Variant:
        """Return the coefficients estimated in another way.

        Raises:
            UnknownNameError: if there is none of this name; lists those there are.
        """
        for variant in self.variants:
            if variant.name == name:
                return variant
        names = [variant.name for variant in self.variants]
        there = ", ".join(names) or "none"
        raise UnknownNameError(f"no variant {name!r}; there are {there}.{did_you_mean(name, names)}")
