"""How often one of two scores is the higher one: shares with intervals, sign test, McNemar's test."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.resample import FEW_UNITS, Seed, bootstrap_counts, percentile_interval
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.rowwise import clip_variance
from bsx.analysis.stats.validate import settings, several_units, vectors
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy
from bsx.support.optional import need
from bsx.support.result import Interval, Shown
from bsx.support.untyped import Untyped


@dataclass(frozen=True, repr=False)
class Preference(Shown):
    """How often the first of two scores is higher.

    Attributes:
        n: items.
        first: items where the first score is strictly higher.
        ties: items where both are equal.
        rate: first / n; a tie is no preference for the first.
        ci: Wilson interval of ``rate``.
        margin: mean of first minus second.
        margin_ci: its bootstrap interval.
        p: one-sided, "the first is preferred": exact sign test without the ties.
        p_two_sided: exact sign test of indifference.
        confidence: level of both intervals.
    """

    n: int
    first: int
    ties: int
    rate: float
    ci: Interval
    margin: float
    margin_ci: Interval
    p: float
    p_two_sided: float
    confidence: float


@dataclass(frozen=True, kw_only=True, repr=False)
class McNemar(Comparison):
    """Two metrics that are right or wrong on the same items; their values are the shares of items they get right.

    Attributes:
        only_a: items that only the first gets right.
        only_b: items that only the second gets right.
        both: items that both get right.
    """

    only_a: int
    only_b: int
    both: int


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Wilson score interval of a share, without continuity correction.

    Source: Wilson 1927.

    Raises:
        InputError: if there are no items, or more successes than items.

    >>> [round(end, 4) for end in wilson_interval(47, 1452)]
    [0.0244, 0.0428]
    """
    settings(confidence=confidence)
    if not 0 <= successes <= n or n == 0:
        raise InputError(f"{successes} of {n} items is no share")
    interval = _binomial(successes, n).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def preference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Preference:
    """Measure how often and by how much the first of two scores is higher.

    Source: share and direction as Kaster, Zhao & Eger 2021, section 6.1; Wilson 1927; sign test (Arbuthnott 1710,
    as Conover 1999, section 3.4, has it: ties are left out); percentile bootstrap of the mean margin (Efron 1979).

    Args:
        first: scores that ought to be higher (n,).
        second: the others (n,).
        cluster: number of the set of items that each belongs to (n,), such as triples that share a sentence. Resamples
            draw whole sets; Wilson's interval is that of `clustered_share`; the test is that of Durkalski et al. 2003.
            None: all items are independent.
        confidence: level of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.
        nan: ``error``, or ``omit`` to leave out items that miss either.

    Raises:
        InputError: if sizes differ, or values are missing or infinite.
    """
    settings(resamples=resamples, confidence=confidence)
    a, b, of = _with_clusters({"first": first, "second": second}, cluster, nan)
    margin = a - b
    n, wins, losses = len(margin), int((margin > 0).sum()), int((margin < 0).sum())
    sums, sizes = (np.bincount(of, weights=column) for column in (margin, np.ones(n)))
    draws = np.concatenate([(c @ sums) / (c @ sizes) for c in bootstrap_counts(resamples, len(sums), seed)])
    ends = wilson_interval(wins, n, confidence) if len(sums) == n else clustered_share(margin > 0, of, confidence)
    one_sided, two_sided = _signs_p(np.sign(margin), of)
    return Preference(
        n=n,
        first=wins,
        ties=n - wins - losses,
        rate=wins / n,
        ci=ends,
        margin=float(margin.mean()),
        margin_ci=percentile_interval(draws, confidence, units=len(sums)),
        p=one_sided,
        p_two_sided=two_sided,
        confidence=confidence,
    )


def mcnemar(a: ArrayLike, b: ArrayLike, *, cluster: ArrayLike | None = None) -> McNemar:
    """Test whether two metrics are right equally often on the same items.

    Source: McNemar 1947, with exact binomial p; Durkalski et al. 2003 for clusters.

    Args:
        a: whether the first is right (n,).
        b: whether the second is (n,).
        cluster: as `preference`.

    Raises:
        InputError: if sizes differ or there are no items.
    """
    first, second, of = _with_clusters({"a": a, "b": b}, cluster, "error")
    x, y = first.astype(bool), second.astype(bool)
    one_sided, two_sided = _signs_p(x.astype(np.float64) - y, of)
    return McNemar.of(
        float(x.mean()),
        float(y.mean()),
        ci=(math.nan, math.nan),
        p=one_sided,
        p_two_sided=two_sided,
        n=len(x),
        method="McNemar test",
        only_a=int((x & ~y).sum()),
        only_b=int((y & ~x).sum()),
        both=int((x & y).sum()),
    )


