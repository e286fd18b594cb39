"""A picture of what metrics go with and what they react to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bsx.analysis.documents.intervening import InterveneDocument
from bsx.data.picture import COLOURS, label, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_interventions(content: InterveneDocument, path: str | Path | None = None) -> Figure:
    """Draw each metric's observed and edited coefficients with their intervals, a panel for each metric.

    Hollow marks are observed, full ones edited.

    Args:
        content: `bsx.analysis.intervening.result.Interventions.document`.
        path: .png, .svg or .pdf; unless given, the figure is returned only.
    """
    metrics = [fit.metric for fit in content.fits]
    factors = content.factors
    with picture(path, max(6.4, 2.2 + 2.2 * len(metrics)), 1.8 + 0.42 * len(factors)) as figure:
        panels = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
        for axes, metric in zip(panels, metrics, strict=True):
            for row in content.effects:
                if row.metric != metric:
                    continue
                place = factors.index(row.factor)
                sides = ((row.observed, row.observed_ci, -0.14, "white", 0), (row.edited, row.edited_ci, 0.14, "", 1))
                for value, ends, shift, face, colour in sides:
                    if value is None:
                        continue
                    low, high = ends or (None, None)
                    shade = COLOURS[colour]
                    if low is not None and high is not None:
                        axes.plot([low, high], [place + shift] * 2, color=shade, lw=1.5)
                    axes.plot(value, place + shift, "o", ms=5, color=shade, mfc=face or shade)
            axes.axvline(0, color="#666666", lw=0.8)
            axes.set(title=label(metric), xlabel="coefficient (sd)")
            axes.title.set_fontsize(9)
        panels[0].set_yticks(range(len(factors)), [label(name) for name in factors])
        panels[0].set_ylim(len(factors) - 0.5, -0.5)
        panels[0].plot([], [], "o", ms=5, color=COLOURS[0], mfc="white", label="observed")
        panels[0].plot([], [], "o", ms=5, color=COLOURS[1], label="edited")
        figure.legend(loc="outside lower center", ncols=2)
    return figure
