"""One group's scores: row by row, or by system and segment, and what scores of whole systems are made of."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bsx.analysis.stats.resample import Clustered, Sampled, sampled_units
from bsx.analysis.stats.systems.grouped import SegmentsToSystems, means_of_drawn
from bsx.data.frame import CorpusScores
from bsx.support.checks import Array


def upside_down(corpus: CorpusScores) -> CorpusScores:
    """Return the corpus scores with their sign turned."""
    return CorpusScores(corpus.statistics, lambda sums: -corpus.score(sums))


@dataclass(frozen=True)
class Rows:
    """One group's scores, every value present that is present in any column.

    Attributes:
        metrics: name -> scores, (n,) or (systems, segments); NaN where there is no row.
        human: of the same shape.
        segments: whether the columns of a matrix are segments; False if there is one row a system.
        every: for ``level=sys``, name -> scores of all segments, judged or not (systems, all segments).
        judged: the human scores in that arrangement.
        corpus: name -> what corpus scores are made of, in that arrangement.
        systems: names of a matrix's rows, for messages.
        clusters: what is drawn whole, counted from 0: of vectors the document or segment of each row (n,), of matrices
            the document of each segment (segments,); None if rows or segments are drawn.
        every_clusters: the same in the arrangement of ``every`` (all segments,).
    """

    metrics: Mapping[str, Array]
    human: Array
    segments: bool = True
    every: Mapping[str, Array] = field(default_factory=dict)
    judged: Array | None = None
    corpus: Mapping[str, CorpusScores] = field(default_factory=dict)
    systems: Sequence[Hashable] = ()
    clusters: Clustered = None
    every_clusters: Clustered = None

    @property
    def matrix(self) -> bool:
        """Whether rows are arranged by system and segment."""
        return self.human.ndim == 2

    def human_scored(self) -> SegmentsToSystems:
        """Return the function from how often segments are drawn (b, segments) to human scores of systems."""
        return means_of_drawn(self.human if self.judged is None else self.judged)

    def scored(self, name: str) -> SegmentsToSystems:
        """Return the same of a metric."""
        if name not in self.corpus:
            return means_of_drawn(self.every.get(name, self.metrics[name]))
        corpus = self.corpus[name]

        def scores(counts: Array) -> Array:
            sums = np.einsum("bt,stk->bsk", counts, corpus.statistics)
            flat = [corpus.score(row) for row in sums.reshape(-1, sums.shape[-1])]
            return np.array(flat, dtype=np.float64).reshape(sums.shape[:2])

        return scores

    def estimand(self, name: str) -> str:
        """Return what a metric's score of a system is, in words."""
        if name in self.corpus:
            return "corpus scores of all segments"
        return "means of all segments" if name in self.every else "means of judged segments"

    @property
    def shape(self) -> tuple[int, int]:
        """Systems and segments that can be drawn."""
        rows, columns = (self.human if self.judged is None else self.judged).shape
        return rows, columns

    @property
    def drawn(self) -> Clustered:
        """The document of each segment that can be drawn, None if segments are drawn."""
        return self.clusters if self.judged is None else self.every_clusters

    def over(self, sampled: Sampled) -> str:
        """Return what is resampled, in words."""
        return sampled_units(sampled, documents=self.clusters is not None)

    def of_systems(self, name: str | None = None) -> Array:
        """Return a metric's score of each system, human scores without a name (systems,)."""
        drawn = self.human_scored() if name is None else self.scored(name)
        scores: Array = drawn(np.ones((1, self.shape[1])))[0]
        return scores
