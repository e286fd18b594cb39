"""Do factors act in straight lines? Natural splines, what they gain, and the curves they draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bsx.analysis.disentangle.result import ROWS_PER_FACTOR, Bend, CurvePoint, MetricFit
from bsx.analysis.disentangle.settings import DisentangleSettings
from bsx.analysis.disentangle.standard_errors import Errors
from bsx.analysis.disentangle.variance import out_of_sample
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.regression import Ols, WaldTest, fit_ols, refuse_collinear, wald
from bsx.data.columns import standardise, standardised
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Notice
from bsx.support.untyped import Untyped

QUANTILES = (0.05, 0.275, 0.5, 0.725, 0.95)  # Harrell 2015, Table 2.3, for five knots
POINTS = 41
MUCH, LITTLE = 0.1, 0.05
"""A coefficient that halves beside bent factors is named if it moves by more than the first (in standard deviations),
or by more than the second if it gains or loses its significance."""


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
        raise InputError(f"spline: {name!r} takes too few different values to bend", setting="spline")
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
            raise InputError(f"spline: {name!r} is none of the factors {', '.join(factors)}", setting="spline")
    z = {name: standardise(name, columns[name]) for name in (*metrics, *factors)}
    knots = {name: knots_of(name, columns[name]) for name in spline}
    extra = {name: _basis(columns[name], knots[name]) for name in spline}
    x = np.column_stack([z[name] for name in factors])
    sets = [[name] for name in dict.fromkeys(spline)]
    sets += [[*dict.fromkeys(spline)]] if len(sets) > 1 else []
    results = []
    for metric in metrics:
        out_line, _ = out_of_sample(x, z[metric], errors, seed)
        for bent in sets:
            more = np.column_stack([extra[name] for name in bent])
            names = [f"{name}~{place}" for name in bent for place in range(1, extra[name].shape[1] + 1)]
            refuse_collinear([*factors, *names], np.column_stack([x, more]))
            fit, test = _bent(z[metric], x, more, errors)
            out_curve, _ = out_of_sample(np.column_stack([x, more]), z[metric], errors, seed)
            straight = {name: at for at, name in enumerate(factors, start=1) if name not in bent}
            curve: tuple[CurvePoint, ...] = ()
            if len(bent) == 1:
                place, values = factors.index(bent[0]), columns[bent[0]]
                curve = _curve(place, values, knots[bent[0]], x, z[metric], errors, settings.confidence)
            results.append(
                Bend(
                    metric=metric,
                    factor=" + ".join(bent),
                    knots=knots[bent[0]] if len(bent) == 1 else (),
                    r2_line=fit_ols(z[metric], x, intercept=True).r2,
                    r2_curve=fit.r2,
                    out_line=out_line,
                    out_curve=out_curve,
                    **vars(test),
                    p_adjusted=test.p,
                    curve=curve,
                    coef={name: float(fit.coef[at]) for name, at in straight.items()},
                    coef_p={name: float(fit.p[at]) for name, at in straight.items()},
                )
            )
    adjusted = adjust([bend.p for bend in results], settings.correction)
    return tuple(replace(bend, p_adjusted=float(p)) for bend, p in zip(results, adjusted, strict=True))


def bent_notices(
    metrics: Sequence[str],
    factors: Sequence[str],
    columns: Mapping[str, Array],
    fits: Sequence[MetricFit],
    errors: Errors,
    settings: DisentangleSettings,
) -> list[Notice]:
    """Return a notice named ``bent`` for each metric in which a straight line decides about another coefficient.

    A factor counts as bent where the test of its spline is significant, corrected for metrics and factors. Beside the
    bent factors, a coefficient that is named is less than half of what it is beside straight ones (or the other way
    round) and gains or loses its significance, moving by more than `LITTLE`, or moves by more than `MUCH`; or it turns
    its sign, is significant in both, and moves by more than `LITTLE`. So a bend that decides nothing is passed over,
    however significant many rows make it.

    Args:
        metrics: names of the responses.
        factors: names of all factors.
        columns: name -> (n,), as the table has them.
        fits: of the metrics, with straight lines.
        errors: standard errors.
        settings: level of significance.
    """
    x, y = standardised(columns, factors), standardised(columns, metrics)
    extra: dict[int, Array] = {}
    for j, name in enumerate(factors):
        try:
            extra[j] = _basis(columns[name], knots_of(name, columns[name]))
        except InputError:
            continue
    terms = len(factors) + sum(basis.shape[1] for basis in extra.values())
    if len(factors) < 2 or not extra or len(x) < ROWS_PER_FACTOR * terms:
        return []
    beside = _all_bent(x, y, extra)
    level = settings.alpha / (len(metrics) * len(factors))
    notices = []
    for i, fit in enumerate(fits):
        tests: dict[int, float] = {}
        changed: list[dict[str, object]] = []
        for j, name in enumerate(factors):
            line, p = fit.coef[name], fit.p[name]
            if not _may_change(line, p, fit.se[name], beside[j, i], settings.alpha):
                continue
            for other in extra:
                if other != j and other not in tests:
                    tests[other] = _test(y[:, i], x, extra[other], errors)
            bent = [other for other in extra if other != j and tests[other] < level]
            if not bent:
                continue
            own, _ = _bent(y[:, i], x, np.column_stack([extra[other] for other in bent]), errors)
            coef, own_p = float(own.coef[1 + j]), float(own.p[1 + j])
            if _changes(line, p, coef, own_p, settings.alpha):
                curves = {factors[other]: tests[other] for other in bent}
                changed.append({"factor": name, "line": line, "line_p": p, "coef": coef, "p": own_p, "bent": curves})
        if changed:
            notices.append(Notice("bent", fit.metric, {"changed": changed}))
    return notices


def _basis(values: Array, knots: Sequence[float]) -> Array:
    """Return the natural basis with standardised columns."""
    basis = natural_basis(values, knots)
    scaled: Array = (basis - basis.mean(axis=0)) / basis.std(axis=0)
    return scaled


def _bent(y: Array, x: Array, more: Array, errors: Errors) -> tuple[Ols, WaldTest]:
    """Return the fit of factors (n, p) and the bent terms (n, k), and the test of these."""
    design = np.column_stack([x, more])
    own = errors.defined_for(design, intercept=True)
    fit = own.fit(y, design, intercept=True)
    return fit, wald(fit, range(1 + x.shape[1], 1 + design.shape[1]))


def _test(y: Array, x: Array, more: Array, errors: Errors) -> float:
    try:
        return _bent(y, x, more, errors)[1].p
    except InputError:  # too few clusters
        return 1.0


def _all_bent(x: Array, y: Array, extra: Mapping[int, Array]) -> Array:
    """Return each factor's coefficient in each metric where all others are bent (p, m), from cross products."""
    n, p = x.shape
    design = np.column_stack([np.ones(n), x, *extra.values()])
    owner = np.concatenate([[-1] * (1 + p), *([j] * e.shape[1] for j, e in extra.items())])
    gram, right = design.T @ design / n, design.T @ y / n
    results = np.empty((p, y.shape[1]))
    for j in range(p):
        kept = np.flatnonzero(owner != j)
        results[j] = np.linalg.lstsq(gram[np.ix_(kept, kept)], right[kept], rcond=1e-12)[0][1 + j]
    return results


