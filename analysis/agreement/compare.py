"""Are systems different under a metric? Every system's score with its interval, and paired tests of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.agreement.compare_settings import CompareSettings
from bsx.analysis.agreement.people import PeopleCurve, PeopleStep
from bsx.analysis.documents.agreement import CompareDocument, ComparedRow, SystemRow, SystemTestRow
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.numbers import p_value
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Bold, Sheet
from bsx.analysis.render.svg import dots_svg
from bsx.analysis.stats.clusters import Clusters, adjust, significance_clusters
from bsx.analysis.stats.resample import DrawOptions, bootstrap_counts, percentile_interval
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.systems.paired import Aggregate, bootstrap_systems, randomise_systems
from bsx.errors import InputError
from bsx.support.aligned import text_table
from bsx.support.checks import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        best = (max if self.higher_is_better else min)(score.score for score in self.systems)
        digits, found = _digits(self), []
        for i, name in enumerate(names):
            tested = [test for test in self.tests if name in (test.a, test.b) and test.better is not None]
            beaten = [str(names.index(t.b if t.a == name else t.a) + 1) for t in tested if t.better == name]
            mark = f"†{','.join(beaten)}" * bool(beaten) if every else "†" * bool(i and tested)
            cell = f"{self.systems[i].score:.{digits}f}{mark}"
            leads = self.systems[i].score == best or (every and all(test.better == name for test in tested))
            found.append(Bold(cell) if leads else cell)
        return found

    @property
    def short(self) -> str:
        """Metric, systems and segments."""
        systems = ", ".join(score.system for score in self.systems)
        return f"{self.metric}; {systems}; {self.tests[0].comparison.n} segments"

    def sheets(self) -> Sequence[Sheet]:
        """Return a row a system: its score with the marks that the note explains, and its interval."""
        first, digits = self.tests[0].comparison, _digits(self)
        rows = []
        for i, (one, cell) in enumerate(zip(self.systems, self.cells(every=self.every), strict=True)):
            name = f"{i + 1} {one.system}" if self.every else one.system
            rows.append([name, cell, f"[{one.low:.{digits}f}, {one.high:.{digits}f}]"])
        title = f"Systems by {self.shown}; n = {first.n} segments; {first.method}, two-sided"
        note = f"Bold: {_bold(self.every)}. †: {_daggers(self.every)}."
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
        return draw_dots({self.shown: self.dots()}, _HOLLOW, path)

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


@dataclass(frozen=True, repr=False)
class CompareResult(InNotebooks):
    """Systems under several metrics.

    Attributes:
        settings: how they were compared.
        segments: how many segments they were compared on.
        metrics: one entry a metric.
        people: how often people agreed with differences of these metrics, by group, on other systems that they judged;
            may be empty.
        judged: name of the table of those systems.
    """

    settings: CompareSettings
    segments: int
    metrics: tuple[MetricComparison, ...]
    people: tuple[PeopleCurve, ...] = ()
    judged: str = ""

    @property
    def short(self) -> str:
        """Metrics, systems and segments."""
        return (
            f"{', '.join(found.metric for found in self.metrics)}; "
            f"{', '.join(score.system for score in self.metrics[0].systems)}; {self.segments} segments"
        )

    def agreed(self, metric: str, difference: float) -> PeopleStep | None:
        """Return the judged pairs that differ about as much under a metric, of all groups together; None without."""
        curve = next((one for one in self.people if one.metric == metric), None)
        return None if curve is None else curve.at(difference)

    def to_document(self) -> CompareDocument:
        """Return the document that ``bsx compare`` prints, without provenance."""
        names = [score.system for score in self.metrics[0].systems]
        people: dict[str, Any] = {}
        if self.people:
            people["people"] = [{**curve.to_row().to_dict(), "data": self.judged} for curve in self.people]
        return CompareDocument(
            segments=self.segments,
            systems=names,
            baseline=None if self.settings.all_pairs else names[0],
            metrics=[_metric(found, self) for found in self.metrics],
            **people,
            settings={**self.settings.model_dump(), "resamples": self.settings.draws},
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain values; a randomisation has no interval of the difference."""
        return self.to_document().to_dict()

    def to_text(self) -> str:
        """Return a table for a terminal; a dagger marks a significant difference."""
        level = f"{100 * self.settings.confidence:g}% interval"
        head = ["metric", "system", "score", level, "against", "difference", "p", ""]
        lines = text_table([head, *self._rows()], "llr")
        return "\n\n".join([lines, *self._ranked(), f"† {self._test}.", *self._people()])

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return one row a metric and test."""
        return [row for found in self.metrics for row in found.records()]

    def sheets(self) -> Sequence[Sheet]:
        """Return systems by metrics, with the marks that the note explains."""
        header, *rows = self._systems()
        scores = ", ".join(found.shown for found in self.metrics)
        said = [line for part in [*self._ranked(), *self._people()] for line in part.split("\n")]
        every = self.settings.all_pairs
        note = " ".join([f"Bold: {_bold(every)}. †: {_daggers(every)}, p < {self.settings.alpha:g}.", *said])
        uncorrected = ", uncorrected" if self.settings.correction == "none" else ""
        title = f"Systems by {scores}; n = {self.segments} segments; {self._test}{uncorrected}"
        return [Sheet(title, header, rows, note)]

    def to_markdown(self, *, data: str = "", signatures: Mapping[str, str] | None = None) -> str:
        """Return the same table as Markdown, the signatures below."""
        return super().to_markdown(data=data, signatures={**self._signatures(), **(signatures or {})})

    def to_latex(self, *, data: str = "", signatures: Mapping[str, str] | None = None, label: str = "") -> str:
        """Return the same table as LaTeX, see `bsx.analysis.render.notebook.InNotebooks.to_latex`."""
        return super().to_latex(data=data, signatures={**self._signatures(), **(signatures or {})}, label=label)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw every system's score with its interval, a panel for each metric, the best on top."""
        level = f"{100 * self.settings.confidence:g} % interval"
        return draw_dots({found.shown: found.dots() for found in self.metrics}, f"{level}; {_HOLLOW}", path)

    def charts(self) -> Mapping[str, str]:
        """Return the same picture for pages, one for each metric."""
        level = f"{100 * self.settings.confidence:g} % interval"
        return {
            found.shown: dots_svg(found.dots(), f"Systems by {found.shown}, the best on top", f"{level}; {_HOLLOW}")
            for found in self.metrics
        }

    def _ranked(self) -> list[str]:
        """Return the systems of each metric by their rank clusters, one line a metric."""
        lines = []
        for found in self.metrics:
            if self.settings.all_pairs and (clusters := found.clusters) is not None:
                places: dict[int, list[str]] = {}
                for name, rank in zip(clusters.names, clusters.ranks, strict=True):
                    places.setdefault(rank, []).append(name)
                said = "; ".join(f"{rank} {', '.join(names)}" for rank, names in places.items())
                lines.append(f"Ranks by {found.metric}: {said}.")
        return ["\n".join(lines)] if lines else []

    def _signatures(self) -> dict[str, str]:
        return {found.metric: found.signature for found in self.metrics if found.signature is not None}

    def _people(self) -> list[str]:
        """Return what people said of differences as large, one line a test."""
        if not self.people:
            return []
        lines = []
        for found in self.metrics:
            curve = next((one for one in self.people if one.metric == found.metric), None)
            for test in found.tests if curve is not None else ():
                step = self.agreed(found.metric, test.comparison.difference)
                digits = _digits(found)
                size = f"{abs(test.comparison.difference):.{digits}f}"
                size = f"{found.metric}, {test.a} and {test.b}: a difference of {size}"
                if step is None:
                    lines.append(f"{size} is 0, or larger than all in {self.judged}")
                    continue
                ends = f"[{100 * step.share_low:.0f}, {100 * step.share_high:.0f}]"
                lines.append(
                    f"{size}: people agreed on {100 * step.share:.0f} % {ends} of {step.n} pairs of systems in "
                    f"{self.judged} that differ by {step.low:.{digits}f} to {step.high:.{digits}f}"
                )
        return ["\n".join(lines)] if lines else []

    @property
    def _test(self) -> str:
        corrected = "" if self.settings.correction == "none" else f", {self.settings.correction} correction"
        method = self.metrics[0].tests[0].comparison.method
        drawn = f"{self.settings.draws} resamples of {self.segments} segments"
        return f"p < {self.settings.alpha:g}, two-sided{corrected}: {method}, {drawn}"

    def _systems(self) -> list[list[str]]:
        """Return a row a system, numbered if all pairs are compared, and a column a metric."""
        names = [score.system for score in self.metrics[0].systems]
        if self.settings.all_pairs:
            names = [f"{i + 1} {name}" for i, name in enumerate(names)]
        columns = [found.cells(every=self.settings.all_pairs) for found in self.metrics]
        head = ["system", *(found.metric for found in self.metrics)]
        return [head, *([name, *cells] for name, *cells in zip(names, *columns, strict=True))]

    def _rows(self) -> list[list[str]]:
        rows = []
        for found in self.metrics:
            digits = _digits(found)
            arrow = "" if found.higher_is_better else " (lower is better)"
            for score in found.systems:
                ends = f"[{score.low:.{digits}f}, {score.high:.{digits}f}]"
                shown = [found.metric + arrow, score.system, f"{score.score:.{digits}f}", ends]
                tests = [test for test in found.tests if test.a == score.system]
                for k, test in enumerate(tests):
                    mark = "†" if test.better is not None else ""
                    difference = f"{test.comparison.difference:+.{digits}f}"
                    start = shown if k == 0 else [""] * len(shown)
                    rows.append([*start, test.b, difference, p_value(test.p_adjusted), mark])
                if not tests:
                    rows.append([*shown, *([""] * 4)])
        return rows


