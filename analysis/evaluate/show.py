"""What an evaluation looks like: answer, scores, segments, choices with their commands; what a paper still lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from bsx.analysis.evaluate.result import EvaluationResult
from bsx.analysis.present.cells import NONE, listed, number, table, text
from bsx.analysis.present.forms import lists, parts_of, presents
from bsx.analysis.present.notices import no_translations
from bsx.analysis.present.parts import Answer, Cell, Commands, Notes, Part, Prose, TablePart

_WHY = {"lowest": "worst of the best system", "difference": "best two differ", "disagreement": "metrics disagree"}
_LONG = 30  # characters of a text that a row of a terminal has room for


@presents(EvaluationResult)
def parts(result: EvaluationResult) -> Iterator[Part]:
    """Yield the answer, one table, segments to look at and choices; then all else that was found."""
    compared = [] if result.compare is None else parts_of(result.compare)
    judged = [] if result.meta is None else parts_of(result.meta)
    answers = [part.text for part in (*compared[:1], *judged[:1]) if isinstance(part, Answer)]
    if not answers:
        (name,) = {figure.system for figure in result.scores}
        answers = [f"{name} is the only system: there is nothing to compare it with."]
    yield Answer(" ".join(answers), answers=True)
    shown = next((part for part in compared if isinstance(part, TablePart)), None) or _scores(result)
    yield shown
    people = [part for part in compared if isinstance(part, Prose) and not part.full]
    yield from people
    yield from _segments(result)
    yield from no_translations(result.outputs)
    options = [choice for choice in result.choices if not choice.command.startswith("bsx ")]
    asked = "; ".join(f"{choice.about} {choice.chosen}" for choice in options if choice.given)
    taken = [choice for choice in options if not choice.given]
    changed = "; ".join(f"{choice.about} {choice.chosen} ({choice.command.partition(' ')[0]})" for choice in taken)
    sentences = [_basis(result), f"As asked for: {asked}." if asked else "", f"Chosen: {changed}." if changed else ""]
    yield Prose(" ".join(filter(None, sentences)))
    made = [[c.about, c.chosen, "the user" if c.given else "bsx", c.command] for c in options]
    heads = ["choice", "chosen", "by", "changed by"]
    yield table("Choices", heads, [[*map(text, cells)] for cells in made], names=4, sortable=False, full=True)
    again = tuple(choice.command for choice in result.choices if choice not in options)
    if again:
        yield Commands(("The same by other commands, with all their options:", *again), full=False)
    for part in (*compared[1:], *judged[1:]):
        if part is not shown and part not in people and not isinstance(part, Notes):
            yield replace(part, full=True) if hasattr(part, "full") else part
    notes = [note for part in (*compared, *judged) if isinstance(part, Notes) for note in part.items]
    yield Notes(tuple(dict.fromkeys([*notes, *(f"{note}." for note in result.notes)])))


def _basis(result: EvaluationResult) -> str:
    """Return what the choice of metrics rests on."""
    if result.model is None:
        return f"Metrics: {listed(result.metrics)}, which need no model."
    if result.given:
        return f"Metrics: {listed(result.metrics)}; model {result.model}, as asked for."
    if result.evidence is None:
        return f"Metrics: {listed(result.metrics)}; model {result.model}, the first for BERTScore in this language."
    return f"Metrics: {listed(result.metrics)}. {result.evidence}"


def _scores(result: EvaluationResult) -> TablePart:
    rows = [[text(f.metric), text(f.system), number(f.n), number(f.score)] for f in result.scores]
    return table("Scores", ["metric", "system", "n", "score"], rows, names=2)


def _segments(result: EvaluationResult) -> Iterator[TablePart]:
    """Yield the first segment to look at of each kind, then the others."""
    rows: dict[bool, list[list[Cell]]] = {True: [], False: []}
    several = len({figure.system for figure in result.scores}) > 1
    for why, some in groupby(result.segments, lambda item: item.why):
        for place, item in enumerate(some):
            beside = text(NONE) if item.other_score is None else text(f"{item.other} {number(item.other_score).text}")
            short = item.candidate if len(item.candidate) <= _LONG else f"{item.candidate[: _LONG - 1]}…"
            reason = _WHY[why] if several or why != "lowest" else "worst score"
            cells = [text(reason), text(item.segment), text(item.system), number(item.score), beside, text(short)]
            rows[place == 0].append(cells)
    columns = ["why", "segment", "system", result.metrics[0], "compared with", "candidate"]
    yield table("Segments to look at", columns, rows[True], names=3)
    if rows[False]:
        yield table("Further segments to look at", columns, rows[False], names=3, full=True)


@lists(EvaluationResult)
def rows(result: EvaluationResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a metric and system."""
    for figure in result.scores:
        yield {"metric": figure.metric, "system": figure.system, "n": figure.n, "score": figure.score}
