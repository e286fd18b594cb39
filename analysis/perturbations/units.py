"""Words and characters of any script: where they stand in a text."""

from __future__ import annotations

import math

import regex

Span = tuple[int, int]

# Scripts that put no space between words; the long-vowel mark belongs to two of them and so to neither.
UNSPACED = (
    r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30fc\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}"
    r"\p{Script=Myanmar}\p{Script=Tibetan}"
)
_UNSPACED = regex.compile(f"[{UNSPACED}]")
_INSIDE = rf"[^\s\p{{P}}{UNSPACED}]"
# A word keeps such a mark that stands alone between two of its letters: don't, well-known, 3.5.
_UNIT = regex.compile(rf"(?=[{UNSPACED}])(?!\p{{P}})\X|{_INSIDE}+(?:['’\-\u2010\u2011.,:·_@&/\u05f3\u05f4]{_INSIDE}+)*")
_CLUSTER = regex.compile(r"\X")


def units(text: str) -> list[Span]:
    """Return where the words of a text stand, without the punctuation around them.

    Of scripts that put no space between words (Han, Kana, Thai, Lao, Khmer, Burmese, Tibetan) each character, with the
    marks that belong to it, is a unit.

    >>> [("I don't, 3.5 km!")[start:end] for start, end in units("I don't, 3.5 km!")]
    ['I', "don't", '3.5', 'km']
    >>> [("我用iPhone。")[start:end] for start, end in units("我用iPhone。")]
    ['我', '用', 'iPhone']
    """
    return [match.span() for match in _UNIT.finditer(text)]


def characters(text: str) -> list[str]:
    """Return the characters of a text as a reader counts them: a letter with its accents, an emoji with its parts."""
    return [str(cluster) for cluster in _CLUSTER.findall(text)]


def unspaced(text: str) -> bool:
    """Tell whether a text has a character of a script that puts no space between words."""
    return _UNSPACED.search(text) is not None


def share(count: int, strength: float, *, least: int = 1) -> int:
    """Return how many of ``count`` things a strength stands for: rounded, at least ``least`` where there are so many.

    >>> share(10, 0.25), share(3, 0.1), share(1, 1.0, least=2)
    (3, 1, 1)
    """
    return min(count, max(least, math.floor(strength * count + 0.5)))
