"""What does a metric measure? Its scores explained by linguistic factors in a standardised linear regression.

Source: Kaster, Zhao & Eger 2021, "Global Explainability of BERT-Based Evaluation Metrics by Disentangling along
Linguistic Factors", section 3: metric and factors are z-normalised and the metric is regressed on the factors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from bsx.analysis.disentangle.curves import bent_notices, find_bends, product_notices
from bsx.analysis.disentangle.errors import (
    Draws,
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
    DisentangleResult,
    MetricFit,
    Reliability,
    Variant,
)
from bsx.analysis.disentangle.sample import RegressionSample, lengths, with_lengths, with_repeats
from bsx.analysis.disentangle.settings import DisentangleSettings
from bsx.analysis.disentangle.variants import corrected, cronbach, make_variant, random_effects, reference
from bsx.analysis.disentangle.within import simpson, within
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.equivalence import equivalence_p
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.importance import commonality, shapley_shares, subset_r2
from bsx.analysis.stats.regression import Ols, fit_ols, pooled_test, refuse_collinear, require_rows, standardised_errors
from bsx.analysis.stats.resample import percentile_interval
from bsx.analysis.stats.sandwich import ClusterRobust
from bsx.data.columns import Labels, TableLike, column_names, numeric_columns
from bsx.data.long import SEGMENTS, SYSTEM
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Notice
from bsx.support.settings import settled

SHARES_RESAMPLED = 8  # factors up to which the shares get bootstrap intervals: 2^p models a resample
MOSTLY = 0.5  # share of a factor's variance that both measures of length explain, from which it is mostly length


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
    repeats, group = settings.repeats, settings.group
    table, controls = with_lengths(with_repeats(table, repeats), settings.controls)
    numbers = [*names, *(name for columns in repeats.values() for name in columns), *controls]
    named = [name for name in (settings.cluster, group, *settings.within) if name is not None]
    columns, labels, omitted = numeric_columns(table, numbers, named, nan=settings.nan)
    errors = choose_errors(table, numbers, len(factors), settings, omitted)
    sample = RegressionSample(columns, metrics, factors, errors, settings)
    result, _ = _fit(sample)
    if group is not None:
        result = _with_groups(result, sample, group, labels[group])
    rows = complete_rows(table, numbers, omitted)
    present = set(column_names(table)) - set(numbers)

    def levels(name: str) -> Labels:
        """Return the level of each row; a blank cell is one of its own."""
        return [label or f"\0{place}" for place, label in enumerate(labels_of(table, name, rows, present))]

    searched = {} if group is None else {group: labels[group]}  # levels within which coefficients may be others
    for usual in (SEGMENTS, (SYSTEM,)):
        for name in (name for name in usual if name in present and name not in searched):
            of_rows = levels(name)
            if len(set(of_rows)) < len(of_rows):
                searched[name] = of_rows
                break
    warnings = [*result.warnings, *_length_notices(sample, {name: of[rows] for name, of in lengths(table).items()})]
    reliability, variants = _without_noise(sample)
    variants += result.variants
    for name, of_rows in searched.items():
        warnings += simpson(sample, name, of_rows, len(searched))
    if settings.within:
        variants.append(within(sample, {name: levels(name) for name in settings.within}))
    if controls:
        variants.append(_controlled(replace(sample, factors=[*factors, *controls]), controls))
    warnings += bent_notices(sample, result.results)
    warnings += product_notices(sample, result.results)
    return replace(
        result,
        omitted=omitted,
        warnings=tuple(warnings),
        reliability=reliability,
        variants=tuple(variants),
        bends=find_bends(sample) if settings.spline else (),
    )


def _length_notices(sample: RegressionSample, measured: dict[str, Array]) -> Iterator[Notice]:
    """Yield a notice for each factor of which the measures of length (n,) explain most."""
    for name in sample.factors if measured else ():
        values = sample.columns[name]
        design = np.column_stack([np.ones(len(values)), *measured.values()])
        rest = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
        share = 1 - float(rest @ rest) / float(np.square(values - values.mean()).sum())
        if share > MOSTLY:
            yield Notice("mostly-length", name, {"share": share})


def _without_noise(sample: RegressionSample) -> tuple[tuple[Reliability, ...], list[Variant]]:
    """Return the reliabilities that are stated or measured, and the coefficients without that noise, if there are any.

    Raises:
        InputError: for a reliability that cannot be.
    """
    factors, settings = list(sample.factors), sample.settings
    known: dict[int, Reliability] = {}
    influences: dict[int, Array] = {}
    for name, value in settings.reliabilities.items():
        if not 0 < value <= 1:
            message = f"reliability: {name}={value:g}: a reliability is above 0 and at most 1"
            raise InputError(message, setting="reliability")
        known[factors.index(name)] = Reliability(name, value, "as stated")
    for name, repeated in settings.repeats.items():
        place = factors.index(name)
        known[place], influences[place] = cronbach(name, {column: sample.columns[column] for column in repeated})
    if not known:
        return (), []
    listed = "; ".join(f"{of.factor} {of.value:.3f}, {of.source}" for of in known.values())
    errors = sample.errors.defined_for(sample.x)
    coef, se, r2 = corrected(sample.x, sample.y, known, influences, errors)
    if float(r2.max()) > 1:
        raise InputError(
            f"reliability {listed}: too low to be true: without that noise the factors would explain "
            f"{100 * r2.max():.0f} % of {sample.metrics[int(r2.argmax())]}",
            setting="reliability",
        )
    what = f"method of moments, reliability of {listed}; per sd of the noise-free factor"
    variant = make_variant("errors-in-variables", what, sample, coef, se, reference(errors), r2=r2)
    return tuple(known.values()), [variant]


def _controlled(sample: RegressionSample, controls: Sequence[str]) -> Variant:
    """Return the coefficients of factors beside columns to hold constant, which are the last of the sample's."""
    refuse_collinear(sample.factors, sample.x)
    errors = sample.errors.defined_for(sample.x)
    ols = [standardised_errors(errors.fit(y, sample.x)) for y in sample.y.T]
    coef, se, df, r2 = (np.array([getattr(fit, what) for fit in ols]) for what in ("coef", "se", "reference_df", "r2"))
    student = need("scipy.stats", "the regression").t(df)  # the normal with infinitely many degrees of freedom
    what = f"with {', '.join(controls)} held constant ({errors.kind} standard errors)"
    return make_variant("controls", what, sample, coef, se, student, r2=r2)


