"""Are systems different under a metric? Every system's score with its interval, and paired tests of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.agreement.systems.settings import CompareSettings
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Bold, Sheet
from bsx.analysis.stats.clusters import Clusters, adjust, significance_clusters
from bsx.analysis.stats.resample import DrawOptions, bootstrap_counts, percentile_interval
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.systems.paired import Aggregate, bootstrap_systems, randomise_systems
from bsx.errors import InputError
from bsx.support.checks import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOLLOW = "hollow: significantly worse than another"


@dataclass(frozen=True)
class SystemScore:
    """A system's score.

    Attributes:
        system: its name.
        score: under the metric.
        low: lower end of the bootstrap interval over segments.
        high: upper end.
    """

    system: str
    score: float
    low: float
    high: float


@dataclass(frozen=True)
class SystemTest:
    """Two systems under one metric.

    Attributes:
        a: the first system.
        b: the second; the baseline unless all pairs are compared.
        comparison: ``difference`` is a's score less b's; ``p`` is one-sided for "a is better than b".
        p_adjusted: the two-sided p, corrected for the number of pairs of this metric.
        better: the better system if ``p_adjusted`` is below alpha, else None.
    """

    a: str
    b: str
    comparison: Comparison
    p_adjusted: float
    better: str | None


@dataclass(frozen=True, repr=False)
class MetricComparison(InNotebooks):
    """All systems under one metric.

    Attributes:
        metric: its name.
        higher_is_better: whether the higher of two scores is the better one.
        systems: in the order given.
        tests: of each system against the first, or of all pairs.
        signature: the settings behind the scores; None if unknown.
    """

    metric: str
    higher_is_better: bool
    systems: tuple[SystemScore, ...]
    tests: tuple[SystemTest, ...]
    signature: str | None = None

    @property
    def clusters(self) -> Clusters | None:
        """Ranks of the systems, best first, and those that none significantly outperforms; None unless all were tested.

        Source: the rank clusters of WMT, see `bsx.analysis.stats.clusters.significance_clusters`.
        """
        names = [score.system for score in self.systems]
        if len(self.tests) != len(names) * (len(names) - 1) // 2:
            return None
        p = np.ones((len(names), len(names)))
        for test in self.tests:
            if test.better is not None:
                other = test.a if test.better == test.b else test.b
                p[names.index(test.better), names.index(other)] = 0.0  # whatever alpha the tests had
        sign = 1 if self.higher_is_better else -1
        return significance_clusters({score.system: sign * score.score for score in self.systems}, p)

    @property
    def every(self) -> bool:
        """Whether all pairs were tested; of two systems, there is but one pair."""
        return len(self.systems) > 2 and len(self.tests) == len(self.systems) * (len(self.systems) - 1) // 2

    @property
    def shown(self) -> str:
        """The metric, and what to know about its direction."""
        return self.metric + ("" if self.higher_is_better else " (lower is better)")

    def cells(self, *, every: bool) -> list[str]:
        """Return a cell a system: its score, bold if it is the best or, among all pairs, not outperformed.

        Args:
            every: a dagger names the systems by number that it is significantly better than; else it says that the
                system differs significantly from the first one.
        """
        names = [score.system for score in self.systems]
        leaders = self.leaders(every=every)
        digits, found = digits_of(self), []
        for i, name in enumerate(names):
            tested = [test for test in self.tests if name in (test.a, test.b) and test.better is not None]
            beaten = [str(names.index(t.b if t.a == name else t.a) + 1) for t in tested if t.better == name]
            mark = f"†{','.join(beaten)}" * bool(beaten) if every else "†" * bool(i and tested)
            cell = f"{self.systems[i].score:.{digits}f}{mark}"
            found.append(Bold(cell) if name in leaders else cell)
        return found

    def leaders(self, *, every: bool) -> set[str]:
        """Return the systems in bold: those with the best score and, among all pairs, those that none outperforms."""
        best = (max if self.higher_is_better else min)(score.score for score in self.systems)
        worse = {test.a if test.better == test.b else test.b for test in self.tests if test.better is not None}
        return {one.system for one in self.systems if one.score == best or (every and one.system not in worse)}

    @property
    def short(self) -> str:
        """Metric, systems and segments."""
        systems = ", ".join(score.system for score in self.systems)
        return f"{self.metric}; {systems}; {self.tests[0].comparison.n} segments"

    def sheets(self) -> Sequence[Sheet]:
        """Return a row a system: its score with the marks that the note explains, and its interval."""
        first, digits = self.tests[0].comparison, digits_of(self)
        rows = []
        for i, (one, cell) in enumerate(zip(self.systems, self.cells(every=self.every), strict=True)):
            name = f"{i + 1} {one.system}" if self.every else one.system
            rows.append([name, cell, f"[{one.low:.{digits}f}, {one.high:.{digits}f}]"])
        title = f"Systems by {self.shown}; n = {first.n} segments; {first.method}, two-sided"
        note = f"Bold: {bold(self.every)}. †: {daggers(self.every)}."
        below = [note, *([self.signature] if self.signature is not None else [])]
        return [Sheet(title, ["system", self.metric, "interval"], rows, " ".join(below))]

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return one row a test."""
        return [
            {"metric": self.metric, "a": test.a, "b": test.b}
            | {"score_a": test.comparison.a, "score_b": test.comparison.b, "difference": test.comparison.difference}
            | dict.fromkeys(("low", "high"))
            | ({} if np.isnan(test.comparison.low) else {"low": test.comparison.low, "high": test.comparison.high})
            | {"p": test.comparison.p, "p_two_sided": test.comparison.p_two_sided, "p_adjusted": test.p_adjusted}
            | {"better": test.better or ""}
            for test in self.tests
        ]

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw every system's score with its interval, the best on top."""
        return draw_dots({self.shown: self.dots()}, HOLLOW, path)

    def dots(self) -> list[Dot]:
        """Return the systems' scores as they are drawn, the best first."""
        worse = {test.a if test.better == test.b else test.b for test in self.tests if test.better is not None}
        order = sorted(self.systems, key=lambda one: one.score, reverse=self.higher_is_better)
        return [Dot(one.system, one.score, one.low, one.high, hollow=one.system in worse) for one in order]


