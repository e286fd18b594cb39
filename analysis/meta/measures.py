"""What the levels of agreement share: correlations with intervals, heavy tails, and tests between two metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np

from bsx.analysis.meta.result import MetricAgreement
from bsx.analysis.meta.rows import Rows
from bsx.analysis.meta.settings import MetaSettings, Test
from bsx.analysis.stats import correlation
from bsx.analysis.stats.correlation import (
    FEW_ITEMS,
    HEAVY_TAILS,
    bootstrap_correlations,
    influence,
    sums_of,
    tail_weight,
    worth,
)
from bsx.analysis.stats.resample import (
    FEW_UNITS,
    Clustered,
    DrawOptions,
    Indices,
    Resampling,
    compared,
    drawn_units,
    percentile_interval,
)
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.rowwise import ROWS
from bsx.analysis.stats.significance import perm_both, williams
from bsx.analysis.stats.systems.grouped import POOLING, By, Statistic, resampled_groups, units_of
from bsx.errors import InputError
from bsx.support.checks import Array

STATISTICS: tuple[Statistic, ...] = ("pearson", "spearman", "kendall")
FEWEST_ITEMS = 6  # of fewer, an interval of r = .5 holds more than three quarters of what r can be
Compare = Callable[[str, str], Comparison]


@dataclass(frozen=True)
class Agreement:
    """All metrics of one group.

    Attributes:
        metrics: in the order given.
        test: the test that ``compare`` runs.
        compare: names of two metrics -> the test of "the first agrees better".
        notes: what was chosen for the reader.
    """

    metrics: list[MetricAgreement]
    test: Test
    compare: Compare
    notes: tuple[str, ...] = ()


def resampling(settings: MetaSettings) -> Resampling:
    """Return the settings of draws for an interval."""
    return {"confidence": settings.confidence, "resamples": settings.resamples, "seed": settings.seed}


def heavy_tails(metrics: Mapping[str, Array], human: Array, settings: MetaSettings) -> list[str]:
    """Return the metrics whose tails, with human scores', are too heavy for Fisher's interval and the Williams test.

    Few items show less of their tails than there is: any weight above the normal's counts then.
    """
    if settings.statistic != "pearson":
        return []
    limit = HEAVY_TAILS if len(human) >= FEW_ITEMS else 1.0
    return [name for name, x in metrics.items() if tail_weight(x, human) > limit]


def statistics_of(settings: MetaSettings) -> tuple[Statistic, ...]:
    """Return what is measured: tau-c only on request."""
    return (*STATISTICS, "kendall_c") if settings.statistic == "kendall_c" else STATISTICS


def about_tails(heavy: list[str], test: Test, n: int, settings: MetaSettings) -> tuple[str, ...]:
    """Return what is said of heavy tails and of few items, if there are some: what was chosen, and for what."""
    notes, items = [], "systems" if settings.level == "sys" else "rows"
    permuted = test == "permutation" and settings.test is None
    if heavy:
        tested = ["permutation instead of the Williams test"] if permuted else []
        interval = ["a bootstrap interval instead of Fisher's"] if n >= FEW_ITEMS else []
        if said := ", and ".join([*interval, *tested]):
            notes.append(f"heavy tails of {', '.join(heavy)} with human scores: {said}")
    if n >= FEW_ITEMS or (settings.level == "sys" and settings.sampled != "systems"):
        return tuple(notes)
    one = items.removesuffix("s")
    if settings.statistic != "kendall_c":
        notes.append(f"{n} {items}: an interval reaches over those without each one {one}, as one can carry them all")
    if n < FEWEST_ITEMS:
        notes.append(f"{n} {items} say next to nothing about others: intervals are as wide as that")
    if permuted and 2.0 ** (1 - n) > settings.alpha:
        notes.append(f"with {n} {items} a permutation cannot give a p under {2.0 ** (1 - n):.2g}")
    return tuple(notes)


def about_weights(worth: Mapping[str, int], units: int, unit: str) -> tuple[str, ...]:
    """Return what is said of metrics whose figures hang on a few of the units that are drawn, if there are some.

    Args:
        worth: metric -> how many like units its interval rests on.
        units: how many are drawn.
        unit: what they are called.
    """
    few = {name: count for name, count in worth.items() if count < min(units, FEW_UNITS) / 2}
    if not few:
        return ()
    named = ", ".join(f"{name} ({count})" for name, count in few.items())
    return (
        f"a few of {units} {unit} determine the correlation of {named}; intervals and tests between metrics are as "
        f"wide as with the number of {unit} in brackets",
    )


def correlations(
    name: str,
    x: Array,
    human: Array,
    settings: MetaSettings,
    *,
    heavy: bool = False,
    clusters: Clustered = None,
    unit: str = "items",
) -> MetricAgreement:
    """Correlate vectors (n,).

    The interval of fewer than 20 items reaches over those without each one of them; of more, it is Fisher's, and a
    bootstrap where tails are heavy, or of Kendall's tau, as grades tie often. With ``clusters`` (n,) it is a bootstrap
    over those, which are called ``unit``.
    """
    results: dict[str, Estimate] = {}
    for statistic in statistics_of(settings):
        interval = "none"
        if statistic == settings.statistic and clusters is None:
            interval = "bootstrap" if statistic.startswith("kendall") or heavy else "analytic"
            if len(human) < FEW_ITEMS and statistic != "kendall_c":
                interval = "leave-one-out"
        measure, variant = getattr(correlation, statistic.removesuffix("_c")), dict[str, str]()
        if statistic == "kendall_c":
            variant = {"variant": "c"}
        results[statistic] = measure(x, human, interval=interval, **variant, **resampling(settings))
    main = results[settings.statistic]
    figures = {statistic: estimate.estimate for statistic, estimate in results.items()}
    ends, method = main.ci, main.method
    if clusters is not None:
        drawn = bootstrap_correlations(
            x[None], human, settings.statistic, resamples=settings.resamples, seed=settings.seed, clusters=clusters
        )
        units = worth_of_clusters((x,), human, clusters, settings.statistic)
        ends, method = percentile_interval(drawn[:, 0], settings.confidence, units), f"{method}, bootstrap over {unit}"
    return MetricAgreement(name, main.estimate, ends, dict(figures), method)


def worth_of_clusters(metrics: Sequence[Array], human: Array, clusters: Indices, statistic: str) -> int:
    """Return how many like clusters an interval rests on: of one metric's correlation (n,), or of two's difference."""
    if statistic != "pearson":
        return drawn_units(len(human), clusters)
    added = [influence(x, human) for x in metrics]
    return worth(sums_of(clusters, added[0] if len(added) == 1 else added[0] - added[1]))


def tests_of_items(metrics: Mapping[str, Array], human: Array, test: Test, settings: MetaSettings) -> Compare:
    """Return the comparison of columns (n,) whose items are independent."""
    if test == "williams":
        return lambda a, b: checked_williams(metrics[a], metrics[b], human, settings)
    if test in ("perm-both", "permutation"):
        draw: DrawOptions = {"resamples": settings.resamples, "seed": settings.seed}
        statistic, whole = _correlation(settings), test == "permutation"
        items = "systems" if settings.level == "sys" else "rows"
        few = len(human) < FEW_ITEMS
        chosen = settings.test is None and (few or bool(heavy_tails(metrics, human, settings)))
        scale: Literal["sd", "mad"] = "mad" if chosen else "sd"

        def permuted(a: str, b: str) -> Comparison:
            result = perm_both(metrics[a], metrics[b], human, statistic=statistic, plus_one=whole, scale=scale, **draw)
            method = f"difference of {statistic}, permutation of {items}"
            method += ", scores over their median absolute deviation" if chosen else ""
            return replace(result, method=method) if whole else result

        return permuted
    values = {name: float(ROWS[settings.statistic](x, human)) for name, x in metrics.items()}
    columns = np.stack(list(metrics.values()))

    def resample() -> dict[str, Array]:
        draws = bootstrap_correlations(
            columns, human, settings.statistic, resamples=settings.resamples, seed=settings.seed
        )
        return dict(zip(metrics, draws.T, strict=True))

    return paired(resample, values, len(human), f"difference of {settings.statistic}, paired bootstrap", settings)


def tests_of_clusters(
    metrics: Mapping[str, Array], human: Array, test: Test, settings: MetaSettings, clusters: Indices, unit: str
) -> Compare:
    """Return the comparison of columns (n,) whose clusters (n,), called ``unit``, are independent."""
    if test not in ("permutation", "bootstrap"):
        return tests_of_items(metrics, human, test, settings)
    draw: DrawOptions = {"resamples": settings.resamples, "seed": settings.seed}
    statistic = _correlation(settings)
    if test == "permutation":

        def permuted(a: str, b: str) -> Comparison:
            columns = (metrics[a], metrics[b], human)
            result = perm_both(*columns, statistic=statistic, plus_one=True, cluster=clusters, **draw)
            return replace(result, method=f"difference of {statistic}, permutation of {unit}")

        return permuted
    values = {name: float(ROWS[statistic](x, human)) for name, x in metrics.items()}

    def resample() -> dict[str, Array]:
        columns = np.stack(list(metrics.values()))
        draws = bootstrap_correlations(columns, human, statistic, clusters=clusters, **draw)
        return dict(zip(metrics, draws.T, strict=True))

    def units(a: str, b: str) -> int:
        return worth_of_clusters((metrics[a], metrics[b]), human, clusters, statistic)

    method = f"difference of {statistic}, paired bootstrap over {unit}"
    return paired(resample, values, len(human), method, settings, units)


def tests_of_matrices(
    rows: Rows, agreements: list[MetricAgreement], by: By, test: Test, settings: MetaSettings
) -> Compare:
    """Return the comparison of matrices (systems, segments) by resampling or swapping."""
    x, human, statistic, over = rows.metrics, rows.human, _correlation(settings), settings.sampled
    clusters = rows.clusters
    draw: DrawOptions = {"resamples": settings.resamples, "seed": settings.seed}
    if test == "perm-both":
        return lambda a, b: perm_both(x[a], x[b], human, by=by, statistic=statistic, nan="omit", **draw)
    if test == "permutation":
        swap: Literal["segments", "systems"] = "systems" if over == "systems" else "segments"
        of = None if over == "systems" else clusters
        return lambda a, b: perm_both(
            x[a], x[b], human, by=by, statistic=statistic, swap=swap, plus_one=True, nan="omit", cluster=of, **draw
        )

    def resample() -> dict[str, Array]:
        return {
            name: resampled_groups(z, human, by, statistic, **draw, resample=over, clusters=clusters)
            for name, z in x.items()
        }

    values = {metric.metric: metric.value for metric in agreements}
    method = f"difference of {statistic} ({POOLING[by]}), paired bootstrap over {rows.over(over)}"
    return paired(
        resample,
        values,
        int((~np.isnan(human)).sum()),
        method,
        settings,
        lambda a, b: units_of((x[a], x[b]), human, by, statistic, over, clusters),
    )


def _correlation(settings: MetaSettings) -> Literal["pearson", "spearman", "kendall", "kendall_c"]:
    if settings.statistic == "acc_eq":
        raise AssertionError("acc_eq is no correlation")
    return settings.statistic


def checked_williams(a: Array, b: Array, human: Array, settings: MetaSettings) -> Comparison:
    """Run the Williams test; say what to do if there are too few items for it."""
    if len(human) < 4:
        raise InputError(
            f"{len(human)} rows or systems are too few for the Williams test, which needs 4; test none leaves it out"
        )
    return williams(a, b, human, confidence=settings.confidence)


def paired(
    resample: Callable[[], Mapping[str, Array]],
    values: Mapping[str, float],
    n: int,
    method: str,
    settings: MetaSettings,
    units: Callable[[str, str], int | None] = lambda a, b: None,
) -> Compare:
    """Return the paired bootstrap; one set of resamples serves all pairs, and is drawn when it is first needed.

    ``units`` says how many like things the difference of two metrics rests on, where they may be few.
    """
    draws = cache(resample)
    return lambda a, b: compared(
        values[a], values[b], draws()[a] - draws()[b], n, method, settings.confidence, units(a, b)
    )
