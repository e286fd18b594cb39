"""LLM judges, judged: ties and their calibration, length bias, order, repeats, agreement by severity and beyond chance.

It takes any metric, and says most of those that have few distinct scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.agreement.raters import reliability
from bsx.analysis.agreement.settings import JudgeSettings
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.concordance import drawn_sums, level_table, ordinal_alpha, partial_pearson, weighted_kappa
from bsx.analysis.stats.detection import roc_auc
from bsx.analysis.stats.resample import bootstrap_p, cluster_codes, percentile_interval
from bsx.analysis.stats.systems.grouped import grid
from bsx.analysis.stats.systems.ties import HUMAN_ROUNDING, TiedPairs
from bsx.analysis.stats.validate import several_units
from bsx.data.cells import as_numbers
from bsx.data.columns import TableLike, check_present, column_names, label_column, number_column
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Interval, Number, Result
from bsx.support.settings import settled

Indices = NDArray[np.int64]
_MQM = (-4.999, 0.0)
_NAN = float("nan")
_NOWHERE = (_NAN, _NAN)


@dataclass(frozen=True)
class Figure:
    """An estimate with what is known of it.

    Attributes:
        value: the estimate.
        ci: its interval.
        p: two-sided, of "it is 0", corrected after Holm for all judges and groups; NaN where nothing was tested.
    """

    value: Number
    ci: Interval
    p: Number = _NAN


@dataclass(frozen=True)
class Ties:
    """How often two outputs of a segment (of all rows, where no systems are told apart) get the same score.

    Attributes:
        distinct: how many distinct scores there are.
        top: the most frequent score.
        top_share: share of the rows that have it.
        share: of the pairs that are tied.
        human_share: of the same pairs that human judgments tie.
        excess: ``share`` less ``human_share``.
    """

    distinct: int
    top: Number
    top_share: Number
    share: Number
    human_share: Number
    excess: Figure


@dataclass(frozen=True)
class Calibrated:
    """Pairwise accuracy with ties within segments, and what calibrating ties does to it.

    Attributes:
        plain: acc_eq where only equal scores are a tie.
        calibrated: at the epsilon that is best on these rows, as WMT reports it.
        epsilon: that one.
        gain: what an epsilon chosen on one half of the texts adds on the other half, mean of both; it can be negative.
    """

    plain: Number
    calibrated: Number
    epsilon: Number
    gain: Figure


@dataclass(frozen=True)
class LengthBias:
    """Whether longer outputs score higher than for people; of the same segment, where systems are told apart.

    Attributes:
        judge: partial correlation of score and log length at equal human scores.
        human: of human scores and log length at equal scores of the judge.
        excess: ``judge`` less ``human``.
    """

    judge: Figure
    human: Figure
    excess: Figure

    def biased(self, alpha: float) -> int:
        """Return 1 for a judge that is for longer outputs, -1 for shorter, more than human judgments are; else 0.

        The interval of ``judge`` must leave out 0 too: a judge that says nothing has no length bias, though people may.
        """
        low, high = self.judge.ci
        way = 1 if self.excess.value > 0 else -1
        return way if self.excess.p < alpha and (low > 0 if way > 0 else high < 0) else 0


@dataclass(frozen=True)
class Step:
    """Whether outputs of a higher level of quality get higher scores than those of the level below.

    Attributes:
        lower: the level below.
        upper: the level.
        n_lower: rows of the level below.
        n_upper: rows of the level.
        auc: how likely a row of the level scores above one of that below; a tie counts half.
    """

    lower: str
    upper: str
    n_lower: int
    n_upper: int
    auc: Figure


@dataclass(frozen=True)
class Order:
    """What changes if the order of what is compared is swapped.

    Attributes:
        column: the swapped scores.
        n: rows that have both.
        same: share of the rows whose score stays the same.
        shift: mean score less mean swapped score.
        flipped: share of the pairs of outputs of a segment (of rows, where no systems are told apart and scores have
            both signs) whose order is reversed; NaN where there is none.
        pairs: how many those are.
    """

    column: str
    n: int
    same: Number
    shift: Figure
    flipped: Number
    pairs: int


@dataclass(frozen=True)
class Repeats:
    """How stable a judge is over repeats.

    Attributes:
        columns: the repeats beside the judge's own column.
        n: rows that have all.
        same: share of the rows that always get the same score.
        spread: standard deviation of the repeats of a row.
        alpha: Krippendorff's alpha for intervals.
        one: reliability of one score, ICC(1).
        mean: reliability of the mean of all.
    """

    columns: tuple[str, ...]
    n: int
    same: Number
    spread: Number
    alpha: Figure
    one: Figure
    mean: Figure


@dataclass(frozen=True)
class JudgedMetric:
    """One judge in one group.

    Attributes:
        metric: its name.
        group: the group.
        n: rows with a score of the judge and a human one; each judge is measured on its own.
        missing: rows with a human score only.
        ties: of its scores.
        calibrated: None where no systems are told apart.
        length: None without lengths.
        steps: one for each two levels of quality that follow one another.
        kappa: Cohen's, with quadratic weights, of the judge's and human levels of quality; the judge's are cut so that
            as many rows are on each, as nearly as its ties allow.
        alpha: Krippendorff's of the same, ordinal.
        order: None without swapped scores.
        repeats: None without repeats.
    """

    metric: str
    group: str
    n: int
    missing: int
    ties: Ties
    calibrated: Calibrated | None
    length: LengthBias | None
    steps: tuple[Step, ...]
    kappa: Figure
    alpha: Figure
    order: Order | None = None
    repeats: Repeats | None = None


@dataclass(frozen=True, repr=False)
class JudgeAgreement(Result):
    """Judges, and what is to be known of them beside their correlation with human scores.

    Attributes:
        judges: one entry a group and judge.
        human: the column of human scores.
        levels: names of the levels of quality, the worst first, of the first group.
        units: what is drawn: documents, segments or rows.
        systems: whether pairs are those of outputs of a segment.
        alpha: level of significance.
        confidence: level of the intervals.
    """

    kind: ClassVar[str] = "judges"

    judges: tuple[JudgedMetric, ...]
    human: str
    levels: tuple[str, ...]
    units: str
    systems: bool
    alpha: float
    confidence: float


@settled(JudgeSettings)
def judge_agreement(columns: TableLike, judges: Sequence[str], human: str, settings: JudgeSettings) -> JudgeAgreement:
    """Say of judges what their correlation with human scores does not: see the parts of `JudgedMetric`.

    Source: Deutsch et al. 2023 for ties and their calibration; Krippendorff 2011; Cohen 1968; Shrout & Fleiss 1979.

    Args:
        columns: name -> values (n,): a mapping, or a pandas DataFrame.
        judges: columns of scores.
        human: column of human scores; higher is better.
        settings: see `JudgeSettings`. Pairs are those of a segment's outputs if columns of systems and segments are
            named. Documents are drawn whole, else segments, else rows.

    Raises:
        UnknownNameError: for a column that is not there.
        InputError: for missing values, scores that do not vary, or too few rows.
    """
    known = column_names(columns)
    again, turned = (columns_of_judges(name, getattr(settings, name), judges) for name in ("repeated", "swapped"))
    for name, others in turned.items():
        if len(others) > 1:
            raise InputError(f"swapped: one column for {name!r}, not {', '.join(others)}", setting="swapped")
    more = [name for others in (*again.values(), *turned.values()) for name in others]
    named = [settings.group, settings.system, settings.segment, settings.document]
    labels = {name: label_column(name, columns[name]) for name in _there([*named], known)}
    check_present([*judges, human, *more, *([settings.length] if settings.length else [])], known)
    numbers = {name: number_column(name, columns[name]) for name in dict.fromkeys([*judges, human, *more])}
    upside_down = {column for name in settings.lower for column in (name, *again.get(name, ()), *turned.get(name, ()))}
    numbers |= {name: -numbers[name] for name in upside_down if name in numbers}
    n = len(numbers[human])
    if not n:
        raise InputError("the table has no rows")
    sizes = {name: len(x) for name, x in numbers.items()} | {name: len(x) for name, x in labels.items()}
    for name, size in sizes.items():
        if size != n:
            raise InputError(f"column {name!r} has {size} rows, {human!r} has {n}")
    length = None if settings.length is None else _lengths(settings.length, columns[settings.length])
    absent = {name: np.isnan(numbers[name]) for name in [*judges, human]}
    if (missing := np.any(list(absent.values()), axis=0)).any() and settings.nan == "error":
        raise InputError(f"{missing.sum()} of {n} rows miss a score: nan omit leaves such rows out")
    groups = labels[settings.group] if settings.group is not None else ["all"] * n
    tests = len(judges) * len(set(groups))
    found: list[JudgedMetric] = []
    levels: tuple[str, ...] = ()
    for label in dict.fromkeys(groups):
        every = np.array([name == label for name in groups])
        there = [name for name in judges if not absent[name][every].all()]  # the others are absent from the group
        where = "" if settings.group is None else f"group {label}: "
        judged = every & ~absent[human]
        cuts = _cuts(numbers[human][judged], settings) if judged.any() else []
        for name in there:
            here = np.flatnonzero(judged & ~absent[name])
            if len(here) < 3:
                raise InputError(f"{where}{name}: {len(here)} rows are too few, at least 3 are needed")
            rows = _Rows.of(here, numbers[human], cuts, tests, labels, length, settings)
            if np.ptp(rows.human) == 0:
                raise InputError(f"{where}{human} is {rows.human[0]:g} in all rows: nothing can be agreed on")
            levels = levels or rows.levels
            judge = rows.judged(name, str(label), numbers[name][here], int(judged.sum()) - len(here))
            if name in turned:
                judge = replace(judge, order=rows.order(turned[name][0], judge, numbers, here))
            if name in again:
                judge = replace(judge, repeats=rows.repeats(again[name], judge, numbers, here))
            found.append(judge)
    return JudgeAgreement(
        tuple(_corrected(found)),
        human,
        levels,
        rows.what,
        rows.pairs_of_segments,
        settings.alpha,
        settings.confidence,
    )


def columns_of_judges(setting: str, given: Sequence[str], judges: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns that belong to each judge: ``judge=a``, ``b`` is a and b of judge.

    Args:
        setting: its name, for messages.
        given: what the user said.
        judges: their names.

    Raises:
        InputError: for what names no judge, or no other column.
    """
    results: dict[str, list[str]] = {}
    name = ""
    for part in given:
        # A judge's own name may hold "=", as settings of metrics do.
        judge = max((one for one in judges if part.startswith(f"{one}=")), key=len, default=None)
        if judge is not None:
            name, part = judge, part[len(judge) + 1 :]
        if not name:
            raise InputError(
                f"{setting}: {part!r} is not JUDGE=COLUMN with one of the judges {', '.join(judges)}", setting=setting
            )
        if not part or part in results.get(name, []) or part == name:
            raise InputError(f"{setting}: {name!r} needs other columns than itself, each once", setting=setting)
        results.setdefault(name, []).append(part)
    return results


