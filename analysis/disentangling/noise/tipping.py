"""At which reliability of a noisy factor other coefficients vanish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bsx.analysis.disentangling.errors import Errors
from bsx.analysis.disentangling.noise.correction import Moments, reference
from bsx.analysis.disentangling.noise.reliability import ReliabilityEstimate, stated
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Number


@dataclass(frozen=True)
class TippingPoint:
    """How a coefficient moves with the reliability of another factor.

    Attributes:
        metric: the response.
        factor: whose coefficient it is.
        noisy: the factor whose reliability is varied; others keep theirs.
        zero_below: reliability at which the coefficient is 0, the highest if there are several; None if there is none.
        insignificant_below: reliability below which it is no longer significant; 1 if it is not to begin with; None if
            it stays so.
        lowest: the least reliability that was tried; below, the other factors would explain more than there is.
        curve: (reliability, coefficient, lower end, upper end), reliability falling.
        group: whose rows; empty for all.
    """

    metric: str
    factor: str
    noisy: str
    zero_below: float | None
    insignificant_below: float | None
    lowest: Number
    curve: tuple[tuple[Number, Number, Number, Number], ...] = field(repr=False)
    group: str = ""


def tipping_points(
    metrics: Sequence[str],
    factors: Sequence[str],
    x: Array,
    y: Array,
    noisy: str,
    known: Mapping[int, ReliabilityEstimate],
    errors: Errors,
    alpha: float,
    confidence: float,
    *,
    group: str = "",
) -> list[TippingPoint]:
    """Return how every coefficient beside that of the noisy factor moves with the noisy factor's reliability.

    ReliabilityEstimate falls from 1 in steps of 0.02; between two steps a crossing is placed by a straight line.

    Args:
        metrics: names of the metrics.
        factors: names of the factors.
        x: standardised factors (n, p).
        y: standardised metrics (n, m).
        noisy: the factor whose reliability is varied.
        known: place -> reliability of other factors.
        errors: clusters, if there are any.
        alpha: p from which a coefficient is not significant.
        confidence: of the curves' intervals.
        group: what to call the rows.
    """
    place, rows, moments = list(factors).index(noisy), len(x), Moments(x, y, known, errors)
    quantile = reference(errors)
    critical, wide = (float(quantile.isf(tail / 2)) for tail in (alpha, 1 - confidence))
    steps, found = [], []
    for value in np.round(np.arange(1.0, 0.035, -0.02), 2):
        try:
            found.append(moments.correct({**known, place: stated(noisy, float(value), rows)}))
        except InputError:
            break
        steps.append(float(value))
        if found[-1].r2.min() > 1:  # no metric has so much to explain
            break
    # As far as the factors would not explain more than all of a metric.
    tried = [next((k for k, one in enumerate(found) if one.r2[i] > 1), len(found)) for i in range(len(metrics))]
    points = []
    for i, metric in enumerate(metrics):
        for j, factor in enumerate(factors):
            if j == place or not tried[i]:
                continue
            coef, se = (np.array([getattr(one, what)[i, j] for one in found[: tried[i]]]) for what in ("coef", "se"))
            curve = tuple(
                (steps[k], float(coef[k]), float(coef[k] - wide * se[k]), float(coef[k] + wide * se[k]))
                for k in range(0, tried[i], 2)
            )
            zero, margin = _crossing(steps, coef), np.abs(coef) - critical * se
            insignificant = 1.0 if margin[0] <= 0 else _crossing(steps, margin)
            points.append(TippingPoint(metric, factor, noisy, zero, insignificant, steps[tried[i] - 1], curve, group))
    return points


def _crossing(steps: Sequence[float], values: Array) -> float | None:
    """Return where values first change their sign."""
    for k in range(1, len(values)):
        if values[k] == 0 or (values[k] > 0) != (values[0] > 0):
            part = values[k - 1] / (values[k - 1] - values[k])
            return float(steps[k - 1] + part * (steps[k] - steps[k - 1]))
    return None
