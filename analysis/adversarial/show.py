"""What tests that try to fool metrics look like: triples, pairs and challenge sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from operator import attrgetter

from bsx.analysis.adversarial.challenge import BASE, Accuracy, ChallengeResult, PhenomenonAccuracy
from bsx.analysis.adversarial.pairs import HarderSet, PairDetection, PairsResult
from bsx.analysis.adversarial.triples import BuiltTriples, TripleExample, TriplesResult
from bsx.analysis.present import charts
from bsx.analysis.present.cells import (
    FEWEST,
    estimate,
    heat,
    interval,
    listed,
    number,
    p_value,
    percent,
    plain_table,
    table_of,
    text,
)
from bsx.analysis.present.forms import as_row, lists, presents
from bsx.analysis.present.parts import Answer, Cell, Chart, Heading, Notes, Part, Surprise, TablePart
from bsx.analysis.present.significance import ALPHA, NAMED, against, confidence, dagger, some, standing, table_of_tests
from bsx.analysis.present.words import example, examples
from bsx.analysis.stats.preference import McNemar
from bsx.analysis.stats.results import Comparison
from bsx.support.result import Interval

_SECTION = ("robustness", "Robustness")
_SIDES = ("paraphrase", "non-paraphrase")
_SAMPLED = "Intervals and tests speak about other {} like these."
_SEVERITIES = ("critical", "major", "minor", BASE)


# What triples, pairs and challenge sets share


@dataclass(frozen=True)
class Ranking:
    """All metrics by what they reach on the same rows, the highest first, and the tests between them."""

    head: str  # of the figure
    rows: str  # what there are n of
    n: int
    figures: Mapping[str, tuple[float, Interval]]
    ways: Mapping[str, int]  # whether chance is beaten: 1, -1 if it beats the metric, 0 if they are not told apart
    tests: Sequence[Comparison]
    how: str = "McNemar"
    shown: Callable[[float], Cell] = percent

    @classmethod
    def of(cls, result: TriplesResult | PairsResult | HarderSet | ChallengeResult) -> Ranking:
        """Return what a result says of metrics on all of its rows."""
        reached: Iterable[tuple[str, float, Interval, float, bool]]
        if isinstance(result, ChallengeResult):
            rated = {name: row.overall for name, row in result.metrics.items() if row.overall is not None}
            n = max((row.n for row in rated.values()), default=0)
            reached = ((name, row.rate, row.ci, 1.0, False) for name, row in rated.items())
            make = partial(cls, "good above bad", "rows with an error", n)
        elif isinstance(result, TriplesResult):
            reached = (
                (row.metric, row.rate, row.ci, row.p_two_sided, 2 * row.first > row.n - row.ties)
                for row in result.results
            )
            make = partial(cls, "prefers the paraphrase", "triples", result.results[0].n)
        else:
            defined = (row for row in result.results if not math.isnan(row.auc))
            reached = ((row.metric, row.auc, row.ci, row.p, row.auc > 0.5) for row in defined)
            make = partial(cls, "AUC of paraphrases", "pairs", result.results[0].n, how="DeLong", shown=number)
        ranked = sorted(reached, key=lambda each: -each[1])
        return make(
            figures={name: (value, ci) for name, value, ci, *_ in ranked},
            ways={name: (1 if above else -1) if p < ALPHA else 0 for name, _, _, p, above in ranked},
            tests=result.tests,
        )

    @property
    def corrected(self) -> str:
        """Whether the tests' p are corrected."""
        adjusted = any(test.p_adjusted is not None for test in self.tests)
        return "p corrected for their number" if adjusted else "uncorrected"

    @property
    def unbeaten(self) -> set[str]:
        """The metrics that none with a higher value significantly outperforms; nobody without tests."""
        beaten = {test.b if test.difference > 0 else test.a for test in self.tests if test.decisive < ALPHA}
        return {*self.figures} - beaten if self.tests else set()

    @property
    def bold(self) -> str:
        """What bold means, where tests say who is."""
        meaning = f"\nBold: no metric with a higher value is significantly better, p < {ALPHA}, {self.how} tests"
        return f"{meaning}, {self.corrected}." if self.tests else ""

    @property
    def values(self) -> str:
        """The values of metrics, the highest first; of many, the lowest and the highest."""
        every = [f"{self.shown(value).text} ({name})" for name, (value, _) in self.figures.items()]
        return listed(every) if len(every) <= NAMED else f"{every[-1]} to {every[0]}"

    @property
    def standing(self) -> str:
        """A clause on what the highest metric is better than; nothing of a single metric or without tests."""
        if len(self.figures) < 2 or not self.tests:
            return ""
        values = {name: value for name, (value, _) in self.figures.items()}
        how = f"{self.how} test{'s' * (len(self.tests) > 1)}, {self.corrected}"
        best, _, stands = standing(values, self.tests, alpha=ALPHA, how=how)
        return f"{best} is {stands}"

    @property
    def cells(self) -> dict[str, Cell]:
        """A cell a metric: its figure with the interval behind it."""
        scale, places = (100, 1) if self.shown is percent else (1, 3)
        shown = {
            name: (self.shown(value), interval(ci, places, scale=scale)) for name, (value, ci) in self.figures.items()
        }
        return {name: replace(cell, text=f"{cell.text} {ends.text}") for name, (cell, ends) in shown.items()}

    def answer(self, sentence: str) -> str:
        """Return the answer: what was found, unless there are too few rows to say it, and who is ahead."""
        if self.n < FEWEST or not self.figures:
            return f"{self.n} {self.rows} are too few to judge by."
        return f"{sentence} {self.standing}." if self.standing else sentence

    def differences(self, where: str = "") -> Iterator[TablePart]:
        """Yield the tests between metrics, if there are any."""
        if self.tests:
            only: dict[str, Callable[[McNemar], Cell]] = {
                "only A": lambda test: number(test.only_a),
                "only B": lambda test: number(test.only_b),
            }
            more = only if isinstance(self.tests[0], McNemar) else {}
            caption = f"Differences between metrics{where}, n = {self.n:,} {self.rows}"
            level = f"{self.how} tests, two-sided p < {ALPHA}, {self.corrected}"
            tests = [((), test) for test in self.tests]
            yield table_of_tests(caption, tests, ["A", "B"], alpha=ALPHA, more=more, level=level, full=True)


