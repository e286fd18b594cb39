"""Capital and small letters."""

from __future__ import annotations

import random

from bsx.analysis.perturbations.base import Item, register
from bsx.analysis.perturbations.units import units

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
