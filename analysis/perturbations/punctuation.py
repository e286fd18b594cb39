"""Punctuation, quotation marks and spaces."""

from __future__ import annotations

import random
from itertools import pairwise

import regex

from bsx.analysis.perturbations.base import Item, register
from bsx.analysis.perturbations.units import UNSPACED, share, units

# Marks that say something rather than divide, and marks inside a word or number, stay: 5%, don't, well-known, 3.5, -2.
_MEANS = r"%‰&@#*/§¶_"
_INSIDE = r"(?<=[\p{L}\p{N}])['’\-\u2010\u2011.,:·](?=[\p{L}\p{N}])"
_MINUS = r"(?<![\p{L}\p{N}])[-−](?=\p{N})"
_MARKS = regex.compile(rf"(?:(?!{_INSIDE}|{_MINUS}|[{_MEANS}])\p{{P}})+")
_COMMAS = ((r"\p{Script=Han}", "，"), (r"[\p{Script=Hiragana}\p{Script=Katakana}]", "、"), (r"\p{Script=Arabic}", "،"))
_JOINED = regex.compile(rf"[\s{UNSPACED}]")

_STRAIGHT = str.maketrans(dict.fromkeys("“”„‟«»", '"') | dict.fromkeys("‘’‚‛‹›", "'"))
# Opening and closing, double and single; English ones where a language is not listed.
_QUOTES = {
    "pl": "„”‚’",
    "fr": "«»‹›",
    **dict.fromkeys(("de", "cs", "sk"), "„“‚‘"),
    **dict.fromkeys(("es", "it"), "«»‘’"),
    **dict.fromkeys(("ru", "uk"), "«»„“"),
    **dict.fromkeys(("fi", "sv"), "””’’"),
}


@register(
    "no-punctuation",
    "without punctuation, except inside words and numbers and signs such as %",
    True,
    acts_on="texts with punctuation",
    aim="surface",
    place=10,
)
def _remove(item: Item, strength: float, rng: random.Random) -> str | None:
    text = item.text
    results = [match.span() for match in _MARKS.finditer(text)]
    if not results:
        return None
    for start, end in reversed(results):
        before, after = text[:start], text[end:]
        # Words that only a dash held apart do not become one; no space is left over either.
        if before[-1:].isspace() and (not after or after[0].isspace()):
            before = before[:-1]
        spaced = not before or not after or _JOINED.match(before[-1]) or _JOINED.match(after[0])
        text = before + ("" if spaced else " ") + after
    return text.strip()


@register(
    "extra-punctuation",
    "commas, of the script, behind a share of the words",
    True,
    acts_on="texts in which one word follows another",
    graded=True,
    aim="surface",
    place=120,
)
def _add(item: Item, strength: float, rng: random.Random) -> str | None:
    text = item.text
    # Behind a word that another follows with nothing but space between.
    spans = units(text)
    places = [(start, end) for (start, end), (after, _) in pairwise(spans) if not text[end:after].strip()]
    if not places:
        return None
    for start, end in sorted(rng.sample(places, share(len(places), strength)), reverse=True):
        word = text[start:end]
        comma = next((comma for script, comma in _COMMAS if regex.search(script, word)), ",")
        text = text[:end] + ("、" if item.lang == "ja" else comma) + text[end:]
    return text


@register(
    "quotes",
    "typographic quotation marks and apostrophes made straight, or, if there are none, straight ones typographic",
    True,
    acts_on="texts with quotation marks or apostrophes",
    aim="surface",
    place=50,
)
def _quotes(item: Item, strength: float, rng: random.Random) -> str | None:
    if any(ord(mark) in _STRAIGHT for mark in item.text):
        return item.text.translate(_STRAIGHT)
    if not any(mark in item.text for mark in "\"'"):
        return None
    double_open, double_close, single_open, single_close = tuple(_QUOTES.get(item.lang, "“”‘’"))
    text = item.text
    if item.lang != "en":
        # Marks must open and close in turn: none stands alone or between two spaces.
        marks = [(text[: mark.start()][-1:], text[mark.end() :][:1]) for mark in regex.finditer(r"``|''|\"", text)]
        opens = [before in (*" (-–—[«„“‘", "") and not after.isspace() for before, after in marks]
        if opens != [True, False] * (len(marks) // 2):
            return None
        text = regex.sub(r"``|''", '"', text)
        text = regex.sub(r"(?<=\p{L})'(?=\s|$)", "’", text) if text.count("'") == 1 else text
    text = regex.sub(r"(?<![^\s\p{Ps}\p{Pd}])\"(?=\S)", double_open, text).replace('"', double_close)
    text = regex.sub(r"(?<=\p{L})'(?=\p{L})", "’", text)
    return str(regex.sub(r"(?<![^\s\p{Ps}\p{Pd}])'(?=\S)", single_open, text).replace("'", single_close))


@register("spacing", "two spaces where there was white space", True, acts_on="texts with white space", place=60)
def _spacing(item: Item, strength: float, rng: random.Random) -> str | None:
    text = item.text.strip()
    return str(regex.sub(r"\s+", "  ", text)) if regex.search(r"\s", text) else None
