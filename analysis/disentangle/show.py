"""What disentangling regressions look like: which factors go with a metric, what that rests on, notices in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bsx.analysis.disentangle.result import (
    COOK_LIMIT,
    FEW_DEGREES,
    MOST_SHARE,
    ROWS_PER_FACTOR,
    VIF_LIMIT,
    Bend,
    CoefficientComparison,
    Coefficients,
    DisentangleResult,
    MetricFit,
    NestedTest,
    VariantFit,
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
    table_of,
    text,
    verdict_cell,
)
from bsx.analysis.present.forms import as_row, lists, presents
from bsx.analysis.present.numbers import p_value as p_text
from bsx.analysis.present.parts import Answer, Cell, Chart, Notes, Part, TablePart
from bsx.analysis.present.significance import CORRECTED, dagger, some, table_of_tests
from bsx.analysis.stats.equivalence import verdict
from bsx.analysis.stats.regression import PooledTest
from bsx.support.result import Notice

_ERRORS = {"classic": "classic", "hc3": "HC3", "cluster": "cluster-robust"}
_PLURAL = {"row": "rows", "segment": "segments", "document": "documents", "system": "systems"}
_OWN_SCALE = (
    "Own scale: metric and factors are standardised inside each group, so groups that differ in spread alone "
    "share their coefficients here. A slope is in units that all groups share: where a metric has more noise, "
    "coefficients are smaller and slopes the same."
)
_COMPARED = 0.05  # p below which two coefficients differ significantly
_BY_METRIC = 3  # metrics up to which a sentence goes metric by metric, else factor by factor
Of = tuple[MetricFit, str]
"""A metric's regression and one of its factors; none is R²."""
Columns = dict[str, Callable[[Of], Cell] | None]
_NAMES: Columns = {"metric": lambda of: text(of[0].metric), "factor": lambda of: text(of[1] or "R²")}
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
        yield from (part for part in compared(result.comparison) if isinstance(part, TablePart))
    yield replace(_main(result), full=two)
    changes = [worded(notice) for notice in joined(result.warnings)]  # what changes the reading
    changes += [f"{note}." for note in result.notes]
    if result.omitted:
        changes.append(f"{result.omitted:,} rows are left out because a number is missing.")
    yield Notes((*changes, _OBSERVED))
    names = tuple(fit.metric for fit in result.results)
    points = [point for factor in result.factors for point in _points(result, factor, factor)]
    alt = "Standardised coefficients of each factor in each metric, with intervals."
    title, shown = "What each metric is associated with", names if len(names) > 1 else ()
    yield charts.forest(title, points, alt=alt, axis="standardised coefficient", names=shown)
    yield from _coefficients(result)
    yield from _explained(result)
    yield from _groups(result)
    yield from _variants(result)
    yield from _bends(result)
    yield from nested(result.tests)
    vif = ", ".join(f"{name} {value:.2f}" for name, value in result.results[0].vif.items())
    yield Notes((f"Variance inflation: {vif}; condition number {result.condition_number:.2f}.",), full=True)


@presents(CoefficientComparison)
def compared(result: CoefficientComparison) -> Iterator[Part]:
    """Yield which coefficients of two metrics differ, then all side by side."""
    yield Answer(_differing(result))
    first = next(iter(result.by.values()))
    caption = (
        f"{result.a} compared with {result.b}, n = {first.n:,}; {first.method}, {100 * first.confidence:g} % intervals"
    )
    tests = [(("R²" if name == "r2" else name,), test) for name, test in result.by.items()]
    heads, level = ["factor", result.a, result.b], f"two-sided p < {_COMPARED}, uncorrected"
    yield table_of_tests(caption, tests, heads, values=True, alpha=_COMPARED, margin=result.margin, level=level)


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
    every = [(metric, test) for metric, of_metric in tests.items() for test in of_metric]
    if not every:
        return
    columns: dict[str, Callable[[tuple[str, NestedTest]], Cell]] = {
        "metric": lambda of: text(of[0]),
        "added": lambda of: text(
            " + ".join(of[1].added) if of[1].name == "factors" else f"{of[1].name} ({', '.join(of[1].added)})"
        ),
        "R² before": lambda of: number(of[1].r2_base),
        "after": lambda of: number(of[1].r2_full),
        "gain": lambda of: number(of[1].gain),
        "F or χ²/df": lambda of: number(of[1].statistic, 2),
        "df": lambda of: text(f"{of[1].df1}" + f", {of[1].df2:g}" * math.isfinite(of[1].df2)),
        "p": lambda of: p_value(of[1].p, mark=dagger(of[1].p)),
    }
    caption = f"What further terms explain, n = {every[0][1].n:,}; tests of nested models, uncorrected"
    yield table_of(caption, every, columns, note="†: p < 0.05.", names=2, full=True)


