"""Is one system better than another under a metric? Bootstrap-t, paired bootstrap, approximate randomisation.

Works for any metric that has scores of segments, and for corpus-level metrics such as BLEU through their sufficient
statistics: give the statistics of each segment and a function from their means to the score. Segments that come from
documents are drawn and swapped by whole documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.stats.resample import (
    FEW_UNITS,
    Clustered,
    Seed,
    bootstrap_counts,
    cluster_codes,
    contracted_p,
    drawn_units,
    permutation_p,
    swaps,
)
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.rowwise import clip_variance
from bsx.analysis.stats.validate import several_units, vectors
from bsx.errors import InputError
from bsx.support.checks import Array

Aggregate = Callable[[Array], Array]  # means of sufficient statistics (…, k) -> scores (…,)


@dataclass(frozen=True, eq=False)
class Paired:
    """Two systems' statistics, checked.

    Attributes:
        x: of the first system (n, k).
        y: of the second.
        score: from means (…, k) to scores (…,).
        clusters: document of each segment (n,), if they are known.
        ratio: whether the score is a ratio of sums, whose scale does not matter.
    """

    x: Array
    y: Array
    score: Aggregate
    clusters: Clustered
    ratio: bool

    @property
    def units(self) -> int:
        """How many things are drawn."""
        return drawn_units(len(self.x), self.clusters)

    @property
    def what(self) -> str:
        """What is drawn."""
        return "segments" if self.clusters is None else "documents"

    def sums(self, side: Array) -> Array:
        """Return what each unit that is drawn has of a system's statistics (n, k), summed: (units, k)."""
        if self.clusters is None:
            return side
        return np.stack([np.bincount(self.clusters, weights=column) for column in side.T], axis=1)

    def added(self, side: Array) -> Array:
        """Return what each unit adds to the score of a system's statistics (n, k), over or below the others: (units,).

        Source: influence values by the delta method, Davison & Hinkley 1997, section 2.7. Slopes are central
        differences over a standard error of each statistic, whole where they are counts: they take far fewer
        evaluations of a corpus score than the jackknife.
        """
        means, sums, slope = side.mean(axis=0), self.sums(side), np.ones(side.shape[1])
        sizes = self.sums(np.ones((len(side), 1)))
        if self.ratio:
            spread = side.std(axis=0) * math.sqrt(len(side))
            counts = (side == np.round(side)).all(axis=0) & (spread > 0)
            steps = np.diag(np.where(counts, np.maximum(np.round(spread), 1), spread) / len(side))
            rise, run = self.score(means + steps) - self.score(means - steps), 2 * steps.diagonal()
            slope = np.divide(rise, run, out=np.zeros_like(run), where=run > 0)
        return np.asarray((sums - sizes * means) @ slope * (self.units / len(side)))

    def draws(
        self,
        sides: Sequence[Array],
        resamples: int,
        seed: Seed,
        added: Sequence[Array] = (),
        pairs: Sequence[tuple[int, int]] = (),
    ) -> tuple[list[Array], list[Array]]:
        """Return scores of systems, and standard errors of the differences of pairs, in the same bootstrap resamples.

        Of each system: its statistics (n, k) and, for standard errors, what each unit adds to its score (units,); of
        each pair: the numbers of its systems.
        """
        units, start = self.units, len(sides) * self.x.shape[1]
        # One product of counts for all columns: reading the counts is what takes time.
        columns = [*map(self.sums, sides), self.sums(np.ones((len(self.x), 1))), *(column[:, None] for column in added)]
        columns += [np.square(added[i] - added[j])[:, None] for i, j in pairs]
        joined, scores, errors = np.concatenate(columns, axis=1), [], []
        a, b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        for counts in bootstrap_counts(resamples, units, seed):
            sums = counts @ joined
            drawn = len(self.x) if self.ratio else sums[:, start, None]
            scores.append([self.score(side / drawn) for side in np.split(sums[:, :start], len(sides), axis=1)])
            first, second = sums[:, start + 1 : start + 1 + len(added)], sums[:, start + 1 + len(added) :]
            variance = clip_variance(second - np.square(first[:, a] - first[:, b]) / units, second)
            errors.append(np.sqrt(variance / (units * (units - 1))).T)
        return list(np.concatenate(scores, axis=1)), list(np.concatenate(errors, axis=1))

    def observed(self) -> tuple[float, float]:
        """Return both scores."""
        return float(self.score(self.x.mean(axis=0))), float(self.score(self.y.mean(axis=0)))

    def tested(self, test: str, **known: Any) -> Comparison:
        """Return both systems compared by a test, from what it found."""
        unit, method = self.what.removesuffix("s"), f"difference of systems, paired {test} of {self.what}"
        return Comparison.of(*self.observed(), n=len(self.x), method=method, unit=unit, **known)


