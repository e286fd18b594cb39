"""One word in place of another, from lists of forms that fit into the same place of a sentence."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Literal

import regex

from bsx.analysis.perturbations.base import Change, Item, register
from bsx.catalog.words import words

_OPENING = r"(?<=^[\"'“„«»¿¡(]*)"  # before the first word of a text, which has a capital that it has nowhere else
_VOWEL = regex.compile(r"(?i)[aeiouyâàäéèêëîïôöûüœæ]")
_SHORTENED = regex.compile(r"['’]$")
_SHORTENS = regex.compile(r"(?i)\b(?:le|la|de|que|je|ne|se|me|te|ce|au|du|ma|ta|sa|nouveau|vieux|lorsque)\s$")
_ARTICLE = regex.compile(r"\b([Aa])n?\s$")


def forms(table: str) -> Iterator[tuple[str, str]]:
    """Yield each word form of a list of words and what may stand for it, as `registry/perturbations/` writes them.

    >>> dict(forms("hoh/niedrig:e,en neu>alt"))
    {'hohe': 'niedrige', 'niedrige': 'hohe', 'hohen': 'niedrigen', 'niedrigen': 'hohen', 'neu': 'alt'}
    """
    for entry in table.split():
        pair, _, endings = entry.replace("_", " ").partition(":")
        first, other = regex.split("[/>]", pair)
        for ending in (endings or "-").split(","):
            tail = ending.strip("-")
            yield first + tail, other + tail
            if "/" in pair:
                yield other + tail, first + tail


@cache
def _listed(
    section: Literal["opposites", "modality", "synonyms"], lang: str
) -> tuple[dict[str, str], regex.Pattern[str], regex.Pattern[str]]:
    """Return what stands for each word form, and patterns of these forms and of set phrases."""
    listed, phrases = dict(forms(getattr(words(lang), section))), words(lang).set_phrases
    longest = sorted(listed, key=len, reverse=True)
    spelled = "|".join(map(regex.escape, longest))
    if lang in ("zh", "zh-hant"):
        return listed, regex.compile(spelled), regex.compile(phrases)
    opening = "|".join(regex.escape(_capitalised(word)) for word in longest)
    pattern = (
        rf"(?<![\p{{L}}\p{{N}}\-\u2010])(?:{spelled}|{_OPENING}(?:{opening}))(?![\p{{L}}\p{{N}}\-\u2010]|['’]\p{{L}})"
    )
    return listed, regex.compile(pattern), regex.compile(rf"(?i)\b(?:{phrases})")


def _substitution(section: Literal["opposites", "modality", "synonyms"]) -> Change:
    def change(item: Item, strength: float, rng: random.Random) -> str | None:
        lang, text = item.lang, item.text
        if lang == "zh" and _lacking(text, "gb2312") > _lacking(text, "big5"):
            lang = "zh-hant"
        listed, pattern, phrases = _listed(section, lang)
        taken = [match.span() for match in phrases.finditer(text)]
        results = []
        for match in pattern.finditer(text):
            start, end = match.span()
            word = match[0]
            new = listed.get(word) or _capitalised(listed[word[0].lower() + word[1:]])
            free = not any(start < after and before < end for before, after in taken)
            # "the left and the right": one of two opposites would stand there twice.
            free = free and (lang == "en" or new.lower() not in text.lower())
            if lang == "fr" and bool(_VOWEL.match(word)) != bool(_VOWEL.match(new)):  # l'ancien but le petit
                free = free and not (_SHORTENED if _VOWEL.match(word) else _SHORTENS).search(text[:start])
            if free:
                results.append((start, end, new))
        if not results:
            return None
        start, end, new = rng.choice(results)
        before = text[:start]
        if lang == "en":
            before = _ARTICLE.sub(r"\1n " if _VOWEL.match(new) else r"\1 ", before)
        return before + new + text[end:]

    return change


def _lacking(text: str, charset: str) -> int:
    """Count the characters that a charset has not: GB 2312 has the simplified ones, Big5 the traditional ones."""
    return len(text) - len(text.encode(charset, "ignore").decode(charset))


def _capitalised(word: str) -> str:
    return word[0].upper() + word[1:]


_LANGUAGES = ("de", "en", "es", "fr", "ru", "zh")

register(
    "opposites",
    "one word becomes its opposite: more less, rose fell, northern southern",
    False,
    languages=_LANGUAGES,
    acts_on="texts with a word of a list of opposites, outside set phrases",
    aim="sem",
    place=60,
)(_substitution("opposites"))
register(
    "modality",
    "what must be may be, or what may be must be",
    False,
    languages=_LANGUAGES,
    acts_on="texts with a modal verb or adverb of necessity or possibility that the lists know",
    aim="sem",
    place=70,
)(_substitution("modality"))
register(
    "synonyms",
    "one word becomes another that means the same: begin start, often frequently",
    True,
    languages=_LANGUAGES,
    acts_on="texts with a word of a list of synonyms, outside set phrases",
    aim="lex",
    place=160,
)(_substitution("synonyms"))
