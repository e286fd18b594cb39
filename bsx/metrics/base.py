"""A metric as its users and its authors see it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bsx.data import cells
from bsx.data.corpus import (
    Corpus,
    InContext,
    MemoryCorpus,
    References,
    Texts,
    about_tokens,
    as_texts,
    without_context,
)
from bsx.errors import InputError
from bsx.metrics.blocks import Block, BlockScores, Pairs, PairScores, Values, as_block, not_scores
from bsx.metrics.core import ConfigT, Fitted, MetricCore
from bsx.metrics.run import refuse_large_texts
from bsx.support.optional import source_of
from bsx.support.progress import Watch, told

if TYPE_CHECKING:
    from bsx.metrics.results import MetricScores

_SIDE = 256  # texts of each side scored in one call


class Metric(MetricCore[ConfigT]):
    """A metric with its settings, ready to score.

    Made by `bsx.get_metric`. A subclass names its ``Config`` and defines `score_block`; see
    docs/extend/add-a-metric.md.
    """

    def score(
        self,
        candidates: Texts,
        references: References | None = None,
        sources: Texts | None = None,
        *,
        documents: Sequence[str] | None = None,
        progress: Watch = None,
    ) -> MetricScores:
        """Score candidates.

        Args:
            candidates: n texts.
            references: n texts, or n lists of texts; for a metric that needs them.
            sources: n texts; for a metric that needs them.
            documents: n names of documents, whose sentences stand together; for encoders with ``context`` only.
            progress: called with a phase's name, segments done and segments in all; True draws bars.

        Returns:
            Scores of shape (n,).

        Raises:
            InputError: if the numbers differ, anything is not a text, or what the metric needs is missing.
        """
        from bsx.metrics.results import score_corpus

        if (documents is None) == bool(self.context):
            raise InputError("context and documents go together: documents name what the context of a sentence is from")
        corpus: Corpus = _corpus(self, candidates, references, sources, documents)
        if self.context:
            corpus = InContext(corpus, self.context)
        return score_corpus([self], corpus, progress=told(progress))[self.spec]["candidate"]

    def score_matrix(
        self, candidates: Texts, references: Texts | None = None, *, sources: Texts | str | None = None
    ) -> Values:
        """Score every candidate against every reference, as minimum Bayes risk decoding needs it.

        Every distinct text is encoded once: n + m texts, not n * m.

        Args:
            candidates: n texts.
            references: m texts; for a metric that needs references.
            sources: m texts for a metric that compares with sources only; one text, the source of all, for a metric
                that needs references and source.

        Returns:
            Scores (n, m).
        """
        if self.context:
            raise InputError("a matrix is of texts alone: leave out context")
        return matrix(self, as_texts(candidates, "candidates"), *_matrix_sides(self, references, sources))


def _corpus(
    metric: Metric, candidates: object, references: object | None, sources: object | None, documents: object | None
) -> MemoryCorpus:
    given = {"reference": references, "source": sources}
    missing = [kind for kind in sorted(metric.needs - {"candidate"}) if given[kind] is None]
    if missing:
        raise InputError(f"{metric.name} compares candidates with {missing[0]}s: give {missing[0]}s=")
    return MemoryCorpus({"candidate": candidates}, references, sources, documents)


def _matrix_sides(metric: Metric, references: object | None, sources: object | None) -> tuple[list[str], str | None]:
    """Return the matrix's columns, and the one source of all rows if the metric needs it beside references."""
    if "reference" not in metric.needs:
        if sources is None:
            raise InputError(f"{metric.name} compares candidates with sources: give sources")
        return as_texts(sources, "sources"), None
    if references is None:
        raise InputError(f"{metric.name} compares candidates with references: give references")
    if "source" not in metric.needs:
        return as_texts(references, "references"), None
    if sources is None:
        raise InputError(f"{metric.name} reads the source too: give sources one text, the source of all candidates")
    return as_texts(references, "references"), cells.text(sources, "sources")


