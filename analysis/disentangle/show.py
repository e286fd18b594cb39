"""What disentangling regressions look like: which factors go with a metric, and what that rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bsx.analysis.disentangle.result import (
    COOK_LIMIT,
    FEW_DEGREES,
    MOST_SHARE,
    ROWS_PER_FACTOR,
    VIF_LIMIT,
    CoefficientComparison,
    Coefficients,
    DisentangleResult,
    MetricFit,
    NestedTest,
)
from bsx.analysis.present import charts
from bsx.analysis.present.cells import (
    EQUIVALENT,
    FEWEST,
    estimate,
    interval,
    listed,
    no_others,
    number,
    p_value,
    percent,
    table,
    text,
    verdict_cell,
)
from bsx.analysis.present.forms import as_row, lists, presents
from bsx.analysis.present.numbers import p_value as p_text
from bsx.analysis.present.parts import Answer, Cell, Chart, Notes, Part, TablePart
from bsx.analysis.present.significance import CORRECTED, dagger, some, table_of_tests
from bsx.analysis.stats.equivalence import verdict
from bsx.support.result import Notice

_ERRORS = {"classic": "classic", "hc3": "HC3", "cluster": "cluster-robust"}
_PLURAL = {"row": "rows", "segment": "segments", "document": "documents", "system": "systems"}
_OWN_SCALE = (
    "Own scale: metric and factors are standardised inside each group, so groups that differ in spread alone share "
    "their coefficients here."
)
_COMPARED = 0.05  # p below which two coefficients differ significantly
_BY_METRIC = 3  # metrics up to which a sentence goes metric by metric, else factor by factor
_BESIDE = {"within": "within {}", "errors-in-variables": "without noise"}
# What stands beside the main estimate in the short form.
_OBSERVED = (
    "Coefficients say what scores are associated with in these rows, not what a metric reacts to: for that, bsx "
    "intervene changes texts and holds the rest."
)


@presents(DisentangleResult, section=("factors", "Factor profiles"))
def parts(result: DisentangleResult) -> Iterator[Part]:
    """Yield the finding, the coefficients, and everything that they rest on."""
    yield Answer(_finding(result))
    two = result.comparison is not None and len(result.results) == 2
    if result.comparison is not None:
        yield _compared(result.comparison)
    yield replace(_main(result), full=two)
    changes = [worded(notice) for notice in _joined(result.warnings)]  # what changes the reading
    changes += [f"{note}." for note in result.notes]
    if result.omitted:
        changes.append(f"{result.omitted:,} rows are left out because a number is missing.")
    yield Notes((*changes, _OBSERVED))
    names = tuple(fit.metric for fit in result.results)
    points = [
        charts.Point(factor, place, fit.coef[factor], *_span(fit, factor), fit.metric)
        for factor in result.factors
        for place, fit in enumerate(result.results)
    ]
    alt = "Standardised coefficients of each factor in each metric, with intervals."
    title, shown = "What each metric is associated with", names if len(names) > 1 else ()
    yield charts.forest(title, points, alt=alt, axis="standardised coefficient", names=shown)
    yield _intervals(result)
    yield from _matters(result)
    yield from _shares(result)
    yield from _variance(result)
    yield from _groups(result)
    yield from _variants(result)
    yield from _bends(result)
    yield from nested(result.tests)
    vif = ", ".join(f"{name} {value:.2f}" for name, value in result.results[0].vif.items())
    yield Notes((f"Variance inflation: {vif}; condition number {result.condition_number:.2f}.",), full=True)


def _matters(result: DisentangleResult) -> Iterator[TablePart]:
    """Yield which coefficients are shown to be too small to matter, if a margin says what that is."""
    if result.margin is None:
        return
    rows = []
    for fit in result.results:
        for name, p in fit.p_equivalence.items():
            said = verdict(fit.significant[name], p, result.alpha)
            cells = [text(fit.metric), text(name), estimate(fit.coef[name], fit.ci[name])]
            rows.append([*cells, p_value(fit.p_adjusted[name]), p_value(p), verdict_cell(said, result.margin)])
    heads = ["metric", "factor", "coefficient", "p of 0", "p of equivalence", "verdict"]
    note = f"{EQUIVALENT.format(f'{result.margin:g}')} The difference is that from 0; both p: "
    note += f"{CORRECTED[result.correction]}."
    caption = f"Coefficients: different from 0, or too small to matter, with {100 * result.confidence:g} % intervals"
    yield table(caption, heads, rows, note=note, names=2)


@presents(CoefficientComparison)
def compared(result: CoefficientComparison) -> Iterator[Part]:
    """Yield which coefficients of two metrics differ, then all side by side."""
    yield Answer(_told_apart(result))
    yield _compared(result)


def _compared(result: CoefficientComparison) -> TablePart:
    """Return two metrics' coefficients side by side."""
    first = next(iter(result.by.values()))
    caption = (
        f"{result.a} compared with {result.b}, n = {first.n:,}; {first.method}, {100 * first.confidence:g} % intervals"
    )
    tests = [(("R²" if name == "r2" else name,), test) for name, test in result.by.items()]
    how: dict[str, Any] = {
        "alpha": _COMPARED,
        "margin": result.margin,
        "level": f"two-sided p < {_COMPARED}, uncorrected",
    }
    return table_of_tests(caption, tests, ["factor", result.a, result.b], values=True, **how)