def _fit(sample: RegressionSample) -> tuple[DisentangleResult, list[Ols]]:
    """Return the result of these rows, and each metric's regression."""
    factors, settings, confidence = list(sample.factors), sample.settings, sample.settings.confidence
    n, p, first = len(sample.columns[factors[0]]), len(factors), int(settings.intercept)
    require_rows(n, p + first)
    if n == p + 1:  # standardising takes a degree of freedom, with or without an intercept
        raise InputError(
            f"{n} rows are too few for {p} standardised factor{'s' * (p > 1)}: they fit any metric exactly (R² 1), so "
            f"no degree of freedom is left; at least {p + 2} are needed"
        )
    y, x = sample.y, sample.x
    refuse_collinear(factors, x)
    errors = sample.errors.defined_for(x, intercept=settings.intercept)
    few, correlations = errors.few(), x.T @ x / n
    all_subsets = subset_r2(np.broadcast_to(correlations, (y.shape[1], p, p)), y.T @ x / n)
    draws: Draws | None = None
    drawn_shares: Array | None = None
    if settings.resamples:
        draws = bootstrap_regressions(x, y, resamples=settings.resamples, seed=settings.seed, clusters=errors.clusters)
        draws = widened(draws, x, y, errors, intercept=settings.intercept)
        if p <= SHARES_RESAMPLED:  # (resamples, metrics, factors)
            drawn_shares = shapley_shares(subset_r2(draws.correlations[:, None], draws.responses))
    vif = np.maximum(np.diag(np.linalg.inv(correlations)), 1.0)
    slopes = [errors.fit(column, x, intercept=settings.intercept, confidence=confidence) for column in y.T]
    ols = [standardised_errors(fit, confidence=confidence) for fit in slopes]
    adjusted = adjust([fit.p[first:] for fit in ols], settings.correction)
    equivalent = np.full_like(adjusted, np.nan)
    if settings.margin is not None:  # are coefficients too small to matter, by their intervals?
        for place in np.ndindex(*equivalent.shape):
            value, *ends = (float(getattr(ols[place[0]], what)[first + place[1]]) for what in ("coef", "low", "high"))
            equivalent[place] = equivalence_p(value, (ends[0], ends[1]), settings.margin, confidence=confidence)
        equivalent = adjust(equivalent, settings.correction)

    fits = []
    for j, (metric, regression, subsets) in enumerate(zip(sample.metrics, ols, all_subsets, strict=True)):
        full = len(subsets) - 1
        without = np.array([subsets[full ^ 1 << i] for i in range(p)])
        gain, left, share = np.maximum(subsets[full] - without, 0.0), 1 - without, shapley_shares(subsets)
        classic = regression if errors.kind == "classic" else fit_ols(y[:, j], x, intercept=settings.intercept)
        partial, semipartial = partial_intervals(regression, classic, vif)
        r2_out, importance = out_of_sample(x, y[:, j], errors, settings.seed)
        of_draws = {} if draws is None else dict(zip(factors, draws.coef[:, j].T, strict=True))
        of_shares = [] if drawn_shares is None else zip(factors, drawn_shares[:, j].T, share.tolist(), strict=True)
        figures = {what: getattr(regression, what)[first:] for what in ("coef", "se", "p", "statistic")}
        figures |= {"p_adjusted": adjusted[j], "vif": vif, "r2_share": share, "importance": importance}
        partial_r2 = np.divide(gain, left, out=np.full_like(gain, np.nan), where=left > 1e-12)
        figures |= {"partial_r2": partial_r2, "semipartial_r2": gain}
        figures |= {"p_equivalence": equivalent[j]} if settings.margin is not None else {}
        fit = MetricFit.of(
            metric,
            factors,
            settings.alpha,
            figures,
            (regression.low[first:], regression.high[first:]),
            ci_bootstrap={name: percentile_interval(values, confidence, few) for name, values in of_draws.items()},
            r2=regression.r2,
            adj_r2=regression.adj_r2,
            r2_ci=r2_interval(slopes[j], y[:, j], correlations, errors, confidence),
            r2_out=r2_out,
            r2_bootstrap=corrected_percentiles(draws.r2[:, j], regression.r2, confidence, few) if draws else None,
            r2_share_bootstrap={
                name: corrected_percentiles(values, value, confidence, few) for name, values, value in of_shares
            },
            partial_r2_ci=dict(zip(factors, partial, strict=True)),
            semipartial_r2_ci=dict(zip(factors, semipartial, strict=True)),
            commonality=commonality(factors, subsets),
            df=regression.df,
            intercept=float(regression.coef[0]) if settings.intercept else None,
            intercept_se=float(regression.se[0]) if settings.intercept else None,
        )
        fits.append(fit)
    condition = float(np.linalg.cond(x))
    warnings = notices(n, fits, ols, condition, draws)
    warnings += _star_notices(sample, fits, ols) if errors.kind == "classic" else []
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


