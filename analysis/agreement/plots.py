"""Pictures of results, by matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bsx.analysis.agreement.sheets import Evaluated
from bsx.analysis.stats.layers import LayerAgreement
from bsx.data.picture import label, picture
from bsx.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#1f3a5f", "#b3261e", "#2e7d32", "#8a5a00", "#6a1b9a", "#00838f", "#5d4037", "#455a64")


def draw_agreement(result: Evaluated, path: str | Path | None = None) -> Figure:
    """Draw every metric's correlation with its interval, group by group; winners are filled.

    Args:
        result: from `bsx.analysis.agreement.evaluate.meta_evaluate`.
        path: .png, .svg or .pdf; unless given, the figure is returned only.
    """
    groups, metrics = result.groups, [*result.metrics, *result.sentinels]
    height = 1.2 + len(metrics) * max(0.35, 0.16 * len(groups))
    with picture(path, 6.4, height) as figure:
        axes = figure.add_subplot()
        for g, group in enumerate(groups):
            colour = _COLOURS[g % len(_COLOURS)]
            shift = 0.7 * ((g + 0.5) / len(groups) - 0.5)
            for place, name in enumerate(metrics):
                found = group.find(name)
                if found is None:
                    continue
                wins = group.clusters is None or name in group.clusters.winners
                axes.plot([found.low, found.high], [place + shift] * 2, color=colour, lw=1.2)
                shape = "x" if name in result.sentinels else "o"
                axes.plot(found.value, place + shift, shape, ms=4.5, color=colour, mfc=colour if wins else "white")
            axes.plot([], [], "o-", ms=4.5, lw=1.2, color=colour, label=label(group.group))
        axes.axvline(0, color="#999999", lw=0.8)
        axes.set_yticks(range(len(metrics)), [label(result.shown(name)) for name in metrics])
        axes.set_ylim(len(metrics) - 0.4, -0.6)
        level = f"{100 * result.settings.confidence:g} % interval"
        filled = "; filled: not outperformed" if any(group.clusters is not None for group in groups) else ""
        axes.set_xlabel(label(f"{result.headline} with {result.human}, {level}{filled}"))
        if len(groups) > 1:
            axes.legend(fontsize=8, ncols=math.ceil(len(groups) / 10), loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def draw_significance(result: Evaluated, path: str | Path | None = None) -> Figure:
    """Draw which metric is significantly better than which: rows over columns.

    Cells show the p-value that makes winners, corrected as the settings say; with several groups, the number of groups
    in which the row's metric is significantly better.

    Args:
        result: from `bsx.analysis.agreement.evaluate.meta_evaluate`, with tests.
        path: .png, .svg or .pdf; unless given, the figure is returned only.

    Raises:
        InputError: if nothing was tested.
    """
    names = list(result.metrics)
    several, alpha = len(result.groups) > 1, result.settings.alpha
    cells = np.full((len(names), len(names)), np.nan)
    for test in (test for group in result.groups for test in group.tests):
        row, column = names.index(test.a), names.index(test.b)
        plain = test.comparison.p
        if result.settings.alternative == "two-sided" and test.comparison.difference > 0:
            plain = test.comparison.p_two_sided
        p = plain if test.p_adjusted is None else test.p_adjusted
        if several:
            cells[row, column] = np.nan_to_num(cells[row, column]) + (p < alpha and test.comparison.difference > 0)
        else:
            cells[row, column] = p
    if np.isnan(cells).all():
        raise InputError("nothing was tested: a matrix of tests needs two metrics and a test")
    size = 1.8 + 0.62 * len(names)
    with picture(path, size + 0.8, size) as figure:
        axes = figure.add_subplot()
        shade = cells / len(result.groups) if several else np.where(cells < alpha, 1 - cells / alpha, 0) * 0.8
        axes.imshow(np.ma.masked_invalid(shade), cmap="Greens", vmin=0, vmax=1)
        for row, column in np.argwhere(~np.isnan(cells)):
            value = cells[row, column]
            shown = f"{value:.0f}" if several else ("<.001" if value < 0.001 else f"{value:.3f}".lstrip("0"))
            ink = "white" if shade[row, column] > 0.6 else "black"
            axes.text(column, row, shown, ha="center", va="center", fontsize=8, color=ink)
        labels = [label(name) for name in names]
        axes.set_xticks(range(len(names)), labels, rotation=45, ha="right")
        axes.set_yticks(range(len(names)), labels)
        side = "one-sided p" if result.settings.alternative == "greater" else "two-sided p"
        what = f"groups (of {len(result.groups)}) with p < {alpha:g}" if several else side
        axes.set_title(label(f"row better than column: {what}"), fontsize=10)
    return figure


def draw_layers(result: LayerAgreement, path: str | Path | None = None, *, title: str) -> Figure:
    """Draw correlation over layers for P, R and F1, with F1's interval, as in Zhang et al. 2020, figures 3 and 8.

    Args:
        result: from `bsx.analysis.stats.layers.layer_agreement`.
        path: .png, .svg or .pdf; unless given, the figure is returned only.
        title: of the picture.
    """
    with picture(path, 6.4, 4) as figure:
        axes = figure.add_subplot()
        layers = np.arange(len(result.mean))
        axes.fill_between(layers, result.low, result.high, color="#999999", alpha=0.3, label="F1, 95% interval")
        for j, (name, style) in enumerate((("P", ":"), ("R", "--"), ("F1", "-"))):
            axes.plot(layers, result.mean[:, j], style, marker="o", ms=4, color="#1f3a5f", label=name)
        axes.axvline(result.best_layer, color="#b3261e", lw=1, label=f"best: layer {result.best_layer}")
        axes.set_xlabel("layer (0 = embeddings)")
        axes.set_ylabel(f"mean {result.statistic} with human scores")
        axes.set_title(label(title), fontsize=10)
        axes.legend()
    return figure


def draw_metric_layers(results: Mapping[str, LayerAgreement], path: str | Path | None = None, *, title: str) -> Figure:
    """Draw correlation over layers for several metrics of one figure each, with intervals.

    Args:
        results: metric -> its agreement by layer, the figure in the place of F1.
        path: .png, .svg or .pdf; unless given, the figure is returned only.
        title: of the picture.
    """
    with picture(path, 6.4, 4) as figure:
        axes = figure.add_subplot()
        for name, result in results.items():
            layers = np.arange(len(result.mean))
            (line,) = axes.plot(layers, result.mean[:, 2], "-", marker="o", ms=4, label=label(name))
            axes.fill_between(layers, result.low, result.high, color=line.get_color(), alpha=0.15)
        axes.set_xlabel("layer (0 = embeddings)")
        axes.set_ylabel(f"mean {next(iter(results.values())).statistic} with human scores, 95% interval")
        axes.set_title(label(title), fontsize=10)
        axes.legend(fontsize=8)
    return figure
