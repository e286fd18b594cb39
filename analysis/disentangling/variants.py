"""Other estimates of the same coefficients: within and between groups, over groups like these, random intercepts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.disentangling.noise import reference
from bsx.analysis.disentangling.result import Variant, VariantFit
from bsx.analysis.disentangling.settings import DisentangleSettings
from bsx.analysis.disentangling.standard_errors import Errors
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.regression import Ols, fit_ols, wald
from bsx.analysis.stats.sandwich import ClusterRobust, positive
from bsx.data.columns import Labels
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Notice
from bsx.support.untyped import Untyped

SIMPSON = 0.1
"""Pooled and within coefficients that differ by more (in standard deviations), and significantly, are warned of."""
MOST_WORK = 2e8  # random intercepts: rows x levels², of which 7e7 take about ten seconds a metric


def make_variant(
    name: str,
    what: str,
    metrics: Sequence[str],
    factors: Sequence[str],
    coef: Array,
    se: Array,
    reference: Untyped,
    how: DisentangleSettings,
    *,
    r2: Array | None = None,
    details: Sequence[dict[str, dict[str, float]]] | None = None,
) -> Variant:
    """Return a variant from coefficients and standard errors (m, p) and the distribution that they are referred to."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.asarray(2 * reference.sf(np.abs(coef / se)))
    wide = np.broadcast_to(reference.isf((1 - how.confidence) / 2), coef.shape)
    adjusted = np.full_like(p, np.nan)
    defined = ~np.isnan(p)
    adjusted[defined] = adjust(p[defined], how.correction)

    def named(values: Array) -> dict[str, float]:
        return {factor: float(value) for factor, value in zip(factors, values, strict=True)}

    fits = tuple(
        VariantFit(
            metric=metric,
            coef=named(coef[i]),
            se=named(se[i]),
            p=named(p[i]),
            p_adjusted=named(adjusted[i]),
            ci={
                factor: (float(coef[i, j] - wide[i, j] * se[i, j]), float(coef[i, j] + wide[i, j] * se[i, j]))
                for j, factor in enumerate(factors)
            },
            significant={factor: bool(adjusted[i, j] < how.alpha) for j, factor in enumerate(factors)},
            r2=None if r2 is None else float(r2[i]),
            details=details[i] if details is not None else {},
        )
        for i, metric in enumerate(metrics)
    )
    return Variant(name, what, tuple(factors), fits)


