"""Agreement with people in one group of rows: every metric's figures at a level, and how two metrics are compared.

`bsx.analysis.agreement.evaluate` puts groups together; here are the four levels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from bsx.analysis.agreement.settings import MetaSettings, Test
from bsx.analysis.stats import correlation
from bsx.analysis.stats.correlation import HEAVY_TAILS, bootstrap_correlations, pairwise_accuracy, tail_weight
from bsx.analysis.stats.resample import SAMPLED, DrawOptions, Resampling, compared, percentile_interval
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.rowwise import ROWS
from bsx.analysis.stats.selection import expected_model_selection
from bsx.analysis.stats.significance import perm_both, williams
from bsx.analysis.stats.systems.darr import compare_darr, darr_from_pairs, preferences
from bsx.analysis.stats.systems.grouped import (
    POOLING,
    By,
    GroupedEstimate,
    SegmentsToSystems,
    Statistic,
    group_mean,
    group_values,
    grouped,
    means_of_drawn,
    resampled_groups,
    resampled_scores,
)
from bsx.analysis.stats.systems.hybrid import compare_hybrid_limits, hybrid_correlation_limit, hybrid_systems
from bsx.analysis.stats.systems.soft import soft_pairwise_accuracy
from bsx.analysis.stats.systems.ties import calibrate_ties, compare_ties
from bsx.errors import InputError
from bsx.support.checks import Array

STATISTICS: tuple[Statistic, ...] = ("pearson", "spearman", "kendall")
ENOUGH = 20  # items; of fewer nobody can tell whether tails are heavy
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
class CorpusScores:
    """What a metric's score of a whole corpus is made of.

    Attributes:
        statistics: sufficient statistics of each row of the table (n, k), judged or not; in a group, by system and
            segment (systems, segments, k).
        score: from the sums of any number of segments (k,) to the score.
    """

    statistics: Array
    score: Callable[[Array], float]


@dataclass(frozen=True)
class Rows:
    """One group's scores, every value present that is present in any column.

    Attributes:
        metrics: name -> scores, (n,) or (systems, segments); NaN where there is no row.
        human: of the same shape.
        segments: whether the columns of a matrix are segments; False if there is one row a system.
        every: for ``level=sys``, name -> scores of all segments, judged or not (systems, all segments).
        judged: the human scores in that arrangement.
        corpus: name -> what corpus scores are made of, in that arrangement.
    """

    metrics: Mapping[str, Array]
    human: Array
    segments: bool = True
    every: Mapping[str, Array] = field(default_factory=dict)
    judged: Array | None = None
    corpus: Mapping[str, CorpusScores] = field(default_factory=dict)

    @property
    def matrix(self) -> bool:
        """Whether rows are arranged by system and segment."""
        return self.human.ndim == 2

    def people(self) -> SegmentsToSystems:
        """Return the function from how often segments are drawn (b, segments) to human scores of systems."""
        return means_of_drawn(self.human if self.judged is None else self.judged)

    def scored(self, name: str) -> SegmentsToSystems:
        """Return the same of a metric."""
        if name not in self.corpus:
            return means_of_drawn(self.every.get(name, self.metrics[name]))
        corpus = self.corpus[name]

        def scores(counts: Array) -> Array:
            sums = np.einsum("bt,stk->bsk", counts, corpus.statistics)
            flat = [corpus.score(row) for row in sums.reshape(-1, sums.shape[-1])]
            return np.array(flat, dtype=np.float64).reshape(sums.shape[:2])

        return scores

    def estimand(self, name: str) -> str:
        """Return what a metric's score of a system is, in words."""
        if name in self.corpus:
            return "corpus scores of all segments"
        return "means of all segments" if name in self.every else "means of judged segments"

    @property
    def shape(self) -> tuple[int, int]:
        """Systems and segments that can be drawn."""
        rows, columns = (self.human if self.judged is None else self.judged).shape
        return rows, columns


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
                raise InputError(f"`{name}={getattr(settings, name)}` needs the columns system and segment")
    measure = levels[settings.level]
    if settings.level == "seg" and rows.matrix:
        measure = _tied if settings.statistic == "acc_eq" else _grouped
    return measure(rows, settings)


def _upright(rows: Rows, settings: MetaSettings) -> Rows:
    """Turn round the metrics that rank upside down."""
    metrics, every, corpus = {}, dict(rows.every), dict(rows.corpus)
    for name, x in rows.metrics.items():
        pair = (_systems_of(rows, name), _people(rows)) if settings.level == "sys" else (x.ravel(), rows.human.ravel())
        down = ROWS[settings.statistic](*pair) < 0
        metrics[name] = -x if down else x
        if down and name in every:
            every[name] = -every[name]
        if down and name in corpus:
            corpus[name] = upside_down(corpus[name])
    return replace(rows, metrics=metrics, every=every, corpus=corpus)


def upside_down(corpus: CorpusScores) -> CorpusScores:
    """Return the corpus scores with their sign turned."""
    return CorpusScores(corpus.statistics, lambda sums: -corpus.score(sums))