def _finding(result: DisentangleResult) -> str:
    """Return which factors each metric is associated with, by significance; a paradox comes first."""
    if result.n < FEWEST:
        return f"{result.n} rows are too few to say what a metric is associated with."
    sentences = []
    for notice in sorted(result.warnings, key=lambda notice: notice.name != "simpson"):
        if notice.name == "simpson":
            first, about = notice.values["differences"][0], notice.about
            over, within = result[first["metric"]].significant.get(first["factor"]), first["p"] < result.alpha
            if not (over or within):  # the notes say that they differ
                continue
            paradox = ", Simpson's paradox" if over and within and first["pooled"] * first["within"] < 0 else ""
            verb = ("rises" if first["pooled"] > 0 else "falls") if over else "does not significantly go"
            sentences.append(
                f"Careful{paradox}: over all rows {first['metric']} {verb} with {first['factor']} "
                f"({first['pooled']:.2f}), within one {about} the coefficient is {first['within']:.2f}"
                f"{', not significant' * (not within)}; the difference comes from how levels of {about} differ."
            )
        elif notice.name in ("bent", "product") and notice.values["changed"]:
            first = notice.values["changed"][0]
            before, now = "without products of factors", "with them"
            if notice.name == "bent":
                before, now = f"with straight lines in {listed(list(first['bent']))}", "with curves"
            sentences.append(
                f"Careful: the coefficient of {first['factor']} in {notice.about} is {first['line']:.2f} {before}, and "
                f"{first['coef']:.2f} {now}."
            )
    if result.comparison is not None:
        sentences.append(_differing(result.comparison))
    drawn, fixed = ([_PLURAL.get(name, name) for name in names] for names in (result.sampled, result.held))
    population = f"other {listed(drawn)} like these{f' of these {listed(fixed)}' if fixed else ''}"
    level = f"Significant: p < {result.alpha:g}, {CORRECTED[result.correction]}, for {population}"
    for notice in (notice for notice in result.warnings if notice.name == "few-clusters"):
        for factor, few in notice.values["factors"].items():
            reasons = [f"{few['df'] or 0:.1f} degrees of freedom"] * (not (few["df"] or 0) >= FEW_DEGREES)
            reasons += [f"{100 * few['share']:.0f} % of its variation in one cluster"] * (few["share"] > MOST_SHARE)
            if any(fit.significant.get(factor) for fit in result.results):
                level += f"; few clusters decide on {factor} ({', '.join(reasons)})"
    sentences.append(f"On {result.n:,} rows, {_associations(result.results, result.factors)}. {level}.")
    signs, *others = (
        [[np.sign(fit.coef[f]) if fit.significant.get(f) else 0 for f in result.factors] for fit in fits]
        for fits in (result.results, *(variant.results for variant in result.variants))
    )
    for variant, signs_beside in zip(result.variants, others, strict=True):
        if variant.name in _BESIDE:
            inside = f"Within one {' and '.join(variant.levels)}" if variant.levels else "Corrected for noise"
            same = "the same coefficients are significant, with the same signs"
            same = same if np.any(signs) else "no coefficient is significant either"
            differ = "" if signs_beside == signs else _associations(variant.results, result.factors)
            sentences.append(f"{inside}, {differ or same}.")
    return " ".join(sentences)


