"""Correlation of matrices (systems, segments): pooled, per item, per system, or of system means.

In a matrix, a cell that nobody judged is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.stats.correlation import influence, worth
from bsx.analysis.stats.resample import (
    CELLS,
    SAMPLED,
    Clustered,
    Sampled,
    Seed,
    all_counts,
    bootstrap_counts,
    bootstrap_p,
    bootstrap_rows,
    cluster_codes,
    compared,
    drawn_units,
    percentile_interval,
    sampled_units,
)
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.rowwise import ROWS, accuracy_of_drawn, ratio, variance, weighted_spearman
from bsx.analysis.stats.validate import clusters_of, grids, settings
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy, choice

SegmentsToSystems = Callable[[Array], Array]
By = Literal["none", "item", "sys", "means"]
Statistic = Literal["pearson", "spearman", "kendall", "kendall_c", "pairwise_accuracy"]
POOLING = {"none": "pooled", "item": "by segment", "sys": "by system", "means": "of systems"}


def grid(
    system: Sequence[Hashable], segment: Sequence[Hashable], columns: Mapping[str, ArrayLike]
) -> tuple[tuple[Hashable, ...], dict[str, Array]]:
    """Arrange the rows of a table, one per system and segment, as matrices, both in order of first appearance.

    Of the systems and segments (n,) of rows and columns (n,), return the systems and name -> (systems, segments), with
    NaN where the table has no row or no value.

    Raises:
        InputError: if sizes differ or a system x segment occurs twice.
    """
    systems, segments = list(dict.fromkeys(system)), list(dict.fromkeys(segment))
    values = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    for name, column in [("segment", np.empty(len(segment))), *values.items()]:
        if column.shape != (len(system),):
            sizes = f"system {len(system)}, {name} {' x '.join(map(str, column.shape))}"
            raise InputError(f"columns differ in size: {sizes}")
    cells = cluster_codes(system) * len(segments) + cluster_codes(segment)
    first, counts = np.unique(cells, return_counts=True)
    if (counts > 1).any():
        i, j = divmod(int(first[counts > 1][0]), len(segments))
        raise InputError(
            f"system {systems[i]!r} has segment {segments[j]!r} more than once: leave one row of it, or name a column "
            "that tells such rows apart, segment or group"
        )
    matrices = {}
    for name, column in values.items():
        matrices[name] = np.full((len(systems), len(segments)), np.nan)
        matrices[name].flat[cells] = column
    return tuple(systems), matrices


@dataclass(frozen=True, kw_only=True, repr=False)
class GroupedEstimate(Estimate):
    """A correlation averaged over groups: the mean over those that count.

    Attributes:
        by_group: value of each group (groups,): one for ``none`` and ``means``, one a segment for ``item``, one a
            system for ``sys``; NaN for a group with a constant column or fewer than two values.
        groups: groups that count towards the mean.
        undefined: groups whose value is NaN.
    """

    by_group: Array
    groups: int
    undefined: int


def grouped(
    metric: ArrayLike,
    human: ArrayLike,
    *,
    by: By = "none",
    statistic: Statistic = "pearson",
    constant: Literal["skip", "zero"] = "skip",
    resample: Sampled = "segments",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
    cluster: ArrayLike | None = None,
) -> GroupedEstimate:
    """Correlate a metric with human judgments within groups and average.

    Source: the groupings of WMT's metrics task and Deutsch et al. 2023, section 3: ``none`` flattens the matrix,
    ``item`` correlates the systems of each segment, ``sys`` the segments of each system. ``means`` is the system
    level: one correlation of the systems' mean scores.

    Args:
        metric: scores (systems, segments), NaN where there is none.
        human: human scores (systems, segments).
        by: the grouping.
        statistic: ``pearson``, ``spearman``, ``kendall`` (tau-b), ``kendall_c`` (tau-c) or ``pairwise_accuracy``.
        constant: a group where either column is constant (or has fewer than two values) has no correlation: ``skip``
            leaves it out of the mean, ``zero`` counts it as 0.
        confidence: level of the interval.
        resample: what is drawn anew: ``segments`` (the figure is that of these systems on other segments), ``systems``
            (of other systems on these segments) or ``both``. Source: BOOT-INPUT, BOOT-SYS and BOOT-BOTH of Deutsch,
            Dror & Roth 2021.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
        nan: ``error``, or ``omit`` to leave out the cells that miss a value; the two matrices lose the same cells.
        cluster: number of the document that each segment belongs to (segments,); whole documents are then drawn instead
            of segments. None: segments are independent.

    Raises:
        InputError: if shapes differ, values are missing or infinite, or no group has a defined correlation.
    """
    choice("by", by, POOLING)
    choice("statistic", statistic, tuple(ROWS))
    choice("constant", constant, ("skip", "zero"))
    choice("resample", resample, tuple(SAMPLED))
    settings(resamples=resamples, confidence=confidence)
    x, y = grids({"metric": metric, "human": human}, nan=nan)
    values = group_values(x, y, by, statistic)
    undefined = int(np.isnan(values).sum())
    if undefined == len(values):
        raise InputError(f"no {statistic} is defined: every group is constant or has fewer than two values")
    clusters = clusters_of(cluster, x.shape[1])
    draws = resampled_groups(x, y, by, statistic, constant, resamples, seed, resample=resample, clusters=clusters)
    units = units_of((x,), y, by, statistic, resample, clusters)
    means = {"none": "pooled", "item": "mean over segments", "sys": "mean over systems", "means": "of system means"}
    return GroupedEstimate(
        estimate=float(group_mean(values, constant)),
        ci=percentile_interval(draws, confidence, units),
        p=bootstrap_p(draws, 0.5 if statistic == "pairwise_accuracy" else 0.0, units)[1],
        by_group=values,
        groups=len(values) if constant == "zero" else len(values) - undefined,
        undefined=undefined,
        n=int((~np.isnan(x).all(axis=1)).sum()) if by == "means" else int((~np.isnan(x)).sum()),
        method=f"{statistic} {means[by]}, bootstrap over {sampled_units(resample, clusters)}",
        confidence=confidence,
    )


def compare_grouped(
    a: ArrayLike,
    b: ArrayLike,
    human: ArrayLike,
    *,
    by: By = "none",
    statistic: Statistic = "pearson",
    constant: Literal["skip", "zero"] = "skip",
    resample: Sampled = "segments",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
    cluster: ArrayLike | None = None,
) -> Comparison:
    """Compare two metrics' averaged correlations over the same bootstrap resamples.

    Source: Koehn 2004 for pairing; Deutsch, Dror & Roth 2021 for what is resampled. Segments, unlike cells, are
    independent.

    ``a`` and ``b`` are the metrics' scores (systems, segments); p is one-sided for "a agrees better". Other arguments
    and errors: as for `grouped`.
    """
    x, y, h = grids({"a": a, "b": b, "human": human}, nan=nan)
    draws = int(np.random.default_rng(seed).integers(2**63))  # one seed for both
    first, second = (
        grouped(z, h, by=by, statistic=statistic, constant=constant, confidence=confidence, resamples=1, nan="omit")
        for z in (x, y)
    )
    settings(resamples=resamples, confidence=confidence)
    clusters = clusters_of(cluster, h.shape[1])
    drawn = [
        resampled_groups(z, h, by, statistic, constant, resamples, draws, resample=resample, clusters=clusters)
        for z in (x, y)
    ]
    differences = drawn[0] - drawn[1]
    over = sampled_units(resample, clusters)
    method = f"difference of {statistic} ({POOLING[by]}), paired bootstrap over {over}"
    units = units_of((x, y), h, by, statistic, resample, clusters)
    return compared(first.estimate, second.estimate, differences, first.n, method, confidence, units)


def units_of(
    metrics: Sequence[Array],
    human: Array,
    by: By,
    statistic: str,
    resample: Sampled = "segments",
    clusters: Clustered = None,
) -> int:
    """Return how many like units an interval rests on: of one metric's correlation, or of the difference of two.

    Of Pearson's r of pooled scores, segments that weigh much count less; see `worth`. Scores of one or two metrics and
    human scores (systems, segments) are checked; other arguments: as for `resampled_groups`.
    """
    systems, segments = human.shape
    if resample != "segments":
        return int(systems if resample == "systems" else min(systems, drawn_units(segments, clusters)))
    if by != "none" or statistic != "pearson":
        return drawn_units(segments, clusters)
    present = ~np.isnan(human)
    of = np.broadcast_to(np.arange(segments) if clusters is None else clusters, human.shape)[present]
    added = [influence(z[present], human[present]) for z in metrics]
    return worth(np.bincount(of, added[0] if len(added) == 1 else added[0] - added[1]))


def system_means(scores: Array) -> Array:
    """Return each system's mean over the segments it has, (…, systems, segments) -> (…, systems); NaN if none."""
    present = ~np.isnan(scores)
    with np.errstate(invalid="ignore"):
        means: Array = np.where(present, scores, 0.0).sum(axis=-1) / present.sum(axis=-1)
    return means