def _p(p: float) -> Cell:
    return p_value(p, mark=dagger(p))


def _forest(title: str, axis: str, alt: str, sets: Mapping[str, Ranking]) -> Chart:
    """Return the chart of all figures with intervals, on each of some sets of rows by name."""
    points = [
        charts.Point(metric, place, value, *ci, name)
        for place, (name, ranking) in enumerate(sets.items())
        for metric, (value, ci) in ranking.figures.items()
    ]
    names = [*sets] if len(sets) > 1 else ()
    return charts.forest(title, points, alt=f"{alt} One half would be chance.", axis=axis, names=names, zero=0.5)


# Triples


@presents(BuiltTriples, section=("triples", "Triples that were built"))
def built(result: BuiltTriples) -> Iterator[Part]:
    """Yield how many triples there are, what was left out, and how far the words overlap."""
    yield Answer(f"{result.triples:,} triples were built of {result.read:,} rows.")
    overlaps = zip(_SIDES, (result.overlap_paraphrase, result.overlap_nonparaphrase), strict=True)
    rows = [{"text": side, "mean overlap": overlap} for side, overlap in overlaps]
    yield plain_table(f"Words in common with the anchor, n = {result.triples:,} triples", rows)
    if result.fewer_than_two_nouns is not None:
        few = f"{len(result.fewer_than_two_nouns):,} of {result.read:,} texts have fewer than two nouns"
        same = f"{len(result.same_words or ()):,} triples have the words of the anchor: equal nouns changed places"
        yield Notes((few, same))


