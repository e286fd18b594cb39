"""Small words left out that a reader puts back without thinking."""

from __future__ import annotations

import random

import regex

from bsx.analysis.perturbations.base import Item, Perturbation

# Articles, and in Chinese the particle of attributes. Where a pronoun is spelled like an article, only those that a
# preposition in front of them gives away.
_FUNCTION_WORDS = {
    "de": r"(?<=(?<!, )\b(?:in|an|auf|aus|bei|mit|nach|von|zu|für|durch|gegen|über|unter|vor|seit|während|wegen) )"
    r"(?:der|die|das|den|dem|des) (?=(?:\p{Ll}+e[nrsm]? ){0,2}\p{Lu})",
    "en": r"(?<![\p{L}\p{N}'’-])(?:the|a|an) (?=[\p{L}\p{N}])",
    "es": r"(?<=\b(?:en|con|por|para|sobre|entre|desde|hasta|contra|hacia|según|durante|tras|de|a) )"
    r"(?:el|la|los|las|unos|unas|un|una) (?=(?!que\b|cual)\p{L})",
    "fr": r"(?<=\b(?:dans|sur|sous|avec|chez|entre|vers|contre|pendant|devant|derrière) )"
    r"(?:(?:les|le|la|des|une|un) |l['’])(?=(?!quel)\p{L})",
    "zh": r"(?<=\p{Script=Han})(?<![目标標是])的(?=\p{Script=Han})(?![确確士话話时時])",
}
_PATTERNS = {lang: regex.compile(pattern) for lang, pattern in _FUNCTION_WORDS.items()}


def _function_words(item: Item, strength: float, rng: random.Random) -> str | None:
    text = str(_PATTERNS[item.lang].sub("", item.text))
    return text if text != item.text else None


FUNCTION_WORDS = Perturbation(
    "function-words",
    "articles left out, in Chinese the particle of attributes, as in a telegram",
    True,
    _function_words,
    languages=tuple(_PATTERNS),
    acts_on="texts with such a word inside; German, French and Spanish articles behind a preposition",
)
