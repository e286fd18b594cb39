"""What each layer knows, side by side with how well it agrees with people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bsx.analysis.probing.result import ProbeResult, SideBySide
from bsx.analysis.stats.layers import LayerAgreement
from bsx.analysis.stats.rowwise import pearson_rows, spearman_rows
from bsx.errors import InputError


def probe_with_agreement(results: Sequence[ProbeResult], agreement: LayerAgreement) -> SideBySide:
    """Lay probes beside the agreement with people of the metric made of the same layers.

    Args:
        results: of `bsx.analysis.probing.experiment.probe_layers`, all on the same layers.
        agreement: of `bsx.analysis.stats.layers.layer_agreement` for all layers from 0.

    Raises:
        InputError: if there is no result, two tasks have the same name, or the layers do not fit together.
    """
    if not results:
        raise InputError("there is no probe to lay beside the agreement with people")
    layers, tasks = results[0].layers, tuple(result.task for result in results)
    if len(set(tasks)) < len(tasks):
        raise InputError(f"two tasks have the same name: {', '.join(tasks)}")
    for result in results:
        if result.layers != layers:
            raise InputError(f"{result.task}: probes layers {result.layers}, {tasks[0]} layers {layers}")
    if max(layers) >= len(agreement.mean):
        raise InputError(f"layer {max(layers)} is probed, but agreement is known for {len(agreement.mean)} layers only")
    chosen = list(layers)
    accuracy, people = np.stack([result.accuracy for result in results]), agreement.mean[chosen, 2]
    unknown = np.full(len(layers), np.nan)
    few = len(layers) < 3
    return SideBySide(
        layers=layers,
        tasks=tasks,
        accuracy=accuracy,
        selectivity=np.stack([unknown if r.control is None else r.control.selectivity for r in results]),
        statistic=agreement.statistic,
        agreement=people,
        low=agreement.low[chosen],
        high=agreement.high[chosen],
        pearson=np.full(len(tasks), np.nan) if few else pearson_rows(accuracy, people),
        spearman=np.full(len(tasks), np.nan) if few else spearman_rows(accuracy, people),
    )
