"""The findings of ``bsx probe``: as JSON, CSV, text, tables and a file of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from bsx.analysis.probing.result import ProbeResult, SideBySide, draw_probes
from bsx.analysis.probing.tasks import ProbingTask
from bsx.analysis.probing.transfer import Transferred
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.sheets import Bold, Sheet
from bsx.analysis.render.tables import csv_table
from bsx.data.output import ScoreTable
from bsx.support.aligned import text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class People(TypedDict):
    """What the agreement with people is of."""

    data: str
    groups: list[str]
    n: int
    best_layer: int
    signature: str


@dataclass(frozen=True, repr=False)
class Findings(InNotebooks):
    """What came out.

    Attributes:
        model: name of the model.
        signature: what the probes were computed with.
        tasks: the tasks as they were used.
        results: a result a task.
        beside: the results beside the agreement with people, if there are judgments.
        people: what that agreement is of: data, groups, segments, signature.
        notes: what the reader should know.
    """

    model: str
    signature: str
    tasks: list[ProbingTask]
    results: list[ProbeResult]
    beside: SideBySide | None
    people: People | None
    notes: list[str]

    @property
    def short(self) -> str:
        """Model, tasks and layers."""
        tasks = ", ".join(result.task for result in self.results)
        return f"{self.model}: {tasks}; {len(self.results[0].layers)} layers"

    def records(self) -> Sequence[dict[str, object]]:
        """Return a row a task and layer; what was not measured is None.

        Where the probes were tested on further files, ``tested_on`` names what a row is about.
        """
        rows = []
        for result in self.results:
            for row in map(dict, result.records()):
                if self.beside is not None and row.get("tested_on", result.task) == result.task:
                    row["agreement"] = float(self.beside.agreement[result.layers.index(row["layer"])])
                rows.append(row)
        return rows

    def sheets(self) -> Sequence[Sheet]:
        """Return accuracies, a row a layer, the best of each column bold; then a table a task."""
        columns = [(r.task.replace("_", " "), r.accuracy.tolist()) for r in self.results]
        if self.beside is not None:
            columns.append((f"{self.beside.statistic} with people", self.beside.agreement.tolist()))
        rows = []
        for i, layer in enumerate(self.results[0].layers):
            rows.append([str(layer), *(Bold(f"{v[i]:.3f}") if v[i] == max(v) else f"{v[i]:.3f}" for _, v in columns)])
        baselines = [f"{result.baseline:.3f}" for result in self.results]
        rows.append(["majority", *baselines, *[""] * (len(columns) - len(baselines))])
        header = ["layer", *(name for name, _ in columns)]
        counts = ", ".join(f"n = {result.n} ({result.task})" for result in self.results)
        people = f"; agreement on {self.people['data']}, n = {self.people['n']}" if self.people is not None else ""
        title = f"Accuracy of {self.results[0].probe} probes by layer of {self.model}, {counts}{people}; no tests"
        note = "Bold: best layer. majority: the most frequent label."
        top = Sheet(title, header, rows, note, names=0, foot=1)
        return [top, *(sheet for result in self.results for sheet in result.sheets())]

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw accuracies over layers, with selectivity and agreement with people below."""
        title = f"{self.model}: {self.results[0].probe} probes"
        return draw_probes(self.results, path, title=title, people=self.beside)

    def to_dict(self) -> dict[str, object]:
        """Return everything, for other programs."""
        tasks = []
        for task, result in zip(self.tasks, self.results, strict=True):
            control, curve = result.control, result.curve
            content: dict[str, object] = {
                "task": result.task,
                "n": result.n,
                "train": result.parts[0],
                "validation": result.parts[1],
                "test": result.parts[2],
                "split": "given" if result.given else "drawn",
                "labels": list(result.labels),
                "seeds": list(result.seeds),
                "baseline": result.baseline,
                "ceiling": task.ceiling,
                "best_layer": result.best_layer,
                "runner_up": result.runner_up,
                "win_share": result.win_share,
                "layers": [
                    {"layer": layer, **result.measured(i), "by_seed": result.by_seed[i].tolist()}
                    for i, layer in enumerate(result.layers)
                ],
                "control": control and {"baseline": control.baseline, "types": control.types, "seen": control.seen},
                "curve": [
                    {"size": size}
                    | {name: getattr(curve, name)[j].tolist() for name in ("accuracy", "low", "high", "by_seed")}
                    for j, size in enumerate(() if curve is None else curve.sizes)
                ],
            }
            if result.transferred:
                content["tested_on"] = [
                    {
                        "name": one.name,
                        "n": one.n,
                        "baseline": one.baseline,
                        "seen": _finite(one.seen),
                        "layers": [{"layer": layer, **one.measured(i)} for i, layer in enumerate(result.layers)],
                    }
                    for one in result.transferred
                ]
            tasks.append(content)
        people = None
        if self.beside is not None and self.people is not None:
            people = {**self.people, **_agreement(self.beside)}
        return {
            "model": self.model,
            "probe": self.results[0].probe,
            "tasks": tasks,
            "agreement": people,
            "notes": self.notes,
            "signature": self.signature,
        }

    def to_text(self) -> str:
        """Return a table a task, then all tasks beside the agreement with people."""
        blocks = [_task_text(result) for result in self.results]
        if self.beside is not None and self.people is not None:
            blocks.append(_beside_text(self.beside, self.people))
        return "\n\n".join([*blocks, self.signature])

    def to_csv(self) -> str:
        """Return a row a task and layer."""
        rows = [{name: f"{v:.6g}" if isinstance(v, float) else v for name, v in row.items()} for row in self.records()]
        columns = {name: None for row in rows for name in row}
        return csv_table([columns, *([row.get(name, "") for name in columns] for row in rows)]).rstrip("\n")

    def save(self, path: Path) -> None:
        """Write a row a task and layer, with the signature beside it."""
        rows = self.records()
        columns = {name: None for row in rows for name in row}  # a size may be beyond one task's training part
        with ScoreTable(path) as table:
            table.signature = self.signature
            for row in rows:
                table.write({name: row.get(name) for name in columns})


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _agreement(beside: SideBySide) -> dict[str, object]:
    return {
        "statistic": beside.statistic,
        "layers": list(beside.rows()),
        "across_layers": {
            task: {"pearson": _finite(r), "spearman": _finite(rho)}
            for task, r, rho in zip(beside.tasks, beside.pearson, beside.spearman, strict=True)
        },
    }


