"""What probes find in each layer, alone and beside people: tables, rows and pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bsx.analysis.probing.classifiers import Probe
from bsx.analysis.probing.transfer import Transferred
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.plots import draw_lines
from bsx.analysis.render.sheets import Bold, Sheet
from bsx.data.picture import COLOURS, label, picture
from bsx.support.checks import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "osD^vPX"  # tell lines apart in print


@dataclass(frozen=True)
class Control:
    """How the same probe does on random labels; see `bsx.analysis.probing.control.control_labels`.

    Attributes:
        accuracy: in the test parts of all seeds (layers,).
        baseline: accuracy of always saying the control task's most frequent training label, mean over seeds.
        types: number of distinct types.
        seen: share of test items whose type also stands in the training part: only these can be memorised.
        selectivity: accuracy of the probe minus that on the control task (layers,).
        low: lower end of selectivity's 95 % interval (layers,).
        high: upper end (layers,).
    """

    accuracy: Array
    baseline: float
    types: int
    seen: float
    selectivity: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Curve:
    """Accuracy with fewer items to train on; the validation and test parts stay whole.

    Attributes:
        sizes: items in the training part, rising; a smaller set is part of every larger one.
        accuracy: in the test parts of all seeds (sizes, layers).
        low: lower end of the 95 % interval (sizes, layers).
        high: upper end (sizes, layers).
        by_seed: accuracy of each seed (sizes, layers, seeds).
    """

    sizes: tuple[int, ...]
    accuracy: Array
    low: Array
    high: Array
    by_seed: Array


@dataclass(frozen=True, repr=False)
class ProbeResult(InNotebooks):
    """What a probe finds in each layer.

    Attributes:
        task: name of the task.
        probe: ``logistic`` or ``mlp``.
        layers: the layers, in the order of the arrays.
        labels: the task's labels, sorted.
        n: items.
        parts: items in training, validation and test part of the first seed.
        given: whether the split came with the data; else each seed has its own.
        seeds: the seeds.
        accuracy: in the test parts of all seeds (layers,).
        low: lower end of the 95 % interval (layers,): bootstrap over groups of test items.
        high: upper end (layers,).
        by_seed: accuracy of each seed (layers, seeds).
        macro_f1: mean over labels of F1, mean over seeds (layers,).
        baseline: accuracy of always saying the training part's most frequent label, mean over seeds.
        chosen: what the validation part chose (layers, seeds): C of a logistic probe, epochs of an MLP.
        best_layer: the layer with the highest accuracy, the first such layer of equals.
        runner_up: the layer that comes second; the best one if there is no other.
        win_share: share of bootstrap resamples in which that layer is the best.
        control: the control task, if types were given.
        curve: accuracy by size of the training part, if sizes were given.
        notes: what the reader should know: fits that did not converge, items on two sides of a given split, …
        transferred: how the probes do on further items, as of other languages.
    """

    task: str
    probe: Probe
    layers: tuple[int, ...]
    labels: tuple[str, ...]
    n: int
    parts: tuple[int, int, int]
    given: bool
    seeds: tuple[int, ...]
    accuracy: Array
    low: Array
    high: Array
    by_seed: Array
    macro_f1: Array
    baseline: float
    chosen: Array
    best_layer: int
    runner_up: int
    win_share: float
    control: Control | None
    curve: Curve | None
    notes: tuple[str, ...]
    transferred: tuple[Transferred, ...] = ()

    @property
    def short(self) -> str:
        """Task, layers, and the best of them."""
        top = float(self.accuracy.max())
        best = f"the best {self.best_layer}: {top:.3f}"
        return f"{self.task or self.probe}; {len(self.layers)} layers, {best}; {self.n} items"

    def sheets(self) -> Sequence[Sheet]:
        """Return a row a layer, the best bold; then the same probes on further items."""
        made = [_sheet(self, self.task, self.n, self.accuracy, (self.low, self.high), self.macro_f1)]
        for one in self.transferred:
            made.append(_sheet(self, one.name, one.n, one.accuracy, (one.low, one.high), None, one))
        return made

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return one row a layer; what was not measured is None. ``tested_on`` names further items."""
        rows = []
        for i, layer in enumerate(self.layers):
            row: dict[str, object] = {"task": self.task, "layer": layer, **self.measured(i)}
            rows.append(row | ({"tested_on": self.task} if self.transferred else {}))
        for one in self.transferred:
            for i, layer in enumerate(self.layers):
                rows.append({"task": self.task, "layer": layer, **one.measured(i), "tested_on": one.name})
        return rows

    def measured(self, i: int) -> dict[str, object]:
        """Return the figures of the layer in a place, by name."""
        control, curve = self.control, self.curve
        spread = float(self.spread[i])
        row: dict[str, object] = {
            "accuracy": float(self.accuracy[i]),
            "low": float(self.low[i]),
            "high": float(self.high[i]),
            "spread": spread if math.isfinite(spread) else None,
            "macro_f1": float(self.macro_f1[i]),
            "baseline": self.baseline,
            "control": None if control is None else float(control.accuracy[i]),
            "selectivity": None if control is None else float(control.selectivity[i]),
            "selectivity_low": None if control is None else float(control.low[i]),
            "selectivity_high": None if control is None else float(control.high[i]),
        }
        if curve is not None:
            row |= {f"accuracy_at_{size}": float(curve.accuracy[j, i]) for j, size in enumerate(curve.sizes)}
        return row

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw accuracy over layers with its interval, and selectivity below it if there is a control task."""
        return draw_probes([self], path, title=f"{self.task}: {self.probe} probes")

    @property
    def spread(self) -> Array:
        """Standard deviation of the accuracy over seeds (layers,); NaN for one seed."""
        if len(self.seeds) < 2:
            return np.full(len(self.layers), np.nan)
        return np.asarray(self.by_seed.std(axis=1, ddof=1))


@dataclass(frozen=True, repr=False)
class SideBySide(InNotebooks):
    """Probes and agreement with people by layer.

    Attributes:
        layers: the layers, in the order of the arrays.
        tasks: names of the probing tasks.
        accuracy: of the probes (tasks, layers).
        selectivity: of the probes (tasks, layers); NaN for a task without control task.
        statistic: which correlation with people.
        agreement: mean correlation of F1 with human scores (layers,).
        low: lower end of its 95 % interval (layers,).
        high: upper end (layers,).
        pearson: over layers, of each task's accuracy with the agreement (tasks,); NaN where it is not defined.
        spearman: the same of ranks (tasks,).

    The two correlations describe these layers. They carry no test: layers of one model are few and resemble their
    neighbours, so they are no independent sample of anything.
    """

    layers: tuple[int, ...]
    tasks: tuple[str, ...]
    accuracy: Array
    selectivity: Array
    statistic: str
    agreement: Array
    low: Array
    high: Array
    pearson: Array
    spearman: Array

    @property
    def short(self) -> str:
        """Tasks and layers."""
        return f"{', '.join(self.tasks)} beside {self.statistic} with people; {len(self.layers)} layers"

    def sheets(self) -> Sequence[Sheet]:
        """Return a row a layer, the best of each column bold."""
        columns = [*self.accuracy, self.agreement]
        rows = []
        for i, layer in enumerate(self.layers):
            shown = [f"{column[i]:.3f}" for column in columns[:-1]]
            shown.append(f"{self.agreement[i]:.3f} [{self.low[i]:.3f}, {self.high[i]:.3f}]")
            best = [column[i] == column.max() for column in columns]
            rows.append([str(layer), *(Bold(cell) if top else cell for cell, top in zip(shown, best, strict=True))])
        over = ", ".join(f"{task} {r:.2f}" for task, r in zip(self.tasks, self.pearson, strict=True))
        title = f"Accuracy of probes and {self.statistic} with people by layer, 95 % bootstrap interval; no tests"
        note = f"Bold: best layer. Pearson's r with the agreement, over layers: {over}."
        header = ["layer", *self.tasks, f"{self.statistic} with people"]
        return [Sheet(title, header, rows, note, names=0)]

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return `rows` as a list."""
        return list(self.rows())

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw accuracies and agreement with people over layers."""
        own = {
            task: list(zip(self.layers, map(float, row), strict=True))
            for task, row in zip(self.tasks, self.accuracy, strict=True)
        }
        people = list(zip(self.layers, map(float, self.agreement), strict=True))
        return draw_lines(
            {**own, f"{self.statistic} with people": people}, "layer (0 = embeddings)", "accuracy; agreement", path
        )

    def rows(self) -> Iterator[dict[str, float | int | None]]:
        """Yield one row a layer: its number, each task's accuracy, the agreement and its interval."""
        for i, layer in enumerate(self.layers):
            tasks = dict(zip(self.tasks, self.accuracy[:, i].tolist(), strict=True))
            ends = {"agreement_low": float(self.low[i]), "agreement_high": float(self.high[i])}
            yield {"layer": layer, **tasks, "agreement": float(self.agreement[i]), **ends}


