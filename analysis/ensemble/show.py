"""What ensembles look like: whether metrics together agree better with human judgments than the best of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from operator import attrgetter

from bsx.analysis.ensemble.result import ALPHA, EnsembleResult, GainInterval, GroupGain
from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, NONE, listed, number, p_value, plain_table, table, table_of, text
from bsx.analysis.present.forms import as_row, lists, presents
from bsx.analysis.present.notices import SEEN, seen_rows
from bsx.analysis.present.numbers import figure
from bsx.analysis.present.numbers import p_value as p_text
from bsx.analysis.present.parts import Answer, Cell, Chart, Notes, Part, Surprise, TablePart
from bsx.analysis.present.significance import against, confidence, dagger, table_of_tests
from bsx.support.result import Notice

_HOW = {
    "mean": "mean of scores",
    "z": "mean of z-scores",
    "rank": "mean of ranks",
    "weights": "fitted weights",
    "ridge": "ridge regression",
}
_NORMALISED = {"none": "", "z": " of z-scores", "rank": " of ranks"}
_WORDS = {
    "lower-is-better": "lower is better for {about}: its scores are multiplied by -1.",
    "rows-alone": "no column names segments or holds texts: every row counts as a segment of its own.",
    "best-of-the-same-rows": (
        "the best member was chosen on the rows it is compared on, so that the gain comes out too low, which its "
        "interval and the bootstrap test allow for; best=training chooses it on other rows."
    ),
    "hang-together": "{rows} of {of} rows share texts, directly or through others, and are in one fold.",
    "rows-share-texts": (
        "rows share segments, documents or texts: the bootstrap draws them together; the Williams test takes them as "
        "independent."
    ),
}


@presents(EnsembleResult, section=("ensembles", "Ensembles"))
def parts(result: EnsembleResult) -> Iterator[Part]:
    """Yield the gain over the best member, that of every group, and everything that it rests on."""
    finding = _finding(result)
    yield Answer(finding)
    if _loses(result) and sum(group.n for group in result.groups) >= FEWEST:
        yield Surprise(finding, min(1.0, -_average(result)[0]))
    yield _gains(result)
    remarks = [worded(notice) for notice in result.warnings] + [f"{note}." for note in result.notes]
    remarks += [f"{result.omitted:,} rows are left out because a number is missing."] if result.omitted else []
    yield Notes(tuple(remarks))
    yield from _charts(result, finding)
    results = []
    for group in result.groups:
        best = max(group.members.values(), default=math.nan)
        cells = [number(r, strong=r == best) for r in (group.members.get(name) for name in result.members)]
        results.append([text(group.group), number(group.n), *cells, number(group.ensemble)])
    heads = ["group", "n", *result.members, "ensemble"]
    yield table("Agreement of members and ensemble", heads, results, note="Bold: the best member.", full=True)
    where = f"fitted on {result.fitted:,} rows" if result.folds else "of the sum"
    caption = f"Weights {where}{_NORMALISED.get(result.normalise, result.normalise)}"
    weights = [[text(name), number(weight, 4)] for name, weight in result.weights.items()]
    yield table(caption, ["metric", "weight"], weights, full=True)
    tests = [((group.group, name), test) for group in result.groups for name, test in group.tests.items()]
    heads, note = ["group", "test", "ensemble", "best member"], f"one-sided p < {ALPHA}, uncorrected"
    caption = "Tests against the best member"
    yield table_of_tests(caption, tests, heads, alpha=ALPHA, p=attrgetter("p"), level=note, full=True)
    if result.folds:
        yield plain_table("Training parts", [asdict(fold) for fold in result.folds], full=True)


@lists(EnsembleResult)
def rows(result: EnsembleResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a group, then the average."""
    for group in result.groups:
        row = as_row(group, "group", "n") | {f"r_{name}": r for name, r in group.members.items()}
        row |= as_row(group, "ensemble", "best", "best_r", "gain", "ci")
        row |= {"difference": (test := group.tests["bootstrap"]).difference}
        row |= dict(zip(("difference_low", "difference_high"), test.ci, strict=True))
        yield row | {"p": group.tests["williams"].p, "bootstrap_p": group.tests["bootstrap"].p}
    low, high = result.average_ci
    yield {"group": "average", "gain": result.average_gain, "low": low, "high": high, "bootstrap_p": result.average_p}


def worded(notice: Notice) -> str:
    """Return a warning about an ensemble in words."""
    name, about, values = notice.name, notice.about, notice.values
    if name in SEEN:
        return seen_rows(notice)
    if name == "equal-weights":
        where = f"in {values['folds']} of {values['of']} folds" if values["folds"] else "on all rows"
        return f"{where} no metric was worth a weight, so all got the same."
    return _WORDS[name].format(**{**values, "about": about}) if name in _WORDS else name


