"""Pictures of probes, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bsx.analysis.probing.beside_people import SideBySide
from bsx.analysis.probing.experiment import ProbeResult
from bsx.data.picture import COLOURS, label, picture

MARKERS = "osD^vPX"  # tell lines apart in print


def draw_probes(results: Sequence[ProbeResult], path: Path, *, title: str, people: SideBySide | None = None) -> None:
    """Draw accuracy over layers with its intervals, a line a task; below it selectivity and agreement with people.

    Accuracies on further items, as of other languages, are dashed lines.

    Args:
        results: from `bsx.analysis.probing.experiment.probe_layers`.
        path: .png, .svg or .pdf.
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
