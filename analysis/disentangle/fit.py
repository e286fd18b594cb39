"""What does a metric measure? Its scores explained by linguistic factors in a standardised linear regression.

Source: Kaster, Zhao & Eger 2021, "Global Explainability of BERT-Based Evaluation Metrics by Disentangling along
Linguistic Factors", section 3: metric and factors are z-normalised and the metric is regressed on the factors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from bsx.analysis.disentangle.errors import (
    Draws,
    Errors,
    bootstrap_regressions,
    choose_errors,
    complete_rows,
    corrected_percentiles,
    labels_of,
    out_of_sample,
    partial_intervals,
    r2_interval,
    widened,
)
from bsx.analysis.disentangle.result import (
    CONDITION_LIMIT,
    COOK_LIMIT,
    FEW_CLUSTERS,
    FEW_DEGREES,
    MOST_SHARE,
    ROWS_PER_FACTOR,
    VIF_LIMIT,
    Bend,
    CurvePoint,
    DisentangleResult,
    MetricFit,
    Reliability,
    Variant,
)
from bsx.analysis.disentangle.settings import DisentangleSettings
from bsx.analysis.disentangle.variants import (
    corrected,
    cronbach,
    make_variant,
    random_effects,
    reference,
    simpson,
    stated,
    within,
)
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.equivalence import equivalence_p
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.importance import commonality, shapley_shares, subset_r2
from bsx.analysis.stats.regression import (
    Ols,
    PooledTest,
    WaldTest,
    fit_ols,
    pooled_test,
    refuse_collinear,
    require_rows,
    standardised_errors,
    wald,
)
from bsx.analysis.stats.resample import percentile_interval
from bsx.analysis.stats.sandwich import ClusterRobust
from bsx.data import cells
from bsx.data.columns import Labels, TableLike, column_names, number_column, numeric_columns, standardise, standardised
from bsx.data.long import SEGMENTS, SYSTEM
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Notice
from bsx.support.settings import settled
from bsx.support.untyped import Untyped

SHARES_RESAMPLED = 8  # factors up to which the shares get bootstrap intervals: 2^p models a resample
MOSTLY = 0.5  # share of a factor's variance that both measures of length explain, from which it is mostly length
PAIRS = (("sentence1", "sentence2"), ("candidate", "reference"), ("candidate", "source"))
LENGTHS = ("length", "length-ratio")
# Writing without blanks between words: each sign counts as one word.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]|"
    r"[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]+"
)
QUANTILES = (0.05, 0.275, 0.5, 0.725, 0.95)  # Harrell 2015, Table 2.3, for five knots
POINTS = 41
MUCH, LITTLE = 0.1, 0.05
"""A coefficient that halves beside bent factors is named if it moves by more than the first (in standard deviations),
or by more than the second if it gains or loses its significance."""


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
            `bsx.analysis.disentangle.errors.choose_errors` and `bsx.analysis.stats.regression.fit_ols` with
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
        """Return the level of each row; a blank cell is one of its own."""
        return [label or f"\0{place}" for place, label in enumerate(labels_of(table, name, rows, present))]

    warnings = list(result.warnings)
    variants: list[Variant] = []
    measured = {name: values[rows] for name, values in lengths(table).items()}
    for name in factors if measured else ():
        design = np.column_stack([np.ones(len(rows)), *measured.values()])
        rest = columns[name] - design @ np.linalg.lstsq(design, columns[name], rcond=None)[0]
        share = 1 - float(rest @ rest) / float(np.square(columns[name] - columns[name].mean()).sum())
        if share > MOSTLY:
            warnings.append(Notice("mostly-length", name, {"share": share}))

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
        ols = [standardised_errors(own.fit(column, held)) for column in y.T]
        coef, se, df, r2 = (
            np.array([getattr(fit, what) for fit in ols]) for what in ("coef", "se", "reference_df", "r2")
        )
        student = need("scipy.stats", "the regression").t(df)  # the normal with infinitely many degrees of freedom
        what = f"with {', '.join(controls)} held constant ({own.kind} standard errors)"
        variants.append(make_variant("controls", what, metrics, every, coef, se, student, settings, r2=r2))
    warnings += bent_notices(metrics, factors, columns, result.results, errors, settings)
    warnings += product_notices(metrics, factors, x, y, result.results, errors, settings)
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
    slopes = [errors.fit(column, x, intercept=settings.intercept, confidence=settings.confidence) for column in y.T]
    ols = [standardised_errors(fit, confidence=settings.confidence) for fit in slopes]
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
        share = shapley_shares(subsets)
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
            r2_ci=r2_interval(slopes[j], y[:, j], x.T @ x / len(x), errors, confidence),
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
            parts = {
                name: (columns[metric][own], np.column_stack([columns[factor][own] for factor in factors]))
                for name, own in rows.items()
            }
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
        clusters = [int(codes.max()) + 1 for codes in ols[0].clusters]
        if found or min(clusters) < FEW_CLUSTERS:
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


def with_repeats(table: TableLike, repeat: Mapping[str, Sequence[str]]) -> TableLike:
    """Return a table to which every factor that was measured repeatedly is added: the mean of its standardised columns.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        repeat: factor -> the columns that measure it.

    Raises:
        InputError: for under two columns, or a column in the table that has the factor's name and is none of them.
    """
    if not repeat:
        return table
    results = {name: table[name] for name in column_names(table)}
    for factor, names in repeat.items():
        if len(set(names)) < 2:
            raise InputError(f"repeat: {factor}: name at least two columns that measure {factor}", setting="repeat")
        unknown = [name for name in names if name not in results]
        if unknown:
            raise InputError(f"repeat: {factor}: there is no column {unknown[0]!r}", setting="repeat")
        if factor in results and factor not in names:
            raise InputError(
                f"repeat: {factor}: there is a column {factor!r} already, which is none of {', '.join(names)}; give "
                "the mean of these a name of its own",
                setting="repeat",
            )
    for factor, names in repeat.items():
        columns = [number_column(name, table[name]) for name in names]
        for name, column in zip(names, columns, strict=True):
            there = column[~np.isnan(column)]
            if len(there) and np.ptp(there) == 0:
                raise InputError(
                    f"repeat: {factor}: column {name!r} has the value {there[0]:g} in every row: leave it out",
                    setting="repeat",
                )
        with np.errstate(invalid="ignore", divide="ignore"):
            results[factor] = np.mean([(c - np.nanmean(c)) / np.nanstd(c) for c in columns], axis=0)
    return results


def text_columns(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the two columns that hold the texts that are compared, if a table with these columns has any."""
    return next((pair for pair in PAIRS if set(pair) <= set(names)), None)


