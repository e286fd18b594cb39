"""Which edits aim at which factor, the minimal pairs that they make, one metric's scores of them, and their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.factors.parses import Parse
from bsx.analysis.intervene.result import ROUNDING
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.analysis.perturbations.perturb import PERTURBATIONS, Perturbed, get_perturbation, perturb
from bsx.analysis.perturbations.scoring import Function, score_changed
from bsx.data.output import ScoreTable
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy

_ORDER = ("sem", "syn", "lex", "mor", "surface")
AIMS = {name: one.aim for aim in _ORDER for name, one in PERTURBATIONS.items() if one.aim == aim}
"""Edit, a perturbation by name -> what it aims at: a factor, or ``surface`` for writing alone."""

SURFACE = "surface"
_STRENGTH = 0.1  # share of words that typing errors and commas change: about two of twenty, as edits are to be small


def make_pairs(
    texts: Sequence[str],
    edits: Sequence[str],
    *,
    lang: str | None,
    parses: Sequence[Parse | None] | None,
    inflections: Inflections | None,
    seed: int,
) -> tuple[list[Perturbed], dict[str, str]]:
    """Edit texts.

    Args:
        texts: n texts.
        edits: names out of `AIMS`; all that can be made unless given.
        lang: language of the texts.
        parses: n parses of the texts.
        inflections: forms of words from treebanks.
        seed: of the draws.

    Returns:
        One `Perturbed` for each edit that can be made, and why others cannot: name -> reason.

    Raises:
        InputError: for an edit named that is unknown, aims at nothing, or cannot be made.
    """
    wanted = list(dict.fromkeys(edits)) or list(AIMS)
    made, left_out = [], {}
    for name in wanted:
        perturbation = get_perturbation(name)
        if name not in AIMS:
            raise InputError(f"edit {name}: it aims at no single factor; use some of {', '.join(AIMS)}")
        why = perturbation.lacks(lang, source=False, parse=parses is not None, inflections=inflections is not None)
        if why is not None:
            if edits:
                raise InputError(f"edit {name} {why}")
            left_out[name] = why
            continue
        share = _STRENGTH if perturbation.graded else None
        made.append(
            perturb(texts, perturbation, strength=share, seed=seed, lang=lang, parses=parses, inflections=inflections)
        )
    if not any(pairs.changed.any() for pairs in made):
        raise InputError(f"none of the edits ({', '.join(wanted)}) changes any of the {len(texts)} texts")
    return made, left_out


@dataclass(frozen=True, eq=False)
class EditScores:
    """What a metric makes of texts as they come and after each edit.

    Attributes:
        name: of the metric.
        written: scores of the candidates (n,); None without candidates.
        falls: of each edit, how far each text's score fell (n,); NaN where the text did not change.
        rounding: falls up to here are none.
        ignores_case: whether scores stay when texts are written in small letters; None where it was not asked, or no
            text has capitals.
    """

    name: str
    written: Array | None
    falls: list[Array]
    rounding: float
    ignores_case: bool | None

    def unseen(self, made: Sequence[Perturbed]) -> list[str]:
        """Return the edits, of those that have scores, under which no score changes."""
        sizes = {
            pairs.perturbation.name: np.abs(fall[~np.isnan(fall)]) for pairs, fall in zip(made, self.falls, strict=True)
        }
        return [name for name, size in sizes.items() if len(size) and bool((size < self.rounding).all())]


def score_texts(
    name: str,
    metric: Function,
    references: Sequence[str],
    texts: Sequence[str],
    written: Sequence[str] | None,
    made: Sequence[Perturbed],
    nan: NanPolicy,
    *,
    casing: bool,
) -> EditScores:
    """Score the texts before and after every edit, and the candidates.

    Args:
        name: of the metric.
        metric: the function.
        references: n texts.
        texts: n texts that were edited.
        written: n candidates.
        made: the edits.
        nan: refuse pairs without a score, or leave them out.
        casing: whether to find out if the metric ignores case: texts in small letters are scored, unless an edit has
            them already.

    Raises:
        InputError: if the metric returns no finite score for each text, or they never differ.
    """
    whole = np.ones(len(references), dtype=np.bool_)

    def score(of: Sequence[str], changed: NDArray[np.bool_] = whole, policy: NanPolicy = nan) -> Array:
        return score_changed(metric, of, references, changed, name=name, nan=policy)

    before = score(texts)
    falls = [before - score(pairs.texts, pairs.changed) for pairs in made]
    own = None if written is None else score(written)
    moved = np.concatenate([fall[~np.isnan(fall)] for fall in falls])
    if not len(moved):
        raise InputError(f"{name}: no edited text has a score")
    spread = float(np.nanstd(own)) if own is not None and not np.isnan(own).all() else 0.0
    if own is not None and not spread > 0:
        raise InputError(f"{name}: all candidates have the same score")
    rounding = ROUNDING * (spread if own is not None else float(np.sqrt(np.square(moved).mean())))
    if not rounding > 0:
        raise InputError(f"{name}: no edit changes its score")
    ignores = None
    for of, scores in ((texts, before), (written, own)) if casing else ():
        if of is None or scores is None:
            continue
        small = [text.lower() for text in of]
        changed = np.array([old != new for old, new in zip(of, small, strict=True)])
        lowered = next((fall for fall, pairs in zip(falls, made, strict=True) if list(pairs.texts) == small), None)
        change = lowered if lowered is not None and of is texts else scores - score(small, changed, "omit")
        change = change[changed & ~np.isnan(change)]
        if len(change):
            ignores = bool((np.abs(change) < rounding).all())
            break
    return EditScores(name, own, falls, rounding, ignores)


PAIR_COLUMNS = ("row", "edit", "aim", "reference", "original", "edited")
"""The columns of the table of pairs, before those of factors and metrics."""


@dataclass(frozen=True)
class EditedText:
    """A text and its edited form.

    Attributes:
        edit: name of the perturbation.
        aim: factor that it is for, or ``surface``.
        row: number of the text, from 1.
        reference: what it is compared with.
        original: the text.
        edited: the same after the edit.
        changes: factor -> how far it fell, in its own units.
        falls: metric -> how far its score fell; NaN where it has none.
    """

    edit: str
    aim: str
    row: int
    reference: str
    original: str
    edited: str
    changes: dict[str, float]
    falls: dict[str, float]


def save_pairs(pairs: Sequence[EditedText], path: Path, rows: Sequence[Mapping[str, object]] = ()) -> None:
    """Write minimal pairs with what they moved and what that cost: .tsv, .csv, .jsonl or .parquet.

    Args:
        pairs: from `bsx.analysis.intervene`, by its argument ``keep``.
        path: the table.
        rows: further columns of each text that was edited; none may be called as one of the table's own.
    """
    with ScoreTable(path) as table:
        for pair in pairs:
            cells: dict[str, object] = {name: getattr(pair, name) for name in PAIR_COLUMNS}
            cells |= {n: v for n, v in (rows[pair.row - 1] if rows else {}).items() if n not in cells}
            cells |= {f"fall of {name}": value for name, value in pair.changes.items()}
            cells |= {f"fall of {name}": value for name, value in pair.falls.items()}
            table.write(cells)
