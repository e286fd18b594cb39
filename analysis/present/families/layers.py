"""Which layer agrees best with human judgments: correlation over layers, as in Zhang et al. 2020, figures 3 and 8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bsx.analysis.present import charts
from bsx.analysis.present.parts import Chart
from bsx.analysis.stats.layers import LayerAgreement

_AXIS = "layer (0 = embeddings)"


def layer_chart(result: LayerAgreement, *, title: str) -> Chart:
    """Return correlation over layers of P, R and F1, with F1's interval and the best layer.

    Args:
        result: from `bsx.analysis.stats.layers.layer_agreement`.
        title: of the chart.
    """
    mean, names = np.asarray(result.mean), ("P", "R", "F1")
    lines = [(float(at), j, float(mean[at, j]), name) for j, name in enumerate(names) for at in range(len(mean))]
    nothing = [(None, None)] * (2 * len(mean))
    bands = [*nothing, *zip(map(float, result.low), map(float, result.high), strict=True)]
    return _chart(lines, bands, names, result, title, best=float(result.best_layer))


def metric_layer_chart(results: Mapping[str, LayerAgreement], *, title: str) -> Chart:
    """Return correlation over layers of several metrics of one figure each, with intervals.

    Args:
        results: metric -> its agreement by layer, the figure in the place of F1.
        title: of the chart.
    """
    lines, bands = [], []
    for place, (name, result) in enumerate(results.items()):
        lines += [(float(at), place, float(row[2]), name) for at, row in enumerate(np.asarray(result.mean))]
        bands += list(zip(map(float, result.low), map(float, result.high), strict=True))
    return _chart(lines, bands, tuple(results), next(iter(results.values())), title)


def _chart(
    lines: Sequence[tuple[float, int, float, str]],
    bands: Sequence[tuple[charts.Number, charts.Number]],
    names: tuple[str, ...],
    result: LayerAgreement,
    title: str,
    *,
    best: float | None = None,
) -> Chart:
    heights = [value for _, _, value, _ in lines] + [end for ends in bands for end in ends if end is not None]
    alt = f"Mean {result.statistic} with human judgments over layers, a line each for {', '.join(names)}."
    last = max(at for at, *_ in lines)
    spec = charts.lines(
        lines,
        alt=alt,
        x=_AXIS,
        y=f"mean {result.statistic} with human judgments",
        series=len(names),
        span=(min(heights), max(heights)),
        ticks=[float(at) for at in range(0, int(last) + 1, 1 + int(last) // 13)],
        bands=bands,
        rule=best,
        height=240,
    )
    return Chart(title, alt, (("", spec),), names)
