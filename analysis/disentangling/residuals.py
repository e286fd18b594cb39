"""What a disentangling regression leaves unexplained, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bsx.analysis.disentangling.errors import ErrorChoice, choose_errors
from bsx.analysis.stats.regression import fit_ols, refuse_collinear, require_rows
from bsx.data.columns import TableLike, numeric_columns, standardised
from bsx.support.checks import Array, NanPolicy
from bsx.support.result import Shown


@dataclass(frozen=True, repr=False, eq=False)
class Residuals(Shown):
    """The residuals of one metric's regression on factors.

    Attributes:
        metric: the response.
        fitted: (n,), standardised.
        residuals: (n,), standardised.
        scaled: the same over their standard errors (n,).
        leverage: diagonal of the hat matrix (n,).
    """

    metric: str
    fitted: Array = field(repr=False)
    residuals: Array = field(repr=False)
    scaled: Array = field(repr=False)
    leverage: Array = field(repr=False)


def residuals(
    table: TableLike,
    metric: str,
    factors: Sequence[str],
    *,
    se: ErrorChoice = "auto",
    cluster: str | None = None,
    intercept: bool = False,
    nan: NanPolicy = "error",
) -> Residuals:
    """Return the residuals of the regression that `bsx.analysis.disentangle` makes of the same arguments.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        metric: column of the scores.
        factors: columns of the factors.
        se: kind of standard errors.
        cluster: column of clusters.
        intercept: fit one.
        nan: ``error``, or ``omit`` to leave out rows that miss a number.

    Raises:
        UnknownNameError: for a missing column.
        InputError: for cells that are not numbers, constant columns, collinear factors or too few rows.
    """
    names = [metric, *factors]
    columns, _, omitted = numeric_columns(table, names, [cluster] if cluster is not None else [], nan=nan)
    require_rows(len(columns[metric]), len(factors) + intercept)
    y, x = standardised(columns, [metric])[:, 0], standardised(columns, factors)
    refuse_collinear(factors, x)
    errors = choose_errors(table, names, len(factors), se=se, cluster=cluster, omitted=omitted)
    errors = errors.defined_for(x, intercept=intercept)
    fit = fit_ols(y, x, se=errors.kind, clusters=errors.clusters, intercept=intercept)
    spread = np.sqrt(np.square(fit.residuals).sum() / fit.df * np.maximum(1 - fit.leverage, 1e-12))
    scaled = np.divide(fit.residuals, spread, out=np.zeros_like(fit.residuals), where=spread > 0)
    return Residuals(metric, fit.fitted, fit.residuals, scaled, fit.leverage)
