"""What agreement with human judgments looks like: which metric agrees best, and what that rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bsx.analysis.meta.result import (
    GroupResult,
    Judgments,
    MetaResult,
    MetricAgreement,
)
from bsx.analysis.meta.settings import MetaSettings, averaged
from bsx.analysis.present import charts
from bsx.analysis.present.cells import (
    FEWEST,
    NONE,
    estimate,
    interval,
    listed,
    number,
    p_value,
    table,
    text,
)
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.notices import seen_rows
from bsx.analysis.present.parts import Answer, Cell, Chart, Heading, Notes, Part, TablePart
from bsx.analysis.present.significance import CORRECTED, NAMED, against, confidence, some, standing, table_of_tests
from bsx.analysis.stats.results import Comparison
from bsx.data.long import are_judgments

TESTS = "Which metric is significantly better"
"""Title of the chart of tests."""
_FEW = 12  # rows that a table of the short form has room for
_TITLES = {"pairwise_accuracy": "accuracy", "hits_at_1": "hits@1", "difference": "diff", "spa": "soft accuracy"}
_COUNTS = {"darr": ("concordant", "discordant", "ties", "n")}
_STATISTICS = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's rho",
    "kendall": "Kendall's tau-b",
    "kendall_c": "Kendall's tau-c",
    "acc_eq": "pairwise accuracy with ties",
    "tau": "Kendall-like tau of preferences",
    "limit": "correlation of hybrid systems",
}
_NO_ZERO = ("acc_eq",)  # figures of which 0 is not what chance gives


def _section(result: MetaResult) -> tuple[str, str]:
    """Return the section, whose title calls only those scores human judgments whose column says so."""
    theirs = are_judgments(result.human) or result.average is None
    return "agreement", "Agreement with human judgments" if theirs else f"Agreement with the column {result.human}"


@presents(MetaResult, section=_section)
def parts(result: MetaResult) -> Iterator[Part]:
    """Yield which metric agrees best, the figures, and the tests behind them."""
    yield Answer(f"{_finding(result)}{_beside_best_control(result)}", answers=True)
    if result.average is None:
        yield _categories(result)
    elif len(result.groups) > 1:
        yield _summary(result)
    else:
        yield _figures(result)
    said = (*map(seen_rows, result.warnings), *_beside_controls(result), *result.notes)
    yield Notes(said)
    yield from _without_one(result)
    yield _chart(result)
    if result.average is None or len(result.groups) > 1:
        yield _figures(result)
    if any(group.tests for group in result.groups):
        yield _tests_chart(result)
    yield from _tests(result)


@presents(Judgments, section=("judgments", "Agreement with several judgments"))
def judgments(result: Judgments) -> Iterator[Part]:
    """Yield what each judgment says, then the parts of each under its name."""
    yield Answer(
        " ".join(f"{_finding(judgment)}{_beside_best_control(judgment)}" for judgment in result.judgments), answers=True
    )
    for judgment in result.judgments:
        every = [part for part in parts(judgment) if not isinstance(part, Answer)]
        yield Heading(judgment.human)
        # Drawn together below; the charts of tests name their judgment.
        yield from (
            _of(part, judgment.human) for part in every if not (isinstance(part, Chart) and part.title != TESTS)
        )
    yield Notes((*map(seen_rows, result.warnings), *result.notes))
    yield _judgments_chart(result)


@lists(MetaResult)
def rows(result: MetaResult) -> Iterator[Mapping[str, object]]:
    """Yield one row a group and metric, then one of averages a metric, whose group is ``average``."""
    names = {"pairs" if name == "n" else name: name for name in _names(result)}

    def row(group: str, agreement: MetricAgreement, n: object, more: Row) -> Row:
        figures = {shown: _plain(agreement.figures.get(name)) for shown, name in names.items()}
        low, high = agreement.ci
        control = {"control": int(agreement.control)} if result.sentinels else {}
        head = {"group": group, "metric": agreement.metric, "rows": n}
        ends = {"low": _plain(low), "high": _plain(high)}
        return {**head, **figures, **ends, **_carried(agreement), **more, **control}

    for group in result.groups:
        ranks = group.clusters.ranks if group.clusters is not None else {}
        for agreement in group.metrics:
            wins = (
                "" if group.clusters is None or agreement.control else int(agreement.metric in group.clusters.winners)
            )
            more = {"winner": wins, "rank": ranks.get(agreement.metric, ""), "method": agreement.method}
            yield row(group.group, agreement, group.n, more)
    for mean in result.average.metrics if result.average is not None else ():
        yield row("average", mean, "", {"winner": "", "rank": "", "method": "mean of groups"})


@lists(Judgments)
def judgment_rows(result: Judgments) -> Iterator[Mapping[str, object]]:
    """Yield the rows of all judgments; ``human`` says whose they are."""
    for judgment in result.judgments:
        yield from ({"human": judgment.human, **row} for row in rows(judgment))


Row = Mapping[str, object]


def _carried(agreement: MetricAgreement) -> Row:
    """Return the range without one system, where there is one."""
    if (without := agreement.without_one) is None:
        return {}
    return {
        **{"lowest_without_one": _plain(without.lowest), "without_lowest": without.without_lowest},
        **{"highest_without_one": _plain(without.highest), "without_highest": without.without_highest},
    }


def _finding(result: MetaResult) -> str:
    """Return which metric agrees best, named only where it is significantly better than all others."""
    if result.average is None:
        return _unseen(result)
    human, headline, several = result.human, _statistic(result), len(result.groups) > 1
    results: Sequence[MetricAgreement]
    results = result.average.metrics if several else result.groups[0].metrics
    ranked = sorted(
        (metric for metric in results if not metric.control and metric.value == metric.value),
        key=lambda metric: -metric.value,
    )
    counts = [group.n for group in result.groups]
    where = f"on average over {len(counts)} groups ({sum(counts):,} rows)" if several else f"on {counts[0]:,} rows"
    if not several and (systems := result.groups[0].systems) is not None:
        where = f"on {systems:,} systems ({counts[0]:,} rows)"
    if not ranked:
        return f"No metric has a defined {headline} with {human} {where}."
    if sum(counts) < FEWEST:
        return f"{sum(counts)} rows are too few to say which metric agrees best with {human}."
    best, *others = ranked
    value = f"{number(best.value).text} {interval(best.ci).text}".removesuffix(f" {NONE}")
    if not others:
        none = (
            "" if best.ci[0] > 0 or result.headline in _NO_ZERO else " No agreement is shown: the interval reaches 0."
        )
        return f"The {headline} of {best.metric} with {human} is {value} {where}.{none}"
    tests = result.average.tests if several else result.groups[0].tests
    values = {metric.metric: metric.value for metric in ranked}
    _, told, stands = standing(
        values, tests, alpha=_setting(result, "alpha"), p=partial(_p, result), shown=lambda one: number(one).text
    )
    if told:
        return f"{best.metric} agrees best with {human}: {headline} {value} {where}, {stands}."
    none = f"No metric is shown to agree best with {human}"
    return f"{none}: {best.metric} has the highest {headline}, {value} {where}, {stands.removeprefix('highest; ')}."


def _beside_best_control(result: MetaResult) -> str:
    """Return how metrics stand to the best control, on average over groups, which the answer must not hide."""
    if result.average is None or not result.metrics:
        return ""
    several, group = len(result.groups) > 1, result.groups[0]
    tests = {(test.a, test.b): test for test in (result.average.control_tests if several else group.control_tests)}
    values = {item.metric: item.value for item in (result.average.metrics if several else group.metrics)}
    reached = [name for name in result.sentinels if values.get(name, math.nan) == values.get(name)]
    metrics = [name for name in result.metrics if values.get(name, math.nan) == values.get(name)]
    if not reached or not metrics:
        return ""
    best = max(reached, key=lambda name: values[name])
    control = f"{'the best control,' if len(reached) > 1 else 'the control'} {best} ({number(values[best]).text})"
    if not tests:
        above = [name for name in metrics if values[name] > values[best]]
        return f" Higher than {control}: {some(above) if above else 'no metric'}; these differences were not tested."
    ways = {}
    for name in metrics:
        test = tests.get((name, best))
        told = test is not None and _p(result, test) < _setting(result, "alpha")
        ways[name] = int(np.sign(test.difference)) if test is not None and told else 0
    if 1 not in ways.values():
        worse = [name for name, way in ways.items() if way < 0]
        behind = f"; {some(worse)} {'is' if len(worse) == 1 else 'are'} significantly worse" if worse else ""
        return f" No metric is significantly better than {control}{behind}."
    return f" Of the metrics, {against(ways, control)}."


def _unseen(result: MetaResult) -> str:
    """Return the categories with which metrics have shown no agreement."""
    missed = {
        group.group: [metric.metric for metric in _metrics(group) if not metric.ci[0] > 0] for group in result.groups
    }
    said = [f"{group} ({', '.join(names)})" for group, names in missed.items() if names]
    count = f"{len(result.groups)} columns of human scores, each by itself"
    if not said:
        return f"Every metric agrees with each of {count}: no interval of {_statistic(result)} reaches 0."
    return f"{_statistic(result)} with {count}: no agreement is shown, the interval reaches 0, of {'; '.join(said)}."


def _setting(result: MetaResult, name: str) -> Any:
    """Return a setting of the run; its default where the document does not say it."""
    return result.settings.get(name, MetaSettings.model_fields[name].default)


def _statistic(result: MetaResult) -> str:
    return _STATISTICS.get(result.headline, result.headline)


def _metrics(group: GroupResult) -> list[MetricAgreement]:
    return [metric for metric in group.metrics if not metric.control]


def _p(result: MetaResult, test: Comparison) -> float:
    """Return the p that makes winners; that of a mean over groups is two-sided."""
    one_sided = _setting(result, "alternative") == "greater" and test.unit != "group"
    return test.p if one_sided and test.p_adjusted is None else test.decisive


def _shown(agreement: MetricAgreement) -> str:
    return f"{agreement.metric} (control)" if agreement.control else agreement.metric


def _names(result: MetaResult) -> list[str]:
    """Return the figures of a level: the one with intervals first."""
    level = _setting(result, "level")
    names = [*averaged(level, _setting(result, "statistic")), *_COUNTS.get(level, ())]
    return [result.headline, *(name for name in names if name != result.headline)]


def _plain(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


def _wins(group: GroupResult, metric: str) -> bool:
    return group.clusters is not None and metric in group.clusters.winners


def _level(result: MetaResult) -> str:
    return f"{confidence(result)} interval"


def _how(result: MetaResult) -> str:
    """Return what was tested, and how."""
    alpha, correction = _setting(result, "alpha"), _setting(result, "correction")
    corrected = CORRECTED[correction]
    if correction != "none" and len(result.groups) > 1:
        corrected += " over all groups" if _setting(result, "correction_over") == "all" else " within groups"
    method = next(test.method for group in result.groups for test in (*group.tests, *group.control_tests))
    sided = "one-sided" if _setting(result, "alternative") == "greater" else "two-sided"
    return f"{method}, {sided} p < {alpha:g}, {corrected}"


def _bold(result: MetaResult) -> str:
    if not any(group.tests for group in result.groups):
        return ""
    return (
        f"Bold: not significantly worse than the best, nor than any with a higher value ({_how(result)}); this does "
        "not show that it is as good."
    )


def _methods(result: MetaResult) -> str:
    methods = list(dict.fromkeys(agreement.method for group in result.groups for agreement in group.metrics))
    return "; ".join(methods)


def _counted(result: MetaResult) -> str:
    counts = [group.n for group in result.groups]
    if len(counts) == 1 or result.average is None:
        left = result.groups[0].left_out
        return f"n = {counts[0]:,}" + (f", {left:,} rows left out" if left else "")
    if len(set(counts)) == 1:
        return f"n = {counts[0]:,} in each of {len(counts)} groups"
    if len(counts) <= NAMED:
        return ", ".join(f"n = {group.n:,} ({group.group})" for group in result.groups)
    return f"n = {min(counts):,} to {max(counts):,} in {len(counts)} groups"


def _figures(result: MetaResult) -> TablePart:
    """Return every figure of every group, the highest first."""
    several = len(result.groups) > 1
    names = _names(result)
    tested = any(group.clusters is not None for group in result.groups)
    results = []
    for group in result.groups:
        controls = [agreement for agreement in group.metrics if agreement.control]
        for agreement in (*sorted(_metrics(group), key=lambda agreement: -agreement.value), *controls):
            first = [text(_shown(agreement)), *([text(group.group), number(group.n)] if several else [])]
            cells = [number(agreement.value, strong=_wins(group, agreement.metric)), interval(agreement.ci)]
            cells += [number(_plain(agreement.figures.get(name))) for name in names[1:]]
            rank = number(group.clusters.ranks.get(agreement.metric)) if group.clusters is not None else Cell(NONE)
            results.append([*first, *cells, *([rank] if tested else [])])
    heads = ["metric", *(["group", "rows"] if several else []), result.headline, _level(result)]
    titles = {**_TITLES, **({"n": "pairs"} if "n" in names else {})}
    heads += [*(titles.get(name, name.replace("_", " ")) for name in names[1:]), *(["rank"] if tested else [])]
    caption = f"{'All figures, ' if several else ''}{_statistic(result)} with {result.human}, {_counted(result)}"
    note = " ".join(filter(None, [f"{_methods(result)}.", _reading(result), _bold(result)]))
    return table(caption, heads, results, note=note, names=2 if several else 1, full=several)


def _without_one(result: MetaResult) -> Iterator[TablePart]:
    """Yield each metric's lowest and highest correlation without one system, and which it is."""
    several = len(result.groups) > 1
    results = []
    for group in result.groups:
        for agreement in group.metrics:
            without = agreement.without_one
            if without is not None:
                cells = [number(agreement.value), number(without.lowest), text(without.without_lowest)]
                cells += [number(without.highest), text(without.without_highest)]
                results.append([text(_shown(agreement)), *([text(group.group)] if several else []), *cells])
    if results:
        heads = ["metric", *(["group"] if several else []), result.headline, "lowest", "without", "highest", "without"]
        caption = f"{_statistic(result)} with {result.human} without one system, the lowest and the highest"
        note = "Where the two lie far apart, one system carries the correlation."
        yield table(caption, heads, results, note=note, names=2 if several else 1, full=several)


