"""What comparisons of systems look like: which are told apart under each metric, and what that rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from bsx.analysis.compare.result import CompareResult, MetricComparison, PublishedCurve, PublishedShare, SystemTest
from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, NONE, estimate, listed, number, percent, table, table_of, text
from bsx.analysis.present.forms import as_row, lists, presents
from bsx.analysis.present.numbers import p_value as p_text
from bsx.analysis.present.parts import Answer, Cell, Chart, Notes, Part, Prose, Surprise, TablePart
from bsx.analysis.present.significance import ALPHA, CORRECTED, NAMED, against, confidence, standing, table_of_tests
from bsx.support.result import Notice

_TESTS = {
    "bootstrap-t": "paired bootstrap-t",
    "bootstrap": "paired bootstrap",
    "randomise": "approximate randomisation",
}
_SHORT = 8  # tests that a terminal has room for
_WIDE = 3  # metrics whose intervals have room beside their scores


@presents(CompareResult, section=("systems", "Systems compared"))
def parts(result: CompareResult) -> Iterator[Part]:
    """Yield which systems are told apart, scores, tests, and how often people agree with differences as large.

    A surprise is a pair of systems of which one is better under one metric and the other under another.
    """
    yield Answer(_finding(result), answers=True)
    yield _scores(result, intervals=len(result.metrics) <= _WIDE)
    if len(result.metrics) > _WIDE:
        yield replace(_scores(result, intervals=True), full=True)
    yield from _people(result)
    yield _chart(result)
    yield _tests(result)
    if result.published:
        yield _needed(result)
    means = [notice for notice in result.warnings if notice.name == "mean-of-segments"]
    others = [notice for notice in result.warnings if notice not in means and notice.name != "too-few-to-swap"]
    remarks = [_worded(notice) for notice in others]  # the answer says the one left out
    if means:
        scores = [f"{mean.about} ({mean.values['system']}: {mean.values['score']:.4f})" for mean in means]
        remarks.append(
            f"{listed(scores)}: systems are compared by the mean of their segments' scores; in brackets is the "
            "metric's own score of all segments, which is another. Compute metrics to compare by that."
        )
    remarks += [f"{note}." for note in result.notes]
    yield Notes(tuple(remarks))
    for first, other in combinations(result.metrics, 2) if result.segments >= FEWEST else ():
        better = {(test.a, test.b): test.better for test in other.tests}
        for test in first.tests:
            winner, loser = test.better, better.get((test.a, test.b))
            if winner and loser and loser != winner:
                under = f"under {first.metric}, and worse under {other.metric}."
                yield Surprise(f"{winner} is significantly better than {loser} {under}", 1.0)


@lists(CompareResult)
def rows(result: CompareResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a metric and test."""
    for metric in result.metrics:
        for test in metric.tests:
            row: dict[str, object] = {"metric": metric.metric, "a": test.a, "b": test.b}
            row |= {"score_a": metric[test.a].score, "score_b": metric[test.b].score}
            row |= as_row(test, "difference", "ci", "p", "p_two_sided")
            row |= {"p_adjusted": test.decisive, "better": test.better or ""}
            row |= {} if test.verdict is None else as_row(test, "p_equivalence", "verdict")
            known = {} if test.published is None else as_row(test.published, "delta", "share", "source")
            yield row | {f"published_{name}": value for name, value in known.items()}


def _worded(notice: Notice) -> str:
    values = notice.values
    if notice.name in ("few-decide", "few-segments", "too-few-to-swap"):
        what, few = next((what, values[what]) for what in ("segments", "documents") if what in values)
        if notice.name == "few-segments":
            return (
                f"{few} {what} are few for a bootstrap: even corrected for that, it is off where scores are skewed; "
                "the default test keeps its level better."
            )
        if notice.name == "few-decide":
            others = f", and few decide {values['tests'] - 1} other differences" if values["tests"] > 1 else ""
            return (
                f"{notice.about}: {values['decide']} of {few:,} {what} decide the difference of {values['a']} and "
                f"{values['b']}{others}: nine tenths of the sum of squared differences are theirs, and other {what} "
                "may decide otherwise."
            )
        number_of = f" in {values['tests']} tests" if values["tests"] > 1 else ""
        return (
            f"{few} {what} can be drawn or swapped in so few ways that p is {values['p']:.2g} at least{number_of}: "
            "no difference can be significant."
        )
    return (
        f"{values['resamples']} resamples give no p under {values['p']:.2g} for {values['tests']} tests: "
        "no difference can be significant; ask for more (resamples)."
    )


