"""Are the coefficients the same in every group? A test of separate regressions against one for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bsx.analysis.stats.regression import StandardErrors, fit_ols, wald
from bsx.support.checks import Array


@dataclass(frozen=True)
class PooledTest:
    """One metric's coefficients over groups.

    Attributes:
        metric: the response.
        groups: what was compared.
        statistic: F of "all groups have the same coefficients".
        df1: coefficients tested, factors x (groups - 1).
        df2: degrees of freedom of the denominator; infinite where the reference is chi-squared / df1.
        p: small means that one regression for all groups hides differences.
        by_factor: factor -> p-value of "this factor has the same coefficient in all groups".
        method: the test in words.
    """

    metric: str
    groups: tuple[str, ...]
    statistic: float
    df1: int
    df2: float
    p: float
    by_factor: dict[str, float]
    method: str


def pooled_test(
    metric: str,
    factors: Sequence[str],
    parts: Mapping[str, tuple[Array, Array]],
    *,
    se: StandardErrors = "classic",
    clusters: Mapping[str, Sequence[str]] | None = None,
    intercept: bool = False,
) -> PooledTest:
    """Test whether groups share their coefficients.

    All groups are stacked; to the common factors come their products with each group but the first, and the test is
    that all products have coefficient 0. Response and factors are standardised inside each group, as in the groups' own
    fits, so that what is compared is the standardised coefficients and not the groups' scales. With classic standard
    errors this is Chow's test, which takes the residual variance to be the same in all groups; ``hc3`` does not.

    Source: Chow 1960; Gujarati 1970 for its form with products.

    Args:
        metric: name of the response.
        factors: names of the factors (p,).
        parts: group -> (response (n_g,), factors (n_g, p)), standardised inside the group.
        se: ``classic``, ``hc3`` or ``cluster``.
        clusters: group -> cluster of each of its rows.
        intercept: give each group one.

    Raises:
        InputError: if there are too few rows or clusters.
    """
    groups, p = list(parts), len(factors)
    y = np.concatenate([response for response, _ in parts.values()])
    x = np.concatenate([columns for _, columns in parts.values()])
    member = np.repeat(np.arange(len(groups)), [len(response) for response, _ in parts.values()])
    products = [np.where((member == g)[:, None], x, 0.0) for g in range(1, len(groups))]
    dummies = [(member == g).astype(np.float64)[:, None] for g in range(1, len(groups))] if intercept else []
    together = [label for group in groups for label in clusters[group]] if clusters is not None else None
    fit = fit_ols(y, np.column_stack([x, *products, *dummies]), se=se, clusters=together, intercept=intercept)
    first = p + intercept
    total = wald(fit, range(first, first + p * (len(groups) - 1)))
    by_factor = {
        name: wald(fit, [first + j + p * g for g in range(len(groups) - 1)]).p for j, name in enumerate(factors)
    }
    method = "Chow test" if se == "classic" else f"Wald test of group x factor products, {se} standard errors"
    return PooledTest(metric, tuple(groups), total.statistic, total.df1, total.df2, total.p, by_factor, method)
