"""What probes look like: what each layer knows, alone and beside human judgments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from bsx.analysis.present.cells import FEWEST, estimate, number, percent, table, table_of, text
from bsx.analysis.present.charts import by_layer
from bsx.analysis.present.forms import as_row, lists, presents
from bsx.analysis.present.parts import Answer, Cell, Chart, Notes, Part, TablePart
from bsx.analysis.present.significance import some
from bsx.analysis.probe.result import LayerFigures, ProbedLayer, ProbedModel, ProbeResult
from bsx.analysis.stats.layers import JudgedLayer

_SURE = 0.95  # share of resamples from which the best layer is told apart from the others
_CONTROL = ("control", "selectivity", "selectivity_low", "selectivity_high")
_CONTROL_COLUMNS: dict[str, Callable[[LayerFigures], Cell]] = {
    "control": lambda layer: number(layer.control),
    "selectivity": lambda layer: estimate(layer.selectivity, (layer.selectivity_low, layer.selectivity_high)),
}
_SAMPLED = "95 % bootstrap intervals over test items like these, for these trained probes"
_BOLD = "Bold: highest accuracy. majority: always the most frequent label."
Layer = TypeVar("Layer", bound=LayerFigures)


@presents(ProbedModel, section=("layers", "What layers know"))
def parts(result: ProbedModel) -> Iterator[Part]:
    """Yield what the layers know beyond the most frequent label and the control task, then each task's figures."""
    answer = f"Probes of {result.model}. {_finding(result.tasks)}"
    if (agreement := result.agreement) is not None:  # where it is highest is not tested
        layers = _judged(result)
        top = max(layers, key=lambda layer: layer.f1)
        ends = estimate(top.f1, (top.f1_low, top.f1_high)).text
        inside = sum(layer is not top and layer.f1_high >= top.f1_low for layer in layers)
        answer += (
            f" Correlation of F1 with human judgments is highest in layer {top.layer} ({ends}, n = {agreement.n:,}); "
            f"layers are not tested against each other, and {inside} of the {len(layers) - 1} others have intervals "
            f"that overlap with its. On {agreement.unit} that it was not chosen on, a layer chosen so among all of the "
            f"model's reaches {estimate(agreement.chosen.estimate, agreement.chosen.ci).text}."
        )
    yield Answer(answer)
    several = len(result.tasks) > 1 or result.agreement is not None
    if several:
        yield _overview(result)
    yield Notes(tuple(result.notes))
    statistic = "" if result.agreement is None else result.agreement.statistic
    yield _chart(result.tasks, f"{result.model}: {result.probe} probes", statistic, _judged(result))
    for task in result.tasks:
        yield from _tables(task, full=several)


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
            judged = agreement and row.get("tested_on", task.task) == task.task
            yield {**row, "agreement": agreement[row["layer"]]} if judged else row  # type: ignore[index] # a layer


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
    findings = []
    for task in tasks:
        name, of = task.task or "the task", len(task.layers)
        if task.test < FEWEST:
            findings.append(f"{task.test} test items are too few to say what the layers know of {name}")
            continue
        above = sum(layer.low > task.baseline for layer in task.layers)
        control = sum(layer.selectivity_low is not None and layer.selectivity_low > 0 for layer in task.layers)
        top = next(layer for layer in task.layers if layer.layer == task.best_layer)
        best, share = estimate(top.accuracy, (top.low, top.high)).text, percent(task.win_share).text
        lead = f"no layer is told apart as the best (layer {top.layer}, {best}, leads in {share} of resamples)"
        if task.win_share >= _SURE:
            lead = f"best in layer {top.layer} ({best}, in {share} of resamples)"
        findings.append(
            f"{name}: significantly better than the most frequent label ({task.baseline:.3f}) in {above} of {of} "
            f"layer{'s' * (of > 1)}{f' and than the control task in {control}' * (task.control is not None)} "
            f"({task.test:,} test items), {lead if of > 1 else f'accuracy {best}'}"
        )
    return f"{some(findings, long=True)}."


def _judged(result: ProbedModel) -> list[JudgedLayer]:
    """Return how the probed layers agree with human judgments; none without any."""
    human = result.agreement
    return [] if human is None else [human.layers[probed.layer] for probed in result.tasks[0].layers]


def _overview(result: ProbedModel) -> TablePart:
    """Return accuracies with intervals, a column a task, then the agreement with human judgments."""
    tasks, human, judged = result.tasks, result.agreement, _judged(result)
    results = []
    for place, first in enumerate(tasks[0].layers):
        accuracies = [_accuracy(task.layers[place], task.layers) for task in tasks]
        agreement = [estimate(layer.f1, (layer.f1_low, layer.f1_high)) for layer in judged[place : place + 1]]
        results.append([text(first.layer), *accuracies, *agreement])
    results.append([text("majority"), *(number(task.baseline) for task in tasks), *[Cell("")] * (human is not None)])
    counts = ", ".join(f"n = {task.n:,} ({task.task})" for task in tasks)
    caption = f"Accuracy of {result.probe} probes by layer, {counts}"
    note = f"{_BOLD}\n{_SAMPLED[0].upper()}{_SAMPLED[1:]}"
    heads = ["layer", *(task.task.replace("_", " ") for task in tasks)]
    if human is not None:
        on = f" on {', '.join(human.data)}" if human.data else ""
        caption += f"; {human.statistic.capitalize()} of F1 with human judgments{on}, n = {human.n:,}"
        note += f"; of correlations over {human.unit} like these"
        heads.append(f"{human.statistic.capitalize()} with human judgments")
    return table(caption, heads, results, note=f"{note}.", foot=1)


