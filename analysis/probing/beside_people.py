"""What each layer knows, side by side with how well it agrees with human judgments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bsx.analysis.probing.result import LayerBeside, OverLayers, ProbeResult, SideBySide
from bsx.analysis.stats.layers import LayerAgreement
from bsx.analysis.stats.rowwise import pearson_rows, spearman_rows
from bsx.errors import InputError


def probe_with_agreement(results: Sequence[ProbeResult], agreement: LayerAgreement) -> SideBySide:
    """Lay probes beside the agreement with human judgments of the metric made of the same layers.

    Args:
        results: of `bsx.analysis.probing.experiment.probe_layers`, all on the same layers.
        agreement: of `bsx.analysis.stats.layers.layer_agreement` for all layers from 0.

    Raises:
        InputError: if there is no result, two tasks have the same name, or the layers do not fit together.
    """
    if not results:
        raise InputError("there is no probe to lay beside the agreement with human judgments")
    layers, tasks = _numbers(results[0]), tuple(result.task for result in results)
    if len(set(tasks)) < len(tasks):
        raise InputError(f"two tasks have the same name: {', '.join(tasks)}")
    for result in results:
        if (own := _numbers(result)) != layers:
            raise InputError(f"{result.task}: probes layers {own}, {tasks[0]} layers {layers}")
    if max(layers) >= len(agreement.mean):
        raise InputError(f"layer {max(layers)} is probed, but agreement is known for {len(agreement.mean)} layers only")
    chosen = list(layers)
    accuracy = np.array([[one.accuracy for one in result.layers] for result in results])
    human = np.asarray(agreement.mean)[chosen, 2]
    ends = (np.asarray(end)[chosen].tolist() for end in (agreement.low, agreement.high))
    few = len(layers) < 3
    unknown = np.full(len(tasks), np.nan)
    pearson, spearman = (unknown if few else of(accuracy, human) for of in (pearson_rows, spearman_rows))
    return SideBySide(
        statistic=agreement.statistic,
        groups=tuple(agreement.groups),
        n=agreement.n,
        best_layer=agreement.best_layer,
        layers=tuple(
            LayerBeside(layer, dict(zip(tasks, own, strict=True)), *figures)
            for layer, own, *figures in zip(layers, accuracy.T.tolist(), human.tolist(), *ends, strict=True)
        ),
        across_layers={
            task: OverLayers(float(r), float(rho)) for task, r, rho in zip(tasks, pearson, spearman, strict=True)
        },
    )


def _numbers(result: ProbeResult) -> tuple[int, ...]:
    return tuple(one.layer for one in result.layers)