def _systems_of(rows: Rows, name: str) -> Array:
    scores: Array = rows.scored(name)(np.ones((1, rows.shape[1])))[0]
    return scores


def _people(rows: Rows) -> Array:
    scores: Array = rows.people()(np.ones((1, rows.shape[1])))[0]
    return scores


def _resampling(settings: MetaSettings) -> Resampling:
    return {"confidence": settings.confidence, "resamples": settings.resamples, "seed": settings.seed}


def _pooled(rows: Rows, settings: MetaSettings) -> Agreement:
    heavy = _heavy(rows.metrics, rows.human, settings)
    metrics = [_correlations(name, x, rows.human, settings, heavy=name in heavy) for name, x in rows.metrics.items()]
    test = settings.test_for(dependent=False, heavy=bool(heavy))
    compare = _tests_of_items(rows.metrics, rows.human, test, settings)
    return Agreement(metrics, test, compare, _about_tails(heavy, test))


def _heavy(metrics: Mapping[str, Array], human: Array, settings: MetaSettings) -> list[str]:
    """Return the metrics whose tails, with people's, are too heavy for Fisher's interval and the Williams test."""
    if settings.statistic != "pearson" or len(human) < ENOUGH:
        return []
    return [name for name, x in metrics.items() if tail_weight(x, human) > HEAVY_TAILS]


def _statistics(settings: MetaSettings) -> tuple[Statistic, ...]:
    """Return what is measured: tau-c only on request."""
    return (*STATISTICS, "kendall_c") if settings.statistic == "kendall_c" else STATISTICS


def _about_tails(heavy: list[str], test: Test) -> tuple[str, ...]:
    if not heavy:
        return ()
    tested = ", and permutation instead of the Williams test" if test == "permutation" else ""
    return (f"heavy tails of {', '.join(heavy)} with people: a bootstrap interval instead of Fisher's{tested}",)


def _correlations(name: str, x: Array, human: Array, settings: MetaSettings, *, heavy: bool = False) -> MetricAgreement:
    """Correlate vectors (n,); the interval of Kendall's tau is a bootstrap, as grades tie often."""
    found: dict[str, Estimate] = {}
    for statistic in _statistics(settings):
        interval = "none"
        if statistic == settings.statistic:
            interval = "bootstrap" if statistic.startswith("kendall") or heavy else "analytic"
        measure, variant = getattr(correlation, statistic.removesuffix("_c")), dict[str, str]()
        if statistic == "kendall_c":
            variant = {"variant": "c"}
        found[statistic] = measure(x, human, interval=interval, **variant, **_resampling(settings))
    main = found[settings.statistic]
    figures = {statistic: estimate.estimate for statistic, estimate in found.items()}
    return MetricAgreement(name, main.estimate, main.low, main.high, figures, main.method)


def _tests_of_items(metrics: Mapping[str, Array], human: Array, test: Test, settings: MetaSettings) -> Compare:
    """Return the comparison of columns (n,) whose items are independent."""
    if test == "williams":
        return lambda a, b: _williams(metrics[a], metrics[b], human, settings)
    if test in ("perm-both", "permutation"):
        draw: DrawOptions = {"resamples": settings.resamples, "seed": settings.seed}
        statistic, whole = _correlation(settings), test == "permutation"
        items = "systems" if settings.level == "sys" else "rows"

        def permuted(a: str, b: str) -> Comparison:
            found = perm_both(metrics[a], metrics[b], human, statistic=statistic, plus_one=whole, **draw)
            return replace(found, method=f"difference of {statistic}, permutation of {items}") if whole else found

        return permuted
    values = {name: float(ROWS[settings.statistic](x, human)) for name, x in metrics.items()}
    columns = np.stack(list(metrics.values()))

    def resample() -> dict[str, Array]:
        draws = bootstrap_correlations(
            columns, human, settings.statistic, resamples=settings.resamples, seed=settings.seed
        )
        return dict(zip(metrics, draws.T, strict=True))

    return _Paired(resample, values, len(human), f"difference of {settings.statistic}, paired bootstrap", settings)


def _correlation(settings: MetaSettings) -> Literal["pearson", "spearman", "kendall", "kendall_c"]:
    if settings.statistic == "acc_eq":
        raise AssertionError("acc_eq is no correlation")
    return settings.statistic


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
    """Segment level of matrices: intervals and tests resample the same, by default segments as a whole."""
    by, metrics = settings.grouping, []
    for name, x in rows.metrics.items():
        found: dict[str, GroupedEstimate] = {}
        for statistic in _statistics(settings):
            options = _resampling(settings)
            if statistic != settings.statistic:
                options["resamples"] = 1
            found[statistic] = grouped(
                x, rows.human, by=by, statistic=statistic, resample=settings.sampled, nan="omit", **options
            )
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
    """Return the comparison of matrices (systems, segments) by resampling or swapping."""
    x, human, statistic, over = rows.metrics, rows.human, _correlation(settings), settings.sampled
    draw: DrawOptions = {"resamples": settings.resamples, "seed": settings.seed}
    if test == "perm-both":
        return lambda a, b: perm_both(x[a], x[b], human, by=by, statistic=statistic, nan="omit", **draw)
    if test == "permutation":
        swap: Literal["segments", "systems"] = "systems" if over == "systems" else "segments"
        return lambda a, b: perm_both(
            x[a], x[b], human, by=by, statistic=statistic, swap=swap, plus_one=True, nan="omit", **draw
        )

    def resample() -> dict[str, Array]:
        return {name: resampled_groups(z, human, by, statistic, **draw, resample=over) for name, z in x.items()}

    values = {metric.metric: metric.value for metric in found}
    method = f"difference of {statistic} ({POOLING[by]}), paired bootstrap over {SAMPLED[over]}"
    return _Paired(resample, values, int((~np.isnan(human)).sum()), method, settings)


