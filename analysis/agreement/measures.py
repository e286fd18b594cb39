"""Agreement with people in one group of rows: every metric's figures at a level, and how two metrics are compared.

`bsx.analysis.agreement.evaluate` puts groups together; here are the four levels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bsx.analysis.agreement.settings import MetaSettings, Test
from bsx.analysis.stats import correlation
from bsx.analysis.stats.correlation import bootstrap_correlations, pairwise_accuracy
from bsx.analysis.stats.pairwise import soft_pairwise_accuracy
from bsx.analysis.stats.resample import DrawOptions, Resampling, compared
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.rowwise import ROWS
from bsx.analysis.stats.selection import expected_model_selection
from bsx.analysis.stats.significance import perm_both, williams
from bsx.analysis.stats.systems.darr import compare_darr, darr_from_pairs, preferences
from bsx.analysis.stats.systems.grouped import POOLING, By, Statistic, grouped, resampled_groups, system_means
from bsx.analysis.stats.systems.hybrid import compare_hybrid_limits, hybrid_correlation_limit, hybrid_systems
from bsx.errors import InputError
from bsx.support.checks import Array

STATISTICS: tuple[Statistic, ...] = ("pearson", "spearman", "kendall")
Figure = float | list[float] | None
Compare = Callable[[str, str], Comparison]


@dataclass(frozen=True)
class MetricAgreement:
    """One metric's agreement with people.

    Attributes:
        metric: its name.
        value: the figure that is averaged over groups, tested and bracketed by the interval.
        low: lower end of the interval.
        high: upper end.
        figures: everything that was measured, by the name it has in JSON.
        method: figure and interval in words.
    """

    metric: str
    value: float
    low: float
    high: float
    figures: Mapping[str, Figure]
    method: str


@dataclass(frozen=True)
class Rows:
    """One group's scores, every value present that is present in any column.

    Attributes:
        metrics: name -> scores, (n,) or (systems, segments); NaN where there is no row.
        human: of the same shape.
        segments: whether the columns of a matrix are segments; False if there is one row a system.
    """

    metrics: Mapping[str, Array]
    human: Array
    segments: bool = True

    @property
    def matrix(self) -> bool:
        """Whether rows are arranged by system and segment."""
        return self.human.ndim == 2


@dataclass(frozen=True)
class Agreement:
    """All metrics of one group.

    Attributes:
        metrics: in the order given.
        test: the test that ``compare`` runs.
        compare: names of two metrics -> the test of "the first agrees better".
    """

    metrics: list[MetricAgreement]
    test: Test
    compare: Compare


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
    measure = _grouped if settings.level == "seg" and rows.matrix else levels[settings.level]
    return measure(rows, settings)


def _upright(rows: Rows, settings: MetaSettings) -> Rows:
    """Turn round the metrics that rank upside down."""
    metrics = {}
    for name, x in rows.metrics.items():
        pair = (
            (system_means(x), system_means(rows.human)) if settings.level == "sys" else (x.ravel(), rows.human.ravel())
        )
        metrics[name] = -x if ROWS[settings.statistic](*pair) < 0 else x
    return Rows(metrics, rows.human, rows.segments)


def _resampling(settings: MetaSettings) -> Resampling:
    return {"confidence": settings.confidence, "resamples": settings.resamples, "seed": settings.seed}


def _pooled(rows: Rows, settings: MetaSettings) -> Agreement:
    metrics = [_correlations(name, x, rows.human, settings) for name, x in rows.metrics.items()]
    test = settings.test_for(dependent=False)
    return Agreement(metrics, test, _tests_of_items(rows.metrics, rows.human, test, settings))


def _correlations(name: str, x: Array, human: Array, settings: MetaSettings) -> MetricAgreement:
    """Correlate vectors (n,); the interval of Kendall's tau is a bootstrap, as grades tie often."""
    found: dict[str, Estimate] = {}
    for statistic in STATISTICS:
        interval = "none"
        if statistic == settings.statistic:
            interval = "bootstrap" if statistic == "kendall" else "analytic"
        found[statistic] = getattr(correlation, statistic)(x, human, interval=interval, **_resampling(settings))
    main = found[settings.statistic]
    figures = {statistic: estimate.estimate for statistic, estimate in found.items()}
    return MetricAgreement(name, main.estimate, main.low, main.high, figures, main.method)


