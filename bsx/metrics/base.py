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
from bsx.metrics.core import ConfigT, Fitted, MetricCore, Reading
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
        given = {"reference": references, "source": sources}
        missing = [kind for kind in sorted(self.needs - {"candidate"}) if given[kind] is None]
        if missing:
            raise InputError(f"{self.name} compares candidates with {missing[0]}s: give {missing[0]}s=")
        corpus: Corpus = MemoryCorpus({"candidate": candidates}, references, sources, documents)
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
            Scores (n, m); undefined ones as an empty text's.
        """
        if self.context:
            raise InputError("a matrix is of texts alone: leave out context")
        rows, by_reference = as_texts(candidates, "candidates"), "reference" in self.needs
        kind, given = ("references", references) if by_reference else ("sources", sources)
        if given is None:
            raise InputError(f"{self.name} compares candidates with {kind}: give {kind}")
        columns, source = as_texts(given, kind), None
        if by_reference and "source" in self.needs:
            if sources is None:
                raise InputError(
                    f"{self.name} reads the source too: give sources one text, the source of all candidates"
                )
            source = self.encoders.in_form([cells.text(sources, "sources")])[0]
        if not rows or not columns:
            raise InputError("there is nothing to score: a matrix needs at least one candidate and one other text")
        rows, columns = self.encoders.in_form(rows), self.encoders.in_form(columns)
        # Every text once, for metrics that count words; the shorter list is filled up with blanks.
        n = max(len(rows), len(columns))
        left, right = ([*several, *[""] * (n - len(several))] for several in (rows, columns))
        once = MemoryCorpus({"candidate": left}, right if by_reference else None, None if by_reference else right)
        fitted = self.fit(Reading(once, self.encoders.config.normalize))
        side = _SIDE
        if self.bytes_per_token:  # as many texts of each side as fit in the memory budget together
            longest = max(about_tokens(text) for text in (*rows, *columns))
            side = max(1, min(side, self.encoders.budget // 4 // self.bytes_per_token // (2 * longest)))
        scores = np.zeros((len(rows), len(columns)))
        for top in range(0, len(rows), side):
            for start in range(0, len(columns), side):
                part = scores[top : top + side, start : start + side]
                some, others = rows[top : top + side], columns[start : start + side]
                if by_reference and source is None:
                    product = self.score_product(some, others, fitted)
                    if product is not None:
                        part[:] = product
                        continue
                pairs = [(text, other) for text in some for other in others]
                block = as_block(
                    [(text, (other,), source, 0) if by_reference else (text, (), other, 0) for text, other in pairs]
                )
                refuse_large_texts([self], block)
                part[:] = self.score_block(block, fitted).values.reshape(part.shape)
        self.refuse_missing(scores)
        fill = self.entry.empty
        return np.where(np.isnan(scores), 0.0 if fill is None else fill, scores)


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
