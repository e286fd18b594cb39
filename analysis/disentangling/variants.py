"""Other estimates of the same coefficients: over groups like these, and with random intercepts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bsx.analysis.disentangling.result import MetricFit, Variant, VariantFit
from bsx.analysis.disentangling.settings import DisentangleSettings
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.intercepts import CrossedIntercepts, level_codes, refuse_levels
from bsx.data.columns import Labels
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Notice
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


def random_effects(
    metrics: Sequence[str],
    factors: Sequence[str],
    group: str,
    parts: Mapping[str, Mapping[str, MetricFit]],
    how: DisentangleSettings,
) -> list[Variant]:
    """Pool the groups' own coefficients as a sample of groups that truly differ.

    ``details``: ``tau2``, the variance of the true coefficients over groups; ``i2``, the share of the observed
    variance that is not sampling error; ``q_p``, p of "all groups have the same"; ``predict_low`` and ``predict_high``,
    where the true coefficient of a further group may lie.

    Source: DerSimonian & Laird 1986 for the model; Paule & Mandel 1982 for tau²; Hartung & Knapp 2001 for standard
    errors, with t on groups - 1 degrees of freedom; Higgins & Thompson 2002 for I²; Higgins et al. 2009 for the
    prediction interval (t on groups - 2).

    Args:
        metrics: names.
        factors: names.
        group: name of the column.
        parts: group -> metric -> fit.
        how: levels and corrections.
    """
    meta = need("statsmodels.stats.meta_analysis", "random effects")
    stats = need("scipy.stats", "random effects")
    many = len(parts)
    if many < 2:
        return []
    coef, se = (np.full((len(metrics), len(factors)), np.nan) for _ in range(2))
    details = []
    for i, metric in enumerate(metrics):
        more: dict[str, dict[str, float]] = {k: {} for k in ("tau2", "i2", "q_p", "predict_low", "predict_high")}
        for j, factor in enumerate(factors):
            effects = np.array([part[metric].coef[factor] for part in parts.values()])
            variances = np.array([part[metric].se[factor] for part in parts.values()]) ** 2
            if not (variances > 0).all():
                continue
            result = meta.combine_effects(effects, variances, method_re="iterated", use_t=True)
            coef[i, j], se[i, j] = result.mean_effect_re, result.sd_eff_w_re_hksj
            tau2 = max(float(result.tau2), 0.0)
            wide = stats.t.isf((1 - how.confidence) / 2, many - 2) if many > 2 else math.nan
            reach = wide * math.sqrt(tau2 + se[i, j] ** 2)
            figures = (tau2, max(float(result.i2), 0.0), float(stats.chi2.sf(result.q, many - 1)))
            for name, value in zip(more, (*figures, coef[i, j] - reach, coef[i, j] + reach), strict=True):
                more[name][factor] = float(value)
        details.append(more)
    what = f"random effects over {many} groups of {group}, each standardised by itself (Paule-Mandel, Hartung-Knapp)"
    return [make_variant("random-effects", what, metrics, factors, coef, se, stats.t(many - 1), how, details=details)]


def random_intercepts(
    metrics: Sequence[str],
    factors: Sequence[str],
    x: Array,
    y: Array,
    levels: Mapping[str, Labels],
    how: DisentangleSettings,
) -> tuple[Variant, list[Notice]]:
    """Fit crossed random intercepts, such as one for each segment and one for each system, by REML.

    ``details``: ``variance``, of each column's intercepts and of what is left; ``df``, after Satterthwaite, of the t
    distributions behind p and intervals.

    Source: Baayen, Davidson & Bates 2008; `bsx.analysis.stats.intercepts.CrossedIntercepts` for the computation.

    Args:
        metrics: names.
        factors: names.
        x: standardised factors (n, p).
        y: standardised metrics (n, m).
        levels: column -> level of each row (n,).
        how: levels and corrections.

    Raises:
        InputError: for a column with one level, or with one row a level.
    """
    stats = need("scipy.stats", "random intercepts")
    codes = {name: level_codes(labels) for name, labels in levels.items()}
    for name, of in codes.items():
        refuse_levels("random", name, of)
    model = CrossedIntercepts(np.column_stack([np.ones(len(x)), x]), list(codes.values()))
    fits = [model.fit(column) for column in y.T]
    details = [
        {
            "variance": {**dict(zip(codes, fit.variances.tolist(), strict=True)), "rest": fit.rest},
            "df": dict(zip(factors, fit.df[1:].tolist(), strict=True)),
        }
        for fit in fits
    ]
    many = ", ".join(f"{name} ({int(of.max()) + 1:,})" for name, of in codes.items())
    variant = make_variant(
        "random-intercepts",
        f"crossed random intercepts of {many} (REML; t with Satterthwaite's degrees of freedom)",
        metrics,
        factors,
        np.array([fit.coef[1:] for fit in fits]),
        np.array([fit.se[1:] for fit in fits]),
        stats.t(np.array([fit.df[1:] for fit in fits])),
        how,
        details=details,
    )
    unfinished = [metric for metric, fit in zip(metrics, fits, strict=True) if not fit.converged]
    return variant, [Notice("not-converged", values={"metrics": unfinished})] if unfinished else []
