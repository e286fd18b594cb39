"""What probes look like: what each layer knows, alone and beside human judgments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from bsx.analysis.present.cells import FEWEST, estimate, number, percent, table, text
from bsx.analysis.present.charts import by_layer
from bsx.analysis.present.forms import as_row, lists, presents
from bsx.analysis.present.parts import Answer, Cell, Chart, Notes, Part, TablePart
from bsx.analysis.present.significance import NAMED
from bsx.analysis.probe.result import LayerFigures, ProbedModel, ProbeResult, Transferred
from bsx.analysis.stats.layers import JudgedLayer

_SURE = 0.95  # share of resamples from which the best layer is told apart from the others
_CONTROLLED = ("control", "selectivity")
_CONTROL = (*_CONTROLLED, "selectivity_low", "selectivity_high")
_SAMPLED = "95 % bootstrap intervals over test items like these, for these trained probes"
_BOLD = "Bold: highest accuracy. majority: always the most frequent label."
Line = tuple[str, Sequence[LayerFigures]]
"""A name and figures by layer."""


@presents(ProbedModel, section=("layers", "What layers know"))
def parts(result: ProbedModel) -> Iterator[Part]:
    """Yield what the layers know beyond the most frequent label and the control task, then each task's figures."""
    found = f"Probes of {result.model}. {_finding(result.tasks)}"
    yield Answer(f"{found} {_with_human(result)}" if result.agreement is not None else found)
    if len(result.tasks) > 1 or result.agreement is not None:
        yield _overview(result)
    yield Notes(tuple(result.notes))
    statistic = "" if result.agreement is None else result.agreement.statistic
    yield _chart(result.tasks, f"{result.model}: {result.probe} probes", statistic, _judged(result))
    for task in result.tasks:
        yield from _tables(task, full=len(result.tasks) > 1 or result.agreement is not None)


@presents(ProbeResult)
def probed(result: ProbeResult) -> Iterator[Part]:
    """Yield what the layers know of one task."""
    yield Answer(_finding([result]))
    yield from _tables(result, full=False)
    yield Notes(tuple(result.notes))
    yield _chart([result], f"{result.task or 'One task'}: {result.probe} probes")


@lists(ProbedModel)
def rows(result: ProbedModel) -> Iterator[Mapping[str, object]]:
    """Yield a row a task and layer; ``tested_on`` names what it is about where there are further items."""
    agreement = {layer.layer: layer.f1 for layer in _judged(result)}
    for task in result.tasks:
        for row in task_rows(task):
            own = agreement and row.get("tested_on", task.task) == task.task
            yield {**row, "agreement": agreement[row["layer"]]} if own else row  # type: ignore[index] # a layer


