"""One metric's scores of all texts, each scored once, and what they show that the metric cannot see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.intervene.result import ROUNDING
from bsx.analysis.perturbations.perturb import Perturbed
from bsx.analysis.perturbations.scoring import Function, score_changed
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy


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