@presents(TriplesResult, section=_SECTION)
def triples(result: TriplesResult) -> Iterator[Part]:
    """Yield how often each metric prefers the paraphrase, the tests, rates by gap in overlap, and examples."""
    ranking = Ranking.of(result)
    best, n = ranking.unbeaten, f"{ranking.n:,}"
    sentence = (
        f"At preferring the paraphrase, {against(ranking.ways, 'chance')}. Rates: {ranking.values} of {n} triples."
    )
    answer = ranking.answer(sentence)
    yield Answer(answer)
    yield table_of(
        f"Share of triples in which the paraphrase scores higher, n = {n}; {confidence(result)} intervals",
        result.results,
        {
            "metric": lambda row: text(row.metric),
            "prefers paraphrase": lambda row: number(row.first),
            "ties": lambda row: number(row.ties),
            "rate": lambda row: percent(row.rate, strong=row.metric in best),
            "interval (%)": lambda row: interval(row.ci, 1, scale=100),
            "mean margin": lambda row: number(row.margin),
            "p": lambda row: _p(row.p_two_sided),
        },
        note="A triple is an anchor, a paraphrase with few of its words and a non-paraphrase with many; a tie counts "
        f"against the metric.\np: sign test, two-sided, uncorrected; † p < {ALPHA}. {_SAMPLED.format('triples')}"
        f"{ranking.bold}",
    )
    yield Notes(result.notes)
    axis = "share of triples in which the paraphrase scores higher"
    yield _forest("Does the metric prefer the paraphrase?", axis, answer, {"": ranking})
    yield from ranking.differences()
    if result.splits:
        note = "low, high: ends of the gap, overlap of the non-paraphrase with the anchor less that of the paraphrase."
        splits, folded = [vars(split) for split in result.splits], len(result.splits) > 8
        yield plain_table("By gap in lexical overlap", splits, note=note, folded=folded, full=True)
    shared: dict[tuple[str, ...], list[TripleExample]] = {}  # several metrics may have one
    for row in result.worst:
        shared.setdefault((row.anchor, row.paraphrase, row.nonparaphrase), []).append(row)
    worst = []
    for (anchor, *others), same in sorted(shared.items(), key=lambda each: -len(each[1])):
        names, sides = listed([row.metric for row in same]), [*zip(_SIDES, others, [anchor] * 2, strict=True)]
        fooled = f"{names} prefer{'s' * (len(same) == 1)} the non-paraphrase"
        title = fooled if all(row.margin <= 0 for row in same) else f"least margin of {names}"
        texts = [("anchor", anchor, None), *sides]
        title = f"Row {same[0].row}: {title}"
        worst += [example(title, texts, same[0].scores, _SIDES, pairs=tuple(sides))] if anchor else []
    yield from examples("The worst triples, each named after metrics that have it among their worst.", worst)
    highest, (rate, (_, most)) = next(iter(ranking.figures.items()))
    if ranking.n >= FEWEST and most < 0.5:
        share = f"in {percent(rate).text} of {n} triples, where half would be chance"
        sentence = f"No metric prefers the paraphrase as often as chance: {highest}, the highest, {share}."
        yield Surprise(sentence, 1 - 2 * most)