def lengths(table: TableLike) -> dict[str, Array]:
    """Return how long each pair of texts is, and how unequal: the two ways in which length gets into other factors.

    ``length`` is the logarithm of the words in both texts together, ``length-ratio`` the absolute logarithm of their
    ratio. A word is what stands between blanks; in writing without blanks, a sign. An empty text counts as one word.

    Args:
        table: with the columns of one of `PAIRS`.

    Returns:
        The two columns (n,); none if the table has no texts.
    """
    pair = text_columns(column_names(table))
    if pair is None:
        return {}

    def count(name: str) -> Array:
        texts = ("" if cells.is_missing(cell) else cells.spelled(cell) for cell in list(table[name]))
        return np.array([max(len(_WORD.findall(text)), 1) for text in texts], dtype=np.float64)

    first, second = map(count, pair)
    return dict(zip(LENGTHS, (np.log(first + second), np.abs(np.log(first / second))), strict=True))


def with_lengths(table: TableLike, controls: Sequence[str]) -> tuple[TableLike, list[str]]:
    """Return a table with the columns that controls name, and their names; ``length`` is computed unless it is there.

    Raises:
        InputError: for ``length`` without such a column or any texts.
    """
    present = column_names(table)
    if "length" not in controls or "length" in present:
        return table, list(controls)
    computed = lengths(table)
    if not computed:
        pairs = " or ".join(f"{a} and {b}" for a, b in PAIRS)
        raise InputError(
            f"controls: length: there is neither a column 'length' nor a pair of texts ({pairs})", setting="controls"
        )
    wanted = [name for control in controls for name in (LENGTHS if control == "length" else (control,))]
    return {**{name: table[name] for name in present}, **computed}, wanted


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
    # Each factor's coefficient in each metric where all others are bent (p, m), from cross products.
    design = np.column_stack([np.ones(len(x)), x, *extra.values()])
    owner = np.concatenate([[-1] * (1 + len(factors)), *([j] * basis.shape[1] for j, basis in extra.items())])
    gram, right = design.T @ design / len(x), design.T @ y / len(x)
    beside = np.empty((len(factors), len(metrics)))
    for j in range(len(factors)):
        kept = np.flatnonzero(owner != j)
        beside[j] = np.linalg.lstsq(gram[np.ix_(kept, kept)], right[kept], rcond=1e-12)[0][1 + j]
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


def product_notices(
    metrics: Sequence[str],
    factors: Sequence[str],
    x: Array,
    y: Array,
    fits: Sequence[MetricFit],
    errors: Errors,
    settings: DisentangleSettings,
) -> list[Notice]:
    """Return a notice named ``product`` for each metric in which what one factor does depends on another.

    Products of factors explain something jointly, corrected for metrics, and one of them does significantly by itself,
    corrected for products, by more than `LITTLE`, or a coefficient is another beside them, as `bent_notices` counts it.

    Args:
        metrics: names of the responses.
        factors: names of the factors.
        x: standardised factors (n, p).
        y: standardised metrics (n, m).
        fits: of the metrics, without products.
        errors: standard errors.
        settings: level of significance.
    """
    products: dict[str, Array] = {}
    for a, b in combinations(range(len(factors)), 2):  # those that nothing before them determines
        design, product = np.column_stack([np.ones(len(x)), x, *products.values()]), x[:, a] * x[:, b]
        rest = product - design @ np.linalg.lstsq(design, product, rcond=None)[0]
        if np.linalg.norm(rest) > 1e-7 * np.linalg.norm(product):
            products[f"{factors[a]}:{factors[b]}"] = product
    if not products or len(x) < ROWS_PER_FACTOR * (len(factors) + len(products)):
        return []
    notices = []
    for i, fit in enumerate(fits):
        try:
            full, test = _bent(y[:, i], x, np.column_stack(list(products.values())), errors)
        except InputError:  # too few clusters
            continue
        if not test.p < settings.alpha / len(metrics):
            continue
        found = {
            name: {"coef": float(coef), "p": float(p)}
            for name, coef, p in zip(products, full.coef[1 + len(factors) :], full.p[1 + len(factors) :], strict=True)
            if p < settings.alpha / len(products) and abs(coef) > LITTLE
        }
        changed = [
            {"factor": name, "line": fit.coef[name], "line_p": fit.p[name], "coef": float(coef), "p": float(p)}
            for name, coef, p in zip(factors, full.coef[1:], full.p[1:], strict=False)
            if _changes(fit.coef[name], fit.p[name], float(coef), float(p), settings.alpha)
        ]
        if found or changed:
            notices.append(Notice("product", fit.metric, {"p": test.p, "products": found, "changed": changed}))
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
