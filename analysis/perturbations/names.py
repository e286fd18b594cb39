"""Where the words of a parse stand in its text, and the names among them."""

from __future__ import annotations

from collections.abc import Sequence

from bsx.analysis.factors.parses import Parse
from bsx.catalog.words import words

Span = tuple[int, int]


def word_spans(text: str, parse: Parse) -> list[Span | None]:
    """Return where each word of a parse stands in its text.

    Parsers split some words into parts that the text does not spell out (*zum* into *zu* and *dem*): those have no
    place, and the next word is looked for a little further on.
    """
    spans: list[Span | None] = []
    at = pending = 0
    for word in parse.words:
        result = text.find(word, at)
        skipped = len("".join(text[at:result].split()))
        if result < 0 or not word or skipped > (pending + 4 if pending else 0):
            spans.append(None)
            pending += len(word)
            continue
        spans.append((result, result + len(word)))
        at, pending = result + len(word), 0
    return spans


def named(text: str, parse: Parse, lang: str) -> list[tuple[Span, str]]:
    """Return where the names of a text stand and of which kind each is, as far as a parse tells.

    Kinds are ``weekday``, ``month``, ``date`` (one of these among other words), ``number``, ``code`` (letters and
    digits), ``person`` (parts joined by the relation *flat*, as UD has it), ``acronym`` and ``name`` for all others.
    What has neither letters nor digits, or small letters alone, is no name.
    """
    results = [(span, _kind(text[slice(*span)], lang, flat=flat)) for span, flat in _runs(text, parse)]
    return [(span, kind) for span, kind in results if kind]


def _runs(text: str, parse: Parse) -> list[tuple[Span, bool]]:
    """Return where each name stands, and whether its parts are joined by *flat*."""
    runs: list[tuple[Span, bool]] = []
    follows = False
    relations = parse.deprels or ("",) * len(parse.words)
    for span, tag, relation in zip(word_spans(text, parse), parse.upos, relations, strict=True):
        if tag != "PROPN" or span is None:
            follows = False
            continue
        if follows and not text[runs[-1][0][1] : span[0]].strip(" -\u2010\u2011\u00a0"):
            before, flat = runs[-1]
            runs[-1] = ((before[0], span[1]), flat or relation.startswith("flat"))
        else:
            runs.append((span, False))
        follows = True
    return runs


def _kind(name: str, lang: str, *, flat: bool) -> str:
    dates = words(lang).dates
    months, weekdays = ({word.casefold() for word in listed} for listed in (dates.months, dates.weekdays))
    parts = set(name.casefold().split())
    if parts & (months | weekdays):
        return "month" if parts <= months else "weekday" if parts <= weekdays else "date"
    if name == name.lower() != name.upper():
        return ""  # where there are capitals, names have one: parsers err
    letters = any(character.isalpha() for character in name)
    if any(character.isdecimal() for character in name):
        return "code" if letters else "number"
    if not letters:
        return ""
    return "person" if flat else "acronym" if len(name) > 1 and name.isupper() else "name"


def names_of(texts: Sequence[str], parses: Sequence[Parse | None], lang: str) -> list[tuple[str, str]]:
    """Return the kinds and distinct names in texts, sorted."""
    parsed = [(text, parse) for text, parse in zip(texts, parses, strict=True) if parse is not None]
    return sorted({(kind, text[slice(*span)]) for text, parse in parsed for span, kind in named(text, parse, lang)})