def _summary(result: MetaResult) -> TablePart:
    """Return metrics by groups: the figure that has intervals; winners stand out."""
    tested = any(group.clusters is not None for group in result.groups)
    means = result.average.metrics if result.average is not None else ()
    results = []
    for mean in sorted(
        means, key=lambda agreement: (agreement.control, agreement.value != agreement.value, -agreement.value)
    ):
        cells = [text(_shown(mean))]
        for group in result.groups:
            agreement = group.find(mean.metric)
            cells.append(number(None if agreement is None else agreement.value, strong=_wins(group, mean.metric)))
        cells += [number(mean.value), interval(mean.ci)]
        results.append([*cells, *([number(mean.wins)] if tested else [])])
    heads = ["metric", *(group.group for group in result.groups), "average", _level(result)]
    heads += ["wins"] if tested else []
    note = " ".join(filter(None, [_reading(result), _bold(result)]))
    return table(f"{_statistic(result)} with {result.human} by group, {_counted(result)}", heads, results, note=note)


def _categories(result: MetaResult) -> TablePart:
    """Return one row a category, one column a metric: the figure with its interval."""
    names = [*result.metrics, *result.sentinels]
    results = []
    for group in result.groups:
        own = [group.find(name) for name in names]
        cells = [
            Cell(NONE) if item is None else estimate(item.value, item.ci, strong=_wins(group, item.metric))
            for item in own
        ]
        results.append([text(group.group), number(group.n), *cells])
    heads = [f"{name} (control)" if name in result.sentinels else name for name in names]
    caption = f"{_statistic(result)} with each column of human scores, {_level(result)}s"
    note = " ".join(filter(None, [f"{_methods(result)}.", _reading(result), _bold(result)]))
    return table(caption, ["human scores", "rows", *heads], results, note=note)


