"""Edits with shifts of words, as sacreBLEU counts them for TER, with rows of edit distances as the bits of numbers."""

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

    What the table has from one column to the next is +1, -1 or 0: two numbers with a bit for each word of the
    reference. Sources: Myers 1999; Hyyrö 2003, A bit-vector algorithm for computing Levenshtein distances.

    Attributes:
        up: where the distance grows by 1.
        down: where it falls by 1.
        level: where it is that of the cell before, in the row above.
        last: the distance of the whole reference.
    """

    up: list[int] = field(default_factory=list)
    down: list[int] = field(default_factory=list)
    level: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)


@dataclass
class _Cells:
    """Which cells of the table are looked at.

    A cell to the left of them counts as the one above it and 1, a cell to the right as the one before it and 1. So
    neighbours differ by 1 at most, as the bits need it, and no way to a cell that is looked at gains by leaving them,
    as long as equal words count only where the cell before, in the row above, is looked at too.

    Attributes:
        low: the first column that is looked at, a row (own + 1,).
        high: the one behind the last (own + 1,).
        masks: for each word of the candidate, columns as bits (own, 5): where equal words count; those to the left;
            those looked at; those to the right; the last one looked at, which the right differs from the row above by.
    """

    low: list[int]
    high: list[int]
    masks: list[tuple[int, int, int, int, int]]

    @classmethod
    def all(cls, own: int, other: int) -> _Cells:
        """Return those of a candidate and a reference of so many words."""
        every = (1 << other) - 1
        return cls([0] * (own + 1), [other + 1] * (own + 1), [(every, 0, every, 0, 1 << other - 1)] * own)

    @classmethod
    def beam(cls, own: int, other: int) -> _Cells:
        """Return those near the diagonal, as sacreBLEU does."""
        ratio = other / own
        width = ceil(ratio / 2 + _BEAM) if ratio / 2 > _BEAM else _BEAM
        diagonal = [floor(row * ratio) for row in range(own + 1)]
        low = [0, *(max(0, column - width) for column in diagonal[1:])]
        high = [other + 1, *(min(other + 1, column + width) for column in diagonal[1:-1]), other + 1]
        every, masks = (1 << other) - 1, []
        for row in range(1, own + 1):
            first, end = max(low[row], low[row - 1] + 1), min(high[row], high[row - 1] + 1)
            left, upto = (1 << max(low[row], 1) - 1) - 1, (1 << high[row] - 1) - 1
            equal = (1 << end - 1) - (1 << first - 1)
            masks.append((equal, left, upto ^ left, every ^ upto, 1 << high[row] - 2))
        return cls(low, high, masks)


class Reference:
    """The words of a reference, to compare candidates with.

    Args:
        words: its words.
    """

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
        own, other = len(words), len(self._words)
        if not own or not other:
            return own + other
        # However its words are shifted, those that only one side has are wrong.
        fewest = max(own, other) - (Counter(words) & self._counts).total()
        every = cells = _Cells.all(own, other)
        rows = self._rows(words, every)
        if other >= _BEAM and (rows.last[-1] + abs(own - other)) // 2 + 2 > _BEAM:
            # Some way with the least edits may leave the beam. If none does, none will: a shift makes edits fewer.
            cells = _Cells.beam(own, other)
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
        self._go_on(words, cells, 0, rows.up[0], rows.down[0], rows.last[0], rows)
        return rows

    def _go_on(
        self, words: list[str], cells: _Cells, start: int, up: int, down: int, last: int, keep: _Rows | None = None
    ) -> tuple[int, int, int]:
        """Return ``up``, ``down`` and ``last`` of a row from those of an earlier one; see `_Rows`.

        Args:
            words: the words between the two.
            cells: which are looked at.
            start: the earlier row.
            up: of it.
            down: of it.
            last: of it.
            keep: where to put the further rows.
        """
        bits = self._bits.get
        for word, (allowed, left, inside, right, end) in zip(words, cells.masks[start:], strict=False):
            equal = bits(word, 0) & allowed
            level = (((equal & up) + up) ^ up) | equal | down
            grown, fallen = down | ~(level | up) | left, level & up
            if grown & end:
                last += 1
            elif fallen & end:
                last -= 1
            grown = grown << 1 | 1
            up, down = (fallen << 1 | ~(level | grown)) & inside | right, level & grown & inside
            if keep is not None:
                keep.up.append(up)
                keep.down.append(down)
                keep.level.append(level)
                keep.last.append(last)
        return up, down, last

    def _aligned(self, words: list[str], rows: _Rows, cells: _Cells) -> tuple[list[int], list[bool], list[bool]]:
        """Return where each word of the reference stands in a candidate, and which words of both are wrong.

        Of several ways with the least edits, sacreBLEU's: it takes words of both, else one of the candidate, else one
        of the reference.
        """
        i, j = len(words), len(self._words)
        align, wrong, lacking = [-1] * j, [True] * i, [True] * j
        while i > 0 and j > 0:
            equal = words[i - 1] == self._words[j - 1]
            if cells.low[i - 1] < j <= cells.high[i - 1] and (equal or not rows.level[i] >> (j - 1) & 1):
                i, j = i - 1, j - 1
                align[j] = i
                if equal:
                    wrong[i] = lacking[j] = False
            elif j <= cells.low[i - 1] or rows.down[i - 1] >> (j - 1) & 1:
                i -= 1
            else:
                j -= 1
                align[j] = i - 1
        return align, wrong, lacking

    def _best_shift(
        self, words: list[str], rows: _Rows, cells: _Cells, fewest: int, least: int, tried: int
    ) -> tuple[int, int, list[str]]:
        """Return the edits that the best shift saves, how many were tried by now, and the shifted words.

        Args:
            words: of the candidate.
            rows: theirs.
            cells: those of the rows.
            fewest: edits that are left after any number of shifts.
            least: edits without shifts, all cells looked at.
            tried: shifts that were tried before.
        """
        distance, n = rows.last[-1], len(words)
        if distance <= fewest:
            return 0, tried, words
        found, tried = self._shifts(words, rows, cells, tried)
        if tried >= _TRIED:
            return 0, tried, words
        gain, best = 0, words
        # Of shifts that save the same, the longest is best, then that of the earliest words, then that to the front.
        for length, start, target in sorted(found, key=lambda shift: (-shift[0], *shift[1:])):
            # Words that are taken out and put in again are two edits each.
            if gain >= distance - max(fewest, least - 2 * length):
                break
            rest = words[:start] + words[start + length :]
            # A place behind the words is counted with them, one among them without.
            at = target - length if target > start + length else min(target, len(rest))
            shifted = rest[:at] + words[start : start + length] + rest[at:]
            row, to = min(start, at), max(start, at) + length
            state = self._go_on(shifted[row:to], cells, row, rows.up[row], rows.down[row], rows.last[row])
            while to < n and _most(rows, to, *state) > gain and state[:2] != (rows.up[to], rows.down[to]):
                state = self._go_on(shifted[to : to + _STRIDE], cells, to, *state)
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
        found = set[tuple[int, int, int]]()
        for start, word in enumerate(words):
            for place in self._places.get(word, ()):
                if abs(place - start) > _FARTHEST:
                    continue
                most = min(_LONGEST, n - start, m - place)
                length = amiss = astray = 0
                while length < most and words[start + length] == self._words[place + length]:
                    amiss += wrong[start + length]
                    astray += lacking[place + length]
                    length += 1
                    if not amiss or not astray or start <= align[place] < start + length:
                        continue
                    before = -1
                    for offset in range(-1, length):
                        target = 0 if place + offset < 0 else align[place + offset] + 1
                        if target != before:
                            found.add((length, start, target))
                            tried += 1
                        before = target
                    if tried >= _TRIED:
                        return found, tried
        return found, tried


def _most(rows: _Rows, row: int, up: int, down: int, last: int) -> int:
    """Return how many edits another beginning saves at most if the words go on as they do."""
    grown, fallen = up & ~rows.up[row], rows.down[row] & ~down
    return rows.last[row] - last + grown.bit_count() + fallen.bit_count()
