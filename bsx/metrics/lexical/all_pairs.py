"""N-grams of many texts, counted together: a text is a row of numbers, and an n-gram a number made of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.metrics.core import Values
from bsx.metrics.lexical.ngrams import Words, placed

Numbers = NDArray[np.int64]
_BITS = 62  # that an n-gram and the text that it stands in may take together
_COLUMNS = 4096  # of zeros and ones in one product, whose sums single precision holds


@dataclass(frozen=True)
class Ngrams:
    """How often each n-gram of one length stands in each text.

    Attributes:
        totals: how many n-grams each text has (texts,).
        texts: a text for each of its different n-grams (k,).
        columns: the number of that n-gram among those of all texts (k,), rising from 0.
        counts: how often it stands in the text (k,).
    """

    totals: Values
    texts: Numbers
    columns: Numbers
    counts: Numbers

    def shared(self, left: Numbers, right: Numbers) -> Values:
        """Return how many n-grams n of the texts share with m of them (n, m).

        What two texts share of an n-gram is the lesser of two counts: both have its first, its second, … standing. So
        each of these is a column of zeros and ones, and what is shared a product of matrices. What stands in a single
        text is shared with that text alone, and needs no column.
        """
        most = np.maximum.reduceat(self.counts, np.flatnonzero(np.diff(self.columns, prepend=-1)))
        before = np.cumsum(most) - most
        first = np.cumsum(self.counts) - self.counts
        standing = np.arange(self.counts.sum()) + np.repeat(before[self.columns] - first, self.counts)
        several = np.bincount(standing) > 1
        kept = several[standing]
        place = (np.cumsum(several) - 1)[standing[kept]]
        text = np.repeat(self.texts, self.counts)[kept]
        same = np.array_equal(left, right)  # then NumPy computes half of the product
        shared = np.zeros((len(left), len(right)))
        for start in range(0, int(several.sum()), _COLUMNS):
            here = slice(None) if several.sum() <= _COLUMNS else (place >= start) & (place < start + _COLUMNS)
            table = np.zeros((len(self.totals), min(_COLUMNS, int(several.sum()) - start)), dtype=np.float32)
            table[text[here], place[here] - start] = 1
            rows = table[left]
            shared += rows @ (rows if same else table[right]).T
        return np.where(left[:, None] == right[None, :], self.totals[left][:, None], shared)


def letters_of(texts: Sequence[str]) -> Words:
    """Return texts with a number for each letter, in the order of code points."""
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    occurs = np.zeros(int(points.max(initial=0)) + 1, dtype=bool)
    occurs[points] = True
    return Words((np.cumsum(occurs) - 1)[points], np.array([len(text) for text in texts], dtype=np.int64))


def ngrams_of(words: Words, orders: int) -> Iterator[Ngrams]:
    """Yield the n-grams of 1, 2, … words, or letters."""
    lengths, numbers = words.lengths, words.numbers
    text_of = np.repeat(np.arange(len(lengths)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(text_of))
    name = max(1, len(lengths) - 1).bit_length()
    starts, codes, wide = np.arange(len(text_of)), numbers, _width(numbers)
    width = wide
    for order in range(1, orders + 1):
        if order > 1:
            if width + wide + name > _BITS:
                codes = np.unique(codes, return_inverse=True)[1]
                width = _width(codes)
            longer = left[starts] >= order
            starts = starts[longer]
            codes, width = codes[longer] << wide | numbers[starts + order - 1], width + wide
        # An n-gram, and in the last bits its text.
        keys = np.sort(codes << name | text_of[starts])
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        found = keys[first]
        columns = np.cumsum(np.diff(found >> name, prepend=-1) > 0) - 1
        counts = np.diff(first, append=len(keys))
        yield Ngrams(np.maximum(lengths - order + 1.0, 0.0), found & ((1 << name) - 1), columns, counts)


def distinct(left: Sequence[str], right: Sequence[str]) -> tuple[list[str], Numbers, Numbers]:
    """Return the distinct ones of n and m texts, and where among them each is (n,), (m,)."""
    texts, places = placed([*left, *right])
    return texts, places[: len(left)], places[len(left) :]


def _width(numbers: Numbers) -> int:
    """Return how many bits the highest number takes."""
    return int(numbers.max(initial=1)).bit_length()
