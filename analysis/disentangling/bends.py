"""Do factors act in straight lines? Natural splines, what they gain, and the curves they draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bsx.analysis.disentangling.checks import nested
from bsx.analysis.disentangling.result import Bend, CurvePoint
from bsx.analysis.disentangling.settings import DisentangleSettings
from bsx.analysis.disentangling.standard_errors import Errors
from bsx.analysis.disentangling.variance import out_of_sample
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.regression import fit_ols
from bsx.data.columns import standardise
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.untyped import Untyped

QUANTILES = (0.05, 0.275, 0.5, 0.725, 0.95)  # Harrell 2015, Table 2.3, for five knots
POINTS = 41


def natural_basis(values: Array, knots: Sequence[float]) -> Array:
    """Return what a natural cubic spline with these knots has beyond a straight line (n, knots - 2).

    With a constant and the values themselves, the columns span all curves that are cubic between knots, smooth to the
    second derivative, and straight beyond the outermost knots.

    Source: Harrell 2015, Regression Modeling Strategies, section 2.4.5 (restricted cubic splines); scipy's natural
    `CubicSpline` through unit vectors gives the same curves.

    Args:
        values: (n,).
        knots: at least three, ascending.
    """
    spline = need("scipy.interpolate", "curves of factors").CubicSpline(
        knots, np.eye(len(knots)), bc_type="natural", axis=0
    )
    inside = np.clip(values, knots[0], knots[-1])
    columns = spline(inside) + spline(inside, 1) * (values - inside)[:, None]
    return np.asarray(columns[:, 1:-1], dtype=np.float64)


def knots_of(name: str, values: Array) -> tuple[float, ...]:
    """Return knots at quantiles, fewer where many values are equal.

    Raises:
        InputError: if the values leave fewer than three knots.
    """
    result = np.unique(np.quantile(values, QUANTILES))
    if len(result) < 3 or len(np.unique(values)) < len(QUANTILES):
        raise InputError(f"spline: {name!r} takes too few different values to bend")
    return tuple(float(value) for value in result)


def find_bends(
    metrics: Sequence[str],
    factors: Sequence[str],
    columns: Mapping[str, Array],
    errors: Errors,
    settings: DisentangleSettings,
) -> tuple[Bend, ...]:
    """Bend each of these factors by itself, and all of them together if there are several.

    Args:
        metrics: names of the responses.
        factors: names of all factors.
        columns: name -> (n,), as the table has them.
        errors: standard errors; they also tell which rows stay in one fold.
        settings: which factors to bend, seed of the folds, level of the intervals, correction of p.

    Raises:
        InputError: for what is no factor, or takes too few values, or if there are too few rows or clusters.
    """
    spline, seed = settings.spline, settings.seed
    for name in spline:
        if name not in factors:
            raise InputError(f"spline: {name!r} is none of the factors {', '.join(factors)}")
    z = {name: standardise(name, columns[name]) for name in (*metrics, *factors)}
    knots = {name: knots_of(name, columns[name]) for name in spline}
    extra = {name: natural_basis(columns[name], knots[name]) for name in spline}
    scale = {name: (columns[name].mean(), columns[name].std()) for name in spline}
    x = np.column_stack([z[name] for name in factors])
    sets = [[name] for name in dict.fromkeys(spline)]
    sets += [[*dict.fromkeys(spline)]] if len(sets) > 1 else []
    results = []
    for metric in metrics:
        out_line, _ = out_of_sample(x, z[metric], errors, seed)
        for bent in sets:
            terms = {name: z[name] for name in factors}
            more = {
                f"{name}~{place}": column / column.std()
                for name in bent
                for place, column in enumerate((extra[name] - extra[name].mean(axis=0)).T, start=1)
            }
            test = nested("spline", z[metric], {**terms, **more}, list(factors), list(more), errors, True)
            design = np.column_stack([x, *more.values()])
            out_curve, _ = out_of_sample(design, z[metric], errors, seed)
            curve: tuple[CurvePoint, ...] = ()
            if len(bent) == 1:
                curve = _curve(
                    bent[0], factors, columns, knots[bent[0]], scale[bent[0]], x, z[metric], errors, settings.confidence
                )
            results.append(
                Bend(
                    metric=metric,
                    factor=" + ".join(bent),
                    knots=knots[bent[0]] if len(bent) == 1 else (),
                    r2_line=test.r2_base,
                    r2_curve=test.r2_full,
                    out_line=out_line,
                    out_curve=out_curve,
                    statistic=test.statistic,
                    df1=test.df1,
                    df2=test.df2,
                    p=test.p,
                    p_adjusted=test.p,
                    curve=curve,
                )
            )
    adjusted = adjust([bend.p for bend in results], settings.correction)
    return tuple(replace(bend, p_adjusted=float(p)) for bend, p in zip(results, adjusted, strict=True))


def _curve(
    name: str,
    factors: Sequence[str],
    columns: Mapping[str, Array],
    knots: Sequence[float],
    scale: tuple[float, float],
    x: Array,
    y: Array,
    errors: Errors,
    confidence: float,
) -> tuple[CurvePoint, ...]:
    values, (mean, sd) = columns[name], scale
    basis = natural_basis(values, knots)
    centre = basis.mean(axis=0)
    design = np.column_stack([x, basis - centre])
    own = errors.defined_for(design, intercept=True)
    fit = own.fit(y, design, intercept=True)
    at = 1 + list(factors).index(name)
    places = [at, *range(1 + len(factors), len(fit.coef))]
    grid = np.linspace(float(np.quantile(values, 0.01)), float(np.quantile(values, 0.99)), POINTS)
    rows = np.column_stack([(grid - mean) / sd, natural_basis(grid, knots) - centre])
    effect = rows @ fit.coef[places]
    covariance = fit.covariance[np.ix_(places, places)]
    spread = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0.0))
    stats: Untyped = need("scipy.stats", "curves of factors")
    df = float(fit.reference_df[places].min())
    reference = stats.t(df) if np.isfinite(df) else stats.norm
    wide = float(reference.isf((1 - confidence) / 2))
    line = rows[:, 0] * fit_ols(y, x, intercept=True).coef[at]
    return tuple(
        (float(v), float(e), float(e - wide * s), float(e + wide * s), float(straight))
        for v, e, s, straight in zip(grid, effect, spread, line, strict=True)
    )
