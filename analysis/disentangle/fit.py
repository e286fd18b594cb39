"""What does a metric measure? Its scores explained by linguistic factors in a standardised linear regression.

Source: Kaster, Zhao & Eger 2021, "Global Explainability of BERT-Based Evaluation Metrics by Disentangling along
Linguistic Factors", section 3: metric and factors are z-normalised and the metric is regressed on the factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bsx.analysis.disentangle.bends import bent_notices, find_bends
from bsx.analysis.disentangle.bootstrap import Draws, bootstrap_regressions, widened
from bsx.analysis.disentangle.lengths import lengths, mostly_length, with_lengths
from bsx.analysis.disentangle.noise import corrected, cronbach, reference, stated, with_repeats
from bsx.analysis.disentangle.result import (
    CONDITION_LIMIT,
    COOK_LIMIT,
    FEW_DEGREES,
    MOST_SHARE,
    ROWS_PER_FACTOR,
    VIF_LIMIT,
    DisentangleResult,
    MetricFit,
    Reliability,
    Variant,
)
from bsx.analysis.disentangle.settings import DisentangleSettings
from bsx.analysis.disentangle.standard_errors import Errors, choose_errors, complete_rows
from bsx.analysis.disentangle.variance import (
    commonality,
    corrected_percentiles,
    out_of_sample,
    partial_intervals,
    r2_interval,
)
from bsx.analysis.disentangle.variants import make_variant, random_effects
from bsx.analysis.disentangle.within import simpson, within
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.equivalence import equivalence_p
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.importance import dominance, shapley_shares, subset_r2
from bsx.analysis.stats.regression import Ols, PooledTest, fit_ols, pooled_test, refuse_collinear, require_rows
from bsx.analysis.stats.resample import percentile_interval
from bsx.analysis.stats.sandwich import ClusterRobust
from bsx.data import cells
from bsx.data.columns import Labels, TableLike, column_names, numeric_columns, standardise, standardised
from bsx.data.long import SEGMENTS, SYSTEM
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Notice
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
            `bsx.analysis.disentangle.standard_errors.choose_errors` and `bsx.analysis.stats.regression.fit_ols` with
            their references. The paper's are ``classic``. ``controls="length"`` is computed from the texts unless there
            is such a column.

    Returns:
        The fits, with what to know about them in ``warnings``.

    Raises:
        UnknownNameError: for a missing column; lists those present.
        InputError: for cells that are not numbers, constant columns, collinear factors or too few rows.
    """
    for what, names in (("metrics", metrics), ("factors", factors)):
        if isinstance(names, str):
            raise InputError(f"{what}={names!r}: give a list of columns")
        if not names:
            raise InputError(f"{what}: name at least one column")
    names = [*metrics, *factors]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError(f"column {repeated[0]!r} is named twice among metrics and factors")
    settings.check(metrics, factors)
    table, controls = with_lengths(with_repeats(table, settings.repeats), settings.controls)
    numbers = [*metrics, *factors, *(name for names in settings.repeats.values() for name in names), *controls]
    wanted = dict.fromkeys((settings.cluster, settings.group, *settings.within))
    columns, labels, omitted = numeric_columns(
        table, numbers, [name for name in wanted if name is not None], nan=settings.nan
    )
    errors = choose_errors(table, numbers, len(factors), settings, omitted)
    result = replace(_fit_all(columns, metrics, factors, errors, settings)[0], omitted=omitted)
    if settings.group is not None:
        result = _with_groups(result, columns, settings.group, labels[settings.group], errors, settings)
    y, x = (standardised(columns, names) for names in (metrics, factors))
    rows = complete_rows(table, numbers, len(table[numbers[0]]), omitted)
    own_errors = errors.defined_for(x)
    present = set(column_names(table)) - set(numbers)

    def levels(name: str) -> Labels:
        """Return the level of each row; a segment is one of its language pair, and a blank cell one of its own."""
        column = list(table[name])
        own = ["" if cells.is_missing(column[i]) else cells.spelled(column[i]) for i in rows]
        own = [label or f"\0{place}" for place, label in enumerate(own)]
        if name not in SEGMENTS or "lp" not in present:
            return own
        pairs = list(table["lp"])
        return [f"{pairs[i]}\t{label}" for i, label in zip(rows, own, strict=True)]

    warnings = list(result.warnings)
    variants: list[Variant] = []
    measured = {name: values[rows] for name, values in lengths(table).items()}
    if measured:
        shares = mostly_length({name: columns[name] for name in factors}, measured)
        warnings += [Notice("mostly-length", name, {"share": share}) for name, share in shares.items()]

    known = {factors.index(name): stated(name, value, len(x)) for name, value in settings.reliabilities.items()}
    for name, repeated in settings.repeats.items():
        known[factors.index(name)] = cronbach(name, {column: columns[column] for column in repeated})
    if known:
        of = "; ".join(f"{one.factor} {one.value:.3f}, {one.source}" for one in known.values())
        found = corrected(x, y, known, own_errors)
        if float(found.r2.max()) > 1:
            raise InputError(
                f"reliability {of}: too low to be true: without that noise the factors would explain "
                f"{100 * found.r2.max():.0f} % of {metrics[int(found.r2.argmax())]}",
                setting="reliability",
            )
        what = f"method of moments, reliability of {of}; per sd of the noise-free factor"
        figures = (found.coef, found.se, reference(own_errors), settings)
        variants.append(make_variant("errors-in-variables", what, metrics, factors, *figures, r2=found.r2))

    variants += result.variants
    searched: dict[str, Labels] = {} if settings.group is None else {settings.group: labels[settings.group]}
    for names in (SEGMENTS, (SYSTEM,)):
        for name in (name for name in names if name in present and name not in searched):
            own_levels = levels(name)
            if len(set(own_levels)) < len(own_levels):
                searched[name] = own_levels
                break
    for name, of_rows in searched.items():
        warnings += simpson(metrics, factors, x, y, name, of_rows, own_errors, settings, len(searched))

    if settings.within:
        by_column = {name: levels(name) for name in settings.within}
        variants.append(within(metrics, factors, x, y, by_column, own_errors, settings))
    if controls:
        every = [*factors, *controls]
        held = standardised(columns, every)
        refuse_collinear(every, held)
        own = errors.defined_for(held)
        ols = [own.fit(column, held) for column in y.T]
        coef, se, df, r2 = (
            np.array([getattr(fit, what) for fit in ols]) for what in ("coef", "se", "reference_df", "r2")
        )
        student = need("scipy.stats", "the regression").t(df)  # the normal with infinitely many degrees of freedom
        what = f"with {', '.join(controls)} held constant ({own.kind} standard errors)"
        variants.append(make_variant("controls", what, metrics, every, coef, se, student, settings, r2=r2))
    warnings += bent_notices(metrics, factors, columns, result.results, errors, settings)
    return replace(
        result,
        warnings=tuple(warnings),
        reliability=tuple(Reliability(one.factor, one.value, one.source) for one in known.values()),
        variants=tuple(variants),
        bends=find_bends(metrics, factors, columns, errors, settings) if settings.spline else (),
    )


