"""Tables of a disentangling that every form of output shows alike, made from its document."""

from __future__ import annotations

from bsx.analysis.documents.base import Interval, Number
from bsx.analysis.documents.disentangling import DisentangleDocument, VariantFitRow, VariantRow
from bsx.analysis.render.numbers import figure, p_value
from bsx.analysis.render.sheets import Sheet


def variance_sheets(content: DisentangleDocument, decimals: int = 3) -> list[Sheet]:
    """Return how much the factors explain: intervals of R² and of each factor's part, new rows, what is shared."""
    fits, names = content.results, content.factors
    level = f"{100 * content.confidence:g} % interval"
    found = []

    def cell(value: Number, span: Interval = None) -> str:
        shown = _figure(value, decimals)
        return shown if span is None else f"{shown} [{_figure(span[0], decimals)}, {_figure(span[1], decimals)}]"

    rows = [[fit.metric, cell(fit.r2, fit.r2_ci), cell(fit.adj_r2), cell(fit.r2_out)] for fit in fits]
    note = "New rows: cross-validation; rows that share a segment or a text stay in one fold."
    found.append(Sheet(f"R² with its {level}", ["metric", "R²", "adjusted", "new rows"], rows, note))
    for title, what in (
        (f"partial R² with its {level}", "partial_r2"),
        (f"drop in R² without the factor (semi-partial R²), {level}", "semipartial_r2"),
    ):
        rows = [
            [fit.metric, *(cell(getattr(fit, what).get(f), getattr(fit, f"{what}_ci").get(f)) for f in names)]
            for fit in fits
        ]
        found.append(Sheet(title, ["metric", *names], rows))
    rows = [[fit.metric, *(cell(fit.importance.get(f)) for f in names)] for fit in fits]
    found.append(
        Sheet("drop in R² on new rows when the factor is shuffled (permutation importance)", ["metric", *names], rows)
    )
    parts = list(fits[0].commonality) if fits else []
    if len(parts) > 1:
        rows = [[part.replace("+", " + "), *(cell(fit.commonality.get(part)) for fit in fits)] for part in parts]
        title = "parts of R² that factors explain alone and in common (commonality analysis)"
        found.append(Sheet(title, ["factors", *(fit.metric for fit in fits)], rows, "Negative: one hides the other."))
    return found if fits and fits[0].r2_ci is not None else []


def further_sheets(content: DisentangleDocument, decimals: int = 3) -> list[Sheet]:
    """Return the same coefficients estimated otherwise, side by side, and what belongs to each way."""
    found = []
    if content.variants:
        found.append(_side_by_side(content, decimals))
    for variant in content.variants:
        if variant.name == "random-effects":
            found.append(_random_effects(variant, decimals))
        if variant.name == "within-groups":
            found.append(_within(variant))
        if variant.name == "random-intercepts":
            found.append(_variances(variant, decimals))
    return [*found, *_tipping(content), *_bends(content, decimals), *_mediation(content, decimals)]


def _bends(content: DisentangleDocument, decimals: int) -> list[Sheet]:
    rows = []
    for bend in content.bends:
        figures = [_figure(value, decimals) for value in (bend.r2_line, bend.r2_curve, bend.out_line, bend.out_curve)]
        rows.append([bend.metric, bend.factor, *figures, _figure(bend.statistic, 2), p_value(bend.p_adjusted)])
    header = ["metric", "bent", "R² of lines", "of curves", "lines, new rows", "curves, new rows", "F", "p"]
    note = "New rows: cross-validation, the same folds for both. p: no curve."
    title = "what is gained if factors act in curves (natural splines) instead of straight lines"
    return [Sheet(title, header, rows, note, 2)] if rows else []


def _mediation(content: DisentangleDocument, decimals: int) -> list[Sheet]:
    def cell(value: Number, ends: Interval) -> str:
        low, high = ends or (None, None)
        return f"{_figure(value, decimals)} [{_figure(low, decimals)}, {_figure(high, decimals)}]"

    rows = [
        [
            path.metric,
            path.factor,
            cell(path.indirect, path.indirect_ci),
            cell(path.direct, path.direct_ci),
            cell(path.total, path.total_ci),
            "-" if path.share is None else f"{100 * path.share:.0f} %",
        ]
        for path in content.mediation
    ]
    if not rows:
        return []
    through = content.mediation[0].mediator
    header = ["metric", "factor", f"through {through}", "beside it", "total", "share through"]
    title = f"what factors do through {through} and beside it ({100 * content.confidence:g} % bootstrap intervals)"
    note = (
        "Parts of coefficients, the others held constant. Causes only if nothing unmeasured moves two of factor, "
        f"{through} and metric, and {through} has no noise: noise moves the part through it to the part beside it."
    )
    return [Sheet(title, header, rows, note, 2)]