def _sampled(result: CompareResult) -> str:
    """Return what is resampled, which is what intervals and tests speak about."""
    of = f"{result.segments:,} segments"
    of = of if result.documents is None else f"{result.documents:,} documents ({of})"
    return f"the {of} of these systems"


def _finding(result: CompareResult) -> str:
    """Return which systems are told apart, once for all metrics that say the same."""
    where = f"{result.segments:,} segments"
    if result.documents is not None:
        where += f" of {result.documents:,} documents"
    swapped = next((notice for notice in result.warnings if notice.name == "too-few-to-swap"), None)
    if swapped is not None:
        return f"{where} are too few to tell systems apart: {_worded(swapped).removesuffix('.')}."
    if any(notice.name == "few-segments" for notice in result.warnings):
        return f"{where} are too few for a bootstrap to tell systems apart."
    others = f", for these systems on other {'segments' if result.documents is None else 'documents'} like these"
    outcomes: dict[str, list[str]] = {}
    for metric in result.metrics:
        if result.baseline is not None:  # which systems are better than it or worse
            ways = {test.a: 0 if test.better is None else 1 if test.better == test.a else -1 for test in metric.tests}
            stands = against(ways, result.baseline)
        else:
            sign = 1 if metric.higher_is_better else -1
            values = {system.system: sign * system.score for system in metric.systems}
            best, _, stand = standing(values, metric.tests, alpha=result.settings.get("alpha", ALPHA), how=None)
            stands = f"{best} is {stand}"
        outcomes.setdefault(stands, []).append(metric.metric)
    answer = " ".join(f"Under {listed(names)}, {stands}." for stands, names in outcomes.items())
    tests = [test for metric in result.metrics for test in metric.tests]
    verdicts, margin = [str(test.verdict) for test in tests], result.settings.get("margin")
    same = sum(verdict.endswith("equivalent") for verdict in verdicts)
    if len(tests) > 1:
        different = sum(test.better is not None for test in tests)
        answer += f" On {where}, {different} of {len(tests)} differences are significant ({_level(result)})"
        if None not in (margin, *(test.verdict for test in tests)):
            answer += f", {same} shown to be smaller than {margin:g}, and {verdicts.count('undecided')} undecided"
        return f"{answer}{others}."
    (test,) = tests
    few = next((notice.values["decide"] for notice in result.warnings if notice.name == "few-decide"), None)
    decide = "" if few is None else f", and {few} of them decide it"
    answer += f" On {where}, the two-sided p is {p_text(test.decisive)} ({_test(result)}){decide}{others}."
    if None not in (margin, test.verdict):
        answer += f" They are{'' if same else ' not'} shown to be equivalent within {margin:g}."
    if test.published is not None:
        answer += (
            f" A difference of {_size(test.published)} {test.published.curve}: people agree in "
            f"{_share(test.published)} % of pairs of systems ({test.published.source})."
        )
    return answer


def _people(result: CompareResult) -> Iterator[Part]:
    """Yield how often people agree with differences as large, and on what that rests; or why it is not said."""
    for source in dict.fromkeys(curve.source for curve in result.published):
        curves = [curve for curve in result.published if curve.source == source]
        (of, *_) = curves
        if not of.claimed:
            few = (
                f"{source} published how often people agree with differences under "
                f"{listed([curve.metric for curve in curves])}. It is not said here: {result.segments:,} segments are "
                f"under {of.fewest:,}, and differences of so few vary from test set to test set."
            )
            yield Prose(few, full=True)
            continue
        spread, distances = [], []
        for curve in curves:
            tests = [test for metric in result.metrics if metric.metric == curve.metric for test in metric.tests]
            known = sorted(
                (test.published for test in tests if test.published is not None), key=lambda point: point.delta
            )
            if known:  # from the smallest to the largest difference
                sizes, shares = (
                    dict.fromkeys(spell(point) for point in (known[0], known[-1])) for spell in (_size, _share)
                )
                scale = "" if curve.scale == 1 else f" (x {curve.scale:g})"
                size = f"{' to '.join(sizes)} {curve.curve}{scale}"
                spread.append(f"{size}: people agree in {' to '.join(shares)} % of pairs")
            shares_of = f"{100 * curve.unrelated:.0f} % compared with {100 * curve.versions:.0f} %"
            distances.append(f"{shares_of} under {curve.metric}")
        several = sum(len(metric.tests) for metric in result.metrics) > 1  # the answer has that of a single one
        ranges = f"Differences of {'; of '.join(spread)}. " if spread and several else ""
        yield Prose(
            f"{ranges}{source}: {of.pairs:,} pairs of translation systems, {of.languages} languages; people agree less "
            f"about unrelated systems than about versions of one ({', '.join(distances)})."
        )


