"""Where the words of a parse stand in its text, and the names among them."""

from __future__ import annotations

from collections.abc import Sequence

from bsx.analysis.factors.parses import Parse

Span = tuple[int, int]


def word_spans(text: str, parse: Parse) -> list[Span | None]:
    """Return where each word of a parse stands in its text.

    Parsers split some words into parts that the text does not spell out (*zum* into *zu* and *dem*): those have no
    place, and the next word is looked for a little further on.
    """
    spans: list[Span | None] = []
    at = pending = 0
    for word in parse.words:
        found = text.find(word, at)
        skipped = len("".join(text[at:found].split()))
        if found < 0 or not word or skipped > (pending + 4 if pending else 0):
            spans.append(None)
            pending += len(word)
            continue
        spans.append((found, found + len(word)))
        at, pending = found + len(word), 0
    return spans


def name_runs(text: str, parse: Parse) -> list[Span]:
    """Return where the names of a text stand: runs of words tagged PROPN with nothing but space or hyphens between."""
    runs: list[Span] = []
    follows = False
    for span, tag in zip(word_spans(text, parse), parse.upos, strict=True):
        if tag != "PROPN" or span is None:
            follows = False
            continue
        if follows and not text[runs[-1][1] : span[0]].strip(" -\u2010\u2011\u00a0"):
            runs[-1] = (runs[-1][0], span[1])
        else:
            runs.append(span)
        follows = True
    return runs


def names_of(texts: Sequence[str], parses: Sequence[Parse | None]) -> list[str]:
    """Return the distinct names in texts, sorted."""
    found = {
        text[start:end]
        for text, parse in zip(texts, parses, strict=True)
        if parse is not None
        for start, end in name_runs(text, parse)
    }
    return sorted(found)
