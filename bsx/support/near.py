"""Near misses: the names a person may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST = 5


def near(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names nearest in spelling to ``name``, best first; comparison ignores case.

    >>> near("roberta-lage", ["minilm", "roberta-large"])
    ['roberta-large']
    """
    by_lower: dict[str, str] = {}
    for candidate in known:
        by_lower.setdefault(candidate.lower(), candidate)
    wanted = name.lower()
    close = difflib.get_close_matches(wanted, by_lower, n=_MOST, cutoff=0.55)
    close += [low for low in by_lower if len(wanted) > 2 and wanted in low and low not in close]
    return [by_lower[low] for low in close[:_MOST]]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``" Near: a, b."`` for an error message, or an empty string when nothing is near."""
    close = near(name, known)
    return f" Near: {', '.join(close)}." if close else ""
