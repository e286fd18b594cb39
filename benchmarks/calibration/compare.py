"""Comparisons of systems: documents, many systems, few segments of real texts, few that decide, equivalence."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibration.rates import covers
from benchmarks.calibration.worlds import Section, Table, World
from bsx.analysis.compare.result import CompareResult
from bsx.analysis.compare.run import compare_systems
from bsx.analysis.stats.clusters import adjust
from bsx.data.corpus import MemoryCorpus
from bsx.metrics.base import get_metrics
from bsx.metrics.results import paired_scores
from bsx.support.checks import Array

DRAWS = 499
SIZE = 8  # segments of a document
MARGIN = 0.25

Scores = tuple[dict[str, Array], list[str] | None, int]
Found = dict[str, bool]


def compared(scores: Mapping[str, Array], seed: int, **settings: Any) -> CompareResult:
    """Return a comparison with few resamples, which have the seed of the replicate."""
    return compare_systems(scores, **{"resamples": DRAWS, "seed": seed, **settings})


def documents(rng: np.random.Generator, n: int, own: float = 0.5) -> tuple[dict[str, Array], list[str], int]:
    """Draw two equal systems whose differences share half of their variance within a document."""
    of = np.repeat(np.arange(n), SIZE)
    scores = {}
    for name in ("a", "b"):
        scores[name] = np.sqrt(own) * rng.normal(size=n)[of] + np.sqrt(1 - own) * rng.normal(size=len(of))
    return scores, [str(k) for k in of], int(rng.integers(2**31))


def uneven(rng: np.random.Generator, n: int) -> tuple[dict[str, Array], list[str], int]:
    """Draw the same with documents of 2 to 30 segments and skewed scores."""
    of = np.repeat(np.arange(n), rng.integers(2, 31, n))
    scores = {}
    for name in ("a", "b"):
        scores[name] = rng.exponential(size=n)[of] + rng.exponential(size=len(of))
    return scores, [str(k) for k in of], int(rng.integers(2**31))


def pareto(rng: np.random.Generator, n: int) -> tuple[dict[str, Array], list[str], int]:
    """Draw the same with normal scores and documents of Pareto sizes, of which few hold most of the segments."""
    of = np.repeat(np.arange(n), np.minimum(np.ceil(rng.pareto(1.2, n) + 1), 1000).astype(int))
    scores = {name: rng.normal(size=n)[of] + rng.normal(size=len(of)) for name in ("a", "b")}
    return scores, [str(k) for k in of], int(rng.integers(2**31))


def differing(rng: np.random.Generator, n: int, share: float, skew: float, mean: float = 0.0) -> Scores:
    """Draw two systems of which a share of segments differ, by lognormal differences; the others tie.

    With a mean their mean is that, and no difference is below 0; else they are centred.
    """
    a, d = rng.normal(size=n), rng.lognormal(0, skew, n) / np.exp(skew**2 / 2)
    d = (d / share * mean if mean else d - 1) * (rng.random(n) < share)
    return {"a": a + d, "b": a}, None, int(rng.integers(2**31))


def both_ways(scores: Mapping[str, Array], seed: int, tests: Sequence[str] = ("bootstrap",), **how: Any) -> Found:
    """Test by default and by other tests, and ask whether test and interval say the same."""
    found = {}
    for name in ("default", *tests):
        given = {} if name == "default" else {"test": name}
        (result,) = compared(scores, seed, **given, **how).metrics[0].tests
        found[f"size, {name}"] = result.better is not None
        if np.isfinite(result.ci).all():  # else so few segments give none
            found[f"coverage, {name}"] = covers(result.ci, 0)
    return found


def few_decide(world: Scores) -> Found:
    """Test all ways, and ask whether it is said that few segments or documents decide."""
    scores, of, seed = world
    found = both_ways(scores, seed, ("bootstrap", "randomise"), documents=of)
    return {**found, "said": any(one.name == "few-decide" for one in compared(scores, seed, documents=of).warnings)}


def by_documents(world: tuple[dict[str, Array], list[str], int]) -> dict[str, bool]:
    """Test both ways, with the documents and without them."""
    scores, of, seed = world
    found = both_ways(scores, seed, documents=of)
    for test in ("bootstrap", "randomise"):
        (result,) = compared(scores, seed, test=test).metrics[0].tests
        found[f"size, {test} without documents"] = result.better is not None
    return found


def equal_systems(rng: np.random.Generator, k: int, n: int = 100) -> tuple[dict[str, Array], int]:
    """Draw equal systems on segments of different difficulty."""
    hard = rng.normal(size=n)
    return {f"s{i}": hard + rng.normal(size=n) for i in range(k)}, int(rng.integers(2**31))


def any_dagger(world: tuple[dict[str, Array], int]) -> dict[str, bool]:
    """Compare all pairs, and all with the first: is any difference significant, is any system ranked below another?"""
    scores, seed = world
    (every,) = compared(scores, seed, all_pairs=True, resamples=max(DRAWS, 10 * len(scores) ** 2)).metrics
    first = [test.p_two_sided for test in every.tests if "s0" in (test.a, test.b)]
    return {
        "any pair, default (Holm)": any(test.better for test in every.tests),
        "any pair, uncorrected": any(test.p_two_sided < 0.05 for test in every.tests),
        "several ranks, default": any(system.rank != 1 for system in every.systems),
        "any from the baseline, default (Holm)": bool((adjust(first, "holm") < 0.05).any()),
        "any from the baseline, uncorrected": min(first) < 0.05,
    }


@cache
def shipped(metric: str) -> tuple[Array, Array, Any]:
    """Return two shipped systems' statistics of a metric (n, k), and what aggregates them."""
    with Path(str(files("bsx.examples") / "en-systems.tsv")).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    systems = {name: [row[name] for row in rows] for name in ("atlas", "cinder")}
    corpus = MemoryCorpus(systems, [row["reference"] for row in rows])
    _, _, (paired,) = paired_scores(get_metrics([metric]), corpus)
    return paired.scores["atlas"], paired.scores["cinder"], paired.aggregate


