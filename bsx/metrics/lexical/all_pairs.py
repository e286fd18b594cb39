"""N-grams of many texts, counted together: a text is a row of numbers, and an n-gram a number made of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.metrics.blocks import Values

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


@dataclass(frozen=True)
class Symbols:
    """Texts as numbers of their letters or words.

    Attributes:
        numbers: of all texts, one text after another; each number from 0 to the highest occurs (symbols,).
        lengths: how many each text has (texts,).
    """

    numbers: Numbers
    lengths: Numbers

    @classmethod
    def of_letters(cls, texts: Sequence[str]) -> Symbols:
        """Number the letters of texts in the order of code points."""
        points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
        occurs = np.zeros(int(points.max(initial=0)) + 1, dtype=bool)
        occurs[points] = True
        return cls((np.cumsum(occurs) - 1)[points], np.array([len(text) for text in texts], dtype=np.int64))

    @classmethod
    def of_words(cls, texts: Sequence[Sequence[str]]) -> Symbols:
        """Number the words of texts as they come."""
        known: dict[str, int] = {}
        numbers = [known.setdefault(word, len(known)) for words in texts for word in words]
        return cls(np.array(numbers, dtype=np.int64), np.array([len(words) for words in texts], dtype=np.int64))

    def ngrams(self, orders: int) -> Iterator[Ngrams]:
        """Yield the n-grams of 1, 2, … symbols."""
        text_of = np.repeat(np.arange(len(self.lengths)), self.lengths)
        left = np.repeat(np.cumsum(self.lengths), self.lengths) - np.arange(len(text_of))
        name = max(1, len(self.lengths) - 1).bit_length()
        starts, codes, wide = np.arange(len(text_of)), self.numbers, _width(self.numbers)
        width = wide
        for order in range(1, orders + 1):
            if order > 1:
                if width + wide + name > _BITS:
                    codes = np.unique(codes, return_inverse=True)[1]
                    width = _width(codes)
                longer = left[starts] >= order
                starts = starts[longer]
                codes, width = codes[longer] << wide | self.numbers[starts + order - 1], width + wide
            yield _counted(codes << name | text_of[starts], name, np.maximum(self.lengths - order + 1.0, 0.0))


def distinct(left: Sequence[str], right: Sequence[str]) -> tuple[list[str], Numbers, Numbers]:
    """Return the distinct ones of n and m texts, and where among them each is (n,), (m,)."""
    place: dict[str, int] = {}
    rows = [np.array([place.setdefault(text, len(place)) for text in side], dtype=np.int64) for side in (left, right)]
    return list(place), rows[0], rows[1]


def _width(numbers: Numbers) -> int:
    """Return how many bits the highest number takes."""
    return int(numbers.max(initial=1)).bit_length()


def _counted(keys: Numbers, name: int, totals: Values) -> Ngrams:
    """Return how often each key occurs: an n-gram, and in the last ``name`` bits its text."""
    keys = np.sort(keys)
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    found = keys[starts]
    columns = np.cumsum(np.diff(found >> name, prepend=-1) > 0) - 1
    return Ngrams(totals, found & ((1 << name) - 1), columns, np.diff(starts, append=len(keys)))
