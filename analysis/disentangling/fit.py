"""What does a metric measure? Its scores explained by linguistic factors in a standardised linear regression.

Source: Kaster, Zhao & Eger 2021, "Global Explainability of BERT-Based Evaluation Metrics by Disentangling along
Linguistic Factors", section 3: metric and factors are z-normalised and the metric is regressed on the factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bsx.analysis.disentangling.bends import find_bends
from bsx.analysis.disentangling.bootstrap import Draws, bootstrap_regressions
from bsx.analysis.disentangling.controls import with_lengths
from bsx.analysis.disentangling.errors import ErrorChoice, Errors, choose_errors
from bsx.analysis.disentangling.fits import MetricFit
from bsx.analysis.disentangling.further import Further, Questions
from bsx.analysis.disentangling.mediation import RESAMPLES, mediate
from bsx.analysis.disentangling.noise.reliability import with_repeats
from bsx.analysis.disentangling.notices import ROWS_PER_FACTOR, notices, star_notices
from bsx.analysis.disentangling.result import DisentangleResult
from bsx.analysis.disentangling.variance import (
    commonality,
    corrected_percentiles,
    out_of_sample,
    partial_intervals,
    r2_interval,
)
from bsx.analysis.stats.clusters import Correction, adjust
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.importance import dominance, shapley_shares, subset_r2
from bsx.analysis.stats.regression import (
    Ols,
    PooledTest,
    fit_ols,
    pooled_test,
    refuse_collinear,
    require_rows,
)
from bsx.analysis.stats.resample import Seed, percentile_interval
from bsx.analysis.stats.validate import settings
from bsx.data.columns import TableLike, numeric_columns, standardise, standardised
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy, choice
from bsx.support.result import Interval, Notice
from bsx.support.settings import in_range

SHARES_RESAMPLED = 8  # factors up to which the shares get bootstrap intervals: 2^p models a resample


@dataclass(frozen=True)
class _Options:
    intercept: bool
    bootstrap: int
    seed: Seed
    confidence: float
    correction: Correction
    alpha: float


@in_range
def disentangle(
    table: TableLike,
    metrics: Sequence[str],
    factors: Sequence[str],
    *,
    se: ErrorChoice = "auto",
    cluster: str | None = None,
    group: str | None = None,
    intercept: bool = False,
    bootstrap: int = 0,
    seed: Seed = 1,
    confidence: float = 0.95,
    correction: Correction = "none",
    alpha: float = 0.05,
    nan: NanPolicy = "error",
    reliability: Mapping[str, float] | None = None,
    repeat: Mapping[str, Sequence[str]] | None = None,
    simex: int = 0,
    control: Sequence[str] = (),
    random: Sequence[str] = (),
    spline: Sequence[str] = (),
    mediator: str | None = None,
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
        se: ``auto`` (``cluster`` where rows share a segment or a text, else ``hc3``; see
            `bsx.analysis.disentangling.errors.choose_errors`), ``classic``, ``hc3`` or ``cluster``; see
            `bsx.analysis.stats.regression.fit_ols` for formulas and references. The paper's are ``classic``.
        cluster: column that names each row's cluster; the bootstrap then draws whole clusters.
        group: column that names each row's group: fits each group by itself too, and tests whether they differ.
        intercept: add one.
        bootstrap: resamples for percentile intervals; 0 for none.
        seed: of the resamples.
        confidence: level of all intervals.
        correction: of p for the number of coefficients in a table (metrics x factors): ``none``, ``holm`` or ``bh``.
        alpha: p below which a coefficient is significant.
        nan: ``error``, or ``omit`` to leave out rows that miss a number in any of the columns used, for all metrics.
        reliability: factor -> share of its variance that is not noise; `DisentangleResult.variants` then has the
            coefficients without that noise, see `bsx.analysis.disentangling.noise.correction.Moments`.
        repeat: factor -> columns that measure it; the factor is their mean, and its reliability Cronbach's alpha.
        simex: simulations of each amount of noise for the same by SIMEX; 0 for none.
        control: columns to hold constant; the coefficients beside them are a variant. ``length`` is computed from the
            texts unless there is such a column, see `bsx.analysis.disentangling.controls.lengths`.
        random: columns with crossed random intercepts, such as segment and system; the fit by REML is a variant.
        spline: factors to bend: `DisentangleResult.bends` has what curves gain over straight lines.
        mediator: the factor, such as a human score, that others may act through: `DisentangleResult.mediation` divides
            their coefficients, with ``bootstrap`` resamples, or 1000.

    Returns:
        The fits, with what to know about them in ``warnings``.

    Raises:
        UnknownNameError: for a missing column; lists those present.
        InputError: for cells that are not numbers, constant columns, collinear factors or too few rows.
    """
    choice("correction", correction, ("none", "holm", "bh"))
    settings(confidence=confidence)
    if bootstrap < 0:
        raise InputError(f"`bootstrap={bootstrap}`: a number of resamples, or 0 for none")
    if not 0 < alpha < 1:
        raise InputError(f"`alpha={alpha}`: it must lie between 0 and 1, e.g. 0.05")
    _check_names(metrics, factors)
    table, controls = with_lengths(with_repeats(table, repeat or {}), control)
    asked = Questions(dict(reliability or {}), dict(repeat or {}), simex, controls, list(random), group)
    asked.check(metrics, factors)
    numbers = [*metrics, *factors, *(name for names in asked.repeat.values() for name in names), *controls]
    wanted = [name for name in dict.fromkeys((cluster, group, *random)) if name is not None]
    columns, labels, omitted = numeric_columns(table, numbers, wanted, nan=nan)
    options = _Options(intercept, bootstrap, seed, confidence, correction, alpha)
    errors = choose_errors(table, numbers, len(factors), se=se, cluster=cluster, omitted=omitted)
    result = replace(_fit_all(columns, metrics, factors, errors, options), omitted=omitted)
    if group is not None:
        result = _with_groups(result, columns, group, labels[group], errors, options)
    result = Further(table, columns, labels, numbers, omitted, errors, seed).of(result, asked)
    if spline:
        bends = find_bends(
            metrics, factors, columns, spline, errors, seed=seed, confidence=confidence, correction=correction
        )
        result = replace(result, bends=bends)
    if mediator is not None:
        x, y = (standardised(columns, names) for names in (factors, metrics))
        resamples = bootstrap or RESAMPLES
        paths = mediate(metrics, factors, mediator, x, y, errors, resamples=resamples, seed=seed, confidence=confidence)
        result = replace(result, mediation=paths)
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
    options: _Options,
) -> DisentangleResult:
    n, p = len(columns[factors[0]]), len(factors)
    require_rows(n, p + options.intercept)
    if n == p + 1:  # standardising takes a degree of freedom, with or without an intercept
        raise InputError(
            f"{n} rows are too few for {p} standardised factor{'s' * (p > 1)}: they fit any metric exactly (R² 1), so "
            f"no degree of freedom is left; at least {p + 2} are needed"
        )
    y, x = (standardised(columns, names) for names in (metrics, factors))
    refuse_collinear(factors, x)
    errors, clusters = errors.defined_for(x, intercept=options.intercept), errors.clusters
    correlations = x.T @ x / n
    responses = y.T @ x / n  # (metrics, factors)
    subsets = subset_r2(np.broadcast_to(correlations, (len(metrics), p, p)), responses)
    draws = None
    if options.bootstrap:
        draws = bootstrap_regressions(x, y, resamples=options.bootstrap, seed=options.seed, clusters=clusters)
    shares = None
    if draws is not None and p <= SHARES_RESAMPLED:  # (resamples, metrics, factors)
        shares = shapley_shares(subset_r2(draws.correlations[:, None], draws.responses))
    vif = np.diag(np.linalg.inv(correlations))
    ols = [
        fit_ols(
            y[:, j], x, se=errors.kind, clusters=clusters, intercept=options.intercept, confidence=options.confidence
        )
        for j in range(len(metrics))
    ]
    first = int(options.intercept)
    adjusted = adjust(np.stack([fit.p[first:] for fit in ols]), options.correction)
    fits = tuple(
        _metric_fit(name, factors, x, y[:, j], ols[j], adjusted[j], vif, subsets[j], errors, draws, shares, j, options)
        for j, name in enumerate(metrics)
    )
    condition = float(np.linalg.cond(x))
    found = notices(n, fits, ols, condition, clusters, draws)
    found += star_notices(x, y, fits, ols, options.alpha) if errors.kind == "classic" else []
    return DisentangleResult(
        n=n,
        factors=tuple(factors),
        results=fits,
        se=errors.kind,
        se_reason=errors.why,
        reference=ols[0].reference,
        intercept=options.intercept,
        confidence=options.confidence,
        alpha=options.alpha,
        correction=options.correction,
        bootstrap=options.bootstrap,
        omitted=0,
        condition_number=condition,
        warnings=tuple(found),
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
    options: _Options,
) -> MetricFit:
    first, confidence = int(options.intercept), options.confidence

    def named(values: Array) -> dict[str, float]:
        return {name: float(value) for name, value in zip(factors, values, strict=True)}

    def intervals(sampled: Array) -> dict[str, Interval]:
        return {name: percentile_interval(sampled[:, i], confidence) for i, name in enumerate(factors)}

    full = len(subsets) - 1
    without = np.array([subsets[full ^ 1 << i] for i in range(len(factors))])
    gain = np.maximum(subsets[full] - without, 0.0)
    left = 1 - without
    ends = zip(ols.low[first:], ols.high[first:], strict=True)
    share = shapley_shares(subsets)
    sampled = {} if shares is None else {name: shares[:, j, i] for i, name in enumerate(factors)}
    classic = ols if errors.kind == "classic" else fit_ols(y, x, intercept=options.intercept)
    partial, semipartial = partial_intervals(ols, classic, vif)
    worth = dominance(factors, subsets)
    r2_out, importance = out_of_sample(x, y, errors, options.seed)
    return MetricFit(
        metric=metric,
        coef=named(ols.coef[first:]),
        se=named(ols.se[first:]),
        statistic=named(ols.statistic[first:]),
        p=named(ols.p[first:]),
        p_adjusted=named(adjusted),
        ci={name: (float(low), float(high)) for name, (low, high) in zip(factors, ends, strict=True)},
        ci_bootstrap=intervals(draws.coef[:, j]) if draws is not None else {},
        significant={name: bool(p < options.alpha) for name, p in zip(factors, adjusted, strict=True)},
        r2=ols.r2,
        adj_r2=ols.adj_r2,
        r2_ci=r2_interval(ols, y, x.T @ x / len(x), errors, confidence),
        r2_out=r2_out,
        r2_bootstrap=corrected_percentiles(draws.r2[:, j], ols.r2, confidence) if draws is not None else None,
        vif=named(vif),
        r2_share=named(share),
        r2_share_bootstrap={
            name: corrected_percentiles(sampled[name], float(share[i]), confidence) for i, name in enumerate(sampled)
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
        intercept=float(ols.coef[0]) if options.intercept else None,
        intercept_se=float(ols.se[0]) if options.intercept else None,
    )


def _with_groups(
    whole: DisentangleResult,
    columns: dict[str, Array],
    group: str,
    labels: Sequence[str],
    errors: Errors,
    options: _Options,
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
            results[name] = _fit_all(part, metrics, factors, errors.of(places), options)
            rows[name] = np.array(places)
        except InputError as error:
            said.append(Notice("group-left-out", name, {"column": group, "why": str(error)}))
    few = {name: part.n for name, part in results.items() if part.n < ROWS_PER_FACTOR * len(factors)}
    if few:
        said.append(Notice("tiny-n", group, {"groups": few}))
    if not results:
        raise InputError(f"column {group!r}: no group can be fitted by itself; {said[-1].values['why']}")
    tests: list[PooledTest] = []
    if len(results) > 1:
        se = whole.se if all(part.se == whole.se for part in results.values()) else "classic"
        for metric in metrics:
            parts = {}
            for name in results:
                here = {c: columns[c][rows[name]] for c in (metric, *factors)}
                parts[name] = (standardise(metric, here[metric]), standardised(here, factors))
            own = {name: errors.of(rows[name]).clusters or () for name in rows} if errors.clusters else None
            tests.append(pooled_test(metric, factors, parts, se=se, clusters=own, intercept=options.intercept))
    return replace(whole, warnings=tuple(said), groups=results, pooled=tuple(tests))
