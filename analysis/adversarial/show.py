"""What tests that try to fool metrics look like: triples, pairs, perturbations and challenge sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from operator import attrgetter

from bsx.analysis.adversarial.challenge import BASE, Accuracy, Challenged, ChallengeResult
from bsx.analysis.adversarial.pairs import HarderSet, PairDetection, PairsResult
from bsx.analysis.adversarial.result import CaseResult, DropExample, Robustness
from bsx.analysis.adversarial.triples import BuiltTriples, Split, TripleExample, TriplesResult
from bsx.analysis.present import charts
from bsx.analysis.present.cells import (
    FEWEST,
    NONE,
    SHOWN,
    estimate,
    few,
    few_note,
    heat,
    interval,
    listed,
    number,
    p_value,
    percent,
    table,
    table_of,
    text,
)
from bsx.analysis.present.forms import as_row, lists, presents, summarises
from bsx.analysis.present.parts import Answer, Cell, Chart, Example, Heading, Notes, Part, Prose, Surprise, TablePart
from bsx.analysis.present.significance import (
    ALPHA,
    CORRECTED,
    NAMED,
    against,
    confidence,
    dagger,
    some,
    standing,
    table_of_tests,
)
from bsx.analysis.present.words import differing, plain
from bsx.analysis.stats.preference import McNemar
from bsx.analysis.stats.results import Comparison
from bsx.support.result import Result

_SECTION = ("robustness", "Robustness")
_EXAMPLES = 30  # of perturbed texts: more than anybody reads
_BOLD = "Bold: no metric with a higher value is significantly better"
_SAMPLED = "Intervals and tests speak about other {} like these."
_INTERVALS = {"logit": "logit", "wilson": "Wilson"}
_PHRASES = {
    "no-punctuation": "missing punctuation",
    "lower": "small letters alone",
    "upper": "capitals alone",
    "title": "a capital for every word",
    "quotes": "other quotation marks",
    "spacing": "double spaces",
    "contractions": "contractions",
    "extra-punctuation": "more commas",
    "repeat-words": "repeated words",
    "typos": "typing errors",
    "homoglyphs": "lookalike letters",
    "synonyms": "a synonym",
    "reorder": "another word order",
    "voice": "the passive voice",
    "agreement": "a verb that does not agree",
    "case": "a wrong case",
    "noun-number": "a noun in another number",
    "tense": "another tense",
    "noun-swap": "two nouns swapped",
    "subject-object": "subject and object swapped",
    "negation": "a negation",
    "numbers": "another number",
    "dates": "another date",
    "entities": "another name",
    "shuffle": "shuffled words",
    "drop-words": "dropped words",
    "truncate": "a missing end",
    "source": "the source instead",
    "unrelated": "an unrelated text",
    "empty": "an empty text",
}
_SEVERITIES = ("critical", "major", "minor", "base")
_WHOLE = ("unrelated", "empty", "source")  # nothing of the text is left: far beyond what a chart is for


# Triples


@presents(BuiltTriples, section=("triples", "Triples that were built"))
def built(result: BuiltTriples) -> Iterator[Part]:
    """Yield how many triples there are, what was left out, and how far the words overlap."""
    yield Answer(f"{result.triples:,} triples were built of {result.read:,} rows.")
    overlaps = {"paraphrase": result.overlap_paraphrase, "non-paraphrase": result.overlap_nonparaphrase}
    rows = [[text(name), number(value, 4)] for name, value in overlaps.items()]
    yield table(f"Words in common with the anchor, n = {result.triples:,} triples", ["text", "mean overlap"], rows)
    if result.fewer_than_two_nouns is not None:
        few = f"{len(result.fewer_than_two_nouns):,} of {result.read:,} texts have fewer than two nouns"
        same = f"{len(result.same_words or ()):,} triples have the words of the anchor: equal nouns changed places"
        yield Notes((few, same))


@presents(TriplesResult, section=_SECTION)
def triples(result: TriplesResult) -> Iterator[Part]:
    """Yield how often each metric prefers the paraphrase, the tests, rates by gap in overlap, and examples."""
    results = result.results
    answer = _triples_answer(result)
    yield Answer(answer)
    best = _unbeaten({one.metric: one.rate for one in results}, result.tests)
    rows = []
    for one in results:
        p = p_value(one.p_two_sided, mark=dagger(one.p_two_sided))
        rate = percent(one.rate, strong=one.metric in best)
        counts = [number(one.first), number(one.ties)]
        rows.append([text(one.metric), *counts, rate, _percents(one.ci), number(one.margin), p])
    note = (
        "A triple is an anchor, a paraphrase with few of its words and a non-paraphrase with many; a tie counts "
        f"against the metric.\np: sign test, two-sided, uncorrected; † p < {ALPHA}. {_SAMPLED.format('triples')}"
    )
    note += f"\n{_BOLD}, p < {ALPHA}, McNemar tests{_corrected(result.tests)}." if result.tests else ""
    heads = ["metric", "prefers paraphrase", "ties", "rate", "interval (%)", "mean margin", "p"]
    caption = (
        f"Share of triples in which the paraphrase scores higher, n = {results[0].n:,}; {confidence(result)} intervals"
    )
    yield table(caption, heads, rows, note=note)
    yield Notes(result.notes)
    points = [charts.Point(one.metric, 0, one.rate, *one.ci) for one in sorted(results, key=lambda one: -one.rate)]
    alt = f"{answer} Half of the triples would be chance."
    axis = "share of triples in which the paraphrase scores higher"
    title = "Does the metric prefer the paraphrase?"
    yield charts.forest(title, points, alt=alt, axis=axis, zero=0.5, span=(0, 1))
    yield from _paired(result.tests)
    if result.splits:
        columns: dict[str, Callable[[Split], Cell]] = {
            "metric": lambda split: text(split.metric),
            "gap from": lambda split: number(split.low),
            "gap to": lambda split: number(split.high),
            "triples": lambda split: number(split.n),
            "rate": lambda split: percent(split.rate),
            "interval (%)": lambda split: _percents(split.ci),
        }
        note = "Gap: overlap of the non-paraphrase with the anchor less that of the paraphrase."
        folded = len(result.splits) > 8
        yield table_of("By gap in lexical overlap", result.splits, columns, note=note, folded=folded, full=True)
    yield from _triple_examples(result.worst)
    highest = max(results, key=lambda one: one.rate)
    if highest.n >= FEWEST and highest.ci[1] < 0.5:
        share = f"in {percent(highest.rate).text} of {highest.n:,} triples, where half would be chance"
        said = f"No metric prefers the paraphrase as often as chance: {highest.metric}, the highest, {share}."
        yield Surprise(said, 1 - 2 * highest.ci[1])


@lists(TriplesResult)
def triple_rows(result: TriplesResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a metric."""
    names = ("metric", "n", "first", "ties", "rate", "ci", "margin", "margin_ci", "p_two_sided")
    yield from (as_row(item, *names) for item in result.results)


