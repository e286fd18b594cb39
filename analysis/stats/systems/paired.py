"""Is one system better than another under a metric? Paired bootstrap and approximate randomisation of segments.

Works for any metric that has scores of segments, and for corpus-level metrics such as BLEU through their sufficient
statistics: give the statistics of each segment and a function from their means to the score. Segments that come from
documents are drawn and swapped by whole documents.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.stats.equivalence import check_margin
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
from bsx.analysis.stats.validate import settings, several_units, vectors
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy

Aggregate = Callable[[Array], Array]  # means of sufficient statistics (…, k) -> scores (…,)


def bootstrap_systems(
    a: ArrayLike,
    b: ArrayLike,
    *,
    aggregate: Aggregate | None = None,
    documents: Sequence[Hashable] | None = None,
    higher_is_better: bool = True,
    confidence: float = 0.95,
    margin: float | None = None,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Comparison:
    """Compare two systems' scores over the same bootstrap resamples of segments, or of documents.

    The resampled differences are centred on their mean, which gives their spread if the systems were equal; p is the
    share that reaches the observed difference, (b + 1) / (n + 1). The interval holds the differences that this test
    does not reject. Of under 100 segments (documents), p and interval are those of t. sacreBLEU centres absolute
    differences, which for a clear difference is the one-sided p here.

    Source: Koehn 2004; Riezler & Maxwell 2005 for the shift; Hesterberg 2015, section 5.3, for few segments;
    Schuirmann 1987 for equivalence.

    Args:
        a: metric scores of the first system's segments (n,), or sufficient statistics (n, k) with ``aggregate``.
        b: the second system's, same shape, same segments.
        aggregate: from the mean statistics over segments (…, k) to scores (…,); None: the mean of segment scores. Sums
            of whole documents are divided by n too, so that a score has to be a ratio of sums.
        documents: which each segment is from (n,); they are drawn whole.
        higher_is_better: False for error rates such as TER: p then speaks of a being lower.
        confidence: level of the difference's interval.
        margin: largest difference that does not matter: test equivalence too.
        resamples: how many.
        seed: of the draws.
        nan: ``error``, or ``omit`` to leave out segments that miss a value.

    Returns:
        Comparison; ``p`` one-sided for "a better than b", ``p_two_sided`` for "they differ".

    Raises:
        InputError: if shapes differ, values are missing or infinite, or there are under 2 segments or documents.
    """
    settings(resamples=resamples, confidence=confidence)
    pair = prepared(a, b, aggregate, documents, nan)
    x, y = pair.draws([pair.x, pair.y], resamples, seed)
    return bootstrapped(pair, x - y, higher_is_better=higher_is_better, confidence=confidence, margin=margin)


def randomise_systems(
    a: ArrayLike,
    b: ArrayLike,
    *,
    aggregate: Aggregate | None = None,
    documents: Sequence[Hashable] | None = None,
    higher_is_better: bool = True,
    confidence: float = 0.95,
    margin: float | None = None,
    resamples: int = 10_000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
) -> Comparison:
    """Compare two systems by letting segments, or documents, trade places between them at random.

    p is the share of permutations whose difference reaches the observed one, (b + 1) / (n + 1). The interval holds the
    differences that the same permutations do not reject when every segment has as much of them; its ends are infinite
    where so few segments reject none.

    Source: Noreen 1989; Riezler & Maxwell 2005; the interval is the test turned round (Hartigan 1969).

    Args, returns and errors: as `bootstrap_systems`.
    """
    settings(resamples=resamples, confidence=confidence)
    pair = prepared(a, b, aggregate, documents, nan)
    return randomised(pair, resamples, seed, higher_is_better=higher_is_better, confidence=confidence, margin=margin)


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

    def draws(self, sides: Sequence[Array], resamples: int, seed: Seed) -> list[Array]:
        """Return the scores (resamples,) of each system's statistics (n, k) in the same bootstrap resamples."""
        results: list[list[Array]] = [[] for _ in sides]
        for counts in bootstrap_counts(resamples, len(self.x), seed, self.clusters):
            drawn = len(self.x) if self.ratio else counts.sum(axis=1, keepdims=True)
            for side, found in zip(sides, results, strict=True):
                found.append(self.score(counts @ side / drawn))
        return [np.concatenate(found) for found in results]

    def observed(self) -> tuple[float, float]:
        """Return both scores."""
        return float(self.score(self.x.mean(axis=0))), float(self.score(self.y.mean(axis=0)))