def group_values(x: Array, y: Array, by: By, statistic: str) -> Array:
    """Return the correlation in each group of checked matrices (…, systems, segments): (…, groups)."""
    row_statistic = ROWS[statistic]
    if by == "item":
        return row_statistic(np.swapaxes(x, -1, -2), np.swapaxes(y, -1, -2))
    if by == "sys":
        return row_statistic(x, y)
    if by == "means":
        return row_statistic(system_means(x), system_means(y))[..., None]
    x, y = np.broadcast_arrays(x, y)
    return row_statistic(x.reshape(*x.shape[:-2], -1), y.reshape(*y.shape[:-2], -1))[..., None]


def group_mean(values: Array, constant: str = "skip") -> Array:
    """Return the mean over the last axis of values (…, groups), NaN left out or, with ``zero``, counted as 0."""
    defined = ~np.isnan(values)
    count = np.where(constant == "zero", values.shape[-1], defined.sum(axis=-1))
    with np.errstate(invalid="ignore"):
        mean: Array = np.where(defined, values, 0.0).sum(axis=-1) / count
    return mean


def resampled_groups(
    x: Array,
    y: Array,
    by: By,
    statistic: str,
    constant: str = "skip",
    resamples: int = 1000,
    seed: Seed = 1,
    *,
    resample: Sampled = "segments",
    clusters: Clustered = None,
) -> Array:
    """Return the averaged correlation in each bootstrap resample (resamples,).

    Several metrics resampled with one seed are paired: draw i of each rests on the same segments and systems.

    The matrices x and y (systems, segments) are checked: NaN stands in the same cells; ``clusters`` is the document of
    each segment (segments,), counted from 0. Other arguments: as for `grouped`.
    """
    systems, segments = x.shape
    rng = np.random.default_rng(seed)
    if by == "means":
        scores = (means_of_drawn(x), means_of_drawn(y))
        return resampled_scores(*scores, x.shape, statistic, resample, resamples, rng, clusters=clusters)
    if resample != "segments":
        draws, columns = [], np.arange(segments)
        for rows in bootstrap_rows(resamples, systems, rng):
            if resample == "both":
                columns = next(bootstrap_rows(1, segments, rng, clusters))
            cells = np.ix_(rows, columns)
            draws.append(group_mean(group_values(x[cells], y[cells], by, statistic), constant))
        return np.array(draws)
    if by == "item":  # a segment's value does not change when segments are resampled
        values = group_values(x, y, by, statistic)
        weight = np.ones(segments) if constant == "zero" else (~np.isnan(values)).astype(np.float64)
        filled = np.where(np.isnan(values), 0.0, values)
        with np.errstate(invalid="ignore"):
            blocks = [(c @ filled) / (c @ weight) for c in bootstrap_counts(resamples, segments, rng, clusters)]
        return np.concatenate(blocks)
    if statistic == "pearson":
        counts = bootstrap_counts(resamples, segments, rng, clusters)
        return group_mean(np.concatenate([_resampled_pearson(x, y, by, block) for block in counts]), constant)
    if by == "none" and statistic == "spearman":
        present = ~np.isnan(x)
        of, blocks = np.nonzero(present)[1], []
        for block in bootstrap_counts(resamples, segments, rng, clusters):
            # A block of counts of segments holds many more of cells, and is taken in parts.
            for part in np.array_split(block, max(1, len(block) * len(of) // CELLS)):
                blocks.append(weighted_spearman(x[present][None], y[present], part[:, of])[:, 0])
        return np.concatenate(blocks)
    draws = [
        group_mean(group_values(x[:, chosen], y[:, chosen], by, statistic), constant)
        for chosen in bootstrap_rows(resamples, segments, rng, clusters)
    ]
    return np.array(draws, dtype=np.float64)


def resampled_scores(
    x: SegmentsToSystems,
    y: SegmentsToSystems,
    shape: tuple[int, int],
    statistic: str,
    resample: Sampled = "segments",
    resamples: int = 1000,
    seed: Seed = 1,
    *,
    clusters: Clustered = None,
) -> Array:
    """Return the correlation of two scores of systems in each bootstrap resample (resamples,).

    ``x`` and, of human judgments, ``y`` make of how often each segment was drawn (b, segments) the systems' scores (b,
    systems), such as the means of segments or the corpus scores of a metric; ``shape`` is systems and segments. Other
    arguments: as for `resampled_groups`.
    """
    (systems, segments), rng, draws = shape, np.random.default_rng(seed), []
    if resample == "segments":
        for counts in bootstrap_counts(resamples, segments, rng, clusters):
            draws.append(ROWS[statistic](x(counts), y(counts)))
        return np.concatenate(draws)
    for counts in bootstrap_counts(resamples, systems, rng):
        weights = np.ones((1, segments))
        if resample == "both":
            weights = all_counts(len(counts), segments, rng, clusters)
        of_x, of_y = (np.broadcast_to(z(weights), counts.shape) for z in (x, y))
        if statistic == "pairwise_accuracy":
            draws.append(accuracy_of_drawn(of_x, of_y, counts))
            continue
        rows = np.stack([np.repeat(np.arange(systems), count.astype(np.int64)) for count in counts])
        draws.append(ROWS[statistic](*(np.take_along_axis(score, rows, axis=1) for score in (of_x, of_y))))
    return np.concatenate(draws)


def means_of_drawn(scores: Array) -> SegmentsToSystems:
    """Return the function from counts (b, segments) to the means of scores (systems, segments): (b, systems)."""
    present, filled = (~np.isnan(scores)).astype(np.float64), np.nan_to_num(scores)

    def means(counts: Array) -> Array:
        with np.errstate(invalid="ignore"):
            result: Array = (counts @ filled.T) / (counts @ present.T)
        return result

    return means


def _resampled_pearson(x: Array, y: Array, by: By, counts: Array) -> Array:
    """Return pooled or per-system Pearson of matrices (systems, segments) under counts (b, segments): (b, groups)."""
    present = ~np.isnan(x)
    # Centring first keeps the sums of squares from cancelling; it changes no correlation.
    levels = [np.nanmean(z) for z in (x, y)]
    x, y = (np.where(present, z - level, 0.0) for z, level in zip((x, y), levels, strict=True))
    parts = [present.astype(np.float64), x, y, x * x, y * y, x * y]
    sums = [counts @ part.T for part in parts]  # each (b, systems)
    if by == "none":
        sums = [part.sum(axis=1, keepdims=True) for part in sums]
    n, sx, sy, sxx, syy, sxy = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        of_x, of_y = variance(sxx / n, sx / n, levels[0]), variance(syy / n, sy / n, levels[1])
        return ratio(sxy / n - sx * sy / n**2, of_x, of_y)
