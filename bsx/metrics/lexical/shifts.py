"""Edits with shifts of words, as sacreBLEU counts them for TER (Snover et al. 2006; Tercom).

Again and again, the shift of words is made that saves most edits, until none saves any. What takes time are the edit
distances, thousands of them: a row of their table is two numbers here, with a bit for each word of the reference, so
that a word of the candidate is a handful of operations on whole rows (Myers 1999), and a shift is computed from the
first row that it changes to the first that it leaves as it was. Names are those of Hyyrö 2003, A bit-vector algorithm
for computing Levenshtein distances, whose pattern is the reference and whose text is the candidate.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import ceil, floor

# Limits of Tercom's and sacreBLEU's.
_LONGEST = 10  # words shifted together
_FARTHEST = 50  # words between two places
_BEAM = 25  # words on either side of the diagonal
_TRIED = 1000  # shifts
_STRIDE = 8  # words between two looks at what a shift can still save


@dataclass
class _Rows:
    """The edit distances of the beginnings of a candidate and a reference, a row for each word of the candidate.

    Attributes:
        vp: a bit for each column whose distance is greater by 1 than that of the column before.
        vn: for each whose distance is less by 1.
        d0: for each whose distance is that of the cell before, in the row above.
        last: the distance of the whole reference.
    """

    vp: list[int] = field(default_factory=list)
    vn: list[int] = field(default_factory=list)
    d0: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)


@dataclass
class _Cells:
    """Which cells of the table are looked at.

    A cell to the left of them counts as the one above it and 1, a cell to the right as the one before it and 1. So
    neighbours differ by 1 at most, as the bits need it, and no way to a cell that is looked at gains by leaving them,
    as long as equal words count only where the cell before, in the row above, is looked at too.

    Attributes:
        low: the first column that is looked at, a row (n + 1,).
        high: the one behind the last (n + 1,).
        masks: for each of the candidate's n words, columns as bits (n, 5): where equal words count; those to the left;
            those looked at; those to the right; the last one looked at, which the right differs from the row above by.
    """

    low: list[int]
    high: list[int]
    masks: list[tuple[int, int, int, int, int]]

    @classmethod
    def all(cls, n: int, m: int) -> _Cells:
        """Return all cells of a candidate of n words and a reference of m."""
        every = (1 << m) - 1
        return cls([0] * (n + 1), [m + 1] * (n + 1), [(every, 0, every, 0, 1 << m - 1)] * n)

    @classmethod
    def beam(cls, n: int, m: int) -> _Cells:
        """Return those near the diagonal, as sacreBLEU does."""
        ratio = m / n
        width = ceil(ratio / 2 + _BEAM) if ratio / 2 > _BEAM else _BEAM
        diagonal = [floor(row * ratio) for row in range(n + 1)]
        low = [0, *(max(0, column - width) for column in diagonal[1:])]
        high = [m + 1, *(min(m + 1, column + width) for column in diagonal[1:-1]), m + 1]
        every, masks = (1 << m) - 1, []
        for row in range(1, n + 1):
            first, end = max(low[row], low[row - 1] + 1), min(high[row], high[row - 1] + 1)
            left, upto = (1 << max(low[row], 1) - 1) - 1, (1 << high[row] - 1) - 1
            equal = (1 << end - 1) - (1 << first - 1)
            masks.append((equal, left, upto ^ left, every ^ upto, 1 << high[row] - 2))
        return cls(low, high, masks)


class Reference:
    """The words of a reference, to compare candidates with."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._counts = Counter(words)
        self._bits: dict[str, int] = {}
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(words):
            self._bits[word] = self._bits.get(word, 0) | 1 << place
            self._places.setdefault(word, []).append(place)

    def edits(self, words: list[str]) -> int:
        """Return the least edits and shifts that sacreBLEU finds between a candidate and this reference."""
        n, m = len(words), len(self._words)
        if not n or not m:
            return n + m
        # However its words are shifted, those that only one side has are wrong.
        fewest = max(n, m) - (Counter(words) & self._counts).total()
        every = cells = _Cells.all(n, m)
        rows = self._rows(words, every)
        if m >= _BEAM and (rows.last[-1] + abs(n - m)) // 2 + 2 > _BEAM:
            # Some way with the least edits may leave the beam. If none does, none will: a shift makes edits fewer.
            cells = _Cells.beam(n, m)
        shifts = tried = 0
        while True:
            least = rows.last[-1]
            if cells is not every:
                rows = self._rows(words, cells)
            gain, tried, shifted = self._best_shift(words, rows, cells, fewest, least, tried)
            if gain <= 0:
                return shifts + rows.last[-1]
            shifts += 1
            words = shifted
            rows = self._rows(words, every)

    def _rows(self, words: list[str], cells: _Cells) -> _Rows:
        rows = _Rows([(1 << len(self._words)) - 1], [0], [0], [len(self._words)])
        self._advance(words, cells, 0, (rows.vp[0], rows.vn[0], rows.last[0]), rows)
        return rows

    def _advance(
        self, words: list[str], cells: _Cells, start: int, row: tuple[int, int, int], rows: _Rows | None = None
    ) -> tuple[int, int, int]:
        """Return ``vp``, ``vn`` and ``last`` of a row from those of the row ``start``, given the words between the two.

        The further rows go to ``rows``; see `_Rows`.
        """
        vp, vn, last = row
        places = self._bits.get
        for word, (allowed, left, inside, right, end) in zip(words, cells.masks[start:], strict=False):
            equal = places(word, 0) & allowed
            d0 = (((equal & vp) + vp) ^ vp) | equal | vn
            hp, hn = vn | ~(d0 | vp) | left, d0 & vp  # where the distance grows and falls from the row above
            if hp & end:
                last += 1
            elif hn & end:
                last -= 1
            hp = hp << 1 | 1
            vp, vn = (hn << 1 | ~(d0 | hp)) & inside | right, d0 & hp & inside
            if rows is not None:
                rows.vp.append(vp)
                rows.vn.append(vn)
                rows.d0.append(d0)
                rows.last.append(last)
        return vp, vn, last

    def _aligned(self, words: list[str], rows: _Rows, cells: _Cells) -> tuple[list[int], list[bool], list[bool]]:
        """Return where each word of the reference stands in a candidate, and which words of both are wrong.

        Of several ways with the least edits, sacreBLEU's: it takes words of both, else one of the candidate, else one
        of the reference.
        """
        i, j = len(words), len(self._words)
        align, wrong, lacking = [-1] * j, [True] * i, [True] * j
        while i > 0 and j > 0:
            equal = words[i - 1] == self._words[j - 1]
            if cells.low[i - 1] < j <= cells.high[i - 1] and (equal or not rows.d0[i] >> (j - 1) & 1):
                i, j = i - 1, j - 1
                align[j] = i
                if equal:
                    wrong[i] = lacking[j] = False
            elif j <= cells.low[i - 1] or rows.vn[i - 1] >> (j - 1) & 1:
                i -= 1
            else:
                j -= 1
                align[j] = i - 1
        return align, wrong, lacking

    def _best_shift(
        self, words: list[str], rows: _Rows, cells: _Cells, fewest: int, least: int, tried: int
    ) -> tuple[int, int, list[str]]:
        """Return the edits that the best shift saves, how many were tried by now, and the shifted words.

        ``fewest`` edits are left after any number of shifts, ``least`` without shifts if all cells are looked at.
        """
        distance, n = rows.last[-1], len(words)
        if distance <= fewest:
            return 0, tried, words
        shifts, tried = self._shifts(words, rows, cells, tried)
        if tried >= _TRIED:
            return 0, tried, words
        gain, best = 0, words
        # Of shifts that save the same, the longest is best, then that of the earliest words, then that to the front.
        for length, start, target in sorted(shifts, key=lambda shift: (-shift[0], *shift[1:])):
            # Words that are taken out and put in again are two edits each.
            if gain >= distance - max(fewest, least - 2 * length):
                break
            rest = words[:start] + words[start + length :]
            # A place behind the words is counted with them, one among them without.
            at = target - length if target > start + length else min(target, len(rest))
            shifted = rest[:at] + words[start : start + length] + rest[at:]
            row, to = min(start, at), max(start, at) + length
            state = self._advance(shifted[row:to], cells, row, (rows.vp[row], rows.vn[row], rows.last[row]))
            while to < n and _most(rows, to, *state) > gain and state[:2] != (rows.vp[to], rows.vn[to]):
                state = self._advance(shifted[to : to + _STRIDE], cells, to, state)
                to = min(n, to + _STRIDE)
            if (saved := rows.last[to] - state[2]) > gain:
                gain, best = saved, shifted
        return gain, tried, best

    def _shifts(
        self, words: list[str], rows: _Rows, cells: _Cells, tried: int
    ) -> tuple[set[tuple[int, int, int]], int]:
        """Return the shifts to try (how many words, from where, to where), and how many are tried with them."""
        n, m = len(words), len(self._words)
        align, wrong, lacking = self._aligned(words, rows, cells)
        shifts = set[tuple[int, int, int]]()
        for start, word in enumerate(words):
            for place in self._places.get(word, ()):
                if abs(place - start) > _FARTHEST:
                    continue
                most = min(_LONGEST, n - start, m - place)
                length = wrong_words = lacking_words = 0
                while length < most and words[start + length] == self._words[place + length]:
                    wrong_words += wrong[start + length]
                    lacking_words += lacking[place + length]
                    length += 1
                    if not wrong_words or not lacking_words or start <= align[place] < start + length:
                        continue
                    before = -1
                    for offset in range(-1, length):
                        target = 0 if place + offset < 0 else align[place + offset] + 1
                        if target != before:
                            shifts.add((length, start, target))
                            tried += 1
                        before = target
                    if tried >= _TRIED:
                        return shifts, tried
        return shifts, tried


def _most(rows: _Rows, row: int, vp: int, vn: int, last: int) -> int:
    """Return how many edits another beginning saves at most if the words go on as they do."""
    greater, less = vp & ~rows.vp[row], rows.vn[row] & ~vn
    return rows.last[row] - last + greater.bit_count() + less.bit_count()
