"""Perturbations: what metrics do when a text is changed on purpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bsx.analysis.documents.adversarial import DropExampleRow, DropRow, PerturbDocument
from bsx.analysis.report import charts
from bsx.analysis.report.alignments import Aligner
from bsx.analysis.report.blocks import Block, Cell, Chart, Example, Notes, Prose, ReportTable
from bsx.analysis.report.cells import NONE, heat, interval, listed, number, p_value, percent, table, text
from bsx.analysis.report.words import differing, plain


def perturbation_lead(content: PerturbDocument) -> str:
    """Return which change of meaning each metric notices least."""
    phrases = []
    for metric in _metrics(content):
        found = [
            r
            for r in content.results
            if r.metric == metric and not r.preserves and r.relative_drop is not None and r.n > 0
        ]
        if found:
            least = min(found, key=lambda r: r.relative_drop or 0.0)
            phrases.append(f"{metric} {_called(least)} ({percent(least.relative_drop).text})")
    if not phrases:
        return "No perturbation that changes the meaning has a defined drop."
    return f"The change of meaning noticed least, as drop on the metric's own scale: {'; '.join(phrases)}."


def perturbation_blocks(content: PerturbDocument, aligner: Aligner, at_most: int) -> list[Block]:
    """Return the tables, charts and examples of a battery of perturbations."""
    blocks: list[Block] = [_overview(content, preserves=False), _overview(content, preserves=True)]
    blocks = [block for block in blocks if isinstance(block, ReportTable) and block.rows]
    strengths = _strength_chart(content)
    blocks += [strengths] if strengths is not None else []
    blocks.append(_drops(content))
    skipped = [*content.skipped, *(row.to_dict() for row in content.left_out)]
    if skipped:
        blocks.append(Notes(tuple(f"Left out: {_said(entry)}" for entry in skipped)))
    return blocks + _examples(content.worst, content, aligner, at_most)


def _drops(content: PerturbDocument) -> ReportTable:
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
    return table("All drops", [*heads, *(["not noticed"] if unnoticed else [])], rows, note=note)


def _said(entry: Mapping[str, object]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in entry.items())


def _metrics(content: PerturbDocument) -> list[str]:
    return list(dict.fromkeys(result.metric for result in content.results))


def _called(result: DropRow | DropExampleRow) -> str:
    return result.perturbation + (f" {result.strength:g}" if result.strength is not None else "")


def _overview(content: PerturbDocument, *, preserves: bool) -> ReportTable:
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


def _strength_chart(content: PerturbDocument) -> Chart | None:
    metrics = _metrics(content)
    panels = []
    values = [r.relative_drop for r in content.results if r.relative_drop is not None]
    if not values:
        return None
    span = (min(0.0, *values), max(1.0, *values))
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


def _examples(worst: Sequence[DropExampleRow], content: PerturbDocument, aligner: Aligner, at_most: int) -> list[Block]:
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
    blocks: list[Block] = [
        Prose(
            f"The worst examples ({len(chosen)} of {len(found)} listed): changes of meaning that cost least, and "
            "harmless changes that cost most. Marked: words in which the two texts differ."
        )
    ]
    for examples in chosen:
        first = examples[0]
        texts = [
            ("original", differing(first.original, first.perturbed)),
            ("perturbed", differing(first.perturbed, first.original)),
        ]
        if first.reference != first.original:
            texts.insert(0, ("reference", plain(first.reference)))
        rows = [[text(e.metric), number(e.score), number(e.perturbed_score), number(e.drop)] for e in examples]
        scores = table("Scores", ["metric", "original", "perturbed", "drop"], rows, sortable=False)
        grids, remark = aligner.align([("perturbed", first.perturbed, first.reference)])
        meaning = "meaning kept" if first.perturbation in kept else "meaning changed"
        title = f"Row {first.row}, {_called(first)} ({meaning}): {listed([e.metric for e in examples])}"
        blocks.append(Example(title, tuple(texts), scores, grids, remark))
    return blocks
