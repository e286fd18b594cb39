"""Whether word risks are probabilities: how far they are from the shares of words that humans marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.explanations.figures import estimates, sentences
from bsx.analysis.stats.resample import bootstrap_counts
from bsx.analysis.stats.results import Estimate
from bsx.analysis.stats.validate import settings
from bsx.errors import InputError
from bsx.support.result import Shown


@dataclass(frozen=True, repr=False)
class Calibration(Shown):
    """How far risks are from the shares of marked words, over all words of all sentences.

    Attributes:
        error: expected calibration error: the mean distance of risk and share, by ranges of the risk.
        excess: the mean risk less the share of marked words; above 0, risks are too high.
    """

    error: Estimate
    excess: Estimate


def calibration(
    risks: Sequence[ArrayLike],
    marks: Sequence[ArrayLike],
    *,
    bins: int = 10,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 1,
) -> Calibration:
    """Measure whether risks are probabilities of a mark.

    The expected calibration error is that of Naeini, Cooper & Hauskrecht 2015 (Guo et al. 2017, equation 3): words in
    ``bins`` ranges of equal width, the distance of mean risk and share of marked words in each, weighted by its words.
    Intervals are percentiles of a bootstrap over sentences. Chance alone makes the error larger than 0, and a bootstrap
    larger still, so an interval of a well calibrated risk may begin above the true error, by about the error of a
    share in one range.

    Args:
        risks: for each sentence a number between 0 and 1 a word.
        marks: for each sentence 1 or 0 a word; 1 is an error.
        bins: number of ranges.
        confidence: level of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        InputError: if numbers differ, there is no word, a mark is neither 0 nor 1, or a risk is no probability.
    """
    settings(resamples=resamples, confidence=confidence)
    if bins < 1:
        raise InputError(f"bins={bins}: at least one range is due")
    sums = []
    for number, x, y in sentences(risks, marks):
        if not ((x >= 0) & (x <= 1)).all():
            raise InputError(f"sentence {number}: a risk is no probability between 0 and 1")
        place = np.minimum((x * bins).astype(np.int64), bins - 1)
        sums.append((np.bincount(place, x - y, bins), np.bincount(place, minlength=bins)))
    apart, words = (np.array([of[side] for of in sums], dtype=np.float64).reshape(-1, bins) for side in (0, 1))
    total = int(words.sum())
    if not total:
        raise InputError("there is no word to hold against marks")
    draws = []
    for counts in bootstrap_counts(resamples, len(apart), seed):
        of = np.maximum((counts @ words).sum(axis=1), 1)
        distance = counts @ apart
        draws.append(np.column_stack([np.abs(distance).sum(axis=1) / of, distance.sum(axis=1) / of]))
    whole = apart.sum(axis=0)
    values = np.array([np.abs(whole).sum() / total, whole.sum() / total])
    methods = f"expected calibration error in {bins} ranges of words", "mean risk less share marked of words"
    return Calibration(*estimates(methods, values, np.concatenate(draws), total, confidence))
