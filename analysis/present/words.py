"""Which words of a text differ from another text."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from bsx.analysis.present.parts import TextRun

# Scripts without spaces between words are compared character by character.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PIECE = re.compile(rf"\s*(?:[{_UNSPACED}]|[^\W{_UNSPACED}]+(?:['’][^\W{_UNSPACED}]+)*|[^\w\s])\s*|\s+")
_LONG = 1000  # pieces from which difflib may take its shortcut; without it the time grows with the square


def plain(text: str) -> tuple[TextRun, ...]:
    """Return a text in which nothing is marked."""
    return (TextRun(text, False),)


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
    runs: list[TextRun] = []
    for place, piece in enumerate(pieces):
        differs = place not in kept
        if differs:  # white space round a marked word is not marked
            core = piece.strip()
            start = piece.index(core) if core else 0
            parts = [(piece[:start], False), (core, True), (piece[start + len(core) :], False)]
        else:
            parts = [(piece, False)]
        for part, mark in parts:
            if not part:
                continue
            if runs and runs[-1].differs == mark:
                runs[-1] = TextRun(runs[-1].text + part, mark)
            else:
                runs.append(TextRun(part, mark))
    return tuple(runs)