def within_and_between(
    metrics: Sequence[str],
    factors: Sequence[str],
    x: Array,
    y: Array,
    group: str,
    labels: Labels,
    errors: Errors,
    how: DisentangleSettings,
) -> tuple[list[Variant], list[Notice]]:
    """Split coefficients into what is within groups and what is between their means.

    Within: every group gets an intercept, so that only differences inside groups count. Between: groups' means of the
    metric on groups' means of the factors, weighted by rows. All are on the scale of all rows together, as the pooled
    coefficients are, and so can be compared. ``details`` of the first hold p-values: ``difference``, pooled against
    within, for each factor (from the influence of each row on both); and ``groups``, of "the groups have the same
    slopes", given intercepts of their own, of "the same intercepts", given the same slopes, and of both (Chow).

    Source: Mundlak 1978 for within and between; Chow 1960; Simpson 1951 for what pooling may hide.

    Args:
        metrics: names (m,).
        factors: names (p,).
        x: factors, standardised over all rows (n, p).
        y: metrics, standardised over all rows (n, m).
        group: name of the column.
        labels: group of each row (n,).
        errors: standard errors.
        how: levels and corrections.

    Returns:
        The variants, and a notice named ``simpson`` if pooled and within coefficients differ.
    """
    names, codes = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)
    sizes = np.bincount(codes)
    p, many = len(factors), len(names)
    if many < 2:
        return [], []
    means = np.column_stack([np.bincount(codes, column) / sizes for column in np.column_stack([x, y]).T])
    inner = x - means[codes, :p]
    varies = [j for j in range(p) if inner[:, j].std() > 1e-8]
    rows = np.flatnonzero(sizes[codes] > 1)  # the only row of a group says nothing about what is within groups
    own = errors.of(rows)
    kept = np.unique(codes[rows], return_inverse=True)[1]
    if not varies or len(rows) <= kept.max() + 1 + len(varies):
        return [], []
    dummies = (kept[:, None] == np.arange(1, kept.max() + 1)).astype(np.float64)
    try:
        _refuse_undetermined(np.column_stack([x[rows][:, varies], dummies]))
    except InputError:
        return [], []
    own = own.defined_for(np.column_stack([x[rows][:, varies], dummies]), intercept=True)
    coef, se = (np.full((len(metrics), p), np.nan) for _ in range(2))
    r2, details = np.empty(len(metrics)), []
    differences: list[dict[str, object]] = []
    for i, metric in enumerate(metrics):
        fit = _fit(y[rows, i], np.column_stack([x[rows][:, varies], dummies]), own)
        coef[i, varies], se[i, varies] = (values[1 : 1 + len(varies)] for values in (fit.coef, fit.se))
        r2[i] = fit.r2
        compared = _compare(x, y[:, i], inner, means[codes, p + i], varies, errors)
        apart = own.between([np.flatnonzero(kept == g) for g in range(int(kept.max()) + 1)])
        tests = _same(x[rows], y[rows, i], varies, kept, dummies, apart)
        details.append({"difference": {factors[j]: value[1] for j, value in compared.items()}, "groups": tests})
        differences += [
            {"metric": metric, "factor": factors[j], "pooled": compared[j][0], "within": float(coef[i, j])}
            for j in varies
            if abs(compared[j][0] - coef[i, j]) > SIMPSON and compared[j][1] < how.alpha / (len(metrics) * p)
        ]
    results = [
        make_variant(
            "within-groups",
            f"within {group}: every group has its own intercept, which R² includes "
            f"({len(np.unique(kept))} groups, {len(rows):,} rows; "
            f"{own.kind} standard errors)",
            metrics,
            factors,
            coef,
            se,
            reference(own),
            how,
            r2=r2,
            details=details,
        )
    ]
    between = _between(metrics, factors, means, sizes, group, how)
    warned = [Notice("simpson", group, {"differences": differences})] if differences else []
    return [*results, *between], warned


def _fit(y: Array, x: Array, errors: Errors) -> Ols:
    return errors.fit(y, x, intercept=True)


def _compare(
    x: Array, y: Array, inner: Array, y_means: Array, varies: list[int], errors: Errors
) -> dict[int, tuple[float, float]]:
    """Return factor's place -> its pooled coefficient, and p of "the one within groups is the same"."""
    n = len(x)
    pooled = np.linalg.solve(x.T @ x, x.T @ y)
    influence = (x * (y - x @ pooled)[:, None]) @ np.linalg.inv(x.T @ x / n)
    part, centred = inner[:, varies], y - y_means
    within = np.linalg.lstsq(part, centred, rcond=None)[0]
    own = (part * (centred - part @ within)[:, None]) @ np.linalg.pinv(part.T @ part / n)
    difference = (influence[:, varies] - own) / n
    spread = np.sqrt(np.diag(errors.spread(difference)))
    distribution = reference(errors)
    return {
        j: (float(pooled[j]), float(2 * distribution.sf(abs(pooled[j] - within[k]) / max(spread[k], 1e-300))))
        for k, j in enumerate(varies)
    }


def _same(
    x: Array, y: Array, varies: list[int], codes: NDArray[np.int64], dummies: Array, errors: Errors
) -> dict[str, float]:
    """Return p-values of "the groups have the same slopes", "the same intercepts", and of both; NaN if undefined."""
    part = x[:, varies]
    products = np.column_stack([np.where((codes == g)[:, None], part, 0.0) for g in range(1, int(codes.max()) + 1)])
    results = {}
    width, many = len(varies), dummies.shape[1]
    every = np.column_stack([part, dummies, products])
    try:
        _refuse_undetermined(every)
        full = _fit(y, every, errors.defined_for(every, intercept=True))
        slopes = range(1 + width + many, 1 + width + many + products.shape[1])
        results["slopes"] = wald(full, slopes).p
        results["slopes and intercepts"] = wald(full, range(1 + width, 1 + width + many + products.shape[1])).p
    except InputError:
        results["slopes"] = results["slopes and intercepts"] = math.nan
    levels = np.column_stack([part, dummies])
    try:
        results["intercepts"] = wald(_fit(y, levels, errors), range(1 + width, 1 + width + many)).p
    except InputError:
        results["intercepts"] = math.nan
    return results


