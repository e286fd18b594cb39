"""Changes by rules of each language: negation put in or taken out, and other ways to write the same.

Rules of negation act on the first place they fit and change words they know: auxiliaries, copulas, modals, articles.
Sentences with none of these are left alone, which is counted; a wrong negation would measure something else.
"""

from __future__ import annotations

import random
from typing import Literal

import regex

from bsx.analysis.perturbations.base import Change, Item, register
from bsx.catalog.words import words


@register(
    "negation",
    "takes a negation out of the text, or puts one in if there is none to take out",
    False,
    languages=("cs", "de", "en", "es", "fr", "hi", "id", "it", "ko", "nl", "pl", "pt", "ru", "sv", "tr", "zh"),
    acts_on="texts with an auxiliary, copula, modal or article that the rules know",
    aim="sem",
    place=50,
)
def _negation(item: Item, strength: float, rng: random.Random) -> str | None:
    def new(match: regex.Match[str]) -> str:
        put = match.expand(rule.put)
        return str(put[:1].upper() + put[1:] if match[0][0].isupper() else put)

    rules = words(item.lang).negation
    for listed, unless in ((rules.remove, rules.remove_unless), (rules.insert, rules.insert_unless)):
        if unless.search(item.text):
            continue
        for rule in listed:
            text = rule.find.sub(new, item.text, count=1)
            if text != item.text:
                return str(text)
    return None


def _rewriting(section: Literal["spelling", "marks", "contractions", "function_words"]) -> Change:
    """Return a change by rules in groups: the first group that changes a text counts."""

    def change(item: Item, strength: float, rng: random.Random) -> str | None:
        for group in getattr(words(item.lang), section):
            text = item.text
            for rule in group:
                text = rule.find.sub(rule.put, text)
            if text != item.text:
                return text
        return None

    return change


@register(
    "small-nouns",
    "nouns and names without capitals, as many people type",
    True,
    languages=("de",),
    acts_on="texts with a capital inside a sentence",
    place=100,
)
def _small_nouns(item: Item, strength: float, rng: random.Random) -> str | None:
    text = str(words(item.lang).small_nouns.sub(lambda match: match[0].lower(), item.text))
    return text if text != item.text else None


register(
    "spelling",
    "another accepted spelling: British or American, ß as ss or else ä as ae, the French one of 1990, ё as е",
    True,
    languages=("de", "en", "fr", "ru"),
    acts_on="texts with a word or letter that may be spelled in two ways",
    aim="lex",
    place=80,
)(_rewriting("spelling"))
register(
    "marks",
    "marks as they are written elsewhere: no ¿ and ¡, spaces before French marks, full-width marks half as wide",
    True,
    languages=("es", "fr", "ja", "zh"),
    acts_on="texts with such marks",
    place=90,
)(_rewriting("marks"))
register(
    "contractions",
    "contractions written out (don't: do not), or, if there are none, negated auxiliaries contracted",
    True,
    languages=("en",),
    acts_on="texts with such words; 's and 'd are left alone",
    aim="lex",
    place=70,
)(_rewriting("contractions"))
register(
    "function-words",
    "articles left out, in Chinese the particle of attributes, as in a telegram",
    True,
    languages=("en", "zh"),
    acts_on="texts with such a word inside; in Chinese, behind adjectives and persons that do without it",
    aim="lex",
    withdrawn=dict.fromkeys(("de", "es", "fr"), "without articles, inflections and set phrases break"),
    place=110,
)(_rewriting("function_words"))
