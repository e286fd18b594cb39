"""All perturbations by name."""

from __future__ import annotations

from bsx.analysis.perturbations.base import Perturbation
from bsx.analysis.perturbations.casing import LOWER, TITLE, UPPER
from bsx.analysis.perturbations.contractions import CONTRACTIONS
from bsx.analysis.perturbations.function_words import FUNCTION_WORDS
from bsx.analysis.perturbations.grammar.forms import AGREEMENT, CASE, NOUN_NUMBER, TENSE
from bsx.analysis.perturbations.grammar.order import REORDER, VOICE
from bsx.analysis.perturbations.grammar.swaps import ENTITIES, NOUN_SWAP, SUBJECT_OBJECT
from bsx.analysis.perturbations.letters import HOMOGLYPHS, TYPOS
from bsx.analysis.perturbations.negation import NEGATION
from bsx.analysis.perturbations.punctuation import EXTRA_PUNCTUATION, NO_PUNCTUATION, QUOTES, SPACING
from bsx.analysis.perturbations.quantities import DATES, NUMBERS
from bsx.analysis.perturbations.spelling import MARKS, SMALL_NOUNS, SPELLING
from bsx.analysis.perturbations.substitutions import MUST_MAY, SYNONYM, TO_OPPOSITE
from bsx.analysis.perturbations.whole import EMPTY, SOURCE, UNRELATED
from bsx.analysis.perturbations.words import DROP, REPEAT, SHUFFLE, TRUNCATE
from bsx.errors import UnknownNameError
from bsx.support.near import did_you_mean

PERTURBATIONS: dict[str, Perturbation] = {
    perturbation.name: perturbation
    for perturbation in (
        NO_PUNCTUATION,
        LOWER,
        UPPER,
        TITLE,
        QUOTES,
        SPACING,
        CONTRACTIONS,
        SPELLING,
        MARKS,
        SMALL_NOUNS,
        FUNCTION_WORDS,
        EXTRA_PUNCTUATION,
        REPEAT,
        TYPOS,
        HOMOGLYPHS,
        SYNONYM,
        REORDER,
        VOICE,
        AGREEMENT,
        CASE,
        NOUN_NUMBER,
        TENSE,
        NOUN_SWAP,
        SUBJECT_OBJECT,
        NEGATION,
        TO_OPPOSITE,
        MUST_MAY,
        NUMBERS,
        DATES,
        ENTITIES,
        SHUFFLE,
        DROP,
        TRUNCATE,
        SOURCE,
        UNRELATED,
        EMPTY,
    )
}
"""Name -> perturbation: first those that keep the meaning, then those that change it, mild ones first."""

DEFAULT_CONTROL = "no-punctuation"
"""Keeps the meaning, in any language and script, changes nearly every sentence and is seen by nearly every metric."""


def get_perturbation(name: str) -> Perturbation:
    """Return a perturbation.

    Raises:
        UnknownNameError: if there is none of that name; lists those there are.

    >>> get_perturbation("drop-words").preserves
    False
    """
    if name not in PERTURBATIONS:
        raise UnknownNameError(
            f"unknown perturbation {name!r}; there are {', '.join(PERTURBATIONS)}.{did_you_mean(name, PERTURBATIONS)}"
        )
    return PERTURBATIONS[name]
