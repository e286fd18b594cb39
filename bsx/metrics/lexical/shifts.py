"""Edits with shifts of words, as sacreBLEU counts them for TER, with rows of edit distances as the bits of numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from bsx.support.untyped import Untyped

# Limits of Tercom's and sacreBLEU's.
_LONGEST = 10  # words shifted together
_FARTHEST = 50  # words between two places
_BEAM = 25  # words on either side of the diagonal
_TRIED = 1000  # shifts


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


class Reference:
    """The words of a reference, to compare candidates with.

    Args:
        words: its words.
        slow: sacreBLEU's function, for pairs that are so different that its beam may miss the least edits.
    """

    def __init__(self, words: list[str], slow: Untyped) -> None:
        self._words = words
        self._slow = slow
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
        shifts = tried = 0
        while True:
            rows = self._rows(words)
            distance = rows.last[-1]
            if not shifts and other >= _BEAM and (distance + abs(own - other)) // 2 + 2 > _BEAM:
                # Some way with the least edits may leave the beam. A shift that counts only makes them fewer.
                edits, _ = self._slow(words, self._words)
                return int(edits)
            gain, tried, shifted = self._best_shift(words, rows, tried)
            if tried >= _TRIED or gain <= 0:
                return shifts + distance
            shifts += 1
            words = shifted

    def _rows(self, words: list[str]) -> _Rows:
        every = (1 << len(self._words)) - 1
        rows = _Rows([every], [0], [0], [len(self._words)])
        self._go_on(words, rows, 0, rows)
        return rows

    def _go_on(self, words: list[str], rows: _Rows, start: int, keep: _Rows | None = None) -> int:
        """Return the distance of a candidate that begins with ``start`` words of which the rows are known.

        Args:
            words: the words after those.
            rows: the known rows.
            start: how many words they are of.
            keep: where to put the further rows.
        """
        bits, every = self._bits.get, (1 << len(self._words)) - 1
        end = 1 << (len(self._words) - 1)
        up, down, last = rows.up[start], rows.down[start], rows.last[start]
        for word in words:
            equal = bits(word, 0)
            level = (((equal & up) + up) ^ up) | equal | down
            grown, fallen = down | ~(level | up), level & up
            if grown & end:
                last += 1
            elif fallen & end:
                last -= 1
            grown = grown << 1 | 1
            up, down = (fallen << 1 | ~(level | grown)) & every, level & grown & every
            if keep is not None:
                keep.up.append(up)
                keep.down.append(down)
                keep.level.append(level)
                keep.last.append(last)
        return last

    def _aligned(self, words: list[str], rows: _Rows) -> tuple[list[int], list[bool], list[bool]]:
        """Return where each word of the reference stands in a candidate, and which words of both are wrong.

        Of several ways with the least edits, sacreBLEU's: it takes words of both, else one of the candidate, else one
        of the reference.
        """
        i, j = len(words), len(self._words)
        align, wrong, lacking = [-1] * j, [True] * i, [True] * j
        while j > 0:
            if i and words[i - 1] == self._words[j - 1]:
                i, j = i - 1, j - 1
                wrong[i] = lacking[j] = False
                align[j] = i
            elif i and not rows.level[i] >> (j - 1) & 1:
                i, j = i - 1, j - 1
                align[j] = i
            elif i and rows.down[i - 1] >> (j - 1) & 1:
                i -= 1
            else:
                j -= 1
                align[j] = i - 1
        return align, wrong, lacking

    def _best_shift(self, words: list[str], rows: _Rows, tried: int) -> tuple[int, int, list[str]]:
        """Return the edits that the best shift saves, how many were tried by now, and the shifted words."""
        distance, n, m = rows.last[-1], len(words), len(self._words)
        if not distance:
            return 0, tried, words
        align, wrong, lacking = self._aligned(words, rows)
        best: tuple[int, int, int, int, list[str]] | None = None
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
                    rest = words[:start] + words[start + length :]
                    moved, before = words[start : start + length], -1
                    for offset in range(-1, length):
                        target = 0 if place + offset < 0 else align[place + offset] + 1
                        if target == before:
                            continue
                        before = target
                        # A place behind the words is counted with them, one among them without.
                        at = target - length if target > start + length else target
                        shifted = rest[:at] + moved + rest[at:]
                        same = min(start, at)
                        gain = distance - self._go_on(shifted[same:], rows, same)
                        tried += 1
                        found = (gain, length, -start, -target, shifted)
                        if best is None or found > best:
                            best = found
                    if tried >= _TRIED:
                        return 0, tried, words
        return (0, tried, words) if best is None else (best[0], tried, best[4])
