"""N-grams in common of many pairs of texts at once, counted by sorting numbers that stand for n-grams."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bsx.encode.run_config import threads
from bsx.metrics.core import Values

_TOGETHER = 25_000  # symbols sorted at once: the numbers of one order stay in a processor's own cache
_FEW = 4  # parts that do not repay a thread
_BITS = 64


@dataclass(frozen=True)
class Counted:
    """N-grams of some rows, order by order.

    Attributes:
        candidate: how many the candidates have (orders, rows).
        other: how many the other texts have, of several the first (orders, rows).
        matches: how many they share, each counted no oftener than in the other text that has it most (orders, rows).
    """

    candidate: Values
    other: Values
    matches: Values


@dataclass(frozen=True)
class Words:
    """Texts cut into words, for which numbers stand.

    Attributes:
        numbers: the words of all texts, one text after the other.
        lengths: how many words each text has (texts,).
    """

    numbers: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each text starts (texts,)."""
        return _starts(self.lengths)

    def of(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the words of some texts, one text after the other."""
        return self.numbers[_spans(self.starts[texts], self.lengths[texts])]


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.cumsum(lengths) - lengths


def _spans(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places in some spans, one span after the other."""
    return np.repeat(starts - _starts(lengths), lengths) + np.arange(int(lengths.sum()))


def by_characters(rows: Sequence[tuple[str, ...]], orders: int) -> Counted:
    """Count n-grams of characters.

    Args:
        rows: of each, the candidate and at least one other text.
        orders: the longest n-gram.
    """
    texts = list(chain.from_iterable(rows))

    def codes(start: int, end: int) -> NDArray[np.uint32]:
        return np.frombuffer("".join(texts[start:end]).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)

    return _count(codes, _lengths(texts), _lengths(rows), orders)


def by_words(words: Words, texts: NDArray[np.int64], many: NDArray[np.int64], orders: int) -> Counted:
    """Count n-grams of words.

    Args:
        words: of some texts.
        texts: which of these each row has: the candidate and at least one other, row by row.
        many: how many each row has (rows,).
        orders: the longest n-gram.
    """
    return _count(lambda start, end: words.of(texts[start:end]), words.lengths[texts], many, orders)


def _lengths(several: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    return np.fromiter(map(len, several), dtype=np.int64, count=len(several))


def _count(
    codes: Callable[[int, int], NDArray[np.integer[Any]]],
    lengths: NDArray[np.int64],
    many: NDArray[np.int64],
    orders: int,
) -> Counted:
    """Count part by part, where there are several on all cores: NumPy sorts without the interpreter.

    Args:
        codes: returns the symbols of texts from one on, up to another.
        lengths: of all texts, those of a row one after the other.
        many: how many texts each row has.
        orders: the longest n-gram.
    """
    first = np.concatenate([[0], np.cumsum(many)])

    def counted(part: tuple[int, int]) -> Counted:
        start, end = first[part[0]], first[part[1]]
        return _counted(codes(start, end), lengths[start:end], many[part[0] : part[1]], orders)

    before = np.concatenate([[0], np.cumsum(lengths)])[first]  # how many symbols are before each row, and the end
    parts, start = [], 0
    while start < len(many):
        end = min(int(np.searchsorted(before, before[start] + _TOGETHER)), len(many))
        parts.append((start, end))
        start = end
    if not parts:
        nothing = np.zeros((orders, 0))
        return Counted(nothing, nothing, nothing)
    workers = min(threads(), len(parts) // _FEW)
    if workers < 2:
        done = list(map(counted, parts))
    else:
        with ThreadPoolExecutor(workers, thread_name_prefix="bsx-ngrams") as pool:
            done = list(pool.map(counted, parts))
    sides = ([getattr(one, name) for one in done] for name in ("candidate", "other", "matches"))
    return Counted(*(np.concatenate(side, axis=1) for side in sides))


def _counted(
    codes: NDArray[np.integer[Any]], lengths: NDArray[np.int64], many: NDArray[np.int64], orders: int
) -> Counted:
    """Count n-grams of texts whose symbols stand one after the other, as any numbers from 0; see `_count`.

    An n-gram is its symbols' bits in a row, with those of the row and of the text's place in it below them: sorted,
    equal ones stand together, and those of one row next to each other, the candidate's first. Behind each text stands
    a symbol that says its place, so what runs into the next text is in no other text.
    """
    seen = np.zeros(int(codes.max(initial=0)) + 1, dtype=bool)
    seen[codes] = True
    known = np.flatnonzero(seen)
    number = np.empty(len(seen), dtype=np.uint64)
    number[known] = np.arange(len(known))
    first = _starts(many)
    row = np.repeat(np.arange(len(many)), many)  # of each text
    side = np.arange(len(lengths)) - first[row]  # its place there: 0 the candidate, 1 and up the others
    rows, sides = len(many), int(side.max()) + 1
    ends = np.cumsum(lengths + 1) - 1
    line = np.empty(len(codes) + len(ends), dtype=np.uint64)
    inside = np.ones(len(line), dtype=bool)
    inside[ends] = False
    line[inside] = number[codes] + np.uint64(sides)
    line[ends] = side
    each, low = _bits(int(line.max())), _bits(sides - 1)
    below = low + _bits(rows - 1)
    owner = np.repeat((row.astype(np.uint64) << np.uint64(low)) | side.astype(np.uint64), lengths + 1)
    shared = np.zeros((orders, rows))
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
        counts = np.diff(ends, prepend=-1)
        runs = keys[ends]
        mine = np.flatnonzero((runs & kind(2**low - 1)) == 0)
        mine = mine[mine + 1 < len(runs)]
        together = runs >> kind(low)
        mine = mine[together[mine] == together[mine + 1]]
        best = counts[mine + 1]
        for further in range(2, sides):
            there = np.minimum(mine + further, len(runs) - 1)
            best = np.maximum(best, np.where(together[there] == together[mine], counts[there], 0))
        where = (together[mine].astype(np.int64)) & (2 ** (below - low) - 1)
        shared[order] = np.bincount(where, np.minimum(counts[mine], best), rows)
    longest = np.arange(orders)[:, None]
    own, other = (np.maximum(lengths[of] - longest, 0).astype(np.float64) for of in (first, first + 1))
    return Counted(own, other, shared)


def _bits(number: int) -> int:
    return max(1, number.bit_length())


_ENTITIES = (("<skipped>", ""), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_KNOWN = 100_000  # runs of letters that are remembered


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
        self._words = _numbers()
        self._runs: dict[str, list[int]] = {}  # the words of each run

    def __call__(self, texts: Sequence[str]) -> Words:
        """Return the words of texts; a number stands for the same word in all of them, but not in those of other calls.

        Each text is stripped of white space at its end.
        """
        page = "".join(texts)
        if "\n" in page:
            texts = [text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ") for text in texts]
        letters = map(chr, chain(range(1, 9), range(0xE000, sys.maxunicode)))
        end = next(letter for letter in letters if letter not in page)  # stands for the end of each text
        runs, places = placed(f" {end} ".join(["", *texts, ""]).split())
        if len(self._runs) > _KNOWN:
            self._runs, self._words = {}, _numbers()
        new = [run for run in runs[1:] if run not in self._runs]
        page = " \n ".join(["", *new, ""])
        for name, letter in _ENTITIES:
            page = page.replace(name, letter)
        for rule, by in self._rules:
            page = rule.sub(by, page)
        for run, cut in zip(new, page.split("\n")[1:-1], strict=True):
            self._runs[run] = list(map(self._words.__getitem__, cut.split()))
        several = [[], *map(self._runs.__getitem__, runs[1:])]
        distinct = Words(np.fromiter(chain.from_iterable(several), dtype=np.int64), _lengths(several))
        return Words(distinct.of(places), np.diff(np.cumsum(distinct.lengths[places])[places == 0]))


def _numbers() -> defaultdict[str, int]:
    """Return a table that numbers what is looked up, from 0."""
    return defaultdict(count().__next__)


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
