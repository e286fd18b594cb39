"""How often human judgments agree with a difference that large: pairs of systems or segments, by that difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.preference import clustered_share, dyadic_share
from bsx.analysis.stats.validate import vectors
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Interval, Number, Shown
from bsx.support.settings import in_range

_MOST = 200_000  # pairs; of more, a sample says the same

Level = Literal["systems", "segments"]


@dataclass(frozen=True)
class HumanStep:
    """Pairs whose scores differ by about as much.

    Attributes:
        low: smallest difference among them.
        high: largest.
        n: how many pairs.
        share: of them, in which human judgments prefer the side that the metric scores higher.
        ci: its interval.
    """

    low: Number
    high: Number
    n: int
    share: Number
    ci: Interval


@dataclass(frozen=True, repr=False)
class HumanCurve(Shown):
    """How often human judgments agreed with a metric, by how far two scores differ.

    Attributes:
        metric: its name.
        level: what the pairs are of.
        group: language pair, or ``all``.
        pairs: pairs that have a sign under the metric and among judgments.
        metric_ties: pairs left out because the metric scores both sides the same.
        human_ties: pairs left out because judgments do.
        steps: from small differences to large ones.
        confidence: level of the intervals.
        data: the table that they are of, where several are shown together.
        apart: pairs of systems left out because they share too few segments.
    """

    metric: str
    level: Level
    group: str
    pairs: int
    metric_ties: int
    human_ties: int
    steps: tuple[HumanStep, ...]
    confidence: float
    data: str = ""
    apart: int = 0

    def at(self, difference: float) -> HumanStep | None:
        """Return the pairs that differ about as much: of the nearest step; None beyond all that was seen, or for 0."""
        size = abs(difference)
        if not self.steps or not 0 < size <= self.steps[-1].high:
            return None
        return next(step for step in self.steps if size <= step.high)


@in_range
def human_curve(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    of: Sequence[object] | None = None,
    within: Sequence[object] | None = None,
    level: Level = "segments",
    metric: str = "metric",
    group: str = "all",
    bins: int = 10,
    fewest: int = 20,
    confidence: float = 0.95,
    seed: int = 1,
) -> HumanCurve:
    """Return how often human judgments agree with the sign of a difference in scores, by its size.

    Every pair of items of one set, see ``within``, is a pair; one of more than 200,000 pairs in all is drawn at random.
    Pairs that human judgments or the metric score the same have no sign and are counted. The others are cut into
    ranges of the difference with about equally many pairs. If ``of`` names the text that each item is of and pairs are
    of one text (``within`` is the same), texts are independent of one another; otherwise pairs depend on each other
    through the items that they share.

    Source: Kocmi, Zouhar, Federmann & Post 2024, who fit such curves to differences of systems, here as they are;
    Aronow, Samii & Assenova 2015 and `bsx.analysis.stats.preference` for the intervals.

    Args:
        scores: the metric's scores of n systems or segments, higher is better.
        human: human scores of the same.
        of: the text of each item (n,); items are taken as independent without.
        within: only items with the same value are paired (n,), such as language pair, or segment.
        level: what the items are.
        metric: name of the metric.
        group: name of the group.
        bins: most ranges.
        fewest: pairs in each; with under two times as many there is one range.
        confidence: level of the intervals.
        seed: of the draw of pairs.

    Raises:
        InputError: if sizes differ, numbers are infinite, or no pair has a sign.

    >>> curve = human_curve([1, 2, 3, 4], [1, 2, 4, 3], bins=1)
    >>> curve.pairs, round(curve.steps[0].share, 3)
    (6, 0.833)
    """
    if bins < 1 or fewest < 1:
        raise InputError(f"bins {bins}, fewest {fewest}: at least 1 of each")
    n = len(np.asarray(scores))
    places = np.arange(n, dtype=np.float64)
    values, judged, kept = vectors({"the metric": scores, "human": human, "": places}, nan="omit", minimum=2)
    rows = kept.astype(np.int64)
    sets = _numbered(within, rows, n)
    texts = _numbered(of, rows, n) if of is not None else None
    left, right = _pairs(sets, seed)
    own, theirs = values[left] - values[right], judged[left] - judged[right]
    sides = np.stack([left, right], axis=1)
    of_pair = texts[left] if texts is not None and bool((texts[left] == texts[right]).all()) else None
    return curve_of_pairs(
        own,
        theirs,
        sides,
        of_pair,
        level=level,
        metric=metric,
        group=group,
        bins=bins,
        fewest=fewest,
        confidence=confidence,
    )


def curve_of_pairs(
    own: Array,
    theirs: Array,
    sides: NDArray[np.int64],
    of: NDArray[np.int64] | None = None,
    *,
    level: Level = "segments",
    metric: str = "metric",
    group: str = "all",
    bins: int = 10,
    fewest: int = 20,
    confidence: float = 0.95,
    apart: int = 0,
) -> HumanCurve:
    """Return the curve of pairs whose differences are known; see `human_curve`.

    Args:
        own: differences under the metric (n,).
        theirs: differences of human scores (n,).
        sides: numbers of the two items of each pair (n, 2).
        of: number of the text that each pair is of (n,), where texts are independent; None if pairs share items.
        level: what the items are.
        metric: name of the metric.
        group: name of the group.
        bins: most ranges.
        fewest: pairs in each.
        confidence: level of the intervals.
        apart: pairs that were left out.

    Raises:
        InputError: if no pair has a sign.
    """
    signed = (own != 0) & (theirs != 0)
    if not signed.any():
        raise InputError(f"{metric}: no pair of {level} that both the metric and human judgments score differently")
    size, agree = np.abs(own[signed]), (own[signed] > 0) == (theirs[signed] > 0)
    sides = sides[signed]
    count = max(1, min(bins, len(size) // fewest))
    edges = np.unique(np.quantile(size, np.linspace(0, 1, count + 1)[1:], method="inverted_cdf"))
    place = np.searchsorted(edges, size)
    steps = []
    for k in range(len(edges)):
        inside = place == k
        if of is not None:
            clusters = np.unique(of[signed][inside], return_inverse=True)[1]
            ends = clustered_share(agree[inside], clusters, confidence)
        else:
            ends = dyadic_share(agree[inside], sides[inside], confidence)
        low, high = float(size[inside].min()), float(size[inside].max())
        steps.append(HumanStep(low, high, int(inside.sum()), float(agree[inside].mean()), ends))
    return HumanCurve(
        metric,
        level,
        group,
        len(size),
        int((own == 0).sum()),
        int(((theirs == 0) & (own != 0)).sum()),
        tuple(steps),
        confidence,
        apart=apart,
    )


def _numbered(labels: Sequence[object] | None, rows: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the number of each kept item's label; one for all without labels."""
    if labels is None:
        return np.zeros(len(rows), dtype=np.int64)
    if len(labels) != n:
        raise InputError(f"{len(labels)} labels for {n} items")
    codes: NDArray[np.int64] = np.unique([str(labels[row]) for row in rows], return_inverse=True)[1].astype(np.int64)
    return codes


def _pairs(sets: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of both sides of every pair within a set, or of a sample of them."""
    order = np.argsort(sets, kind="stable")
    sizes = np.bincount(sets)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    total = int((sizes * (sizes - 1) // 2).sum())
    if total <= _MOST:
        results = [start + np.stack(np.triu_indices(size, 1)) for start, size in zip(starts[:-1], sizes, strict=True)]
        left, right = np.concatenate(results, axis=1)
        return order[left], order[right]
    draw = np.random.default_rng(seed)
    chosen = draw.choice(len(sizes), _MOST, p=(sizes * (sizes - 1) / 2) / total)
    first = draw.integers(0, sizes[chosen])
    other = (first + draw.integers(1, sizes[chosen])) % sizes[chosen]
    both: Array = np.unique(np.sort(starts[chosen] + np.stack([first, other]), axis=0), axis=1)
    return order[both[0]], order[both[1]]