def _figure(value: Number, decimals: int) -> str:
    return "-" if value is None else figure(value, decimals)


def _side_by_side(content: DisentangleDocument, decimals: int) -> Sheet:
    def coefficient(fit: VariantFitRow | None, factor: str) -> str:
        if fit is None or fit.coef.get(factor) is None:
            return "-"
        return _figure(fit.coef[factor], decimals) + ("†" if fit.significant.get(factor) else "")

    by_name = [{fit.metric: fit for fit in variant.results} for variant in content.variants]
    factors = list(
        dict.fromkeys([*content.factors, *(name for variant in content.variants for name in variant.factors)])
    )
    rows = []
    for fit in content.results:
        own = VariantFitRow(metric=fit.metric, coef=fit.coef, significant=fit.significant)
        for factor in factors:
            cells = [coefficient(of.get(fit.metric), factor) for of in by_name]
            rows.append([fit.metric, factor, coefficient(own, factor), *cells])
        r2 = [_figure(of[fit.metric].r2 if fit.metric in of else None, decimals) for of in by_name]
        rows.append([fit.metric, "R²", _figure(fit.r2, decimals), *r2])
    title = f"the same coefficients, estimated otherwise († p < {content.alpha:g})"
    note = "; ".join(f"{variant.name}: {variant.what}" for variant in content.variants)
    return Sheet(title, ["metric", "factor", "above", *(variant.name for variant in content.variants)], rows, note, 2)


def _random_effects(variant: VariantRow, decimals: int) -> Sheet:
    rows = []
    for fit in variant.results:
        for factor in variant.factors:
            more = {name: values.get(factor) for name, values in fit.details.items()}
            ends = fit.ci.get(factor) or (None, None)
            i2 = more.get("i2")
            cells = [_figure(fit.coef.get(factor), decimals), " .. ".join(_figure(end, decimals) for end in ends)]
            cells += [_figure(more.get("tau2"), decimals + 1), "-" if i2 is None else f"{100 * i2:.0f} %"]
            reach = " .. ".join(_figure(more.get(end), decimals) for end in ("predict_low", "predict_high"))
            rows.append([fit.metric, factor, *cells, _p(more.get("q_p")), reach])
    header = ["metric", "factor", "mean", "interval", "tau²", "I²", "p: the same", "a further group"]
    return Sheet("how much coefficients vary over groups (random effects)", header, rows, names=2)


def _within(variant: VariantRow) -> Sheet:
    tests = ("slopes", "intercepts", "slopes and intercepts")
    rows = [
        [
            fit.metric,
            *(_p(fit.details.get("groups", {}).get(test)) for test in tests),
            *(_p(fit.details.get("difference", {}).get(factor)) for factor in variant.factors),
        ]
        for fit in variant.results
    ]
    header = [
        "metric",
        *(f"same {test}" for test in tests),
        *(f"{factor}: pooled = within" for factor in variant.factors),
    ]
    return Sheet(
        "do the groups have the same slopes and intercepts, and does pooling change anything? (p)", header, rows
    )


def _variances(variant: VariantRow, decimals: int) -> Sheet:
    parts = list(variant.results[0].details.get("variance", {}))
    rows = [
        [fit.metric, *(_figure(fit.details.get("variance", {}).get(part), decimals) for part in parts)]
        for fit in variant.results
    ]
    return Sheet("variance between segments, systems and rows (random intercepts)", ["metric", *parts], rows)


def _tipping(content: DisentangleDocument) -> list[Sheet]:
    found = []
    for noisy, group in dict.fromkeys((point.noisy, point.group) for point in content.tipping):
        points = [point for point in content.tipping if (point.noisy, point.group) == (noisy, group)]
        own = {(point.metric, point.factor): point for point in points}
        factors = list(dict.fromkeys(factor for _, factor in own))
        rows = []
        for metric in dict.fromkeys(metric for metric, _ in own):
            cells = []
            for factor in factors:
                point = own[metric, factor]
                gone = point.insignificant_below
                shown = "never" if gone is None else "n.s." if gone >= 1 else f"{gone:.2f}"
                cells.append(shown if point.zero_below is None else f"{shown} (0 at {point.zero_below:.2f})")
            rows.append([metric, *cells])
        lowest = {metric: _figure(point.lowest, 2) for (metric, _), point in own.items()}
        tried = ", ".join(f"{metric} {value}" for metric, value in lowest.items())
        note = (
            "n.s.: not significant to begin with. Tried down to the reliability below which the factors would explain "
            f"more than there is: {tried}."
        )
        where = f" ({group})" if group else ""
        title = f"tipping points{where}: the reliability of {noisy} below which a coefficient is no longer significant"
        found.append(Sheet(title, ["metric", *factors], rows, note))
    return found


def _p(value: Number) -> str:
    return "-" if value is None else p_value(value)