def _with_clusters(
    columns: dict[str, ArrayLike], cluster: ArrayLike | None, nan: NanPolicy
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Return two checked columns (n,) and the set that each item belongs to, numbered from 0 (n,)."""
    given = {} if cluster is None else {"cluster": np.asarray(cluster, dtype=np.float64)}
    a, b, *sets = vectors({**columns, **given}, nan=nan, minimum=1)
    labels = sets[0] if sets else np.arange(len(a))
    of = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    if len(of) > 1:
        several_units(int(of.max()) + 1, "cluster", "items", "set")
    return a, b, of


def _signs_p(signs: Array, of: NDArray[np.int64]) -> tuple[float, float]:
    """Return the one-sided and two-sided p-value of signs (n,) whose sets are independent: exact if all are single."""
    sums = np.bincount(of, weights=signs)
    if not sums.any():
        return 1.0, 1.0
    if len(sums) == len(signs):
        wins, decided = int((signs > 0).sum()), int(np.count_nonzero(signs))
        greater, either = (float(_binomial(wins, decided, side).pvalue) for side in ("greater", "two-sided"))
        return greater, either
    normal = need("scipy.stats", "tests of shares").norm
    z = float(sums.sum() / np.sqrt((sums * sums).sum()))
    return float(normal.sf(z)), float(2 * normal.sf(abs(z)))


def clustered_share(right: NDArray[np.bool_], of: NDArray[np.int64], confidence: float) -> tuple[float, float]:
    """Return Wilson's interval of a share, with as many items as would be as informative if they were independent.

    With fewer than a hundred clusters, the quantile is that of t, of one degree of freedom less than there are clusters
    (Korn & Graubard 1998). One cluster of several items has no interval: it says nothing about others.
    """
    n, share, clusters = len(right), float(right.mean()), int(of.max()) + 1
    if clusters < 2 <= n:
        return float("nan"), float("nan")
    sums, sizes = np.bincount(of, weights=right.astype(np.float64)), np.bincount(of)
    added = (n * sums - right.sum() * sizes) / n  # of whole numbers: what is 0 is exactly 0
    variance = float((added**2).sum()) / n**2 * clusters / max(clusters - 1, 1)
    worth = share * (1 - share) / variance if variance > 0 else float(clusters)
    degrees = float(clusters - 1) if 1 < clusters < min(n, FEW_UNITS) else float("inf")
    return wilson_of_worth(share, min(max(worth, 1.0), float(n)), confidence, degrees)


def share_of_pairs(values: Array, confidence: float) -> tuple[float, float]:
    """Return an interval of the mean of a value between 0 and 1 over all pairs of a few members, such as systems.

    Wilson's interval with as many independent items as the pairs are worth by the jackknife over members. They are
    worth at least half as many as there are members, whatever depends on what (Daniels & Kendall 1947), and taken for
    at most what concordant pairs are worth where the two orders have nothing to do with each other (Kendall 1938): few
    members can look more alike than they are. So the interval has a width even if all pairs agree.

    ``values`` of pairs are symmetrical (members, members); their diagonal is not used.
    """
    n = len(values)
    sums = values.sum(axis=1) - np.diag(values)
    share = min(1.0, float(sums.sum()) / (n * (n - 1)))
    least, most = n / 2, 9 * n * (n - 1) / (4 * n + 10)
    worth = least
    if n > 2:
        without = (sums.sum() - 2 * sums) / ((n - 1) * (n - 2))
        squares = ((without - without.mean()) ** 2).sum()
        variance = (n - 1) / n * float(clip_variance(squares, (without**2).sum()))
        worth = share * (1 - share) / variance if variance > 0 else most
    return wilson_of_worth(share, min(max(worth, least), max(most, least)), confidence)


def wilson_of_worth(
    share: float, worth: float, confidence: float, degrees: float = float("inf")
) -> tuple[float, float]:
    """Return Wilson's interval of a share that rests on what is worth so many independent items.

    That worth is share * (1 - share) over the share's variance, which has some ``degrees`` of freedom, for t.
    """
    z = float(need("scipy.stats", "intervals of shares").t.ppf((1 + confidence) / 2, degrees))
    centre, scale = share + z * z / (2 * worth), 1 + z * z / worth
    half = z * float(np.sqrt(share * (1 - share) / worth + z * z / (4 * worth**2)))
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def _binomial(successes: int, n: int, alternative: str = "two-sided") -> Untyped:
    return need("scipy.stats", "exact tests of shares").binomtest(successes, n, 0.5, alternative=alternative)
