"""What ensembles look like: whether metrics together agree better with human judgments than the best of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from operator import attrgetter

from bsx.analysis.ensemble.result import ALPHA, EnsembleResult, GainInterval
from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, NONE, listed, number, p_value, plain_table, table, text
from bsx.analysis.present.forms import as_row, lists, presents
from bsx.analysis.present.notices import SEEN, seen_rows
from bsx.analysis.present.numbers import figure
from bsx.analysis.present.numbers import p_value as p_text
from bsx.analysis.present.parts import Answer, Cell, Chart, Notes, Part, Surprise, TablePart
from bsx.analysis.present.significance import confidence, dagger, table_of_tests
from bsx.support.result import Notice

_HOW = {
    "mean": "mean of scores",
    "z": "mean of z-scores",
    "rank": "mean of ranks",
    "weights": "fitted weights",
    "ridge": "ridge regression",
}
_NORMALISED = {"none": "", "z": " of z-scores", "rank": " of ranks"}


@presents(EnsembleResult, section=("ensembles", "Ensembles"))
def parts(result: EnsembleResult) -> Iterator[Part]:
    """Yield the gain over the best member, that of every group, and everything that it rests on."""
    finding = _finding(result)
    yield Answer(finding)
    if _loses(result) and _rows(result) >= FEWEST:
        yield Surprise(finding, min(1.0, -result.average_gain))
    yield _gains(result)
    said = [worded(notice) for notice in _joined(result.warnings)] + [f"{note}." for note in result.notes]
    said += [f"{result.omitted:,} rows are left out because a number is missing."] if result.omitted else []
    yield Notes(tuple(said))
    yield from _charts(result, finding)
    yield _agreement(result)
    yield _weights(result)
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
        yield row | {"p": group.tests["williams"].p, "bootstrap_p": group.tests["bootstrap"].p}
    low, high = result.average_ci
    yield {"group": "average", "gain": result.average_gain, "low": low, "high": high, "bootstrap_p": result.average_p}


def worded(notice: Notice) -> str:
    """Return a warning about an ensemble in words."""
    name, about, values = notice.name, notice.about, notice.values
    if name in SEEN:
        return seen_rows(notice)
    if name == "lower-is-better":
        return f"lower is better for {about}: its scores are multiplied by -1."
    if name == "rows-alone":
        return "no column names segments or holds texts: every row counts as a segment of its own."
    if name == "undefined-resamples":
        return (
            f"{about}: the interval leaves out {values['undefined']} of {values['resamples']} resamples, in which the "
            "best member's correlation is not above 0."
            if "groups" not in values
            else f"intervals leave out resamples in which the best member's correlation is not above 0: at most "
            f"{values['undefined']} of {values['resamples']}, in {values['groups']} groups."
        )
    if name == "best-of-the-same-rows":
        return (
            "the best member was chosen on the rows it is compared on, which favours it; best=training chooses it on "
            "other rows."
        )
    if name == "equal-weights":
        where = f"in {values['folds']} of {values['of']} folds" if values["folds"] else "on all rows"
        return f"{where} no metric was worth a weight, so all got the same."
    if name == "hang-together":
        return f"{values['rows']} of {values['of']} rows share texts, directly or through others, and are in one fold."
    return (
        "rows share segments, documents or texts: the bootstrap draws them together; the Williams test takes them as "
        "independent."
    )


def _joined(notices: Sequence[Notice]) -> list[Notice]:
    """Return notices, those of undefined resamples in several groups as one."""
    own = [notice for notice in notices if notice.name == "undefined-resamples"]
    if len(own) < 2:
        return list(notices)
    most = max(own, key=lambda notice: int(notice.values["undefined"]))
    one = replace(most, values={**most.values, "groups": len(own)})
    return [*(notice for notice in notices if notice not in own), one]


def _rows(result: EnsembleResult) -> int:
    return sum(group.n for group in result.groups)


def _loses(result: EnsembleResult) -> bool:
    """Return whether the interval of the average gain, of the level of a test, lies below 0."""
    return result.average_ci[1] < 0 and result.settings.get("confidence", 0.95) >= 1 - ALPHA


def _finding(result: EnsembleResult) -> str:
    """Say whether the ensemble agrees better than its best member, by the test of the average gain."""
    total, several = _rows(result), len(result.groups) > 1
    if total < FEWEST:
        return f"{total} rows are too few to say what {listed(result.members)} gain together."
    names = f"{listed(result.members)} combined ({_HOW.get(result.how, result.how)})"
    where = f"on {total:,} rows in {len(result.groups)} groups" if several else f"on {total:,} rows"
    if math.isnan(result.average_gain):
        undefined = sum(math.isnan(group.gain) for group in result.groups)
        counted = f" in {undefined} of {len(result.groups)} groups" if several else ""
        return (
            f"The gain of {names} is not defined {where}: no member's correlation with human judgments is above 0"
            f"{counted}."
        )
    gain = f"gain {_gain(result.average_gain, result.average_ci)}"
    best = "the best of them alone" if several else f"{result.groups[0].best}, the best of them alone"
    on_average = " on average over the groups" if several else ""
    if result.average_p < ALPHA and result.average_gain > 0:
        results = "agree significantly better"
        if result.average_ci[0] <= 0:
            results = "agree better by a one-sided test, though not by the two-sided interval,"
        gain += f", one-sided p {p_text(result.average_p)}"
    else:
        results = "agree significantly worse" if _loses(result) else "agree neither significantly better nor worse"
    said = f"{names} {results} with human judgments than {best}{on_average}: {gain}"
    if several:
        better = sum(group.decisive < ALPHA for group in result.groups)
        worse = sum(group.decisive > 1 - ALPHA for group in result.groups)
        said += f"; group by group, {_tests(result)} find them better in {better} and worse in {worse} (uncorrected)"
    return f"{where[0].upper()}{where[1:]}, {said}."


def _gain(value: float, ends: GainInterval) -> str:
    """Return a gain in per cent with its interval."""
    if math.isnan(value):
        return NONE
    low, high = (figure(100 * end, 1) if math.isfinite(end) else "∞" for end in ends)
    return f"{100 * value:+.1f} % [{low}, {high}]" if not math.isnan(ends[0]) else f"{100 * value:+.1f} %"


def _gain_cell(value: float, ends: GainInterval) -> Cell:
    return Cell(_gain(value, ends), None if math.isnan(value) else value)


def _tests(result: EnsembleResult) -> str:
    """Return the tests of the groups in words."""
    apart = {group.units == group.n for group in result.groups}
    return {True: "Williams tests", False: "bootstrap tests"}[apart.pop()] if len(apart) == 1 else "tests"


def _drawn(result: EnsembleResult) -> str:
    """Return what is drawn, in words: rows, or those that share one of the columns that keep them together."""
    if all(group.units == group.n for group in result.groups):
        return "rows"
    units = sum(group.units for group in result.groups)
    return f"sets of rows with the same {' or '.join(result.kept_together)} ({units:,} here)"


def _gains(result: EnsembleResult) -> TablePart:
    """Return the ensemble beside its best member in every group, and on average."""
    results = []
    for group in result.groups:
        p, best = group.decisive, group.best_r >= group.ensemble
        cells = [text(group.group), text(group.best), number(group.n), number(group.best_r, 4, strong=best)]
        cells += [number(group.ensemble, 4, strong=group.ensemble >= group.best_r), _gain_cell(group.gain, group.ci)]
        results.append([*cells, p_value(p, mark=dagger(p))])
    if len(result.groups) > 1:
        average = [text("average"), *[Cell("")] * 4, _gain_cell(result.average_gain, result.average_ci)]
        results.append([*average, p_value(result.average_p, mark=dagger(result.average_p))])
    level = f"{confidence(result)} intervals"
    caption = (
        f"Ensemble of {len(result.members)} metrics and its best member: Pearson correlation with human judgments, "
        f"{level}, n = {sum(group.n for group in result.groups):,}"
    )
    heads = ["group", "best member", "n", "best member's r", "ensemble's r", "gain", "p"]
    averaged = ", of the average the bootstrap" if len(result.groups) > 1 else ""
    note = (
        f"Bold: the higher correlation. †: the ensemble's is higher, one-sided p < {ALPHA}, uncorrected "
        f"({_tests(result)}{averaged}).\nIntervals and tests speak about other {_drawn(result)} like these."
    )
    return table(caption, heads, results, note=note, names=2, foot=int(len(result.groups) > 1))


def _charts(result: EnsembleResult, finding: str) -> Iterator[Chart]:
    gains = [
        charts.Point(name, 0, 100 * gain, 100 * low, 100 * high)
        for name, gain, (low, high) in (
            *((group.group, group.gain, group.ci) for group in result.groups),
            ("average", result.average_gain, result.average_ci),
        )
    ]
    alt = f"Gain over the best member by group, with intervals. {finding}"
    if any(math.isfinite(group.gain) for group in result.groups):
        yield charts.forest("Gain over the best member", gains, alt=alt, axis="gain over the best member (%)")
    points = []
    for group in result.groups:
        points += [
            charts.Point(group.group, place, group.members.get(member), None, None, member)
            for place, member in enumerate(result.members)
        ]
        points.append(charts.Point(group.group, len(result.members), group.ensemble, None, None, "ensemble"))
    alt = f"{finding} Each row is a group, with a mark for each member and one for the ensemble."
    axis = "correlation with human judgments"
    names = (*result.members, "ensemble")
    yield charts.forest("Members and ensemble", points, alt=alt, axis=axis, names=names, zero=None)


def _agreement(result: EnsembleResult) -> TablePart:
    results = []
    for group in result.groups:
        best = max(group.members.values(), default=math.nan)
        cells = [number(r, strong=r == best) for r in (group.members.get(name) for name in result.members)]
        results.append([text(group.group), number(group.n), *cells, number(group.ensemble)])
    heads = ["group", "n", *result.members, "ensemble"]
    return table("Agreement of members and ensemble", heads, results, note="Bold: the best member.", full=True)


def _weights(result: EnsembleResult) -> TablePart:
    results = [[text(name), number(weight, 4)] for name, weight in result.weights.items()]
    where = f"fitted on {result.fitted:,} rows" if result.folds else "of the sum"
    normalised = _NORMALISED.get(result.normalise, "")
    return table(f"Weights {where}{normalised}", ["metric", "weight"], results, full=True)