def _size(known: PublishedShare) -> str:
    """Return a difference as its curve counts it."""
    return f"{known.delta:.2f}" if known.delta >= 0.1 else f"{known.delta:.2g}"


def _share(known: PublishedShare) -> str:
    """Return in how many of 100 pairs people agree; curves go on below one half, where they say nothing."""
    return "under 50" if known.share < 0.5 else f"{100 * known.share:.0f}"


def _needed(result: CompareResult) -> TablePart:
    """Return the differences that people agree with in a share of pairs, in points of the metrics here."""

    def needed(share: float) -> Callable[[PublishedCurve], Cell]:
        def cell(curve: PublishedCurve) -> Cell:
            size = curve.needed(share)
            return number(None if size is None else size / curve.scale, 2 if curve.scale == 1 else 4)

        return cell

    (of, *_) = result.published
    return table_of(
        f"Differences with which people agree in 80, 90 and 95 % of pairs of systems ({of.source})",
        result.published,
        {
            "metric": lambda curve: text(curve.metric),
            "as studied": lambda curve: text(curve.curve),
            **{f"{100 * share:.0f} %": needed(share) for share in (0.8, 0.9, 0.95)},
            "at most": lambda curve: percent(curve.a),
            "all pairs": lambda curve: percent(curve.agreement),
            "versions": lambda curve: percent(curve.versions),
            "unrelated": lambda curve: percent(curve.unrelated),
        },
        note=f"Published curves: {of.pairs:,} pairs, {of.languages} languages ({of.data}); {of.population}. A dash: "
        "no difference has that share. All pairs, versions of one system and unrelated systems: share of such pairs in "
        f"which people agree, whatever the difference. They hold for pairs like those; {of.citation}.",
        names=2,
        full=True,
    )


def _test(result: CompareResult) -> str:
    """Return the test, and what it draws."""
    name = str(result.settings.get("test", ""))
    return f"{_TESTS.get(name, name)} of {'segments' if result.documents is None else 'documents'}"


def _level(result: CompareResult) -> str:
    """Return what significant means: the level, and the correction, which is for the tests of one metric."""
    alpha = f"two-sided p < {result.settings.get('alpha', ALPHA):g}"
    most, each = max(len(metric.tests) for metric in result.metrics), " a metric" * (len(result.metrics) > 1)
    if most == 1:
        return f"{alpha}, one comparison{each}: no correction"
    return f"{alpha}, {CORRECTED[result.settings.get('correction', 'none')]} for {most} comparisons{each}"


def _shown(comparison: MetricComparison) -> str:
    """Return the metric, and what to know about its direction."""
    return comparison.metric + ("" if comparison.higher_is_better else " (lower is better)")


def _decimals(comparison: MetricComparison) -> int:
    """Return decimals: scores of up to 1 need more than those of up to 100."""
    return 4 if max(abs(system.score) for system in comparison.systems) <= 2 else 2


