"""Which edits aim at which factor, and the minimal pairs that they make."""

from __future__ import annotations

from collections.abc import Sequence

from bsx.analysis.factors.parses import Parse
from bsx.analysis.perturbations.base import DEFAULT_STRENGTH
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.analysis.perturbations.perturb import PERTURBATIONS, Perturbed, get_perturbation, perturb
from bsx.errors import InputError

_ORDER = ("sem", "syn", "lex", "mor", "surface")
AIMS = {name: one.aim for aim in _ORDER for name, one in PERTURBATIONS.items() if one.aim == aim}
"""Edit, a perturbation by name -> what it aims at: a factor, or ``surface`` for writing alone."""

SURFACE = "surface"


def make_pairs(
    texts: Sequence[str],
    edits: Sequence[str] | None,
    *,
    lang: str | None,
    parses: Sequence[Parse | None] | None,
    inflections: Inflections | None,
    strength: float,
    seed: int,
) -> tuple[list[Perturbed], dict[str, str]]:
    """Edit texts.

    Args:
        texts: n texts.
        edits: names out of `AIMS`; all that can be made unless given.
        lang: language of the texts.
        parses: n parses of the texts.
        inflections: forms of words from treebanks.
        strength: share of words, for edits that have one.
        seed: of the draws.

    Returns:
        One `Perturbed` for each edit that can be made, and why others cannot: name -> reason.

    Raises:
        InputError: for an edit named that is unknown, aims at nothing, or cannot be made.
    """
    wanted = list(AIMS) if edits is None else list(dict.fromkeys(edits))
    found, left_out = [], {}
    for name in wanted:
        one = get_perturbation(name)
        if name not in AIMS:
            raise InputError(f"edit {name}: it aims at no single factor; use some of {', '.join(AIMS)}")
        why = one.lacks(lang, source=False, parse=parses is not None, inflections=inflections is not None)
        if why is not None:
            if edits is not None:
                raise InputError(f"edit {name} {why}")
            left_out[name] = why
            continue
        share = strength if one.graded else None
        found.append(perturb(texts, one, strength=share, seed=seed, lang=lang, parses=parses, inflections=inflections))
    if not any(pairs.changed.any() for pairs in found):
        raise InputError(f"none of the edits ({', '.join(wanted)}) changes any of the {len(texts)} texts")
    return found, left_out


DEFAULT_SHARE = DEFAULT_STRENGTH / 2  # about two words of twenty: edits are to be small