def _tied(rows: Rows, settings: MetaSettings) -> Agreement:
    """Segment level: pairwise accuracy with ties calibrated for each metric, beside what chance would give."""
    by, human, options = settings.pairs, rows.human, _resampling(settings)
    metrics, epsilons = [], {}
    for name, x in rows.metrics.items():
        found = calibrate_ties(x, human, by=by, human_epsilon=settings.human_ties, nan="omit", **options)
        figures: dict[str, Figure] = {"acc_eq": found.acc_eq, "chance": found.chance, "epsilon": found.epsilon}
        for statistic in STATISTICS:
            plain = group_mean(group_values(x, human, by, statistic))
            figures[statistic] = None if np.isnan(plain) else float(plain)
        epsilons[name] = found.epsilon
        metrics.append(MetricAgreement(name, found.acc_eq, found.low, found.high, figures, found.method))
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
    human, scores = _people(rows), {name: _systems_of(rows, name) for name in rows.metrics}
    over = settings.sampled
    draw: DrawOptions = {"resamples": settings.resamples, "seed": settings.seed}
    if over != "systems" and not rows.segments:
        raise InputError(f"`resample={over}` needs scores of segments: name the column segment")
    heavy = _heavy(scores, human, settings)
    metrics = []
    for name, x in scores.items():
        found = _correlations(name, x, human, settings, heavy=name in heavy)
        low, high, method = found.low, found.high, found.method
        if over != "systems":
            drawn = resampled_scores(
                rows.scored(name),
                rows.people(),
                rows.shape,
                settings.statistic,
                over,
                settings.resamples,
                settings.seed,
            )
            low, high = percentile_interval(drawn, settings.confidence)
            method = f"{settings.statistic}, bootstrap over {SAMPLED[over]}"
        figures = {**found.figures, **_order_of_systems(rows, name, x, human, settings)}
        method = f"{method}, systems ({rows.estimand(name)})"
        metrics.append(MetricAgreement(name, found.value, low, high, figures, method))
    test = settings.test_for(dependent=True, heavy=bool(heavy))
    about = _about_tails(heavy, test)
    if test == "bootstrap":

        def resample() -> dict[str, Array]:
            return {
                name: resampled_scores(rows.scored(name), rows.people(), rows.shape, settings.statistic, over, **draw)
                for name in scores
            }

        values = {metric.metric: metric.value for metric in metrics}
        method = f"difference of {settings.statistic} (of systems), paired bootstrap over {SAMPLED[over]}"
        return Agreement(metrics, test, _Paired(resample, values, len(human), method, settings), about)
    if test == "perm-both" and rows.segments:
        return Agreement(metrics, test, _tests_of_matrices(rows, metrics, "means", test, settings), about)
    if test == "permutation" and over == "segments":
        if rows.corpus or rows.every:
            raise InputError(
                "`test=permutation` cannot swap the segments of corpus scores, nor those that nobody judged: use "
                "bootstrap, `resample=systems` or `system_score=judged`"
            )
        return Agreement(metrics, test, _tests_of_matrices(rows, metrics, "means", test, settings), about)
    return Agreement(metrics, test, _tests_of_items(scores, human, test, settings), about)


def _order_of_systems(rows: Rows, name: str, x: Array, human: Array, settings: MetaSettings) -> dict[str, Figure]:
    """Return pairwise accuracy and soft pairwise accuracy; the latter needs scores of segments."""
    options, over = _resampling(settings), settings.sampled
    accuracy = pairwise_accuracy(x, human, **options)
    ends = (accuracy.low, accuracy.high)
    if over != "systems":
        shape, draws = rows.shape, settings.resamples
        drawn = resampled_scores(
            rows.scored(name), rows.people(), shape, "pairwise_accuracy", over, draws, settings.seed
        )
        ends = percentile_interval(drawn, settings.confidence)
    figures: dict[str, Figure] = {"pairwise_accuracy": accuracy.estimate, "pairwise_accuracy_ci": list(ends)}
    if not rows.segments:
        return {**figures, "spa": None, "spa_ci": None}
    draws = 1000 if settings.spa == "wmt" else max(1000, settings.resamples)
    spa = soft_pairwise_accuracy(
        rows.metrics[name], rows.human, method=settings.spa, permutations=draws, resample=over, nan="omit", **options
    )
    return {**figures, "spa": spa.estimate, "spa_ci": [spa.low, spa.high]}


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
