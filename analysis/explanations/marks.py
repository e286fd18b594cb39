"""How well word risks find the words that humans marked as errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.explanations.figures import estimates, sentences
from bsx.analysis.stats.resample import bootstrap_counts, compared
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.validate import settings
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Shown

FIGURES = ("auc", "average_precision", "recall")


@dataclass(frozen=True, repr=False)
class MarkAgreement(Shown):
    """Means over sentences, as the shared task Eval4NLP 2021 computes them.

    Attributes:
        auc: area under the ROC curve; a tie counts half.
        average_precision: precision at each distinct risk, weighted by the recall gained there.
        recall: share of the errors among the K riskiest words, K being the number of errors; words that tie for the
            last places count by how likely a random choice takes them.
        left_out: sentences whose words are all marked or all unmarked, of which nothing can be said.
    """

    auc: Estimate
    average_precision: Estimate
    recall: Estimate
    left_out: int


def mark_agreement(
    risks: Sequence[ArrayLike],
    marks: Sequence[ArrayLike],
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 1,
) -> MarkAgreement:
    """Measure how well risks find marked words: ROC AUC, average precision and recall at K of each sentence, averaged.

    Source: Fomicheva et al. 2021 (the Eval4NLP shared task on explainable quality estimation), section 4; intervals are
    percentiles of a bootstrap over sentences.

    Args:
        risks: for each sentence a number a word, higher for a likelier error.
        marks: for each sentence 1 or 0 a word; 1 is an error.
        confidence: level of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        InputError: if numbers differ, a mark is neither 0 nor 1, or no sentence has both kinds.
    """
    settings(resamples=resamples, confidence=confidence)
    figures = _figures(risks, marks)
    draws = np.concatenate([counts @ figures for counts in bootstrap_counts(resamples, len(figures), seed)])
    draws /= len(figures)
    methods = [f"mean {name.replace('_', ' ')} of a sentence" for name in FIGURES]
    auc, precision, recall = estimates(methods, figures.mean(axis=0), draws, len(figures), confidence)
    return MarkAgreement(auc, precision, recall, left_out=len(risks) - len(figures))


def sentence_figures(risks: Array, marks: Array) -> tuple[float, float, float]:
    """Return ROC AUC, average precision and recall at K of one sentence (words,), which has both kinds of words."""
    order = np.argsort(-risks, kind="stable")
    ranked, hits = risks[order], marks[order]
    last = np.append(ranked[1:] != ranked[:-1], True)  # where a group of ties ends
    errors, words = marks.sum(), len(marks)
    true = np.cumsum(hits)[last]
    called = (np.arange(words) + 1.0)[last]
    gained = np.diff(true, prepend=0.0)
    others = np.diff(called - true, prepend=0.0)
    above = words - errors - np.cumsum(others)  # unmarked words of lower risk than each group
    auc = float((gained * (above + others / 2)).sum() / (errors * (words - errors)))
    precision = float((gained / errors * true / called).sum())
    places = np.clip(errors - np.concatenate([[0.0], called[:-1]]), 0.0, np.diff(called, prepend=0.0))
    recall = float((gained * places / np.diff(called, prepend=0.0)).sum() / errors)
    return auc, precision, recall


def compare_marks(
    a: Sequence[ArrayLike],
    b: Sequence[ArrayLike],
    marks: Sequence[ArrayLike],
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 1,
) -> dict[str, Comparison]:
    """Compare two explanations of the same sentences by a paired bootstrap: figure -> comparison.

    Args:
        a: for each sentence the first explanation's risks, a number a word.
        b: the second one's.
        marks: for each sentence 1 or 0 a word; 1 is an error.
        confidence: level of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        InputError: as `mark_agreement`.
    """
    settings(resamples=resamples, confidence=confidence)
    both = _figures(a, marks), _figures(b, marks)
    apart = both[0] - both[1]
    draws = np.concatenate([counts @ apart for counts in bootstrap_counts(resamples, len(apart), seed)]) / len(apart)
    compared_to = {}
    for place, name in enumerate(FIGURES):
        first, second = (float(figures_of[:, place].mean()) for figures_of in both)
        compared_to[name] = compared(
            first, second, draws[:, place], len(apart), "paired bootstrap over sentences", confidence
        )
    return compared_to


def _figures(risks: Sequence[ArrayLike], marks: Sequence[ArrayLike]) -> Array:
    """Return the three figures of each sentence that has marked and unmarked words (sentences, 3)."""
    figures = [sentence_figures(x, y) for _, x, y in sentences(risks, marks) if 0 < y.sum() < len(y)]
    if not figures:
        raise InputError("no sentence has both marked and unmarked words")
    return np.array(figures)
