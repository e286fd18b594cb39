"""Which layer agrees best with people? Correlation by layer, with bootstrap intervals.

Works on arrays: scores of all layers from any encoder, human scores, and the group (language pair) of each segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.stats.correlation import bootstrap_correlations
from bsx.analysis.stats.rowwise import ROWS
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Shown

Statistic = Literal["pearson", "kendall"]


@dataclass(frozen=True, repr=False)
class LayerAgreement(Shown):
    """Agreement with people by layer, averaged over groups.

    Attributes:
        statistic: which correlation.
        groups: names of the groups, in the order of ``by_group``.
        by_group: (groups, layers, 3) for P, R, F1.
        mean: mean over groups (layers, 3).
        low: lower end of the 95 % bootstrap interval of F1's mean (layers,).
        high: upper end (layers,).
        best_layer: the layer with the highest mean for F1.
        win_share: share of bootstrap resamples in which that layer is the best.
        runner_up: the layer that comes second.
        n: segments used.
    """

    statistic: Statistic
    groups: tuple[str, ...]
    by_group: Array
    mean: Array
    low: Array
    high: Array
    best_layer: int
    win_share: float
    runner_up: int
    n: int


def layer_agreement(
    precision: NDArray[np.float32],
    recall: NDArray[np.float32],
    f1: NDArray[np.float32],
    human: Sequence[float],
    groups: Sequence[str],
    *,
    statistic: Statistic = "pearson",
    resamples: int = 1000,
    seed: int = 1,
) -> LayerAgreement:
    """Correlate every layer's scores with human scores within groups, and average over groups.

    Source: Zhang et al. 2020, appendix B: the layer with the highest mean correlation over language pairs is chosen.

    Args:
        precision: (layers, n).
        recall: (layers, n).
        f1: (layers, n).
        human: human score of each segment (n,).
        groups: group of each segment (n,), e.g. its language pair.
        statistic: ``pearson`` or ``kendall`` (tau-b).
        resamples: bootstrap resamples of segments within groups, for the intervals of F1 and the share of wins.
        seed: of the bootstrap.

    Raises:
        InputError: if shapes differ, values are not finite, or a group is too small or constant.
    """
    scores = np.stack([precision, recall, f1], axis=-1).astype(np.float64)  # (layers, n, 3)
    y = np.asarray(human, dtype=np.float64)
    labels = np.asarray(groups)
    if scores.shape[1] != len(y) or len(y) != len(labels):
        raise InputError(f"{scores.shape[1]} scores, {len(y)} human scores, {len(labels)} groups: numbers must match")
    if not np.isfinite(y).all() or not np.isfinite(scores).all():
        raise InputError("scores and human scores must be finite numbers")
    names = tuple(dict.fromkeys(labels.tolist()))
    by_group, draws = [], []
    rng = np.random.default_rng(seed)
    for name in names:
        chosen = labels == name
        x, h = scores[:, chosen].transpose(0, 2, 1), y[chosen]
        if len(h) < 3 or h.std() == 0:
            raise InputError(f"group {name!r}: needs at least 3 segments with differing human scores, has {len(h)}")
        by_group.append(ROWS[statistic](x, h))
        draws.append(bootstrap_correlations(x[:, 2], h, statistic, resamples=resamples, seed=rng))
    table = np.stack(by_group)
    if np.isnan(table).any():
        raise InputError("a layer gives every segment of a group the same score: no correlation is defined")
    mean = table.mean(axis=0)
    means = np.mean(draws, axis=0)  # (resamples, layers)
    order = np.argsort(-mean[:, 2], kind="stable")
    low, high = np.nanpercentile(means, [2.5, 97.5], axis=0)
    return LayerAgreement(
        statistic=statistic,
        groups=names,
        by_group=table,
        mean=mean,
        low=low,
        high=high,
        best_layer=int(order[0]),
        win_share=float((means.argmax(axis=1) == order[0]).mean()),
        runner_up=int(order[min(1, len(order) - 1)]),
        n=len(y),
    )