def _refuse_undetermined(design: Array) -> None:
    """Raise InputError if the data do not determine a coefficient of the design with an intercept (n, k)."""
    n, columns = design.shape
    if n <= columns + 1 or np.linalg.matrix_rank(design - design.mean(axis=0)) < columns:
        raise InputError(f"{n} rows do not determine {columns} coefficients")


def _between(
    metrics: Sequence[str],
    factors: Sequence[str],
    means: Array,
    sizes: NDArray[np.int64],
    group: str,
    how: DisentangleSettings,
) -> list[Variant]:
    """Return the regression of groups' means on groups' means; none if there are too few groups."""
    many, p = len(means), len(factors)
    if many < p + 3 or np.linalg.matrix_rank(means[:, :p] - means[:, :p].mean(axis=0)) < p:
        return []
    weight = np.sqrt(sizes / sizes.mean())[:, None]
    design = np.column_stack([np.ones(many), means[:, :p]]) * weight
    fits = [fit_ols(means[:, p + i] * weight[:, 0], design) for i in range(len(metrics))]
    coef, se = (np.array([getattr(fit, what)[1:] for fit in fits]) for what in ("coef", "se"))
    stats = need("scipy.stats", "the regression")
    what = f"between {group}: means of {many} groups, weighted by rows (classic standard errors)"
    return [make_variant("between-groups", what, metrics, factors, coef, se, stats.t(fits[0].df), how)]


def joint_covariance(fits: Sequence[Ols], rows: Sequence[Rows], errors: Errors) -> Array:
    """Return the covariance of groups' own coefficients, each factor's by itself: (p, groups, groups).

    Clusters that have rows in several groups move all their coefficients at once: the sums over such clusters of the
    products of their influences. Without any, or without clusters, groups are independent.

    Args:
        fits: of each group, without an intercept that counts.
        rows: of each group, as places among all rows.
        errors: of all rows.
    """
    own = np.stack([np.diag(fit.covariance) for fit in fits], axis=1)  # (p, groups)
    results = np.stack([np.diag(variances) for variances in own])
    if errors.clusters is None:
        return results
    ways = [np.unique(errors.clusters, return_inverse=True)[1].astype(np.int64)]
    if errors.between(rows).crossed is not None and all(len(fit.clusters) == 2 for fit in fits):
        second = np.unique(np.asarray(errors.crossed), return_inverse=True)[1].astype(np.int64)
        both = ways[0] * (int(second.max()) + 1) + second
        ways += [second, np.unique(both, return_inverse=True)[1].astype(np.int64)]
    total = np.zeros_like(results)
    for way, sign in zip(ways, (1, 1, -1), strict=False):
        influence = np.zeros((len(own), len(fits), int(way.max()) + 1))
        for g, (fit, places) in enumerate(zip(fits, rows, strict=True)):
            names, codes = np.unique(way[places], return_inverse=True)
            robust = ClusterRobust(fit.design, codes.astype(np.int64))
            influence[:, g, names] = (robust.scores(fit.residuals) @ robust.back.T).T
        total += sign * (influence @ np.swapaxes(influence, 1, 2))
    apart = ~np.eye(len(fits), dtype=bool)
    results[:, apart] = total[:, apart]
    return np.stack([positive(one) for one in results])


@dataclass(frozen=True)
class PooledMean:
    """The mean of groups' true coefficients.

    Attributes:
        mean: estimated.
        se: its standard error.
        tau2: variance of the true coefficients over groups.
        i2: share of the observed variance that is not sampling error.
        q_p: p of "all groups have the same".
    """

    mean: float
    se: float
    tau2: float
    i2: float
    q_p: float


