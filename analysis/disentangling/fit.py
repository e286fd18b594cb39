"""What does a metric measure? Its scores explained by linguistic factors in a standardised linear regression.

Source: Kaster, Zhao & Eger 2021, "Global Explainability of BERT-Based Evaluation Metrics by Disentangling along
Linguistic Factors", section 3: metric and factors are z-normalised and the metric is regressed on the factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bsx.analysis.disentangling.bends import bent_notices, find_bends
from bsx.analysis.disentangling.bootstrap import Draws, bootstrap_regressions, widened
from bsx.analysis.disentangling.further import answered, with_lengths
from bsx.analysis.disentangling.noise import with_repeats
from bsx.analysis.disentangling.result import (
    CONDITION_LIMIT,
    COOK_LIMIT,
    FEW_DEGREES,
    MOST_SHARE,
    ROWS_PER_FACTOR,
    VIF_LIMIT,
    DisentangleResult,
    MetricFit,
)
from bsx.analysis.disentangling.settings import DisentangleSettings
from bsx.analysis.disentangling.standard_errors import Errors, choose_errors
from bsx.analysis.disentangling.variance import (
    commonality,
    corrected_percentiles,
    out_of_sample,
    partial_intervals,
    r2_interval,
)
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.equivalence import equivalence_p
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.importance import dominance, shapley_shares, subset_r2
from bsx.analysis.stats.regression import Ols, PooledTest, fit_ols, pooled_test, refuse_collinear, require_rows
from bsx.analysis.stats.resample import percentile_interval
from bsx.analysis.stats.sandwich import ClusterRobust
from bsx.data.columns import TableLike, numeric_columns, standardise, standardised
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Interval, Notice
from bsx.support.settings import settled

SHARES_RESAMPLED = 8  # factors up to which the shares get bootstrap intervals: 2^p models a resample


@settled(DisentangleSettings)
def disentangle(
    table: TableLike, metrics: Sequence[str], factors: Sequence[str], settings: DisentangleSettings
) -> DisentangleResult:
    """Explain metrics by factors.

    Every column is standardised with the population standard deviation over the rows fitted, and every metric regressed
    on all factors, by default without an intercept, as the paper does: with standardised columns an intercept is 0, and
    leaving it out only makes the residual degrees of freedom n - p instead of n - p - 1.

    >>> table = {"m": [1, 2, 4, 3, 5, 6], "sem": [1, 2, 3, 4, 5, 6], "lex": [0, 1, 1, 0, 0, 1]}
    >>> fit = disentangle(table, ["m"], ["sem", "lex"])["m"]
    >>> round(fit.r2, 3), round(sum(fit.r2_share.values()), 3)
    (0.93, 0.93)

    Source: Kaster et al. 2021 for the protocol; Marquardt 1970 for VIF; Lindeman et al. 1980 for the shares; Freedman
    1981 for the bootstrap of pairs, which standardises every resample anew.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        metrics: columns of the metrics' scores, one regression each.
        factors: columns of the factors.
        settings: see `DisentangleSettings`; how standard errors are chosen and computed say
            `bsx.analysis.disentangling.standard_errors.choose_errors` and `bsx.analysis.stats.regression.fit_ols` with
            their references. The paper's are ``classic``. ``controls="length"`` is computed from the texts unless there
            is such a column.

    Returns:
        The fits, with what to know about them in ``warnings``.

    Raises:
        UnknownNameError: for a missing column; lists those present.
        InputError: for cells that are not numbers, constant columns, collinear factors or too few rows.
    """
    _check_names(metrics, factors)
    settings.check(metrics, factors)
    table, controls = with_lengths(with_repeats(table, settings.repeats), settings.controls)
    numbers = [*metrics, *factors, *(name for names in settings.repeats.values() for name in names), *controls]
    levels = (settings.cluster, settings.group, *settings.within)
    wanted = [name for name in dict.fromkeys(levels) if name is not None]
    columns, labels, omitted = numeric_columns(table, numbers, wanted, nan=settings.nan)
    errors = choose_errors(table, numbers, len(factors), settings, omitted)
    result = replace(_fit_all(columns, metrics, factors, errors, settings), omitted=omitted)
    if settings.group is not None:
        result = _with_groups(result, columns, settings.group, labels[settings.group], errors, settings)
    result = answered(result, table, columns, labels, numbers, errors, settings, controls)
    bent = bent_notices(metrics, factors, columns, result.results, errors, settings)
    result = replace(result, warnings=(*result.warnings, *bent))
    if settings.spline:
        result = replace(result, bends=find_bends(metrics, factors, columns, errors, settings))
    return result


def _check_names(metrics: Sequence[str], factors: Sequence[str]) -> None:
    for what, names in (("metrics", metrics), ("factors", factors)):
        if isinstance(names, str):
            raise InputError(f"{what}={names!r}: give a list of columns")
        if not names:
            raise InputError(f"{what}: name at least one column")
    names = [*metrics, *factors]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError(f"column {repeated[0]!r} is named twice among metrics and factors")


def _fit_all(
    columns: dict[str, Array],
    metrics: Sequence[str],
    factors: Sequence[str],
    errors: Errors,
    settings: DisentangleSettings,
) -> DisentangleResult:
    n, p = len(columns[factors[0]]), len(factors)
    require_rows(n, p + settings.intercept)
    if n == p + 1:  # standardising takes a degree of freedom, with or without an intercept
        raise InputError(
            f"{n} rows are too few for {p} standardised factor{'s' * (p > 1)}: they fit any metric exactly (R² 1), so "
            f"no degree of freedom is left; at least {p + 2} are needed"
        )
    y, x = (standardised(columns, names) for names in (metrics, factors))
    refuse_collinear(factors, x)
    errors = errors.defined_for(x, intercept=settings.intercept)
    correlations = x.T @ x / n
    responses = y.T @ x / n  # (metrics, factors)
    subsets = subset_r2(np.broadcast_to(correlations, (len(metrics), p, p)), responses)
    draws = None
    if settings.resamples:
        draws = bootstrap_regressions(x, y, resamples=settings.resamples, seed=settings.seed, clusters=errors.clusters)
        draws = widened(draws, x, y, errors, intercept=settings.intercept)
    shares = None
    if draws is not None and p <= SHARES_RESAMPLED:  # (resamples, metrics, factors)
        shares = shapley_shares(subset_r2(draws.correlations[:, None], draws.responses))
    vif = np.maximum(np.diag(np.linalg.inv(correlations)), 1.0)
    ols = [errors.fit(column, x, intercept=settings.intercept, confidence=settings.confidence) for column in y.T]
    first = int(settings.intercept)
    adjusted = np.stack([fit.p[first:] for fit in ols])
    defined = ~np.isnan(adjusted)
    adjusted[defined] = adjust(adjusted[defined], settings.correction)
    fits = tuple(
        _metric_fit(name, factors, x, y[:, j], ols[j], adjusted[j], vif, subsets[j], errors, draws, shares, j, settings)
        for j, name in enumerate(metrics)
    )
    if settings.margin is not None:
        fits = with_margin(fits, settings)
    condition = float(np.linalg.cond(x))
    result = notices(n, fits, ols, condition, draws)
    result += star_notices(x, y, fits, ols, settings.alpha) if errors.kind == "classic" else []
    return DisentangleResult(
        n=n,
        factors=tuple(factors),
        results=fits,
        se=errors.kind,
        se_reason=errors.why,
        sampled=errors.sampled,
        held=errors.held,
        reference=ols[0].reference,
        intercept=settings.intercept,
        confidence=settings.confidence,
        alpha=settings.alpha,
        correction=settings.correction,
        bootstrap=settings.resamples,
        omitted=0,
        condition_number=condition,
        warnings=tuple(result),
        margin=settings.margin,
    )


def with_margin(fits: Sequence[MetricFit], settings: DisentangleSettings) -> tuple[MetricFit, ...]:
    """Return fits with the test that coefficients are too small to matter, from their intervals."""
    assert settings.margin is not None  # noqa: S101 - for the type checker
    p = [
        [
            equivalence_p(fit.coef[name], ends, settings.margin, confidence=settings.confidence)
            for name, ends in fit.ci.items()
        ]
        for fit in fits
    ]
    return tuple(
        replace(fit, p_equivalence=dict(zip(fit.ci, own.tolist(), strict=True)))
        for fit, own in zip(fits, adjust(p, settings.correction), strict=True)
    )


def _metric_fit(
    metric: str,
    factors: Sequence[str],
    x: Array,
    y: Array,
    ols: Ols,
    adjusted: Array,
    vif: Array,
    subsets: Array,
    errors: Errors,
    draws: Draws | None,
    shares: Array | None,
    j: int,
    settings: DisentangleSettings,
) -> MetricFit:
    first, confidence = int(settings.intercept), settings.confidence

    def named(values: Array) -> dict[str, float]:
        return {name: float(value) for name, value in zip(factors, values, strict=True)}

    def intervals(sampled: Array) -> dict[str, Interval]:
        return {name: percentile_interval(sampled[:, i], confidence, errors.few()) for i, name in enumerate(factors)}

    full = len(subsets) - 1
    without = np.array([subsets[full ^ 1 << i] for i in range(len(factors))])
    gain = np.maximum(subsets[full] - without, 0.0)
    left = 1 - without
    ends = zip(ols.low[first:], ols.high[first:], strict=True)
    share = shapley_shares(subsets)
    sampled = {} if shares is None else {name: shares[:, j, i] for i, name in enumerate(factors)}
    classic = ols if errors.kind == "classic" else fit_ols(y, x, intercept=settings.intercept)
    partial, semipartial = partial_intervals(ols, classic, vif)
    worth = dominance(factors, subsets)
    r2_out, importance = out_of_sample(x, y, errors, settings.seed)
    return MetricFit(
        metric=metric,
        coef=named(ols.coef[first:]),
        se=named(ols.se[first:]),
        statistic=named(ols.statistic[first:]),
        p=named(ols.p[first:]),
        p_adjusted=named(adjusted),
        ci={name: (float(low), float(high)) for name, (low, high) in zip(factors, ends, strict=True)},
        ci_bootstrap=intervals(draws.coef[:, j]) if draws is not None else {},
        significant={name: bool(p < settings.alpha) for name, p in zip(factors, adjusted, strict=True)},
        r2=ols.r2,
        adj_r2=ols.adj_r2,
        r2_ci=r2_interval(ols, y, x.T @ x / len(x), errors, confidence),
        r2_out=r2_out,
        r2_bootstrap=corrected_percentiles(draws.r2[:, j], ols.r2, confidence, errors.few()) if draws else None,
        vif=named(vif),
        r2_share=named(share),
        r2_share_bootstrap={
            name: corrected_percentiles(sampled[name], float(share[i]), confidence, errors.few())
            for i, name in enumerate(sampled)
        },
        partial_r2=named(np.divide(gain, left, out=np.full_like(gain, np.nan), where=left > 1e-12)),
        partial_r2_ci=dict(zip(factors, partial, strict=True)),
        semipartial_r2=named(gain),
        semipartial_r2_ci=dict(zip(factors, semipartial, strict=True)),
        importance=named(importance),
        commonality=commonality(factors, subsets),
        conditional_dominance=dict(zip(factors, map(tuple, worth.conditional.tolist()), strict=True)),
        dominates={how: getattr(worth, how) for how in ("completely", "conditionally", "generally")},
        df=ols.df,
        intercept=float(ols.coef[0]) if settings.intercept else None,
        intercept_se=float(ols.se[0]) if settings.intercept else None,
    )


def _with_groups(
    whole: DisentangleResult,
    columns: dict[str, Array],
    group: str,
    labels: Sequence[str],
    errors: Errors,
    settings: DisentangleSettings,
) -> DisentangleResult:
    metrics, factors = [fit.metric for fit in whole.results], whole.factors
    said = list(whole.warnings)
    results: dict[str, DisentangleResult] = {}
    rows: dict[str, Rows] = {}
    members: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        members.setdefault(label, []).append(i)
    for name, places in members.items():
        part = {column: values[places] for column, values in columns.items()}
        try:
            results[name] = _fit_all(part, metrics, factors, errors.of(places), settings)
            rows[name] = np.array(places)
        except InputError as error:
            said.append(Notice("group-left-out", name, {"column": group, "why": str(error)}))
    few = {name: part.n for name, part in results.items() if part.n < ROWS_PER_FACTOR * len(factors)}
    if few:
        said.append(Notice("tiny-n", group, {"groups": few}))
    if not results:
        raise InputError(
            f"column {group!r}: no group can be fitted by itself; {said[-1].values['why']}; within {group} holds its "
            "differences constant instead"
        )
    tests: list[PooledTest] = []
    if len(results) > 1:
        se = whole.se if all(part.se == whole.se for part in results.values()) else "classic"
        for metric in metrics:
            parts = {}
            for name in results:
                here = {c: columns[c][rows[name]] for c in (metric, *factors)}
                parts[name] = (standardise(metric, here[metric]), standardised(here, factors))
            tests.append(
                pooled_test(
                    metric,
                    factors,
                    parts,
                    se=se,
                    clusters=_by_group(errors.clusters, rows),
                    crossed=_by_group(errors.between(rows.values()).crossed, rows),
                    intercept=settings.intercept,
                )
            )
    return replace(whole, warnings=tuple(said), groups=results, pooled=tuple(tests))


def _by_group(labels: Sequence[str] | None, rows: Mapping[str, Rows]) -> dict[str, list[str]] | None:
    return None if labels is None else {name: [labels[i] for i in own] for name, own in rows.items()}


def notices(
    n: int,
    fits: Sequence[MetricFit],
    ols: Sequence[Ols],
    condition: float,
    draws: Draws | None,
) -> list[Notice]:
    """Return what the rows, the factors' condition number, the clusters and the resamples of fits give to know."""
    raised, p = [], len(fits[0].coef)
    high = {name: value for name, value in fits[0].vif.items() if value > VIF_LIMIT}
    if high or condition > CONDITION_LIMIT:
        raised.append(Notice("collinearity", values={"vif": high, "condition": condition}))
    if n < ROWS_PER_FACTOR * p:
        raised.append(Notice("tiny-n", values={"n": n, "factors": p}))
    raised += _few_clusters(list(fits[0].coef), ols[0])
    if draws is not None and not draws.defined.all():
        values = {"undefined": int((~draws.defined).sum()), "resamples": len(draws.defined)}
        raised.append(Notice("undefined-resamples", values=values))
    for fit, own in zip(fits, ols, strict=True):
        # Cook 1977: how far the coefficients move without the row, in units of their own uncertainty.
        variance = float(np.square(own.residuals).sum()) / fit.df
        weight = own.leverage / np.maximum(1 - own.leverage, 1e-12) ** 2
        distance = np.square(own.residuals) * weight / (len(own.coef) * max(variance, 1e-300))
        rows = [int(i) + 1 for i in np.argsort(-distance, kind="stable") if distance[i] > COOK_LIMIT]
        if rows:
            raised.append(Notice("influential-rows", fit.metric, {"rows": rows}))
    return raised


def _few_clusters(factors: Sequence[str], fit: Ols) -> list[Notice]:
    """Name the factors whose errors rest on few degrees of freedom, or on one cluster for the most part."""
    if not fit.clusters:
        return []
    first = int(fit.intercept)
    shares = np.max([ClusterRobust(fit.design, codes).largest() for codes in fit.clusters], axis=0)
    found = {
        name: {"df": float(fit.reference_df[j]), "share": float(shares[j])}
        for j, name in enumerate(factors, start=first)
        if not fit.reference_df[j] >= FEW_DEGREES or shares[j] > MOST_SHARE
    }
    clusters = [int(codes.max()) + 1 for codes in fit.clusters]
    return [Notice("few-clusters", values={"clusters": clusters, "factors": found})] if found else []


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
