"""Can a metric be fooled? Triples in which shared words point the wrong way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.adversarial.settings import TripleSettings
from bsx.analysis.datasets.triples import Triple
from bsx.analysis.stats.clusters import Correction, corrected_tests
from bsx.analysis.stats.preference import McNemar, Preference, mcnemar, preference, wilson_interval
from bsx.analysis.stats.resample import Resampling
from bsx.analysis.stats.validate import vectors
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy
from bsx.support.result import Interval, Number, Result
from bsx.support.settings import settled

FEW_SETS = 20  # sets of triples that share sentences; so many say little about others


@dataclass(frozen=True, kw_only=True, repr=False)
class TriplePreference(Preference):
    """How often a metric prefers the paraphrase, the first of the two texts that are not the anchor.

    Attributes:
        metric: its name.
        mean_paraphrase: mean of m(A, B).
        mean_nonparaphrase: mean of m(A, C).
    """

    metric: str
    mean_paraphrase: Number
    mean_nonparaphrase: Number


@dataclass(frozen=True, repr=False)
class BuiltTriples(Result):
    """How many triples were built, and how far their words overlap.

    Attributes:
        triples: how many.
        read: pairs (paws) or texts (nouns) that they were built of.
        overlap_paraphrase: mean overlap of the paraphrase with the anchor.
        overlap_nonparaphrase: of the non-paraphrase.
        fewer_than_two_nouns: rows without a triple; None where no nouns were permuted.
        same_words: rows of the triples in which equal nouns changed places, so that no word did.
    """

    kind: ClassVar[str] = "adversarial-build-triples"

    triples: int
    read: int
    overlap_paraphrase: Number
    overlap_nonparaphrase: Number
    fewer_than_two_nouns: tuple[int, ...] | None = None
    same_words: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Split:
    """The same on the triples whose gap in lexical overlap, overlap(A, C) - overlap(A, B), lies in a range.

    Attributes:
        metric: its name.
        low: smallest gap of the range.
        high: where the next range starts; of the last range the largest gap, which belongs to it.
        n: triples in the range.
        rate: share that the metric gets right.
        ci: its Wilson interval.
    """

    metric: str
    low: Number
    high: Number
    n: int
    rate: Number
    ci: Interval


@dataclass(frozen=True)
class TripleExample:
    """A triple with a small margin; its texts are empty where only scores were given.

    Attributes:
        metric: of whose smallest margins it is.
        row: of the triple; its place, from 1, where only scores were given.
        anchor: A.
        paraphrase: B.
        nonparaphrase: C.
        margin: m(A, B) - m(A, C).
        scores: every metric's m(A, B) and m(A, C).
    """

    metric: str
    row: int | str
    anchor: str
    paraphrase: str
    nonparaphrase: str
    margin: Number
    scores: dict[str, tuple[Number, Number]] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class TriplesResult(Result):
    """How often metrics prefer the paraphrase in one set of triples.

    Attributes:
        results: one a metric.
        tests: of each pair of metrics.
        splits: by gap in lexical overlap; empty if none was given.
        worst: of each metric the smallest margins, the smallest first.
    """

    kind: ClassVar[str] = "adversarial-triples"

    results: tuple[TriplePreference, ...]
    tests: tuple[McNemar, ...]
    splits: tuple[Split, ...]
    worst: tuple[TripleExample, ...]


@settled(TripleSettings)
def prefer_paraphrase(scores: Mapping[str, tuple[ArrayLike, ArrayLike]], settings: TripleSettings) -> TriplesResult:
    """Measure how often metrics prefer a paraphrase B of A to a sentence C that only shares words with A.

    Source: Kaster, Zhao & Eger 2021, section 6.1: the share of triples with m(A, B) > m(A, C), strictly.

    Args:
        scores: metric -> (m(A, B) (n,), m(A, C) (n,)), higher is better.
        settings: see `TripleSettings`.

    Raises:
        InputError: if sizes differ, numbers are missing, or there is nothing to compare.
    """
    confidence, beside = settings.confidence, {} if settings.gap is None else {"overlap gap": settings.gap}
    pairs, gaps, kept = complete_sides(scores, ("paraphrase", "non-paraphrase"), settings.nan, beside)
    of = None if settings.cluster is None else np.asarray(settings.cluster)[kept]
    how: Resampling = {"confidence": confidence, "resamples": settings.resamples, "seed": settings.seed}
    results = []
    for name, (good, bad) in pairs.items():
        preferred, b, c = vars(preference(good, bad, cluster=of, **how)), float(good.mean()), float(bad.mean())
        results.append(TriplePreference(**preferred, metric=name, mean_paraphrase=b, mean_nonparaphrase=c))
    right = {name: good > bad for name, (good, bad) in pairs.items()}
    splits = [split for gap in gaps if settings.bins for split in _split(right, gap, settings.bins, confidence)]
    examples = []
    for name, (good, bad) in pairs.items():
        for place in np.argsort(good - bad, kind="stable")[: settings.worst]:
            given = int(kept[place])
            triple = settings.triples[given] if len(settings.triples) else Triple("", "", "", given + 1)
            examples.append(
                TripleExample(
                    metric=name,
                    **triple._asdict(),
                    margin=float(good[place] - bad[place]),
                    scores={other: (float(both[0][place]), float(both[1][place])) for other, both in pairs.items()},
                )
            )
    notes: tuple[str, ...] = ()
    if of is not None and (sets := len(np.unique(of))) < min(FEW_SETS, len(kept)):
        few = f"only {sets} sets of triples that share sentences: intervals with t of {sets - 1} degrees of freedom"
        notes = (few,)
    tests = paired_tests(right, of, settings.correction)
    return TriplesResult(tuple(results), tests, tuple(splits), tuple(examples), notes=notes)


def paired_tests(
    right: Mapping[str, NDArray[np.bool_]], cluster: ArrayLike | None, correction: Correction
) -> tuple[McNemar, ...]:
    """Return McNemar tests of each pair of metrics, their p corrected for their number if asked for."""
    tests = [replace(mcnemar(right[a], right[b], cluster=cluster), a=a, b=b) for a, b in combinations(right, 2)]
    return corrected_tests(tests, correction)


def _split(right: Mapping[str, NDArray[np.bool_]], gaps: Array, bins: int, confidence: float) -> list[Split]:
    edges = np.unique(np.quantile(gaps, np.linspace(0, 1, bins + 1), method="inverted_cdf"))
    place = np.clip(np.searchsorted(edges, gaps, side="right") - 1, 0, max(len(edges) - 2, 0))
    splits = []
    for name, correct in right.items():
        for i in range(max(len(edges) - 1, 1)):
            inside = correct[place == i]
            ends = wilson_interval(int(inside.sum()), len(inside), confidence)
            high = float(edges[min(i + 1, len(edges) - 1)])
            splits.append(Split(name, float(edges[i]), high, len(inside), float(inside.mean()), ends))
    return splits


def complete_sides(
    scores: Mapping[str, tuple[ArrayLike, ArrayLike]],
    sides: tuple[str, str],
    nan: NanPolicy,
    beside: Mapping[str, ArrayLike] | None = None,
) -> tuple[dict[str, tuple[Array, Array]], list[Array], NDArray[np.int64]]:
    """Return both scores of each metric, the columns beside them, and what `complete` keeps; it needs a metric."""
    if not scores:
        raise InputError("there is no metric to look at")
    named = {f"{name} of the {side}": both[i] for name, both in scores.items() for i, side in enumerate(sides)}
    columns, kept = complete({**named, **(beside or {})}, nan)
    values = list(columns.values())
    return {name: (values[2 * i], values[2 * i + 1]) for i, name in enumerate(scores)}, values[len(named) :], kept


def complete(columns: Mapping[str, ArrayLike], nan: NanPolicy) -> tuple[dict[str, Array], NDArray[np.int64]]:
    """Return the columns without items that miss a number in any, (k,) each, and the places of those kept (k,).

    Raises:
        InputError: if sizes differ, a number is infinite, or one is missing and ``nan`` says it must not be.
    """
    lengths = [np.shape(column)[:1] for column in columns.values()]
    places = np.arange(lengths[0][0] if lengths and lengths[0] else 0, dtype=np.float64)
    *values, kept = vectors({**columns, "": places}, nan=nan, minimum=1)
    return dict(zip(columns, values, strict=True)), kept.astype(np.int64)