_HOLLOW = "hollow: significantly worse than another"


def _bold(every: bool) -> str:
    return "best, or no system is significantly better" if every else "best"


def _daggers(every: bool) -> str:
    if every:
        return "significantly better than the systems of these numbers"
    return "significantly different from the first system"


def _digits(found: MetricComparison) -> int:
    """Return decimals to print: scores of up to 1 need more than those of up to 100."""
    return 4 if max(abs(score.score) for score in found.systems) <= 2 else 2


def _metric(found: MetricComparison, result: CompareResult) -> ComparedRow:
    clusters = found.clusters if result.settings.all_pairs else None
    ranks = {} if clusters is None else {n: {"rank": r} for n, r in zip(clusters.names, clusters.ranks, strict=True)}
    return ComparedRow(
        metric=found.metric,
        higher_is_better=found.higher_is_better,
        signature=found.signature,
        systems=[
            SystemRow.model_validate(
                {"system": s.system, "score": s.score, "ci": (s.low, s.high)} | ranks.get(s.system, {})
            )
            for s in found.systems
        ],
        tests=[_test(test, result.agreed(found.metric, test.comparison.difference)) for test in found.tests],
    )


def _test(test: SystemTest, step: PeopleStep | None) -> SystemTestRow:
    found = test.comparison
    more = {} if step is None else {"people": step.to_row()}
    return SystemTestRow(
        a=test.a,
        b=test.b,
        difference=found.difference,
        ci=None if np.isnan(found.low) else (found.low, found.high),
        p=found.p,
        p_two_sided=found.p_two_sided,
        p_adjusted=test.p_adjusted,
        better=test.better,
        method=found.method,
        **more,
    )