def _triples_answer(result: TriplesResult) -> str:
    rated = sorted(result.results, key=lambda rate: -rate.rate)
    n = rated[0].n
    if n < FEWEST:
        return f"{n} triples are too few to say how often a metric prefers the paraphrase."
    ways = {}
    for one in rated:
        way = 1 if 2 * one.first > one.n - one.ties else -1
        ways[one.metric] = way if one.p_two_sided < ALPHA else 0
    values = {one.metric: one.rate for one in rated}
    said = f"At preferring the paraphrase, {against(ways, 'chance')}. Rates: {_shares(values, percent)}"
    return f"{said} of {n:,} triples.{_stands(values, result.tests, 'McNemar')}"


def _triple_examples(worst: Sequence[TripleExample]) -> Iterator[Part]:
    """Yield the triples that fool most metrics, one example for all metrics that they fool."""
    results: dict[tuple[str, str, str], list[TripleExample]] = {}
    for example in worst:
        if example.anchor:
            results.setdefault((example.anchor, example.paraphrase, example.nonparaphrase), []).append(example)
    if not results:
        return
    yield Prose(
        "The worst triples, each named after metrics that have it among their worst. Marked: what a shortest edit puts "
        "into the anchor, word by word, to make the other text of it; a word that moved is marked too.",
        full=True,
    )
    for place, examples in enumerate(sorted(results.values(), key=lambda examples: -len(examples))):
        first = examples[0]
        texts = (
            ("anchor", plain(first.anchor)),
            ("paraphrase", differing(first.paraphrase, first.anchor)),
            ("non-paraphrase", differing(first.nonparaphrase, first.anchor)),
        )
        names = listed([e.metric for e in examples])
        fooled = all(e.margin <= 0 for e in examples)
        verb = f"prefer{'s' if len(examples) == 1 else ''} the non-paraphrase" if fooled else "least margin"
        yield Example(
            f"Row {first.row}: {names} {verb}" if fooled else f"Row {first.row}: {verb} of {names}",
            texts,
            _verdicts(first.scores, "paraphrase", "non-paraphrase"),
            folded=place >= SHOWN,
            pairs=(
                ("paraphrase", first.paraphrase, first.anchor),
                ("non-paraphrase", first.nonparaphrase, first.anchor),
            ),
        )


# Pairs


@presents(PairsResult, section=_SECTION)
def pairs(result: PairsResult) -> Iterator[Part]:
    """Yield areas and accuracies of all metrics, their tests, and what is lost on a harder set."""
    answer = " ".join([_pairs_answer(result.results, result.tests), *_harder_answer(result)])
    yield Answer(answer)
    yield _detection(result, result.results, result.tests)
    if result.drops:
        caption = "ROC AUC lost on the harder pairs, tests between independent sets"
        drops = [((metric,), drop) for metric, drop in result.drops.items()]
        p, note = attrgetter("p"), f"one-sided p < {ALPHA}, uncorrected"
        yield table_of_tests(caption, drops, ["metric", "easy", "hard"], alpha=ALPHA, p=p, values=True, level=note)
    yield Notes(result.notes)
    sets = [("first set" if result.against is not None else "", result.results)]
    sets += [(result.against.name, result.against.results)] if result.against is not None else []
    points = [
        charts.Point(item.metric, place, item.auc, *item.ci, name)
        for place, (name, detections) in enumerate(sets)
        for item in detections
    ]
    alt = f"{answer} An AUC of one half is chance."
    names, title = [name for name, _ in sets] if len(sets) > 1 else [], "Does the metric detect paraphrases?"
    yield charts.forest(title, points, alt=alt, axis="area under the ROC curve", names=names, zero=0.5)
    yield from _accuracies(result.results, result.tests)
    if result.against is not None:
        yield Heading(f"The harder set: {result.against.name}", full=True)
        yield _detection(result, result.against.results, result.against.tests, result.against)
        yield from _accuracies(result.against.results, result.against.tests, f" in {result.against.name}")