def swapped(rng: np.random.Generator, n: int, metric: str) -> tuple[dict[str, Array], Any, int]:
    """Draw segments of two real systems whose labels are tossed for every segment: the systems are equal."""
    one, two, aggregate = shipped(metric)
    rows, heads = rng.integers(len(one), size=n), rng.random((n, 1)) < 0.5
    a, b = one[rows], two[rows]
    # The metric's own corpus score: its sums of counts are those of n segments, not of the table's.
    scores = {"a": np.where(heads, a, b), "b": np.where(heads, b, a)}
    return scores, partial(_of_segments, aggregate, n / len(one)), int(rng.integers(2**31))


def _of_segments(aggregate: Any, share: float, means: Array) -> Array:
    result: Array = aggregate(means * share)
    return result


def few_segments(world: tuple[dict[str, Array], Any, int]) -> dict[str, bool]:
    """Test both ways, and ask whether test and interval say the same."""
    scores, aggregate, seed = world
    return both_ways(scores, seed, aggregate=aggregate, resamples=99)


def apart(rng: np.random.Generator, n: int, difference: float) -> tuple[dict[str, Array], int]:
    """Draw two systems that differ by so much on average; differences of segments have variance 1."""
    a = rng.normal(size=n)
    return {"a": a + difference + rng.normal(size=n), "b": a}, int(rng.integers(2**31))


def verdicts(world: tuple[dict[str, Array], int] | Scores) -> Found:
    """Ask for a margin: what is claimed?"""
    scores, *_, seed = world
    (result,) = compared({"b": scores["b"], "a": scores["a"]}, seed, margin=MARGIN).metrics[0].tests
    verdict = str(result.verdict)
    return {
        "equivalent": verdict.endswith("equivalent"),
        "different": verdict.startswith("different"),
        "undecided": verdict == "undecided",
        "not significant": result.better is None,
    }