def bootstrapped(
    pair: Paired, draws: Array, *, higher_is_better: bool, confidence: float, margin: float | None
) -> Comparison:
    """Return two systems compared by the differences (resamples,) of their scores in the same bootstrap resamples.

    Draws are centred on their mean, which gives their spread if the systems were equal; p is the share that reaches the
    observed difference, (b + 1) / (n + 1), one-sided for "a better than b". The interval holds the differences that
    this test does not reject. Of under 100 segments (documents), p and interval are those of t. sacreBLEU centres
    absolute differences, which for a clear difference is the one-sided p here. Of error rates such as TER lower ones
    are better. With a ``margin``, the largest difference that does not matter, equivalence is tested too.

    Source: Koehn 2004; Riezler & Maxwell 2005 for the shift; Hesterberg 2015, section 5.3, for few segments;
    Schuirmann 1987 for equivalence.
    """
    a, b = pair.observed()
    centred, difference = draws - draws.mean(), a - b
    units = pair.units if pair.units < FEW_UNITS else None

    def p(reached: Array, observed: float, tails: int = 1) -> float:
        share = permutation_p(reached, observed)
        return share if units is None else tails * contracted_p(share / tails, units)

    sign = 1 if higher_is_better else -1
    size = np.abs(centred)
    least, most = 0, len(size)  # how many draws have to reach a difference for it not to be rejected
    while least < most:
        middle = (least + most) // 2
        share = (middle + 1) / (len(size) + 1)
        rejected = share if units is None else 2 * contracted_p(share / 2, units)
        least, most = (middle + 1, most) if rejected < 1 - confidence else (least, middle)
    half = float(np.partition(size, -least)[-least]) if least else np.inf
    equivalent = None
    if margin is not None:
        equivalent = max(p(centred, difference + margin), p(-centred, margin - difference))
    return pair.tested(
        "bootstrap",
        ci=(difference - half, difference + half),
        p=p(sign * centred, sign * difference),
        p_two_sided=min(1.0, p(size, abs(difference), tails=2)),
        confidence=confidence,
        p_equivalence=equivalent,
    )


def studentised(
    pair: Paired,
    draws: Array,
    errors: Array,
    added: Array,
    *,
    higher_is_better: bool,
    confidence: float,
    margin: float | None,
) -> Comparison:
    """Return two systems compared by the bootstrap-t: differences over their own standard errors, in each resample.

    Where few segments differ, or are skewed, a sample with a small difference has a small standard error too, which
    these t statistics have in them; percentiles do not. The two-sided test and the interval take their size, whatever
    the sign (the symmetric bootstrap-t); each side of the test of equivalence takes the larger of its own tail and half
    of both. With the same sums in all resamples, the error is 0 and t infinite, or 0 where there is no difference.

    Source: Hall 1988, On symmetric bootstrap confidence intervals; Davison & Hinkley 1997, sections 2.4 and 5.2, with
    the standard error by influence values; Schuirmann 1987 for equivalence.

    ``draws`` are differences in bootstrap resamples, ``errors`` their standard errors there (resamples,), and ``added``
    is what each unit adds to the difference (units,). Other arguments: as for `bootstrapped`.
    """
    a, b = pair.observed()
    difference, n, units = a - b, len(draws), pair.units
    error = float(added.std(ddof=1)) / math.sqrt(units)
    # What rounding leaves of no difference, and of no spread.
    nothing = 1e-10 * max(error, abs(difference), 1e-3 * abs(a), 1e-3 * abs(b))

    def over(value: Array | float, spread: Array | float) -> Array:
        value = np.where(np.abs(value) <= nothing, 0.0, value)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(value == 0, 0.0, value / np.where(spread <= nothing, 0.0, spread))

    def share(t: Array, observed: float) -> float:
        return float((np.count_nonzero(t >= observed * (1 - 1e-9)) + 1) / (n + 1))

    t, observed = over(draws - difference, errors), float(over(difference, error))
    size = np.abs(t)
    p = share(size, abs(observed))
    needed = math.ceil((1 - confidence) * (n + 1) - 1 - 1e-9)  # so many have to reach a difference that is kept
    quantile = float(np.partition(size, -needed)[-needed]) if needed > 0 else math.inf
    half = quantile * error if error > nothing or math.isinf(quantile) else 0.0
    equivalent = None
    if margin is not None:
        sides = ((t, float(over(margin + difference, error))), (-t, float(over(margin - difference, error))))
        equivalent = max(max(share(tail, x), share(size, x) / 2) if x > 0 else 1.0 for tail, x in sides)
    return pair.tested(
        "bootstrap-t",
        ci=(difference - half, difference + half),
        p=p / 2 if (observed > 0) == higher_is_better else 1 - p / 2,
        p_two_sided=p,
        confidence=confidence,
        p_equivalence=equivalent,
    )


