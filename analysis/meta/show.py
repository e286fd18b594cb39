"""What agreement with human judgments looks like: which metric agrees best, and what that rests on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from bsx.analysis.meta.result import AverageResult, GroupResult, Judgments, MetaResult, MetricAgreement
from bsx.analysis.meta.settings import MetaSettings, averaged
from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, NONE, estimate, interval, listed, number, p_value, table, table_of, text
from bsx.analysis.present.forms import as_row, lists, presents
from bsx.analysis.present.notices import in_words
from bsx.analysis.present.parts import Answer, Cell, Chart, Heading, Notes, Part, TablePart
from bsx.analysis.present.significance import CORRECTED, against, confidence, some, standing, table_of_tests
from bsx.analysis.stats.results import Comparison
from bsx.data.long import are_judgments
from bsx.support.result import as_json

Measured = tuple[GroupResult, MetricAgreement]
TESTS = "Which metric is significantly better"
"""Title of the chart of tests."""
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
    yield Notes((*map(in_words, result.warnings), *result.notes))
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
        yield Heading(judgment.human)
        for part in parts(judgment):
            if isinstance(part, Chart) and part.title == TESTS:
                yield replace(part, title=f"{part.title}: {judgment.human}")
            elif isinstance(part, TablePart) and judgment.human not in part.caption:
                yield replace(part, caption=f"{judgment.human}: {part.caption}")
            elif not isinstance(part, Answer | Chart):  # other charts are drawn together below
                yield part
    yield Notes((*map(in_words, result.warnings), *result.notes))
    yield _judgments_chart(result)


@lists(MetaResult)
def rows(result: MetaResult) -> Iterator[Mapping[str, object]]:
    """Yield one row a group and metric, then one of averages a metric, whose group is ``average``."""
    names = {"pairs" if name == "n" else name: name for name in _names(result)}

    def row(group: str, agreement: MetricAgreement, n: object, **more: object) -> dict[str, object]:
        known = {"group": group, "metric": agreement.metric, "rows": n}
        known |= {head: as_json(agreement.figures.get(name)) for head, name in names.items()}
        known |= as_row(agreement, "ci")
        if (without := agreement.without_one) is not None:
            known |= {"lowest_without_one": as_json(without.lowest), "without_lowest": without.without_lowest}
            known |= {"highest_without_one": as_json(without.highest), "without_highest": without.without_highest}
        return {**known, **more, **({"control": int(agreement.control)} if result.sentinels else {})}

    for group in result.groups:
        for agreement in group.metrics:
            name, ranks = agreement.metric, group.clusters.ranks if group.clusters is not None else {}
            wins = "" if group.clusters is None or agreement.control else int(_wins(group, name))
            yield row(group.group, agreement, group.n, winner=wins, rank=ranks.get(name, ""), method=agreement.method)
    for mean in result.average.metrics if result.average is not None else ():
        yield row("average", mean, "", winner="", rank="", method="mean of groups")


@lists(Judgments)
def judgment_rows(result: Judgments) -> Iterator[Mapping[str, object]]:
    """Yield the rows of all judgments; ``human`` says whose they are."""
    for judgment in result.judgments:
        yield from ({"human": judgment.human, **row} for row in rows(judgment))


def _finding(result: MetaResult) -> str:
    """Return which metric agrees best, named only where it is significantly better than all others."""
    if result.average is None:
        return _unseen(result)
    human, headline, of = result.human, _statistic(result), _overall(result)
    values, _ = _defined(of)
    groups, rows = len(result.groups), sum(group.n for group in result.groups)
    where = f"on {rows:,} rows"
    if groups > 1:
        where = f"on average over {groups} groups ({rows:,} rows)"
    elif (systems := result.groups[0].systems) is not None:
        where = f"on {systems:,} systems ({rows:,} rows)"
    if not values:
        return f"No metric has a defined {headline} with {human} {where}."
    if rows < FEWEST:
        return f"{rows} rows are too few to say which metric agrees best with {human}."
    how = CORRECTED[_setting(result, "correction") or "none"] if len(result.metrics) > 2 else ""
    alpha, shown = _setting(result, "alpha"), lambda value: number(value).text
    name, significant, stands = standing(values, of.tests, alpha=alpha, p=partial(_p, result), shown=shown, how=how)
    best, nothing = of[name], _nothing_shown(result)
    value = f"{number(best.value).text} {interval(best.ci).text}".removesuffix(f" {NONE}")
    value, population = f"{value} {where}", f"for {result.target}{', in these groups' * (groups > 1)}"
    if len(values) == 1:
        return f"The {headline} of {name} with {human} is {value}, {population}.{nothing}"
    if significant and not nothing:
        return f"{name} agrees best with {human}: {headline} {value}, {stands}, {population}."
    none, stands = f"No metric is shown to agree best with {human}", stands.removeprefix("highest; ")
    return f"{none}: {name} has the highest {headline}, {value}, {stands}, {population}.{nothing}"


def _nothing_shown(result: MetaResult) -> str:
    """Return that no metric is above what a score that says nothing reaches, if no interval is."""
    metrics = [metric for metric in _overall(result).metrics if not metric.control and metric.ci[0] == metric.ci[0]]
    if not metrics or any(metric.ci[0] > _null(metric) for metric in metrics):
        return ""
    below = [metric.metric for metric in metrics if metric.ci[1] < _null(metric)]
    head, reached, what = " No agreement is shown", "0", ("correlation", "negative")
    if result.headline == "acc_eq":
        head, reached = f" Nothing is shown to beat chance ({number(_null(metrics[0])).text})", "it"
        what = "accuracy", "lower"
    if not below:
        return f"{head}: {'the' if len(metrics) == 1 else 'every'} interval reaches {reached}."
    of = f" of {listed(below)}" if len(metrics) > 1 else ""
    rest = f"; every other interval reaches {reached}" if len(below) < len(metrics) else ""
    return f"{head}: the {what[0]}{of} is {what[1]}{rest}."


def _null(agreement: MetricAgreement) -> float:
    """Return what a score that says nothing reaches: chance where ties count, else 0."""
    chance = agreement.figures.get("chance", 0.0)
    return chance if isinstance(chance, float) else 0.0


def _overall(result: MetaResult) -> GroupResult | AverageResult:
    """Return what the answer is about: the average, or the only group."""
    return result.average if result.average is not None and len(result.groups) > 1 else result.groups[0]


def _defined(of: GroupResult | AverageResult) -> tuple[dict[str, float], dict[str, float]]:
    """Return the figures that are defined, of metrics and of controls."""
    defined = [metric for metric in of.metrics if metric.value == metric.value]
    metrics = {metric.metric: metric.value for metric in defined if not metric.control}
    return metrics, {metric.metric: metric.value for metric in defined if metric.control}


def _beside_best_control(result: MetaResult) -> str:
    """Return how metrics stand to the best control, on average over groups, which the answer must not hide."""
    of = _overall(result)
    metrics, controls = _defined(of)
    if result.average is None or not controls or not metrics:
        return ""
    best = max(controls, key=lambda name: controls[name])
    control = f"{'the best control,' if len(controls) > 1 else 'the control'} {best} ({number(controls[best]).text})"
    if not of.control_tests:
        above = [name for name, value in metrics.items() if value > controls[best]]
        return f" Higher than {control}: {some(above) if above else 'no metric'}; these differences were not tested."
    tests = {test.a: test for test in of.control_tests if test.b == best}
    clear = {name: test for name, test in tests.items() if _p(result, test) < _setting(result, "alpha")}
    ways = {name: int(np.sign(clear[name].difference)) if name in clear else 0 for name in metrics}
    if 1 in ways.values():
        return f" Of the metrics, {against(ways, control)}."
    worse = [name for name, way in ways.items() if way < 0]
    behind = f"; {some(worse)} {'is' if len(worse) == 1 else 'are'} significantly worse" if worse else ""
    return f" No metric is significantly better than {control}{behind}."


def _unseen(result: MetaResult) -> str:
    """Return the categories with which metrics have shown no agreement."""
    unseen = []
    for group in result.groups:
        if missed := [item.metric for item in group.metrics if not item.control and not item.ci[0] > _null(item)]:
            unseen.append(f"{group.group} ({', '.join(missed)})")
    count = f"{len(result.groups)} columns of human scores, each by itself, for {result.target}"
    null = "chance" if result.headline == "acc_eq" else "0"
    if not unseen:
        return f"Every metric agrees with each of {count}: no interval of {_statistic(result)} reaches {null}."
    none = f"no agreement is shown, the interval is not above {null}, of {'; '.join(unseen)}"
    return f"{_statistic(result)} with {count}: {none}."


def _setting(result: MetaResult, name: str) -> Any:
    """Return a setting of the run; its default where the document does not say it."""
    return result.settings.get(name, MetaSettings.model_fields[name].default)


def _statistic(result: MetaResult) -> str:
    within = {"item": " within segments", "sys": " within systems"}.get(str(_setting(result, "grouping")), "")
    return _STATISTICS.get(result.headline, result.headline) + within


def _ordered(agreements: Sequence[MetricAgreement]) -> list[MetricAgreement]:
    """Return metrics, the highest first and those without a value last, then controls alike."""
    return sorted(agreements, key=lambda item: (item.control, item.value != item.value, -item.value))


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


def _wins(group: GroupResult, metric: str) -> bool:
    return group.clusters is not None and metric in group.clusters.winners


def _level(result: MetaResult) -> str:
    return f"{confidence(result)} interval"


def _how(result: MetaResult) -> str:
    """Return what was tested, and how."""
    alpha, correction = _setting(result, "alpha"), _setting(result, "correction") or "none"
    corrected = CORRECTED[correction]
    if correction != "none" and len(result.groups) > 1:
        corrected += " within groups"
    method = next(test.method for group in result.groups for test in (*group.tests, *group.control_tests))
    sided = "one-sided" if _setting(result, "alternative") == "greater" else "two-sided"
    return f"{method}, {sided} p < {alpha:g}, {corrected}"


def _note(result: MetaResult, *, methods: bool = True) -> str:
    """Return how figures were made, what intervals and tests are about, and what bold means."""
    made = "; ".join(dict.fromkeys(agreement.method for group in result.groups for agreement in group.metrics))
    sentences = [f"{made}."] if methods else []
    sentences.append(f"Intervals and tests speak about {result.target}.")
    if "mqm" in result.human.lower():
        sentences.append("MQM judges a translation against its source, not its likeness to a reference.")
    if any(group.tests for group in result.groups):
        bold = f"Bold: not significantly worse than the best, nor than any with a higher value ({_how(result)})"
        sentences.append(f"{bold}; this does not show that it is as good.")
    return " ".join(sentences)


def _counted(result: MetaResult) -> str:
    first, groups = result.groups[0], len(result.groups)
    counts = sorted({group.n if group.systems is None else group.systems for group in result.groups})
    n = f"n = {' to '.join(f'{count:,}' for count in dict.fromkeys((counts[0], counts[-1])))}"
    n = n if first.systems is None else f"{n} systems"
    if groups > 1:
        return f"{n} in {'each of ' if len(counts) == 1 else ''}{groups} groups"
    left = first.left_out
    n = n if first.systems is None else f"{n} ({first.n:,} rows)"
    return f"{n}, {left:,} rows left out" if left else n


def _figures(result: MetaResult) -> TablePart:
    """Return every figure of every group, the highest first."""
    several, names = len(result.groups) > 1, _names(result)
    titles = {**_TITLES, "n": "pairs"}

    def of(name: str) -> Callable[[Measured], Cell]:
        return lambda item: number(item[1].figures.get(name))

    columns: dict[str, Callable[[Measured], Cell]] = {"metric": lambda item: text(_shown(item[1]))}
    if several:
        columns |= {"group": lambda item: text(item[0].group), "rows": lambda item: number(item[0].n)}
    columns[result.headline] = lambda item: number(item[1].value, strong=_wins(item[0], item[1].metric))
    columns[_level(result)] = lambda item: interval(item[1].ci)
    columns |= {titles.get(name, name.replace("_", " ")): of(name) for name in names[1:]}
    if any(group.clusters is not None for group in result.groups):
        columns["rank"] = lambda item: number(item[0].clusters and item[0].clusters.ranks.get(item[1].metric))
    items = [(group, metric) for group in result.groups for metric in _ordered(group.metrics)]
    caption = f"{'All figures, ' if several else ''}{_statistic(result)} with {result.human}, {_counted(result)}"
    return table_of(caption, items, columns, note=_note(result), names=2 if several else 1, full=several)


def _without_one(result: MetaResult) -> Iterator[TablePart]:
    """Yield each metric's lowest and highest correlation without one system, and which it is."""
    several = len(result.groups) > 1

    def without(value: float, system: str) -> Cell:
        return replace(number(value), text=f"{number(value).text} without {system}")

    body = []
    for group in result.groups:
        for metric in group.metrics:
            if (ends := metric.without_one) is not None:
                cells = [text(_shown(metric)), *[text(group.group)] * several, number(metric.value)]
                cells += [without(ends.lowest, ends.without_lowest), without(ends.highest, ends.without_highest)]
                body.append(cells)
    if body:
        caption = f"{_statistic(result)} with {result.human} without one system, the lowest and the highest"
        note = "Where the two lie far apart, one system carries the correlation."
        heads = ["metric", *["group"] * several, result.headline, "lowest", "highest"]
        yield table(caption, heads, body, note=note, names=2 if several else 1, full=several)