@lists(TriplesResult)
def triple_rows(result: TriplesResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a metric."""
    names = ("metric", "n", "first", "ties", "rate", "ci", "margin", "margin_ci", "p_two_sided")
    yield from (as_row(item, *names) for item in result.results)


# Pairs


def _sets(result: PairsResult) -> list[HarderSet]:
    """Return the first set, which has no name, and the harder one if there is one."""
    first = HarderSet("", result.results, result.tests)
    return [first] if result.against is None else [first, result.against]


def _areas(result: PairsResult, pairset: HarderSet, *, full: bool = False) -> TablePart:
    ranking = Ranking.of(pairset)
    where, best = f" in {pairset.name}" if pairset.name else "", ranking.unbeaten
    kind = pairset.results[0].interval.replace("wilson", "Wilson")
    intervals = " ".join([confidence(result), *kind.split(), "intervals"])
    return table_of(
        f"Paraphrase detection{where}, n = {ranking.n:,} pairs; {intervals}",
        pairset.results,
        {
            "metric": lambda item: text(item.metric),
            "ROC AUC": lambda item: number(item.auc, strong=item.metric in best),
            "interval": lambda item: interval(item.ci),
            "p": lambda item: _p(item.p),
        },
        note=f"p: AUC 0.5 (chance), two-sided, uncorrected; † p < {ALPHA}. {_SAMPLED.format('pairs')}{ranking.bold}",
        full=full,
    )


@presents(PairsResult, section=_SECTION)
def pairs(result: PairsResult) -> Iterator[Part]:
    """Yield areas and accuracies of all metrics, their tests, and what is lost on a harder set."""
    sets = _sets(result)
    rankings = {pairset.name or "first set": Ranking.of(pairset) for pairset in sets}
    first = rankings["first set"]
    sentence = f"At detecting paraphrases, {against(first.ways, 'chance')}. AUC on {first.n:,} pairs: {first.values}"
    answer = first.answer(f"{sentence}; chance is 0.5.")
    if result.against is not None:
        lost = [f"{metric} ({number(drop.difference).text})" for metric, drop in result.drops.items() if drop.p < ALPHA]
        of = f"AUC is significantly lower for {some(lost)}" if lost else "no metric's AUC is significantly lower"
        answer += f" On {result.against.name}, {of}."
    yield Answer(answer)
    yield _areas(result, sets[0])
    if result.drops:
        caption = "ROC AUC lost on the harder pairs, tests between independent sets"
        drops = [((metric,), drop) for metric, drop in result.drops.items()]
        p, level = attrgetter("p"), f"one-sided p < {ALPHA}, uncorrected"
        yield table_of_tests(caption, drops, ["metric", "easy", "hard"], alpha=ALPHA, p=p, values=True, level=level)
    yield Notes(result.notes)
    yield _forest("Does the metric detect paraphrases?", "area under the ROC curve", answer, rankings)
    note = "in sample: on the pairs that chose the threshold; cross validated: on others; majority: always that label"
    for pairset, ranking in zip(sets, rankings.values(), strict=True):
        if pairset.name:
            yield Heading(f"The harder set: {pairset.name}", full=True)
            yield _areas(result, pairset, full=True)
        columns: dict[str, Callable[[PairDetection], Cell]] = {
            "metric": lambda item: text(item.metric),
            "paraphrases": lambda item: percent(item.positives),
            "average precision": lambda item: estimate(item.average_precision.estimate, item.average_precision.ci),
            "threshold": lambda item: number(item.accuracy.threshold),
            "in sample": lambda item: number(item.accuracy.in_sample),
            "cross validated": lambda item: estimate(item.accuracy.cross_validated, item.accuracy.ci),
            "majority": lambda item: number(item.accuracy.majority),
        }
        where = f" in {pairset.name}" if pairset.name else ""
        caption = f"Average precision and accuracy{where}"
        yield table_of(caption, pairset.results, columns, note=f"{note}.", full=True)
        yield from ranking.differences(where)


@lists(PairsResult)
def pair_rows(result: PairsResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a set and metric, and what the metric loses on the second set in that set's row."""
    sets = _sets(result)
    for pairset in sets:
        for item in pairset.results:
            row: dict[str, object] = {"set": pairset.name} if len(sets) > 1 else {}
            row |= as_row(item, "metric", "n", "positives", "auc", "ci", "p")
            row |= {"average_precision": item.average_precision.estimate}
            row |= as_row(item.accuracy, "threshold", "in_sample", "cross_validated", "majority")
            if pairset.name and item.metric in result.drops:
                lost = as_row(result.drops[item.metric], "difference", "ci", "p")
                row |= dict(zip(("drop", "drop_low", "drop_high", "drop_p"), lost.values(), strict=True))
            yield row


# Challenge sets


@presents(ChallengeResult, section=_SECTION)
def challenged(result: ChallengeResult) -> Iterator[Part]:
    """Yield accuracies of all rows, by severity and by phenomenon, the tests, and examples."""
    metrics, ranking = result.metrics, Ranking.of(result)
    first, best = next(iter(metrics.values())), ranking.unbeaten
    weak = []
    for name, (_, ci) in list(ranking.figures.items())[:NAMED]:
        below = [
            (part.rate, phenomenon, part.n)
            for phenomenon, part in metrics[name].phenomena.items()
            if part.severity != BASE and part.n >= FEWEST and part.ci[1] < ci[0]
        ]
        if below:
            lowest, phenomenon, n = min(below)
            weak.append(f"{name} for {phenomenon} ({percent(lowest).text} of {n:,})")
    answer = ranking.answer(f"The good translation scores above the bad one in {ranking.values} of {ranking.n:,} rows.")
    yield Answer(f"{answer} Below that (intervals do not overlap): {'; '.join(weak)}." if weak else answer)

    def order(severity: str) -> int:
        return _SEVERITIES.index(severity) if severity in _SEVERITIES else -1

    severities, rows = sorted(first.severities, key=order), []
    for name, accuracies in metrics.items():
        rows += [(name, "all", accuracies.overall)] if accuracies.overall is not None else []
        rows += [(name, severity, accuracies.severities[severity]) for severity in severities]
    n = ranking.n or sum(part.n for part in first.phenomena.values())
    yield table_of(
        f"Accuracy{' by severity' if severities else ''}, n = {n:,}; {confidence(result)} intervals",
        rows,
        {
            "metric": lambda row: text(row[0]),
            "severity": (lambda row: text(row[1])) if severities else None,
            "rows": lambda row: number(row[2].n),
            "right": lambda row: number(row[2].right),
            "ties": lambda row: number(row[2].tied),
            "accuracy": lambda row: percent(row[2].rate, strong=row[1] == "all" and row[0] in best),
            "interval (%)": lambda row: interval(row[2].ci, 1, scale=100),
        },
        note="Right: the good translation scores above the bad one; a tie is an error. "
        f"{_SAMPLED.format('sentences')}{ranking.bold}",
        names=1 + bool(severities),
    )
    yield Notes(result.notes)
    names = sorted(first.phenomena, key=lambda name: (order(first.phenomena[name].severity), name))

    def share(metric: str, row: tuple[str, PhenomenonAccuracy | None, Mapping[str, float]]) -> Cell:
        return percent(row[2][metric], heat=heat(row[2][metric]))

    every = [
        (n, first.phenomena[n], {m: accuracies.phenomena[n].rate for m, accuracies in metrics.items()}) for n in names
    ]
    yield table_of(
        "Accuracy by phenomenon",
        [*every, ("mean", None, {metric: accuracies.macro for metric, accuracies in metrics.items()})],
        {
            "phenomenon": lambda row: text(row[0]),
            "severity": (lambda row: text(row[1].severity if row[1] else "")) if severities else None,
            "rows": lambda row: number(row[1].n if row[1] else None),
            **{metric: partial(share, metric) for metric in metrics},
        },
        note=f"A tie counts as an error. Mean: of all phenomena but those of severity {BASE}.",
        full=True,
        foot=1,
    )
    alt = "Share of rows that each metric gets right, a row for each phenomenon, a column for each metric."
    cells = [
        (f"{name} ({part.severity})".removesuffix(" ()"), metric, number(rate, 2).text, rate)
        for name, part, rates in every
        for metric, rate in rates.items()
    ]
    spec = charts.matrix(cells, alt=alt, x="share of rows right")
    yield Chart("Accuracy of metrics by phenomenon", alt, (("", spec),))
    yield from ranking.differences()
    made = []
    for item in result.examples:
        base = item.good if item.reference is None else item.reference
        sides = (("good", item.good, base), ("bad", item.bad, base))
        right = [name for name, (good, bad) in item.scores.items() if good > bad]
        title = f"Row {item.row}, {item.phenomenon}: seen by {listed(right) if right else 'no metric'}"
        texts = [("source", item.source, None), ("reference", item.reference, None), *sides]
        aligned = () if item.reference is None else sides
        made.append(example(title, texts, item.scores, ("good", "bad"), pairs=aligned))
    yield from examples("Examples that fool some metrics, of each phenomenon.", made)
    furthest: dict[tuple[str, str], tuple[float, str]] = {}
    for a, b in permutations(metrics, 2):  # where the first is furthest ahead of the second, intervals apart
        ours, theirs = metrics[a].phenomena, metrics[b].phenomena
        gaps = [
            (part.rate - theirs[name].rate, name)
            for name, part in ours.items()
            if part.n >= FEWEST and part.ci[0] > theirs[name].ci[1]
        ]
        furthest |= {(a, b): max(gaps)} if gaps else {}
        if (b, a) in furthest and gaps:
            sentences = [
                f"{x} sees “{name}” in {percent(metrics[x].phenomena[name].rate).text} of rows, where {y} sees it in "
                f"{percent(metrics[y].phenomena[name].rate).text}"
                for x, y in ((b, a), (a, b))
                for _, name in [furthest[x, y]]
            ]
            size = min(furthest[a, b], furthest[b, a])[0]
            yield Surprise(f"{b} and {a} see opposite things: {sentences[0]}; {sentences[1]}.", size)


@lists(ChallengeResult)
def challenge_rows(result: ChallengeResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a metric and phenomenon, then a row a metric and severity."""
    for metric, accuracies in result.metrics.items():
        parts: list[tuple[str, str, Accuracy]] = [(name, f.severity, f) for name, f in accuracies.phenomena.items()]
        parts += [("", "all", accuracies.overall)] if accuracies.overall is not None else []
        parts += [("", severity, accuracy) for severity, accuracy in accuracies.severities.items()]
        for phenomenon, severity, accuracy in parts:
            about = {"metric": metric, "phenomenon": phenomenon, "severity": severity}
            yield about | as_row(accuracy, "n", "right", "tied", "rate", "ci", "drop")
