"""Which layer agrees best with human judgments? Correlation by layer, with bootstrap intervals.

Works on arrays: scores of all layers from any encoder, human scores, and the group (language pair) of each segment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.stats.correlation import bootstrap_correlations
from bsx.analysis.stats.rowwise import ROWS, varies
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Number, Result

Statistic = Literal["pearson", "kendall"]
FIGURES = ("precision", "recall", "f1")
_NAMED = 5  # places that a note names


@dataclass(frozen=True)
class JudgedLayer:
    """How one layer agrees with human judgments; NaN where the scores of a group do not vary.

    Attributes:
        layer: which one.
        precision: mean correlation of P over groups.
        recall: of R.
        f1: of F1.
        f1_low: lower end of the 95 % bootstrap interval of F1's.
        f1_high: upper end.
    """

    layer: int
    precision: Number
    recall: Number
    f1: Number
    f1_low: Number
    f1_high: Number


@dataclass(frozen=True, repr=False)
class LayerAgreement(Result):
    """Agreement with human judgments by layer, averaged over groups.

    Attributes:
        n: segments used.
        statistic: which correlation.
        groups: F1's in each group, a figure a layer; NaN where the scores of a group do not vary.
        layers: means over groups.
        best_layer: the layer with the highest mean for F1.
        win_share: share of bootstrap resamples in which that layer is the best.
        runner_up: the layer that comes second.
        model: name of the model, where known.
        data: names of the judged tables, where known.
    """

    kind: ClassVar[str] = "registry-tune"

    n: int
    statistic: Statistic
    groups: dict[str, tuple[Number, ...]]
    layers: tuple[JudgedLayer, ...]
    best_layer: int
    win_share: Number
    runner_up: int
    model: str = ""
    data: tuple[str, ...] = ()


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

    A figure whose scores do not vary in a group has no correlation there, and no mean; `LayerAgreement.notes` names it.
    The layer is chosen among those of which F1 has one.

    Raises:
        InputError: if shapes differ, values are not finite, a group is too small or its human scores do not vary, or no
            layer can be chosen.
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
        if len(h) < 3 or not varies(h):
            raise InputError(f"group {name!r}: needs at least 3 segments with differing human scores, has {len(h)}")
        by_group.append(ROWS[statistic](x, h))
        draws.append(bootstrap_correlations(x[:, 2], h, statistic, resamples=resamples, seed=rng))
    table = np.stack(by_group)
    notes = _undefined(table, names, statistic)
    mean = table.mean(axis=0)
    order = np.argsort(-mean[:, 2], kind="stable")[: np.count_nonzero(~np.isnan(mean[:, 2]))]  # NaN comes last
    if not len(order):
        raise InputError(f"no layer can be chosen by F1: {notes[0]}")
    means = np.mean(draws, axis=0)[:, order]  # (resamples, layers that can be chosen)
    means = means[~np.isnan(means).all(axis=1)]
    low, high = np.full((2, len(mean)), np.nan)
    if len(means):
        low[order], high[order] = _interval(means)
    wins = np.where(np.isnan(means), -np.inf, means).argmax(axis=1) == 0
    figures = zip(mean.tolist(), low.tolist(), high.tolist(), strict=True)
    return LayerAgreement(
        n=len(y),
        statistic=statistic,
        groups={name: tuple(own[:, 2].tolist()) for name, own in zip(names, table, strict=True)},
        layers=tuple(JudgedLayer(layer, *means, *ends) for layer, (means, *ends) in enumerate(figures)),
        best_layer=int(order[0]),
        win_share=float(wins.mean()) if len(wins) else math.nan,
        runner_up=int(order[min(1, len(order) - 1)]),
        notes=notes,
    )


def _interval(means: Array) -> Array:
    """Return the ends of the 95 % intervals of columns (resamples, layers), NaN in a column without values: (2, …)."""
    ends = np.full((2, means.shape[1]), np.nan)
    some = ~np.isnan(means).all(axis=0)
    ends[:, some] = np.nanpercentile(means[:, some], [2.5, 97.5], axis=0)
    return ends


def _undefined(table: Array, groups: Sequence[str], statistic: str) -> tuple[str, ...]:
    """Return which layers and figures have the same score for a whole group, in one note, if there are any."""
    places = []
    for group, layer in np.argwhere(np.isnan(table).any(axis=2)).tolist():
        figures = [name for name, value in zip(FIGURES, table[group, layer], strict=True) if np.isnan(value)]
        places.append(f"layer {layer} in {groups[group]!r} ({', '.join(figures)})")
    if not places:
        return ()
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    shown = ", ".join(places[:_NAMED])
    return (f"all segments of a group have the same score, so no {statistic} is defined: {shown}{more}",)
