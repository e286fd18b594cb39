"""What all figures of agreement with human judgments say of a model in a language: one pooled estimate."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries import Evidence, Judged
from bsx.catalog.entries.models import LanguageEntry, ModelEntry
from bsx.catalog.languages import codes_of
from bsx.support.checks import FEW_ITEMS, Array

CHRF = "chrf"
_UNSTATED = 560  # items where a source does not say how many: of a pair of WMT16 and WMT17
_LABELS = 4  # language, family, script, what was judged
_WIDE = 4.0  # times as far from chrF are metrics without a reference
_Z = 1.96


@dataclass(frozen=True)
class Spreads:
    """Standard deviations of a correlation's parts, see `Pooled`; `benchmarks/model_choice.py` has their likelihood.

    Attributes:
        mean: of what BERTScore lies above chrF, whatever the model.
        quality: of a metric's own part.
        kin: of its part in a language, a family, a script, or with what was judged.
        sets: of its deviation on a set.
        shared: share of the sampling variance that metrics on the same rows have in common.
    """

    mean: float = 0.1
    quality: float = 0.06
    kin: float = 0.01
    sets: float = 0.035
    shared: float = 0.7


@dataclass(frozen=True)
class Advantage:
    """How far a metric's correlation with human judgments of segments in a language lies above chrF's.

    Attributes:
        difference: the mean; 0 for chrF, and for what was never measured.
        interval: of 95 %.
        sets: in the language, with a figure of it.
        sources: the language that each of these was translated from, as a code; None where there is none.
        measured: whether there is a figure of it in any language.
    """

    difference: float
    interval: tuple[float, float]
    sets: int
    sources: tuple[str | None, ...]
    measured: bool


class Pooled:
    """All figures of a registry, as one model with random effects.

    The correlation of a metric on a set is the set's level, what the metric lies above chrF, a deviation of this
    metric on this set, and sampling error. What it lies above chrF is a sum of independent normal parts: its own, and
    what it has in the language, in the language's family, in its script, and with what was judged. So the sets of a
    language are pooled and shrunk towards those of related languages, and these towards all. BERTScore's models share
    a mean, which they are shrunk to; other metrics are shrunk to chrF. A set's level is free: only differences on the
    same rows count, also those between two metrics where chrF's figure is not known. Figures of whole systems do not
    count, and those of how similar sentences are only where that is asked for.

    Source: DerSimonian & Laird 1986 for random effects; Robinson 1991 for best linear unbiased prediction.

    Args:
        arms: name of a model or metric -> its figures; chrF's among them, beside what figures say of it themselves.
        models: those that are BERTScore with a model.
        wide: metrics that may lie far from chrF.

    Attributes:
        figures: all that count, each with the name of its metric; chrF's last.
        languages: what is known of languages, by each of their codes.
        likelihood: logarithm of their density, but for a constant.
    """

    def __init__(
        self,
        arms: Mapping[str, Sequence[Evidence]],
        languages: Mapping[str, LanguageEntry],
        *,
        task: Judged = "human-translation",
        models: Collection[str] = (),
        wide: Collection[str] = (),
        spread: Spreads = Spreads(),
    ) -> None:
        self.task, self._models, self._wide, self._spread = task, models, wide, spread
        known = reversed([*languages.values()])
        self.languages = {code: language for language in known for code in (language.code, *language.codes)}
        self.figures: list[tuple[str, Evidence]] = []
        beside: dict[tuple[object, ...], tuple[str, Evidence]] = {}
        for arm, figures in arms.items():
            for figure in figures:
                alike = (figure.judged == "similarity") == (task == "similarity")
                if figure.level == "segment" and figure.enough and alike:
                    self.figures.append((arm, figure))
                    if figure.chrf is not None:
                        beside[rows_of(figure)] = (CHRF, figure.model_copy(update={"value": figure.chrf}))
        alone = {rows_of(figure) for arm, figure in self.figures if arm == CHRF}
        self.figures += [pair for rows, pair in beside.items() if rows not in alone]
        self._places: dict[str, list[int]] = {}
        for place, (arm, _) in enumerate(self.figures):
            self._places.setdefault(arm, []).append(place)
        labels = [(*_kin(self.languages.get(f.language), f.language), f.judged) for _, f in self.figures]
        self._labels = np.array(labels, dtype=str).reshape(len(self.figures), _LABELS)
        of_models = np.array([arm in models for arm, _ in self.figures], dtype=bool)
        self._mean: Array = spread.mean**2 * of_models
        scales = np.array([max(self._scale(arm), 1.0) for arm, _ in self.figures])
        errors = [(1 - spread.shared) * _sampling(figure) ** 2 for _, figure in self.figures]
        rows = [str(rows_of(figure)) for _, figure in self.figures]
        covariance = np.outer(self._mean, of_models) + np.diag(np.square(scales * spread.sets) + errors)
        covariance += np.equal.outer(rows, rows)  # 1, which is much: levels are free
        for arm, places in self._places.items():
            block = [self._scale(arm) ** 2 * self._shared(self._labels[place], places) for place in places]
            covariance[np.ix_(places, places)] += block
        values = np.array([figure.value for _, figure in self.figures])
        values = values - values.mean() if len(values) else values
        self._inverse: Array = np.linalg.inv(covariance)
        self._solved: Array = self._inverse @ values
        self.likelihood = -float(np.linalg.slogdet(covariance)[1] + values @ self._solved) / 2

    def _scale(self, arm: str) -> float:
        return 0.0 if arm == CHRF else _WIDE if arm in self._wide else 1.0

    def _shared(self, labels: Sequence[str] | NDArray[np.str_], places: Sequence[int]) -> Array:
        """Return what a metric has in common in one place and where its figures are (len(places),)."""
        same: Array = (self._labels[places] == np.asarray(labels)).sum(axis=1)
        return self._spread.quality**2 + self._spread.kin**2 * same

    def advantage(self, arm: str, language: LanguageEntry) -> Advantage:
        """Return what is known of a metric in a language."""
        shared, variance = self._known(arm, language)
        mean, interval = self._posterior(shared, variance + self._spread.mean**2 * (arm in self._models))
        places, codes = self._places.get(arm, []), codes_of(language)
        figures = (self.figures[place][1] for place in places)
        measured = {rows_of(figure): figure.direction for figure in figures if figure.language in codes}
        sources = tuple(direction.partition("-")[0] if direction else None for direction in measured.values())
        return Advantage(mean, interval, len(measured), sources, bool(places))

    def difference(self, model: str, other: str, language: LanguageEntry) -> tuple[float, tuple[float, float]]:
        """Return how far one model of BERTScore lies above another in a language, with its interval of 95 %."""
        (shared, variance), (other_shared, other_variance) = (self._known(arm, language) for arm in (model, other))
        return self._posterior(shared - other_shared, variance + other_variance)  # what all models share cancels

    def _known(self, arm: str, language: LanguageEntry) -> tuple[Array, float]:
        """Return covariances of a metric in a language with all figures, and the variance that is its own."""
        places, square = self._places.get(arm, []), self._scale(arm) ** 2
        shared = self._mean * (arm in self._models)
        shared[places] += square * self._shared((*_kin(language, language.code), self.task), places)
        return shared, square * (self._spread.quality**2 + _LABELS * self._spread.kin**2)

    def _posterior(self, shared: Array, prior: float) -> tuple[float, tuple[float, float]]:
        """Return mean and interval of what has these covariances with all figures, and this variance."""
        variance = prior - float(shared @ self._inverse @ shared)
        mean, reach = float(shared @ self._solved), _Z * math.sqrt(max(variance, 0.0))
        return mean, (mean - reach, mean + reach)


def _kin(language: LanguageEntry | None, code: str) -> tuple[str, str, str]:
    """Return a language, its family and its script; what is not known is shared with no other."""
    if language is None:
        return code, f"?{code}", f"?{code}"
    return language.code.partition("-")[0], language.family or f"?{code}", language.script


def rows_of(figure: Evidence) -> tuple[object, ...]:
    """Return on what a figure was measured: that of any metric there can be compared."""
    statistic = figure.statistic.partition(" of ")[0].partition(" with ")[0]
    return figure.dataset, figure.when, figure.direction, figure.level, figure.language, statistic


def _sampling(figure: Evidence) -> float:
    """Return the standard error of a figure."""
    if figure.interval is not None and figure.interval[1] > figure.interval[0]:
        return (figure.interval[1] - figure.interval[0]) / (2 * _Z)
    return float((1 - figure.value**2) / np.sqrt(figure.n or _UNSTATED))


@functools.lru_cache(maxsize=8)
def pooled(catalog: Catalog, task: Judged = "human-translation") -> Pooled:
    """Return what a registry's figures say, of BERTScore by model and of other metrics by name."""
    arms = {name: metric.evidence for name, metric in catalog.metrics.items()}
    arms |= {name: model.evidence for name, model in catalog.models.items()}
    wide = [name for name, metric in catalog.metrics.items() if "reference" not in metric.needs]
    return Pooled(arms, catalog.languages, task=task, models=catalog.models, wide=wide)


