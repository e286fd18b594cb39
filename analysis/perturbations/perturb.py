"""All perturbations by name, and texts changed by one, with an account of how many changed."""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import random
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from bsx.analysis import perturbations
from bsx.analysis.factors.parses import Parse
from bsx.analysis.perturbations.base import REGISTERED, Item, Perturbation, primary
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.analysis.perturbations.names import names_of
from bsx.data.corpus import as_texts
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.support.checks import within
from bsx.support.settings import LAST_SEED

for _module in pkgutil.walk_packages(perturbations.__path__, f"{perturbations.__name__}."):
    importlib.import_module(_module.name)  # each registers its own
PERTURBATIONS = REGISTERED

DEFAULT_CONTROL = "no-punctuation"
"""Keeps the meaning, in any language and script, changes nearly every sentence and is seen by nearly every metric."""
DEFAULT_STRENGTH = 0.2


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


@dataclass(frozen=True)
class Perturbed:
    """Texts after a perturbation.

    Attributes:
        perturbation: which one.
        strength: share of words or letters; None if the perturbation has no strength.
        seed: of the draws.
        texts: n texts; those that did not change are as they were.
        changed: whether each text changed (n,), in the sense of Unicode's canonical equivalence.
        not_applicable: texts in which there was nothing it could act on.
    """

    perturbation: Perturbation
    strength: float | None
    seed: int
    texts: tuple[str, ...]
    changed: NDArray[np.bool_]
    not_applicable: int

    @property
    def unchanged(self) -> int:
        """How many texts it acted on without changing them, as small letters made small."""
        return len(self.texts) - int(self.changed.sum()) - self.not_applicable


def perturb(
    texts: Sequence[str],
    perturbation: str | Perturbation,
    *,
    strength: float | None = None,
    seed: int = 1,
    lang: str | None = None,
    sources: Sequence[str] | None = None,
    parses: Sequence[Parse | None] | None = None,
    inflections: Inflections | None = None,
) -> Perturbed:
    """Change texts by a perturbation.

    What happens to a text depends on seed, name, strength and the text itself, not on its place or neighbours. Only
    perturbations that need the corpus also depend on which other texts there are.

    Args:
        texts: n texts.
        perturbation: one, or its name; see `PERTURBATIONS`.
        strength: share of words or letters in (0, 1], for graded perturbations; 0.2 unless given.
        seed: of the draws.
        lang: language of the texts, for perturbations that have rules for it.
        sources: n source texts, for ``source``.
        parses: n parses, None for a text without one, for perturbations that need them.
        inflections: forms of words from treebanks, for those that need them; English ones are known by rule.

    Raises:
        UnknownNameError: if there is no such perturbation.
        InputError: if it lacks something it needs, is not for the language, or settings or sizes are wrong.

    >>> perturb(["The cat sat.", "…"], "drop-words", strength=0.3).texts
    ('cat sat.', '…')
    """
    within("seed", seed, 0, LAST_SEED)
    chosen = get_perturbation(perturbation) if isinstance(perturbation, str) else perturbation
    texts = as_texts(texts, "texts")
    for name, beside in (("sources", sources), ("parses", parses)):
        if beside is not None and len(beside) != len(texts):
            raise InputError(f"{len(texts)} texts, {len(beside)} {name}: numbers must match")
    given = {"source": sources is not None, "parse": parses is not None, "inflections": inflections is not None}
    if (lacking := chosen.lacks(lang, **given)) is not None:
        raise InputError(f"perturbation {chosen.name} {lacking}")
    if strength is not None and not chosen.graded:
        raise InputError(f"perturbation {chosen.name} has no strength")
    if strength is not None and not 0 < strength <= 1:
        raise InputError(f"strength {strength:g}: it is a share, above 0 and at most 1")
    share = float(strength or DEFAULT_STRENGTH) if chosen.graded else 1.0
    corpus = "corpus" in chosen.needs
    others = sorted(set(texts)) if corpus else ()
    names = names_of(texts, parses, primary(lang)) if corpus and parses is not None else ()
    after, changed, not_applicable = list(texts), np.zeros(len(texts), dtype=np.bool_), 0
    for row, text in enumerate(texts):
        source = sources[row] if sources is not None else None
        parse = parses[row] if parses is not None else None
        item = Item(text, primary(lang), source, parse, others, names, inflections)
        # Random numbers depend on nothing but these; `hash` would differ from run to run.
        drawn_by = "\0".join((str(seed), chosen.name, f"{share:.12g}", text)).encode("utf-8", "surrogatepass")
        new = chosen.change(item, share, random.Random(hashlib.sha256(drawn_by).digest()))  # noqa: S311 - no secrets
        if new is None:
            not_applicable += 1
        elif new != text and normalize("NFC", new) != normalize("NFC", text):
            after[row], changed[row] = new, True
    return Perturbed(chosen, share if chosen.graded else None, seed, tuple(after), changed, not_applicable)
