"""Changes to the words of a text: their order, their number, the end of the text; and another text in its place."""

from __future__ import annotations

import random

from bsx.analysis.perturbations.base import Item, register
from bsx.analysis.perturbations.units import share, units, unspaced

_ACTS_ON = "texts of two words or more; characters count as words in scripts without spaces"


@register(
    "shuffle", "moves a share of the words to one another's places", False, acts_on=_ACTS_ON, graded=True, place=110
)
def _shuffle(item: Item, strength: float, rng: random.Random) -> str | None:
    spans = units(item.text)
    if len(spans) < 2:
        return None
    words = [item.text[start:end] for start, end in spans]
    moved = rng.sample(range(len(words)), share(len(words), strength, least=2))
    if len({words[at] for at in moved}) == 1:  # the same word everywhere: take along one that differs, if any does
        moved += [at for at in range(len(words)) if words[at] != words[moved[0]]][:1]
    # Passing words on in a ring leaves none of the chosen ones in its place.
    for target, origin in zip(moved, [*moved[1:], moved[0]], strict=True):
        start, end = spans[origin]
        words[target] = item.text[start:end]
    parts, at = [], 0
    for (start, end), word in zip(spans, words, strict=True):  # what stands between the words stays
        parts += [item.text[at:start], word]
        at = end
    return "".join([*parts, item.text[at:]])


@register("drop-words", "leaves out a share of the words, never all", False, acts_on=_ACTS_ON, graded=True, place=120)
def _drop(item: Item, strength: float, rng: random.Random) -> str | None:
    spans = units(item.text)
    if len(spans) < 2:
        return None
    gone = rng.sample(range(len(spans)), min(share(len(spans), strength), len(spans) - 1))
    text = item.text
    for at in sorted(gone, reverse=True):
        start, end = spans[at]
        # One of the two spaces around the word needs it.
        if text[end : end + 1].isspace() and (start == 0 or text[start - 1].isspace()):
            end += 1
        elif start and text[start - 1].isspace():
            start -= 1
        text = text[:start] + text[end:]
    return text


@register("repeat-words", "says a share of the words twice", True, acts_on="texts with a word", graded=True, place=130)
def _repeat(item: Item, strength: float, rng: random.Random) -> str | None:
    spans = units(item.text)
    if not spans:
        return None
    text = item.text
    for at in sorted(rng.sample(range(len(spans)), share(len(spans), strength)), reverse=True):
        start, end = spans[at]
        word = text[start:end]
        text = text[:end] + ("" if unspaced(word) else " ") + word + text[end:]
    return text


@register(
    "truncate", "cuts a share of the words off the end, never all", False, acts_on=_ACTS_ON, graded=True, place=130
)
def _truncate(item: Item, strength: float, rng: random.Random) -> str | None:
    spans = units(item.text)
    if len(spans) < 2:
        return None
    kept = len(spans) - min(share(len(spans), strength), len(spans) - 1)
    return item.text[: spans[kept - 1][1]]


@register(
    "unrelated",
    "the text of another row, drawn at random: fluent, but about something else",
    False,
    acts_on="any text, if there is another",
    needs=frozenset({"corpus"}),
    place=150,
)
def _unrelated(item: Item, strength: float, rng: random.Random) -> str | None:
    others = [other for other in item.others if other != item.text and other.strip()]
    return rng.choice(others) if others else None


register(
    "source", "the untranslated source in place of the translation", False, needs=frozenset({"source"}), place=140
)(lambda item, strength, rng: item.source)
register("empty", "nothing at all", False, acts_on="any text that is not empty", place=160)(
    lambda item, strength, rng: "" if item.text else None
)
