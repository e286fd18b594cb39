"""Does a factor act on a metric through what was judged? Indirect and direct parts of its coefficient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bsx.analysis.disentangling.bootstrap import bootstrap_regressions
from bsx.analysis.disentangling.result import MediatedPath
from bsx.analysis.disentangling.settings import DisentangleSettings
from bsx.analysis.disentangling.standard_errors import Errors
from bsx.analysis.stats.resample import percentile_interval
from bsx.errors import InputError
from bsx.support.checks import Array

RESAMPLES = 1000


def mediate(
    metrics: Sequence[str],
    factors: Sequence[str],
    mediator: str,
    x: Array,
    y: Array,
    errors: Errors,
    settings: DisentangleSettings,
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
        settings: resamples of the bootstrap (`RESAMPLES` unless given), their seed, level of the intervals.

    Raises:
        InputError: if the mediator is no factor, or the only one.
    """
    if mediator not in factors:
        raise InputError(f"mediator: {mediator!r} is none of the factors {', '.join(factors)}")
    if len(factors) < 2:
        raise InputError(f"mediator: {mediator!r}: name a factor that may act through it")
    at = list(factors).index(mediator)
    rest = [place for place in range(len(factors)) if place != at]
    confidence, resamples = settings.confidence, settings.resamples or RESAMPLES
    draws = bootstrap_regressions(x, y, resamples=resamples, seed=settings.seed, clusters=errors.clusters)
    a = np.linalg.lstsq(x[:, rest], x[:, at], rcond=None)[0]
    full = np.linalg.lstsq(x, y, rcond=None)[0]
    kept = draws.correlations[draws.defined]
    drawn_a = np.linalg.solve(kept[:, rest][:, :, rest], kept[:, rest][:, :, at][:, :, None])[:, :, 0]
    coef = draws.coef[draws.defined]
    results = []
    for j, metric in enumerate(metrics):
        for i, place in enumerate(rest):
            b, direct = float(full[at, j]), float(full[place, j])
            indirect = float(a[i]) * b
            through, beside = drawn_a[:, i] * coef[:, j, at], coef[:, j, place]
            total_ci = percentile_interval(through + beside, confidence)
            total = indirect + direct
            told = indirect * direct >= 0 and not total_ci[0] <= 0 <= total_ci[1]
            results.append(
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
    return tuple(results)