def _task_text(result: ProbeResult) -> str:
    control, curve = result.control, result.curve
    split = "given split" if result.given else f"{len(result.seeds)} random splits"
    lines = [
        f"{result.task}: {result.n} items, {len(result.labels)} labels; {split}, "
        f"{result.parts[0]} to train, {result.parts[1]} to validate, {result.parts[2]} to test; "
        f"most frequent label {result.baseline:.4f}"
    ]
    head = ["layer", "accuracy", "95% interval", "seeds±", "macro-F1"]
    if control is not None:
        lines.append(
            f"control task: {control.types} types, {control.seen:.0%} of test items have a type to remember; "
            f"most frequent label {control.baseline:.4f}"
        )
        head += ["control", "selectivity", "95% interval"]
    rows = [[*head, *(f"at {size}" for size in (() if curve is None else curve.sizes)), ""]]
    for i, layer in enumerate(result.layers):
        row = [str(layer), f"{result.accuracy[i]:.4f}", f"[{result.low[i]:.4f}, {result.high[i]:.4f}]"]
        row += [f"{result.spread[i]:.4f}", f"{result.macro_f1[i]:.4f}"]
        if control is not None:
            interval = f"[{control.low[i]:+.4f}, {control.high[i]:+.4f}]"
            row += [f"{control.accuracy[i]:.4f}", f"{control.selectivity[i]:+.4f}", interval]
        if curve is not None:
            row += [f"{value:.4f}" for value in curve.accuracy[:, i]]
        rows.append([*row, "<- best" if layer == result.best_layer else ""])
    lines.append(text_table(rows, "r"))
    if len(result.layers) > 1:
        lines.append(f"layer {result.best_layer} is best in {result.win_share:.0%} of bootstrap resamples")
    lines += [_transfer_text(one, result) for one in result.transferred]
    return "\n".join(lines)


def _transfer_text(one: Transferred, result: ProbeResult) -> str:
    seen = "" if one.control is None else f"; {one.seen:.0%} have a type to remember"
    lines = [
        f"the same probes on {one.name}: {one.n} items{seen}; most frequent label of {result.task} {one.baseline:.4f}"
    ]
    best = max(range(len(result.layers)), key=lambda i: float(one.accuracy[i]))
    head = ["control", "selectivity", "95% interval"] if one.control is not None else []
    rows = [["layer", "accuracy", "95% interval", *head, ""]]
    for i, layer in enumerate(result.layers):
        row = [str(layer), f"{one.accuracy[i]:.4f}", f"[{one.low[i]:.4f}, {one.high[i]:.4f}]"]
        ends = (one.control, one.selectivity, one.selectivity_low, one.selectivity_high)
        if all(values is not None for values in ends):
            control, gain, low, high = (float(values[i]) for values in ends if values is not None)
            row += [f"{control:.4f}", f"{gain:+.4f}", f"[{low:+.4f}, {high:+.4f}]"]
        rows.append([*row, "<- best" if i == best else ""])
    return "\n".join([*lines, text_table(rows, "r")])


def _beside_text(beside: SideBySide, people: People) -> str:
    head = (
        f"agreement with people: mean {beside.statistic} of BERTScore's F1 over {len(people['groups'])} groups of "
        f"{people['data']}, {people['n']} segments; probes: accuracy"
    )
    rows = [["layer", "agreement", "95% interval", *beside.tasks]]
    for i, layer in enumerate(beside.layers):
        known = [f"{value:.4f}" for value in beside.accuracy[:, i]]
        rows.append([str(layer), f"{beside.agreement[i]:.4f}", f"[{beside.low[i]:.4f}, {beside.high[i]:.4f}]", *known])
    over = [["", *beside.tasks]]
    for name, values in (("Pearson", beside.pearson), ("Spearman", beside.spearman)):
        over.append([f"{name} with agreement, over layers", *(f"{value:.2f}" for value in values)])
    return "\n".join([head, text_table(rows, "r"), text_table(over)])