def _tests_of_items(metrics: Mapping[str, Array], human: Array, test: Test, settings: MetaSettings) -> Compare:
    """Return the comparison of columns (n,) whose items are independent."""
    if test == "williams":
        return lambda a, b: _williams(metrics[a], metrics[b], human, settings)
    if test == "perm-both":
        draw: DrawOptions = {"resamples": settings.resamples, "seed": settings.seed}
        return lambda a, b: perm_both(metrics[a], metrics[b], human, statistic=settings.statistic, **draw)
    values = {name: float(ROWS[settings.statistic](x, human)) for name, x in metrics.items()}
    columns = np.stack(list(metrics.values()))

    def resample() -> dict[str, Array]:
        draws = bootstrap_correlations(
            columns, human, settings.statistic, resamples=settings.resamples, seed=settings.seed
        )
        return dict(zip(metrics, draws.T, strict=True))

    return _Paired(resample, values, len(human), f"difference of {settings.statistic}, paired bootstrap", settings)


def _williams(a: Array, b: Array, human: Array, settings: MetaSettings) -> Comparison:
    if len(human) < 4:
        raise InputError(
            f"{len(human)} rows or systems are too few for the Williams test, which needs 4; `test=none` leaves it out"
        )
    return williams(a, b, human, confidence=settings.confidence)


class _Paired:
    """Comparison by paired bootstrap; one set of resamples serves all pairs, and is drawn when it is first needed."""

    def __init__(
        self,
        resample: Callable[[], dict[str, Array]],
        values: Mapping[str, float],
        n: int,
        method: str,
        settings: MetaSettings,
    ) -> None:
        self._resample, self._values, self._n, self._method = resample, values, n, method
        self._confidence = settings.confidence
        self._draws: dict[str, Array] | None = None

    def __call__(self, a: str, b: str) -> Comparison:
        if self._draws is None:
            self._draws = self._resample()
        differences = self._draws[a] - self._draws[b]
        return compared(self._values[a], self._values[b], differences, self._n, self._method, self._confidence)


def _grouped(rows: Rows, settings: MetaSettings) -> Agreement:
    """Segment level of matrices: intervals and tests resample segments, whose rows depend on each other."""
    by, metrics = settings.grouping, []
    for name, x in rows.metrics.items():
        found = {}
        for statistic in STATISTICS:
            options = _resampling(settings)
            if statistic != settings.statistic:
                options["resamples"] = 1
            found[statistic] = grouped(x, rows.human, by=by, statistic=statistic, nan="omit", **options)
        main = found[settings.statistic]
        figures: dict[str, Figure] = {statistic: estimate.estimate for statistic, estimate in found.items()}
        if by != "none":
            figures |= {"defined": main.groups, "undefined": main.undefined}
        metrics.append(MetricAgreement(name, main.estimate, main.low, main.high, figures, main.method))
    test = settings.test_for(dependent=True)
    if test == "williams":
        present = ~np.isnan(rows.human)
        flat = {name: x[present] for name, x in rows.metrics.items()}
        return Agreement(metrics, test, _tests_of_items(flat, rows.human[present], test, settings))
    return Agreement(metrics, test, _tests_of_matrices(rows, metrics, by, test, settings))


def _tests_of_matrices(rows: Rows, found: list[MetricAgreement], by: By, test: Test, settings: MetaSettings) -> Compare:
    """Return the comparison of matrices (systems, segments) by resampling segments or swapping cells."""
    x, human = rows.metrics, rows.human
    draw: DrawOptions = {"resamples": settings.resamples, "seed": settings.seed}
    if test == "perm-both":
        return lambda a, b: perm_both(x[a], x[b], human, by=by, statistic=settings.statistic, nan="omit", **draw)

    def resample() -> dict[str, Array]:
        return {name: resampled_groups(z, human, by, settings.statistic, **draw) for name, z in x.items()}

    values = {metric.metric: metric.value for metric in found}
    method = f"difference of {settings.statistic} ({POOLING[by]}), paired bootstrap over segments"
    return _Paired(resample, values, int((~np.isnan(human)).sum()), method, settings)