def pooled_mean(effects: Array, covariance: Array) -> PooledMean:
    """Pool effects of groups whose sampling errors may go together.

    Weights are 1 / (a group's own variance + tau²), as if errors were independent, because weights from estimated
    covariances are too sure of themselves; tau² makes the weighted squares of deviations what they are expected to be
    under the joint covariance, and the variance of the mean is that covariance's, times what the squares are beyond
    expectation. With independent groups these are Paule & Mandel's tau² and Hartung & Knapp's standard error. What all
    groups share does not show in their deviations, so where errors go together the variance is not made smaller by
    them.

    Source: Paule & Mandel 1982; Hartung & Knapp 2001; Satterthwaite 1946 for the distribution of the squares.

    Args:
        effects: of each group (k,).
        covariance: of their sampling errors (k, k).
    """
    many = len(effects)

    def squares(tau2: float) -> tuple[float, Array, Array]:
        """Return the squares over their expectation, the weights, and the matrix whose form gives the squares."""
        weights = 1 / (np.diag(covariance) + tau2)
        shares = weights / weights.sum()
        centre = np.eye(many) - shares
        form = centre.T * weights @ centre
        total = covariance + tau2 * np.eye(many)
        return float(effects @ form @ effects) / float((form * total).sum()), shares, form

    first, _, form = squares(0.0)
    spread = form @ covariance
    mean, square = float(np.trace(spread)), float(np.trace(spread @ spread))
    df = mean**2 / square
    q_p = float(need("scipy.stats", "random effects").chi2.sf(first * df, df))
    tau2 = 0.0
    if first > 1:
        high = float(effects.var()) + float(np.diag(covariance).max())
        while squares(high)[0] > 1:
            high *= 2
        solve = need("scipy.optimize", "random effects").brentq
        tau2 = float(solve(lambda value: squares(value)[0] - 1, 0.0, high, xtol=1e-14))
    ratio, shares, _ = squares(tau2)
    if np.any(covariance[~np.eye(many, dtype=bool)]):
        ratio = max(ratio, 1.0)
    variance = ratio * float(shares @ (covariance + tau2 * np.eye(many)) @ shares)
    return PooledMean(float(shares @ effects), math.sqrt(variance), tau2, max(1 - 1 / first, 0.0), q_p)


def random_effects(
    metrics: Sequence[str],
    factors: Sequence[str],
    group: str,
    parts: Mapping[str, Sequence[Ols]],
    rows: Mapping[str, Rows],
    errors: Errors,
    how: DisentangleSettings,
) -> list[Variant]:
    """Pool the groups' own coefficients as a sample of groups that truly differ.

    ``details``: ``tau2``, the variance of the true coefficients over groups; ``i2``, the share of the observed
    variance that is not sampling error; ``q_p``, p of "all groups have the same"; ``predict_low`` and ``predict_high``,
    where the true coefficient of a further group may lie.

    Groups that share segments or documents have sampling errors that go together; see `joint_covariance` and
    `pooled_mean`. The reference is t with groups - 1 degrees of freedom, or as few as a group's own errors have where
    groups share clusters.

    Source: DerSimonian & Laird 1986 for the model; Paule & Mandel 1982 for tau²; Hartung & Knapp 2001 for standard
    errors; Higgins & Thompson 2002 for I²; Higgins et al. 2009 for the prediction interval (t on groups - 2).

    Args:
        metrics: names.
        factors: names.
        group: name of the column.
        parts: group -> fits of the metrics.
        rows: group -> its places among all rows.
        errors: of all rows.
        how: levels and corrections.
    """
    stats = need("scipy.stats", "random effects")
    many, first = len(parts), int(how.intercept)
    if many < 2:
        return []
    shared = _shared(errors, list(rows.values()))
    coef, se, df = (np.full((len(metrics), len(factors)), np.nan) for _ in range(3))
    details = []
    for i in range(len(metrics)):
        fits = [own[i] for own in parts.values()]
        joint = joint_covariance(fits, list(rows.values()), errors)[first:]
        more: dict[str, dict[str, float]] = {k: {} for k in ("tau2", "i2", "q_p", "predict_low", "predict_high")}
        for j, factor in enumerate(factors):
            if not (np.diag(joint[j]) > 0).all():
                continue
            found = pooled_mean(np.array([fit.coef[first + j] for fit in fits]), joint[j])
            coef[i, j], se[i, j] = found.mean, found.se
            df[i, j] = min([many - 1, *(float(fit.reference_df[first + j]) for fit in fits)]) if shared else many - 1
            wide = stats.t.isf((1 - how.confidence) / 2, many - 2) if many > 2 else math.nan
            reach = wide * math.sqrt(found.tau2 + found.se**2)
            figures = (found.tau2, found.i2, found.q_p, found.mean - reach, found.mean + reach)
            for name, value in zip(more, figures, strict=True):
                more[name][factor] = float(value)
        details.append(more)
    what = (
        f"random effects over {many} groups of {group}, each standardised by itself (Paule-Mandel, Hartung-Knapp"
        f"{'; with the joint covariance of groups that share clusters' if shared else ''})"
    )
    return [make_variant("random-effects", what, metrics, factors, coef, se, stats.t(df), how, details=details)]


