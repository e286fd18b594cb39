"""English word forms by rule: number of nouns; third person, past and participle of verbs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from bsx.catalog.words import words

_BE = frozenset(("am", "are", "is", "was", "were", "be", "been", "being"))
_VOWELS = "aeiou"


class _Irregular(NamedTuple):
    paradigms: dict[str, tuple[str, str]]
    bases: dict[str, str]
    plurals: dict[str, str]
    singulars: dict[str, str]
    no_plural: frozenset[str]
    doubled: frozenset[str]


@cache
def _irregular() -> _Irregular:
    listed = words("en").inflections
    paradigms = {base: (past, participle) for base, past, participle in (x.split("/") for x in listed.verbs.split())}
    bases = {form: base for base, forms in paradigms.items() for form in forms}
    plurals = dict(x.split("/") for x in listed.plurals.split())
    singulars = {plural: singular for singular, plural in plurals.items()}
    return _Irregular(paradigms, bases, plurals, singulars, frozenset(listed.no_plural), frozenset(listed.doubled))


def english_form(word: str, tag: str, wanted: Mapping[str, str], feats: Mapping[str, str]) -> str | None:
    """Return a form of an English noun or verb, in small letters.

    Args:
        word: the form at hand.
        tag: its part of speech.
        wanted: universal features that the form should have.
        feats: those that the form at hand has.

    Returns:
        The form; None where the rules do not know it.

    >>> english_form("goes", "VERB", {"Tense": "Past"}, {"Tense": "Pres", "Number": "Sing", "Person": "3"})
    'went'
    >>> english_form("cities", "NOUN", {"Number": "Sing"}, {"Number": "Plur"})
    'city'
    """
    word, listed = word.lower(), _irregular()
    if not word.isalpha():
        return None
    if tag != "NOUN":
        return _verb(word, wanted, feats) if tag in ("VERB", "AUX") else None
    if word in listed.no_plural or {wanted.get("Number"), feats.get("Number")} != {"Sing", "Plur"}:
        return None
    if wanted["Number"] == "Plur":
        alone = word in listed.singulars or word.endswith(("ss", "ics", "ing"))
        return None if alone else listed.plurals.get(word) or _with_s(word)
    if word in listed.singulars:
        return listed.singulars[word]
    singular = _without_s(word)
    known = singular is not None and singular not in listed.no_plural and _with_s(singular) == word
    return singular if known else None


def _verb(word: str, wanted: Mapping[str, str], feats: Mapping[str, str]) -> str | None:
    past, participle = wanted.get("Tense") == "Past", wanted.get("VerbForm") == "Part"
    singular = wanted.get("Number") == "Sing"
    first, third = wanted.get("Person") == "1", wanted.get("Person") == "3"
    if word in _BE:
        if participle:
            return "been" if past else "being"
        if past:
            return "was" if singular and (first or third) else "were"
        return "am" if singular and first else "is" if singular and third else "are"
    if past and participle and feats.get("Tense") == "Past" and word.endswith("ed") and word not in _irregular().bases:
        return word
    base: str | None = word
    if feats.get("Tense") == "Past":
        base = _irregular().bases.get(word)
    elif feats.get("Number") == "Sing" and feats.get("Person") == "3":
        base = {"has": "have", "does": "do", "goes": "go"}.get(word) or _without_s(word)
    if base is None:
        return None
    if past:
        return _irregular().paradigms.get(base, (_regular(base),) * 2)[participle]
    if participle:
        return None
    return ("has" if base == "have" else _with_s(base)) if singular and third else base


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")) or word in ("go", "do", "undergo", "veto"):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def _without_s(word: str) -> str | None:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")) or len(word) < 4:
        return None
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "xes", "zzes", "ches", "shes")):
        return word[:-2]
    return word[:-1]


def _regular(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2:-1] not in _VOWELS:
        return base[:-1] + "ied"
    short = sum(letter in _VOWELS for letter in base) == 1 and len(base) > 2
    closed = base[-1] not in _VOWELS + "wxy" and base[-2:-1] in _VOWELS
    return base + (base[-1] if (short and closed) or base in _irregular().doubled else "") + "ed"
