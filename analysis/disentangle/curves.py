"""Where straight lines without products are not enough: curves of factors, and what one factor does to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from bsx.analysis.disentangle.errors import Errors, out_of_sample
from bsx.analysis.disentangle.result import ROWS_PER_FACTOR, Bend, CurvePoint, MetricFit
from bsx.analysis.disentangle.sample import RegressionSample
from bsx.analysis.disentangle.variants import added_terms, undetermined
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.regression import fit_ols, refuse_collinear
from bsx.data.columns import standardise
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
    """Return what a natural cubic spline with three or more ascending knots has beyond a straight line (n, knots - 2).

    With a constant and the values themselves (n,), the columns span all curves that are cubic between knots, smooth to
    the second derivative, and straight beyond the outermost knots.

    Source: Harrell 2015, Regression Modeling Strategies, section 2.4.5 (restricted cubic splines); scipy's natural
    `CubicSpline` through unit vectors gives the same curves.
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


def _standardised_basis(values: Array, knots: Sequence[float]) -> Array:
    basis = natural_basis(values, knots)
    return np.asarray((basis - basis.mean(axis=0)) / basis.std(axis=0))


def find_bends(sample: RegressionSample) -> tuple[Bend, ...]:
    """Bend each of the factors that ``spline`` names by itself, and all of them together if there are several.

    Raises:
        InputError: for a factor that takes too few values, or if there are too few rows or clusters.
    """
    columns, factors, errors, settings = sample.columns, sample.factors, sample.errors, sample.settings
    knots = {name: knots_of(name, columns[name]) for name in settings.spline}
    bases = {name: _standardised_basis(columns[name], knots[name]) for name in knots}
    sets = [[name] for name in knots] + ([list(knots)] if len(knots) > 1 else [])
    x, results = sample.x, []
    for metric in sample.metrics:
        y = standardise(metric, columns[metric])
        out_line, _ = out_of_sample(x, y, errors, settings.seed)
        for bent in sets:
            design = np.column_stack([x, *(bases[name] for name in bent)])
            terms = [f"{name}~{place}" for name in bent for place in range(1, bases[name].shape[1] + 1)]
            refuse_collinear([*factors, *terms], design)
            fit, test = added_terms(y, design, len(terms), errors, intercept=True)
            out_curve, _ = out_of_sample(design, y, errors, settings.seed)
            straight = {name: place for place, name in enumerate(factors, start=1) if name not in bent}
            alone = bent[0] if len(bent) == 1 else None
            results.append(
                Bend(
                    metric=metric,
                    factor=" + ".join(bent),
                    knots=knots[alone] if alone else (),
                    r2_line=fit_ols(y, x, intercept=True).r2,
                    r2_curve=fit.r2,
                    out_line=out_line,
                    out_curve=out_curve,
                    **vars(test),
                    p_adjusted=test.p,
                    curve=_curve(sample, y, alone, knots[alone]) if alone else (),
                    coef={name: float(fit.coef[place]) for name, place in straight.items()},
                    coef_p={name: float(fit.p[place]) for name, place in straight.items()},
                )
            )
    adjusted = adjust([bend.p for bend in results], settings.correction)
    return tuple(replace(bend, p_adjusted=float(p)) for bend, p in zip(results, adjusted, strict=True))


def _curve(sample: RegressionSample, y: Array, factor: str, knots: Sequence[float]) -> tuple[CurvePoint, ...]:
    """Return what a factor adds to a standardised metric (n,); the others act in straight lines."""
    x, values, confidence = sample.x, sample.columns[factor], sample.settings.confidence
    basis = natural_basis(values, knots)
    centre = basis.mean(axis=0)
    fit = sample.errors.fit(y, np.column_stack([x, basis - centre]), intercept=True)
    at = 1 + list(sample.factors).index(factor)
    places = [at, *range(1 + x.shape[1], len(fit.coef))]
    grid = np.linspace(float(np.quantile(values, 0.01)), float(np.quantile(values, 0.99)), POINTS)
    rows = np.column_stack([(grid - values.mean()) / values.std(), natural_basis(grid, knots) - centre])
    effect = rows @ fit.coef[places]
    covariance = fit.covariance[np.ix_(places, places)]
    spread = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0.0))
    stats: Untyped = need("scipy.stats", "curves of factors")
    df = float(fit.reference_df[places].min())
    wide = float((stats.t(df) if np.isfinite(df) else stats.norm).isf((1 - confidence) / 2))
    line = rows[:, 0] * fit_ols(y, x, intercept=True).coef[at]
    points = np.column_stack([grid, effect, effect - wide * spread, effect + wide * spread, line])
    return tuple(map(tuple, points.tolist()))


