"""Pictures of results, by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from bsx.analysis.layers import LayerAgreement

from bsx.errors import InputError
from bsx.optional import need


def draw_layers(result: LayerAgreement, path: Path, *, title: str) -> None:
    """Draw correlation over layers for P, R and F1, with F1's interval, as in Zhang et al. 2020, figures 3 and 8.

    Args:
        result: from `bsx.analysis.layers.layer_agreement`.
        path: .png or .svg.
        title: of the picture.
    """
    if path.suffix not in (".png", ".svg"):
        raise InputError(f"{path}: cannot draw this format; the name must end in .png or .svg")
    need("matplotlib", "drawing")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from bsx.table import atomic_path

    figure = Figure(figsize=(6.4, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    layers = np.arange(len(result.mean))
    axes.fill_between(layers, result.low, result.high, color="#999999", alpha=0.3, label="F1, 95% interval")
    for j, (name, style) in enumerate((("P", ":"), ("R", "--"), ("F1", "-"))):
        axes.plot(layers, result.mean[:, j], style, marker="o", ms=4, color="#1f3a5f", label=name)
    axes.axvline(result.best_layer, color="#b3261e", lw=1, label=f"best: layer {result.best_layer}")
    axes.set_xlabel("layer (0 = embeddings)")
    axes.set_ylabel(f"mean {result.statistic} with human scores")
    axes.set_title(title.replace("$", r"\$"), fontsize=10)
    axes.legend()
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], dpi=150)


def draw_metric_layers(results: Mapping[str, LayerAgreement], path: Path, *, title: str) -> None:
    """Draw correlation over layers for several metrics of one figure each, with intervals.

    Args:
        results: metric -> its agreement by layer, the figure in the place of F1.
        path: .png or .svg.
        title: of the picture.
    """
    if path.suffix not in (".png", ".svg"):
        raise InputError(f"{path}: cannot draw this format; the name must end in .png or .svg")
    need("matplotlib", "drawing")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from bsx.table import atomic_path

    figure = Figure(figsize=(6.4, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, result in results.items():
        layers = np.arange(len(result.mean))
        (line,) = axes.plot(layers, result.mean[:, 2], "-", marker="o", ms=4, label=name.replace("$", r"\$"))
        axes.fill_between(layers, result.low, result.high, color=line.get_color(), alpha=0.15)
    axes.set_xlabel("layer (0 = embeddings)")
    axes.set_ylabel(f"mean {next(iter(results.values())).statistic} with human scores, 95% interval")
    axes.set_title(title.replace("$", r"\$"), fontsize=10)
    axes.legend(fontsize=8)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], dpi=150)