def _there(names: Sequence[str | None], known: Sequence[str]) -> list[str]:
    results = [name for name in names if name is not None]
    check_present(results, known)
    return results


def _lengths(name: str, values: object) -> Array:
    """Return the lengths (n,): of texts, in characters; numbers are lengths."""
    cells = list(values)  # type: ignore[call-overload] # a column is iterable
    # Texts that all spell numbers are lengths too; numbers of NumPy's are no cells.
    found = as_numbers(cell.item() if isinstance(cell, np.generic) else cell for cell in cells)
    result = np.array([len(str(cell)) for cell in cells] if found is None else found, dtype=np.float64)
    if np.isnan(result).any() or (result < 0).any():
        row = int(np.argmax(np.isnan(result) | (result < 0))) + 1
        raise InputError(f"column {name!r}, row {row}: no text and no length")
    return result


def _cuts(human: Array, settings: JudgeSettings) -> list[float]:
    """Return the scores at which better levels begin."""
    if settings.bands:
        return list(settings.bands)
    if human.max() == 0 and human.min() <= -5:
        return [*_MQM]
    return [float(cut) for cut in dict.fromkeys(np.quantile(human, [1 / 3, 2 / 3])) if cut > human.min()]


def _names(human: Array, cuts: Sequence[float], *, mqm: bool) -> tuple[str, ...]:
    if mqm:
        return ("-5 or less", "above -5", "0")
    ends = [f"{cut:.4g}" for cut in cuts]
    return (f"below {ends[0]}", *(f"{a} to {b}" for a, b in pairwise(ends)), f"{ends[-1]} or more")