def _may_change(line: float, p: float, se: float, bent: float, alpha: float) -> bool:
    """Tell whether a first look at all curves at once leaves a change possible: only then are curves tested."""
    size = abs(bent) / max(se, 1e-300)
    moved = abs(bent - line) > max(abs(bent), abs(line), LITTLE) / 4
    if p >= alpha:
        return moved and size > 1.5
    return (moved and size < 3) or abs(bent - line) > MUCH / 2 or bent * line < 0


def _changes(line: float, line_p: float, bent: float, bent_p: float, alpha: float) -> bool:
    before, after = line_p < alpha, bent_p < alpha
    moved = abs(bent - line)
    if before and after and line * bent < 0 and moved > LITTLE:
        return True
    far = moved > max(abs(bent), abs(line)) / 2
    return far and ((before != after and moved > LITTLE) or (before and after and moved > MUCH))


def _curve(
    place: int, values: Array, knots: Sequence[float], x: Array, y: Array, errors: Errors, confidence: float
) -> tuple[CurvePoint, ...]:
    """Return what the factor at a place, with these values, adds to a metric; the others act in straight lines."""
    basis = natural_basis(values, knots)
    centre = basis.mean(axis=0)
    design = np.column_stack([x, basis - centre])
    own = errors.defined_for(design, intercept=True)
    fit = own.fit(y, design, intercept=True)
    at = 1 + place
    places = [at, *range(1 + x.shape[1], len(fit.coef))]
    grid = np.linspace(float(np.quantile(values, 0.01)), float(np.quantile(values, 0.99)), POINTS)
    rows = np.column_stack([(grid - values.mean()) / values.std(), natural_basis(grid, knots) - centre])
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
