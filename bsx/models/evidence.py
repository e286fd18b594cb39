"""What all figures of agreement with human judgments say of a model in a language: one pooled estimate."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

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
        languages: what is known of languages, by code.
        task: what is to be judged.
        models: those that are BERTScore with a model.
        wide: metrics that may lie far from chrF.
        spread: see there.

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
        self.languages = {code: one for one in reversed([*languages.values()]) for code in (one.code, *one.codes)}
        self.figures: list[tuple[str, Evidence]] = []
        beside: dict[tuple[object, ...], tuple[str, Evidence]] = {}
        for arm, figures in arms.items():
            for one in figures:
                if one.level == "segment" and one.enough and (one.judged == "similarity") == (task == "similarity"):
                    self.figures.append((arm, one))
                    if one.chrf is not None:
                        beside[rows_of(one)] = (CHRF, one.model_copy(update={"value": one.chrf}))
        alone = {rows_of(one) for arm, one in self.figures if arm == CHRF}
        self.figures += [figure for rows, figure in beside.items() if rows not in alone]
        self._places: dict[str, list[int]] = {}
        for place, (arm, _) in enumerate(self.figures):
            self._places.setdefault(arm, []).append(place)
        labels = [(*_kin(self.languages.get(one.language), one.language), one.judged) for _, one in self.figures]
        self._labels = np.array(labels, dtype=str).reshape(len(self.figures), _LABELS)
        alike = np.array([arm in models for arm, _ in self.figures], dtype=bool)
        self._mean: Array = spread.mean**2 * alike
        scales = np.array([max(self._scale(arm), 1.0) for arm, _ in self.figures])
        own = [(1 - spread.shared) * _sampling(one) ** 2 for _, one in self.figures]
        rows = [str(rows_of(one)) for _, one in self.figures]
        covariance = np.outer(self._mean, alike) + np.diag(np.square(scales * spread.sets) + own)
        covariance += np.equal.outer(rows, rows)  # 1, which is much: levels are free
        for arm, places in self._places.items():
            block = [self._scale(arm) ** 2 * self._shared(self._labels[place], places) for place in places]
            covariance[np.ix_(places, places)] += block
        values = np.array([one.value for _, one in self.figures])
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
        shared, own = self._known(arm, language)
        mean, interval = self._posterior(shared, own + self._spread.mean**2 * (arm in self._models))
        places = self._places.get(arm, [])
        here = {
            rows_of(one): one for _, one in map(self.figures.__getitem__, places) if one.language in codes_of(language)
        }
        sources = tuple(one.direction.partition("-")[0] if one.direction else None for one in here.values())
        return Advantage(mean, interval, len(here), sources, bool(places))

    def apart(self, model: str, other: str, language: LanguageEntry) -> tuple[float, tuple[float, float]]:
        """Return how far one model of BERTScore lies above another in a language, with its interval of 95 %."""
        (first, own), (second, theirs) = (self._known(arm, language) for arm in (model, other))
        return self._posterior(first - second, own + theirs)  # what all models share cancels

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


def rows_of(one: Evidence) -> tuple[object, ...]:
    """Return on what a figure was measured: that of any metric there can be compared."""
    *rows, statistic = one.test
    return *rows, one.language, statistic.partition(" of ")[0].partition(" with ")[0]


def _sampling(one: Evidence) -> float:
    """Return the standard error of a figure."""
    if one.interval is not None and one.interval[1] > one.interval[0]:
        return (one.interval[1] - one.interval[0]) / (2 * _Z)
    return float((1 - one.value**2) / np.sqrt(one.n or _UNSTATED))


@functools.lru_cache(maxsize=8)
def pooled(catalog: Catalog, task: Judged = "human-translation") -> Pooled:
    """Return what a registry's figures say, of BERTScore by model and of other metrics by name."""
    arms = {name: one.evidence for name, one in catalog.metrics.items()}
    arms |= {name: one.evidence for name, one in catalog.models.items()}
    wide = [name for name, one in catalog.metrics.items() if "reference" not in one.needs]
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

    Args:
        pool: the models, each with its name among what was pooled.
        language: the language.
        pooled: what all figures say.
        source: the language that texts were translated from, if asked for: whether figures are of it is said.
    """
    kinds = {"human-translation": 1, "human-summary": 2, None: 2, "similarity": 3} | {pooled.task: 0}

    def distance(figure: Evidence) -> tuple[int | bool | str, ...]:
        """Return how little a figure says about the language; the smallest says most."""
        few = figure.n is not None and figure.n < FEW_ITEMS
        of_systems = figure.level != "segment"
        near = _nearness(figure, language, pooled, source)
        when, n = -(figure.when or 0), -(figure.n or 0)
        return near, few, kinds[figure.judged], of_systems, when, n, figure.dataset

    rows = []
    for entry, arm in pool:
        advantage = pooled.advantage(arm, language)
        telling = [
            figure
            for figure in entry.evidence
            if figure.enough and (figure.kind != "similarity" or _nearness(figure, language, pooled, source) <= 1)
        ]
        reason = _reason(advantage, language, pooled, source)
        rows.append(Ranked(entry, reason, min(telling, key=distance, default=None), advantage))

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


def spelled_advantage(one: Advantage) -> str:
    """Return an estimate in a few words: ``+.052 [+.010, +.094]``."""
    low, high = map(_signed, one.interval)
    return f"{_signed(one.difference)} [{low}, {high}]"


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".", 1)


def _reason(one: Advantage, language: LanguageEntry, pooled: Pooled, source: LanguageEntry | None) -> str:
    if not one.measured:
        return "unknown: it was measured in no language"
    above = f"correlation with human judgments {spelled_advantage(one)} over chrF's"
    if one.sets == 0:
        return f"not measured in {language.name}; by other languages, {above}"
    sets = f"{one.sets} set{'s' * (one.sets > 1)} in {language.name}"
    if source is None:
        return f"{above}, {sets}"
    named = [code for code in one.sources if code is not None]
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


def _plain(value: float) -> str:
    """Return a correlation as papers print it: .628."""
    return f"{value:.3f}".replace("0.", ".", 1)