def _with_groups(whole: DisentangleResult, sample: RegressionSample, group: str, labels: Labels) -> DisentangleResult:
    """Return the result with each group's own, tests of what they share, and their coefficients pooled."""
    warnings = list(whole.warnings)
    results: dict[str, DisentangleResult] = {}
    fits: dict[str, list[Ols]] = {}
    rows: dict[str, Rows] = {}
    members: dict[str, list[int]] = {}
    for row, name in enumerate(labels):
        members.setdefault(name, []).append(row)
    for name, of in members.items():
        places = np.array(of)
        columns = {column: values[places] for column, values in sample.columns.items()}
        try:
            results[name], fits[name] = _fit(replace(sample, columns=columns, errors=sample.errors.of(places)))
            rows[name] = places
        except InputError as error:
            warnings.append(Notice("group-left-out", name, {"column": group, "why": str(error)}))
    few = {name: part.n for name, part in results.items() if part.n < ROWS_PER_FACTOR * len(sample.factors)}
    if few:
        warnings.append(Notice("tiny-n", group, {"groups": few}))
    if not results:
        raise InputError(
            f"column {group!r}: no group can be fitted by itself; {warnings[-1].values['why']}; within {group} holds "
            "its differences constant instead"
        )
    tests = []
    if len(results) > 1:
        errors = sample.errors.between(rows.values())
        se = whole.se if all(part.se == whole.se for part in results.values()) else "classic"
        clusters, crossed = (
            None if way is None else {name: [way[i] for i in places] for name, places in rows.items()}
            for way in (errors.clusters, errors.crossed)
        )
        ways = {"clusters": clusters, "crossed": crossed}
        for metric in sample.metrics:
            x = np.column_stack([sample.columns[factor] for factor in sample.factors])
            parts = {name: (sample.columns[metric][places], x[places]) for name, places in rows.items()}
            tests.append(pooled_test(metric, sample.factors, parts, se=se, intercept=whole.intercept, **ways))
    return replace(
        whole,
        warnings=tuple(warnings),
        groups=results,
        pooled=tuple(tests),
        variants=tuple(random_effects(sample, group, fits, rows)),
    )


