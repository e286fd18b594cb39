"""Negation put in or taken out, by rules for each language that act on the first place they fit.

They change words they know: auxiliaries, copulas, modals, articles. Sentences with none of these are left alone, which
is counted; a wrong negation would measure something else.
"""

from __future__ import annotations

import random

import regex

from bsx.analysis.perturbations.base import Item, register
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