@lists(CoefficientComparison)
def comparison_rows(result: CoefficientComparison) -> Iterator[Mapping[str, object]]:
    """Yield a row a factor."""
    for name, comparison in result.by.items():
        yield {"factor": name, **as_row(comparison)}


@lists(DisentangleResult)
def rows(result: DisentangleResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a group, metric and factor, full precision; the group is empty for all rows together."""
    plain = ("statistic", "vif", "r2_share", "partial_r2", "semipartial_r2", "importance")
    for group, part in {"": result, **result.groups}.items():
        for fit in part.results:
            for name in part.factors:
                row = {"group": group, "n": part.n, **_coefficient(fit, name), "variant": ""}
                row |= {what: getattr(fit, what)[name] for what in plain}
                row |= {"r2": fit.r2, "adj_r2": fit.adj_r2, "r2_out": fit.r2_out}
                ends = {"r2": fit.r2_ci, "partial": fit.partial_r2_ci[name], "semipartial": fit.semipartial_r2_ci[name]}
                for what, (low, high) in (ends | {"boot": fit.ci_bootstrap.get(name, ("", ""))}).items():
                    row |= {f"{what}_low": low, f"{what}_high": high}
                yield row
    for variant in result.variants:
        for other in variant.results:
            more = {"n": result.n, "r2": "" if other.r2 is None else other.r2, "variant": variant.name}
            yield from ({**_coefficient(other, name), **more} for name in variant.factors)


def nested(tests: Mapping[str, Sequence[NestedTest]]) -> Iterator[TablePart]:
    """Yield a table of nested tests; metric -> its tests."""
    results = []
    for metric, own in tests.items():
        for test in own:
            added = " + ".join(test.added) if test.name == "factors" else f"{test.name} ({', '.join(test.added)})"
            df = f"{test.df1}, {test.df2:g}" if math.isfinite(test.df2) else str(test.df1)
            cells = [number(test.r2_base), number(test.r2_full), number(test.gain), number(test.statistic, 2), text(df)]
            results.append([text(metric), text(added), *cells, p_value(test.p, mark=dagger(test.p))])
    if results:
        n = next(own[0].n for own in tests.values() if own)
        caption = f"What further terms explain, n = {n:,}; tests of nested models, uncorrected"
        heads = ["metric", "added", "R² before", "after", "gain", "F or χ²/df", "df", "p"]
        yield table(caption, heads, results, note="†: p < 0.05.", names=2, full=True)


def worded(notice: Notice) -> str:
    """Return a warning of a regression in words."""
    name, about, values = notice.name, notice.about, notice.values
    if name == "simpson":
        apart = [
            f"{d['metric']} {d['factor']} {d['within']:.3f} (all rows {d['pooled']:.3f})" for d in values["differences"]
        ]
        return (
            f"coefficients within one {about} differ from those of all rows: {some(apart, long=True)}; "
            f"within={about} gives them all."
        )
    if name == "bent":
        changed = (
            f"with {listed(list(d['bent']))} bent, {d['factor']} is {d['coef']:.2f} (p {d['p']:.2g}) instead of "
            f"{d['line']:.2f} (p {d['line_p']:.2g})"
            for d in values["changed"]
        )
        curves = {factor: p for d in values["changed"] for factor, p in d["bent"].items()}
        which = listed([f"{factor} (p {p:.2g})" for factor, p in curves.items()])
        return f"{about}: a straight line does not fit {which}: {'; '.join(changed)}; see spline={','.join(curves)}."
    if name == "collinearity":
        which = ", ".join(f"{factor} {vif:.1f}" for factor, vif in values["vif"].items()) or "none"
        return (
            f"the factors overlap (VIF above {VIF_LIMIT:g}: {which}; condition number {values['condition']:.1f}): "
            "single coefficients are poorly determined; shares of R² and tests of several factors together say more."
        )
    if name == "tiny-n" and about:
        few = ", ".join(f"{group!r} ({n})" for group, n in values["groups"].items())
        return f"{about} {few}: under {ROWS_PER_FACTOR} rows a factor, so R² comes out too high there."
    if name == "tiny-n":
        return f"{values['n']} rows for {values['factors']} factors: under {ROWS_PER_FACTOR} a factor."
    if name == "few-clusters":
        reasons = []
        for factor, found in values["factors"].items():
            df, share = found["df"] or 0.0, found["share"]
            why = [] if df >= FEW_DEGREES else [f"{df:.1f} degrees of freedom" if df > 0 else "no degrees of freedom"]
            why += [f"one cluster with {100 * share:.0f} % of its variation"] if share > MOST_SHARE else []
            reasons.append(f"that of {factor} on {' and '.join(why)}")
        counted = " x ".join(f"{many:,}" for many in values["clusters"])
        return (
            f"few of {counted} clusters decide standard errors: {'; '.join(reasons)}. Such intervals are wide, and not "
            "sure to hold their level."
        )
    if name == "undefined-resamples":
        return f"{values['undefined']} of {values['resamples']} resamples had a constant column or collinear factors."
    if name == "influential-rows":
        rows_ = [str(row) for row in values["rows"]]
        which = ", ".join(rows_[:5]) + (f" and {len(rows_) - 5} more" if len(rows_) > 5 else "")
        decide = f"row {which} of those fitted decides" if len(rows_) == 1 else f"rows {which} of those fitted decide"
        return f"{about}: {decide} much (Cook's distance above {COOK_LIMIT:g})."
    if name == "stars-depend-on-se":
        changed = (f"{d['metric']} {d['factor']} (p {d['p']:.2g}, with HC3 {d['hc3']:.2g})" for d in values["changed"])
        return (
            f"the residuals' spread is too uneven to be sure of what is significant: {', '.join(changed)}; "
            "se=hc3 allows for it."
        )
    if name == "group-left-out":
        return f"{values['column']} {about!r}: {values['why']}."
    return (  # mostly-length
        f"{about} is mostly length: how long the texts are, and how unequal, explain {100 * values['share']:.0f} % "
        "of its variance; controls=length holds both constant."
    )


def _finding(result: DisentangleResult) -> str:
    """Return which factors each metric is associated with, by significance; a paradox comes first."""
    if result.n < FEWEST:
        return f"{result.n} rows are too few to say what a metric is associated with."
    said = [_paradox(notice, result.alpha) for notice in result.warnings if notice.name == "simpson"]
    for notice in result.warnings:
        if notice.name == "bent":
            one = notice.values["changed"][0]
            said.append(
                f"Careful: the coefficient of {one['factor']} in {notice.about} is {one['line']:.2f} with straight "
                f"lines in {listed(list(one['bent']))}, and {one['coef']:.2f} with curves."
            )
    if result.comparison is not None:
        said.append(_told_apart(result.comparison))
    said.append(f"On {result.n:,} rows, {_associations(result.results, result.factors)}.")
    for variant in result.variants:
        if variant.name in ("within", "errors-in-variables"):
            inside = f"Within one {' and '.join(variant.levels)}" if variant.levels else "Corrected for noise"
            signs, main = (
                [[np.sign(fit.coef[f]) if fit.significant.get(f) else 0 for f in result.factors] for fit in fits]
                for fits in (variant.results, result.results)
            )
            own = _associations(variant.results, result.factors)
            said.append(
                f"{inside}, {'the same coefficients are significant, with the same signs' if signs == main else own}."
            )
    return " ".join(said)


def _paradox(notice: Notice, alpha: float) -> str:
    """Return how what is so within levels differs from what is so over all rows."""
    first = notice.values["differences"][0]
    over, inner = ("rises" if first[where] > 0 else "falls" for where in ("pooled", "within"))
    turned = f"{over} with {first['factor']} ({first['pooled']:.2f})"
    same, significant = first["pooled"] * first["within"] > 0, first["p"] < alpha
    if not significant:
        inside = f"{first['factor']} adds nothing significant"
    elif same:
        inside = "it does more" if abs(first["within"]) > abs(first["pooled"]) else "it does less"
    else:
        inside = f"it {inner} with it"
    paradox = "" if same and significant else ", Simpson's paradox"
    return (
        f"Careful{paradox}: over all rows {first['metric']} {turned}, within one {notice.about} {inside} "
        f"({first['within']:.2f}); the rest comes from differences between levels of {notice.about}."
    )


def _told_apart(result: CoefficientComparison) -> str:
    """Return which coefficients of two metrics differ significantly."""
    apart = {name: one for name, one in result.by.items() if name != "r2" and one.p_two_sided < _COMPARED}
    if not apart:
        return f"{result.a} and {result.b} are not told apart in any coefficient."
    shown = [
        f"{name} ({one.value_a:.2f} and {one.value_b:.2f}, p {p_text(one.p_two_sided)})" for name, one in apart.items()
    ]
    return f"{result.a} and {result.b} differ significantly in {listed(shown)} (uncorrected)."


def _associations(fits: Sequence[Coefficients], factors: Sequence[str]) -> str:
    """Return which coefficients are significant: metric by metric, or of many metrics factor by factor."""
    if len(fits) > _BY_METRIC:
        return "; ".join(_of_factor(fits, factor) for factor in factors)
    phrases = []
    for fit in fits:
        strong = sorted((f for f in factors if fit.significant.get(f)), key=lambda f: -abs(fit.coef[f]))
        ups = [f"{f} ({fit.coef[f]:.2f})" for f in strong if fit.coef[f] > 0]
        downs = [f"{f} ({fit.coef[f]:.2f})" for f in strong if fit.coef[f] < 0]
        ways = [f"rises with {listed(ups)}"] * bool(ups) + [f"falls with {listed(downs)}"] * bool(downs)
        phrases.append(f"{fit.metric} {' and '.join(ways) or 'is significantly associated with no factor'}")
    apart = any(not fit.significant.get(f) for fit in fits for f in factors)
    return "; ".join(phrases) + no_others(apart, named=False)


def _of_factor(fits: Sequence[Coefficients], factor: str) -> str:
    """Return which metrics a factor has a significant coefficient in."""
    own = {fit.metric: fit.coef[factor] for fit in fits if fit.significant.get(factor)}
    ways = []
    for verb, side in (
        ("rise", {name: value for name, value in own.items() if value > 0}),
        ("fall", {name: value for name, value in own.items() if value < 0}),
    ):
        if side:
            low, high = min(side.values(), key=abs), max(side.values(), key=abs)
            spread = f"{low:.2f}" if len(side) == 1 else f"{low:.2f} to {high:.2f}"
            many = f"all {len(fits)} metrics" if len(side) == len(fits) else some(list(side))
            ways.append(f"{many} {verb}{'s' * (len(side) == 1)} with {factor} ({spread})")
    return " and ".join(ways) or f"no metric is significantly associated with {factor}"


def _main(result: DisentangleResult) -> TablePart:
    """Return the coefficients of all rows, and beside them those within groups or without noise."""
    beside = [variant for variant in result.variants if variant.name in _BESIDE]
    within = " and ".join(next((variant.levels for variant in beside if variant.name == "within"), ()))
    results = []
    for fit in result.results:
        first = [text(fit.metric), *([text("all rows")] if beside else [])]
        r2 = estimate(fit.r2, fit.r2_ci, 2)
        results.append([*first, *(_marked(fit, f, 2) for f in result.factors), r2])
        for variant in beside:
            own = variant[fit.metric]
            cells = [_marked(own, f, 2) for f in result.factors]
            results.append([text(fit.metric), text(_BESIDE[variant.name].format(within)), *cells, number(own.r2, 2)])
    level = f"{100 * result.confidence:g} %"
    caption = f"Standardised coefficients, n = {result.n:,}; R² with its {level} interval"
    heads = ["metric", *(["estimate"] if beside else []), *result.factors, "R²"]
    return table(caption, heads, results, note=_how(result), names=1 + bool(beside))


def _how(result: DisentangleResult) -> str:
    """Return what is marked, what intervals and tests take to be a sample, what as it is, and the standard errors."""
    why = f"; {result.se_reason}" if result.se_reason else ""
    reference = "normal distribution" if result.reference == "normal" else result.reference
    drawn, held = (
        listed([_PLURAL.get(name, f"values of {name}") for name in names]) for names in (result.sampled, result.held)
    )
    fixed = f"; {held} are held fixed: nothing is said about others" if result.held else ""
    sampled = f"† p < {result.alpha:g}, {CORRECTED[result.correction]}. Sampled: {drawn}{fixed}."
    return f"{sampled}\nStandard errors: {_ERRORS[result.se]}, {reference}{why}."


def _joined(notices: Sequence[Notice]) -> list[Notice]:
    """Return notices, those of the same influential rows as one about all their metrics."""
    same: dict[tuple[str, str], list[Notice]] = {}
    for place, notice in enumerate(notices):
        alone = "" if notice.name == "influential-rows" else str(place)
        same.setdefault((notice.name, alone or str(notice.values["rows"])), []).append(notice)
    return [replace(first, about=listed([first.about, *(one.about for one in rest)])) for first, *rest in same.values()]


def _marked(fit: Coefficients, factor: str, decimals: int = 3) -> Cell:
    return number(fit.coef.get(factor), decimals, mark="†" * fit.significant.get(factor, False))


def _coefficient(fit: Coefficients, factor: str) -> dict[str, object]:
    low, high = fit.ci[factor]
    results = {what: getattr(fit, what)[factor] for what in ("coef", "se", "p", "p_adjusted")}
    significant = str(fit.significant[factor]).lower()
    return {
        "metric": fit.metric,
        "factor": factor,
        **results,
        "significant": significant,
        "ci_low": low,
        "ci_high": high,
    }


def _span(fit: MetricFit, factor: str) -> tuple[float, float]:
    return fit.ci_bootstrap.get(factor) or fit.ci[factor]


def _intervals(result: DisentangleResult) -> TablePart:
    level, sampled = f"{100 * result.confidence:g} %", bool(result.bootstrap)
    results = []
    for fit in result.results:
        for factor in result.factors:
            boot = [interval(fit.ci_bootstrap.get(factor))] if sampled else []
            p = p_value(fit.p_adjusted[factor])
            results.append([text(fit.metric), text(factor), _marked(fit, factor), interval(fit.ci[factor]), *boot, p])
        if sampled:
            results.append(
                [text(fit.metric), text("R²"), number(fit.r2), Cell(""), interval(fit.r2_bootstrap), Cell("")]
            )
    boots = [f"of {result.bootstrap} resamples"] if sampled else []
    heads = ["metric", "factor", "coefficient", "interval", *boots, "p"]
    return table(f"Coefficients with {level} intervals", heads, results, note=_how(result), names=2, full=True)


def _shares(result: DisentangleResult) -> Iterator[Part]:
    names = result.factors
    bars = [
        (fit.metric, place, fit.r2_share[factor], factor)
        for fit in result.results
        for place, factor in enumerate(names)
    ]
    alt = "Shares of each metric's variance that the factors explain, stacked to R²."
    spec = charts.stacked(bars, alt=alt, axis="share of R²", series=len(names))
    yield Chart("How much each factor explains", alt, (("", spec),), names, fills=True)
    level = f"{100 * result.confidence:g} % interval"
    results = []
    shared = names if len(names) > 1 else ()
    for fit in result.results:
        further = (number(fit.adj_r2), number(fit.r2_out))
        shares = (number(fit.r2_share[f]) for f in shared)
        results.append([text(fit.metric), *shares, estimate(fit.r2, fit.r2_ci), *further])
    note = "Shapley values of R² (Lindeman, Merenda & Gold 1980): a metric's shares sum to its R².\n" * bool(shared)
    note += "New rows: cross-validation; rows that share a segment or a text stay in one fold."
    heads = ["metric", *shared, "R²", "adjusted R²", "new rows"]
    caption = f"{'Shares of R², and ' * bool(shared)}R² with its {level}"
    yield table(caption, heads, results, note=note, full=True)


def _variance(result: DisentangleResult) -> Iterator[TablePart]:
    """Yield what each factor explains beside the others, and what they explain in common."""
    fits = result.results
    if len(result.factors) == 1:  # it is R² once more
        return
    results = []
    for fit in fits:
        for f in result.factors:
            partial = estimate(fit.partial_r2[f], fit.partial_r2_ci[f])
            drop = estimate(fit.semipartial_r2[f], fit.semipartial_r2_ci[f])
            results.append([text(fit.metric), text(f), partial, drop, number(fit.importance[f])])
    heads = ["metric", "factor", "partial R²", "drop without it", "drop when shuffled"]
    note = (
        "Drops in R²: without the factor (semi-partial R²), and on new rows when its values are shuffled (permutation "
        "importance)."
    )
    caption = f"What each factor explains in addition to the others, with {100 * result.confidence:g} % intervals"
    yield table(caption, heads, results, note=note, names=2, full=True)
    parts_ = list(fits[0].commonality)
    if len(parts_) > 1:
        results = [
            [text(part.replace("+", " + ")), *(number(fit.commonality[part]) for fit in fits)] for part in parts_
        ]
        caption = "Parts of R² that factors explain alone and in common (commonality analysis)"
        heads = ["factors", *(fit.metric for fit in fits)]
        yield table(caption, heads, results, note="Negative: one hides the other.", full=True)


def _groups(result: DisentangleResult) -> Iterator[Part]:
    """Yield the coefficients of all groups side by side, with the tests that they are the same."""
    if not result.groups:
        return
    groups = {"all": result, **result.groups}
    names = tuple(fit.metric for fit in result.results)
    ends = [
        end
        for part in groups.values()
        for fit in part.results
        for f in result.factors
        for end in (fit.coef[f], *_span(fit, f))
        if math.isfinite(end)
    ]
    span = (min(0.0, *ends), max(0.0, *ends)) if ends else None
    panels = []
    for factor in result.factors:
        points = [
            charts.Point(name, place, part[metric].coef[factor], *_span(part[metric], factor), metric)
            for name, part in groups.items()
            for place, metric in enumerate(names)
        ]
        alt = f"Coefficients of {factor} in each group, with intervals, one mark a metric."
        axis = "standardised coefficient"
        panels.append((factor, charts.intervals(points, alt=alt, axis=axis, series=len(names), span=span, dense=True)))
    alt = f"Coefficients by group, a panel for each factor: {', '.join(groups)}."
    yield Chart(
        "What each metric is associated with, group by group", alt, tuple(panels), names if len(names) > 1 else ()
    )
    pooled = {test.metric: test for test in result.pooled}
    results = []
    for metric in names:
        for factor in (*result.factors, ""):
            own = [_marked(part[metric], factor) if factor else number(part[metric].r2) for part in groups.values()]
            p = pooled[metric].by_factor.get(factor) if factor and metric in pooled else None
            results.append([text(metric), text(factor or "R²"), *own, *([p_value(p)] if pooled else [])])
    heads = ["metric", "factor", *(f"{name} (n = {part.n:,})" for name, part in groups.items())]
    note = f"† p < {result.alpha:g}, {CORRECTED[result.correction]}."
    note += f" The last column tests whether the groups share it. {_OWN_SCALE}" if pooled else ""
    heads += ["p: the same"] if pooled else []
    yield table("Coefficients by group", heads, results, note=note, names=2, full=True)
    if pooled:
        results = [
            [text(t.metric), number(t.statistic, 2), number(t.df1), number(t.df2, 0), p_value(t.p)]
            for t in result.pooled
        ]
        caption = f"Do the groups share all their coefficients, each on its own scale? ({result.pooled[0].method})"
        yield table(caption, ["metric", "F", "df", "residual df", "p"], results, note=_OWN_SCALE, full=True)


def _variants(result: DisentangleResult) -> Iterator[TablePart]:
    """Yield the same coefficients estimated otherwise, side by side, and what belongs to each way."""
    if not result.variants:
        return
    rows_: list[list[Cell]] = []
    factors = [*result.factors, *(name for variant in result.variants for name in variant.factors)]
    for fit in result.results:
        others = [variant[fit.metric] for variant in result.variants]
        for factor in dict.fromkeys(factors):
            rows_.append([text(fit.metric), text(factor), *(_marked(own, factor) for own in (fit, *others))])
        rows_.append([text(fit.metric), text("R²"), number(fit.r2), *(number(own.r2) for own in others)])
    note = "; ".join(f"{variant.name}: {variant.what}" for variant in result.variants)
    heads = ["metric", "factor", "main estimate", *(variant.name for variant in result.variants)]
    caption = f"The same coefficients, estimated otherwise († p < {result.alpha:g})"
    yield table(caption, heads, rows_, note=note, names=2, full=True)
    for variant in result.variants:
        rows_ = []
        if variant.name == "random-effects":
            for own in variant.results:
                for factor in variant.factors:
                    more = {name: values.get(factor) for name, values in own.details.items()}
                    reach = interval((more.get("predict_low"), more.get("predict_high")))
                    cells = [number(own.coef[factor]), interval(own.ci[factor]), number(more.get("tau2"), 4)]
                    cells += [percent(more.get("i2")), p_value(more.get("q_p")), reach]
                    rows_.append([text(own.metric), text(factor), *cells])
            heads = ["metric", "factor", "mean", "interval", "tau²", "I²", "p: the same", "a further group"]
            yield table("How much coefficients vary over groups (random effects)", heads, rows_, names=2, full=True)
        if variant.name == "within":
            for own in variant.results:
                for factor in variant.factors:
                    p = p_value(own.details["difference"].get(factor))
                    cells = [_marked(own, factor), interval(own.ci[factor]), p_value(own.p[factor]), p]
                    rows_.append([text(own.metric), text(factor), *cells])
                for what, r2 in (("R²", own.r2), ("R² with intercepts", own.details["within"]["r2"])):
                    rows_.append([text(own.metric), text(what), number(r2), *[Cell("")] * 3])
            heads = ["metric", "factor", "coefficient", "interval", "p", "p: as over all rows"]
            caption = f"Coefficients within {' and '.join(variant.levels)}"
            note = f"{variant.what[0].upper()}{variant.what[1:]}."
            yield table(caption, heads, rows_, note=note, names=2, full=True)


def _bends(result: DisentangleResult) -> Iterator[Part]:
    """Yield what the factors that stay straight have next to bent ones, what curves gain, and the curves."""
    results, beside = [], []
    for bend in result.bends:
        if bend.coef:
            fit = result[bend.metric]
            line = [number(fit.coef[f], 2, mark=dagger(fit.p[f], result.alpha)) for f in result.factors]
            curve = [
                number(bend.coef[f], 2, mark=dagger(bend.coef_p[f], result.alpha)) if f in bend.coef else text("curve")
                for f in result.factors
            ]
            beside.append([text(bend.metric), text(f"a line in {bend.factor}"), *line])
            beside.append([text(bend.metric), text(f"a curve in {bend.factor}"), *curve])
        figures = [number(value) for value in (bend.r2_line, bend.r2_curve, bend.out_line, bend.out_curve)]
        results.append(
            [text(bend.metric), text(bend.factor), *figures, number(bend.statistic, 2), p_value(bend.p_adjusted)]
        )
    if not results:
        return
    if beside:
        caption = "Coefficients next to a straight line and next to a curve"
        note = f"† p < {result.alpha:g}, uncorrected. A factor that is bent has a curve and no coefficient."
        yield table(caption, ["metric", "next to", *result.factors], beside, note=note, names=2)
    heads = ["metric", "bent", "R² of lines", "of curves", "lines, new rows", "curves, new rows", "F", "p"]
    note = "New rows: cross-validation, the same folds for both. p: no curve."
    caption = "What is gained if factors act in curves (natural splines) instead of straight lines"
    yield table(caption, heads, results, note=note, names=2, full=True)
    for factor in dict.fromkeys(bend.factor for bend in result.bends if bend.curve):
        panels = []
        for bend in result.bends:
            if bend.factor == factor and bend.curve:
                marks = [(at, 0, effect, "curve") for at, effect, *_ in bend.curve]
                marks += [(point[0], 1, point[4], "straight line") for point in bend.curve]
                alt = f"What {factor} adds to {bend.metric}, as a curve and as a straight line."
                heights = [height for _, _, height, _ in marks]
                ticks = (bend.curve[0][0], bend.curve[-1][0])
                spec = charts.lines(
                    marks, alt=alt, x=factor, y="adds (sd)", series=2, span=(min(heights), max(heights)), ticks=ticks
                )
                panels.append((bend.metric, spec))
        alt = f"What {factor} adds to each metric, as a curve and as a straight line."
        yield Chart(f"The curve of {factor}", alt, tuple(panels), ("curve", "straight line"))
