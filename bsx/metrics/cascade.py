"""A cascade: a cheap metric scores every row, a costly one those of a band; the others are mapped from the cheap one.

Which rows those are, and the line that maps the others, are decided here; `bsx.jobs.scoring.cascade` runs the metrics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bsx.metrics.blocks import Values

Unit: TypeAlias = Literal["rows", "segments", "candidates"]
Marks: TypeAlias = NDArray[np.uint8]
MARKS = ("mapped", "band", "anchor", "blank")
"""How a row got its score: mapped from the cheap metric, or by the costly one because it is in the band, or one of the
rows outside that tell how to map, or without content, which costs nothing. A mark is a place in this list."""
MAPPED, BAND, ANCHOR, BLANK = range(len(MARKS))


@dataclass(frozen=True)
class Band:
    """A range of ranks under the cheap metric, in per cent from the worst (0) to the best (100).

    >>> Band.read("75-100").places(12)
    (9, 12)
    >>> print(Band.read("0-12.5"))
    0-12.5
    """

    low: float
    high: float

    @classmethod
    def read(cls, text: str) -> Band:
        """Return what is written ``LOW-HIGH``.

        Raises:
            ValueError: if it is no such range.
        """
        low, dash, high = text.partition("-")
        if dash and len(text) <= 20 and all(part.replace(".", "", 1).isdecimal() for part in (low, high)):
            band = cls(float(low), float(high))
            if band.low < band.high <= 100:
                return band
        raise ValueError(
            "band is written LOW-HIGH, in per cent from the worst row to the best, such as 0-25 or 75-100 "
            f"(got {text[:40]!r})"
        )

    def places(self, n: int) -> tuple[int, int]:
        """Return the first of n ranks in the band and the one after the last; of any number, at least one."""
        first, end = self.bounds(np.array([n]))
        return int(first[0]), int(end[0])

    def bounds(self, n: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the same for several numbers of ranks."""
        # Rounded, because 0.07 * 100 is a little more than 7.
        first = np.floor(np.round(self.low * n / 100, 9)).astype(np.int64)
        return first, np.ceil(np.round(self.high * n / 100, 9)).astype(np.int64)

    def __str__(self) -> str:
        return f"{self.low:g}-{self.high:g}"


def numbered(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each row's segment, in the order in which they come (rows,).

    >>> numbered(np.array([7, 3, 7, 5])).tolist()
    [0, 1, 0, 2]
    """
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]


def choose(
    good: Values, segments: NDArray[np.int64], blank: NDArray[np.bool_], band: Band, unit: Unit, anchors: int
) -> Marks:
    """Choose the rows that the costly metric scores.

    Ranks are by the cheap metric, from the worst to the best, equal ones in the order of the rows. Anchors stand at
    even distances among the ranks outside the band, so that they are like all rows there.

    Args:
        good: each row's score under the cheap metric, higher is better (rows,).
        segments: the number of each row's segment (rows,).
        blank: rows without content (rows,); scoring them costs nothing, so they are never mapped.
        band: which ranks.
        unit: what is ranked: all ``rows``; ``segments``, by the mean of their candidates, which are then scored
            together; or each segment's ``candidates``, among themselves.
        anchors: how many rows outside the band, if there are as many; of segments, whole ones with about as many.

    Returns:
        Each row's mark (rows,).
    """
    marks = np.full(len(good), MAPPED, dtype=np.uint8)
    sizes = np.bincount(segments)
    if unit == "segments":
        order = np.argsort(np.bincount(segments, weights=good) / sizes, kind="stable")
        first, end = band.places(len(order))
        chosen = np.zeros(len(order), dtype=bool)
        chosen[order[first:end]] = True
        marks[chosen[segments]] = BAND
        out = order[(~chosen & (np.bincount(segments, weights=~blank) > 0))[order]]
        chosen[:] = False
        chosen[out[_even(len(out), math.ceil(anchors / (len(good) / len(sizes))))]] = True
        marks[chosen[segments]] = ANCHOR
    else:
        order = np.argsort(good, kind="stable")
        if unit == "rows":
            first, end = band.places(len(order))
            marks[order[first:end]] = BAND
        else:
            inside = order[np.argsort(segments[order], kind="stable")]  # segment by segment, the worst first
            rank = np.arange(len(inside)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            low, high = (np.repeat(bound, sizes) for bound in band.bounds(sizes))
            marks[inside[(low <= rank) & (rank < high)]] = BAND
        out = order[(marks[order] != BAND) & ~blank[order]]
        marks[out[_even(len(out), anchors)]] = ANCHOR
    marks[blank] = BLANK
    return marks


def _even(n: int, wanted: int) -> NDArray[np.int64]:
    """Return so many of n places, or all, at even distances."""
    wanted = min(n, wanted)
    return (2 * np.arange(wanted, dtype=np.int64) + 1) * n // (2 * max(1, wanted))


@dataclass(frozen=True)
class Line:
    """How scores of the cheap metric become scores on the costly one's scale.

    Attributes:
        slope: of the line; 0 where the two metrics do not rise together.
        intercept: of the line.
        low: the least score of an anchor under the costly metric; none is mapped to less.
        high: the greatest.
        r: Pearson's correlation of the two metrics over the anchors, of which both say that higher is better; NaN if
            it is not defined.
        n: anchors.
    """

    slope: float
    intercept: float
    low: float
    high: float
    r: float
    n: int

    @classmethod
    def fit(cls, cheap: Values, costly: Values, *, alike: bool) -> Line:
        """Fit a line by least squares.

        Args:
            cheap: scores of the anchors under the cheap metric (n,).
            costly: under the costly one (n,); NaN where it has none.
            alike: whether both metrics, or neither, give better texts higher scores.
        """
        cheap, costly = cheap[~np.isnan(costly)], costly[~np.isnan(costly)]
        n = len(cheap)
        if not n:
            return cls(0.0, math.nan, math.nan, math.nan, math.nan, 0)
        x, y = cheap - cheap.mean(), costly - costly.mean()
        # What is left of equal scores is rounding, which depends on the processor.
        spread, other = (float(z @ z) if z @ z > 1e-13 * (of @ of) else 0.0 for z, of in ((x, cheap), (y, costly)))
        common, both = float(x @ y), math.sqrt(spread) * math.sqrt(other)
        r = min(1.0, max(-1.0, common / both)) if both else math.nan
        r = r if alike else -r
        slope = common / spread if r > 0 else 0.0  # a line that turned the cheap metric round would be noise
        intercept = float(costly.mean() - slope * cheap.mean())
        return cls(slope, intercept, float(costly.min()), float(costly.max()), r, n)

    def __call__(self, cheap: Values) -> Values:
        """Map scores of the cheap metric."""
        return np.asarray(np.clip(self.intercept + self.slope * cheap, self.low, self.high))