def bootstrapped(
    pair: Paired, draws: Array, *, higher_is_better: bool, confidence: float, margin: float | None
) -> Comparison:
    """Return two systems compared by the differences (resamples,) of their bootstrap draws; see `bootstrap_systems`."""
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
        check_margin(margin)
        equivalent = max(p(centred, difference + margin), p(-centred, margin - difference))
    return Comparison.of(
        a,
        b,
        ci=(difference - half, difference + half),
        p=p(sign * centred, sign * difference),
        p_two_sided=min(1.0, p(size, abs(difference), tails=2)),
        n=len(pair.x),
        method=f"difference of systems, paired bootstrap of {pair.what}",
        unit=pair.what.removesuffix("s"),
        confidence=confidence,
        p_equivalence=equivalent,
    )


def randomised(
    pair: Paired, resamples: int, seed: Seed, *, higher_is_better: bool, confidence: float, margin: float | None
) -> Comparison:
    """Return two systems compared by permutations; see `randomise_systems`."""
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
        check_margin(margin)
        equivalent = max(
            permutation_p(swapped + margin * share, difference + margin),
            permutation_p(margin * share - swapped, margin - difference),
        )
    return Comparison.of(
        a,
        b,
        ci=_inverted(swapped, share, difference, confidence),
        p=permutation_p(sign * swapped, sign * difference),
        p_two_sided=permutation_p(np.abs(swapped), abs(difference)),
        n=n,
        method=f"difference of systems, paired approximate randomisation of {pair.what}",
        unit=pair.what.removesuffix("s"),
        confidence=confidence,
        p_equivalence=equivalent,
    )


def _inverted(swapped: Array, share: Array, difference: float, confidence: float) -> tuple[float, float]:
    """Return the ends of the differences d that permutations do not reject.

    A permutation reaches the observed difference under d if ``|swapped - share d| >= |difference - d|``: for d between
    two ends of its own, on either side of the observed difference.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (difference - swapped) / (1 - share), (difference + swapped) / (1 + share)
    slack = 1e-10 * max(abs(difference), float(np.abs(swapped).max()))
    low, high = np.minimum(one, two), np.maximum(one, two)
    low[np.abs(low) <= slack] = high[np.abs(high) <= slack] = 0.0
    everywhere = np.isclose(np.abs(share), 1)  # all segments stay, or all move: reaches it under any d
    low[everywhere], high[everywhere] = -np.inf, np.inf
    # So many draws have to reach it for p to be 1 - confidence at least.
    needed = int(np.ceil((1 - confidence) * (len(swapped) + 1) - 1 - 1e-9))
    if needed < 1:
        return -np.inf, np.inf
    return float(np.partition(low, needed - 1)[needed - 1]), float(np.partition(high, -needed)[-needed])


def prepared(
    a: ArrayLike,
    b: ArrayLike,
    aggregate: Aggregate | None,
    documents: Sequence[Hashable] | None,
    nan: NanPolicy = "error",
) -> Paired:
    """Return both systems, checked; see `bootstrap_systems`.

    Raises:
        InputError: as `bootstrap_systems`.
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
    checked = list(vectors(columns, nan=nan, minimum=2))
    clusters = None
    if documents is not None:
        clusters = cluster_codes(checked.pop().tolist())
        several_units(drawn_units(len(clusters), clusters), "documents", "segments", "document")
    half = len(checked) // 2
    score = aggregate if aggregate is not None else lambda means: means[..., 0]
    return Paired(
        np.stack(checked[:half], axis=1), np.stack(checked[half:], axis=1), score, clusters, aggregate is not None
    )