def _reading(result: MetaResult) -> str:
    """Return what intervals and tests are about."""
    against = " MQM judges a translation against its source, not its likeness to a reference."
    return f"Intervals and tests speak about {result.target}.{against if 'mqm' in result.human.lower() else ''}"


def _beside_controls(result: MetaResult) -> list[str]:
    """Return which metrics are no better than a control, which cannot know how good a translation is."""
    verdicts: dict[str, list[str]] = {}
    tested = any(group.control_tests for group in result.groups)
    how = "significantly better" if tested else "higher"
    for control in result.sentinels:
        if all(beats(result, name, control, group) is None for name in result.metrics for group in result.groups):
            continue
        missed = {
            name: [group.group for group in result.groups if beats(result, name, control, group) is False]
            for name in result.metrics
        }
        several = len(result.groups) > 1
        said = [f"{name} ({', '.join(groups)})" if several else name for name, groups in missed.items() if groups]
        verdict = f"not {how}: {', '.join(said)}" if said else f"every metric is {how}"
        verdicts.setdefault(verdict, []).append(control)
    return [
        f"Compared with the control{'s' * (len(controls) > 1)} {listed(controls)}: {verdict}."
        for verdict, controls in verdicts.items()
    ]


def beats(result: MetaResult, metric: str, control: str, group: GroupResult) -> bool | None:
    """Return whether a metric agrees better than a control in a group.

    It does if the difference is significant, as it is for winners, or without tests if its value is higher. None if one
    of the two has no value there.
    """
    for test in group.control_tests:
        if (test.a, test.b) == (metric, control):
            return test.difference > 0 and _p(result, test) < _setting(result, "alpha")
    ours, its = group.find(metric), group.find(control)
    return None if ours is None or its is None else ours.value > its.value