class PairMetric(Metric[ConfigT]):
    """A metric that compares a candidate with one other text; several references are reduced to one score.

    A pair of which one text is blank is not scored: it gets the entry's ``empty`` score and is counted. A metric that
    needs reference and source gets the row's source with each pair.
    """

    @abstractmethod
    def score_pairs(self, pairs: Pairs, fitted: Fitted) -> PairScores:
        """Score pairs of non-blank texts."""

    @cached_property
    def reduction(self) -> str:
        """How several references become one score: ``best`` or ``mean``; the field ``multi_ref`` if there is one."""
        return str(getattr(self.config, "multi_ref", "best"))

    def others(self, block: Block) -> Sequence[Sequence[str]]:
        """Return the texts that each row's candidate is compared with."""
        if "reference" in self.needs:
            return block.references
        return [(source,) for source in block.sources or ()]

    def score_block(self, block: Block, fitted: Fitted) -> BlockScores:
        """Score rows pair by pair; see `Metric.score_block`."""
        texts: dict[str, int] = {}
        rows: list[tuple[int, int, int]] = []
        sources = (block.sources or []) if {"reference", "source"} <= self.needs else None
        for row, (candidate, others) in enumerate(zip(block.candidates, self.others(block), strict=True)):
            if self._blank(candidate) or (sources is not None and self._blank(sources[row])):
                continue
            left = texts.setdefault(candidate, len(texts))
            rows += [(row, left, texts.setdefault(other, len(texts))) for other in others if not self._blank(other)]
        table = np.asarray(rows, dtype=np.int64).reshape(-1, 3)
        third = None
        if sources is not None:
            third = np.array([texts.setdefault(sources[row], len(texts)) for row in table[:, 0]], dtype=np.int64)
        values = np.full(len(block), np.nan)
        lost = np.zeros(len(block), dtype=np.int64)
        empty = np.ones(len(block), dtype=bool)
        if len(table):
            pairs = Pairs(list(texts), table[:, 1], table[:, 2], block.systems[table[:, 0]], table[:, 0], third)
            scored = self.score_pairs(pairs, fitted)
            wrong = not_scores(scored, PairScores, len(table))
            if wrong is not None:
                kind = type(self)
                raise InputError(
                    f"{source_of(kind)}: {kind.__name__}.score_pairs returned {wrong} for {len(table)} pairs"
                )
            present, starts = np.unique(table[:, 0], return_index=True)
            empty[present] = False
            values[present] = self._reduce(np.asarray(scored.values, dtype=np.float64), starts)
            if scored.lost is not None:
                lost[present] = np.add.reduceat(scored.lost[table[:, 2]], starts) + scored.lost[table[starts, 1]]
                if third is not None:
                    lost[present] += scored.lost[third[starts]]
            if scored.lost_together is not None:
                lost[present] += np.add.reduceat(scored.lost_together, starts)
        if self.entry.empty is not None:
            values[empty] = self.entry.empty
        return BlockScores(values, empty, lost)

    def _blank(self, text: str) -> bool:
        return not (without_context(text) if self.context else text).strip()

    def _reduce(self, values: Values, starts: NDArray[np.int64]) -> Values:
        if self.reduction == "mean":
            defined = ~np.isnan(values)
            total = np.add.reduceat(np.where(defined, values, 0.0), starts)
            count = np.add.reduceat(defined.astype(np.float64), starts)
            return np.where(count > 0, total / np.maximum(count, 1), np.nan)
        best = np.fmax if self.higher_is_better else np.fmin
        return np.asarray(best.reduceat(values, starts))


def matrix(
    metric: MetricCore,
    candidates: list[str],
    others: list[str],
    source: str | None = None,
) -> Values:
    """Score all pairs.

    Args:
        metric: the metric.
        candidates: n texts.
        others: m references, or m sources for a metric that needs no references.
        source: the source of all candidates, for a metric that needs references and source.

    Returns:
        Scores (n, m); undefined ones as an empty text's.
    """
    if not candidates or not others:
        raise InputError("there is nothing to score: a matrix needs at least one candidate and one other text")
    by_reference = "reference" in metric.needs
    candidates, others = metric.encoders.in_form(candidates), metric.encoders.in_form(others)
    source = None if source is None else metric.encoders.in_form([source])[0]
    fitted = metric.fit(_each_once(candidates, others, by_reference))
    scores = np.zeros((len(candidates), len(others)))
    side = _side(metric, [*candidates, *others])
    for top in range(0, len(candidates), side):
        for left in range(0, len(others), side):
            part = scores[top : top + side, left : left + side]
            if by_reference and source is None:
                product = metric.score_product(candidates[top : top + side], others[left : left + side], fitted)
                if product is not None:
                    part[:] = product
                    continue
            rows = [
                (candidate, (other,) if by_reference else (), source if by_reference else other, 0)
                for candidate in candidates[top : top + side]
                for other in others[left : left + side]
            ]
            block = as_block(rows)
            refuse_large_texts([metric], block)
            part[:] = metric.score_block(block, fitted).values.reshape(part.shape)
    metric.refuse_missing(scores)
    fill = metric.entry.empty
    return np.where(np.isnan(scores), 0.0 if fill is None else fill, scores)


def _side(metric: MetricCore, texts: list[str]) -> int:
    """Return how many texts of each side fit in the memory budget together."""
    if not metric.bytes_per_token:
        return _SIDE
    longest = max(about_tokens(text) for text in texts)
    return max(1, min(_SIDE, metric.encoders.budget // 4 // metric.bytes_per_token // (2 * longest)))


def _each_once(candidates: list[str], others: list[str], by_reference: bool) -> MemoryCorpus:
    """Return a corpus with every text once, for metrics that count words; the shorter list is filled up with ''."""
    n = max(len(candidates), len(others))
    left = [*candidates, *[""] * (n - len(candidates))]
    right = [*others, *[""] * (n - len(others))]
    return MemoryCorpus({"candidate": left}, right if by_reference else None, None if by_reference else right)
