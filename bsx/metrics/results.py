"""What metrics return: one number a segment, with the signature and what is worth knowing about them.

Scores of several systems come with what a corpus-level metric's score of a resample is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bsx.data.corpus import Corpus
from bsx.metrics.core import BlockScores, MetricCore, Values
from bsx.metrics.run import Plan, Prepared, prepare, stream
from bsx.metrics.summary import Totals
from bsx.support.optional import need
from bsx.support.progress import Watch, reporter
from bsx.support.provenance import Signature
from bsx.support.result import Shown
from bsx.support.untyped import to_json

if TYPE_CHECKING:
    import pandas as pd


class SegmentScores(Shown):
    """Scores of segments, with their signature."""

    signature: Signature

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield one row a segment."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """Return `rows` as a DataFrame.

        Raises:
            MissingExtraError: if pandas is missing.
        """
        frame: pd.DataFrame = need("pandas", "to_frame").DataFrame(list(self.rows()))
        return frame

    def save(self, path: str | Path) -> None:
        """Write `rows` to a .tsv, .csv, .jsonl, .parquet or .xlsx file, all or nothing.

        The signature goes beside it as ``<path>.signature.txt``.
        """
        from bsx.data.output import ScoreTable

        with ScoreTable(Path(path)) as table:
            for row in self.rows():
                table.write(row)
            table.signature = str(self.signature)


@dataclass(frozen=True, repr=False)
class MetricScores(SegmentScores):
    """A metric's scores of n candidates; NumPy functions take it as the array of its values.

    Attributes:
        metric: how the metric was asked for, ``name:field=value``.
        values: one score a segment (n,), float64.
        system: the metric's score of all segments together: their mean, or what the metric defines (corpus BLEU).
        higher_is_better: whether the higher of two scores is the better one.
        signature: the settings behind these numbers.
        ids: what the segments are called in the output (n,).
        empty: indices of segments of which one side has no content.
        undefined: indices of segments for which the metric is not defined for another reason; they score as empty ones,
            or are NaN for a metric that keeps what is missing.
        truncated: indices of segments of which a text was longer than the model's limit.
        tokens_lost: tokens cut off from each of the ``truncated`` segments.
    """

    metric: str
    values: NDArray[np.float64]
    system: float
    higher_is_better: bool
    signature: Signature
    ids: tuple[str, ...]
    empty: NDArray[np.int64]
    undefined: NDArray[np.int64]
    truncated: NDArray[np.int64]
    tokens_lost: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"MetricScores(n={len(self)}, system={self.system:.4f}, signature={str(self.signature)!r})"

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[float]:
        return iter(self.values.tolist())

    def __getitem__(self, index: int) -> float:
        return float(self.values[index])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[np.number]:
        return np.array(self.values, dtype=dtype, copy=True if copy is None else copy)

    def mean(self) -> float:
        """Return the mean over segments that have a score."""
        defined = self.values[~np.isnan(self.values)]
        return float(defined.mean()) if len(defined) else np.nan

    def to_dict(self) -> dict[str, object]:
        """Return the summary that ``bsx score`` prints as JSON for one system."""
        return {
            "metric": self.metric,
            "n": len(self),
            "system": self.system,
            "mean": self.mean(),
            "higher_is_better": self.higher_is_better,
            "signature": str(self.signature),
            "empty": len(self.empty),
            "undefined": len(self.undefined),
            "truncated": len(self.truncated),
            "tokens_lost": int(self.tokens_lost.sum()),
        }

    def to_json(self) -> str:
        """Return the summary and the score of every segment as JSON."""
        return to_json({"summary": self.to_dict(), "ids": list(self.ids), "scores": self.values.tolist()})

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield one row a segment: id, and a column named after the metric."""
        return ({"id": name, self.metric: value} for name, value in zip(self.ids, self, strict=True))


def score_corpus(
    metrics: Sequence[MetricCore], corpus: Corpus, *, progress: Watch = None
) -> dict[str, dict[str, MetricScores]]:
    """Score a corpus with several metrics, in memory.

    Returns:
        How the metric was asked for -> system -> scores.
    """
    prepared, ids, rows = scored_rows(metrics, corpus, progress=progress)
    result: dict[str, dict[str, MetricScores]] = {metric.spec: {} for metric in metrics}
    for i, (metric, (totals, scores)) in enumerate(zip(metrics, rows, strict=True)):
        for k, name in enumerate(corpus.systems):
            part = scores.select(np.arange(k, len(scores.values), len(corpus.systems)))
            result[metric.spec][name] = MetricScores(
                metric=metric.spec,
                values=np.asarray(part.values, dtype=np.float64),
                system=totals.system(k),
                higher_is_better=metric.higher_is_better,
                signature=prepared.signature(i),
                ids=ids,
                empty=np.flatnonzero(part.empty),
                undefined=np.flatnonzero(part.undefined),
                truncated=np.flatnonzero(part.lost),
                tokens_lost=part.lost[part.lost > 0],
            )
    return result


def scored_rows(
    metrics: Sequence[MetricCore], corpus: Corpus, *, plan: Plan | None = None, progress: Watch = None
) -> tuple[Prepared, tuple[str, ...], list[tuple[Totals, BlockScores]]]:
    """Score a corpus with several metrics, in memory.

    Returns:
        What the pass over the corpus taught the metrics, its segments' names, and each metric's totals and scores of
        all rows, segments x systems, systems fastest.
    """
    progress = reporter(progress)
    prepared = prepare(metrics, corpus, plan=plan, progress=progress)
    totals = [Totals(metric, len(corpus.systems)) for metric in metrics]
    ids, parts = list[str](), list[list[BlockScores]]()
    for block in stream(prepared, progress=progress):
        ids += [segment.id for segment in block.segments]
        parts.append(block.scores)
        for total, scores in zip(totals, block.scores, strict=True):
            total.add(scores, block.segments)
    rows = map(BlockScores.joined, zip(*parts, strict=True))
    return prepared, tuple(ids), list(zip(totals, rows, strict=True))


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
        rows = scores.values if scores.statistics is None else scores.statistics
        metric.refuse_missing(rows)
        by_system = rows.reshape(-1, len(corpus.systems), *rows.shape[1:])
        scores_of = {name: np.ascontiguousarray(by_system[:, k]) for k, name in enumerate(corpus.systems)}
        aggregate = None if scores.statistics is None else aggregate_of(metric.system_score, len(by_system))
        paired.append(PairedScores(metric, scores_of, aggregate))
    return prepared, [totals for totals, _ in scored], paired


def aggregate_of(score: Callable[[Values], float], segments: int) -> Callable[[Values], Values]:
    """Return what makes scores of means of a system's statistics (draws, k), given what makes one of sums (k,)."""

    def aggregate(means: Values) -> Values:
        # Sums of counts are whole numbers again, as the metric wants them; TER's mean lengths keep their fractions.
        sums = np.round(means * segments, 6)
        flat = [score(row) for row in sums.reshape(-1, sums.shape[-1])]
        return np.array(flat, dtype=np.float64).reshape(sums.shape[:-1])

    return aggregate