@lists(PairsResult)
def pair_rows(result: PairsResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a set and metric, and what the metric loses on the second set in that set's row."""
    sets = [("", result.results)]
    sets += [(result.against.name, result.against.results)] if result.against is not None else []
    for name, detections in sets:
        for item in detections:
            row: dict[str, object] = {"set": name} if len(sets) > 1 else {}
            row |= as_row(item, "metric", "n", "positives", "auc", "ci", "p")
            row |= {"average_precision": item.average_precision.estimate}
            row |= as_row(item.accuracy, "threshold", "in_sample", "cross_validated", "majority")
            if name and item.metric in result.drops:
                lost = as_row(result.drops[item.metric], "difference", "ci", "p")
                row |= dict(zip(("drop", "drop_low", "drop_high", "drop_p"), lost.values(), strict=True))
            yield row


def _pairs_answer(detections: Sequence[PairDetection], tests: Sequence[Comparison]) -> str:
    ranked = sorted(
        (detection for detection in detections if not math.isnan(detection.auc)), key=lambda detection: -detection.auc
    )
    if not ranked:
        return "No metric's AUC is defined."
    n = ranked[0].n
    if n < FEWEST:
        return f"{n} pairs are too few to say which metric tells paraphrases from other pairs best."
    ways = {one.metric: (1 if one.auc > 0.5 else -1) if one.p < ALPHA else 0 for one in ranked}
    values = {one.metric: one.auc for one in ranked}
    said = f"At detecting paraphrases, {against(ways, 'chance')}. AUC on {n:,} pairs: {_shares(values, number)}"
    return f"{said}; chance is 0.5.{_stands(values, tests, 'DeLong')}"


def _harder_answer(result: PairsResult) -> list[str]:
    """Return which metrics lose significantly on the harder set."""
    if result.against is None:
        return []
    lost = [f"{metric} ({number(drop.difference).text})" for metric, drop in result.drops.items() if drop.p < ALPHA]
    if not lost:
        return [f"On {result.against.name}, no metric's AUC is significantly lower."]
    return [f"On {result.against.name}, AUC is significantly lower for {some(lost)}."]


def _detection(
    result: PairsResult,
    detections: Sequence[PairDetection],
    tests: Sequence[Comparison],
    harder: HarderSet | None = None,
) -> TablePart:
    best = _unbeaten({item.metric: item.auc for item in detections}, tests)
    rows = []
    for item in detections:
        p = p_value(item.p, mark=dagger(item.p))
        area = number(item.auc, strong=item.metric in best)
        rows.append([text(item.metric), area, interval(item.ci), p])
    note = f"p: AUC 0.5 (chance), two-sided, uncorrected; † p < {ALPHA}. {_SAMPLED.format('pairs')}"
    note += f"\n{_BOLD}, p < {ALPHA}, DeLong tests{_corrected(tests)}." if tests else ""
    where = "" if harder is None else f" in {harder.name}"
    kinds = dict.fromkeys(_INTERVALS.get(item.interval, item.interval) for item in detections if item.interval)
    caption = f"Paraphrase detection{where}, n = {detections[0].n:,} pairs; "
    caption += " ".join([confidence(result), *([" or ".join(kinds)] if kinds else []), "intervals"])
    return table(caption, ["metric", "ROC AUC", "interval", "p"], rows, note=note, full=harder is not None)


def _accuracies(detections: Sequence[PairDetection], tests: Sequence[Comparison], where: str = "") -> Iterator[Part]:
    """Yield average precision and accuracies, then the tests between metrics."""
    rows = []
    for item in detections:
        average, accuracy = item.average_precision, item.accuracy
        figures = [number(accuracy.threshold), number(accuracy.in_sample)]
        figures += [estimate(accuracy.cross_validated, accuracy.ci), number(accuracy.majority)]
        rows.append([text(item.metric), percent(item.positives), estimate(average.estimate, average.ci), *figures])
    heads = ["metric", "paraphrases", "average precision", "best threshold", "accuracy there", "cross-validated"]
    heads.append("majority")
    note = (
        "Accuracy there is on the pairs that chose the threshold; cross-validated on others. Majority: always the more "
        "frequent label."
    )
    yield table(f"Average precision and accuracy{where}", heads, rows, note=note, full=True)
    if tests:
        caption = f"Differences of ROC AUC{where}; paired DeLong tests, two-sided{_corrected(tests)}"
        pairs_ = [((), test) for test in tests]
        yield table_of_tests(caption, pairs_, ["A", "B"], alpha=ALPHA, level=f"p < {ALPHA}", full=True)


# Perturbations


@presents(Robustness, section=_SECTION)
def perturbations(result: Robustness) -> Iterator[Part]:
    """Yield what changes of meaning cost beside one that keeps it, every drop, and examples."""
    answer = _perturbed_answer(result)
    yield Answer(answer)
    yield _overview(result, preserves=False)
    left_out = [f"{item.perturbation} is left out: it {item.why}" for item in result.left_out]
    whys = dict.fromkeys(item.why for item in result.left_out)
    alike = {why: [item.perturbation for item in result.left_out if item.why == why] for why in whys}
    notes = [note for note in result.notes if note not in left_out]
    if alike:
        notes.append(f"left out: {'; '.join(f'{listed(names)} ({why})' for why, names in alike.items())}")
    yield Notes((*_floor(result), *notes))
    yield from _drop_chart(result, answer)
    kept = _overview(result, preserves=True)
    beside = [row for row in kept.rows if row[0].text != _control(result)]  # which the first table has already
    yield from [kept] if beside else []
    strengths = _strength_chart(result)
    yield from [strengths] if strengths is not None else []
    yield _drops(result)
    yield Notes(tuple(f"Left out: {_said(entry)}" for entry in result.skipped), full=True)
    yield from _drop_examples(result)
    yield from _perturbed_surprises(result)


@lists(Robustness)
def perturbed_rows(result: Robustness) -> Iterator[Mapping[str, object]]:
    """Yield a row a metric, perturbation and strength."""
    names = ("metric", "perturbation", "strength", "preserves", "n", "unchanged", "not_applicable", "failed", "nearer")
    more = ("mean_clean", "mean_score", "drop", "ci", "relative_drop", "unnoticed", "excess", "excess_ci", "excess_n")
    yield from (as_row(item, *names, *more, "p", "p_adjusted") for item in result.results)


def _floor(result: Robustness) -> list[str]:
    """Return that too few swaps were drawn for a corrected p to be significant, if that is so."""
    draws = result.settings.get("resamples")
    tests = sum(not math.isnan(case.p) for case in result.results)
    if result.settings.get("correction") != "holm" or not isinstance(draws, int) or tests / (draws + 1) < ALPHA:
        return []
    return [
        f"{draws:,} swaps give no p below {1 / (draws + 1):.2g}, which is {tests / (draws + 1):.2g} after Holm over "
        f"{tests} tests: no change can be significant. Draw more, such as resamples={40 * tests}"
    ]


def _control(result: Robustness) -> str:
    return str(result.settings.get("control_perturbation", ""))


def _perturbed_answer(result: Robustness) -> str:
    """Return which changes of meaning cost each metric significantly more than the control, and which do not."""
    control = _control(result)
    phrases, most = [], 0
    for metric, more, tested in _told(result):
        most = max(most, *(case.excess_n for case in tested))
        rest = [_phrase(case) for case in sorted(tested, key=lambda case: case.excess) if case not in more]
        said = f"{len(more)} of {len(tested)} changes of meaning cost significantly more under {metric}"
        phrases.append(said + (f" (not {some(rest)})" if rest else ""))
    if not phrases:
        return f"No perturbation that changes the meaning can be tested on {FEWEST} texts or more."
    named = _PHRASES.get(control, control)
    said = f"Compared with {named}, which keeps the meaning, {some(phrases, long=True)}."
    return f"{said} Tests are one-sided, on {FEWEST} to {most:,} texts, {_correction(result)}."


def _told(result: Robustness) -> list[tuple[str, list[CaseResult], list[CaseResult]]]:
    """Return each metric with the changes of meaning that cost significantly more than the control, and all tested."""
    told = []
    for metric in _metrics(result):
        tested = [
            case
            for case in result.results
            if case.metric == metric and not case.preserves and case.perturbation not in _WHOLE
            if min(case.n, case.excess_n) >= FEWEST and not math.isnan(case.p_adjusted)
        ]
        if tested:
            told.append((metric, [case for case in tested if case.p_adjusted < ALPHA], tested))
    return told


def _perturbed_surprises(result: Robustness) -> Iterator[Surprise]:
    """Yield changes of meaning that cost a metric significantly less than the control, which keeps the meaning."""
    controls = {
        item.metric: item for item in result.results if item.preserves and item.perturbation == _control(result)
    }
    for item in result.results:
        control = controls.get(item.metric)
        if item.preserves or control is None or not item.excess_ci[1] < 0 or min(item.n, control.n) < FEWEST:
            continue
        if not math.isnan(item.relative_drop) and not math.isnan(control.relative_drop):
            costs = f"it loses {_loss(item)}, {_loss(control)}"
            said = f"{item.metric} loses less by a change of meaning than by one that keeps it: {costs}."
            yield Surprise(said, control.relative_drop - item.relative_drop)


def _loss(case: CaseResult) -> str:
    return f"{percent(case.relative_drop).text} for {_phrase(case)} (n = {case.n:,})"


def _phrase(case: CaseResult) -> str:
    strength = f" ({case.strength:g})" if case.strength is not None else ""
    return _PHRASES.get(case.perturbation, case.perturbation) + strength


def _called(case: CaseResult | DropExample) -> str:
    return case.perturbation + (f" {case.strength:g}" if case.strength is not None else "")


def _said(entry: Mapping[str, object]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in entry.items())


def _metrics(result: Robustness) -> list[str]:
    return list(dict.fromkeys(item.metric for item in result.results))


def _overview(result: Robustness, *, preserves: bool) -> TablePart:
    """Return relative drops, perturbations by metrics, shaded, those that exceed the control's marked."""
    metrics = _metrics(result)
    cases = {(case.metric, _called(case)): case for case in result.results if case.preserves is preserves}
    rows = []
    for name in dict.fromkeys(called for (_, called), case in cases.items() if case.n):
        cells: list[Cell] = [text(name)]
        for metric in metrics:
            case = cases.get((metric, name))
            value = None if case is None or math.isnan(case.relative_drop) else case.relative_drop
            mark = "" if case is None else dagger(case.p_adjusted) + few(case.n)
            cells.append(Cell(NONE) if value is None else percent(value, heat=heat(value, 0, 1), mark=mark))
        rows.append(cells)
    if not preserves:
        controls = {case.metric: case for case in result.results if case.perturbation == _control(result)}
        values = [controls[metric].relative_drop if metric in controls else None for metric in metrics]
        rows.append([text(f"{_control(result)} (control)"), *map(percent, values)])
    what, should = ("stays", "near 0") if preserves else ("changes", "large")
    note = (
        "100 %: as far as a text that has nothing to do with the reference falls.\n"
        f"†: a larger drop than {_control(result)} on the same texts, one-sided p < {ALPHA}, {_correction(result)}."
        f"{few_note(rows)}"
    )
    most = max((case.n for case in cases.values()), default=0)
    caption = f"Relative drop where the meaning {what}: should be {should}; n = {most:,} texts at most"
    heads = ["perturbation", *metrics]
    return table(caption, heads, rows, note=note, full=preserves, foot=0 if preserves else 1)


def _correction(result: Robustness) -> str:
    correction = str(result.settings.get("correction", "none"))
    return CORRECTED.get(correction, correction)


def _drops(result: Robustness) -> TablePart:
    """Return every figure."""
    rows = []
    for item in result.results:
        row = [text(item.metric), text(item.perturbation), number(item.strength, 2)]
        row += [text("kept" if item.preserves else "changed"), number(item.n), number(item.not_applicable)]
        row += [number(item.unchanged), number(item.mean_score), number(item.drop), interval(item.ci)]
        row += [percent(item.relative_drop), number(item.excess), interval(item.excess_ci)]
        rows.append([*row, p_value(item.p_adjusted, mark=dagger(item.p_adjusted)), percent(item.unnoticed)])
    heads = ["metric", "perturbation", "strength", "meaning", "texts", "n/a", "same"]
    heads += ["mean score", "drop", "interval of drop", "relative drop", "less control's", "interval of that", "p"]
    note = (
        "A drop is the clean text's score less the changed text's, over the texts that changed; n/a: nothing to act "
        "on; same: left as they were. p: one-sided, the drop is larger than the control's. Unseen: share of changed "
        "texts that score no lower than before."
    )
    return table("All drops", [*heads, "unseen"], rows, note=note, names=2, folded=True, full=True)


def _drop_chart(result: Robustness, answer: str) -> Iterator[Chart]:
    """Yield the control and every change of a part of the text, the mildest strength of each, with intervals."""
    metrics, control = _metrics(result), _control(result)
    ranges = {one.metric: one.range for one in result.ranges}
    outcome: dict[str, list[CaseResult]] = {}
    for one in result.results:
        if (not one.preserves and one.perturbation not in _WHOLE) or one.perturbation == control:
            outcome.setdefault(one.perturbation, []).append(one)
    shown = []
    for results in outcome.values():
        mildest = min((one.strength for one in results if one.strength is not None), default=None)
        shown += [one for one in results if one.strength == mildest and not math.isnan(one.relative_drop)]
    if not shown:
        return
    points = []
    for one in sorted(shown, key=lambda one: not one.preserves):
        low, high = (end / ranges[one.metric] for end in one.ci)
        name = _called(one) + (" (meaning kept)" if one.preserves else "")
        points.append(charts.Point(name, metrics.index(one.metric), one.relative_drop, low, high, one.metric))
    alt = f"Relative drops with intervals, the control first, one mark a metric. {answer}"
    axis = "relative drop (1: as far as an unrelated text)"
    names, title = (
        metrics if len(metrics) > 1 else [],
        "What a change of meaning costs, compared with one that keeps it",
    )
    yield charts.forest(title, points, alt=alt, axis=axis, names=names, dense=True)


def _strength_chart(result: Robustness) -> Chart | None:
    metrics = _metrics(result)
    graded = [item for item in result.results if item.strength is not None and not math.isnan(item.relative_drop)]
    values = [item.relative_drop for item in graded]
    if not values:
        return None
    span = (min(0.0, *values), max(0.5, *values))
    panels = []
    for name in dict.fromkeys(item.perturbation for item in graded):
        results = [item for item in graded if item.perturbation == name]
        strengths = sorted({item.strength for item in results if item.strength is not None})
        if len(strengths) < 2:
            continue
        points = [
            (item.strength or 0.0, metrics.index(item.metric), item.relative_drop, item.metric) for item in results
        ]
        alt = f"Relative drop by strength of {name}, one line a metric."
        spec = charts.lines(
            points, alt=alt, x="strength", y="relative drop", series=len(metrics), span=span, ticks=strengths
        )
        panels.append((name, spec))
    alt = (
        "How much further scores fall as a perturbation gets stronger, one line a metric; the figures are in the table."
    )
    return Chart("Drop by strength", alt, tuple(panels), tuple(metrics)) if panels else None


def _drop_examples(result: Robustness) -> Iterator[Part]:
    """Yield examples of as many perturbations as there is room for, metrics that share one together."""
    kept = {item.perturbation for item in result.results if item.preserves}
    results: dict[tuple[str, str, str, str], list[DropExample]] = {}
    for example in result.worst:
        key = (_called(example), example.reference, example.original, example.perturbed)
        results.setdefault(key, []).append(example)
    if not results:
        return
    queues: dict[str, list[list[DropExample]]] = {}
    for examples in results.values():
        queues.setdefault(examples[0].perturbation, []).append(examples)
    order = [
        queue[place]
        for place in range(max(map(len, queues.values())))
        for queue in queues.values()
        if place < len(queue)
    ]
    yield Prose(
        "The worst examples: changes of meaning that cost least, and harmless changes that cost most. Marked: what a "
        "shortest edit, word by word, takes out of the original and puts into the perturbed text.",
        full=True,
    )
    for place, examples in enumerate(order[:_EXAMPLES]):
        first = examples[0]
        texts = [
            ("original", differing(first.original, first.perturbed)),
            ("perturbed", differing(first.perturbed, first.original)),
        ]
        if first.reference != first.original:
            texts.insert(0, ("reference", plain(first.reference)))
        rows = [
            [
                text(metric),
                number(before),
                number(after),
                number(before - after),
                text(_noticed(before, after, kept=first.perturbation in kept)),
            ]
            for metric, (before, after) in first.scores.items()
        ]
        heads = ["metric", "original", "perturbed", "drop", "verdict"]
        meaning = "meaning kept" if first.perturbation in kept else "meaning changed"
        yield Example(
            f"Row {first.row}, {_called(first)} ({meaning}): {listed(list(dict.fromkeys(e.metric for e in examples)))}",
            tuple(texts),
            table("Scores", heads, rows, sortable=False),
            folded=place >= SHOWN,
            pairs=(("perturbed", first.perturbed, first.reference),),
        )


def _noticed(before: float, after: float, *, kept: bool) -> str:
    """Return what a metric made of a change."""
    if math.isnan(before) or math.isnan(after):
        return NONE
    if kept:
        return "punished" if after < before else "not punished"
    return "noticed" if after < before else "not noticed"


# Challenge sets


@presents(ChallengeResult, section=_SECTION)
def challenged(result: ChallengeResult) -> Iterator[Part]:
    """Yield accuracies of all rows, by severity and by phenomenon, the tests, and examples."""
    metrics = result.metrics
    yield Answer(_challenge_answer(result))
    first = next(iter(metrics.values()))
    overall = {name: one.overall.rate for name, one in metrics.items() if one.overall is not None}
    best = _unbeaten(overall, result.tests)
    severities = sorted(first.severities, key=_severity)
    rows = []
    for name, one in metrics.items():
        parts: list[tuple[str, Accuracy | None]] = [("all", one.overall)]
        parts += [(severity, one.severities[severity]) for severity in severities]
        for severity, found in parts:
            if found is not None:
                rate = percent(found.rate, strong=severity == "all" and name in best)
                counts = [number(found.n), number(found.right), number(found.tied)]
                rows.append([text(name), *([text(severity)] if severities else []), *counts, rate, _percents(found.ci)])
    heads = ["metric", *(["severity"] if severities else []), "rows", "right", "ties", "accuracy", "interval (%)"]
    note = f"Right: the good translation scores above the bad one; a tie is an error. {_SAMPLED.format('sentences')}"
    note += f"\n{_BOLD}, p < {ALPHA}, McNemar tests{_corrected(result.tests)}." if result.tests else ""
    n = sum(part.n for part in first.phenomena.values()) if first.overall is None else first.overall.n
    caption = f"Accuracy{' by severity' if severities else ''}, n = {n:,}; {confidence(result)} intervals"
    yield table(caption, heads, rows, note=note, names=1 + bool(severities))
    yield Notes(result.notes)
    names = sorted(first.phenomena, key=lambda name: (_severity(first.phenomena[name].severity), name))
    yield _phenomena(metrics, names, severe=bool(severities))
    yield _map(metrics, names)
    yield from _paired(result.tests)
    yield from _challenge_examples(result)
    yield from _opposites(metrics)


@lists(ChallengeResult)
def challenge_rows(result: ChallengeResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a metric and phenomenon, then a row a metric and severity."""
    for metric, one in result.metrics.items():
        parts: list[tuple[str, str, Accuracy]] = [(name, f.severity, f) for name, f in one.phenomena.items()]
        parts += [("", "all", one.overall)] if one.overall is not None else []
        parts += [("", severity, found) for severity, found in one.severities.items()]
        for phenomenon, severity, found in parts:
            about = {"metric": metric, "phenomenon": phenomenon, "severity": severity}
            yield about | as_row(found, "n", "right", "tied", "rate", "ci", "drop")


def _challenge_answer(result: ChallengeResult) -> str:
    rated = [(name, one.overall) for name, one in result.metrics.items() if one.overall is not None]
    rated.sort(key=lambda found: -found[1].rate)
    if not rated:
        return "All rows are anchors of extreme cases: there is no overall accuracy."
    n = rated[0][1].n
    if n < FEWEST:
        return f"{n} rows are too few to say how often a metric sees what is wrong with a translation."
    values = {name: one.rate for name, one in rated}
    said = f"The good translation scores above the bad one in {_shares(values, percent)} of {n:,} rows."
    said += _stands(values, result.tests, "McNemar")
    weak = [phrase for name, one in rated[:NAMED] for phrase in _weakest(name, one, result.metrics[name])]
    return f"{said} Below that (intervals do not overlap): {'; '.join(weak)}." if weak else said


def _weakest(name: str, overall: Accuracy, one: Challenged) -> list[str]:
    """Return the phenomenon that a metric sees least, if its interval lies below that of all rows."""
    results = [
        (part.rate, phenomenon, part)
        for phenomenon, part in one.phenomena.items()
        if part.severity != BASE and part.n >= FEWEST and part.ci[1] < overall.ci[0]
    ]
    if not results:
        return []
    rate, phenomenon, part = min(results, key=lambda each: each[:2])
    return [f"{name} for {phenomenon} ({percent(rate).text} of {part.n:,})"]


def _phenomena(metrics: Mapping[str, Challenged], names: Sequence[str], *, severe: bool) -> TablePart:
    first = next(iter(metrics.values()))
    rows = []
    for name in names:
        shared = first.phenomena[name]
        rates = [metric.phenomena[name].rate for metric in metrics.values()]
        cells = [percent(rate, heat=heat(rate, 0, 1)) for rate in rates]
        rows.append([text(name), *([text(shared.severity)] if severe else []), number(shared.n), *cells])
    means = [percent(metric.macro) for metric in metrics.values()]
    rows.append([text("mean"), *([Cell("")] if severe else []), Cell(""), *means])
    heads = ["phenomenon", *(["severity"] if severe else []), "rows", *metrics]
    note = f"A tie counts as an error. Mean: of all phenomena but those of severity {BASE}."
    return table("Accuracy by phenomenon", heads, rows, note=note, full=True, foot=1)


def _map(metrics: Mapping[str, Challenged], names: Sequence[str]) -> Chart:
    first = next(iter(metrics.values()))
    cells = []
    for name in names:
        row = f"{name} ({first.phenomena[name].severity})".replace(" ()", "")
        for metric, challenge in metrics.items():
            rate = challenge.phenomena[name].rate
            cells.append((row, metric, number(rate, 2).text, rate))
    alt = "Share of rows that each metric gets right, a row for each phenomenon, a column for each metric."
    spec = charts.matrix(cells, alt=alt, x="share of rows right")
    return Chart("Accuracy of metrics by phenomenon", alt, (("", spec),))


def _severity(name: str) -> int:
    return _SEVERITIES.index(name) if name in _SEVERITIES else -1


def _opposites(metrics: Mapping[str, Challenged]) -> Iterator[Surprise]:
    """Yield pairs of metrics each of which is clearly the better one somewhere; the size is the smaller difference."""
    for a, b in combinations(metrics, 2):
        ahead = [_furthest(metrics, *pair) for pair in ((a, b), (b, a))]
        if all(gap > 0 for gap, _ in ahead):
            (first, one), (second, other) = ahead
            shown = [
                f"“{name}” in {percent(metrics[x].phenomena[name].rate).text} of rows, where {y} sees it in "
                f"{percent(metrics[y].phenomena[name].rate).text}"
                for name, x, y in ((one, a, b), (other, b, a))
            ]
            said = f"{a} and {b} see opposite things: {a} sees {shown[0]}; {b} sees {shown[1]}."
            yield Surprise(said, min(first, second))


def _furthest(metrics: Mapping[str, Challenged], a: str, b: str) -> tuple[float, str]:
    """Return where a metric is furthest ahead of another, by how much; 0 if no two intervals lie apart."""
    gaps = [(0.0, "")]
    for name, part in metrics[a].phenomena.items():
        other = metrics[b].phenomena[name]
        if part.n >= FEWEST and part.ci[0] > other.ci[1]:
            gaps.append((part.rate - other.rate, name))
    return max(gaps)


def _challenge_examples(result: ChallengeResult) -> Iterator[Part]:
    """Yield examples of each phenomenon in turn, with every metric's verdict."""
    if not result.examples:
        return
    yield Prose(
        "Examples that fool some metrics, of each phenomenon. Marked: what a shortest edit, word by word, puts into "
        "the reference to make the other text of it.",
        full=True,
    )
    for place, example in enumerate(result.examples):
        base = example.reference if example.reference is not None else example.good
        texts = [
            *([("source", plain(example.source))] if example.source is not None else []),
            *([("reference", plain(example.reference))] if example.reference is not None else []),
            ("good", differing(example.good, base)),
            ("bad", differing(example.bad, base)),
        ]
        right = [name for name, (good, bad) in example.scores.items() if good > bad]
        yield Example(
            f"Row {example.row}, {example.phenomenon}: {'seen by ' + listed(right) if right else 'seen by no metric'}",
            tuple(texts),
            _verdicts(example.scores, "good", "bad"),
            folded=place >= SHOWN,
            pairs=() if example.reference is None else (("good", example.good, base), ("bad", example.bad, base)),
        )


# All of a report


@summarises("robustness")
def robustness(results: Sequence[tuple[str, Result]]) -> Iterator[Part]:
    """Yield one sentence on all results of a report, by significance and count, and the figures of each metric."""
    said: list[str] = []
    columns: dict[str, dict[str, Cell]] = {}
    notes: list[str] = []
    for name, result in results:
        behind = f" ({name})" if sum(type(other) is type(result) for _, other in results) > 1 else ""
        for head, cells in _column(result):
            columns[f"{head}{behind}"] = cells
        if sentence := _counted(result):
            said.append(f"{name}: {sentence}" if behind else sentence)
        if isinstance(result, Robustness):
            control = _PHRASES.get(_control(result), _control(result))
            notes.append(
                "Changes that cost more: of the changes of meaning that were tested, those whose drop is significantly "
                f"larger than that of {control}, which keeps the meaning."
            )
    metrics = list(dict.fromkeys(metric for cells in columns.values() for metric in cells))
    if not said or not metrics:
        return
    yield Answer(f"{'; '.join(said)}.")
    rows = [[text(metric), *(cells.get(metric, Cell(NONE)) for cells in columns.values())] for metric in metrics]
    notes.append("Sizes, tests and intervals of each change and phenomenon stand below.")
    yield table("Robustness of each metric", ["metric", *columns], rows, note=" ".join(notes))


def _column(result: Result) -> Iterator[tuple[str, dict[str, Cell]]]:
    """Yield the columns of a result in the table of all: a head, and a cell a metric."""
    if isinstance(result, TriplesResult):
        yield "prefers the paraphrase", {one.metric: _share(one.rate, one.ci) for one in result.results}
    elif isinstance(result, PairsResult):
        yield "AUC of paraphrases", {one.metric: estimate(one.auc, one.ci) for one in result.results}
    elif isinstance(result, ChallengeResult):
        rated = {name: one.overall for name, one in result.metrics.items() if one.overall is not None}
        yield "good above bad", {name: _share(one.rate, one.ci) for name, one in rated.items()}
    elif isinstance(result, Robustness):
        counts = {name: (more, tested) for name, more, tested in _told(result)}
        yield (
            "changes that cost more",
            {
                name: Cell(f"{len(more)} of {len(tested)}", len(more) / len(tested))
                for name, (more, tested) in counts.items()
            },
        )
        left = {
            name: [_phrase(case) for case in sorted(tested, key=lambda case: case.excess) if case not in more]
            for name, (more, tested) in counts.items()
        }
        yield "not shown for", {name: text(some(rest) if rest else NONE) for name, rest in left.items()}


def _share(rate: float, ends: tuple[float, float]) -> Cell:
    cell = percent(rate)
    return replace(cell, text=f"{cell.text} {_percents(ends).text}")


def _counted(result: Result) -> str:
    """Return a clause on a result without its figures: who is ahead by a test, or how many tests are significant."""
    if isinstance(result, Robustness):
        told = _told(result)
        control = _PHRASES.get(_control(result), _control(result))
        sizes = list(dict.fromkeys(len(tested) for _, _, tested in told))
        if not told:
            return f"no change of meaning can be tested on {FEWEST} texts or more"
        told.sort(key=lambda one: -len(one[1]))
        counts = [f"{len(more)}{'' if len(sizes) == 1 else f' of {len(tested)}'} under {n}" for n, more, tested in told]
        of = f"of {sizes[0]} changes of meaning" if len(sizes) == 1 else "of the changes of meaning"
        return f"{of}, those that cost significantly more than {control} are {some(counts)}"
    if isinstance(result, ChallengeResult):
        rated = {name: one.overall for name, one in result.metrics.items() if one.overall is not None}
        n = max((one.n for one in rated.values()), default=0)
        values, tests, what = {name: one.rate for name, one in rated.items()}, result.tests, "rows with an error"
    elif isinstance(result, TriplesResult):
        n = result.results[0].n
        values, tests, what = {one.metric: one.rate for one in result.results}, result.tests, "triples"
    elif isinstance(result, PairsResult):
        n = result.results[0].n
        areas = {one.metric: one.auc for one in result.results if not math.isnan(one.auc)}
        return _clause(areas, result.tests, n, "pairs", "DeLong")
    else:
        return ""
    return _clause(values, tests, n, what)


def _clause(values: Mapping[str, float], tests: Sequence[Comparison], n: int, what: str, how: str = "McNemar") -> str:
    if n < FEWEST:
        return f"{n} {what} are too few to judge by" if values else ""
    apart = _stands(values, tests, how).removesuffix(".").lstrip()
    return f"{apart} on {n:,} {what}" if apart else f"{listed(list(values))}: no test between metrics on {n:,} {what}"


# What they share


def _unbeaten(values: Mapping[str, float], tests: Sequence[Comparison]) -> set[str]:
    """Return the metrics that none with a higher value significantly outperforms; nobody without tests."""
    p = {frozenset((test.a, test.b)): test.decisive for test in tests}
    beaten = {
        a
        for a, low in values.items()
        for b, high in values.items()
        if high > low and p.get(frozenset((a, b)), 1.0) < ALPHA
    }
    return {name for name in values if name not in beaten} if tests else set()


def _stands(values: Mapping[str, float], tests: Sequence[Comparison], name: str) -> str:
    """Return a sentence on what the highest metric is better than; nothing of a single metric or without tests."""
    if len(values) < 2 or not tests:
        return ""
    how = f"{name} test{'s' * (len(tests) > 1)}{_corrected(tests)}"
    best, _, stands = standing(values, tests, alpha=ALPHA, how=how)
    return f" {best} is {stands}."


def _shares(values: Mapping[str, float], shown: Callable[[float], Cell]) -> str:
    """Return the values of metrics, the highest first; of many, the lowest and the highest."""
    every = [f"{shown(value).text} ({name})" for name, value in values.items()]
    return listed(every) if len(every) <= NAMED else f"{every[-1]} to {every[0]}"


def _verdicts(scores: Mapping[str, tuple[float, float]], better: str, worse: str) -> TablePart:
    """Return what every metric made of two texts, of which the first is the better one."""
    rows = []
    for metric, (good, bad) in scores.items():
        margin = good - bad
        word = NONE if math.isnan(margin) else "right" if margin > 0 else "tie" if margin == 0 else "fooled"
        rows.append([text(metric), number(good), number(bad), number(margin), text(word, strong=margin > 0)])
    return table("Scores", ["metric", better, worse, "margin", "verdict"], rows, sortable=False)


def _paired(tests: Sequence[McNemar]) -> Iterator[TablePart]:
    if tests:
        caption = f"Shares of rows that metrics get right, n = {tests[0].n:,}"
        note = f"McNemar tests, two-sided p < {ALPHA}{_corrected(tests)}"
        only = {"only A": lambda test: number(test.only_a), "only B": lambda test: number(test.only_b)}
        rows = [((), test) for test in tests]
        yield table_of_tests(caption, rows, ["A", "B"], alpha=ALPHA, more=only, level=note, full=True)


def _corrected(tests: Sequence[Comparison]) -> str:
    return ", p corrected for their number" if any(t.p_adjusted is not None for t in tests) else ", uncorrected"


def _percents(ends: tuple[float, float]) -> Cell:
    return interval(ends, 1, scale=100)