def _fit_all(
    columns: dict[str, Array],
    metrics: Sequence[str],
    factors: Sequence[str],
    errors: Errors,
    settings: DisentangleSettings,
) -> tuple[DisentangleResult, list[Ols]]:
    """Return the result of these rows, and each metric's regression."""
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
    all_subsets = subset_r2(np.broadcast_to(correlations, (len(metrics), p, p)), responses)
    draws: Draws | None = None
    shares: Array | None = None
    if settings.resamples:
        draws = bootstrap_regressions(x, y, resamples=settings.resamples, seed=settings.seed, clusters=errors.clusters)
        draws = widened(draws, x, y, errors, intercept=settings.intercept)
        if p <= SHARES_RESAMPLED:  # (resamples, metrics, factors)
            shares = shapley_shares(subset_r2(draws.correlations[:, None], draws.responses))
    vif = np.maximum(np.diag(np.linalg.inv(correlations)), 1.0)
    ols = [errors.fit(column, x, intercept=settings.intercept, confidence=settings.confidence) for column in y.T]
    first, confidence, few = int(settings.intercept), settings.confidence, errors.few()
    adjusted = np.stack([fit.p[first:] for fit in ols])
    defined = ~np.isnan(adjusted)
    adjusted[defined] = adjust(adjusted[defined], settings.correction)

    def named(values: Array) -> dict[str, float]:
        return {name: float(value) for name, value in zip(factors, values, strict=True)}

    fits = []
    for j, (metric, own, subsets) in enumerate(zip(metrics, ols, all_subsets, strict=True)):
        full = len(subsets) - 1
        without = np.array([subsets[full ^ 1 << i] for i in range(p)])
        gain, left = np.maximum(subsets[full] - without, 0.0), 1 - without
        share, worth = shapley_shares(subsets), dominance(factors, subsets)
        classic = own if errors.kind == "classic" else fit_ols(y[:, j], x, intercept=settings.intercept)
        partial, semipartial = partial_intervals(own, classic, vif)
        r2_out, importance = out_of_sample(x, y[:, j], errors, settings.seed)
        ci = {name: (float(own.low[i]), float(own.high[i])) for i, name in enumerate(factors, start=first)}
        fit = MetricFit(
            metric=metric,
            coef=named(own.coef[first:]),
            se=named(own.se[first:]),
            statistic=named(own.statistic[first:]),
            p=named(own.p[first:]),
            p_adjusted=named(adjusted[j]),
            ci=ci,
            ci_bootstrap={}
            if draws is None
            else {name: percentile_interval(draws.coef[:, j, i], confidence, few) for i, name in enumerate(factors)},
            significant={name: bool(p < settings.alpha) for name, p in zip(factors, adjusted[j], strict=True)},
            r2=own.r2,
            adj_r2=own.adj_r2,
            r2_ci=r2_interval(own, y[:, j], x.T @ x / len(x), errors, confidence),
            r2_out=r2_out,
            r2_bootstrap=corrected_percentiles(draws.r2[:, j], own.r2, confidence, few) if draws else None,
            vif=named(vif),
            r2_share=named(share),
            r2_share_bootstrap={}
            if shares is None
            else {
                name: corrected_percentiles(shares[:, j, i], float(share[i]), confidence, few)
                for i, name in enumerate(factors)
            },
            partial_r2=named(np.divide(gain, left, out=np.full_like(gain, np.nan), where=left > 1e-12)),
            partial_r2_ci=dict(zip(factors, partial, strict=True)),
            semipartial_r2=named(gain),
            semipartial_r2_ci=dict(zip(factors, semipartial, strict=True)),
            importance=named(importance),
            commonality=commonality(factors, subsets),
            conditional_dominance=dict(zip(factors, map(tuple, worth.conditional.tolist()), strict=True)),
            dominates={how: getattr(worth, how) for how in ("completely", "conditionally", "generally")},
            df=own.df,
            intercept=float(own.coef[0]) if settings.intercept else None,
            intercept_se=float(own.se[0]) if settings.intercept else None,
        )
        fits.append(fit)
    if settings.margin is not None:  # are coefficients too small to matter, by their intervals?
        p_same = [
            [equivalence_p(fit.coef[name], fit.ci[name], settings.margin, confidence=confidence) for name in factors]
            for fit in fits
        ]
        fits = [
            replace(fit, p_equivalence=named(row))
            for fit, row in zip(fits, adjust(p_same, settings.correction), strict=True)
        ]
    condition = float(np.linalg.cond(x))
    warnings = notices(n, fits, ols, condition, draws)
    warnings += star_notices(x, y, fits, ols, settings.alpha) if errors.kind == "classic" else []
    result = DisentangleResult(
        n=n,
        factors=tuple(factors),
        results=tuple(fits),
        se=errors.kind,
        se_reason=errors.why,
        sampled=errors.sampled,
        held=errors.held,
        reference=ols[0].reference,
        intercept=settings.intercept,
        confidence=confidence,
        alpha=settings.alpha,
        correction=settings.correction,
        bootstrap=settings.resamples,
        omitted=0,
        condition_number=condition,
        warnings=tuple(warnings),
        margin=settings.margin,
    )
    return result, ols