def _summary(result: MetaResult) -> TablePart:
    """Return metrics by groups: the figure that has intervals; winners stand out."""
    tested = any(group.clusters is not None for group in result.groups)
    body = []
    for mean in _ordered(result.average.metrics if result.average is not None else ()):
        cells = [text(_shown(mean))]
        for group in result.groups:
            metric = group.find(mean.metric)
            cells.append(number(metric and metric.value, strong=_wins(group, mean.metric)))
        body.append([*cells, number(mean.value), interval(mean.ci), *([number(mean.wins)] if tested else [])])
    heads = ["metric", *(group.group for group in result.groups), "average", _level(result), *["wins"] * tested]
    caption = f"{_statistic(result)} with {result.human} by group, {_counted(result)}"
    return table(caption, heads, body, note=_note(result, methods=False))


def _categories(result: MetaResult) -> TablePart:
    """Return one row a category, one column a metric: the figure with its interval."""
    names = [*result.metrics, *result.sentinels]
    body = []
    for group in result.groups:
        cells = [text(group.group), number(group.n)]
        for metric in map(group.find, names):
            shown = Cell(NONE) if metric is None else estimate(metric.value, metric.ci)
            cells.append(replace(shown, strong=metric is not None and _wins(group, metric.metric)))
        body.append(cells)
    heads = [f"{name} (control)" if name in result.sentinels else name for name in names]
    caption = f"{_statistic(result)} with each column of human scores, {_level(result)}s"
    return table(caption, ["human scores", "rows", *heads], body, note=_note(result))


