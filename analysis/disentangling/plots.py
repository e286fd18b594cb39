"""Pictures of disentangling regressions: coefficients with intervals, shares of R², residuals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bsx.analysis.disentangling.bends import Bend
from bsx.analysis.disentangling.fits import MetricFit
from bsx.analysis.disentangling.noise.tipping import TippingPoint
from bsx.analysis.disentangling.variants import Variant
from bsx.data.picture import COLOURS, label, picture
from bsx.support.optional import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HATCHES = ("", "//", "..", "xx")  # tell neighbours apart without colour, and colours that come round again


class Regressed(Protocol):
    """What pictures of a `bsx.analysis.disentangling.result.DisentangleResult` need of it."""

    @property
    def factors(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def results(self) -> tuple[MetricFit, ...]: ...  # noqa: D102
    @property
    def bootstrap(self) -> int: ...  # noqa: D102
    @property
    def confidence(self) -> float: ...  # noqa: D102
    @property
    def groups(self) -> Mapping[str, Regressed]: ...  # noqa: D102
    @property
    def variants(self) -> tuple[Variant, ...]: ...  # noqa: D102
    @property
    def tipping(self) -> tuple[TippingPoint, ...]: ...  # noqa: D102
    @property
    def bends(self) -> tuple[Bend, ...]: ...  # noqa: D102
    def __getitem__(self, metric: str) -> MetricFit: ...


def draw_coefficients(result: Regressed, path: str | Path | None = None, *, title: str = "") -> Figure:
    """Draw every metric's standardised coefficients with their intervals, bootstrap ones if there are any.

    Hollow marks are coefficients that are not significant.

    Args:
        result: from `bsx.analysis.disentangling.fit.disentangle`.
        path: .png, .svg or .pdf; unless given, the figure is returned only.
        title: of the picture.
    """
    labels = [f"{fit.metric} (R² {fit.r2:.2f})" for fit in result.results]
    height = 1.4 + 0.34 * len(labels) * max(1.0, len(result.factors) / 3)
    with picture(path, _width(labels), height) as figure:
        axes = figure.add_subplot()
        p = len(result.factors)
        for j, name in enumerate(result.factors):
            colour = COLOURS[j % len(COLOURS)]
            for i, fit in enumerate(result.results):
                place = i + 0.7 * ((j + 0.5) / p - 0.5)
                low, high = fit.ci_bootstrap.get(name, fit.ci[name])
                axes.plot([low, high], [place, place], color=colour, lw=1.5)
                face = colour if fit.significant[name] else "white"
                axes.plot(fit.coef[name], place, "o", ms=5, color=colour, mfc=face)
            axes.plot([], [], "o", ms=5, color=colour, label=name)
        axes.axvline(0, color="#666666", lw=0.8)
        axes.set_yticks(range(len(labels)), [label(name) for name in labels])
        axes.set_ylim(len(result.results) - 0.5, -0.5)
        kind = "bootstrap" if result.bootstrap else "analytic"
        axes.set_xlabel(
            "sd of the metric for 1 sd of the factor\n"
            f"{100 * result.confidence:g} % {kind} interval; hollow: not significant"
        )
        _finish(figure, axes, title)
    return figure


def draw_shares(result: Regressed, path: str | Path | None = None, *, title: str = "") -> Figure:
    """Draw how R² divides among the factors, one bar a metric; the bar's length is R².

    Args:
        result: from `bsx.analysis.disentangling.fit.disentangle`.
        path: .png, .svg or .pdf; unless given, the figure is returned only.
        title: of the picture.
    """
    labels = [fit.metric for fit in result.results]
    with picture(path, _width(labels), 1.4 + 0.34 * len(labels)) as figure:
        axes = figure.add_subplot()
        places = np.arange(len(result.results))
        left = np.zeros(len(places))
        for j, name in enumerate(result.factors):
            share = np.array([max(fit.r2_share[name], 0.0) for fit in result.results])
            hatch = _HATCHES[(j + j // len(COLOURS)) % len(_HATCHES)]
            colour = COLOURS[j % len(COLOURS)]
            axes.barh(
                places, share, left=left, height=0.7, label=name, color=colour, hatch=hatch, edgecolor="white", lw=0.5
            )
            for i, value in enumerate(share):
                if value >= 0.04:
                    axes.text(
                        left[i] + value / 2,
                        i,
                        f"{value:.2f}",
                        ha="center",
                        va="center",
                        fontsize=7,
                        color="white",
                        bbox={"boxstyle": "round,pad=0.1", "fc": "#000000b0", "ec": "none"},
                    )
            left += share
        axes.set_yticks(places, [label(name) for name in labels])
        axes.set_ylim(len(places) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.set_xlabel("share of the metric's variance that each factor explains")
        _finish(figure, axes, title)
    return figure


def draw_tipping_points(result: Regressed, noisy: str, path: str | Path | None = None) -> Figure:
    """Draw how coefficients move with the reliability of a noisy factor, a panel for each of the other factors.

    Args:
        result: from `bsx.analysis.disentangling.fit.disentangle`.
        noisy: the factor whose reliability is varied.
        path: .png, .svg or .pdf; unless given, the figure is returned only.
    """
    own = [point for point in result.tipping if point.noisy == noisy and not point.group]
    factors = list(dict.fromkeys(point.factor for point in own))
    with picture(path, max(6.4, 3.4 * len(factors)), 4.2) as figure:
        panels = figure.subplots(1, len(factors), sharey=True, squeeze=False)[0]
        for axes, factor in zip(panels, factors, strict=True):
            for k, point in enumerate(one for one in own if one.factor == factor):
                curve, colour = np.array(point.curve), COLOURS[k % len(COLOURS)]
                style = ("-", "--", ":", "-.")[k // len(COLOURS) % 4]
                axes.plot(curve[:, 0], curve[:, 1], style, color=colour, lw=1.5, label=point.metric)
                axes.fill_between(curve[:, 0], curve[:, 2], curve[:, 3], color=colour, alpha=0.12, lw=0)
            axes.axhline(0, color="#666666", lw=0.8)
            axes.invert_xaxis()
            axes.set(title=label(factor), xlabel=f"reliability of {label(noisy)}")
        panels[0].set_ylabel("coefficient without that noise (sd)")
        _finish(figure, panels[0], "")
    return figure


def draw_forest(result: Regressed, metric: str, path: str | Path | None = None) -> Figure:
    """Draw one metric's coefficients in each group with their intervals, and their mean over groups (random effects).

    Args:
        result: from `bsx.analysis.disentangling.fit.disentangle`, with groups.
        metric: which.
        path: .png, .svg or .pdf; unless given, the figure is returned only.
    """
    rows = [(name, part[metric].coef, part[metric].ci, "o") for name, part in result.groups.items()]
    for variant in result.variants:
        if variant.name == "random-effects":
            rows.append(("random effects", variant[metric].coef, variant[metric].ci, "D"))
    rows.append(("all rows", result[metric].coef, result[metric].ci, "s"))
    names = [name for name, *_ in rows]
    with picture(path, _width(names) + 1.6 * len(result.factors), 1.4 + 0.3 * len(rows)) as figure:
        panels = figure.subplots(1, len(result.factors), sharey=True, squeeze=False)[0]
        for j, (axes, factor) in enumerate(zip(panels, result.factors, strict=True)):
            for place, (_, coef, ci, mark) in enumerate(rows):
                axes.plot(ci[factor], [place, place], color=COLOURS[j % len(COLOURS)], lw=1.5)
                axes.plot(coef[factor], place, mark, ms=5, color=COLOURS[j % len(COLOURS)])
            axes.axvline(0, color="#666666", lw=0.8)
            axes.set(title=label(factor), xlabel="coefficient (sd)")
        panels[0].set_yticks(range(len(rows)), [label(name) for name in names])
        panels[0].set_ylim(len(rows) - 0.5, -0.5)
        figure.suptitle(label(metric), fontsize=10)
    return figure


def draw_bends(result: Regressed, factor: str, path: str | Path | None = None) -> Figure:
    """Draw what a factor adds to each metric as a curve with its interval, beside the straight line, a panel a metric.

    Args:
        result: from `bsx.analysis.disentangling.fit.disentangle`, with ``spline``.
        factor: which.
        path: .png, .svg or .pdf; unless given, the figure is returned only.
    """
    own = [bend for bend in result.bends if bend.factor == factor and bend.curve]
    across = min(4, len(own))
    down = -(-len(own) // across)
    with picture(path, max(6.4, 2.6 * across), 0.8 + 2.4 * down) as figure:
        panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, bend in zip(panels, own, strict=False):
            value, effect, low, high, line = np.array(bend.curve).T
            axes.plot(value, line, "--", color="#666666", lw=1, label="straight line")
            axes.plot(value, effect, color=COLOURS[0], lw=1.5, label="curve")
            axes.fill_between(value, low, high, color=COLOURS[0], alpha=0.15, lw=0)
            axes.set(title=label(bend.metric), xlabel=label(factor))
            axes.title.set_fontsize(9)
        for axes in panels[len(own) :]:
            axes.set_axis_off()
        panels[0].set_ylabel("adds to the metric (sd)")
        _finish(figure, panels[0], "")
    return figure


def draw_residuals(result: Regressed, metric: str, path: str | Path | None = None) -> Figure:
    """Draw four views of one metric's residuals: over fitted values, against the normal, their spread, and leverage.

    Args:
        result: from `bsx.analysis.disentangling.fit.disentangle`.
        metric: which.
        path: .png, .svg or .pdf; unless given, the figure is returned only.
    """
    fit = result[metric]
    normal = need("scipy.stats", "drawing residuals").norm
    scale = np.sqrt(np.square(fit.residuals).sum() / fit.df * np.maximum(1 - fit.leverage, 1e-12))
    scaled = np.divide(fit.residuals, scale, out=np.zeros_like(fit.residuals), where=scale > 0)
    n = len(scaled)
    with picture(path, 8, 6.4) as figure:
        dots: dict[str, object] = {
            "marker": ".",
            "s": 14,
            "alpha": min(1.0, max(0.15, 500 / n)),
            "color": COLOURS[0],
            "lw": 0,
        }
        (fitted, quantiles), (spread, leverage) = figure.subplots(2, 2)
        fitted.scatter(fit.fitted, fit.residuals, **dots)
        fitted.axhline(0, color="#666666", lw=0.8)
        fitted.set(xlabel="fitted (sd)", ylabel="residual (sd)", title="a bend: not linear")
        expected = normal.ppf((np.arange(1, n + 1) - 0.5) / n)
        quantiles.scatter(expected, np.sort(scaled), **dots)
        quantiles.plot(expected[[0, -1]], expected[[0, -1]], color="#666666", lw=0.8)
        quantiles.set(xlabel="normal quantile", ylabel="standardised residual", title="off the line: not normal")
        spread.scatter(fit.fitted, np.sqrt(np.abs(scaled)), **dots)
        spread.set(xlabel="fitted (sd)", ylabel="√|standardised residual|", title="a slope: uneven spread")
        leverage.scatter(fit.leverage, scaled, **dots)
        leverage.axhline(0, color="#666666", lw=0.8)
        leverage.set(xlabel="leverage", ylabel="standardised residual", title="far right and far from 0: decides much")
        for axes in (fitted, quantiles, spread, leverage):
            axes.title.set_fontsize(9)
        figure.suptitle(label(f"{metric}: residuals"), fontsize=10)
    return figure


def _width(labels: list[str]) -> float:
    """Return the inches that long labels on the left and a picture beside them need."""
    return max(6.4, 4.4 + 0.08 * max(map(len, labels)))


def _finish(figure: Figure, axes: Axes, title: str) -> None:
    if title:
        figure.suptitle(label(title), fontsize=10)
    handles, names = axes.get_legend_handles_labels()
    shown = [label(name) for name in names]
    figure.legend(handles, shown, loc="outside lower center", ncols=min(6, len(names)))
