"""Changes to the letters of a text: their case, typing errors, letters of another script that look the same."""

from __future__ import annotations

import random
import unicodedata
from functools import cache

from bsx.analysis.perturbations.base import Item, register
from bsx.analysis.perturbations.units import characters, share, units
from bsx.catalog.words import words

_LATIN = {
    "qwerty": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "qwertz": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "azerty": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
    "spanish": ("qwertyuiop", "asdfghjklñ", "zxcvbnm"),
}
_LAYOUT = {"fr": "azerty", "es": "spanish", **dict.fromkeys(("de", "cs", "sk", "hu", "sl", "hr"), "qwertz")}
_OTHERS = (
    ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),  # Russian
    ("ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ"),  # Greek
    ("קראטוןםפ", "שדגכעיחלךף", "זסבהנמצתץ"),  # Hebrew
    ("ضصثقفغعهخحجد", "شسيبلاتنمكط", "ئءؤرىةوزظ"),  # Arabic
)

_LATIN_CYRILLIC = ("aceopxyijsABCEHIJKMOPSTX", "асеорхуіјѕАВСЕНІЈКМОРЅТХ")
_LATIN_GREEK = ("vNYZ", "νΝΥΖ")
_GREEK_LATIN = ("ονΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ovABEZHIKMNOPTYX")
_ALIKE = (_LATIN_CYRILLIC, _LATIN_CYRILLIC[::-1], _LATIN_GREEK, _GREEK_LATIN)
LOOKALIKES = {letter: other for pair in _ALIKE for letter, other in zip(*pair, strict=True)}
"""Letter -> a letter of another script that looks the same in most typefaces."""


@cache
def neighbours(lang: str) -> dict[str, str]:
    """Return letter -> the letters on the keys around it, on the keyboard of a language, and of other scripts.

    >>> neighbours("en")["s"], neighbours("de")["t"]
    ('adwezx', 'rzfg')
    """
    # Each row of keys lies a little to the right of the one above it.
    around = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))
    results: dict[str, str] = {}
    for rows in (_LATIN[_LAYOUT.get(lang, "qwerty")], *_OTHERS):
        for number, row in enumerate(rows):
            for at, key in enumerate(row):
                places = [(number + down, at + right) for down, right in around]
                results[key] = "".join(rows[r][c] for r, c in places if 0 <= r < len(rows) and 0 <= c < len(rows[r]))
    return results


@cache
def _homophones(lang: str) -> dict[str, str]:
    """Return character -> those of the same sound that are often typed in its place."""
    return {written: group.replace(written, "") for group in words(lang).homophones for written in group}


@register(
    "typos",
    "one typing error in a share of the words: a neighbouring key, a letter too many or too few, two swapped; in "
    "Chinese a character of the same sound",
    True,
    acts_on="words of three letters or more in Latin, Cyrillic, Greek, Hebrew or Arabic script; Chinese characters "
    "with a frequent homophone",
    graded=True,
    aim="surface",
    place=140,
)
def _typos(item: Item, strength: float, rng: random.Random) -> str | None:
    keys = neighbours(item.lang)
    typed: list[tuple[int, int, list[str], list[int]]] = []
    for start, end in units(item.text):
        letters = characters(item.text[start:end])
        if letters[0] in _homophones(item.lang):
            if letters[0] != "地":  # more often a noun, the ground, than the particle
                typed.append((start, end, letters, []))
            continue
        places = [at for at, letter in enumerate(letters) if _key(letter, keys)]
        if len(letters) > 2 and len(places) > 1:
            typed.append((start, end, letters, places))
    if not typed:
        return None
    text = item.text
    for at in sorted(rng.sample(range(len(typed)), share(len(typed), strength)), reverse=True):
        start, end, letters, places = typed[at]
        new = _mistyped(letters, places, keys, rng) if places else rng.choice(_homophones(item.lang)[letters[0]])
        text = text[:start] + "".join(new) + text[end:]
    return text


def _mistyped(letters: list[str], places: list[int], keys: dict[str, str], rng: random.Random) -> list[str]:
    """Return a word's letters with one typing error: a key beside the right one, one too many or too few, a swap."""
    swaps = [at for at in places if at + 1 in places and letters[at] != letters[at + 1]]
    kind = rng.choice(("beside", "insert", "delete", "swap") if swaps else ("beside", "insert", "delete"))
    at = rng.choice(swaps if kind == "swap" else places)
    if kind == "swap":
        return [*letters[:at], letters[at + 1], letters[at], *letters[at + 2 :]]
    if kind == "delete":
        return [*letters[:at], *letters[at + 1 :]]
    beside = rng.choice(keys[_key(letters[at], keys)])
    beside = beside.upper() if letters[at][0].isupper() else beside
    return [*letters[: at + (kind == "insert")], beside, *letters[at + 1 :]]


def _key(letter: str, keys: dict[str, str]) -> str:
    """Return the key of a letter: its own if it has one, else that of the letter without accents; empty if neither."""
    small = unicodedata.normalize("NFC", letter).lower()
    return next((key for key in (small, unicodedata.normalize("NFD", small)[:1]) if key in keys), "")


@register(
    "homoglyphs",
    "a share of the letters that have one replaced by a lookalike of another script",
    True,
    acts_on="Latin, Cyrillic and Greek letters with a lookalike",
    graded=True,
    place=150,
)
def _homoglyphs(item: Item, strength: float, rng: random.Random) -> str | None:
    letters = characters(item.text)
    places = [at for at, letter in enumerate(letters) if letter in LOOKALIKES]
    if not places:
        return None
    for at in rng.sample(places, share(len(places), strength)):
        letters[at] = LOOKALIKES[letters[at]]
    return "".join(letters)


_DOTTED = ("tr", "az")  # where i and ı are two letters, each with its own capital
_ACTS_ON = "texts with letters that have a case"


def _raised(text: str, lang: str) -> str:
    return (text.replace("i", "İ") if lang in _DOTTED else text).upper()


def _cased(text: str) -> bool:
    return text.lower() != text or text.upper() != text


@register("lower", "all letters small", True, acts_on=_ACTS_ON, aim="surface", place=20)
def _lower(item: Item, strength: float, rng: random.Random) -> str | None:
    text = item.text.replace("I", "ı").replace("İ", "i") if item.lang in _DOTTED else item.text
    return text.lower() if _cased(item.text) else None


@register("upper", "all letters capital", True, acts_on=_ACTS_ON, place=30)
def _upper(item: Item, strength: float, rng: random.Random) -> str | None:
    return _raised(item.text, item.lang) if _cased(item.text) else None


@register("title", "a capital at the start of every word", True, acts_on=_ACTS_ON, place=40)
def _title(item: Item, strength: float, rng: random.Random) -> str | None:
    if not _cased(item.text):
        return None
    text = item.text
    for start, _ in reversed(units(text)):
        text = text[:start] + _raised(text[start], item.lang) + text[start + 1 :]
    return text