def _chart(result: MetaResult) -> Chart:
    """Return every metric's agreement with its interval: a row a metric, or a row a group in several colours."""
    several = len(result.groups) > 1
    items = [(group.group, metric) for group in result.groups for metric in group.metrics]
    measured = {metric.metric: _shown(metric) for _, metric in items}
    names = [measured[name] for name in (*result.metrics, *result.sentinels) if name in measured]
    if several and result.average is not None:
        items += [("average", metric) for metric in result.average.metrics if metric.metric in measured]
    points = []
    for group, metric in items:
        place = (group, names.index(_shown(metric))) if several else (_shown(metric), 0)
        points.append(charts.Point(*place, metric.value, *metric.ci, _shown(metric)))
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


def _tests_chart(result: MetaResult) -> Chart:
    """Return which metric is significantly better than which: p, or with several groups in how many of them."""
    several, alpha = len(result.groups) > 1, _setting(result, "alpha")
    results: dict[tuple[str, str], list[float]] = {}
    for test in (test for group in result.groups for test in group.tests):
        results.setdefault((test.a, test.b), []).append(_p(result, test) if test.difference > 0 else math.nan)
    cells = []
    for a, b in product(result.metrics, repeat=2):
        tested = results.get((a, b), [])
        count, p = sum(p < alpha for p in tested), tested[0] if tested else math.nan
        if several:
            cells.append((a, b, str(count) if tested else "", count / len(result.groups)))
        else:
            cells.append((a, b, p_value(p).text if p == p else "", max(0.0, 1 - p / alpha) if p == p else 0.0))
    sided = "one-sided p" if _setting(result, "alternative") == "greater" else "two-sided p"
    what = f"in how many of {len(result.groups)} groups p < {alpha:g}" if several else sided
    x = f"row better than column: {what}"
    alt = f"{x}; {_how(result)}."
    return Chart(TESTS, alt, (("", charts.matrix(cells, alt=alt, x=x)),))


