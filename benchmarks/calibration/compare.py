"""Comparisons of systems: documents, many systems, few segments of real texts, and equivalence."""

from __future__ import annotations

import csv
from collections.abc import Mapping
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
from bsx.metrics.paired import paired_scores
from bsx.support.checks import Array

DRAWS = 499
SIZE = 8  # segments of a document
MARGIN = 0.25


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


def by_documents(world: tuple[dict[str, Array], list[str], int]) -> dict[str, bool]:
    """Test both ways, with the documents and without them."""
    scores, of, seed = world
    found = {}
    for name, test in (("default", None), ("bootstrap", "bootstrap")):
        (compared_,) = compared(scores, seed, test=test, documents=of).metrics
        (result,) = compared_.tests
        found[f"size, {name}"] = result.better is not None
        found[f"coverage, {name}"] = result.ci is None or covers(result.ci, 0)
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
    found = {}
    for name, test in (("default", None), ("bootstrap", "bootstrap")):
        (result,) = compared(scores, seed, test=test, aggregate=aggregate, resamples=99).metrics[0].tests
        found[f"size, {name}"] = result.better is not None
        found[f"coverage, {name}"] = result.ci is None or covers(result.ci, 0)
    return found


def apart(rng: np.random.Generator, n: int, difference: float) -> tuple[dict[str, Array], int]:
    """Draw two systems that differ by so much on average; differences of segments have variance 1."""
    a = rng.normal(size=n)
    return {"a": a + difference + rng.normal(size=n), "b": a}, int(rng.integers(2**31))


def verdicts(world: tuple[dict[str, Array], int]) -> dict[str, bool]:
    """Ask for a margin: what is claimed?"""
    scores, seed = world
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
    "draws or swaps whole documents where a column names them, by randomisation below 50 of them. *without documents* "
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
    "coin says which system is which, so that they are equal. The default is randomisation below 50 segments.",
    ("size, default", "coverage, default", "size, bootstrap", "coverage, bootstrap"),
    [
        World(f"{metric} of {n} segments", partial(swapped, n=n, metric=metric), few_segments)
        for metric, n in (("bleu", 20), ("bleu", 40), ("chrf", 20))
    ],
)
_SAME = Table(
    "Equivalence",
    f"Two systems whose segments' differences have standard deviation 1, and a margin of {MARGIN}. Where the truth is "
    "the margin itself or more, *equivalent* is a false claim, which .05 are allowed; *not significant* is what the "
    "test of difference says, which many take for the same.",
    ("equivalent", "different", "undecided", "not significant"),
    [
        World(f"true difference {difference:g}, {n} segments", partial(apart, n=n, difference=difference), verdicts)
        for difference in (0.0, MARGIN / 2, MARGIN)
        for n in (30, 100, 300)
    ],
)

SECTION = Section("compare", "Comparing systems", [_DOCUMENTS, _MANY, _FEW, _SAME])
