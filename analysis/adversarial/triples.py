"""Can a metric be fooled? Triples in which shared words point the wrong way; scores of any callable metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.adversarial.tables import draw_triples, mcnemar_rows, triples_records, triples_sheets
from bsx.analysis.datasets.triples import Triple
from bsx.analysis.documents.adversarial import TripleExampleRow, TripleRow, TriplesDocument, TripleSplitRow
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.sheets import Sheet
from bsx.analysis.stats.clusters import Correction, adjust
from bsx.analysis.stats.preference import McNemar, Preference, mcnemar, preference, wilson_interval
from bsx.analysis.stats.resample import Seed
from bsx.analysis.stats.validate import vectors
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy
from bsx.support.settings import in_range

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Metric = Callable[[Sequence[str], Sequence[str]], ArrayLike]
"""Scores of n candidates against their n references, higher is better: (n,)."""


@dataclass(frozen=True)
class TriplePreference:
    """How often a metric prefers the paraphrase.

    Attributes:
        metric: its name.
        preference: of m(A, B) over m(A, C).
        mean_paraphrase: mean of m(A, B).
        mean_nonparaphrase: mean of m(A, C).
    """

    metric: str
    preference: Preference
    mean_paraphrase: float
    mean_nonparaphrase: float


@dataclass(frozen=True)
class Split:
    """The same on the triples whose gap in lexical overlap, overlap(A, C) - overlap(A, B), lies in a range.

    Attributes:
        metric: its name.
        low: smallest gap of the range.
        high: where the next range starts; of the last range the largest gap, which belongs to it.
        n: triples in the range.
        rate: share that the metric gets right.
        rate_low: lower end of its Wilson interval.
        rate_high: upper end.
    """

    metric: str
    low: float
    high: float
    n: int
    rate: float
    rate_low: float
    rate_high: float


@dataclass(frozen=True, repr=False)
class TriplesResult(InNotebooks):
    """Metrics on one set of triples.

    Attributes:
        results: one a metric.
        tests: (a, b) -> exact McNemar test.
        p_corrected: (a, b) -> two-sided p, corrected for the number of tests; empty if no correction was asked for.
        splits: by gap in lexical overlap; empty if none was given.
        worst: metric -> places, among the given triples, of the smallest margins, the smallest first.
        kept: which of the given triples were used (n,).
    """

    results: tuple[TriplePreference, ...]
    tests: Mapping[tuple[str, str], McNemar]
    p_corrected: Mapping[tuple[str, str], float]
    splits: tuple[Split, ...]
    worst: Mapping[str, tuple[int, ...]]
    kept: NDArray[np.int64]

    @property
    def short(self) -> str:
        """Metrics and triples."""
        return f"{', '.join(one.metric for one in self.results)}; {len(self.kept)} triples"

    def to_document(
        self, triples: Sequence[Triple] = (), scores: Mapping[str, tuple[Array, Array]] | None = None
    ) -> TriplesDocument:
        """Return the document that ``bsx adversarial triples`` prints, without settings, notes and provenance.

        Args:
            triples: what was scored, to show the worst of them.
            scores: metric -> (m(A, B) (n,), m(A, C) (n,)), likewise.
        """
        results = [
            TripleRow.from_results(
                one.preference,
                one,
                prefers_paraphrase=one.preference.first,
                mean_margin=one.preference.margin,
                margin_ci=(one.preference.margin_low, one.preference.margin_high),
            )
            for one in self.results
        ]
        tests = mcnemar_rows(self.tests, self.p_corrected)
        splits = [TripleSplitRow.from_results(split, ci=(split.rate_low, split.rate_high)) for split in self.splits]
        given = scores or {}
        worst = []
        for name, places in self.worst.items() if given else ():
            for i in places:
                good, bad = float(given[name][0][i]), float(given[name][1][i])
                worst.append(
                    TripleExampleRow(
                        metric=name,
                        row=triples[i].row,
                        anchor=triples[i].anchor,
                        paraphrase=triples[i].paraphrase,
                        nonparaphrase=triples[i].nonparaphrase,
                        score_paraphrase=good,
                        score_nonparaphrase=bad,
                        margin=good - bad,
                        scores={other: (float(pair[0][i]), float(pair[1][i])) for other, pair in given.items()},
                    )
                )
        return TriplesDocument(results=results, tests=tests, splits=splits, worst=worst)

    def sheets(self) -> Sequence[Sheet]:
        """Return how often each metric prefers the paraphrase, the tests, and rates by gap in lexical overlap."""
        return triples_sheets(self.to_document())

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return one row a metric."""
        return triples_records(self.to_document())

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw how often each metric prefers the paraphrase, with intervals."""
        return draw_triples(self.to_document(), path)


def score_pairs(
    metrics: Mapping[str, Metric], candidates: Sequence[str], references: Sequence[str]
) -> dict[str, Array]:
    """Return each metric's scores of n pairs: metric -> (n,).

    Raises:
        InputError: if the numbers of texts differ, or a metric returns another number of scores.
    """
    if len(candidates) != len(references):
        raise InputError(f"{len(candidates)} candidates, {len(references)} references: the numbers must be the same")
    found = {}
    for name, metric in metrics.items():
        values = np.asarray(metric(candidates, references), dtype=np.float64)
        if values.shape != (len(candidates),):
            raise InputError(f"{name}: returned scores of shape {values.shape} for {len(candidates)} pairs")
        found[name] = values
    return found


def score_triples(metrics: Mapping[str, Metric], triples: Sequence[Triple]) -> dict[str, tuple[Array, Array]]:
    """Return m(A, B) and m(A, C) of each metric, (n,) each; the anchor is the reference.

    Raises:
        InputError: as `score_pairs`.
    """
    candidates = [t.paraphrase for t in triples] + [t.nonparaphrase for t in triples]
    scores = score_pairs(metrics, candidates, [t.anchor for t in triples] * 2)
    return {name: (values[: len(triples)], values[len(triples) :]) for name, values in scores.items()}


@in_range
def prefer_paraphrase(
    scores: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    gap: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    bins: int = 4,
    worst: int = 5,
    correction: Correction = "none",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> TriplesResult:
    """Measure how often metrics prefer a paraphrase B of A to a sentence C that only shares words with A.

    Source: Kaster, Zhao & Eger 2021, section 6.1: the share of triples with m(A, B) > m(A, C), strictly.

    Args:
        scores: metric -> (m(A, B) (n,), m(A, C) (n,)), higher is better.
        gap: lexical overlap of A and C minus that of A and B (n,), to split the triples by.
        cluster: number of the set of triples that each belongs to (n,), such as those that share a sentence; None: all
            triples are independent.
        bins: ranges of the gap with about equally many triples; fewer where many gaps are equal.
        worst: how many of the smallest margins to name for each metric.
        correction: of the tests' p-values: ``none``, ``holm`` or ``bh``.
        confidence: level of all intervals.
        resamples: of the bootstrap of the mean margin.
        seed: of the bootstrap.
        nan: ``error``, or ``omit`` to leave out triples that miss any metric's score, for all metrics.

    Raises:
        InputError: if sizes differ, numbers are missing, or there is nothing to compare.
    """
    sides: dict[str, ArrayLike] = {}
    for name, (good, bad) in scores.items():
        sides |= {f"{name} of the paraphrase": good, f"{name} of the non-paraphrase": bad}
    columns, kept = complete(sides if gap is None else {**sides, "overlap gap": gap}, nan)
    gaps = columns.pop("overlap gap", None)
    values = list(columns.values())
    pairs = {name: (values[2 * i], values[2 * i + 1]) for i, name in enumerate(scores)}
    if not pairs:
        raise InputError("there is no metric to look at")
    of = None if cluster is None else np.asarray(cluster)[kept]
    results = tuple(
        TriplePreference(
            name,
            preference(good, bad, cluster=of, confidence=confidence, resamples=resamples, seed=seed),
            float(good.mean()),
            float(bad.mean()),
        )
        for name, (good, bad) in pairs.items()
    )
    right = {name: good > bad for name, (good, bad) in pairs.items()}
    tests = {(a, b): mcnemar(right[a], right[b], cluster=of) for a, b in combinations(right, 2)}
    splits = () if gaps is None else tuple(_split(right, gaps, bins, confidence))
    order = {name: np.argsort(good - bad, kind="stable")[:worst] for name, (good, bad) in pairs.items()}
    return TriplesResult(
        results,
        tests,
        correct_p({pair: test.p for pair, test in tests.items()}, correction),
        splits,
        {name: tuple(int(i) for i in kept[places]) for name, places in order.items()},
        kept,
    )


def _split(right: Mapping[str, NDArray[np.bool_]], gaps: Array, bins: int, confidence: float) -> list[Split]:
    if bins < 1:
        raise InputError(f"`bins={bins}`: at least 1 is needed")
    edges = np.unique(np.quantile(gaps, np.linspace(0, 1, bins + 1), method="inverted_cdf"))
    place = np.clip(np.searchsorted(edges, gaps, side="right") - 1, 0, max(len(edges) - 2, 0))
    found = []
    for name, correct in right.items():
        for i in range(max(len(edges) - 1, 1)):
            inside = correct[place == i]
            ends = wilson_interval(int(inside.sum()), len(inside), confidence)
            high = float(edges[min(i + 1, len(edges) - 1)])
            found.append(Split(name, float(edges[i]), high, len(inside), float(inside.mean()), *ends))
    return found


def complete(columns: Mapping[str, ArrayLike], nan: NanPolicy) -> tuple[dict[str, Array], NDArray[np.int64]]:
    """Return the columns without items that miss a number in any, (k,) each, and the places of those kept (k,).

    Raises:
        InputError: if sizes differ, a number is infinite, or one is missing and ``nan`` says it must not be.
    """
    lengths = [np.shape(column)[:1] for column in columns.values()]
    places = np.arange(lengths[0][0] if lengths and lengths[0] else 0, dtype=np.float64)
    *values, kept = vectors({**columns, "": places}, nan=nan, minimum=1)
    return dict(zip(columns, values, strict=True)), kept.astype(np.int64)


def correct_p(p: Mapping[tuple[str, str], float], correction: Correction) -> dict[tuple[str, str], float]:
    """Return the p-values of tests between metrics, corrected for their number; nothing for ``none``."""
    if correction == "none" or not p:
        return {}
    return dict(zip(p, adjust(list(p.values()), correction).tolist(), strict=True))