def _tables(result: ProbeResult, *, full: bool) -> Iterator[TablePart]:
    """Yield figures by layer, then those on smaller training parts and on further items."""
    many = len(result.seeds)
    split = "given split" if result.split == "given" else f"{many} random split{'s' * (many > 1)}"
    name = f"{result.task}: " if result.task else ""
    caption = (
        f"{name}{result.probe} probes by layer, n = {result.n:,} ({split}: {result.train:,} to train, "
        f"{result.validation:,} to validate, {result.test:,} to test), {len(result.labels)} labels"
    )
    note = _BOLD
    if result.control is not None:
        seen, types = percent(result.control.seen).text, result.control.types
        note += f" Control task: {types:,} types, {seen} of test items have a type to remember; "
        note += f"its most frequent label {result.control.baseline:.3f}."
    controlled = _CONTROL_COLUMNS if result.control is not None else {}
    columns: dict[str, Callable[[ProbedLayer], Cell]] = {
        **({"± over seeds": lambda layer: number(layer.spread)} if many > 1 else {}),
        "macro-F1": lambda layer: number(layer.macro_f1),
        **controlled,
    }
    note += f"\n{_SAMPLED[0].upper()}{_SAMPLED[1:]}."
    yield _by_layer(caption, result.layers, columns, result.baseline, note=note, full=full)
    if result.curve:
        results = [
            [text(figures.layer), *(estimate(p.accuracy[i], (p.low[i], p.high[i])) for p in result.curve)]
            for i, figures in enumerate(result.layers)
        ]
        caption = f"{name}accuracy with fewer items to train on; {_SAMPLED}"
        yield table(caption, ["layer", *(f"at {point.size:,}" for point in result.curve)], results, full=True)
    for further in result.tested_on:
        caption = f"The same probes on {further.name}, n = {further.n:,}; {_SAMPLED}"
        seen = f" {percent(further.seen).text} have a type to remember." if math.isfinite(further.seen) else ""
        yield _by_layer(caption, further.layers, controlled, further.baseline, note=f"{_BOLD}{seen}")


def _by_layer(
    caption: str,
    layers: Sequence[Layer],
    columns: Mapping[str, Callable[[Layer], Cell]],
    baseline: float,
    *,
    note: str,
    full: bool = False,
) -> TablePart:
    """Return figures of layers, accuracy first, and below them what the most frequent label reaches."""
    every: dict[str, Callable[[Layer], Cell]] = {
        "layer": lambda layer: text(layer.layer),
        "accuracy": lambda layer: _accuracy(layer, layers),
        **columns,
    }
    made = table_of(caption, layers, every, note=note, foot=1, full=full)
    return replace(made, rows=(*made.rows, (text("majority"), number(baseline), *[Cell("")] * (len(every) - 2))))


def _accuracy(layer: LayerFigures, layers: Sequence[LayerFigures]) -> Cell:
    best = max(other.accuracy for other in layers)
    return estimate(layer.accuracy, (layer.low, layer.high), strong=layer.accuracy == best)


def _chart(tasks: Sequence[ProbeResult], title: str, statistic: str = "", judged: Sequence[JudgedLayer] = ()) -> Chart:
    """Return accuracy over layers, then selectivity and agreement, a line a task and one for each further file."""
    further = [data for task in tasks for data in task.tested_on]
    names = [*(task.task or "the task" for task in tasks), *(f"on {data.name}" for data in further)]
    lines: list[Sequence[LayerFigures]] = [*(task.layers for task in tasks), *(data.layers for data in further)]
    human = f"{statistic} with human judgments"
    names += [human] if judged else []
    accuracies = [[(layer.layer, layer.accuracy, layer.low, layer.high) for layer in layers] for layers in lines]
    panels = [("accuracy", by_layer(names, accuracies, "accuracy"))]
    if any(task.control is not None for task in tasks):
        gains = [
            [(layer.layer, layer.selectivity, layer.selectivity_low, layer.selectivity_high) for layer in layers]
            for layers in lines
        ]
        panels.append(("selectivity", by_layer(names, gains, "selectivity")))
    if judged:
        agreement = [(layer.layer, layer.f1, layer.f1_low, layer.f1_high) for layer in judged]
        panels.append(("agreement", by_layer([""] * len(lines) + [human], [[]] * len(lines) + [agreement], human)))
    alt = f"{', '.join(panel for panel, _ in panels)} by layer, a line each for {', '.join(names)}."
    return Chart(title, alt.capitalize(), tuple(panels), tuple(names) if len(names) > 1 else ())