def _with_groups(
    whole: DisentangleResult,
    columns: dict[str, Array],
    group: str,
    labels: Sequence[str],
    errors: Errors,
    settings: DisentangleSettings,
) -> DisentangleResult:
    """Return the result with each group's own, tests of what they share, and their coefficients pooled."""
    metrics, factors = [fit.metric for fit in whole.results], whole.factors
    warnings = list(whole.warnings)
    results: dict[str, DisentangleResult] = {}
    fits: dict[str, list[Ols]] = {}
    rows: dict[str, Rows] = {}
    members: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        members.setdefault(label, []).append(i)
    for name, places in members.items():
        part = {column: values[places] for column, values in columns.items()}
        try:
            results[name], fits[name] = _fit_all(part, metrics, factors, errors.of(places), settings)
            rows[name] = np.array(places)
        except InputError as error:
            warnings.append(Notice("group-left-out", name, {"column": group, "why": str(error)}))
    few = {name: part.n for name, part in results.items() if part.n < ROWS_PER_FACTOR * len(factors)}
    if few:
        warnings.append(Notice("tiny-n", group, {"groups": few}))
    if not results:
        raise InputError(
            f"column {group!r}: no group can be fitted by itself; {warnings[-1].values['why']}; within {group} holds "
            "its differences constant instead"
        )
    tests: list[PooledTest] = []
    if len(results) > 1:
        se = whole.se if all(part.se == whole.se for part in results.values()) else "classic"
        clusters, crossed = (
            None if of is None else {name: [of[i] for i in own] for name, own in rows.items()}
            for of in (errors.clusters, errors.between(rows.values()).crossed)
        )
        for metric in metrics:
            parts = {}
            for name, own in rows.items():
                here = {c: columns[c][own] for c in (metric, *factors)}
                parts[name] = (standardise(metric, here[metric]), standardised(here, factors))
            ways = {"clusters": clusters, "crossed": crossed}
            tests.append(pooled_test(metric, factors, parts, se=se, intercept=settings.intercept, **ways))
    return replace(
        whole,
        warnings=tuple(warnings),
        groups=results,
        pooled=tuple(tests),
        variants=tuple(random_effects(metrics, factors, group, fits, rows, errors, settings)),
    )


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
    if ols[0].clusters:  # factors whose errors rest on few degrees of freedom, or on one cluster for the most part
        first, df = int(ols[0].intercept), ols[0].reference_df
        shares = np.max([ClusterRobust(ols[0].design, codes).largest() for codes in ols[0].clusters], axis=0)
        found = {
            name: {"df": float(df[j]), "share": float(shares[j])}
            for j, name in enumerate(fits[0].coef, start=first)
            if not df[j] >= FEW_DEGREES or shares[j] > MOST_SHARE
        }
        if found:
            clusters = [int(codes.max()) + 1 for codes in ols[0].clusters]
            raised.append(Notice("few-clusters", values={"clusters": clusters, "factors": found}))
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