def _finding(result: EnsembleResult) -> str:
    """Say whether the ensemble agrees better than its best member, by the test of the average gain."""
    total, many = sum(group.n for group in result.groups), len(result.groups)
    if total < FEWEST:
        return f"{total} rows are too few to say what {listed(result.members)} gain together."
    names = f"the ensemble of {listed(result.members)} ({_HOW.get(result.how, result.how)})"
    where, units = f"on {total:,} rows{f' in {many} groups' * (many > 1)}", sum(group.units for group in result.groups)
    where += f" ({units:,} independent sets)" * (units < total)
    value, ends = _average(result)
    rises = result.average_p < ALPHA and value > 0
    best = "the best of them alone" if many > 1 else f"{result.groups[0].best}, the best of them alone"
    answer = against({names: (rises and ends[0] > 0) - _loses(result)}, best)
    answer = f"At agreeing with human judgments {where}, {answer}{' on average over the groups' * (many > 1)}: "
    answer += (
        f"gain {_gain(value, ends)}" if result.bounded else f"difference of r {_difference_cell(value, ends).text}"
    )
    answer += f", one-sided p {p_text(result.average_p)}" * rises
    answer += ", but the interval reaches 0" * (rises and not ends[0] > 0)
    if many > 1:
        p = [group.decisive for group in result.groups]
        up, down = sum(each < ALPHA for each in p), sum(each > 1 - ALPHA for each in p)
        answer += f"; group by group, {_tests(result)} find it better in {up} and worse in {down} (uncorrected)"
    if not result.bounded:
        near = sum(not all(map(math.isfinite, group.ci)) for group in result.groups)
        whose = f"of the best member in {near} of {many} groups" if many > 1 else f"of {result.groups[0].best}"
        answer += f". The gain in per cent has no bounds, as r {whose} is not clearly above 0"
    return f"{answer}."


def _average(result: EnsembleResult) -> tuple[float, GainInterval]:
    """Return what the average is judged by: the gain, or the difference of r where the gain has no bounds."""
    if result.bounded:
        return result.average_gain, result.average_ci
    return result.average_difference, result.average_difference_ci


def _loses(result: EnsembleResult) -> bool:
    """Return whether the interval of the average gain or difference, of the level of a test, lies below 0."""
    return _average(result)[1][1] < 0 and result.settings.get("confidence", 0.95) >= 1 - ALPHA


def _gain(value: float, ends: GainInterval) -> str:
    """Return a gain in per cent with its interval."""
    if math.isnan(value):
        return NONE
    low, high = (figure(100 * end, 1) if math.isfinite(end) else "-∞" if end < 0 else "∞" for end in ends)
    return f"{100 * value:+.1f} % [{low}, {high}]"


def _difference_cell(value: float, ends: GainInterval) -> Cell:
    """Return a difference of r with its interval."""
    return Cell(f"{value:+.4f} [{figure(ends[0], 4)}, {figure(ends[1], 4)}]", value)


def _gain_cell(value: float, ends: GainInterval) -> Cell:
    return Cell(_gain(value, ends), None if math.isnan(value) else value)


def _tests(result: EnsembleResult) -> str:
    """Return the tests of the groups in words."""
    single = {group.units == group.n for group in result.groups}
    return {True: "Williams tests", False: "bootstrap tests"}[single.pop()] if len(single) == 1 else "tests"


def _gains(result: EnsembleResult) -> TablePart:
    """Return the ensemble beside its best member in every group, and on average."""
    several, total = len(result.groups) > 1, sum(group.n for group in result.groups)
    columns: dict[str, Callable[[GroupGain], Cell]] = {
        "group": lambda group: text(group.group),
        "best member": lambda group: text(group.best),
        "n": lambda group: number(group.n),
        "best member's r": lambda group: number(group.best_r, 4, strong=group.best_r >= group.ensemble),
        "ensemble's r": lambda group: number(group.ensemble, 4, strong=group.ensemble >= group.best_r),
        "gain": lambda group: _gain_cell(group.gain, group.ci),
    }
    if not result.bounded:
        columns["difference of r"] = lambda group: _difference_cell(
            (test := group.tests["bootstrap"]).difference, test.ci
        )
    columns["p"] = lambda group: p_value(group.decisive, mark=dagger(group.decisive))
    caption = (
        f"Ensemble of {len(result.members)} metrics and its best member: Pearson correlation with human judgments, "
        f"{confidence(result)} intervals, n = {total:,}"
    )
    units = sum(group.units for group in result.groups)
    drawn = "other rows like these"
    if units < total:
        drawn = f"other sets of rows like these {units:,}; rows that share {' or '.join(result.kept_together)}, "
        drawn += "directly or through others, are one set"
    averaged = ", of the average the bootstrap" * several
    note = (
        f"Bold: the higher correlation. †: the ensemble's is higher, one-sided p < {ALPHA}, uncorrected "
        f"({_tests(result)}{averaged}).\nIntervals and tests speak about {drawn}."
    )
    made = table_of(caption, result.groups, columns, note=note, names=2, foot=int(several))
    if not several:
        return made
    cells = [_gain_cell(result.average_gain, result.average_ci)]
    if not result.bounded:
        cells.append(_difference_cell(result.average_difference, result.average_difference_ci))
    cells.append(p_value(result.average_p, mark=dagger(result.average_p)))
    return replace(made, rows=(*made.rows, (text("average"), *[Cell("")] * 4, *cells)))


def _charts(result: EnsembleResult, finding: str) -> Iterator[Chart]:
    measured = [(group.group, group.gain, group.ci) for group in result.groups]
    measured.append(("average", result.average_gain, result.average_ci))
    gains = [charts.Point(name, 0, 100 * gain, 100 * low, 100 * high) for name, gain, (low, high) in measured]
    alt = f"Gain over the best member by group, with intervals. {finding}"
    if any(math.isfinite(group.gain) for group in result.groups):
        yield charts.forest("Gain over the best member", gains, alt=alt, axis="gain over the best member (%)")
    names = (*result.members, "ensemble")
    points = [
        charts.Point(group.group, place, r, None, None, names[place])
        for group in result.groups
        for place, r in enumerate([*map(group.members.get, result.members), group.ensemble])
    ]
    alt = f"{finding} Each row is a group, with a mark for each member and one for the ensemble."
    axis = "correlation with human judgments"
    yield charts.forest("Members and ensemble", points, alt=alt, axis=axis, names=names, zero=None)