def deciding(added: Array) -> int:
    """Return how few units hold nine tenths of the squares of what each adds to a difference (units,); 0 for none."""
    squares = np.sort(np.square(added))[::-1]
    return int(np.searchsorted(squares.cumsum(), 0.9 * squares.sum()) + 1) if squares.any() else 0


def randomised(
    pair: Paired, resamples: int, seed: Seed, *, higher_is_better: bool, confidence: float, margin: float | None
) -> Comparison:
    """Return two systems compared by letting segments, or documents, trade places between them at random.

    p is the share of permutations whose difference reaches the observed one, (b + 1) / (n + 1). The interval holds the
    differences that the same permutations do not reject when every segment has as much of them; its ends are infinite
    where so few segments reject none.

    Source: Noreen 1989; Riezler & Maxwell 2005; the interval is the test turned round (Hartigan 1969).
    """
    x, y, n = pair.x, pair.y, len(pair.x)
    draws, kept = [], []
    for mask in swaps(resamples, n, seed, pair.clusters):
        moved = mask.astype(np.float64) @ (y - x)
        draws.append(pair.score((x.sum(axis=0) + moved) / n) - pair.score((y.sum(axis=0) - moved) / n))
        kept.append(1 - 2 * mask.mean(axis=1))
    # A difference d of every segment becomes d times the share of segments that stay, less those that move.
    swapped, share = np.concatenate(draws), np.concatenate(kept)
    a, b = pair.observed()
    difference, sign = a - b, 1 if higher_is_better else -1
    equivalent = None
    if margin is not None:
        equivalent = max(
            permutation_p(swapped + margin * share, difference + margin),
            permutation_p(margin * share - swapped, margin - difference),
        )
    return pair.tested(
        "approximate randomisation",
        ci=_inverted(swapped, share, difference, confidence),
        p=permutation_p(sign * swapped, sign * difference),
        p_two_sided=permutation_p(np.abs(swapped), abs(difference)),
        confidence=confidence,
        p_equivalence=equivalent,
    )


def _inverted(swapped: Array, share: Array, difference: float, confidence: float) -> tuple[float, float]:
    """Return the ends of the differences d that permutations do not reject.

    A permutation reaches the observed difference under d if ``|swapped - share d| >= |difference - d|``: for d between
    two ends of its own, on either side of the observed difference.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        left, right = (difference - swapped) / (1 - share), (difference + swapped) / (1 + share)
    slack = 1e-10 * max(abs(difference), float(np.abs(swapped).max()))
    low, high = np.minimum(left, right), np.maximum(left, right)
    low[np.abs(low) <= slack] = high[np.abs(high) <= slack] = 0.0
    everywhere = np.isclose(np.abs(share), 1)  # all segments stay, or all move: reaches it under any d
    low[everywhere], high[everywhere] = -np.inf, np.inf
    # So many draws have to reach it for p to be 1 - confidence at least.
    needed = int(np.ceil((1 - confidence) * (len(swapped) + 1) - 1 - 1e-9))
    if needed < 1:
        return -np.inf, np.inf
    return float(np.partition(low, needed - 1)[needed - 1]), float(np.partition(high, -needed)[-needed])


def prepared(a: ArrayLike, b: ArrayLike, aggregate: Aggregate | None, documents: Sequence[Hashable] | None) -> Paired:
    """Return both systems, checked.

    Args:
        a: metric scores of the first system's segments (n,), or sufficient statistics (n, k) with ``aggregate``.
        b: the second system's, same shape, same segments.
        aggregate: from the mean statistics over segments (…, k) to scores (…,); None: the mean of segment scores. Sums
            of whole documents are divided by n too, so that a score has to be a ratio of sums.
        documents: which each segment is from (n,); they are drawn whole.

    Raises:
        InputError: if shapes differ, values are missing or infinite, or there are under 2 segments or documents.
    """
    columns: dict[str, ArrayLike]
    if aggregate is None:
        columns = {"a": a, "b": b}
    else:
        x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        if x.ndim != 2 or x.shape != y.shape:
            raise InputError(
                f"with aggregate, a and b must be (segments, statistics) alike, not {x.shape} and {y.shape}"
            )
        columns = {f"{side}[:, {k}]": z[:, k] for side, z in (("a", x), ("b", y)) for k in range(x.shape[1])}
    if documents is not None:
        columns["documents"] = cluster_codes(list(documents)).astype(np.float64)
    checked = list(vectors(columns, minimum=2))
    clusters = None
    if documents is not None:
        clusters = cluster_codes(checked.pop().tolist())
        several_units(drawn_units(len(clusters), clusters), "documents", "segments", "document")
    half = len(checked) // 2
    score = aggregate if aggregate is not None else lambda means: means[..., 0]
    return Paired(
        np.stack(checked[:half], axis=1), np.stack(checked[half:], axis=1), score, clusters, aggregate is not None
    )