def _chart(result: MetaResult) -> Chart:
    """Return every metric's agreement with its interval: a row a metric, or a row a group in several colours."""
    several = len(result.groups) > 1
    shown = {metric.metric: _shown(metric) for group in result.groups for metric in group.metrics}
    names = [shown[name] for name in (*result.metrics, *result.sentinels) if name in shown]
    blocks: list[tuple[str, Sequence[MetricAgreement]]]
    blocks = [(group.group, group.metrics) for group in result.groups]
    if several and result.average is not None:
        blocks.append(("average", result.average.metrics))
    points = [
        charts.Point(
            group if several else _shown(item),
            names.index(_shown(item)) if several else 0,
            item.value,
            *item.ci,
            _shown(item),
        )
        for group, agreements in blocks
        for item in agreements
        if _shown(item) in names
    ]
    alt = f"{_finding(result)} The tables hold every figure."
    axis = f"{_statistic(result)} with {result.human}, {_level(result)}"
    return charts.forest("Agreement of each metric", points, alt=alt, axis=axis, names=names if several else ())


def _judgments_chart(result: Judgments) -> Chart:
    """Return every metric's agreement with each judgment, a panel a group."""
    first = result.judgments[0]
    humans = tuple(judgment.human for judgment in result.judgments)
    panels = []
    for group in first.groups:
        points = [
            charts.Point(_shown(agreement), place, agreement.value, *agreement.ci, judgment.human)
            for place, judgment in enumerate(result.judgments)
            for other in judgment.groups
            if other.group == group.group
            for agreement in other.metrics
        ]
        alt = f"{_statistic(first)} with {listed(humans)}: {group.group}."
        spec = charts.intervals(points, alt=alt, axis=f"{_statistic(first)}, {_level(first)}", series=len(humans))
        panels.append((group.group if len(first.groups) > 1 else "", spec))
    alt = f"{_statistic(first)} of {listed(first.metrics)} with {listed(humans)}."
    return Chart("Agreement with each judgment", alt, tuple(panels), humans)