@dataclass(frozen=True)
class Ranked:
    """One model in a ranking.

    Attributes:
        entry: the registry's entry.
        reason: why it stands where it does.
        evidence: the figure that speaks most for the language; None where nothing was measured that could speak for it.
        advantage: how far it lies above chrF in the language, by all figures.
    """

    entry: ModelEntry
    reason: str
    evidence: Evidence | None
    advantage: Advantage


def by_evidence(
    pool: Iterable[tuple[ModelEntry, str]],
    language: LanguageEntry,
    pooled: Pooled,
    *,
    source: LanguageEntry | None = None,
) -> tuple[Ranked, ...]:
    """Rank models by all figures: those measured in the language, then those measured in others, then the unknown.

    Each model of the pool stands with its name among what was pooled. Where the language is asked for that texts were
    translated from, ``source``, it is said whether figures are of it.
    """
    kinds = {"human-translation": 1, "human-summary": 2, None: 2, "similarity": 3} | {pooled.task: 0}
    rows = []
    for entry, arm in pool:
        figures = []  # each with how little it says about the language: the smallest says most
        for figure in filter(lambda figure: figure.enough, entry.evidence):
            near, few = _nearness(figure, language, pooled, source), figure.n is not None and figure.n < FEW_ITEMS
            if figure.kind != "similarity" or near <= 1:
                of_systems, newest, largest = figure.level != "segment", -(figure.when or 0), -(figure.n or 0)
                rank = (near, few, kinds[figure.judged], of_systems, newest, largest, figure.dataset)
                figures.append((rank, figure))
        advantage = pooled.advantage(arm, language)
        _, best = min(figures, key=itemgetter(0), default=(None, None))
        rows.append(Ranked(entry, _reason(advantage, language, pooled, source), best, advantage))

    def order(row: Ranked) -> tuple[bool, bool, float, str]:
        advantage = row.advantage
        return advantage.sets == 0, not advantage.measured, -round(advantage.difference, 6), row.entry.name

    return tuple(sorted(rows, key=order))