def _differing(result: CoefficientComparison) -> str:
    """Return which coefficients of two metrics differ significantly."""
    shown = [
        f"{name} ({test.value_a:.2f} and {test.value_b:.2f}, p {p_text(test.p_two_sided)})"
        for name, test in result.by.items()
        if name != "r2" and test.p_two_sided < _COMPARED
    ]
    if not shown:
        return f"{result.a} and {result.b} are not told apart in any coefficient."
    return f"{result.a} and {result.b} differ significantly in {listed(shown)} (uncorrected)."


def _associations(fits: Sequence[Coefficients], factors: Sequence[str]) -> str:
    """Return which coefficients are significant: metric by metric, or of many metrics factor by factor."""
    phrases = []
    for fit in fits if len(fits) <= _BY_METRIC else ():
        strong = sorted((f for f in factors if fit.significant.get(f)), key=lambda f: -abs(fit.coef[f]))
        ways = []
        for verb, sign in (("rises", 1), ("falls", -1)):
            if named := [f"{f} ({fit.coef[f]:.2f})" for f in strong if fit.coef[f] * sign > 0]:
                ways.append(f"{verb} with {listed(named)}")
        phrases.append(f"{fit.metric} {' and '.join(ways) or 'is significantly associated with no factor'}")
    if phrases:
        weak = any(not fit.significant.get(f) for fit in fits for f in factors)
        return "; ".join(phrases) + no_others(weak, named=False)
    for factor in factors:
        ways, strong_fits = [], [fit for fit in fits if fit.significant.get(factor)]
        for verb, sign in (("rise", 1), ("fall", -1)):
            if side := {fit.metric: fit.coef[factor] for fit in strong_fits if fit.coef[factor] * sign > 0}:
                ends = [f"{end(side.values(), key=abs):.2f}" for end in (min, max)]
                many = f"all {len(fits)} metrics" if len(side) == len(fits) else some(list(side))
                spread = " to ".join(ends[: len(side)])
                ways.append(f"{many} {verb}{'s' * (len(side) == 1)} with {factor} ({spread})")
        phrases.append(" and ".join(ways) or f"no metric is significantly associated with {factor}")
    return "; ".join(phrases)


def _main(result: DisentangleResult) -> TablePart:
    """Return the coefficients of all rows, and beside them those within groups or without noise."""
    beside = [variant for variant in result.variants if variant.name in _BESIDE]
    rows_ = []
    for fit in result.results:
        estimates: list[tuple[str, MetricFit | VariantFit, Cell]] = [("all rows", fit, estimate(fit.r2, fit.r2_ci, 2))]
        for variant in beside:
            other = variant[fit.metric]
            name = _BESIDE[variant.name].format(" and ".join(variant.levels))
            estimates.append((name, other, number(other.r2, 2)))
        for name, of, r2 in estimates:
            cells = [_marked(of, factor, 2) for factor in result.factors]
            cells += [text("missing")] * len(result.missing)
            rows_.append([text(fit.metric), *[text(name)] * bool(beside), *cells, r2])
    caption = f"Standardised coefficients, n = {result.n:,}; R² with its {100 * result.confidence:g} % interval"
    heads = ["metric", *["estimate"] * bool(beside), *result.factors, *result.missing, "R²"]
    note = "".join(f"{factor} is missing: {why}.\n" for factor, why in result.missing.items()) + _how(result)
    return table(caption, heads, rows_, note=note, names=1 + bool(beside))


def _how(result: DisentangleResult) -> str:
    """Return what is marked, what intervals and tests take to be a sample, what as it is, and the standard errors."""
    why = f"; {result.se_reason}" if result.se_reason else ""
    reference = "normal distribution" if result.reference == "normal" else result.reference
    drawn, fixed = (
        listed([_PLURAL.get(name, f"values of {name}") for name in names]) for names in (result.sampled, result.held)
    )
    sampled = f"† p < {result.alpha:g}, {CORRECTED[result.correction]}. Sampled: {drawn}"
    sampled += f"; {fixed} are held fixed: nothing is said about others" if result.held else ""
    return f"{sampled}.\nStandard errors: {_ERRORS[result.se]}, {reference}{why}."