_DOCUMENTS = Table(
    "Segments of documents",
    f"Two equal systems; half of the variance of a segment's score is its document's, of {SIZE} segments. The default "
    "draws whole documents where a column names them. *without documents* "
    "is the same data when nobody says what a document is. Uneven documents have 2 to 30 segments and skewed scores.",
    (
        "size, default",
        "coverage, default",
        "size, bootstrap",
        "coverage, bootstrap",
        "size, bootstrap without documents",
        "size, randomise without documents",
    ),
    [
        *(World(f"{n} documents", partial(documents, n=n), by_documents) for n in (10, 20, 40)),
        *(World(f"{n} uneven documents", partial(uneven, n=n), by_documents) for n in (10, 20)),
    ],
)
_MANY = Table(
    "Several equal systems",
    "All systems are equal. A dagger anywhere, a system ranked below another, or a difference from the first system is "
    "a false discovery.",
    (
        "any pair, default (Holm)",
        "any pair, uncorrected",
        "several ranks, default",
        "any from the baseline, default (Holm)",
        "any from the baseline, uncorrected",
    ),
    [World(f"{k} systems", partial(equal_systems, k=k), any_dagger) for k in (4, 8)],
)
_FEW = Table(
    "Few segments of real texts",
    "Corpus scores of two shipped systems (`atlas` and `cinder`), segments drawn with replacement; for each of them a "
    "coin says which system is which, so that they are equal.",
    ("size, default", "coverage, default", "size, bootstrap", "coverage, bootstrap"),
    [
        World(f"{metric} of {n} segments", partial(swapped, n=n, metric=metric), few_segments)
        for metric, n in (("bleu", 20), ("bleu", 40), ("chrf", 20))
    ],
)
_DECIDE = Table(
    "Few segments decide",
    "Two equal systems. A share of the segments differ, by lognormal differences around a mean of 0, and the others "
    "tie; or documents have Pareto sizes of index 1.2. The few that count may all lie on one side and close together, "
    "which percentiles take for knowledge. *said* is how often a note says that few decide.",
    ("size, default", "coverage, default", "size, bootstrap", "size, randomise", "said"),
    [
        *(
            World(
                f"{n} segments, {share:.0%} differ, sigma {skew:g}",
                partial(differing, n=n, share=share, skew=skew),
                few_decide,
            )
            for n, share, skew in ((40, 0.1, 1.3), (60, 0.1, 1.3), (60, 0.1, 1.0), (60, 0.2, 1.3), (200, 0.03, 1.3))
        ),
        *(World(f"{n} documents of Pareto sizes", partial(pareto, n=n), few_decide) for n in (55, 120)),
    ],
)
_SAME = Table(
    "Equivalence",
    f"Two systems whose segments' differences have standard deviation 1, and a margin of {MARGIN}. Where the truth is "
    "the margin itself or more, *equivalent* is a false claim, which .05 are allowed; *not significant* is what the "
    "test of difference says, which many take for the same.",
    ("equivalent", "different", "undecided", "not significant"),
    [
        *(
            World(f"true difference {difference:g}, {n} segments", partial(apart, n=n, difference=difference), verdicts)
            for difference in (0.0, MARGIN / 2, MARGIN)
            for n in (30, 100, 300)
        ),
        *(
            World(
                f"true difference {MARGIN:g}, {n} segments, 20% differ, sigma {skew:g}",
                partial(differing, n=n, share=0.2, skew=skew, mean=MARGIN),
                verdicts,
            )
            for n, skew in ((60, 1.0), (200, 1.3))
        ),
    ],
)

SECTION = Section("compare", "Comparing systems", [_DOCUMENTS, _MANY, _FEW, _DECIDE, _SAME])