def _cut_alike(scores: Array, levels: Indices, count: int) -> Indices:
    """Return levels of scores (n,) such that as many rows are on each as on the given ones, as nearly as ties allow."""
    values, sizes = np.unique(scores, return_counts=True)
    above = np.append(np.cumsum(sizes[::-1])[::-1], 0) / len(scores)  # share at or above each value; then none
    ends = np.append(values, np.inf)
    thresholds = [ends[int(np.argmin(np.abs(above - (levels >= level).mean())))] for level in range(1, count)]
    return np.searchsorted(np.sort(thresholds), scores, side="right").astype(np.int64)


@dataclass(frozen=True)
class _Rows:
    """The rows of a group.

    Attributes:
        human: human scores (n,).
        level: level of quality of each (n,).
        levels: names of the levels.
        units: number of what each row is drawn with (n,).
        what: what that is.
        system: of each row, if outputs of a segment are compared; None otherwise.
        segment: likewise.
        length: log of 1 + characters (n,), or None.
        draws: how many resamples: so many that the smallest corrected p is a fourth of alpha at most.
        settings: how.
    """

    human: Array
    level: Indices
    levels: tuple[str, ...]
    units: Indices
    what: str
    system: Sequence[str] | None
    segment: Sequence[str] | None
    length: Array | None
    draws: int
    settings: JudgeSettings

    @classmethod
    def of(
        cls,
        here: Indices,
        human: Array,
        cuts: Sequence[float],
        tests: int,
        labels: Mapping[str, Sequence[str]],
        length: Array | None,
        settings: JudgeSettings,
    ) -> _Rows:
        x = human[here]
        document, segment, system = (
            None if name is None else [labels[name][i] for i in here]
            for name in (settings.document, settings.segment, settings.system)
        )
        drawn, what = (document, "documents") if document is not None else (segment, "segments")
        if drawn is None:
            drawn, what = [str(i) for i in range(len(here))], "rows"
        units = cluster_codes(drawn)
        several_units(int(units.max()) + 1, what, "rows", what.removesuffix("s"))
        level = np.searchsorted(cuts, x, side="right").astype(np.int64)
        names = _names(x, cuts, mqm=not settings.bands and tuple(cuts) == _MQM) if cuts else ("all",)
        paired = system is not None and segment is not None
        logs = None if length is None else np.log1p(length[here])
        both = (system, segment) if paired else (None, None)
        draws = max(settings.resamples, math.ceil(8 * tests / settings.alpha))
        return cls(x, level, names, units, what, *both, logs, draws, settings)

    @property
    def pairs_of_segments(self) -> bool:
        """Whether pairs are those of outputs of a segment."""
        return self.system is not None

    def judged(self, metric: str, group: str, scores: Array, missing: int) -> JudgedMetric:
        """Return all that needs no other columns."""
        if np.ptp(scores) == 0:
            raise InputError(f"{metric} has the value {scores[0]:g} in all {len(scores)} rows: nothing can be ranked")
        ties, calibrated = self._pairs(scores)
        kappa, alpha = self._beyond_chance(scores)
        length = self._length(scores)
        steps = tuple(self._steps(scores))
        return JudgedMetric(metric, group, len(scores), missing, ties, calibrated, length, steps, kappa, alpha)

    def order(self, column: str, judge: JudgedMetric, numbers: Mapping[str, Array], here: Indices) -> Order:
        """Return what swapping the order changes."""
        rows = np.flatnonzero(~np.isnan(numbers[column][here]))
        if len(np.unique(self.units[rows])) < 2:
            raise InputError(f"swapped: column {column!r} has values on fewer than 2 {self.what}", setting="swapped")
        a, b = numbers[judge.metric][here][rows], numbers[column][here][rows]
        units = np.unique(self.units[rows], return_inverse=True)[1]
        held = np.stack([a - b, np.ones_like(a)], axis=1)
        drawn = np.concatenate([s[:, 0] / s[:, 1] for s in self._draws(held, units)])
        shift = self._figure(float((a - b).mean()), drawn, units)
        signs = np.sign(np.stack([a, b]))
        if self.system is not None and self.segment is not None:
            system, segment = ([x[i] for i in rows.tolist()] for x in (self.system, self.segment))
            matrices = grid(system, segment, {"a": a, "b": b}).columns
            counted = TiedPairs.of(matrices["a"], matrices["b"]) if _has_pairs(matrices["a"]) else None
            signs = np.zeros((2, 0)) if counted is None else np.sign(np.stack([counted.metric, counted.human]))
        elif not (signs == -1).any() or not (signs == 1).any():
            signs = np.zeros((2, 0))
        pairs = signs.shape[1]
        flipped = float((signs[0] * signs[1] < 0).mean()) if pairs else _NAN
        return Order(column, len(rows), float((a == b).mean()), shift, flipped, pairs)

    def repeats(
        self, columns: Sequence[str], judge: JudgedMetric, numbers: Mapping[str, Array], here: Indices
    ) -> Repeats:
        """Return how stable the judge is."""
        scores = np.stack([numbers[name][here] for name in (judge.metric, *columns)])
        rows = np.flatnonzero(~np.isnan(scores).any(axis=0))
        if len(np.unique(self.units[rows])) < 2:
            raise InputError(
                f"repeated: {', '.join(columns)} have values together on fewer than 2 {self.what}", setting="repeated"
            )
        x = scores[:, rows]
        units = np.unique(self.units[rows], return_inverse=True)[1]
        own = self.settings
        figures, draws = reliability(x, units, own.resamples, own.seed)
        ends = [percentile_interval(one, own.confidence, int(units.max()) + 1) for one in draws]
        alpha, one, mean = (Figure(float(value), ci) for value, ci in zip(figures, ends, strict=True))
        spread = float(np.sqrt(x.var(axis=0, ddof=1).mean()))
        return Repeats(tuple(columns), len(rows), float((np.ptp(x, axis=0) == 0).mean()), spread, alpha, one, mean)

    def _draws(self, held: Array, units: Indices) -> Iterator[Array]:
        return drawn_sums(held, units, self.draws, self.settings.seed)

    def _figure(self, value: float, draws: Array, units: Indices | None = None) -> Figure:
        """Return a value with interval and p of its draws."""
        count = len(np.unique(self.units if units is None else units))
        if math.isnan(value) or np.isnan(draws).all():
            return Figure(value, _NOWHERE)
        return Figure(
            value, percentile_interval(draws, self.settings.confidence, count), bootstrap_p(draws, 0, count)[1]
        )

    def _pairs(self, scores: Array) -> tuple[Ties, Calibrated | None]:
        values, sizes = np.unique(scores, return_counts=True)
        top = int(np.argmax(sizes))
        head = (len(values), float(values[top]), float(sizes[top] / len(scores)))
        n = len(scores)
        matrices = None
        if self.system is not None and self.segment is not None:
            shaped = grid(self.system, self.segment, {"metric": scores, "human": self.human, "unit": self.units})
            matrices = shaped.columns if _has_pairs(shaped.columns["metric"]) else None
        if matrices is None:
            human = np.unique(self.human, return_counts=True)[1]
            share, theirs = (float((c * (c - 1)).sum() / (n * (n - 1))) for c in (sizes, human))
            return Ties(*head, share, theirs, Figure(share - theirs, _NOWHERE)), None
        x, y = matrices["metric"], matrices["human"]
        unit = np.nanmax(matrices["unit"], axis=0).astype(np.int64)  # of each segment
        pairs = TiedPairs.of(x, y, "item", self.settings.human_ties)
        tied = np.abs(pairs.metric) <= HUMAN_ROUNDING * float(np.nanmax(np.abs(x)))
        theirs = pairs.human == 0
        of = np.unique(unit[pairs.first], return_inverse=True)[1]
        held = np.stack([tied, theirs, np.ones_like(tied)], axis=1).astype(np.float64)
        drawn = np.concatenate([(s[:, 0] - s[:, 1]) / s[:, 2] for s in self._draws(held, of)])
        share, human_share = float(tied.mean()), float(theirs.mean())
        ties = Ties(*head, share, human_share, self._figure(share - human_share, drawn, of))
        epsilon = pairs.best_epsilon()
        plain, best = (pairs.alike(size) for size in (0.0, epsilon))
        gains = (_other_half(pairs, unit[pairs.first], self.settings.seed).astype(np.float64) - plain) * pairs.weight
        held = np.stack([gains, pairs.weight], axis=1)
        drawn = np.concatenate([s[:, 0] / s[:, 1] for s in self._draws(held, of)])
        gain = self._figure(float(gains.sum() / pairs.weight.sum()), drawn, of)
        return ties, Calibrated(pairs.mean(plain), pairs.mean(best), epsilon, gain)

    def _length(self, scores: Array) -> LengthBias | None:
        if self.length is None:
            return None
        columns = np.stack([scores, self.human, self.length], axis=1)
        columns = columns - columns.mean(axis=0)
        if self.segment is not None:
            of = cluster_codes(self.segment)
            count = np.bincount(of)
            means = np.stack([np.bincount(of, weights=x) / count for x in columns.T], axis=1)
            columns = columns - means[of]
        held = np.concatenate([np.ones((len(scores), 1)), columns], axis=1)
        order = ([0, 1, 3, 2], [0, 2, 3, 1])  # judge and length given human; human and length given judge

        def both(moments: Array) -> Array:
            return np.stack([partial_pearson(moments[..., one, :][..., one]) for one in order])

        products = held[:, :, None] * held[:, None, :]
        values = both(products.sum(axis=0))
        drawn = np.concatenate([both(moments) for moments in self._draws(products, self.units)], axis=1)
        judge, human = (self._figure(float(value), draws) for value, draws in zip(values, drawn, strict=True))
        return LengthBias(judge, human, self._figure(float(values[0] - values[1]), drawn[0] - drawn[1]))

    def _steps(self, scores: Array) -> Iterator[Step]:
        own = self.settings
        for place, (lower, upper) in enumerate(zip(self.levels, self.levels[1:], strict=False)):
            rows = np.flatnonzero((self.level == place) | (self.level == place + 1))
            better = self.level[rows] == place + 1
            counts = int((~better).sum()), int(better.sum())
            if min(counts) < 2 or len(np.unique(self.units[rows])) < 2:
                yield Step(lower, upper, *counts, Figure(_NAN, _NOWHERE))
                continue
            auc = roc_auc(
                better.astype(np.float64),
                scores[rows],
                cluster=self.units[rows],
                confidence=own.confidence,
                resamples=own.resamples,
                seed=own.seed,
            )
            yield Step(
                lower, upper, *counts, Figure(auc.estimate, (auc.low, auc.high), _NAN if auc.p is None else auc.p)
            )

    def _beyond_chance(self, scores: Array) -> tuple[Figure, Figure]:
        count = len(self.levels)
        joint = level_table(self.level, _cut_alike(scores, self.level, count), count)
        drawn = list(self._draws(joint, self.units))
        total = joint.sum(axis=0)
        kappa, alpha = (
            self._figure(float(measure(total)), np.concatenate([measure(sums) for sums in drawn]))
            for measure in (weighted_kappa, ordinal_alpha)
        )
        return kappa, alpha