def _marked(fit: MetricFit | VariantFit, factor: str, decimals: int = 3) -> Cell:
    """Return a coefficient, or R² for no factor."""
    if not factor:
        return number(fit.r2, decimals)
    return number(fit.coef.get(factor), decimals, mark="†" * fit.significant.get(factor, False))


def _of_factors(result: DisentangleResult) -> list[Of]:
    return [(fit, factor) for fit in result.results for factor in result.factors]


def _coefficient(fit: Coefficients, factor: str) -> dict[str, object]:
    figures = {what: getattr(fit, what)[factor] for what in ("coef", "se", "p", "p_adjusted")}
    row = {"metric": fit.metric, "factor": factor, **figures, "significant": str(fit.significant[factor]).lower()}
    return row | dict(zip(("ci_low", "ci_high"), fit.ci[factor], strict=True))


def _points(result: DisentangleResult, factor: str, row: str) -> list[charts.Point]:
    """Return a factor's coefficient in each metric, with its interval, in a row of a chart."""
    return [
        charts.Point(row, place, fit.coef[factor], *(fit.ci_bootstrap.get(factor) or fit.ci[factor]), fit.metric)
        for place, fit in enumerate(result.results)
    ]


def _coefficients(result: DisentangleResult) -> Iterator[TablePart]:
    """Yield all intervals, and which coefficients are too small to matter, if a margin says what that is."""
    level, margin, every = f"{100 * result.confidence:g} % intervals", result.margin, result.bootstrap
    columns: Columns = {
        **_NAMES,
        "coefficient": lambda of: _marked(*of),
        "interval": lambda of: interval(of[0].ci[of[1]]) if of[1] else Cell(""),
        f"of {every} resamples": None
        if not every
        else lambda of: interval(of[0].ci_bootstrap[of[1]] if of[1] else of[0].r2_bootstrap),
        "p": lambda of: p_value(of[0].p_adjusted[of[1]]) if of[1] else Cell(""),
    }
    items = [(fit, factor) for fit in result.results for factor in (*result.factors, *[""] * bool(every))]
    yield table_of(f"Coefficients with {level}", items, columns, note=_how(result), names=2, full=True)
    if margin is None:
        return
    columns = {
        **_NAMES,
        "coefficient": lambda of: estimate(of[0].coef[of[1]], of[0].ci[of[1]]),
        "p of 0": lambda of: p_value(of[0].p_adjusted[of[1]]),
        "p of equivalence": lambda of: p_value(of[0].p_equivalence[of[1]]),
        "verdict": lambda of: verdict_cell(
            verdict(of[0].significant[of[1]], of[0].p_equivalence[of[1]], result.alpha), margin
        ),
    }
    note = EQUIVALENT.format(f"{margin:g}")
    note += f" The difference is that from 0; both p: {CORRECTED[result.correction]}."
    caption = f"Coefficients: different from 0, or too small to matter, with {level}"
    yield table_of(caption, _of_factors(result), columns, note=note, names=2)


