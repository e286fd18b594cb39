"""Does a factor act on a metric through what people judged? Indirect and direct parts of its coefficient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bsx.analysis.disentangling.bootstrap import bootstrap_regressions
from bsx.analysis.disentangling.errors import Errors
from bsx.analysis.stats.resample import Seed, percentile_interval
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Interval, Number

RESAMPLES = 1000


@dataclass(frozen=True)
class MediatedPath:
    """How a factor's coefficient in a metric divides, the other factors held constant.

    Attributes:
        metric: the response.
        factor: the factor.
        mediator: what may lie between, such as the human score.
        on_mediator: coefficient of the factor in the mediator (a).
        of_mediator: coefficient of the mediator in the metric (b).
        indirect: a · b.
        indirect_ci: its percentile interval over resamples.
        direct: coefficient of the factor in the metric beside the mediator.
        direct_ci: its interval.
        total: coefficient of the factor without the mediator, indirect + direct.
        total_ci: its interval.
        share: indirect / total; NaN where they have different signs or the total's interval holds 0.
    """

    metric: str
    factor: str
    mediator: str
    on_mediator: Number
    of_mediator: Number
    indirect: Number
    indirect_ci: Interval
    direct: Number
    direct_ci: Interval
    total: Number
    total_ci: Interval
    share: Number


def mediate(
    metrics: Sequence[str],
    factors: Sequence[str],
    mediator: str,
    x: Array,
    y: Array,
    errors: Errors,
    *,
    resamples: int,
    seed: Seed,
    confidence: float,
) -> tuple[MediatedPath, ...]:
    """Divide each factor's coefficient into what goes through a mediator and what does not.

    In linear models the indirect part is the product of two coefficients; its interval comes from the bootstrap,
    because a product is not normal. Rows that belong together are drawn together.

    Source: Baron & Kenny 1986 for the product; MacKinnon et al. 2002 and Preacher & Hayes 2008 for the bootstrap; Imai,
    Keele & Tingley 2010 for what must be assumed.

    Args:
        metrics: names of the responses (m,).
        factors: names of all factors (p,), the mediator among them.
        mediator: its name.
        x: factors (n, p), standardised.
        y: metrics (n, m), standardised.
        errors: clusters, if there are any.
        resamples: of the bootstrap.
        seed: of the resamples.
        confidence: level of the intervals.

    Raises:
        InputError: if the mediator is no factor, or the only one.
    """
    if mediator not in factors:
        raise InputError(f"`mediator={mediator}`: is none of the factors {', '.join(factors)}")
    if len(factors) < 2:
        raise InputError(f"`mediator={mediator}`: name a factor that may act through it")
    at = list(factors).index(mediator)
    rest = [place for place in range(len(factors)) if place != at]
    draws = bootstrap_regressions(x, y, resamples=resamples, seed=seed, clusters=errors.clusters)
    a = np.linalg.lstsq(x[:, rest], x[:, at], rcond=None)[0]
    full = np.linalg.lstsq(x, y, rcond=None)[0]
    kept = draws.correlations[draws.defined]
    drawn_a = np.linalg.solve(kept[:, rest][:, :, rest], kept[:, rest][:, :, at][:, :, None])[:, :, 0]
    coef = draws.coef[draws.defined]
    found = []
    for j, metric in enumerate(metrics):
        for i, place in enumerate(rest):
            b, direct = float(full[at, j]), float(full[place, j])
            indirect = float(a[i]) * b
            through, beside = drawn_a[:, i] * coef[:, j, at], coef[:, j, place]
            total_ci = percentile_interval(through + beside, confidence)
            total = indirect + direct
            told = indirect * direct >= 0 and not total_ci[0] <= 0 <= total_ci[1]
            found.append(
                MediatedPath(
                    metric=metric,
                    factor=factors[place],
                    mediator=mediator,
                    on_mediator=float(a[i]),
                    of_mediator=b,
                    indirect=indirect,
                    indirect_ci=percentile_interval(through, confidence),
                    direct=direct,
                    direct_ci=percentile_interval(beside, confidence),
                    total=total,
                    total_ci=total_ci,
                    share=indirect / total if told else float("nan"),
                )
            )
    return tuple(found)