def _has_pairs(matrix: Array) -> bool:
    """Return whether a segment has scores of two systems."""
    return bool(((~np.isnan(matrix)).sum(axis=0) > 1).any())


def _other_half(pairs: TiedPairs, unit: Indices, seed: int) -> NDArray[np.bool_]:
    """Return which pairs are right at the epsilon that is best on the other half of the units (pairs,)."""
    units = np.unique(unit)
    first = np.random.default_rng(seed).permutation(units)[: len(units) // 2]
    half = np.isin(unit, first)
    result = np.zeros(len(unit), dtype=bool)
    for mine in (half, ~half):
        other = replace(pairs, metric=pairs.metric[~mine], human=pairs.human[~mine], weight=pairs.weight[~mine])
        epsilon = other.best_epsilon() if (~mine).any() else 0.0
        result |= mine & pairs.alike(epsilon)
    return result


def _corrected(judges: Sequence[JudgedMetric]) -> list[JudgedMetric]:
    """Return judges whose p of each question are corrected after Holm for all judges and groups."""

    def adjusted(figures: Sequence[Figure]) -> list[Figure]:
        p = np.array([figure.p for figure in figures])
        there = ~np.isnan(p)
        if there.any():
            p[there] = adjust(p[there], "holm")
        return [replace(figure, p=float(value)) for figure, value in zip(figures, p, strict=True)]

    none = Figure(_NAN, _NOWHERE)
    excess = adjusted([judge.ties.excess for judge in judges])
    gains = adjusted([judge.calibrated.gain if judge.calibrated else none for judge in judges])
    lengths = adjusted([judge.length.excess if judge.length else none for judge in judges])
    shifts = adjusted([judge.order.shift if judge.order else none for judge in judges])
    return [
        replace(
            judge,
            ties=replace(judge.ties, excess=excess[i]),
            calibrated=judge.calibrated and replace(judge.calibrated, gain=gains[i]),
            length=judge.length and replace(judge.length, excess=lengths[i]),
            order=judge.order and replace(judge.order, shift=shifts[i]),
        )
        for i, judge in enumerate(judges)
    ]
