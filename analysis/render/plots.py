"""The one picture that most results share: figures with their intervals, one below the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from bsx.data.picture import COLOURS, label, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Dot:
    """One figure with its interval.

    Attributes:
        row: what it is of.
        value: the figure.
        low: lower end of the interval; None without one.
        high: upper end.
        series: what it belongs to, told apart by colour; empty if there is but one.
        hollow: drawn hollow, which the axis explains.
    """

    row: str
    value: float
    low: float | None = None
    high: float | None = None
    series: str = ""
    hollow: bool = False


def draw_dots(
    panels: Mapping[str, Sequence[Dot]], axis: str, path: str | Path | None = None, *, line: float | None = None
) -> Figure:
    """Draw figures with their intervals, rows from above to below, in panels side by side.

    Args:
        panels: title -> its figures.
        axis: what the figures are, below the panels.
        path: .png, .svg or .pdf; unless given, the figure is returned only.
        line: a value to mark, such as 0.
    """
    every = [dot for dots in panels.values() for dot in dots]
    longest = max((len(dot.row) for dot in every), default=0)
    most = max((len({dot.row for dot in dots}) for dots in panels.values()), default=1)
    series = list(dict.fromkeys(dot.series for dot in every))
    apart = {tuple(dict.fromkeys(dot.row for dot in dots)) for dots in panels.values()}
    across = 1 if len(apart) > 1 else min(4, max(1, len(panels)))
    down = -(-max(1, len(panels)) // across)
    height = 1.1 + down * (0.5 + most * max(0.3, 0.16 * len(series)))
    with picture(path, max(5.2, 2.4 + 0.08 * longest + 2.0 * across), height) as figure:
        grid = figure.subplots(down, across, squeeze=False, sharey=across > 1)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for place, (axes, (title, dots)) in enumerate(zip(grid.flat, panels.items(), strict=False)):
            rows = list(dict.fromkeys(dot.row for dot in dots))
            for dot in dots:
                k = series.index(dot.series)
                at = rows.index(dot.row) + 0.7 * ((k + 0.5) / len(series) - 0.5)
                colour = COLOURS[k % len(COLOURS)]
                if dot.low is not None and dot.high is not None:
                    axes.plot([dot.low, dot.high], [at, at], color=colour, lw=1.5)
                axes.plot(dot.value, at, "o", ms=5, color=colour, mfc="white" if dot.hollow else colour)
            if line is not None:
                axes.axvline(line, color="#666666", lw=0.8)
            axes.set_yticks(range(len(rows)), [label(row) for row in rows])
            axes.set_ylim(len(rows) - 0.5, -0.5)
            axes.set_title(label(title), fontsize=9)
            if place >= len(panels) - across:
                axes.tick_params(labelbottom=True)
        figure.supxlabel(label(axis), fontsize=9)
        if series != [""]:
            for k, name in enumerate(series):
                grid.flat[0].plot([], [], "o", ms=5, color=COLOURS[k % len(COLOURS)], label=label(name))
            figure.legend(loc="outside right upper", fontsize=8)
    return figure


def draw_lines(
    lines: Mapping[str, Sequence[tuple[float, float]]], x: str, y: str, path: str | Path | None = None
) -> Figure:
    """Draw curves: name -> its points, with the names of both axes."""
    with picture(path, 5.6, 3.6) as figure:
        axes = figure.subplots()
        for k, (name, points) in enumerate(lines.items()):
            axes.plot(*zip(*points, strict=True), marker="o", ms=4, color=COLOURS[k % len(COLOURS)], label=label(name))
        axes.set_xlabel(label(x))
        axes.set_ylabel(label(y))
        if len(lines) > 1:
            axes.legend(fontsize=8)
    return figure


def draw_histogram(columns: Mapping[str, ArrayLike], x: str, path: str | Path | None = None) -> Figure:
    """Draw how the numbers of each column are spread: name -> numbers, with the name of the axis."""
    with picture(path, 5.6, 3.2) as figure:
        axes = figure.subplots()
        for k, (name, values) in enumerate(columns.items()):
            axes.hist(values, bins=30, histtype="step", lw=1.5, color=COLOURS[k % len(COLOURS)], label=label(name))
        axes.set_xlabel(label(x))
        axes.set_ylabel("segments")
        if len(columns) > 1:
            axes.legend(fontsize=8)
    return figure