def _explained(result: DisentangleResult) -> Iterator[Part]:
    """Yield shares of R², what each factor explains beside the others, and what they explain in common."""
    names, level = result.factors, f"{100 * result.confidence:g} % interval"
    bars = [
        (fit.metric, place, fit.r2_share[factor], factor)
        for fit in result.results
        for place, factor in enumerate(names)
    ]
    alt = "Shares of each metric's variance that the factors explain, stacked to R²."
    spec = charts.stacked(bars, alt=alt, axis="share of R²", series=len(names))
    yield Chart("How much each factor explains", alt, (("", spec),), names, fills=True)
    shared = names if len(names) > 1 else ()
    rows_ = []
    for fit in result.results:
        shares = (number(fit.r2_share[f]) for f in shared)
        rows_.append([text(fit.metric), *shares, estimate(fit.r2, fit.r2_ci), number(fit.adj_r2), number(fit.r2_out)])
    note = "Shapley values of R² (Lindeman, Merenda & Gold 1980): a metric's shares sum to its R².\n" * bool(shared)
    note += "New rows: cross-validation; rows that share a segment or a text stay in one fold."
    caption = f"{'Shares of R², and ' * bool(shared)}R² with its {level}"
    yield table(caption, ["metric", *shared, "R²", "adjusted R²", "new rows"], rows_, note=note, full=True)
    if len(names) == 1:  # the rest would be R² once more
        return
    columns: Columns = {
        **_NAMES,
        "partial R²": lambda of: estimate(of[0].partial_r2[of[1]], of[0].partial_r2_ci[of[1]]),
        "drop without it": lambda of: estimate(of[0].semipartial_r2[of[1]], of[0].semipartial_r2_ci[of[1]]),
        "drop when shuffled": lambda of: number(of[0].importance[of[1]]),
    }
    note = (
        "Drops in R²: without the factor (semi-partial R²), and on new rows when its values are shuffled (permutation "
        "importance)."
    )
    caption = f"What each factor explains in addition to the others, with {level}s"
    yield table_of(caption, _of_factors(result), columns, note=note, names=2, full=True)
    fits = result.results
    if len(fits[0].commonality) > 1:
        rows_ = [
            [text(part.replace("+", " + ")), *(number(fit.commonality[part]) for fit in fits)]
            for part in fits[0].commonality
        ]
        caption = "Parts of R² that factors explain alone and in common (commonality analysis)"
        heads = ["factors", *(fit.metric for fit in fits)]
        yield table(caption, heads, rows_, note="Negative: one hides the other.", full=True)


def _groups(result: DisentangleResult) -> Iterator[Part]:
    """Yield the coefficients of all groups side by side, with the tests that they are the same."""
    if not result.groups:
        return
    groups = {"all": result, **result.groups}
    names = tuple(fit.metric for fit in result.results)
    points = {
        factor: [point for name, part in groups.items() for point in _points(part, factor, name)]
        for factor in result.factors
    }
    ends = [end for marks in points.values() for point in marks for end in (point.value, point.low, point.high)]
    finite = [0.0, *(end for end in ends if end is not None and math.isfinite(end))]
    span = (min(finite), max(finite)) if len(finite) > 1 else None
    panels = []
    for factor, marks in points.items():
        alt = f"Coefficients of {factor} in each group, with intervals, one mark a metric."
        axis = "standardised coefficient"
        panels.append((factor, charts.intervals(marks, alt=alt, axis=axis, series=len(names), span=span, dense=True)))
    alt = f"Coefficients by group, a panel for each factor: {', '.join(groups)}."
    title, shown = "What each metric is associated with, group by group", names if len(names) > 1 else ()
    yield Chart(title, alt, tuple(panels), shown)
    tests = {test.metric: test for test in result.pooled}
    rows_ = []
    for metric in names:
        for factor in (*result.factors, ""):
            cells = [_marked(part[metric], factor) for part in groups.values()]
            if tests:
                cells += [p_value(of.get(factor)) for of in (tests[metric].by_factor, tests[metric].slopes)]
            rows_.append([text(metric), text(factor or "R²"), *cells])
    note = f"† p < {result.alpha:g}, {CORRECTED[result.correction]}."
    note += f" The last columns test whether the groups share it. {_OWN_SCALE}" if tests else ""
    heads = ["metric", "factor", *(f"{name} (n = {part.n:,})" for name, part in groups.items())]
    heads += ["p: the same", "p: the same slope"] * bool(tests)
    yield table("Coefficients by group", heads, rows_, note=note, names=2, full=True)
    if tests:
        of_all: dict[str, Callable[[PooledTest], Cell]] = {
            "metric": lambda test: text(test.metric),
            "F": lambda test: number(test.statistic, 2),
            "df": lambda test: number(test.df1),
            "residual df": lambda test: number(test.df2, 0),
            "p": lambda test: p_value(test.p),
            "p: slopes": lambda test: p_value(test.p_slopes),
        }
        caption = f"Do the groups share all their coefficients, each on its own scale? ({result.pooled[0].method})"
        yield table_of(caption, result.pooled, of_all, note=_OWN_SCALE, full=True)


