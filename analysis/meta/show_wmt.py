"""What WMT's official table looks like: the first metric and its cluster, then every metric, task by task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from bsx.analysis.meta.protocol import LeftOutSystem, ProtocolResult, ProtocolTask, RankedMetric
from bsx.analysis.present.cells import NONE, listed, number, p_value, table, table_of, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Cell, Notes, Part, Prose, TablePart
from bsx.analysis.present.significance import NAMED, some

_STATISTICS = {
    "pairwise_accuracy": "accuracy of pairs of systems",
    "pearson": "Pearson's r of {}",
    "spa": "soft pairwise accuracy (SPA)",
    "acc_eq": "accuracy of pairs within segments, ties calibrated (acc_eq)",
}
_SHORT = {"pairwise_accuracy": "accuracy", "pearson": "r", "spa": "SPA", "acc_eq": "acc_eq"}
_MOST_COLUMNS = 4
_MOST_ROWS = 12
_WHY = {
    "reference": "the reference",
    "human": "a human translation, which this protocol does not rank",
    "outlier": "an outlier by the protocol",
    "unjudged": "without human scores",
}


@presents(ProtocolResult, section=("protocol", "WMT's official table"))
def parts(result: ProtocolResult) -> Iterator[Part]:
    """Yield the first metric and its cluster, the table, what is left out, then every task with its clusters."""
    yield Answer(_finding(result), answers=True)
    ranked, few = [metric for metric in result.metrics if metric.rank], len(result.tasks) <= _MOST_COLUMNS
    shown = ranked[:_MOST_ROWS]
    yield _main(result, shown, few=few, of=len(ranked))
    yield Prose(_basis(result))
    notes = [*_left_out(result), *result.notes]
    if result.tested and any(task.statistic == "acc_eq" for task in result.tasks):
        notes.append(
            "WMT's test of acc_eq swaps pairs of outputs one by one, as if those of a segment were independent: it "
            "finds differences too often; bsx meta --statistic acc_eq swaps whole segments"
        )
    yield Notes(tuple(f"{note}." for note in notes))
    tasks: dict[str, Callable[[ProtocolTask], Cell]] = {
        "task": lambda task: text(_head(task)),
        "figure": lambda task: text(_figure(task.level, task.statistic)),
        "weight": lambda task: number(task.weight),
        "systems": lambda task: text("+".join(map(str, task.systems))),
        "judged segments": lambda task: number(task.segments or None),
    }
    yield table_of("Tasks", result.tasks, tasks, sortable=False, full=True)
    if len(ranked) > len(shown) or not few:
        yield _main(result, ranked, few=True, of=len(ranked), full=True)
    ranks: dict[str, Callable[[RankedMetric], Cell]] = {
        "metric": lambda metric: text(metric.metric),
        "average": lambda metric: number(metric.rank or None, mark="‡" * metric.unclear),
        "p (first is better)": lambda metric: p_value(metric.p),
        **{_head(task): partial(_rank, task.name) for task in result.tasks},
    }
    caption = f"{'Significance clusters' if result.tested else 'Places'} by task"
    yield table_of(caption, result.metrics, ranks, full=True)


@lists(ProtocolResult)
def rows(result: ProtocolResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a metric and task, that of the average among them."""
    for metric in result.metrics:
        about = {"metric": metric.metric, "baseline": metric.baseline, "primary": metric.primary}
        if metric.rank:
            yield {**about, "task": "average", "weight": 1.0, "value": metric.average, "rank": metric.rank}
        for task in result.tasks:
            if (figure := metric.figures.get(task.name)) is not None:
                yield {**about, "task": task.name, "weight": task.weight, "value": figure.value, "rank": figure.rank}


def _finding(result: ProtocolResult) -> str:
    ranked = [metric for metric in result.metrics if metric.rank]
    if not ranked:
        return f"No metric has scores for all {len(result.tasks)} tasks of {result.protocol}: there is no average."
    first = ranked[0]
    tasks = f"{len(result.tasks)} tasks" if len(result.tasks) > 1 else "one task"
    sentence = f"{first.metric} is first of {len(ranked)} metrics by the protocol of {result.protocol}: "
    sentence += f"{first.average:.3f} on average over {tasks}"
    if not result.tested:
        return f"{sentence}. Nothing was tested: ranks are places."
    if same := [metric.metric for metric in ranked[1:] if metric.rank == 1]:
        verdict = f"{some(same)} {'is' if len(same) == 1 else 'are'} in the same significance cluster"
    elif all((metric.p or 0) <= result.alpha for metric in ranked[1:]):
        verdict = f"it is significantly better than {'all others' if len(ranked) > 2 else 'the other'}"
    else:
        verdict = "it is a cluster of its own"
    how = f"permutation of the two metrics' scores, {result.resamples:,} draws or more, one-sided p ≤ {result.alpha:g}"
    return f"{sentence}; {verdict} ({how})."


