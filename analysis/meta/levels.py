"""The four levels at which metrics agree with human judgments: segments, preferences, systems and hybrid systems.

`bsx.analysis.meta.evaluate` puts groups together; here is one group.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from bsx.analysis.meta.measures import (
    STATISTICS,
    Agreement,
    about_tails,
    about_weights,
    checked_williams,
    correlations,
    heavy_tails,
    paired,
    resampling,
    statistics_of,
    tests_of_clusters,
    tests_of_items,
    tests_of_matrices,
    worth_of_clusters,
)
from bsx.analysis.meta.result import Figure, MetricAgreement, WithoutOne
from bsx.analysis.meta.rows import Rows, upside_down
from bsx.analysis.meta.settings import MetaSettings
from bsx.analysis.stats.correlation import pairwise_accuracy, pearson, without_each
from bsx.analysis.stats.resample import DrawOptions, Indices, Sampled, drawn_units, percentile_interval
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.rowwise import ROWS
from bsx.analysis.stats.selection import expected_model_selection
from bsx.analysis.stats.systems.darr import compare_darr, darr_from_pairs, preferences
from bsx.analysis.stats.systems.grouped import (
    GroupedEstimate,
    group_mean,
    group_values,
    grouped,
    resampled_scores,
    units_of,
)
from bsx.analysis.stats.systems.hybrid import compare_hybrid_limits, hybrid_correlation_limit, hybrid_systems
from bsx.analysis.stats.systems.soft import soft_pairwise_accuracy
from bsx.analysis.stats.systems.ties import calibrate_ties, compare_ties
from bsx.errors import InputError
from bsx.support.checks import Array


def agreement(rows: Rows, settings: MetaSettings) -> Agreement:
    """Measure every metric of a group.

    Args:
        rows: the group's scores; matrices for all levels but ``seg``.
        settings: level, statistic and so on.

    Raises:
        InputError: if rows are too few for what is asked, or nothing is defined.
    """
    if settings.absolute:
        rows = _upright(rows, settings)
    levels = {"seg": _pooled, "darr": _darr, "sys": _systems, "hybrid": _hybrids}
    if settings.level == "seg" and not rows.matrix:
        for name in ("statistic", "resample"):
            if (name == "resample" and settings.resample) or settings.statistic == "acc_eq":
                raise InputError(f"{name}={getattr(settings, name)} needs the columns system and segment")
    measure = levels[settings.level]
    if settings.level == "seg" and rows.matrix:
        measure = _tied if settings.statistic == "acc_eq" else _grouped
    return measure(rows, settings)


def _upright(rows: Rows, settings: MetaSettings) -> Rows:
    """Turn round the metrics that rank upside down."""
    metrics, every, corpus = {}, dict(rows.every), dict(rows.corpus)
    for name, x in rows.metrics.items():
        pair = (
            (rows.of_systems(name), rows.of_systems()) if settings.level == "sys" else (x.ravel(), rows.human.ravel())
        )
        down = ROWS[settings.statistic](*pair) < 0
        metrics[name] = -x if down else x
        if down and name in every:
            every[name] = -every[name]
        if down and name in corpus:
            corpus[name] = upside_down(corpus[name])
    return replace(rows, metrics=metrics, every=every, corpus=corpus)


def _pooled(rows: Rows, settings: MetaSettings) -> Agreement:
    if rows.clusters is not None:
        return _clustered(rows, rows.clusters, settings)
    heavy = heavy_tails(rows.metrics, rows.human, settings)
    metrics = [correlations(name, x, rows.human, settings, heavy=name in heavy) for name, x in rows.metrics.items()]
    test = settings.test_for(dependent=False, heavy=bool(heavy))
    compare = tests_of_items(rows.metrics, rows.human, test, settings)
    return Agreement(metrics, test, compare, about_tails(heavy, test, len(rows.human), settings))


def _clustered(rows: Rows, clusters: Indices, settings: MetaSettings) -> Agreement:
    """Rows of which some belong together: whole documents or segments are drawn."""
    unit = "documents" if settings.document is not None else "segments"
    metrics = [
        correlations(name, x, rows.human, settings, clusters=clusters, unit=unit) for name, x in rows.metrics.items()
    ]
    test = settings.test_for(dependent=True)
    compare = tests_of_clusters(rows.metrics, rows.human, test, settings, clusters, unit)
    worth = {
        name: worth_of_clusters((x,), rows.human, clusters, settings.statistic) for name, x in rows.metrics.items()
    }
    return Agreement(metrics, test, compare, about_weights(worth, drawn_units(len(rows.human), clusters), unit))


def _grouped(rows: Rows, settings: MetaSettings) -> Agreement:
    """Segment level of matrices: intervals and tests resample the same, by default segments as a whole."""
    by, metrics = settings.grouped_by, []
    for name, x in rows.metrics.items():
        results: dict[str, GroupedEstimate] = {}
        for statistic in statistics_of(settings):
            options = resampling(settings)
            if statistic != settings.statistic:
                options["resamples"] = 1
            results[statistic] = grouped(
                x,
                rows.human,
                by=by,
                statistic=statistic,
                resample=settings.sampled,
                nan="omit",
                cluster=rows.clusters,
                **options,
            )
        main = results[settings.statistic]
        figures: dict[str, Figure] = {statistic: estimate.estimate for statistic, estimate in results.items()}
        if by != "none":
            figures |= {"defined": main.groups, "undefined": main.undefined}
        metrics.append(MetricAgreement(name, main.estimate, main.ci, figures, main.method))
    test = settings.test_for(dependent=True)
    said: tuple[str, ...] = ()
    if settings.sampled == "segments" and settings.statistic != "acc_eq":
        how = (by, settings.statistic, settings.sampled, rows.clusters)
        worth = {name: units_of((x,), rows.human, *how) for name, x in rows.metrics.items()}
        said = about_weights(worth, drawn_units(rows.human.shape[1], rows.clusters), rows.over("segments"))
    if test == "williams":
        present = ~np.isnan(rows.human)
        flat = {name: x[present] for name, x in rows.metrics.items()}
        return Agreement(metrics, test, tests_of_items(flat, rows.human[present], test, settings), said)
    return Agreement(metrics, test, tests_of_matrices(rows, metrics, by, test, settings), said)


def _tied(rows: Rows, settings: MetaSettings) -> Agreement:
    """Segment level: pairwise accuracy with ties calibrated for each metric, beside what chance would give."""
    by, human, options, of = settings.grouped_by, rows.human, resampling(settings), rows.clusters
    metrics, epsilons = [], {}
    for name, x in rows.metrics.items():
        result = calibrate_ties(x, human, by=by, human_epsilon=settings.human_ties, nan="omit", cluster=of, **options)
        figures: dict[str, Figure] = {"acc_eq": result.estimate, "chance": result.chance, "epsilon": result.epsilon}
        for statistic in STATISTICS:
            plain = group_mean(group_values(x, human, by, statistic))
            figures[statistic] = float(plain)
        epsilons[name] = result.epsilon
        metrics.append(MetricAgreement(name, result.estimate, result.ci, figures, result.method))
    test = settings.test_for(dependent=True)
    draw: DrawOptions = {"resamples": settings.resamples, "seed": settings.seed}

    def compare(a: str, b: str) -> Comparison:
        return compare_ties(
            rows.metrics[a],
            rows.metrics[b],
            human,
            epsilon_a=epsilons[a],
            epsilon_b=epsilons[b],
            human_epsilon=settings.human_ties,
            by=by,
            swap="pairs" if test == "perm-both" else "segments",
            test="bootstrap" if test == "bootstrap" else "permutation",
            confidence=settings.confidence,
            plus_one=test == "permutation",
            nan="omit",
            cluster=of,
            **draw,
        )

    return Agreement(metrics, test, compare)


def _darr(rows: Rows, settings: MetaSettings) -> Agreement:
    pairs = preferences(rows.human, threshold=settings.threshold, nan="omit")
    if not len(pairs.segment):
        raise InputError(
            f"no two systems' human scores differ by {settings.threshold:g} or more on any segment; "
            "is the threshold on the scale of the human scores?"
        )
    ties, unit, options = settings.ties, settings.unit, resampling(settings)
    sides = {name: pairs.scores(x) for name, x in rows.metrics.items()}
    of = None if rows.clusters is None else rows.clusters[pairs.segment]
    metrics = []
    for name, (better, worse) in sides.items():
        result = darr_from_pairs(better, worse, pairs.segment, ties=ties, unit=unit, cluster=of, **options)
        fields = ("concordant", "discordant", "ties", "n", "segments")
        figures: dict[str, Figure] = {"tau": result.estimate, **{field: getattr(result, field) for field in fields}}
        metrics.append(MetricAgreement(name, result.estimate, result.ci, figures, result.method))

    def compare(a: str, b: str) -> Comparison:
        return compare_darr(sides[a], sides[b], pairs.segment, ties=ties, unit=unit, cluster=of, **options)

    return Agreement(metrics, settings.test_for(dependent=True), compare)


def _systems(rows: Rows, settings: MetaSettings) -> Agreement:
    human, scores = rows.of_systems(), {name: rows.of_systems(name) for name in rows.metrics}
    over = settings.sampled
    draw: DrawOptions = {"resamples": settings.resamples, "seed": settings.seed}
    if over != "systems" and not rows.segments:
        raise InputError(f"resample {over} needs scores of segments: name the column segment", setting="resample")
    heavy = heavy_tails(scores, human, settings)
    metrics = []
    for name, x in scores.items():
        result = correlations(name, x, human, settings, heavy=name in heavy)
        ends, method = result.ci, result.method
        if over != "systems":
            drawn = resampled_scores(
                rows.scored(name),
                rows.human_scored(),
                rows.shape,
                settings.statistic,
                over,
                settings.resamples,
                settings.seed,
                clusters=rows.drawn,
            )
            ends = percentile_interval(drawn, settings.confidence, _drawn(rows, over))
            method = f"{settings.statistic}, bootstrap over {rows.over(over)}"
        figures = {**result.figures, **_order_of_systems(rows, name, x, human, settings)}
        method = f"{method}, systems ({rows.estimand(name)})"
        without = _without_one(x, human, rows.systems, settings)
        metrics.append(MetricAgreement(name, result.value, ends, figures, method, without_one=without))
    test = settings.test_for(dependent=True, heavy=bool(heavy))
    about = about_tails(heavy, test, len(human), settings)
    if test == "bootstrap":

        def resample() -> dict[str, Array]:
            return {
                name: resampled_scores(
                    rows.scored(name),
                    rows.human_scored(),
                    rows.shape,
                    settings.statistic,
                    over,
                    **draw,
                    clusters=rows.drawn,
                )
                for name in scores
            }

        values = {metric.metric: metric.value for metric in metrics}
        method = f"difference of {settings.statistic} (of systems), paired bootstrap over {rows.over(over)}"
        compare = paired(resample, values, len(human), method, settings, lambda a, b: _drawn(rows, over))
        return Agreement(metrics, test, compare, about)
    if test == "perm-both" and rows.segments:
        return Agreement(metrics, test, tests_of_matrices(rows, metrics, "means", test, settings), about)
    if test == "permutation" and over == "segments":
        if rows.corpus or rows.every:
            raise InputError(
                "test permutation cannot swap the segments of corpus scores, nor those that nobody judged: use "
                "bootstrap, resample systems or system_score judged",
                setting="test",
            )
        return Agreement(metrics, test, tests_of_matrices(rows, metrics, "means", test, settings), about)
    return Agreement(metrics, test, tests_of_items(scores, human, test, settings), about)


def _drawn(rows: Rows, over: Sampled) -> int | None:
    """Return how many segments or documents an interval over those rests on."""
    return drawn_units(rows.shape[1], rows.drawn) if over == "segments" else None


def _without_one(x: Array, human: Array, systems: Sequence[Hashable], settings: MetaSettings) -> WithoutOne | None:
    """Return the lowest and the highest correlation without one system; None where too few or none of them vary."""
    values = without_each(x, human, settings.statistic)
    if len(x) < 4 or np.isnan(values).all():
        return None
    low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
    return WithoutOne(float(values[low]), str(systems[low]), float(values[high]), str(systems[high]))


def _order_of_systems(rows: Rows, name: str, x: Array, human: Array, settings: MetaSettings) -> dict[str, Figure]:
    """Return pairwise accuracy and soft pairwise accuracy; the latter needs scores of segments."""
    options, over = resampling(settings), settings.sampled
    accuracy = pairwise_accuracy(x, human, **options)
    ends = accuracy.ci
    if over != "systems":
        shape, draws = rows.shape, settings.resamples
        drawn = resampled_scores(
            rows.scored(name),
            rows.human_scored(),
            shape,
            "pairwise_accuracy",
            over,
            draws,
            settings.seed,
            clusters=rows.drawn,
        )
        ends = percentile_interval(drawn, settings.confidence, _drawn(rows, over))
    figures: dict[str, Figure] = {"pairwise_accuracy": accuracy.estimate, "pairwise_accuracy_ci": ends}
    if not rows.segments:
        return {**figures, "spa": math.nan, "spa_ci": (math.nan, math.nan)}
    draws = 1000 if settings.spa == "wmt" else max(1000, settings.resamples)
    spa = soft_pairwise_accuracy(
        rows.metrics[name],
        rows.human,
        method=settings.spa,
        permutations=draws,
        resample=over,
        nan="omit",
        names=rows.systems,
        cluster=rows.clusters,
        **options,
    )
    return {**figures, "spa": spa.estimate, "spa_ci": spa.ci}


def _hybrids(rows: Rows, settings: MetaSettings) -> Agreement:
    x, human, options = rows.metrics, rows.human, resampling(settings)
    drawn = hybrid_systems(np.stack(list(x.values())), human, settings.hybrids, seed=settings.seed, nan="omit")
    scores = dict(zip(x, drawn.metric, strict=True))
    metrics = []
    for name, values in scores.items():
        limit = hybrid_correlation_limit(x[name], human, nan="omit", cluster=rows.clusters, **options)
        sampled = pearson(values, drawn.human, confidence=settings.confidence)
        chosen = expected_model_selection(values, drawn.human, settings.sample)
        figures: dict[str, Figure] = {
            "limit": limit.estimate,
            "pearson": sampled.estimate,
            "pearson_ci": sampled.ci,
            "hits_at_1": chosen.hits_at_1,
            "mrr": chosen.mrr,
            "difference": chosen.difference,
        }
        metrics.append(MetricAgreement(name, limit.estimate, limit.ci, figures, limit.method))
    test = settings.test_for(dependent=True)

    def compare(a: str, b: str) -> Comparison:
        if test == "williams":
            return checked_williams(scores[a], scores[b], drawn.human, settings)
        return compare_hybrid_limits(x[a], x[b], human, nan="omit", cluster=rows.clusters, **options)

    return Agreement(metrics, test, compare)