def _sheet(
    result: ProbeResult,
    name: str,
    n: int,
    accuracy: Array,
    ends: tuple[Array, Array],
    macro_f1: Array | None,
    further: Transferred | None = None,
) -> Sheet:
    """Return a row a layer: accuracy, macro-F1 if known, selectivity if there is a control task."""
    gain: tuple[Array | None, Array | None, Array | None] = (None, None, None)
    if further is not None:
        gain = (further.selectivity, further.selectivity_low, further.selectivity_high)
    elif result.control is not None:
        gain = (result.control.selectivity, result.control.low, result.control.high)
    rows = []
    for i, layer in enumerate(result.layers):
        shown = f"{accuracy[i]:.3f} [{ends[0][i]:.3f}, {ends[1][i]:.3f}]"
        cells = [str(layer), Bold(shown) if accuracy[i] == accuracy.max() else shown]
        cells += [] if macro_f1 is None else [f"{macro_f1[i]:.3f}"]
        if gain[0] is not None and gain[1] is not None and gain[2] is not None:
            cells.append(f"{gain[0][i]:+.3f} [{gain[1][i]:+.3f}, {gain[2][i]:+.3f}]")
        rows.append(cells)
    header = [
        "layer",
        "accuracy",
        *([] if macro_f1 is None else ["macro-F1"]),
        *(["selectivity"] * (gain[0] is not None)),
    ]
    baseline = result.baseline if further is None else further.baseline
    rows.append(["majority", f"{baseline:.3f}", *[""] * (len(header) - 2)])
    parts = " / ".join(map(str, result.parts))
    title = (
        f"{name}: accuracy of {result.probe} probes by layer, n = {n} (of the task {parts} to train, validate "
        f"and test), {len(result.seeds)} seeds; 95 % bootstrap intervals, no tests"
    )
    return Sheet(title, header, rows, "Bold: best layer. majority: the most frequent label.", names=0, foot=1)