def compare_systems(
    scores: Mapping[str, ArrayLike],
    *,
    metric: str = "metric",
    aggregate: Aggregate | None = None,
    higher_is_better: bool = True,
    signature: str | None = None,
    settings: CompareSettings | None = None,
) -> MetricComparison:
    """Compare systems under one metric.

    Args:
        scores: system -> metric scores of the same segments (n,), or sufficient statistics (n, k) with ``aggregate``;
            the first system is the baseline.
        metric: the metric's name.
        aggregate: from mean statistics (…, k) to scores (…,), see
            `bsx.analysis.stats.systems.paired`; None: the mean of scores.
        higher_is_better: False for error rates.
        signature: of the scores.
        settings: test, resamples, seed and so on.

    Raises:
        InputError: if there are under two systems or segments, or values are missing.
    """
    config = settings if settings is not None else CompareSettings()
    names = list(scores)
    if len(names) < 2:
        raise InputError(f"only the system {names[0]} is given: name at least two to compare" if names else "no system")
    draw: DrawOptions = {"resamples": config.draws, "seed": config.seed}
    pairs = list(combinations(names, 2)) if config.all_pairs else [(name, names[0]) for name in names[1:]]
    found = []
    for a, b in pairs:
        if config.test == "bootstrap":
            found.append(
                bootstrap_systems(
                    scores[a],
                    scores[b],
                    aggregate=aggregate,
                    higher_is_better=higher_is_better,
                    confidence=config.confidence,
                    **draw,
                )
            )
        else:
            found.append(
                randomise_systems(scores[a], scores[b], aggregate=aggregate, higher_is_better=higher_is_better, **draw)
            )
    adjusted = adjust([comparison.p_two_sided for comparison in found], config.correction)
    tests = []
    for (a, b), comparison, p in zip(pairs, found, adjusted, strict=True):
        winner = a if (comparison.difference > 0) == higher_is_better else b
        different = p < config.alpha and comparison.difference != 0
        tests.append(SystemTest(a, b, comparison, float(p), winner if different else None))
    systems = tuple(_score(name, np.asarray(scores[name], dtype=np.float64), aggregate, config) for name in names)
    return MetricComparison(metric, higher_is_better, systems, tuple(tests), signature)


def _score(name: str, values: Array, aggregate: Aggregate | None, config: CompareSettings) -> SystemScore:
    n = len(values)
    rows = values if values.ndim == 2 else values[:, None]

    def score(means: Array) -> Array:
        return means[..., 0] if aggregate is None else aggregate(means)

    draws = [score(counts @ rows / n) for counts in bootstrap_counts(min(config.draws, 1000), n, config.seed)]
    low, high = percentile_interval(np.concatenate(draws), config.confidence)
    return SystemScore(name, float(score(rows.mean(axis=0))), low, high)


def bold(every: bool) -> str:
    """Return what bold says."""
    return "best, or no system is significantly better" if every else "best"


def daggers(every: bool) -> str:
    """Return what a dagger says."""
    if every:
        return "significantly better than the systems of these numbers"
    return "significantly different from the first system"


def digits_of(found: MetricComparison) -> int:
    """Return decimals to print: scores of up to 1 need more than those of up to 100."""
    return 4 if max(abs(score.score) for score in found.systems) <= 2 else 2
