"""How agreement with human judgments grows with the training data: more instances, or more judgments of each.

Source: Mathur et al. 2019, figure 1, for agreement against the number of training instances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.rowwise import pearson_rows
from bsx.analysis.stats.validate import settings, vectors
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Number, Result

Train = Callable[["Sample"], ArrayLike]


@dataclass(frozen=True, eq=False)
class Sample:
    """A part of the training data.

    Attributes:
        rows: which instances, in rising order (instances,).
        scores: the mean of the judgments drawn for each (instances,).
        judgments: how many that is; 0 stands for all there are.
        seed: of the draw, and for the training.
    """

    rows: NDArray[np.int64]
    scores: Array
    judgments: int
    seed: int


@dataclass(frozen=True)
class CurvePoint:
    """Agreement of metrics trained on so many instances.

    Attributes:
        instances: training instances.
        judgments: human judgments of each; 0 stands for all there are.
        estimate: Pearson's r on the test data, averaged over groups and seeds.
        low: lower end of the interval over seeds; NaN for one seed.
        high: upper end.
        values: agreement with each seed.
    """

    instances: int
    judgments: int
    estimate: Number
    low: Number
    high: Number
    values: tuple[Number, ...]


@dataclass(frozen=True, repr=False)
class LearningCurve(Result):
    """Agreement against training data.

    Attributes:
        points: by judgments, then by instances.
        groups: groups of the test data that r is averaged over.
        n: test instances.
        seeds: draws of training data.
        method: statistic and interval in words.
        confidence: level of the intervals.
        architecture: of the networks, where they are of ours.
        model: their encoder.
    """

    kind: ClassVar[str] = "train-curve"

    points: tuple[CurvePoint, ...]
    groups: tuple[str, ...]
    n: int
    seeds: tuple[int, ...]
    method: str
    confidence: float
    architecture: str = ""
    model: str = ""


def learning_curve(
    train: Train,
    judgments: ArrayLike,
    human: ArrayLike,
    groups: Sequence[str],
    *,
    sizes: Sequence[int],
    per_instance: Sequence[int] = (0,),
    seeds: Sequence[int] = (1, 2, 3),
    confidence: float = 0.95,
) -> LearningCurve:
    """Train on growing parts of the data and measure agreement with human judgments.

    A seed fixes the order in which instances are added, so that a larger part holds the smaller ones. Where several
    numbers of judgments are compared, all draw from the instances that have the most of them.

    Args:
        train: trains on a sample and returns scores of the test instances (n,).
        judgments: human judgments of the training instances (instances, judgments), NaN where there is none; or
            (instances,) if there is one of each.
        human: human scores of the test instances (n,).
        groups: group of each test instance, such as its language pair (n,); r is averaged over groups.
        sizes: numbers of training instances.
        per_instance: numbers of judgments of each instance, drawn at random from those there are; 0: all.
        seeds: repetitions.
        confidence: level of the intervals.

    Returns:
        One point for each size and number of judgments. Intervals are Student's, of the mean over seeds: they say how
        much a repetition with other training data of that size would differ, not how large the test data are.

    Raises:
        InputError: if there are fewer instances than a size, or numbers are missing or unusable.
    """
    settings(confidence=confidence)
    judged = np.asarray(judgments, dtype=np.float64)
    judged = judged[:, None] if judged.ndim == 1 else judged
    (target,) = vectors({"human": human})
    if len(groups) != len(target):
        raise InputError(f"groups: {len(groups)} for {len(target)} test instances")
    labels, distinct = np.asarray(groups), tuple(dict.fromkeys(groups))
    by_point: dict[tuple[int, int], list[float]] = {}
    for sample in _draws(judged, sorted(set(sizes)), sorted(set(per_instance)), seeds):
        scores, _ = vectors({"scores": np.asarray(train(sample), dtype=np.float64), "human": target}, varied=True)
        agreements = []
        for group in distinct:
            at = labels == group
            x, y = vectors({f"scores of {group}": scores[at], f"human of {group}": target[at]}, varied=True)
            agreements.append(float(pearson_rows(x, y)))
        by_point.setdefault((sample.judgments, len(sample.rows)), []).append(float(np.mean(agreements)))
    points = []
    for (drawn, instances), values in sorted(by_point.items()):
        mean, half, n = float(np.mean(values)), float("nan"), len(values)
        if n > 1:
            quantile = need("scipy.stats", "intervals over seeds").t.ppf((1 + confidence) / 2, n - 1)
            half = float(quantile * np.std(values, ddof=1) / np.sqrt(n))
        low, high = np.clip([mean - half, mean + half], -1, 1)  # r goes no further
        points.append(CurvePoint(instances, drawn, mean, float(low), float(high), tuple(values)))
    method = "Pearson's r, mean over groups; Student's t interval over seeds"
    return LearningCurve(tuple(points), distinct, len(target), tuple(seeds), method, confidence)


def _draws(judged: Array, sizes: Sequence[int], per_instance: Sequence[int], seeds: Sequence[int]) -> Iterator[Sample]:
    if not sizes or min(sizes) < 2 or not seeds or min(per_instance, default=-1) < 0:
        raise InputError("sizes: 2 or more; judgments: 0 or more; at least one of each, and one seed", setting="sizes")
    counts, most = (~np.isnan(judged)).sum(axis=1), max(per_instance)
    pool = np.flatnonzero(counts >= max(1, most))
    if len(pool) < sizes[-1]:
        enough = f"have {most} judgments" if most > 1 else "are there"
        raise InputError(f"sizes: {sizes[-1]} instances are wanted, {len(pool)} {enough}", setting="sizes")
    for each, size, seed in product(per_instance, sizes, seeds):
        rows = np.sort(np.random.default_rng([seed, 0]).permutation(pool)[:size])
        scores = np.empty(size)
        for i, row in enumerate(rows):
            known = judged[row][~np.isnan(judged[row])]
            # An instance's judgments come in one order for a seed, so that more judgments hold the fewer ones.
            order = np.random.default_rng([seed, 1, int(row)]).permutation(len(known))
            scores[i] = known[order[: each or len(known)]].mean()
        yield Sample(rows, scores, each, seed)