@lists(ProbeResult)
def task_rows(result: ProbeResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a layer, then one for each layer on further items; what was not measured is None."""
    for place, figures in enumerate(result.layers):
        row = {"task": result.task, **as_row(figures, "layer", "accuracy", "low", "high", "spread", "macro_f1")}
        row |= {"baseline": result.baseline, **as_row(figures, *_CONTROL)}
        row |= {f"accuracy_at_{size.size}": size.accuracy[place] for size in result.curve}
        yield row | ({"tested_on": result.task} if result.tested_on else {})
    for further in result.tested_on:
        for other in further.layers:
            row = {"task": result.task, **as_row(other, "layer", "accuracy", "low", "high")}
            yield row | {"baseline": further.baseline, **as_row(other, *_CONTROL), "tested_on": further.name}


def _finding(tasks: Sequence[ProbeResult]) -> str:
    """Say of each task in how many layers it is known, and where best if the resamples tell."""
    more = len(tasks) - NAMED
    rest = [f"{more} more task{'s' * (more > 1)} below."] if more > 0 else []
    return " ".join([*map(_known, tasks[:NAMED]), *rest])


def _known(task: ProbeResult) -> str:
    name = task.task or "the task"
    if task.test < FEWEST:
        return f"{task.test} test items are too few to say what the layers know of {name}."
    of = len(task.layers)
    above = sum(layer.low > task.baseline for layer in task.layers)
    top = next(layer for layer in task.layers if layer.layer == task.best_layer)
    best = estimate(top.accuracy, (top.low, top.high)).text
    if not above:
        where = "in no layer" if of > 1 else "not"
        return (
            f"{name}: {where} significantly better than the most frequent label ({task.baseline:.3f}); highest "
            f"accuracy {best}, {task.test:,} test items."
        )
    said = f"{name}: significantly better than the most frequent label ({task.baseline:.3f}) in {above} of "
    said += f"{of} layer{'s' * (of > 1)}"
    if task.control is not None:
        selective = sum(layer.selectivity_low is not None and layer.selectivity_low > 0 for layer in task.layers)
        said += f" and than the control task in {selective}"
    said += f" ({task.test:,} test items)"
    if of == 1:
        return f"{said}; accuracy {best}."
    share = percent(task.win_share).text
    if task.win_share >= _SURE:
        return f"{said}; best in layer {task.best_layer}: {best}, in {share} of resamples."
    return (
        f"{said}; no layer is told apart as the best (layer {task.best_layer}, {best}, leads in {share} of resamples)."
    )


def _judged(result: ProbedModel) -> list[JudgedLayer]:
    """Return how the probed layers agree with human judgments; none without any."""
    return [] if result.agreement is None else [result.agreement.layers[own.layer] for own in result.tasks[0].layers]


def _with_human(result: ProbedModel) -> str:
    """Return where the agreement with human judgments is highest, which is not tested."""
    layers = _judged(result)
    top = max(layers, key=lambda layer: layer.f1)
    ends = estimate(top.f1, (top.f1_low, top.f1_high)).text
    inside = sum(layer is not top and layer.f1_high >= top.f1_low for layer in layers)
    n = 0 if result.agreement is None else result.agreement.n
    return (
        f"Correlation of F1 with human judgments is highest in layer {top.layer} ({ends}, n = {n:,}); layers are not "
        f"tested against each other, and {inside} of the {len(layers) - 1} others have intervals that overlap with its."
    )


def _overview(result: ProbedModel) -> TablePart:
    """Return accuracies with intervals, a column a task, then the agreement with human judgments."""
    tasks, human, judged = result.tasks, result.agreement, _judged(result)
    highest = [max(figures.accuracy for figures in task.layers) for task in tasks]
    results = []
    for place, first in enumerate(tasks[0].layers):
        cells = [text(first.layer)]
        for task, top in zip(tasks, highest, strict=True):
            figures = task.layers[place]
            cells.append(estimate(figures.accuracy, (figures.low, figures.high), strong=figures.accuracy == top))
        cells += [estimate(own.f1, (own.f1_low, own.f1_high)) for own in judged[place : place + 1]]
        results.append(cells)
    results.append([text("majority"), *(number(task.baseline) for task in tasks), *[Cell("")] * (human is not None)])
    counts = ", ".join(f"n = {task.n:,} ({task.task})" for task in tasks)
    caption = f"Accuracy of {result.probe} probes by layer, {counts}"
    note = f"{_BOLD}\n{_SAMPLED[0].upper()}{_SAMPLED[1:]}"
    if human is not None:
        on = f" on {', '.join(human.data)}" if human.data else ""
        caption += f"; {human.statistic.capitalize()} of F1 with human judgments{on}, n = {human.n:,}"
        note += "; of correlations over segments like these"
    heads = ["layer", *(task.task.replace("_", " ") for task in tasks)]
    heads += [f"{human.statistic.capitalize()} with human judgments"] if human is not None else []
    return table(caption, heads, results, note=f"{note}.", foot=1)


def _tables(result: ProbeResult, *, full: bool) -> Iterator[TablePart]:
    """Yield figures by layer, then those on smaller training parts and on further items."""
    split = (
        "given split" if result.split == "given" else f"{len(result.seeds)} random split{'s' * (len(result.seeds) > 1)}"
    )
    parts_ = f"{result.train:,} to train, {result.validation:,} to validate, {result.test:,} to test"
    name = f"{result.task}: " if result.task else ""
    caption = f"{name}{result.probe} probes by layer, n = {result.n:,} ({split}: {parts_}), "
    caption += f"{len(result.labels)} labels"
    controlled, several = result.control is not None, len(result.seeds) > 1
    note = _BOLD
    if result.control is not None:
        seen, types = percent(result.control.seen).text, result.control.types
        note += f" Control task: {types:,} types, {seen} of test items have a type to remember; "
        note += f"its most frequent label {result.control.baseline:.3f}."
    note += f"\n{_SAMPLED[0].upper()}{_SAMPLED[1:]}."
    top = max(figures.accuracy for figures in result.layers)
    results = []
    for figures in result.layers:
        layer, accuracy, *rest = _cells(figures, top, controlled)
        results.append(
            [layer, accuracy, *([number(figures.spread)] if several else []), number(figures.macro_f1), *rest]
        )
    heads = ["layer", "accuracy", *["± over seeds"] * several, "macro-F1", *_CONTROLLED[: 2 * controlled]]
    yield table(caption, heads, [*results, _majority(result.baseline, len(heads))], note=note, foot=1, full=full)
    if result.curve:
        results = [
            [text(figures.layer), *(estimate(p.accuracy[i], (p.low[i], p.high[i])) for p in result.curve)]
            for i, figures in enumerate(result.layers)
        ]
        caption = f"{name}accuracy with fewer items to train on; {_SAMPLED}"
        yield table(caption, ["layer", *(f"at {point.size:,}" for point in result.curve)], results, full=True)
    for further in result.tested_on:
        yield _further(further, controlled)


def _cells(figures: LayerFigures, top: float, controlled: bool) -> list[Cell]:
    cells = [
        text(figures.layer),
        estimate(figures.accuracy, (figures.low, figures.high), strong=figures.accuracy == top),
    ]
    if controlled:
        ends = (figures.selectivity_low, figures.selectivity_high)
        cells += [number(figures.control), estimate(figures.selectivity, ends)]
    return cells


def _majority(baseline: float, columns: int) -> list[Cell]:
    return [text("majority"), number(baseline), *[Cell("")] * (columns - 2)]


def _further(further: Transferred, controlled: bool) -> TablePart:
    top = max(layer.accuracy for layer in further.layers)
    heads = ["layer", "accuracy", *_CONTROLLED[: 2 * controlled]]
    results = [_cells(layer, top, controlled) for layer in further.layers]
    caption = f"The same probes on {further.name}, n = {further.n:,}; {_SAMPLED}"
    seen = f" {percent(further.seen).text} have a type to remember." if math.isfinite(further.seen) else ""
    note = f"{_BOLD}{seen}"
    return table(caption, heads, [*results, _majority(further.baseline, len(heads))], note=note, foot=1)


def _chart(tasks: Sequence[ProbeResult], title: str, statistic: str = "", judged: Sequence[JudgedLayer] = ()) -> Chart:
    """Return accuracy over layers, then selectivity and agreement, a line a task and one for each further file."""
    known: list[Line] = [(task.task or "the task", task.layers) for task in tasks]
    known += [(f"on {further.name}", further.layers) for task in tasks for further in task.tested_on]
    names = [name for name, _ in known]
    human = f"{statistic} with human judgments"
    names += [human] if judged else []
    panels = []
    shown = [[(layer.layer, layer.accuracy, layer.low, layer.high) for layer in layers] for _, layers in known]
    panels.append(("accuracy", by_layer(names, shown, "accuracy")))
    if any(task.control is not None for task in tasks):
        gains = [[_selectivity(layer) for layer in layers if layer.selectivity is not None] for _, layers in known]
        panels.append(("selectivity", by_layer(names, gains, "selectivity")))
    if judged:
        own = [(layer.layer, layer.f1, layer.f1_low, layer.f1_high) for layer in judged]
        lines = [*[[]] * len(known), own]
        panels.append(("agreement", by_layer([""] * len(known) + [human], lines, human)))
    alt = f"{', '.join(panel for panel, _ in panels)} by layer, a line each for {', '.join(names)}."
    return Chart(title, alt.capitalize(), tuple(panels), tuple(names) if len(names) > 1 else ())


def _selectivity(figures: LayerFigures) -> tuple[int, float | None, float | None, float | None]:
    return figures.layer, figures.selectivity, figures.selectivity_low, figures.selectivity_high
