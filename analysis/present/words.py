"""Texts side by side: which words of one differ from another, and what each metric made of two of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter

from bsx.analysis.present.cells import NONE, SHOWN, number, table_of
from bsx.analysis.present.cells import text as cell
from bsx.analysis.present.parts import Cell, Example, Part, Prose, TextRun

# Scripts without spaces between words are compared character by character.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PIECE = re.compile(rf"\s*(?:[{_UNSPACED}]|[^\W{_UNSPACED}]+(?:['’][^\W{_UNSPACED}]+)*|[^\w\s])\s*|\s+")
_LONG = 1000  # pieces from which difflib may take its shortcut; without it the time grows with the square


def differing(text: str, base: str) -> tuple[TextRun, ...]:
    """Return a text in pieces, with those marked that a shortest edit of ``base`` has to put in.

    Args:
        text: to be shown.
        base: what it is compared with, in which white space does not count.

    >>> [(run.text, run.differs) for run in differing("He never rings.", "He never calls.")]
    [('He never ', False), ('rings', True), ('.', False)]
    """
    pieces, other = _PIECE.findall(text), _PIECE.findall(base)
    ours, theirs = [piece.strip() for piece in pieces], [piece.strip() for piece in other]
    matcher = SequenceMatcher(None, theirs, ours, autojunk=len(pieces) > _LONG)
    kept = {place for block in matcher.get_matching_blocks() for place in range(block.b, block.b + block.size)}
    parts: list[tuple[str, bool]] = []
    for place, (piece, core) in enumerate(zip(pieces, ours, strict=True)):
        # White space round a marked word is not marked.
        before, marked, after = piece.partition(core) if core and place not in kept else ("", "", piece)
        parts += [(before, False), (marked, True), (after, False)]
    runs = groupby((part for part in parts if part[0]), key=itemgetter(1))
    return tuple(TextRun("".join(piece for piece, _ in run), differs) for differs, run in runs)


def example(
    title: str,
    texts: Sequence[tuple[str, str | None, str | None]],
    scores: Mapping[str, tuple[float, float]],
    heads: tuple[str, str],
    verdicts: tuple[str, str, str] = ("right", "tie", "fooled"),
    pairs: tuple[tuple[str, str, str], ...] = (),
) -> Example:
    """Return texts side by side, with every metric's scores of two of them.

    Args:
        title: which example.
        texts: label, text (None for one that is not there), and what its marks show the difference from, if anything.
        scores: metric -> of the first and of the second of the two.
        heads: what these are.
        verdicts: on a first score that is higher, equal or lower.
        pairs: as of `bsx.analysis.present.parts.Example`.
    """

    def verdict(first: float, second: float) -> str:
        return NONE if math.isnan(first - second) else verdicts[0 if first > second else 1 if first == second else 2]

    columns: dict[str, Callable[[tuple[str, tuple[float, float]]], Cell]] = {
        "metric": lambda row: cell(row[0]),
        heads[0]: lambda row: number(row[1][0]),
        heads[1]: lambda row: number(row[1][1]),
        "difference": lambda row: number(row[1][0] - row[1][1]),
        "verdict": lambda row: cell(verdict(*row[1])),
    }
    runs = [
        (label, differing(text, base) if base is not None else (TextRun(text, False),))
        for label, text, base in texts
        if text is not None
    ]
    return Example(title, tuple(runs), table_of("Scores", scores.items(), columns, sortable=False), pairs=pairs)


def examples(what: str, shown: Sequence[Example]) -> Iterator[Part]:
    """Yield what examples are of, and these, all but the first few folded away."""
    if shown:
        marked = "Marked: what a shortest edit, word by word, takes out of the one text and puts into the other."
        yield Prose(f"{what} {marked}", full=True)
    yield from (replace(item, folded=place >= SHOWN) for place, item in enumerate(shown))
