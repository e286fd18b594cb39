"""Whether rows of several systems are of the same segments: each once, with the same texts, by names of their own.

What cannot be told apart in print is refused; the rest is counted, for the commands that only report it.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Hashable, Iterable

import numpy as np

from bsx.errors import InputError

_TEXTS = re.compile(r"source|reference\d*")
_BLANK = dict.fromkeys(map(ord, "\u115f\u1160\u2800\u3164\uffa0"), " ")  # letters that show nothing


def printed(name: str) -> str:
    """Return what a reader sees of a name: without invisible characters, and any run of white space as one blank.

    >>> printed(" S\u00a01\u200b") == printed("S 1")
    True
    """
    if name.isascii() and name.isprintable() and "  " not in name and name == name.strip():
        return name
    shown = unicodedata.normalize("NFC", name).translate(_BLANK)
    return " ".join("".join(c for c in shown if c.isspace() or unicodedata.category(c) not in ("Cf", "Cc")).split())


def refuse_alike(names: Iterable[str], where: str) -> None:
    """Raise InputError for two names that differ, but only in what nobody sees, with their hidden characters spelled.

    The same name may stand there several times; ``where`` is the place, for the message.
    """
    seen: dict[str, str] = {}
    for name in dict.fromkeys(names):
        other = seen.setdefault(printed(name), name)
        if other != name:
            raise InputError(
                f"{where}: {other!a} and {name!a} look the same: they differ only in white space or "
                "characters that do not show; make them one name, or two"
            )


class Pairing:
    """Counts what is odd about rows of systems and segments, in 32 bytes a row."""

    def __init__(self) -> None:
        self._systems: set[str] = set()
        self._pairs, self._segments, self._texts, self._names = array("q"), array("q"), array("q"), array("q")

    def add(self, system: str, segment: Hashable, texts: Hashable = None, name: str = "") -> None:
        """Count in a row of a system and segment, whose references and source are ``texts``.

        Its segment is spelled ``name``, where ``segment`` is what a reader sees of that.
        """
        self._systems.add(system)
        self._pairs.append(hash((system, segment)))
        self._segments.append(hash(segment))
        self._texts.append(hash(texts))
        self._names.append(hash(name))

    def notes(self, *, missing: bool = True) -> list[str]:
        """Return one sentence each for rows that are there twice or missing, and names and texts that differ.

        What takes systems one by one, or only the segments that they share, lacks no rows: ``missing`` is False then.
        """
        if not self._systems:
            return []
        segments = np.frombuffer(self._segments, dtype=np.int64)
        pairs, several = len(np.unique(np.frombuffer(self._pairs, dtype=np.int64))), len(np.unique(segments))
        results = []
        if twice := len(segments) - pairs:
            results.append(
                f"{twice} of {len(segments)} rows have the system and segment of a row before them: both count"
            )
        cells = len(self._systems) * several
        if missing and several < pairs < cells:  # of segments that no two systems share, none is missing
            results.append(
                f"{cells - pairs} of {cells} pairs of system and segment have no row: the systems' figures are of "
                "different segments"
            )
        if count := self._differing(self._names):
            results.append(
                f"{count} of {several} segments have names that look the same in all rows but differ in white space or "
                "characters that do not show: they are taken as one"
            )
        if count := self._differing(self._texts):
            results.append(
                f"{count} of {several} segments have other references or sources in some rows than in others: what is "
                "called one segment is several"
            )
        return results

    def _differing(self, what: array[int]) -> int:
        """Return how many segments have something else in some rows than in others."""
        segments, values = (np.frombuffer(part, dtype=np.int64) for part in (self._segments, what))
        order = np.lexsort((values, segments))
        segments, values = segments[order], values[order]
        differ = (segments[1:] == segments[:-1]) & (values[1:] != values[:-1])
        return len(np.unique(segments[1:][differ]))


def is_text_of_segment(column: str) -> bool:
    """Tell whether a column of this name holds a source or a reference, which all systems have in common."""
    return _TEXTS.fullmatch(column) is not None