def draw_probes(
    results: Sequence[ProbeResult], path: str | Path | None = None, *, title: str, people: SideBySide | None = None
) -> Figure:
    """Draw accuracy over layers with its intervals, a line a task; below it selectivity and agreement with people.

    Accuracies on further items, as of other languages, are dashed lines.

    Args:
        results: from `bsx.analysis.probing.experiment.probe_layers`.
        path: .png, .svg or .pdf; unless given, the figure is returned only.
        title: of the picture.
        people: the same results beside the agreement with people, which then gets a panel.
    """
    controlled = [result for result in results if result.control is not None]
    panels = 1 + bool(controlled) + (people is not None)
    with picture(path, 6.8, 1.2 + 2.4 * panels) as figure:
        axes = list(figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0])
        accuracy = axes.pop(0)
        accuracy.set_ylabel("accuracy")
        accuracy.set_title(label(title), fontsize=10)
        selectivity = axes.pop(0) if controlled else None
        for i, result in enumerate(results):
            style = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)], "ms": 4, "lw": 1.4}
            band = {"color": style["color"], "alpha": 0.15, "lw": 0}
            accuracy.fill_between(result.layers, result.low, result.high, **band)
            accuracy.plot(result.layers, result.accuracy, label=label(result.task.replace("_", " ")), **style)
            accuracy.axhline(result.baseline, color=style["color"], ls=":", lw=0.8)
            if selectivity is not None and result.control is not None:
                selectivity.fill_between(result.layers, result.control.low, result.control.high, **band)
                selectivity.plot(result.layers, result.control.selectivity, **style)
        dashes = [(2 + 2 * i, 2) for i in range(max(len(result.transferred) for result in results))]
        for i, result in enumerate(results):
            for dash, one in zip(dashes, result.transferred, strict=False):
                line = {"color": COLOURS[i % len(COLOURS)], "ls": (0, dash), "lw": 1.2}
                accuracy.fill_between(result.layers, one.low, one.high, color=line["color"], alpha=0.08, lw=0)
                accuracy.plot(result.layers, one.accuracy, label=label(f"on {one.name}"), **line)
                if selectivity is not None and one.selectivity is not None:
                    selectivity.plot(result.layers, one.selectivity, **line)
        accuracy.plot([], [], color="#666666", ls=":", lw=0.8, label="most frequent label")
        if selectivity is not None:
            selectivity.axhline(0, color="#666666", lw=0.8)
            selectivity.set_ylabel("selectivity")
        if people is not None:
            agreement = axes.pop(0)
            agreement.fill_between(people.layers, people.low, people.high, color="#999999", alpha=0.3, lw=0)
            agreement.plot(people.layers, people.agreement, color="#1f3a5f", marker="o", ms=4)
            agreement.set_ylabel(f"{people.statistic} with people")
        bottom = figure.axes[-1]
        bottom.set_xlabel("layer (0 = embeddings)")
        bottom.set_xticks(results[0].layers)
        figure.legend(*accuracy.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    return figure