def bent_notices(sample: RegressionSample, fits: Sequence[MetricFit]) -> list[Notice]:
    """Return a notice named ``bent`` for each metric in which a straight line decides about another coefficient.

    A factor counts as bent where the test of its spline is significant, corrected for metrics and factors. Beside the
    bent factors, a coefficient that is named is less than half of what it is beside straight ones (or the other way
    round) and gains or loses its significance, moving by more than `LITTLE`, or moves by more than `MUCH`; or it turns
    its sign, is significant in both, and moves by more than `LITTLE`. So a bend that decides nothing is passed over,
    however significant many rows make it. ``fits`` are those with straight lines.
    """
    x, y, factors, alpha = sample.x, sample.y, sample.factors, sample.settings.alpha
    bases: dict[int, Array] = {}
    for j, name in enumerate(factors):
        try:
            bases[j] = _standardised_basis(sample.columns[name], knots_of(name, sample.columns[name]))
        except InputError:
            continue
    terms = len(factors) + sum(basis.shape[1] for basis in bases.values())
    if len(factors) < 2 or not bases or len(x) < ROWS_PER_FACTOR * terms:
        return []
    # Each factor's coefficient in each metric where all others are bent (p, m), from cross products.
    design = np.column_stack([np.ones(len(x)), x, *bases.values()])
    owner = np.concatenate([[-1] * (1 + len(factors)), *([j] * basis.shape[1] for j, basis in bases.items())])
    gram, right = design.T @ design / len(x), design.T @ y / len(x)
    beside = np.empty((len(factors), len(fits)))
    for j in range(len(factors)):
        kept = np.flatnonzero(owner != j)
        beside[j] = np.linalg.lstsq(gram[np.ix_(kept, kept)], right[kept], rcond=1e-12)[0][1 + j]
    notices = []
    for i, fit in enumerate(fits):
        curves: dict[int, float] = {}  # factor's place -> p of its curve
        changed: list[dict[str, object]] = []
        for j, name in enumerate(factors):
            line, line_p = fit.coef[name], fit.p[name]
            if not _may_change(line, line_p, fit.se[name], beside[j, i], alpha):
                continue
            others = [other for other in bases if other != j]
            for other in others:
                if other not in curves:
                    curves[other] = _p_of_curve(y[:, i], x, bases[other], sample.errors)
            bent = [other for other in others if curves[other] < alpha / (len(fits) * len(factors))]
            if not bent:
                continue
            curved = np.column_stack([x, *(bases[other] for other in bent)])
            full = sample.errors.fit(y[:, i], curved, intercept=True)
            coef, p = float(full.coef[1 + j]), float(full.p[1 + j])
            if _changes(line, line_p, coef, p, alpha):
                named = {factors[other]: curves[other] for other in bent}
                changed.append({"factor": name, "line": line, "line_p": line_p, "coef": coef, "p": p, "bent": named})
        if changed:
            notices.append(Notice("bent", fit.metric, {"changed": changed}))
    return notices


def product_notices(sample: RegressionSample, fits: Sequence[MetricFit]) -> list[Notice]:
    """Return a notice named ``product`` for each metric in which what one factor does depends on another.

    Products of factors explain something jointly, corrected for metrics, and one of them does significantly by itself,
    corrected for products, by more than `LITTLE`, or a coefficient is another beside them, as `bent_notices` counts it.
    ``fits`` are those without products.
    """
    x, y, factors, alpha = sample.x, sample.y, sample.factors, sample.settings.alpha
    pairs = combinations(range(len(factors)), 2)
    products = undetermined(x, {f"{factors[a]}:{factors[b]}": x[:, a] * x[:, b] for a, b in pairs})
    if not products or len(x) < ROWS_PER_FACTOR * (len(factors) + len(products)):
        return []
    design, notices = np.column_stack([x, *products.values()]), []
    for i, fit in enumerate(fits):
        try:
            full, test = added_terms(y[:, i], design, len(products), sample.errors, intercept=True)
        except InputError:  # too few clusters
            continue
        if not test.p < alpha / len(fits):
            continue
        beside = {
            name: {"coef": float(coef), "p": float(p)}
            for name, coef, p in zip([*factors, *products], full.coef[1:], full.p[1:], strict=True)
        }
        strong = {
            name: beside[name]
            for name in products
            if beside[name]["p"] < alpha / len(products) and abs(beside[name]["coef"]) > LITTLE
        }
        changed = [
            {"factor": name, "line": fit.coef[name], "line_p": fit.p[name], **beside[name]}
            for name in factors
            if _changes(fit.coef[name], fit.p[name], beside[name]["coef"], beside[name]["p"], alpha)
        ]
        if strong or changed:
            notices.append(Notice("product", fit.metric, {"p": test.p, "products": strong, "changed": changed}))
    return notices


def _p_of_curve(y: Array, x: Array, basis: Array, errors: Errors) -> float:
    try:
        return added_terms(y, np.column_stack([x, basis]), basis.shape[1], errors, intercept=True)[1].p
    except InputError:  # too few clusters
        return 1.0


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
