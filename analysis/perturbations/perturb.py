"""All perturbations by name, and texts changed by one, with an account of how many changed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from bsx.analysis import perturbations
from bsx.analysis.factors.parses import Parse
from bsx.analysis.perturbations.base import DEFAULT_STRENGTH, REGISTERED, Perturbation
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.errors import UnknownNameError, did_you_mean
from bsx.support.checks import within
from bsx.support.settings import LAST_SEED

for _module in pkgutil.walk_packages(perturbations.__path__, f"{perturbations.__name__}."):
    importlib.import_module(_module.name)  # each registers its own
PERTURBATIONS = REGISTERED
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

    Args:
        texts: n texts.
        perturbation: one, or its name; see `PERTURBATIONS`.
        strength: share of words or letters in (0, 1], for graded perturbations; 0.2 unless given.
        seed: of the draws, which do not depend on a text's place or neighbours.
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
    made = chosen.apply(
        texts, strength=strength, seed=seed, lang=lang, sources=sources, parses=parses, inflections=inflections
    )
    used = (DEFAULT_STRENGTH if strength is None else float(strength)) if chosen.graded else None
    changed = np.array(
        [
            new is not None and new != old and normalize("NFC", new) != normalize("NFC", old)
            for new, old in zip(made, texts, strict=True)
        ],
        dtype=np.bool_,
    )
    after = tuple(
        new if new is not None and is_new else old for new, old, is_new in zip(made, texts, changed, strict=True)
    )
    return Perturbed(chosen, used, seed, after, changed, made.count(None))
