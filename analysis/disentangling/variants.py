"""Other estimates of the same coefficients: without noise, within groups, with controls, with random intercepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from bsx.analysis.disentangling.fits import Coefficients
from bsx.analysis.stats.clusters import Correction, adjust
from bsx.support.checks import Array
from bsx.support.result import Number
from bsx.support.untyped import Untyped


class Levels(TypedDict):
    """What all variants share: level of the intervals, p of significance, correction for many coefficients."""

    confidence: float
    alpha: float
    correction: Correction


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
        name: ``errors-in-variables``, ``simex``, ``within-groups``, ``between-groups``, ``random-effects``,
            ``controls`` or ``random-intercepts``.
        what: what it is, in words.
        factors: names; those of ``controls`` have the control variables last.
        results: one fit a metric.
    """

    name: str
    what: str
    factors: tuple[str, ...]
    results: tuple[VariantFit, ...]

    def __getitem__(self, metric: str) -> VariantFit:
        """Return a metric's fit.

        Raises:
            KeyError: if there is none.
        """
        for fit in self.results:
            if fit.metric == metric:
                return fit
        raise KeyError(metric)


def make_variant(
    name: str,
    what: str,
    metrics: Sequence[str],
    factors: Sequence[str],
    coef: Array,
    se: Array,
    reference: Untyped,
    *,
    confidence: float,
    alpha: float,
    correction: Correction,
    r2: Array | None = None,
    details: Sequence[dict[str, dict[str, float]]] | None = None,
) -> Variant:
    """Return a variant from coefficients and standard errors (m, p) and the distribution that they are referred to."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.asarray(2 * reference.sf(np.abs(coef / se)))
    wide = float(np.asarray(reference.isf((1 - confidence) / 2)))
    adjusted = np.full_like(p, np.nan)
    defined = ~np.isnan(p)
    adjusted[defined] = adjust(p[defined], correction)

    def named(values: Array) -> dict[str, float]:
        return {factor: float(value) for factor, value in zip(factors, values, strict=True)}

    fits = tuple(
        VariantFit(
            metric=metric,
            coef=named(coef[i]),
            se=named(se[i]),
            p=named(p[i]),
            p_adjusted=named(adjusted[i]),
            ci={
                factor: (float(coef[i, j] - wide * se[i, j]), float(coef[i, j] + wide * se[i, j]))
                for j, factor in enumerate(factors)
            },
            significant={factor: bool(adjusted[i, j] < alpha) for j, factor in enumerate(factors)},
            r2=None if r2 is None else float(r2[i]),
            details=details[i] if details is not None else {},
        )
        for i, metric in enumerate(metrics)
    )
    return Variant(name, what, tuple(factors), fits)