def _darr(rows: Rows, settings: MetaSettings) -> Agreement:
    pairs = preferences(rows.human, threshold=settings.threshold, nan="omit")
    if not len(pairs.segment):
        raise InputError(
            f"no two systems' human scores differ by {settings.threshold:g} or more on any segment; "
            "is the threshold on the scale of the human scores?"
        )
    ties, unit, options = settings.ties, settings.unit, _resampling(settings)
    sides = {name: pairs.scores(x) for name, x in rows.metrics.items()}
    metrics = []
    for name, (better, worse) in sides.items():
        found = darr_from_pairs(better, worse, pairs.segment, ties=ties, unit=unit, **options)
        fields = ("tau", "concordant", "discordant", "ties", "n", "segments")
        figures = {field: getattr(found, field) for field in fields}
        metrics.append(MetricAgreement(name, found.tau, found.low, found.high, figures, found.method))

    def compare(a: str, b: str) -> Comparison:
        return compare_darr(sides[a], sides[b], pairs.segment, ties=ties, unit=unit, **options)

    return Agreement(metrics, settings.test_for(dependent=True), compare)


def _systems(rows: Rows, settings: MetaSettings) -> Agreement:
    human, means = system_means(rows.human), {name: system_means(x) for name, x in rows.metrics.items()}
    metrics = []
    for name, x in means.items():
        found = _correlations(name, x, human, settings)
        figures = {**found.figures, **_order_of_systems(rows, name, settings)}
        metrics.append(MetricAgreement(name, found.value, found.low, found.high, figures, f"{found.method}, systems"))
    test = settings.test_for(dependent=True)
    if rows.segments and test in ("bootstrap", "perm-both"):
        return Agreement(metrics, test, _tests_of_matrices(rows, metrics, "means", test, settings))
    return Agreement(metrics, test, _tests_of_items(means, human, test, settings))


def _order_of_systems(rows: Rows, name: str, settings: MetaSettings) -> dict[str, Figure]:
    """Return pairwise accuracy and soft pairwise accuracy; the latter needs scores of segments."""
    x, human, options = rows.metrics[name], rows.human, _resampling(settings)
    if not rows.segments:
        accuracy = pairwise_accuracy(x[:, 0], human[:, 0], **options)
        ends = [accuracy.low, accuracy.high]
        return {"pairwise_accuracy": accuracy.estimate, "pairwise_accuracy_ci": ends, "spa": None, "spa_ci": None}
    ordered = grouped(x, human, by="means", statistic="pairwise_accuracy", nan="omit", **options)
    draws = 1000 if settings.spa == "wmt" else max(1000, settings.resamples)
    spa = soft_pairwise_accuracy(x, human, method=settings.spa, permutations=draws, nan="omit", **options)
    return {
        "pairwise_accuracy": ordered.estimate,
        "pairwise_accuracy_ci": [ordered.low, ordered.high],
        "spa": spa.estimate,
        "spa_ci": [spa.low, spa.high],
    }


def _hybrids(rows: Rows, settings: MetaSettings) -> Agreement:
    x, human, options = rows.metrics, rows.human, _resampling(settings)
    drawn = hybrid_systems(np.stack(list(x.values())), human, settings.hybrids, seed=settings.seed, nan="omit")
    scores = dict(zip(x, drawn.metric, strict=True))
    metrics = []
    for name, values in scores.items():
        limit = hybrid_correlation_limit(x[name], human, nan="omit", **options)
        sampled = correlation.pearson(values, drawn.human, confidence=settings.confidence)
        chosen = expected_model_selection(values, drawn.human, settings.sample)
        figures: dict[str, Figure] = {
            "limit": limit.estimate,
            "pearson": sampled.estimate,
            "pearson_ci": [sampled.low, sampled.high],
            "hits_at_1": chosen.hits_at_1,
            "mrr": chosen.mrr,
            "difference": chosen.difference,
        }
        metrics.append(MetricAgreement(name, limit.estimate, limit.low, limit.high, figures, limit.method))
    test = settings.test_for(dependent=True)

    def compare(a: str, b: str) -> Comparison:
        if test == "williams":
            return _williams(scores[a], scores[b], drawn.human, settings)
        return compare_hybrid_limits(x[a], x[b], human, nan="omit", **options)

    return Agreement(metrics, test, compare)