def _variants(result: DisentangleResult) -> Iterator[TablePart]:
    """Yield the same coefficients estimated otherwise, side by side, and what belongs to each way."""
    if not result.variants:
        return
    rows_ = []
    factors = dict.fromkeys([*result.factors, *(name for variant in result.variants for name in variant.factors)])
    for fit in result.results:
        every: list[MetricFit | VariantFit] = [fit, *(variant[fit.metric] for variant in result.variants)]
        for factor in (*factors, ""):
            rows_.append([text(fit.metric), text(factor or "R²"), *(_marked(other, factor) for other in every)])
    note = "; ".join(f"{variant.name}: {variant.what}" for variant in result.variants)
    heads = ["metric", "factor", "main estimate", *(variant.name for variant in result.variants)]
    caption = f"The same coefficients, estimated otherwise († p < {result.alpha:g})"
    yield table(caption, heads, rows_, note=note, names=2, full=True)
    columns: dict[str, Callable[[tuple[VariantFit, str]], Cell]] = {
        "metric": lambda of: text(of[0].metric),
        "factor": lambda of: text(of[1]),
        "coefficient": lambda of: _marked(*of),
        "interval": lambda of: interval(of[0].ci[of[1]]),
    }
    of_groups: dict[str, Callable[[tuple[VariantFit, str]], Cell]] = {
        "tau²": lambda of: number(of[0].details["tau2"].get(of[1]), 4),
        "I²": lambda of: percent(of[0].details["i2"].get(of[1])),
        "p: the same": lambda of: p_value(of[0].details["q_p"].get(of[1])),
        "a further group": lambda of: interval([of[0].details[f"predict_{end}"].get(of[1]) for end in ("low", "high")]),
    }
    of_levels: dict[str, Callable[[tuple[VariantFit, str]], Cell]] = {
        "p": lambda of: p_value(of[0].p[of[1]]),
        "p: as over all rows": lambda of: p_value(of[0].details["difference"].get(of[1])),
    }
    for variant in result.variants:
        each = [(fit, factor) for fit in variant.results for factor in variant.factors]
        if variant.name == "random-effects":
            caption = "Means of the groups' coefficients, and how much these vary (random effects)"
            yield table_of(caption, each, columns | of_groups, note=f"† p < {result.alpha:g}.", names=2, full=True)
        if variant.name == "within":
            with_all = (f"{fit.metric} {fit.details['within']['r2']:.3f}" for fit in variant.results)
            note = f"{variant.what[0].upper()}{variant.what[1:]}.\nR² with the intercepts: {', '.join(with_all)}."
            caption = f"Coefficients within {' and '.join(variant.levels)}"
            yield table_of(caption, each, columns | of_levels, note=note, names=2, full=True)


