"""What to know before the figures of a regression are believed: overlap, few rows or clusters, rows that decide."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bsx.analysis.disentangling.bootstrap import Draws
from bsx.analysis.disentangling.fits import MetricFit
from bsx.analysis.stats.regression import Ols, fit_ols
from bsx.support.checks import Array
from bsx.support.result import Notice

VIF_LIMIT = 10.0  # Marquardt 1970
CONDITION_LIMIT = 30.0  # Belsley, Kuh & Welsch 1980
COOK_LIMIT = 1.0  # Cook & Weisberg 1982
ROWS_PER_FACTOR = 10
FEW_CLUSTERS = 20


def notices(
    n: int,
    fits: Sequence[MetricFit],
    ols: Sequence[Ols],
    condition: float,
    clusters: Sequence[str] | None,
    draws: Draws | None,
) -> list[Notice]:
    """Return what the rows, the factors' condition number, the clusters and the resamples of fits give to know."""
    found, p = [], len(fits[0].coef)
    high = {name: value for name, value in fits[0].vif.items() if value > VIF_LIMIT}
    if high or condition > CONDITION_LIMIT:
        found.append(Notice("collinearity", values={"vif": high, "condition": condition}))
    if n < ROWS_PER_FACTOR * p:
        found.append(Notice("tiny-n", values={"n": n, "factors": p}))
    # Clusters of very different size count for less: as many as would, at one size, share a pair of rows as often.
    many = n**2 / np.square(np.unique(clusters, return_counts=True)[1]).sum() if clusters is not None else math.inf
    if many < FEW_CLUSTERS and clusters is not None:
        found.append(Notice("few-clusters", values={"clusters": len(set(clusters)), "effective": float(many)}))
    if draws is not None and not draws.defined.all():
        values = {"undefined": int((~draws.defined).sum()), "resamples": len(draws.defined)}
        found.append(Notice("undefined-resamples", values=values))
    for fit, own in zip(fits, ols, strict=True):
        # Cook 1977: how far the coefficients move without the row, in units of their own uncertainty.
        variance = float(np.square(own.residuals).sum()) / fit.df
        weight = own.leverage / np.maximum(1 - own.leverage, 1e-12) ** 2
        distance = np.square(own.residuals) * weight / (len(fit.coef) * max(variance, 1e-300))
        rows = [int(i) + 1 for i in np.argsort(-distance, kind="stable") if distance[i] > COOK_LIMIT]
        if rows:
            found.append(Notice("influential-rows", fit.metric, {"rows": rows}))
    return found


def star_notices(x: Array, y: Array, fits: Sequence[MetricFit], ols: Sequence[Ols], alpha: float) -> list[Notice]:
    """Name the coefficients whose significance changes if the residual variance is not taken to be constant."""
    changed: list[dict[str, object]] = []
    for j, fit in enumerate(fits):
        if max(ols[j].leverage) > 1 - 1e-10:
            return []
        own = fit.intercept is not None
        robust = fit_ols(y[:, j], x, se="hc3", intercept=own).p[int(own) :]
        for (name, p), other in zip(fit.p.items(), robust, strict=True):
            if (p < alpha) != (other < alpha):
                changed.append({"metric": fit.metric, "factor": name, "p": p, "hc3": float(other)})
    return [Notice("stars-depend-on-se", values={"changed": changed})] if changed else []