def _tests(result: MetaResult) -> Iterator[TablePart]:
    """Yield the tests between metrics, the better first, and those against controls; of groups and of the average."""
    several, average, margin = len(result.groups) > 1, result.average, result.settings.get("margin")
    between, beside = [], []
    for group in result.groups:
        order = list(group.clusters.ranks) if group.clusters is not None else []
        of = (group.group,) * several
        between += [(of, test) for test in group.tests if order.index(test.a) < order.index(test.b)]
        beside += [(of, test) for test in group.control_tests]
    level = _how(result) if between or beside else ""
    if average is not None and (means := average.tests or average.control_tests):
        level += f"; average: {means[0].method}, two-sided p"
        between += [(("average",), test) for test in average.tests]
        beside += [(("average",), test) for test in average.control_tests]
    controls = "Metrics compared with controls, which cannot know how good a translation is"
    for caption, tests, than in (("Each pair of metrics", between, "than"), (controls, beside, "control")):
        if tests:
            caption += f", with {_level(result)}s" * any(test.ci[0] == test.ci[0] for _, test in tests)
            yield table_of_tests(
                caption,
                tests,
                [*["group"] * several, "metric" if than == "control" or several else "better", than],
                alpha=_setting(result, "alpha"),
                level=level,
                p=partial(_p, result),
                margin=margin,
                folded=several,
                full=margin is None,
            )
