"""Other estimates of the same coefficients: over groups like these."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bsx.analysis.disentangle.result import Variant, VariantFit
from bsx.analysis.disentangle.settings import DisentangleSettings
from bsx.analysis.disentangle.standard_errors import Errors
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.regression import Ols
from bsx.analysis.stats.rowwise import clip_variance, quadratic_form
from bsx.analysis.stats.sandwich import ClusterRobust, positive
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.untyped import Untyped


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
    """Return a variant from coefficients and standard errors (m, p), and the distributions they are referred to."""
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
        expected = float(clip_variance((form * total).sum(), np.abs(form * total).sum()))
        found = float(clip_variance(effects @ form @ effects, np.square(effects) @ weights))
        # Groups of the same rows have the same errors, which do not show in their deviations.
        return found / expected if expected > 0 else math.inf if found > 0 else 0.0, shares, form

    first, _, form = squares(0.0)
    spread = form @ covariance
    mean, square = float(np.trace(spread)), float(np.trace(spread @ spread))
    df = mean**2 / square if mean * square else 1.0
    q_p = float(need("scipy.stats", "random effects").chi2.sf(first * df, df))
    tau2 = 0.0
    if first > 1:
        high = float(effects.var()) + float(np.diag(covariance).max())
        while squares(high)[0] > 1:
            high *= 2
        solve = need("scipy.optimize", "random effects").brentq
        low = 0.0 if math.isfinite(first) else 1e-15 * high
        if squares(low)[0] > 1:
            tau2 = float(solve(lambda value: squares(value)[0] - 1, low, high, xtol=1e-14))
    ratio, shares, _ = squares(tau2)
    if np.any(covariance[~np.eye(many, dtype=bool)]):
        ratio = max(ratio, 1.0)
    variance = ratio * quadratic_form(shares, covariance + tau2 * np.eye(many))
    return PooledMean(float(shares @ effects), math.sqrt(variance), tau2, 1 - 1 / max(first, 1.0), q_p)


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
    shared = False  # does a cluster have rows in several groups?
    if errors.clusters is not None:
        codes = np.unique(errors.clusters, return_inverse=True)[1]
        clusters = [np.unique(codes[places]) for places in rows.values()]
        shared = sum(map(len, clusters)) > len(np.unique(np.concatenate(clusters)))
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