def notices(
    n: int, fits: Sequence[MetricFit], ols: Sequence[Ols], condition: float, draws: Draws | None
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
        decided = {
            name: {"df": float(df[j]), "share": float(shares[j])}
            for j, name in enumerate(fits[0].coef, start=first)
            if not df[j] >= FEW_DEGREES or shares[j] > MOST_SHARE
        }
        clusters = [int(codes.max()) + 1 for codes in ols[0].clusters]
        if decided or min(clusters) < FEW_CLUSTERS:
            raised.append(Notice("few-clusters", values={"clusters": clusters, "factors": decided}))
    if draws is not None and not draws.defined.all():
        values = {"undefined": int((~draws.defined).sum()), "resamples": len(draws.defined)}
        raised.append(Notice("undefined-resamples", values=values))
    for fit, regression in zip(fits, ols, strict=True):
        # Cook 1977: how far the coefficients move without the row, in units of their own uncertainty.
        squares, leverage = np.square(regression.residuals), regression.leverage
        weight = leverage / np.maximum(1 - leverage, 1e-12) ** 2
        distance = squares * weight / (len(regression.coef) * max(float(squares.sum()) / fit.df, 1e-300))
        if rows := [int(i) + 1 for i in np.argsort(-distance, kind="stable") if distance[i] > COOK_LIMIT]:
            raised.append(Notice("influential-rows", fit.metric, {"rows": rows}))
    return raised


def _star_notices(sample: RegressionSample, fits: Sequence[MetricFit], ols: Sequence[Ols]) -> list[Notice]:
    """Name the coefficients whose significance changes if the residual variance is not taken to be constant."""
    alpha, first = sample.settings.alpha, int(sample.settings.intercept)
    changed: list[dict[str, object]] = []
    for j, fit in enumerate(fits):
        if max(ols[j].leverage) > 1 - 1e-10:
            return []
        robust = fit_ols(sample.y[:, j], sample.x, se="hc3", intercept=bool(first)).p[first:]
        for (name, p), other in zip(fit.p.items(), robust, strict=True):
            if (p < alpha) != (other < alpha):
                changed.append({"metric": fit.metric, "factor": name, "p": p, "hc3": float(other)})
    return [Notice("stars-depend-on-se", values={"changed": changed})] if changed else []
