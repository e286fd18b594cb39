"""What to know before the figures of a regression are believed: overlap, few rows or clusters, rows that decide."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bsx.analysis.disentangling.bootstrap import Draws
from bsx.analysis.disentangling.fits import MetricFit, Notice
from bsx.analysis.stats.regression import fit_ols
from bsx.support.checks import Array

VIF_LIMIT = 10.0  # Marquardt 1970
CONDITION_LIMIT = 30.0  # Belsley, Kuh & Welsch 1980
COOK_LIMIT = 1.0  # Cook & Weisberg 1982
ROWS_PER_FACTOR = 10
FEW_CLUSTERS = 20


def notices(
    n: int, fits: Sequence[MetricFit], condition: float, clusters: Sequence[str] | None, draws: Draws | None
) -> list[Notice]:
    """Return what the rows, the factors' condition number, the clusters and the resamples of fits give to know."""
    found, p = [], len(fits[0].coef)
    high = {name: value for name, value in fits[0].vif.items() if value > VIF_LIMIT}
    if high or condition > CONDITION_LIMIT:
        which = ", ".join(f"{name} {value:.1f}" for name, value in high.items())
        found.append(
            Notice(
                "collinearity",
                f"the factors overlap (VIF above {VIF_LIMIT:g}: {which or 'none'}; condition number {condition:.1f}): "
                "single coefficients are poorly determined; r2_share and tests of several factors together say more",
            )
        )
    if n < ROWS_PER_FACTOR * p:
        found.append(Notice("tiny-n", f"{n} rows for {p} factors: under {ROWS_PER_FACTOR} a factor"))
    # Clusters of very different size count for less: as many as would, at one size, share a pair of rows as often.
    many = n**2 / np.square(np.unique(clusters, return_counts=True)[1]).sum() if clusters is not None else math.inf
    if many < FEW_CLUSTERS and clusters is not None:
        as_many = "" if round(many) == len(set(clusters)) else f", of such sizes that they count as {many:.0f}"
        counted = f"{len(set(clusters))} clusters{as_many}"
        message = f"{counted}: with under {FEW_CLUSTERS} their standard errors come out too small"
        found.append(Notice("few-clusters", message))
    if draws is not None and not draws.defined.all():
        count = int((~draws.defined).sum())
        message = f"{count} of {len(draws.defined)} resamples had a constant column or collinear factors"
        found.append(Notice("undefined-resamples", message))
    for fit in fits:
        # Cook 1977: how far the coefficients move without the row, in units of their own uncertainty.
        variance = float(np.square(fit.residuals).sum()) / fit.df
        weight = fit.leverage / np.maximum(1 - fit.leverage, 1e-12) ** 2
        distance = np.square(fit.residuals) * weight / (len(fit.coef) * max(variance, 1e-300))
        rows = [str(i + 1) for i in np.argsort(-distance, kind="stable") if distance[i] > COOK_LIMIT]
        if rows:
            which = ", ".join(rows[:5]) + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")
            decide = (
                f"row {which} of those fitted decides" if len(rows) == 1 else f"rows {which} of those fitted decide"
            )
            message = f"{fit.metric}: {decide} much (Cook's distance above {COOK_LIMIT:g})"
            found.append(Notice("influential-rows", message))
    return found


def star_notices(x: Array, y: Array, fits: Sequence[MetricFit], alpha: float) -> list[Notice]:
    """Name the coefficients whose significance changes if the residual variance is not taken to be constant."""
    changed = []
    for j, fit in enumerate(fits):
        if max(fit.leverage) > 1 - 1e-10:
            return []
        own = fit.intercept is not None
        robust = fit_ols(y[:, j], x, se="hc3", intercept=own).p[int(own) :]
        for (name, p), other in zip(fit.p.items(), robust, strict=True):
            if (p < alpha) != (other < alpha):
                changed.append(f"{fit.metric} {name} (p {p:.2g}, with HC3 {other:.2g})")
    if not changed:
        return []
    return [
        Notice(
            "stars-depend-on-se",
            f"the residuals' spread is too uneven to be sure of what is significant: {', '.join(changed)}; "
            "`se='hc3'` allows for it",
        )
    ]
