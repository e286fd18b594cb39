"""Many metrics at once: corrections of the p-values of their comparisons, winners and ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.stats.results import Comparison
from bsx.errors import InputError
from bsx.support.checks import Array, choice
from bsx.support.result import Shown

Correction = Literal["none", "holm", "bh"]
Alternative = Literal["two-sided", "greater"]
Tested = TypeVar("Tested", bound=Comparison)


@dataclass(frozen=True, repr=False)
class Clusters(Shown):
    """Which metrics nothing significantly outperforms, and the ranks below.

    Attributes:
        names: metrics, best correlation first.
        values: their correlations, in that order.
        ranks: rank cluster of each, from 1.
        winners: metrics that no metric with a higher correlation significantly outperforms; what WMT prints in bold.
        alpha: level of significance.
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    ranks: tuple[int, ...]
    winners: tuple[str, ...]
    alpha: float


def adjust(p: ArrayLike, method: Correction = "holm") -> Array:
    """Correct p-values, of any shape, for how many there are; NaN entries are not tests and stay NaN.

    Source: Holm 1979 (``holm``: with probability 1 - alpha no wrong rejection at all); Benjamini & Hochberg 1995
    (``bh``: the expected share of wrong rejections).

    Raises:
        InputError: if a value lies outside 0..1.
    """
    choice("correction", method, ("none", "holm", "bh"))
    values = np.array(p, dtype=np.float64)
    real = ~np.isnan(values)
    if ((values[real] < 0) | (values[real] > 1)).any():
        raise InputError("p-values must lie between 0 and 1")
    if method != "none" and real.any():
        tests = values[real]
        order = np.argsort(tests, kind="stable")
        place = np.arange(1, len(tests) + 1)
        if method == "holm":
            adjusted = np.maximum.accumulate(tests[order] * (len(tests) + 1 - place))
        else:
            adjusted = np.minimum.accumulate((tests[order] * len(tests) / place)[::-1])[::-1]
        tests[order] = np.minimum(adjusted, 1.0)
        values[real] = tests
    return values


def corrected_tests(
    tests: Sequence[Tested],
    correction: Correction,
    p: Callable[[Comparison], float] = attrgetter("p_two_sided"),
) -> tuple[Tested, ...]:
    """Return tests with their p (two-sided unless another is asked for) corrected for their number, if one is named."""
    if correction == "none" or not tests:
        return tuple(tests)
    adjusted = adjust([p(test) for test in tests], correction)
    return tuple(replace(test, p_adjusted=float(p)) for test, p in zip(tests, adjusted, strict=True))


def deciding(test: Comparison, alternative: Alternative) -> float:
    """Return the p of a test that decides, before it is corrected."""
    return test.p_two_sided if alternative == "two-sided" else test.p


def ranked_tests(
    tests: Sequence[Tested], correction: Correction, alternative: Alternative, alpha: float
) -> tuple[tuple[Tested, ...], Clusters]:
    """Return the tests of every ordered pair of metrics with p corrected, where a correction is named, and the winners.

    There is one test for each pair, that of the better metric; the other direction cannot be significant. The
    alternative says whose p makes a winner. Which of two metrics has the higher value is seen on the data, so that
    ``two-sided`` is due: a one-sided p in the direction observed, ``greater``, calls one of two equally good metrics
    the better one in 10 % of data sets at .05, as WMT's tables do.
    """
    values = {test.a: test.value_a for test in tests}
    names, order = list(values), sorted(values, key=lambda name: -values[name])
    family = {
        (test.a, test.b): deciding(test, alternative) for test in tests if order.index(test.a) < order.index(test.b)
    }
    adjusted = dict(zip(family, adjust(list(family.values()), correction).tolist(), strict=True))
    p, corrected = np.ones((len(names), len(names))), []
    for test in tests:
        decides = adjusted.get((test.a, test.b))
        p[names.index(test.a), names.index(test.b)] = test.p if decides is None else decides
        corrected.append(replace(test, p_adjusted=decides if correction != "none" else None))
    return tuple(corrected), significance_clusters(values, p, alpha=alpha)


def significance_clusters(values: Mapping[str, float], p: ArrayLike, *, alpha: float = 0.05) -> Clusters:
    """Find the winners and the rank clusters.

    Source: WMT's metrics task. Winners: metrics not significantly outperformed by any with a higher correlation
    (Bojar, Graham & Kamran 2017, table captions). Ranks: going down the list, a metric that any member of the current
    cluster significantly outperforms opens the next cluster (Freitag et al. 2021, section 6).

    Args:
        values: name -> correlation.
        p: (metrics, metrics) in the order of ``values``: one-sided p of "row better than column", diagonal ignored.
        alpha: level of significance.

    Raises:
        InputError: if there is no metric, a correlation is NaN, or p has another shape.
    """
    names, matrix = tuple(values), np.asarray(p, dtype=np.float64)
    if not names or matrix.shape != (len(names), len(names)):
        raise InputError(f"p has shape {matrix.shape}, expected one row and column for each of {len(names)} metrics")
    numbers = np.array([values[name] for name in names], dtype=np.float64)
    if np.isnan(numbers).any():
        raise InputError(f"{names[int(np.argmax(np.isnan(numbers)))]}: the correlation is not defined")
    order: Sequence[int] = [int(i) for i in np.argsort(-numbers, kind="stable")]
    winners, ranks = [], []
    cluster: list[int] = []
    rank = 1
    for place, column in enumerate(order):
        higher = [row for row in order[:place] if numbers[row] > numbers[column]]
        if not (matrix[higher, column] < alpha).any():
            winners.append(names[column])
        if (matrix[cluster, column] < alpha).any():
            rank, cluster = rank + 1, []
        cluster.append(column)
        ranks.append(rank)
    return Clusters(
        names=tuple(names[i] for i in order),
        values=tuple(float(numbers[i]) for i in order),
        ranks=tuple(ranks),
        winners=tuple(winners),
        alpha=alpha,
    )