def _nearness(figure: Evidence, language: LanguageEntry, pooled: Pooled, source: LanguageEntry | None) -> int:
    """Return how near the languages of a figure are: 0 the same pair, 1 the language, 2 its genus … 5 any other."""
    if figure.language in codes_of(language):
        translated = figure.direction.partition("-")[0] if figure.direction is not None else None
        return 0 if source is not None and translated in codes_of(source) else 1
    other = pooled.languages.get(figure.language)
    for near, field in enumerate(("genus", "family", "script"), start=2):
        value = getattr(language, field)
        if other is not None and value is not None and value == getattr(other, field):
            return near
    return 5


def spelled_advantage(advantage: Advantage) -> str:
    """Return an estimate in a few words: ``+.052 [+.010, +.094]``."""
    mean, low, high = (_plain(value, "+") for value in (advantage.difference, *advantage.interval))
    return f"{mean} [{low}, {high}]"


def _reason(advantage: Advantage, language: LanguageEntry, pooled: Pooled, source: LanguageEntry | None) -> str:
    if not advantage.measured:
        return "unknown: it was measured in no language"
    above = f"correlation with human judgments {spelled_advantage(advantage)} over chrF's"
    if advantage.sets == 0:
        return f"not measured in {language.name}; by other languages, {above}"
    sets = f"{advantage.sets} set{'s' * (advantage.sets > 1)} in {language.name}"
    if source is None:
        return f"{above}, {sets}"
    named = [code for code in advantage.sources if code is not None]
    others = [code for code in named if code not in codes_of(source)]
    if not named:
        return f"{above}, {sets}, of which no source language is named"
    known = pooled.languages
    names = [known[code].name if code in known else code for code in dict.fromkeys(others)]
    beside = f", others from {', '.join(names[:3])}{' …' * (len(names) > 3)}" if names else ""
    return f"{above}, {sets}, {len(named) - len(others) or 'none'} from {source.name}{beside}"


def spelled_figure(evidence: Evidence) -> str:
    """Return a figure in a few words: ``WMT17 en-tr segment tau .628; Zhang et al. 2020, Table 14``."""
    where = evidence.dataset + (f" ({evidence.year})" if evidence.year is not None else "")
    ends = "" if evidence.interval is None else " [" + ", ".join(_plain(end) for end in evidence.interval) + "]"
    few = ", too few to rely on" if evidence.n is not None and evidence.n < FEW_ITEMS else ""
    n = "" if evidence.n is None else f" (n {evidence.n:,}{few})"
    beside = "" if evidence.chrf is None else f", chrF {_plain(evidence.chrf)}"
    of = f" {evidence.direction} {evidence.level}" if evidence.direction is not None else ""
    plain = evidence.statistic.casefold()
    short = (letter for name, letter in (("kendall", "tau"), ("spearman", "rho"), ("pearson", "r")) if name in plain)
    statistic = next(short, evidence.statistic)
    return f"{where}{of} {statistic} {_plain(evidence.value)}{ends}{n}{beside}; {evidence.source}"


def _plain(value: float, sign: str = "") -> str:
    """Return a correlation as papers print it: .628."""
    return f"{value:{sign}.3f}".replace("0.", ".", 1)
