"""N-grams in common of many pairs of texts at once, counted by sorting numbers that stand for n-grams.

Texts are cut into words or letters, for which numbers stand (`Words`); an n-gram is the bits of its numbers in a row.
`count_ngrams` counts pair by pair; `ngrams_of` counts each text once, for every text against every other.
"""

from __future__ import annotations

import re
import sys
import threading
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, count, islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bsx.encode.run_config import threads
from bsx.metrics.core import Values

_TOGETHER = 25_000  # symbols sorted at once, about: the numbers of one order stay in a processor's own cache
_FEW = 4  # parts that do not repay a thread
_BITS = 64
_TEXT_BITS = 62  # that an n-gram and the text that it stands in may take together
_COLUMNS = 4096  # of zeros and ones in one product, whose sums single precision holds


@dataclass(frozen=True)
class Words:
    """Texts cut into words, or into letters, for which numbers stand.

    Attributes:
        numbers: the words of all texts, one text after the other.
        lengths: how many words each text has (texts,).
    """

    numbers: NDArray[np.int64]
    lengths: NDArray[np.int64]


def _spans(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places in some spans, one span after the other."""
    return np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))


def _lengths(several: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    return np.fromiter(map(len, several), dtype=np.int64, count=len(several))


def count_ngrams(words: Words, texts: NDArray[np.int64], many: NDArray[np.int64], orders: int) -> Values:
    """Count n-grams up to a length, part by part, several on all cores: NumPy sorts without the interpreter.

    Returns how many n-grams the candidates have, how many the other texts have, of several the first, and how many they
    share, each counted no oftener than in the other text that has it most (3, orders, rows).

    Args:
        words: of some texts.
        texts: which of these each row has: the candidate and at least one other, row by row.
        many: how many each row has (rows,).
        orders: that length.
    """
    lengths, starts = words.lengths[texts], (np.cumsum(words.lengths) - words.lengths)[texts]
    first = np.concatenate([[0], np.cumsum(many)])

    def counted(part: tuple[int, int]) -> Values:
        some = slice(first[part[0]], first[part[1]])
        codes = words.numbers[_spans(starts[some], lengths[some])]
        return _counted(codes, lengths[some], many[part[0] : part[1]], orders)

    before = np.concatenate([[0], np.cumsum(lengths)])[first[:-1]]  # how many symbols are before each row
    cuts = np.flatnonzero(np.diff(before // _TOGETHER, prepend=-1))
    parts = list(pairwise([*cuts.tolist(), len(many)]))
    if not parts:
        return np.zeros((3, orders, 0))
    workers = min(threads(), len(parts) // _FEW)
    if workers < 2:
        done = list(map(counted, parts))
    else:
        with ThreadPoolExecutor(workers, thread_name_prefix="bsx-ngrams") as pool:
            done = list(pool.map(counted, parts))
    return np.concatenate(done, axis=2)


def _counted(codes: NDArray[np.int64], lengths: NDArray[np.int64], many: NDArray[np.int64], orders: int) -> Values:
    """Count n-grams of texts whose symbols stand one after the other, as any numbers from 0; see `count_ngrams`.

    An n-gram is its symbols' bits in a row, with those of the row and of the text's place in it below them: sorted,
    equal ones stand together, and those of one row next to each other, the candidate's first. Behind each text stands
    a symbol that says its place, so what runs into the next text is in no other text.
    """
    first = np.cumsum(many) - many
    row = np.repeat(np.arange(len(many)), many)  # of each text
    side = np.arange(len(lengths)) - first[row]  # its place there: 0 the candidate, 1 and up the others
    rows, sides = len(many), int(side.max()) + 1
    ends = np.cumsum(lengths + 1) - 1
    line = np.empty(len(codes) + len(ends), dtype=np.uint64)
    inside = np.ones(len(line), dtype=bool)
    inside[ends] = False
    line[inside] = _without_gaps(codes) + sides
    line[ends] = side
    each, low = _bits(int(line.max())), _bits(sides - 1)
    below = low + _bits(rows - 1)
    owner = np.repeat((row.astype(np.uint64) << np.uint64(low)) | side.astype(np.uint64), lengths + 1)
    matches = np.zeros((orders, rows))
    ngrams, size = line, each
    for order in range(orders):
        if order:
            if order >= len(line):
                break
            if size + each + below > _BITS:  # numbers of those n-grams that there are need fewer bits
                distinct, places = np.unique(ngrams, return_inverse=True)
                ngrams, size = places.astype(np.uint64), _bits(len(distinct))
            ngrams = (ngrams[:-1] << np.uint64(each)) | line[order:]
            size += each
        keys = (ngrams << np.uint64(below)) | owner[: len(ngrams)]
        kind = np.uint16 if size + below <= 16 else np.uint32 if size + below <= 32 else np.uint64
        keys = keys.astype(kind, copy=False)
        keys.sort()
        ends = np.append(np.flatnonzero(keys[1:] != keys[:-1]), len(keys) - 1)
        counts, runs = np.diff(ends, prepend=-1), keys[ends]  # of each n-gram of each text
        ngram_of_row = runs >> kind(low)
        candidate = np.flatnonzero((runs & kind(2**low - 1)) == 0)
        candidate = candidate[candidate + 1 < len(runs)]
        candidate = candidate[ngram_of_row[candidate] == ngram_of_row[candidate + 1]]
        most = counts[candidate + 1]  # in the other text that has it most
        for further in range(2, sides):
            other = np.minimum(candidate + further, len(runs) - 1)
            most = np.maximum(most, np.where(ngram_of_row[other] == ngram_of_row[candidate], counts[other], 0))
        row_of = ngram_of_row[candidate].astype(np.int64) & (2 ** (below - low) - 1)
        matches[order] = np.bincount(row_of, np.minimum(counts[candidate], most), rows)
    totals = [np.maximum(lengths[texts] - np.arange(orders)[:, None], 0.0) for texts in (first, first + 1)]
    return np.stack([*totals, matches])


def _without_gaps(numbers: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return whole numbers from 0, in the order of the ones that are given, equal ones for equal ones."""
    occurs = np.zeros(int(numbers.max(initial=0)) + 1, dtype=bool)
    occurs[numbers] = True
    places: NDArray[np.int64] = np.cumsum(occurs) - 1
    return np.asarray(places[numbers])


def _bits(number: int) -> int:
    return max(1, number.bit_length())


_ENTITIES = (("<skipped>", ""), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_KNOWN = 100_000  # words that are remembered


class Cutter13a:
    """Cuts texts into words as sacreBLEU's tokenizer 13a does, and numbers the words.

    It puts a space before and after a text, and none of its rules looks further than to the next character: so each
    distinct run of letters without white space needs cutting once, and all of them may be cut together, but where it
    joins the lines of a text.

    Args:
        rules: patterns and what it puts in their place, in order.
    """

    def __init__(self, rules: Sequence[tuple[re.Pattern[str], str]]) -> None:
        self._rules = rules
        self._lock = threading.Lock()
        self._forget(next(_letters()))

    def _forget(self, end: str) -> None:
        """Start anew, with a letter that stands for the end of a text."""
        self._many = array("q")  # how many words each run has
        self._first, self._parts = array("q"), array("q")  # where they are, and their numbers
        self._runs, self._words, self._end = _numbers(), _numbers(), end
        _ = self._runs[end]  # takes number 0
        self._learn([end])

    def __call__(self, texts: Sequence[str]) -> Words:
        """Return the words of texts; a number stands for the same word in all of them, but not in those of other calls.

        Each text is stripped of white space at its end.
        """
        page = "".join(texts)
        if "\n" in page:
            texts = [text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ") for text in texts]
        with self._lock:
            whole = 0 < len(self._many) == len(self._runs)  # no Ctrl-C has come in between
            if not whole or len(self._runs) > _KNOWN or self._end in page:
                self._forget(next(letter for letter in _letters() if letter not in page))
            runs = f" {self._end} ".join([*texts, ""]).split()
            before = len(self._runs)
            places = np.fromiter(map(self._runs.__getitem__, runs), dtype=np.int64, count=len(runs))
            if new := len(self._runs) - before:
                self._learn(list(islice(reversed(self._runs), new))[::-1])
            first, many, parts = (np.array(table) for table in (self._first, self._many, self._parts))
        lengths = many[places]
        ends = np.concatenate([[0], np.cumsum(lengths)[places == 0]])
        return Words(parts[_spans(first[places], lengths)], np.diff(ends))

    def _learn(self, runs: Sequence[str]) -> None:
        """Cut new runs, in the order of their numbers."""
        page = " \n ".join(["", *runs, ""])
        for name, letter in _ENTITIES:
            page = page.replace(name, letter)
        for rule, by in self._rules:
            page = rule.sub(by, page)
        for run, cut in zip(runs, page.split("\n")[1:-1], strict=True):
            words = [] if run == self._end else cut.split()
            self._first.append(len(self._parts))
            self._parts.extend(map(self._words.__getitem__, words))
            self._many.append(len(words))  # last: what has its number of words is learnt


def _letters() -> Iterator[str]:
    """Yield letters that hardly any text has, short ones in memory first."""
    return map(chr, chain(range(1, 9), range(0xE000, sys.maxunicode)))


def _numbers() -> defaultdict[str, int]:
    """Return a table that numbers what is looked up, from 0."""
    return defaultdict(count().__next__)


def letters_of(texts: Sequence[str]) -> Words:
    """Return texts cut into letters, with a number for each, in the order of code points."""
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return Words(_without_gaps(points), _lengths(texts))


def numbered(texts: Iterable[Sequence[str]]) -> Words:
    """Return texts with a number for each distinct word."""
    cut = list(texts)
    numbers = np.fromiter(map(_numbers().__getitem__, chain.from_iterable(cut)), dtype=np.int64)
    return Words(numbers, _lengths(cut))


def placed(texts: Iterable[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct texts, and the place of each text among them."""
    numbers = _numbers()
    places = np.fromiter(map(numbers.__getitem__, texts), dtype=np.int64)
    return list(numbers), places


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
    texts: NDArray[np.int64]
    columns: NDArray[np.int64]
    counts: NDArray[np.int64]

    def shared(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> Values:
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


def ngrams_of(words: Words, orders: int) -> Iterator[Ngrams]:
    """Yield the n-grams of 1, 2, … words, or letters."""
    lengths, numbers = words.lengths, words.numbers
    text_of = np.repeat(np.arange(len(lengths)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(text_of))
    name = _bits(len(lengths) - 1)
    starts, codes, wide = np.arange(len(text_of)), numbers, _bits(int(numbers.max(initial=0)))
    width = wide
    for order in range(1, orders + 1):
        if order > 1:
            if width + wide + name > _TEXT_BITS:
                codes = np.unique(codes, return_inverse=True)[1]
                width = _bits(int(codes.max(initial=0)))
            longer = left[starts] >= order
            starts = starts[longer]
            codes, width = codes[longer] << wide | numbers[starts + order - 1], width + wide
        # An n-gram, and in the last bits its text.
        keys = np.sort(codes << name | text_of[starts])
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        distinct = keys[first]
        columns = np.cumsum(np.diff(distinct >> name, prepend=-1) > 0) - 1
        counts = np.diff(first, append=len(keys))
        yield Ngrams(np.maximum(lengths - order + 1.0, 0.0), distinct & ((1 << name) - 1), columns, counts)