def _head(task: ProtocolTask) -> str:
    pairs = task.pairs[0] if len(task.pairs) == 1 else "all"
    return f"{pairs} {task.level} {_SHORT[task.statistic]}"


def _main(
    result: ProtocolResult, metrics: Sequence[RankedMetric], *, few: bool, of: int, full: bool = False
) -> TablePart:
    """Return the table: a column a task, or the mean of each kind of task."""
    columns: dict[str, list[ProtocolTask]] = {}
    for task in result.tasks:
        columns.setdefault(_head(task) if few else f"{task.level} {_SHORT[task.statistic]}", []).append(task)
    body = []
    for metric in metrics:
        name = text(metric.metric, mark="†" if metric.baseline else "" if metric.primary else "*")
        cells = [name, number(metric.rank, mark="‡" * metric.unclear), number(metric.average, strong=metric.rank == 1)]
        for tasks in columns.values():
            values = [metric.figures[task.name].value for task in tasks if task.name in metric.figures]
            cells.append(number(sum(values) / len(values)) if len(values) == len(tasks) else Cell(NONE))
        body.append(cells)
    kept = f", the first {len(metrics)} of {of}" if len(metrics) < of else ""
    used = {cell.mark for row in body for cell in row[:2]}
    chance = f"‡ chance decides whether a new cluster begins here: p is about {result.alpha:g}, and draws scatter"
    meanings = {"†": "† baseline", "*": "* not in the main table", "‡": chance}
    marks = "; ".join(word for mark, word in meanings.items() if mark in used)
    marks += "." * bool(marks)
    means = "" if few else " Columns are means over language pairs; --full has each task."
    heads = ["metric", "rank", "average", *columns]
    return table(f"{result.title}{kept}", heads, body, note=f"{marks}{means}".strip(), full=full)


def _basis(result: ProtocolResult) -> str:
    """Return what the average is made of."""
    kinds, sizes = dict[str, float](), dict[str, tuple[int, int]]()
    for task in result.tasks:
        kind = _figure(task.level, task.statistic)
        kinds[kind] = kinds.get(kind, 0.0) + task.weight
        if len(task.pairs) == 1:
            segments = max(sizes.get(task.pairs[0], (0, 0))[1], task.segments)
            sizes[task.pairs[0]] = (task.systems[0], segments)
        else:
            sizes |= {p: (n, 0) for p, n in zip(task.pairs, task.systems, strict=True) if p not in sizes}
    made = [f"{100 * weight:.0f} % {kind}" for kind, weight in kinds.items()]
    where = [f"{pair} ({n} systems{f', {m} judged segments' if m else ''})" for pair, (n, m) in sizes.items()]
    scale = " (r as (r + 1) / 2)" if any(task.statistic == "pearson" for task in result.tasks) else ""
    pairs = some(where) if len(where) <= NAMED else f"{len(where)} language pairs"
    return f"The average{scale}: {'; '.join(made)}. Of {pairs}."


def _figure(level: str, statistic: str) -> str:
    return _STATISTICS[statistic].format({"sys": "systems", "seg": "segments"}[level])


def _left_out(result: ProtocolResult) -> Iterator[str]:
    if result.missing_pairs:
        yield (
            f"not the official table: {listed(result.missing_pairs)} "
            f"{'is' if len(result.missing_pairs) == 1 else 'are'} left out, and weights are those of the others"
        )
    by: dict[str, list[LeftOutSystem]] = {}
    for system in result.left_out:
        by.setdefault(system.why, []).append(system)
    for why, systems in by.items():
        yield f"not ranked, {_WHY[why]}: {some([f'{system.system} ({system.pair})' for system in systems])}"
    if result.missing_metrics:
        yield f"of the main table without scores here: {some(result.missing_metrics)}"
    if partial := [metric.metric for metric in result.metrics if not metric.rank]:
        yield f"without an average, because a task has no scores of it: {some(partial)}"
    if dropped := [f"{task.dropped} of {task.pairs[0]}" for task in result.tasks if task.dropped]:
        yield f"judged segments left out of SPA, which needs every system's: {some(dropped)}"


def _rank(task: str, metric: RankedMetric) -> Cell:
    return number(metric.figures[task].rank if task in metric.figures else None)
