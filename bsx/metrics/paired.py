"""Scores of several systems segment by segment, with what a corpus-level metric's score of a resample is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bsx.data.corpus import Corpus
from bsx.metrics.core import MetricCore, Values
from bsx.metrics.results import scored_rows
from bsx.metrics.run import Plan, Prepared
from bsx.metrics.summary import Totals
from bsx.support.progress import Watch


@dataclass(frozen=True)
class PairedScores:
    """One metric's scores of all systems.

    Attributes:
        metric: the metric.
        scores: system -> scores of segments (n,), or sufficient statistics (n, k) if ``aggregate`` is given.
        aggregate: from the mean statistics of any number of resamples (…, k) to scores (…,); None: the mean of scores.
    """

    metric: MetricCore
    scores: dict[str, Values]
    aggregate: Callable[[Values], Values] | None


def paired_scores(
    metrics: Sequence[MetricCore], corpus: Corpus, *, plan: Plan | None = None, progress: Watch = None
) -> tuple[Prepared, list[Totals], list[PairedScores]]:
    """Score all systems of a corpus.

    Returns:
        What the pass over the corpus taught the metrics, each metric's totals, and each metric's scores by system.
    """
    prepared, _, scored = scored_rows(metrics, corpus, plan=plan, progress=progress)
    paired = []
    for metric, (_, scores) in zip(metrics, scored, strict=True):
        rows = scores.values[:, None] if scores.statistics is None else scores.statistics
        metric.refuse_missing(rows)
        by_system = rows.reshape(-1, len(corpus.systems), rows.shape[1])
        whole = scores.statistics is not None
        scores_of = {
            name: np.ascontiguousarray(by_system[:, k] if whole else by_system[:, k, 0])
            for k, name in enumerate(corpus.systems)
        }
        aggregate = aggregate_of(metric.system_score, len(by_system)) if whole else None
        paired.append(PairedScores(metric, scores_of, aggregate))
    return prepared, [totals for totals, _ in scored], paired


def aggregate_of(score: Callable[[Values], float], segments: int) -> Callable[[Values], Values]:
    """Return what makes a system's scores of the means of its segments' statistics (draws, k).

    Args:
        score: from the sums of any number of segments (k,) to the score.
        segments: how many there are.
    """

    def aggregate(means: Values) -> Values:
        # Sums of counts are whole numbers again, as the metric wants them; TER's mean lengths keep their fractions.
        sums = np.round(means * segments, 6)
        flat = [score(row) for row in sums.reshape(-1, sums.shape[-1])]
        return np.array(flat, dtype=np.float64).reshape(sums.shape[:-1])

    return aggregate