def _of(part: Part, human: str) -> Part:
    """Return a part that says of which judgment it is."""
    if isinstance(part, Chart):
        return replace(part, title=f"{part.title}: {human}")
    if isinstance(part, TablePart) and human not in part.caption:
        return replace(part, caption=f"{human}: {part.caption}")
    return part


def _tests_chart(result: MetaResult) -> Chart:
    """Return which metric is significantly better than which: p, or with several groups in how many of them."""
    several, alpha = len(result.groups) > 1, _setting(result, "alpha")
    results: dict[tuple[str, str], list[float]] = {}
    for test in (test for group in result.groups for test in group.tests):
        results.setdefault((test.a, test.b), []).append(_p(result, test) if test.difference > 0 else math.nan)
    cells = []
    for a in result.metrics:
        for b in result.metrics:
            own = results.get((a, b), [])
            count = sum(p < alpha for p in own)
            if several:
                cells.append((a, b, str(count) if own else "", count / len(result.groups)))
            else:
                p = own[0] if own else math.nan
                cells.append((a, b, p_value(p).text if p == p else "", max(0.0, 1 - p / alpha) if p == p else 0.0))
    sided = "one-sided p" if _setting(result, "alternative") == "greater" else "two-sided p"
    what = f"in how many of {len(result.groups)} groups p < {alpha:g}" if several else sided
    x = f"row better than column: {what}"
    alt = f"{x}; {_how(result)}."
    return Chart(TESTS, alt, (("", charts.matrix(cells, alt=alt, x=x)),))


