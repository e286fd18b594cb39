"""How well word risks find the words that people marked as errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Sheet
from bsx.analysis.stats.resample import bootstrap_counts, compared, percentile_interval
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.validate import settings
from bsx.errors import InputError
from bsx.support.checks import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = ("auc", "average_precision", "recall")


@dataclass(frozen=True, eq=False, repr=False)
class MarkAgreement(InNotebooks):
    """Means over sentences, as the shared task Eval4NLP 2021 computes them.

    Attributes:
        auc: area under the ROC curve; a tie counts half.
        average_precision: precision at each distinct risk, weighted by the recall gained there.
        recall: share of the errors among the K riskiest words, K being the number of errors; words that tie for the
            last places count by how likely a random choice takes them.
        left_out: sentences whose words are all marked or all unmarked, of which nothing can be said.
        figures: the three of each sentence (sentences, 3).
    """

    auc: Estimate
    average_precision: Estimate
    recall: Estimate
    left_out: int
    figures: Array

    @property
    def short(self) -> str:
        """The three figures and the sentences."""
        return ", ".join(f"{n} {getattr(self, n).estimate:.3f}" for n in FIGURES) + f"; {self.auc.n} sentences"

    def sheets(self) -> Sequence[Sheet]:
        """Return the three figures with intervals."""
        found = [(name.replace("_", " "), getattr(self, name)) for name in FIGURES]
        rows = [[name, f"{one.estimate:.4f} [{one.low:.4f}, {one.high:.4f}]"] for name, one in found]
        level = f"{100 * self.auc.confidence:g} % bootstrap intervals"
        title = f"Word risks beside people's marks, means over n = {self.auc.n} sentences; {level}, no tests"
        return [Sheet(title, ["figure", "value"], rows)]

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return a row a figure."""
        return [{"figure": name, **asdict(getattr(self, name))} for name in FIGURES]

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the three figures with their intervals."""
        found = [(name.replace("_", " "), getattr(self, name)) for name in FIGURES]
        dots = [Dot(name, one.estimate, one.low, one.high) for name, one in found]
        return draw_dots({"": dots}, "mean over sentences", path)

    def to_dict(self) -> dict[str, object]:
        """Return the three figures with intervals, and how many sentences they rest on."""
        found: dict[str, object] = {"sentences": self.auc.n, "left_out": self.left_out}
        for name in FIGURES:
            estimate: Estimate = getattr(self, name)
            found[name] = estimate.estimate
            found[f"{name}_ci"] = [estimate.low, estimate.high]
        return found


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
    if len(risks) != len(marks):
        raise InputError(f"there are {len(risks)} sentences with risks and {len(marks)} with marks")
    found = []
    for number, (risk, mark) in enumerate(zip(risks, marks, strict=True), start=1):
        x, y = np.asarray(risk, dtype=np.float64), np.asarray(mark, dtype=np.float64)
        if x.shape != y.shape or x.ndim != 1:
            raise InputError(f"sentence {number}: has {x.size} risks and {y.size} marks")
        if not np.isin(y, (0, 1)).all():
            raise InputError(f"sentence {number}: a mark is neither 0 nor 1")
        if 0 < y.sum() < len(y):
            found.append(sentence_figures(x, y))
    if not found:
        raise InputError("no sentence has both marked and unmarked words")
    figures = np.array(found)
    draws = np.concatenate([counts @ figures for counts in bootstrap_counts(resamples, len(figures), seed)])
    draws /= len(figures)
    means = figures.mean(axis=0)
    auc, precision, recall = (
        Estimate(
            float(means[place]),
            *percentile_interval(draws[:, place], confidence),
            float("nan"),
            len(figures),
            f"mean {name.replace('_', ' ')} of a sentence, bootstrap interval over sentences",
            confidence,
        )
        for place, name in enumerate(FIGURES)
    )
    return MarkAgreement(auc, precision, recall, left_out=len(risks) - len(figures), figures=figures)


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
    a: MarkAgreement, b: MarkAgreement, *, confidence: float = 0.95, resamples: int = 1000, seed: int = 1
) -> dict[str, Comparison]:
    """Compare two explanations of the same sentences by a paired bootstrap: figure -> comparison.

    Args:
        a: of the first.
        b: of the second, with the same marks.
        confidence: level of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        InputError: if they rest on different numbers of sentences.
    """
    settings(resamples=resamples, confidence=confidence)
    if len(a.figures) != len(b.figures):
        raise InputError(f"the one rests on {len(a.figures)} sentences, the other on {len(b.figures)}")
    apart = a.figures - b.figures
    draws = np.concatenate([counts @ apart for counts in bootstrap_counts(resamples, len(apart), seed)]) / len(apart)
    found = {}
    for place, name in enumerate(FIGURES):
        first, second = (float(one.figures[:, place].mean()) for one in (a, b))
        found[name] = compared(
            first, second, draws[:, place], len(apart), "paired bootstrap over sentences", confidence
        )
    return found
