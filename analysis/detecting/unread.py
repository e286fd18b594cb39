"""Thresholds learnt on other rows: the loosest within an error rate, with and without a bound, and the cheapest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bsx.analysis.stats.detection import Mask, Numbers, cuts
from bsx.support.checks import Array
from bsx.support.optional import need

SHARES = tuple(k / 100 for k in range(5, 101))
"""Shares that are tested: 5 %, 6 %, … of the rows to be decided on."""
STARTS = 4
"""Sequences of tests, each from strict to loose until one fails."""


@dataclass(frozen=True, eq=False)
class Other:
    """Rows that thresholds are learnt on.

    Attributes:
        clean: whether a row is error-free (n,).
        scores: higher is rather error-free (n,).
        of: number of the set of dependent rows that each belongs to (n,); None where rows are independent.
    """

    clean: Mask
    scores: Array
    of: Numbers | None


def upper_bound(wrong: Mask, of: Numbers | None, level: float) -> float:
    """Return an upper confidence bound of a share.

    Of independent rows it is Clopper & Pearson's 1934, which holds for any number of rows. Of rows that come in sets it
    is that of Korn & Graubard 1998: the same of as many independent rows as the variance between sets says these are
    worth (at most as many as there are), corrected for the number of sets by t; where all rows or none are wrong, sets
    count as one row each.

    Args:
        wrong: whether each row is (n,).
        of: number of the set that each row belongs to (n,), not necessarily counted from 0; None: independent.
        level: probability with which the bound may lie under the true share.
    """
    n, count = len(wrong), int(wrong.sum())
    if not n:
        return 1.0
    worth, share = float(n), count / n
    if of is not None:
        codes = np.unique(of, return_inverse=True)[1]
        sets = int(codes.max()) + 1
        if sets < 2:
            return 1.0
        sums, sizes = np.bincount(codes, weights=wrong.astype(np.float64)), np.bincount(codes)
        added = (n * sums - count * sizes) / n  # of whole numbers: what is 0 is exactly 0
        variance = float((added**2).sum()) / n**2 * sets / (sets - 1)
        worth = min(share * (1 - share) / variance if variance > 0 else float(sets), float(n))
        t = need("scipy.stats", "bounds").t
        if sets < n:
            worth *= (t.isf(level, n - 1) / t.isf(level, sets - 1)) ** 2
    if count == n:
        return 1.0
    return float(need("scipy.stats", "bounds").beta.isf(level, share * worth + 1, worth - share * worth))


@dataclass(frozen=True)
class Allowed:
    """A threshold, and the smallest bound that was seen.

    Attributes:
        threshold: rows that score at least so much go out; infinite where none may.
        bound: the smallest upper bound of any share tested; NaN without one.
    """

    threshold: float
    bound: float


def guaranteed(other: Other, here: Array, error_rate: float, level: float) -> Allowed:
    """Return the loosest threshold at which the error rate is bounded.

    The thresholds tested are those that let 5 %, 6 %, … of the rows to be decided on go out, so that they are fixed
    before an error on the other rows is counted. Each is tested by the upper bound of the share of errors among the
    other rows that score at least so much. Tests go from strict to loose until one fails, from four starts (5 %, 29 %,
    53 % and 77 %) with a quarter of ``level`` each: with probability 1 - level, all that pass hold what they promise to
    rows like the others. Source: Angelopoulos, Bates, Candès, Jordan & Lei 2021 ("Learn then test"), sections 2 and 3
    (fixed sequences from several starts); Geifman & El-Yaniv 2017 for the question.

    Args:
        other: rows to learn on.
        here: scores of the rows to be decided on (m,).
        error_rate: that is allowed.
        level: probability with which the promise may be broken.
    """
    ordered = np.sort(here)[::-1]
    places = np.unique(np.ceil(np.array(SHARES) * len(here)).astype(np.int64)) - 1
    thresholds = np.unique(ordered[places])[::-1]
    starts = sorted({k * len(thresholds) // STARTS for k in range(STARTS)})
    bounds: dict[float, float] = {}
    passed = np.inf
    for start in starts:
        for threshold in thresholds[start:].tolist():
            if threshold not in bounds:
                out = other.scores >= threshold
                of = None if other.of is None else other.of[out]
                bounds[threshold] = upper_bound(~other.clean[out], of, level / len(starts))
            if bounds[threshold] > error_rate:
                break
            passed = min(passed, threshold)
    smallest = min(bounds.values())
    return Allowed(float(passed), float(smallest))


def estimated(other: Other, error_rate: float) -> float:
    """Return the loosest threshold at which the share of errors on the other rows is within the rate."""
    order, ends = cuts(other.scores)
    wrong = np.cumsum(~other.clean[order])[ends] / (ends + 1)
    within = np.flatnonzero(wrong <= error_rate)
    return between(other.scores, order, ends, int(within[-1]) + 1 if len(within) else 0)


def best_by(other: Other, value: Callable[[Array, Array, float, float], Array]) -> float:
    """Return the threshold with the largest value on the other rows; of equal ones the highest.

    Args:
        other: rows to learn on.
        value: takes how many error-free rows and how many others go out at each threshold (t,), and how many there are
            of both, and returns (t,); the first threshold lets nothing out.
    """
    order, ends = cuts(other.scores)
    clean = np.append(0, np.cumsum(other.clean[order])[ends]).astype(np.float64)
    wrong = np.append(0, ends + 1) - clean
    found = value(clean, wrong, float(clean[-1]), float(wrong[-1]))
    return between(other.scores, order, ends, int(np.argmax(found)))


def between(scores: Array, order: Numbers, ends: Numbers, place: int) -> float:
    """Return the threshold that lets the ``place`` highest distinct scores out: half-way to the next lower one."""
    if place == 0:
        return np.inf
    if place == len(ends):
        return -np.inf
    last = ends[place - 1]
    return float((scores[order[last]] + scores[order[last + 1]]) / 2)


def f1(clean: Array, wrong: Array, all_clean: float, all_wrong: float) -> Array:
    """Return F1 of "error-free" of those that go out; arguments as `best_by`."""
    return np.asarray(2 * clean / np.maximum(clean + wrong + all_clean, 1))


def mcc(clean: Array, wrong: Array, all_clean: float, all_wrong: float) -> Array:
    """Return Matthews' correlation coefficient, 0 where all or none go out; arguments as `best_by`."""
    out = clean + wrong
    under = np.sqrt(out * (all_clean + all_wrong - out) * all_clean * all_wrong)
    over = clean * (all_wrong - wrong) - wrong * (all_clean - clean)
    return np.asarray(np.divide(over, under, out=np.zeros_like(over), where=under > 0))


def cheapest(ratio: float) -> Callable[[Array, Array, float, float], Array]:
    """Return the value that is largest where costs are least; see `best_by`.

    Args:
        ratio: cost of an error that goes out, where reading a row without one costs 1.
    """
    return lambda clean, wrong, all_clean, all_wrong: -(ratio * wrong + (all_clean - clean))