def _scores(result: CompareResult, *, intervals: bool) -> TablePart:
    """Return systems by metrics; numbered, with ranks, if all pairs were tested."""
    every = result.baseline is None
    crowded = every and not intervals and len(result.systems) > NAMED  # the table of intervals has the marks
    heads = ["system", *(head for metric in result.metrics for head in (_shown(metric), *["rank"] * every))]
    best = {
        metric.metric: (max if metric.higher_is_better else min)(system.score for system in metric.systems)
        for metric in result.metrics
    }
    worse = {metric.metric: {test.worse for test in metric.tests} for metric in result.metrics}
    body = []
    for place, name in enumerate(result.systems, start=1):
        cells = [text(f"{place} {name}" if every else name)]
        for metric in result.metrics:
            system, mark = metric[name], "" if crowded else _mark(metric, name, result)
            leads = system.score == best[metric.metric] or name not in worse[metric.metric]
            ends = system.ci if intervals else None
            cells += [estimate(system.score, ends, _decimals(metric), mark=mark, strong=every and leads)]
            cells += [number(system.rank)] * every
        body.append(cells)
    level = f" with {confidence(result)} intervals" if intervals else ""
    drawn = f", {result.settings['resamples']:,} resamples" if "resamples" in result.settings else ""
    dagger = f"†: significantly different from {result.baseline}"
    if every:
        dagger = "Ranks: clusters of tests" if crowded else "†: significantly better than the systems of these numbers"
    bold = "Bold: not significantly worse than the best or any other, which does not show that they are as good. "
    means = [notice.about for notice in result.warnings if notice.name == "mean-of-segments"]
    what = f" ({listed(means)}: mean of segments)" if means else ""
    return table(
        f"Scores of systems{what}{level}; sampled: {_sampled(result)}",
        heads,
        body,
        note=f"{bold if every else ''}{dagger}, {_level(result)} ({_test(result)}{drawn}).",
    )


def _mark(comparison: MetricComparison, name: str, result: CompareResult) -> str:
    if result.baseline is not None:
        return "†" * any(test.better is not None for test in comparison.tests if test.a == name)
    beaten = [str(result.systems.index(str(test.worse)) + 1) for test in comparison.tests if test.better == name]
    return f"†{','.join(sorted(beaten, key=int))}" if beaten else ""


def _tests(result: CompareResult) -> TablePart:
    tests = [((_shown(metric),), test) for metric in result.metrics for test in metric.tests]
    places = {id(test): _decimals(metric) for metric in result.metrics for test in metric.tests}
    more: dict[str, Callable[[SystemTest], Cell]] = {"better": lambda test: number(test.better)}
    ends = any(test.ci[0] == test.ci[0] for _, test in tests)
    note = _level(result)
    if len(tests) > len(result.metrics) and ends and result.settings.get("correction", "none") != "none":
        note += "; intervals are not corrected"
    if "margin" not in result.settings:
        note += "; without †, systems are not shown to be equal: margin tests that"
    if any(test.published is not None for _, test in tests):
        more["people agree"] = lambda test: (
            Cell(NONE) if test.published is None else Cell(f"{_share(test.published)} %", test.published.share)
        )
        sources = listed(list(dict.fromkeys(curve.source for curve in result.published)))
        note += f"; people agree: published share of pairs of systems that differ as much ({sources}), a dash: none"
    with_ends = f"; differences with {confidence(result)} intervals" if ends else ""
    return table_of_tests(
        f"Paired tests ({_test(result)}){with_ends}; sampled: {_sampled(result)}",
        tests,
        ["metric", "system", "compared with"],
        alpha=result.settings.get("alpha", ALPHA),
        margin=result.settings.get("margin"),
        places=lambda test: places[id(test)],
        more=more,
        level=note,
        full=len(tests) > _SHORT,
    )


def _chart(result: CompareResult) -> Chart:
    """Return every system's score with its interval, a panel for each metric, the best first."""
    panels = []
    for metric in result.metrics:
        systems = sorted(metric.systems, key=lambda system: system.score, reverse=metric.higher_is_better)
        points = [charts.Point(system.system, 0, system.score, *system.ci) for system in systems]
        scores = ", ".join(f"{system.system} {number(system.score).text}" for system in systems)
        alt = f"Scores under {_shown(metric)}: {scores}."
        panels.append((_shown(metric), charts.intervals(points, alt=alt, axis="score", series=1, zero=None)))
    alt = f"Scores of systems with {confidence(result)} intervals, a panel for each metric, the best first."
    return Chart("Scores of systems, with intervals, the best first", alt, tuple(panels))
