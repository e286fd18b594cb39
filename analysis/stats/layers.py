"""Which layer agrees best with human judgments? Correlation by layer, and of the choice, with bootstrap intervals.

Works on arrays: scores of all layers from any encoder, human scores, and the group (language pair) of each segment.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.stats.correlation import bootstrap_correlations, influence, worth
from bsx.analysis.stats.resample import (
    Clustered,
    Indices,
    bootstrap_counts,
    cluster_codes,
    drawn_units,
    percentile_interval,
)
from bsx.analysis.stats.results import Estimate
from bsx.analysis.stats.rowwise import ROWS, varies
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Number, Result

Statistic = Literal["pearson", "kendall"]
FIGURES = ("precision", "recall", "f1", "f1 with idf")
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
        idf: mean correlation of F1 with idf; NaN where that was not scored.
    """

    layer: int
    precision: Number
    recall: Number
    f1: Number
    f1_low: Number
    f1_high: Number
    idf: Number = math.nan


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
        chosen: what the choice is worth on data that it was not made on: F1's mean correlation by the layer that is
            the best in a resample, on what that resample leaves out. The best layer's own figure is too high for that.
        model: name of the model, where known.
        data: names of the judged tables, where known.
        unit: what is drawn, and held out, as a whole: segments or documents.
        gain: what idf adds to that figure, where a layer is chosen with idf too; None where that was not scored.
    """

    kind: ClassVar[str] = "registry-tune"

    n: int
    statistic: Statistic
    groups: dict[str, tuple[Number, ...]]
    layers: tuple[JudgedLayer, ...]
    best_layer: int
    win_share: Number
    runner_up: int
    chosen: Estimate
    model: str = ""
    data: tuple[str, ...] = ()
    unit: str = "segments"
    gain: Estimate | None = None


def layer_agreement(
    precision: NDArray[np.float32],
    recall: NDArray[np.float32],
    f1: NDArray[np.float32],
    human: Sequence[float],
    groups: Sequence[str],
    *,
    idf: NDArray[np.float32] | None = None,
    statistic: Statistic = "pearson",
    resamples: int = 1000,
    seed: int = 1,
    clusters: Sequence[Hashable] | None = None,
    unit: str = "segments",
) -> LayerAgreement:
    """Correlate every layer's scores with human scores within groups, and average over groups.

    Source: Zhang et al. 2020, appendix B: the layer with the highest mean correlation over language pairs is chosen.
    Cawley & Talbot 2010 for the figure of the choice: choosing is part of what is cross-validated; Efron & Tibshirani
    1997 for the mean over resamples, of which each is tested on what it leaves out. Its interval reaches over that of
    the best layer and the same around that mean: one is too high, the other that of a choice from fewer data.

    Args:
        precision: (layers, n).
        recall: (layers, n).
        f1: (layers, n).
        human: human score of each segment (n,).
        groups: group of each segment (n,), e.g. its language pair.
        idf: F1 with idf (layers, n): a layer is chosen with it as without, and what it adds is measured.
        statistic: ``pearson`` or ``kendall`` (tau-b).
        resamples: bootstrap resamples within groups, for the intervals of F1 and the share of wins.
        seed: of the bootstrap.
        clusters: what each segment is drawn and held out with (n,), such as its document; each by itself unless given.
        unit: what clusters are called.

    A figure whose scores do not vary in a group has no correlation there, and no mean; `LayerAgreement.notes` names it.
    The layer is chosen among those of which F1 has one.

    Raises:
        InputError: if shapes differ, values are not finite, a group is too small or its human scores do not vary, or no
            layer can be chosen.
    """
    several = [precision, recall, f1, *([] if idf is None else [idf])]
    scores = np.stack(several, axis=-1).astype(np.float64)  # (layers, n, 3 or 4)
    y = np.asarray(human, dtype=np.float64)
    labels = np.asarray(groups)
    if scores.shape[1] != len(y) or len(y) != len(labels):
        raise InputError(f"{scores.shape[1]} scores, {len(y)} human scores, {len(labels)} groups: numbers must match")
    if not np.isfinite(y).all() or not np.isfinite(scores).all():
        raise InputError("scores and human scores must be finite numbers")
    names = tuple(dict.fromkeys(labels.tolist()))
    parts: list[tuple[Array, Array, Clustered]] = []
    for name in names:
        rows = np.flatnonzero(labels == name)
        if len(rows) < 3 or not varies(y[rows]):
            raise InputError(f"group {name!r}: needs at least 3 segments with differing human scores, has {len(rows)}")
        of = None if clusters is None else cluster_codes([clusters[row] for row in rows.tolist()])
        parts.append((scores[:, rows].transpose(0, 2, 1), y[rows], of))
    table = np.stack([ROWS[statistic](x, h) for x, h, _ in parts])
    units = [drawn_units(len(h), of) for _, h, of in parts]
    notes = _undefined(table, names, statistic)
    if alone := [repr(name) for name, count in zip(names, units, strict=True) if count < 2]:
        notes += (f"all rows of {', '.join(alone)} are drawn together: there are no intervals",)
    mean = table.mean(axis=0)
    if np.isnan(mean[:, 2]).all():
        raise InputError(f"no layer can be chosen by F1: {notes[0]}")
    order, draws, left_out = _choose(parts, mean, 2, statistic, resamples, seed)
    low, high = np.full((2, len(mean)), np.nan)
    like = 0 if alone else sum(units) - len(units) + 1  # a group's mean takes one
    if clusters is not None and statistic == "pearson" and not alone:
        added = ((influence(x[order[0], 2], h) / len(h), of) for x, h, of in parts)
        sums = [each if of is None else np.bincount(of, each) for each, of in added]
        like = min(like, worth(np.concatenate(sums)))
    for layer, column in zip(order, draws.T, strict=True):
        low[layer], high[layer] = percentile_interval(column, units=like)
    defined = draws[~np.isnan(draws).all(axis=1)]
    wins = np.where(np.isnan(defined), -np.inf, defined).argmax(axis=1) == 0
    highest = float(mean[order[0], 2])
    # A single layer is not chosen.
    figure = left_out[~np.isnan(draws).all(axis=1) & ~np.isnan(left_out)] if len(order) > 1 else np.array([highest])
    value = float(figure.mean()) if len(figure) else math.nan
    moved = value - highest
    ends = (float(max(-1.0, low[order[0]] + min(moved, 0.0))), float(high[order[0]] + max(moved, 0.0)))
    gain = None
    if idf is not None and not np.isnan(mean[:, 3]).all():
        best, weighted, out = _choose(parts, mean, 3, statistic, resamples, seed)
        gained = out - left_out
        known = float(np.nanmean(gained)) if not np.isnan(gained).all() else math.nan
        beyond = known - float(mean[best[0], 3] - highest)
        lower, upper = percentile_interval(weighted[:, 0] - draws[:, 0], units=like)
        gain = Estimate(
            estimate=known,
            ci=(lower + min(beyond, 0.0), upper + max(beyond, 0.0)),
            n=sum(units),
            method=f"{statistic} with idf less that without, each of the best layer of a bootstrap resample of {unit}, "
            "on those that it leaves out",
        )
    figures = zip(mean[:, :3].tolist(), low.tolist(), high.tolist(), mean[:, 3:].tolist(), strict=True)
    return LayerAgreement(
        n=len(y),
        statistic=statistic,
        groups={name: tuple(figures[:, 2].tolist()) for name, figures in zip(names, table, strict=True)},
        layers=tuple(JudgedLayer(layer, *means, *ends, *more) for layer, (means, *ends, more) in enumerate(figures)),
        best_layer=int(order[0]),
        win_share=float(wins.mean()) if len(wins) else math.nan,
        runner_up=int(order[min(1, len(order) - 1)]),
        chosen=Estimate(
            estimate=value,
            ci=ends if len(figure) else (math.nan, math.nan),
            n=sum(units),
            method=f"{statistic} of the best layer of a bootstrap resample of {unit}, on those that it leaves out",
        ),
        unit=unit,
        gain=gain,
        notes=notes,
    )


def _choose(
    parts: Sequence[tuple[Array, Array, Clustered]],
    mean: Array,
    figure: int,
    statistic: Statistic,
    resamples: int,
    seed: int,
) -> tuple[Indices, Array, Array]:
    """Choose a layer by one figure, on all data and in each resample within groups.

    Of each group there are scores (layers, figures, n), human scores (n,) and clusters (n,), of all groups their mean
    correlations (layers, figures).

    Returns:
        Layers that have a mean correlation, the best first; their means in resamples (resamples, layers); and of the
        layer that a resample chooses, the mean correlation on what it leaves out (resamples,).
    """
    order = np.argsort(-mean[:, figure], kind="stable")  # NaN comes last
    order = order[: np.count_nonzero(~np.isnan(mean[:, figure]))]
    draws, left_out = [], []
    for place, (x, y, of) in enumerate(parts):
        rng = np.random.default_rng([seed, place])
        draws.append(bootstrap_correlations(x[order, figure], y, statistic, resamples=resamples, seed=rng, clusters=of))
    means = np.mean(draws, axis=0)
    best = np.where(np.isnan(means), -np.inf, means).argmax(axis=1)
    for place, (x, y, of) in enumerate(parts):
        drawn = bootstrap_counts(resamples, len(y), np.random.default_rng([seed, place]), of)  # the same once more
        # Of the layer that each resample chooses, the correlation with what it leaves out; NaN of fewer than three.
        rows = (counts == 0 for block in drawn for counts in block)
        pairs = ((x[order[layer], figure, out], y[out]) for layer, out in zip(best, rows, strict=True))
        left_out.append([float(ROWS[statistic](a, b)) if len(b) > 2 else math.nan for a, b in pairs])
    return order, means, np.mean(left_out, axis=0)


def _undefined(table: Array, groups: Sequence[str], statistic: str) -> tuple[str, ...]:
    """Return which layers and figures have the same score for a whole group, in one note, if there are any."""
    places = []
    for group, layer in np.argwhere(np.isnan(table).any(axis=2)).tolist():
        figures = [name for name, value in zip(FIGURES, table[group, layer], strict=False) if np.isnan(value)]
        places.append(f"layer {layer} in {groups[group]!r} ({', '.join(figures)})")
    if not places:
        return ()
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    shown = ", ".join(places[:_NAMED])
    return (f"all segments of a group have the same score, so no {statistic} is defined: {shown}{more}",)