def _bends(result: DisentangleResult) -> Iterator[Part]:
    """Yield what the factors that stay straight have next to bent ones, what curves gain, and the curves."""
    if not result.bends:
        return
    rows_ = []
    for bend in (bend for bend in result.bends if bend.coef):
        fit = result[bend.metric]
        for kind, coef, p in (("line", fit.coef, fit.p), ("curve", bend.coef, bend.coef_p)):
            cells = [
                number(coef[f], 2, mark=dagger(p[f], result.alpha)) if f in coef else text("curve")
                for f in result.factors
            ]
            rows_.append([text(bend.metric), text(f"a {kind} in {bend.factor}"), *cells])
    if rows_:
        caption = "Coefficients next to a straight line and next to a curve"
        note = f"† p < {result.alpha:g}, uncorrected. A factor that is bent has a curve and no coefficient."
        heads = ["metric", "next to", *result.factors]
        yield table(caption, heads, rows_, note=note, names=2)
    gains: dict[str, Callable[[Bend], Cell]] = {
        "metric": lambda bend: text(bend.metric),
        "bent": lambda bend: text(bend.factor),
        "R² of lines": lambda bend: number(bend.r2_line),
        "of curves": lambda bend: number(bend.r2_curve),
        "lines, new rows": lambda bend: number(bend.out_line),
        "curves, new rows": lambda bend: number(bend.out_curve),
        "F": lambda bend: number(bend.statistic, 2),
        "p": lambda bend: p_value(bend.p_adjusted),
    }
    note = "New rows: cross-validation, the same folds for both. p: no curve."
    caption = "What is gained if factors act in curves (natural splines) instead of straight lines"
    yield table_of(caption, result.bends, gains, note=note, names=2, full=True)
    for factor in dict.fromkeys(bend.factor for bend in result.bends if bend.curve):
        panels = []
        for bend in (bend for bend in result.bends if bend.factor == factor):
            marks = [(at, 0, effect, "curve") for at, effect, *_ in bend.curve]
            marks += [(at, 1, straight, "straight line") for at, *_, straight in bend.curve]
            heights, ticks = [height for _, _, height, _ in marks], (bend.curve[0][0], bend.curve[-1][0])
            span = (min(heights), max(heights))
            alt = f"What {factor} adds to {bend.metric}, as a curve and as a straight line."
            spec = charts.lines(marks, alt=alt, x=factor, y="adds (sd)", series=2, span=span, ticks=ticks)
            panels.append((bend.metric, spec))
        alt = f"What {factor} adds to each metric, as a curve and as a straight line."
        yield Chart(f"The curve of {factor}", alt, tuple(panels), ("curve", "straight line"))


def joined(notices: Sequence[Notice]) -> list[Notice]:
    """Return notices, those of the same influential rows as one about all their metrics."""
    same: dict[str, list[Notice]] = {}
    for place, notice in enumerate(notices):
        key = str(notice.values["rows"]) if notice.name == "influential-rows" else str(place)
        same.setdefault(key, []).append(notice)
    return [replace(alike[0], about=listed([notice.about for notice in alike])) for alike in same.values()]


def worded(notice: Notice) -> str:
    """Return in words what is to know about a regression before its numbers are believed."""
    name, about, values = notice.name, notice.about, notice.values
    if name == "simpson":
        different = [
            f"{d['metric']} {d['factor']} {d['within']:.3f} (all rows {d['pooled']:.3f})" for d in values["differences"]
        ]
        return (
            f"coefficients within one {about} differ from those of all rows: {some(different, long=True)}; "
            f"within={about} gives them all."
        )
    if name == "bent":
        changed = (f"with {listed(list(d['bent']))} bent, {_instead(d)}" for d in values["changed"])
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
        reasons = [
            f"that of {factor} has {few['df'] or 0:.1f} degrees of freedom, and one cluster has "
            f"{100 * few['share']:.0f} % of its variation"
            for factor, few in values["factors"].items()
        ]
        counted = " x ".join(f"{many:,}" for many in values["clusters"])
        sure = "Such intervals are wide, and not sure to hold their level."
        if not reasons:
            return f"standard errors and the interval of R² rest on {counted} clusters. {sure}"
        return f"few of {counted} clusters decide standard errors: {'; '.join(reasons)}. {sure}"
    if name == "product":
        depends = listed([f"{pair} {d['coef']:.2f} (p {d['p']:.2g})" for pair, d in values["products"].items()])
        phrases = [f"with products of factors, {_instead(d)}" for d in values["changed"]]
        if depends:
            phrases.insert(0, f"what one factor does depends on another, {depends}: their coefficients are averages")
        return f"{about}: {'; '.join(phrases)}; see checks=true."
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


def _instead(changed: Mapping[str, Any]) -> str:
    """Return what a coefficient is with curves or products, and what it was without."""
    now, before = f"{changed['coef']:.2f} (p {changed['p']:.2g})", f"{changed['line']:.2f} (p {changed['line_p']:.2g})"
    return f"{changed['factor']} is {now} instead of {before}"
