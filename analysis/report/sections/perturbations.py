"""Perturbations: what metrics do when a text is changed on purpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bsx.analysis.documents.adversarial import DropExampleRow, DropRow, PerturbDocument
from bsx.analysis.documents.base import Number
from bsx.analysis.present import charts
from bsx.analysis.present.cells import (
    FEWEST,
    NONE,
    SHOWN,
    heat,
    interval,
    listed,
    number,
    p_value,
    percent,
    table,
    text,
)
from bsx.analysis.present.parts import Cell, Chart, Example, Part, Prose, Surprise, TablePart
from bsx.analysis.report.alignments import Aligner
from bsx.analysis.report.sections.contents import noted
from bsx.analysis.report.words import differing, plain

_WHOLE = ("unrelated", "empty", "source")  # nothing of the text is left: far beyond what a chart is for
_NAMED = 4  # metrics that a headline has room for
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


def perturbation_lead(content: PerturbDocument) -> str:
    """Return what each metric loses for the change of meaning that it notices least, and for the control."""
    phrases = []
    for metric in _metrics(content):
        found = [r for r in content.results if r.metric == metric and r.relative_drop is not None and r.n >= FEWEST]
        changed = [r for r in found if not r.preserves]
        if not changed:
            continue
        least = min(changed, key=lambda r: r.relative_drop or 0.0)
        control = next((r for r in found if r.preserves and r.perturbation == content.settings.get("control")), None)
        phrases.append(f"{metric} loses {_loss(least)}" + (f", {_loss(control)}" if control is not None else ""))
    if not phrases:
        return f"No perturbation that changes the meaning has a defined drop on {FEWEST} texts or more."
    rest = f" (and {len(phrases) - _NAMED} metrics more)" if len(phrases) > _NAMED else ""
    return (
        "The change of meaning noticed least, beside a change that keeps the meaning, as shares of the way to an "
        f"unrelated text: {'; '.join(phrases[:_NAMED])}{rest}."
    )


def perturbation_surprises(content: PerturbDocument) -> list[Surprise]:
    """Return changes of meaning that cost a metric significantly less than the control, which keeps the meaning."""
    controls = {
        r.metric: r for r in content.results if r.preserves and r.perturbation == content.settings.get("control")
    }
    found = []
    for r in content.results:
        control, high = controls.get(r.metric), None if r.excess_ci is None else r.excess_ci[1]
        if r.preserves or control is None or high is None or high >= 0 or min(r.n, control.n) < FEWEST:
            continue
        if r.relative_drop is not None and control.relative_drop is not None:
            costs = f"it loses {_loss(r)}, {_loss(control)}"
            said = f"{r.metric} minds a change of meaning less than one that keeps the meaning: {costs}."
            found.append(Surprise(said, control.relative_drop - r.relative_drop))
    return found


def _loss(result: DropRow) -> str:
    strength = f" ({result.strength:g})" if result.strength is not None else ""
    what = _PHRASES.get(result.perturbation, result.perturbation) + strength
    return f"{percent(result.relative_drop).text} for {what} (n = {result.n:,})"


def perturbation_blocks(content: PerturbDocument, aligner: Aligner, at_most: int) -> list[Part]:
    """Return the tables, charts and examples of a battery of perturbations."""
    tables = [_overview(content, preserves=preserves) for preserves in (False, True)]
    blocks: list[Part] = [*_drop_chart(content), *(found for found in tables if found.rows)]
    strengths = _strength_chart(content)
    blocks += [strengths] if strengths is not None else []
    blocks.append(_drops(content))
    left_out = [f"{row.perturbation} is left out: it {row.why}" for row in content.left_out]
    left_out += [f"Left out: {_said(entry)}" for entry in content.skipped]
    said = [one for one in left_out if one not in content.notes]
    blocks += noted(said)
    return blocks + _examples(content.worst, content, aligner, at_most)


def _drops(content: PerturbDocument) -> TablePart:
    """Return every figure; the share of texts whose change went unnoticed where the document has it."""
    unnoticed = any(result.unnoticed is not None for result in content.results)
    rows = []
    for r in content.results:
        row = [text(r.metric), text(r.perturbation), number(r.strength, 2), text("kept" if r.preserves else "changed")]
        row += [number(r.n), number(r.unchanged), number(r.mean_score), number(r.drop), interval(r.ci)]
        row += [percent(r.relative_drop), number(r.excess), interval(r.excess_ci)]
        row.append(p_value(r.p if r.p_adjusted is None else r.p_adjusted))
        rows.append([*row, *([number(r.unnoticed)] if unnoticed else [])])
    heads = ["metric", "perturbation", "strength", "meaning", "changed texts", "unchanged", "mean score", "drop"]
    heads += ["interval of drop", "relative drop", "drop less control's", "interval of that", "p"]
    note = (
        "A drop is the clean text's score less the changed text's. Texts that a perturbation leaves as they are do not "
        "count in it: they are under “unchanged”. p: one-sided, the drop is larger than the control's."
    )
    if unnoticed:
        note += " Not noticed: share of changed texts that score no lower than before."
    return table("All drops", [*heads, *(["not noticed"] if unnoticed else [])], rows, note=note, folded=True)


def _said(entry: Mapping[str, object]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in entry.items())


def _metrics(content: PerturbDocument) -> list[str]:
    return list(dict.fromkeys(result.metric for result in content.results))


def _called(result: DropRow | DropExampleRow) -> str:
    return result.perturbation + (f" {result.strength:g}" if result.strength is not None else "")


def _overview(content: PerturbDocument, *, preserves: bool) -> TablePart:
    """Return relative drops, perturbations by metrics, shaded."""
    metrics = _metrics(content)
    results = [result for result in content.results if result.preserves is preserves]
    rows = []
    for name in dict.fromkeys(map(_called, results)):
        cells: list[Cell] = [text(name)]
        for metric in metrics:
            found = next((r for r in results if r.metric == metric and _called(r) == name), None)
            value = None if found is None else found.relative_drop
            shade = heat(value, 0, 1)
            cells.append(Cell(NONE) if value is None else percent(value, heat=shade))
        rows.append(cells)
    what = "keeps" if preserves else "changes"
    should = "near 0" if preserves else "large"
    note = "100 % is as far as a text falls that has nothing to do with the reference; darker is a larger drop."
    caption = f"Relative drop where the perturbation {what} the meaning: should be {should}"
    return table(caption, ["perturbation", *metrics], rows, note=note)


def _drop_chart(content: PerturbDocument) -> list[Part]:
    """Return the control and every change of a part of the text, the mildest strength of each, with intervals."""
    metrics, control = _metrics(content), content.settings.get("control")
    ranges = {row.metric: row.range for row in content.ranges}
    found: dict[str, list[DropRow]] = {}
    for result in content.results:
        if (not result.preserves and result.perturbation not in _WHOLE) or result.perturbation == control:
            found.setdefault(result.perturbation, []).append(result)
    shown = []
    for results in found.values():
        mildest = min((r.strength for r in results if r.strength is not None), default=None)
        shown += [r for r in results if r.strength == mildest and r.relative_drop is not None]
    if not shown:
        return []
    # A drop is as many times its relative drop as its interval's ends are theirs.
    points = []
    for r in sorted(shown, key=lambda r: not r.preserves):
        scale = ranges.get(r.metric) or (r.drop / r.relative_drop if r.drop and r.relative_drop else None)
        low, high = (None if end is None or not scale else end / scale for end in r.ci or (None, None))
        name = _called(r) + (" (meaning kept)" if r.preserves else "")
        points.append(charts.Point(name, metrics.index(r.metric), r.relative_drop, low, high, r.metric))
    alt = f"Relative drops with intervals, the control first, one mark a metric. {perturbation_lead(content)}"
    axis = "relative drop (1: as far as an unrelated text)"
    spec = charts.intervals(points, alt=alt, axis=axis, series=len(metrics), dense=True)
    names = tuple(metrics) if len(metrics) > 1 else ()
    return [Chart("What a change of meaning costs, beside one that keeps it", alt, (("", spec),), names)]


def _strength_chart(content: PerturbDocument) -> Chart | None:
    metrics = _metrics(content)
    panels = []
    values = [r.relative_drop for r in content.results if r.relative_drop is not None and r.strength is not None]
    if not values:
        return None
    span = (min(0.0, *values), max(0.5, *values))
    for name in dict.fromkeys(result.perturbation for result in content.results):
        found = [r for r in content.results if r.perturbation == name and r.strength is not None]
        strengths = sorted({r.strength for r in found if r.strength is not None})
        if len(strengths) < 2:
            continue
        points = [
            (r.strength or 0.0, metrics.index(r.metric), r.relative_drop, r.metric)
            for r in found
            if r.relative_drop is not None
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


def _examples(worst: Sequence[DropExampleRow], content: PerturbDocument, aligner: Aligner, at_most: int) -> list[Part]:
    """Return examples of as many perturbations as there is room for, metrics that share one together."""
    kept = {result.perturbation for result in content.results if result.preserves}
    found: dict[tuple[str, str, str, str], list[DropExampleRow]] = {}
    for example in worst:
        key = (_called(example), example.reference, example.original, example.perturbed)
        found.setdefault(key, []).append(example)
    if not found:
        return []
    queues: dict[str, list[list[DropExampleRow]]] = {}
    for examples in found.values():
        queues.setdefault(examples[0].perturbation, []).append(examples)
    order = [
        queue[place]
        for place in range(max(map(len, queues.values())))
        for queue in queues.values()
        if place < len(queue)
    ]
    chosen = order[:at_most]
    blocks: list[Part] = [
        Prose(
            f"The worst examples ({len(chosen)} of {len(found)} listed): changes of meaning that cost least, and "
            "harmless changes that cost most. Marked: what a shortest edit, word by word, takes out of the "
            "original and puts into the perturbed text."
        )
    ]
    for place, examples in enumerate(chosen):
        first = examples[0]
        texts = [
            ("original", differing(first.original, first.perturbed)),
            ("perturbed", differing(first.perturbed, first.original)),
        ]
        if first.reference != first.original:
            texts.insert(0, ("reference", plain(first.reference)))
        known = first.scores or {e.metric: (e.score, e.perturbed_score) for e in examples}
        rows = [
            [
                text(metric),
                number(before),
                number(after),
                number(None if before is None or after is None else before - after),
                text(_verdict(before, after, kept=first.perturbation in kept)),
            ]
            for metric, (before, after) in known.items()
        ]
        scores = table("Scores", ["metric", "original", "perturbed", "drop", "verdict"], rows, sortable=False)
        grids, remark = aligner.align([("perturbed", first.perturbed, first.reference)])
        meaning = "meaning kept" if first.perturbation in kept else "meaning changed"
        title = f"Row {first.row}, {_called(first)} ({meaning}): {listed([e.metric for e in examples])}"
        blocks.append(Example(title, tuple(texts), scores, grids, remark, folded=place >= SHOWN))
    return blocks


def _verdict(before: Number, after: Number, *, kept: bool) -> str:
    """Return what a metric made of a change."""
    if before is None or after is None:
        return NONE
    if kept:
        return "punished" if after < before else "not punished"
    return "noticed" if after < before else "not noticed"