def _tests(result: MetaResult) -> Iterator[TablePart]:
    """Yield the tests of each group, those of averages, and those against controls."""
    several, average = len(result.groups) > 1, result.average

    def shown(caption: str, tests: Sequence[tuple[Sequence[object], Comparison]], *heads: str, level: str) -> TablePart:
        caption += f", with {_level(result)}s" * any(test.ci[0] == test.ci[0] for _, test in tests)
        how: dict[str, Any] = {"alpha": _setting(result, "alpha"), "p": partial(_p, result)}
        how["margin"] = result.settings.get("margin")
        full = how["margin"] is None
        return table_of_tests(caption, tests, heads, **how, level=level, folded=several, full=full)

    for group in (group for group in result.groups if group.clusters is not None):
        order = list(group.clusters.ranks) if group.clusters is not None else []
        pairs = [((), test) for test in group.tests if order.index(test.a) < order.index(test.b)]
        caption = f"Each pair of metrics{f' in {group.group}' if several else ''}, n = {group.n:,}"
        yield shown(caption, pairs, "better", "than", level=_how(result))
    correction = f"two-sided p < {_setting(result, 'alpha'):g}, {CORRECTED[_setting(result, 'correction')]}"
    if average is not None and average.tests:
        means = [((), test) for test in average.tests]
        caption = f"Mean differences over groups ({average.tests[0].method})"
        yield shown(caption, means, "metric A", "metric B", level=correction)
    if any(group.control_tests for group in result.groups):
        against = [((group.group,) * several, test) for group in result.groups for test in group.control_tests]
        caption = "Metrics compared with controls, which cannot know how good a translation is"
        yield shown(caption, against, *["group"] * several, "metric", "control", level=_how(result))
    if average is not None and average.control_tests:
        means = [((), test) for test in average.control_tests]
        caption = f"Mean differences from controls ({average.control_tests[0].method})"
        yield shown(caption, means, "metric", "control", level=correction)
