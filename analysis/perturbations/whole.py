"""Another text in place of the text: its source, an unrelated one, none."""

from __future__ import annotations

import random

from bsx.analysis.perturbations.base import Item, register


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
