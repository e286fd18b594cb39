"""Whether a metric tells a changed meaning from a change that keeps it, over all perturbations of the battery."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bsx.analysis.adversarial.falls import ROUNDING
from bsx.analysis.adversarial.result import PerturbedScores
from bsx.analysis.stats.preference import clustered_share
from bsx.support.checks import Array

_TRIVIAL = ("unrelated", "empty", "source")


@dataclass(frozen=True, eq=False)
class ToldApart:
    """How often a metric takes off more for a changed meaning than for a change that keeps it.

    Attributes:
        metric: name.
        control: the change that keeps the meaning.
        n: changed meanings that were held against the control's change of the same text.
        texts: texts that they are of.
        rate: share of them that cost more; NaN where there is none.
        low: lower end of its interval.
        high: upper end.
        right: 1 where a change cost more, 0 where it did not, NaN where it is not counted (changes, n).
    """

    metric: str
    control: str
    n: int
    texts: int
    rate: float
    low: float
    high: float
    right: Array = field(repr=False)


def told_apart(found: PerturbedScores, metric: str, *, confidence: float = 0.95) -> ToldApart:
    """Return how often a metric takes off more for a changed meaning than for the control's change of the same text.

    Counted are single changes of meaning, such as a negation or another number, in texts that the control changed too;
    neither those with a strength, nor texts that have nothing to do with the reference. A tie is an error. The interval
    is Wilson's, with as many changes as would be as informative if no two were of the same text.

    Args:
        found: of `bsx.analysis.adversarial.robustness.perturbed_scores`.
        metric: one of its metrics.
        confidence: level of the interval.
    """
    counted = [
        place
        for place, case in enumerate(found.cases)
        if not (case.perturbation.preserves or case.perturbation.graded or case.perturbation.name in _TRIVIAL)
    ]
    scores, control = found.case_scores[metric], found.control
    there = ~np.isnan(scores[counted]) & ~np.isnan(scores[control]) & ~np.isnan(found.clean_scores[metric])
    rounding = ROUNDING * np.maximum(1.0, np.abs(scores[control]))
    right = np.where(there, scores[control] - scores[counted] > rounding, np.nan)
    _, texts = np.nonzero(there)
    name, n = found.cases[control].perturbation.name, len(texts)
    if not n:
        return ToldApart(metric, name, 0, 0, float("nan"), float("nan"), float("nan"), right)
    costly = right[there] == 1
    distinct, of = np.unique(texts, return_inverse=True)
    low, high = clustered_share(costly, of, confidence)
    return ToldApart(metric, name, n, len(distinct), float(costly.mean()), low, high, right)