def _shared(errors: Errors, groups: Sequence[Rows]) -> bool:
    """Tell whether a cluster has rows in several groups."""
    if errors.clusters is None:
        return False
    codes = np.unique(errors.clusters, return_inverse=True)[1]
    return sum(len(np.unique(codes[rows])) for rows in groups) > len(
        np.unique(np.concatenate([codes[r] for r in groups]))
    )


def random_intercepts(
    metrics: Sequence[str],
    factors: Sequence[str],
    x: Array,
    y: Array,
    levels: Mapping[str, Labels],
    how: DisentangleSettings,
) -> tuple[Variant, list[Notice]]:
    """Fit crossed random intercepts, such as one for each segment and one for each system, by REML.

    ``details``: ``variance``, of each column's intercepts and of what is left.

    Source: Baayen, Davidson & Bates 2008; statsmodels' ``MixedLM`` with variance components.

    Args:
        metrics: names.
        factors: names.
        x: standardised factors (n, p).
        y: standardised metrics (n, m).
        levels: column -> level of each row (n,).
        how: levels and corrections.

    Raises:
        InputError: for more rows and levels than `MOST_WORK` allows, or a column whose levels have one row each.
    """
    mixed = need("statsmodels.regression.mixed_linear_model", "random intercepts")
    stats = need("scipy.stats", "random intercepts")
    said = need("statsmodels.tools.sm_exceptions", "random intercepts")
    n = len(x)
    mats, names = [], []
    for name, labels in levels.items():
        found, codes = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)
        if not 2 <= len(found) < n:
            raise InputError(
                f"random: {name}: {len(found)} levels in {n} rows; an intercept needs several rows a level"
            )
        mats.append([(codes[:, None] == np.arange(len(found))).astype(np.float64)])
        names.append([str(label) for label in found])
    total = sum(map(len, names))
    if n * total**2 > MOST_WORK:
        raise InputError(
            f"random: {','.join(levels)}: {total:,} levels in {n:,} rows are too many; {n:,} rows may have "
            f"{int(math.sqrt(MOST_WORK / n)):,} levels: take fewer segments, or cluster-robust standard errors"
        )
    spec = mixed.VCSpec(list(levels), [[item] for item in names], mats)
    design = np.column_stack([np.ones(n), x])
    coef, se, details, unfinished = [], [], [], []
    for metric, column in zip(metrics, y.T, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", said.ConvergenceWarning)  # a variance of 0 is one, too
            model = mixed.MixedLM(column, design, groups=np.zeros(n), exog_vc=spec)
            fit = model.fit(reml=True, method=["lbfgs"])
        unfinished += [] if fit.converged else [metric]
        coef.append(np.asarray(fit.fe_params)[1:])
        se.append(np.asarray(fit.bse_fe)[1:])
        variance = {name: float(value) for name, value in zip(levels, np.asarray(fit.vcomp), strict=True)}
        details.append({"variance": {**variance, "rest": float(fit.scale)}})
    what = f"crossed random intercepts of {' and '.join(levels)} (REML; normal distribution)"
    variant = make_variant(
        "random-intercepts",
        what,
        metrics,
        factors,
        np.array(coef),
        np.array(se),
        stats.norm(),
        how,
        details=details,
    )
    return variant, [Notice("not-converged", values={"metrics": unfinished})] if unfinished else []
