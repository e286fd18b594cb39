"""Which layer agrees best with human judgments: correlation over layers, as in Zhang et al. 2020, figures 3 and 8."""

from __future__ import annotations

import numpy as np

from bsx.analysis.present import charts
from bsx.analysis.present.parts import Chart
from bsx.analysis.stats.layers import LayerAgreement


def layer_chart(result: LayerAgreement, *, title: str) -> Chart:
    """Return correlation over layers of P, R and F1, with F1's interval and the best layer.

    Args:
        result: from `bsx.analysis.stats.layers.layer_agreement`.
        title: of the chart.
    """
    mean, names = np.asarray(result.mean), ("P", "R", "F1")
    lines = [(float(at), j, float(mean[at, j]), name) for j, name in enumerate(names) for at in range(len(mean))]
    nothing: list[tuple[charts.Number, charts.Number]] = [(None, None)] * (2 * len(mean))
    bands = [*nothing, *zip(map(float, result.low), map(float, result.high), strict=True)]
    heights = [value for _, _, value, _ in lines] + [end for ends in bands for end in ends if end is not None]
    alt = f"Mean {result.statistic} with human judgments over layers, a line each for {', '.join(names)}."
    last = len(mean) - 1
    spec = charts.lines(
        lines,
        alt=alt,
        x="layer (0 = embeddings)",
        y=f"mean {result.statistic} with human judgments",
        series=len(names),
        span=(min(heights), max(heights)),
        ticks=[float(at) for at in range(0, last + 1, 1 + last // 13)],
        bands=bands,
        rule=float(result.best_layer),
        height=240,
    )
    return Chart(title, alt, (("", spec),), names)
