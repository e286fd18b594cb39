"""What falls of scores look like when texts are changed on purpose, and all attacks of a report together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter

from bsx.analysis.adversarial.challenge import ChallengeResult
from bsx.analysis.adversarial.pairs import PairsResult
from bsx.analysis.adversarial.result import CaseResult, DropExample, Robustness
from bsx.analysis.adversarial.show import Ranking
from bsx.analysis.adversarial.triples import TriplesResult
from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, NONE, heat, interval, listed, number, p_value, percent, table_of, text
from bsx.analysis.present.forms import as_row, lists, presents
from bsx.analysis.present.parts import Answer, Cell, Chart, Example, Notes, Part, Surprise
from bsx.analysis.present.significance import ALPHA, CORRECTED, dagger, some
from bsx.analysis.present.words import example, examples
from bsx.support.checks import FEW_ITEMS
from bsx.support.result import Result

_EXAMPLES = 30  # more than anybody reads
_WHOLE = ("unrelated", "empty", "source")  # nothing of the text is left: far beyond what a chart is for


def _control(result: Robustness) -> str:
    return str(result.settings.get("control_perturbation", ""))


def _called(case: CaseResult | DropExample) -> str:
    return case.perturbation + (f" {case.strength:g}" if case.strength is not None else "")


def _counted(result: Robustness) -> dict[str, tuple[list[CaseResult], list[CaseResult]]]:
    """Return of each metric the changes of meaning that cost significantly more than the control, and the others."""
    counted: dict[str, tuple[list[CaseResult], list[CaseResult]]] = {}
    for case in result.results:
        tested = min(case.n, case.excess_n) >= FEWEST and not math.isnan(case.p_adjusted)
        if tested and not case.preserves and case.perturbation not in _WHOLE:
            counted.setdefault(case.metric, ([], []))[not case.p_adjusted < ALPHA].append(case)
    return counted


@presents(Robustness, section=("robustness", "Robustness"))
def perturbations(result: Robustness) -> Iterator[Part]:
    """Yield what changes of meaning cost beside one that keeps it, every drop, and examples."""
    control, counted = _control(result), _counted(result)
    cases = {(case.metric, _called(case)): case for case in result.results}
    metrics = list(dict.fromkeys(case.metric for case in result.results))
    correction, draws = str(result.settings.get("correction", "none")), result.settings.get("resamples")
    corrected = CORRECTED.get(correction, correction)
    phrases = [
        f"{len(more)} of {len(more) + len(rest)} changes of meaning cost significantly more under {metric}"
        + (f" (not {some([_called(case) for case in sorted(rest, key=lambda case: case.excess)])})" if rest else "")
        for metric, (more, rest) in counted.items()
    ]
    answer = f"No perturbation that changes the meaning can be tested on {FEWEST} texts or more."
    if counted:
        most = max(case.excess_n for both in counted.values() for part in both for case in part)
        answer = f"Compared with {control}, which keeps the meaning, {some(phrases, long=True)}. "
        answer += f"Tests are one-sided, on {FEWEST} to {most:,} texts, {corrected}."
    yield Answer(answer)
    for preserves, what, should in ((False, "changes", "large"), (True, "stays", "near 0")):
        shown = [c for c in result.results if c.preserves is preserves and c.n and c.perturbation != control]
        names = [*dict.fromkeys(map(_called, shown)), *([control] if not preserves else [])]

        def drop(name: str, metric: str) -> Cell:
            if (case := cases.get((metric, name))) is None:
                return Cell(NONE)
            mark, value = dagger(case.p_adjusted) + "‡" * (0 < case.n < FEW_ITEMS), case.relative_drop
            return percent(value, heat=heat(value), mark=mark)

        few = f" ‡ fewer than {FEW_ITEMS} items: too few to rely on." if any(c.n < FEW_ITEMS for c in shown) else ""
        if names:
            yield table_of(
                f"Relative drop where the meaning {what}: should be {should}; "
                f"n = {max((case.n for case in shown), default=0):,} texts at most",
                names,
                {
                    "perturbation": lambda name: text(f"{name} (control)" if name == control else name),
                    **{metric: partial(drop, metric=metric) for metric in metrics},
                },
                note="100 %: as far as a text that has nothing to do with the reference falls.\n"
                f"†: a larger drop than {control} on the same texts, one-sided p < {ALPHA}, {corrected}.{few}",
                full=preserves,
                foot=0 if preserves else 1,
            )
    notes, tests = [], sum(not math.isnan(case.p) for case in result.results)
    if correction == "holm" and isinstance(draws, int) and tests / (draws + 1) >= ALPHA:
        notes.append(
            f"{draws:,} swaps give no p below {1 / (draws + 1):.2g}, which is {tests / (draws + 1):.2g} after Holm "
            f"over {tests} tests: no change can be significant. Draw more, such as resamples={40 * tests}"
        )
    left_out = [f"{item.perturbation} is left out: it {item.why}" for item in result.left_out]
    notes += [note for note in result.notes if note not in left_out]
    alike: dict[str, list[str]] = {}
    for item in result.left_out:
        alike.setdefault(item.why, []).append(item.perturbation)
    if alike:
        notes.append(f"left out: {'; '.join(f'{listed(names)} ({why})' for why, names in alike.items())}")
    yield Notes(tuple(notes))
    yield from _drop_charts(result, metrics, answer)
    columns: dict[str, Callable[[CaseResult], Cell]] = {
        "metric": lambda case: text(case.metric),
        "perturbation": lambda case: text(case.perturbation),
        "strength": lambda case: number(case.strength, 2),
        "meaning": lambda case: text("kept" if case.preserves else "changed"),
        "n": lambda case: number(case.n),
        "n/a": lambda case: number(case.not_applicable),
        "same": lambda case: number(case.unchanged),
        "mean score": lambda case: number(case.mean_score),
        "drop": lambda case: number(case.drop),
        "interval": lambda case: interval(case.ci),
        "relative drop": lambda case: percent(case.relative_drop),
        "excess": lambda case: number(case.excess),
        "its interval": lambda case: interval(case.excess_ci),
        "p": lambda case: p_value(case.p_adjusted, mark=dagger(case.p_adjusted)),
        "unnoticed": lambda case: percent(case.unnoticed),
    }
    note = (
        "drop: the clean text's score less the changed text's, over the n texts that changed; n/a: nothing to act on; "
        "same: left as they were; excess: less the control's drop; p: one-sided, the drop is larger than the "
        "control's; unnoticed: share that scores no lower."
    )
    yield table_of("All drops", result.results, columns, note=note, names=2, folded=True, full=True)
    skipped = (
        ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in entry.items()) for entry in result.skipped
    )
    yield Notes(tuple(f"Left out: {settings}" for settings in skipped), full=True)
    kept = {case.perturbation for case in result.results if case.preserves}
    shared: dict[tuple[str, ...], list[DropExample]] = {}  # several metrics may have one
    for worst in result.worst:
        shared.setdefault((_called(worst), worst.reference, worst.original, worst.perturbed), []).append(worst)
    # In turn, so that as many perturbations as can have one.
    turns, in_turn = Counter[str](), list[tuple[int, Example]]()
    for first, *others in shared.values():
        same, whose = first.perturbation in kept, dict.fromkeys(worst.metric for worst in (first, *others))
        title = f"Row {first.row}, {_called(first)} (meaning {'kept' if same else 'changed'}): {listed([*whose])}"
        texts = [
            ("reference", first.reference if first.reference != first.original else None, None),
            ("original", first.original, first.perturbed),
            ("perturbed", first.perturbed, first.original),
        ]
        seen = "punished" if same else "noticed"
        words, aligned = (seen, f"not {seen}", f"not {seen}"), (("perturbed", first.perturbed, first.reference),)
        made = example(title, texts, first.scores, ("original", "perturbed"), words, aligned)
        in_turn.append((turns[first.perturbation], made))
        turns[first.perturbation] += 1
    yield from examples(
        "The worst examples: changes of meaning that cost least, and harmless changes that cost most.",
        [item for _, item in sorted(in_turn, key=itemgetter(0))[:_EXAMPLES]],
    )
    for case in result.results:
        harmless = cases.get((case.metric, control))
        if case.preserves or harmless is None or not case.excess_ci[1] < 0 or min(case.n, harmless.n) < FEWEST:
            continue
        if not math.isnan(size := harmless.relative_drop - case.relative_drop):
            costs = [f"{percent(c.relative_drop).text} for {_called(c)} (n = {c.n:,})" for c in (case, harmless)]
            surprise = f"{case.metric} loses less by a change of meaning than by one that keeps it"
            yield Surprise(f"{surprise}: it loses {', '.join(costs)}.", size)


def _drop_charts(result: Robustness, metrics: Sequence[str], answer: str) -> Iterator[Chart]:
    """Yield the control and every change of a part of the text, the mildest strength of each; then all strengths."""
    control, ranges = _control(result), {measured.metric: measured.range for measured in result.ranges}
    defined = [case for case in result.results if not math.isnan(case.relative_drop)]
    strengths: dict[str, set[float]] = {}
    for case in defined:
        strengths.setdefault(case.perturbation, set()).add(case.strength or 0.0)
    points = []
    for case in sorted(defined, key=lambda case: case.perturbation != control):
        part = not case.preserves and case.perturbation not in _WHOLE
        if case.perturbation == control or (part and (case.strength or 0.0) == min(strengths[case.perturbation])):
            low, high = (end / ranges[case.metric] for end in case.ci)
            name, place = _called(case) + " (meaning kept)" * case.preserves, metrics.index(case.metric)
            points.append(charts.Point(name, place, case.relative_drop, low, high, case.metric))
    names = metrics if len(metrics) > 1 else []
    if points:
        alt = f"Relative drops with intervals, the control first, one mark a metric. {answer}"
        axis = "relative drop (1: as far as an unrelated text)"
        title = "What a change of meaning costs, compared with one that keeps it"
        yield charts.forest(title, points, alt=alt, axis=axis, names=names, dense=True)
    graded = [case for case in defined if len(strengths[case.perturbation]) > 1]
    panels = []
    for name in dict.fromkeys(case.perturbation for case in graded):
        marks = [
            (case.strength or 0.0, metrics.index(case.metric), case.relative_drop, case.metric)
            for case in graded
            if case.perturbation == name
        ]
        drops = [case.relative_drop for case in graded]
        spec = charts.lines(
            marks,
            alt=f"Relative drop by strength of {name}, one line a metric.",
            x="strength",
            y="relative drop",
            series=len(metrics),
            span=(min(0.0, *drops), max(0.5, *drops)),
            ticks=sorted(strengths[name]),
        )
        panels.append((name, spec))
    if panels:
        alt = "How much further scores fall as a perturbation gets stronger, one line a metric."
        yield Chart("Drop by strength", alt, tuple(panels), tuple(metrics))


@lists(Robustness)
def perturbed_rows(result: Robustness) -> Iterator[Mapping[str, object]]:
    """Yield a row a metric, perturbation and strength."""
    names = ("metric", "perturbation", "strength", "preserves", "n", "unchanged", "not_applicable", "failed", "nearer")
    more = ("mean_clean", "mean_score", "drop", "ci", "relative_drop", "unnoticed", "excess", "excess_ci", "excess_n")
    yield from (as_row(item, *names, *more, "p", "p_adjusted") for item in result.results)


# All of a report


def robustness(results: Sequence[tuple[str, Result]]) -> Iterator[Part]:
    """Yield one sentence on all results of a report, by significance and count, and the figures of each metric."""
    sentences: list[str] = []
    columns: dict[str, dict[str, Cell]] = {}
    for name, result in results:
        behind = f" ({name})" if sum(type(other) is type(result) for _, other in results) > 1 else ""
        sentence = ""
        if isinstance(result, Robustness):
            counted, control = _counted(result), _control(result)
            sizes = {metric: (len(more), len(more) + len(rest)) for metric, (more, rest) in counted.items()}
            shares = {metric: Cell(f"{more} of {tested}", more / tested) for metric, (more, tested) in sizes.items()}
            columns[f"changes that cost more{behind}"] = shares
            sentence = f"no change of meaning can be tested on {FEWEST} texts or more"
            if counted:
                under = some([f"{share.text} under {metric}" for metric, share in shares.items()])
                sentence = f"of the changes of meaning, {under} cost significantly more than {control}"
        elif isinstance(result, TriplesResult | PairsResult | ChallengeResult):
            ranking = Ranking.of(result)
            columns[f"{ranking.head}{behind}"] = ranking.cells
            on = f"on {ranking.n:,} {ranking.rows}"
            sentence = f"no test between metrics {on}" if not ranking.standing else f"{ranking.standing} {on}"
            if ranking.n < FEWEST:
                sentence = f"{ranking.n} {ranking.rows} are too few to judge by"
        if sentence:
            sentences.append(f"{name}: {sentence}" if behind else sentence)
    metrics = list(dict.fromkeys(metric for cells in columns.values() for metric in cells))
    if not sentences or not metrics:
        return
    yield Answer(f"{'; '.join(sentences)}.")
    cells = {head: (lambda metric, of=of: of.get(metric, Cell(NONE))) for head, of in columns.items()}
    note = (
        "Changes that cost more: of the changes of meaning that were tested, those whose drop is significantly larger "
        "than that of the control, which keeps the meaning. Sizes, tests and intervals stand below."
    )
    yield table_of("Robustness of each metric", metrics, {"metric": text, **cells}, note=note)
