"""chrF and chrF++ by sacreBLEU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, starmap
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.metrics.base import Metric
from bsx.metrics.core import Block, BlockScores, MetricConfig, Values
from bsx.metrics.lexical.common import block_scores, present
from bsx.metrics.lexical.ngrams import Words, count_ngrams, letters_of, ngrams_of, numbered, placed
from bsx.support.optional import need

_PER_LETTER = 150  # bytes of what counting n-grams holds at a time, one order after the other


class ChrfConfig(MetricConfig):
    """Settings of chrF; names and defaults are sacreBLEU's."""

    char_order: Annotated[int, Field(ge=1, le=100, description="Longest character n-gram.")] = 6
    word_order: Annotated[int, Field(ge=0, le=100, description="Longest word n-gram: 0 is chrF, 2 is chrF++.")] = 0
    beta: Annotated[int, Field(ge=1, le=10_000, description="How many times recall counts as much as precision.")] = 2
    lowercase: Annotated[bool, Field(description="Ignore case.")] = False
    whitespace: Annotated[bool, Field(description="Keep white space as characters.")] = False
    eps_smoothing: Annotated[bool, Field(description="Smooth as the first chrF++ scripts do.")] = False


class Chrf(Metric[ChrfConfig]):
    """Character n-gram F-score. Source: Popović 2015 and 2017; sacreBLEU computes it."""

    Config = ChrfConfig
    encodes = False
    pace = 0
    _packages = ("sacrebleu",)

    def setup(self) -> None:
        """Build sacreBLEU's object."""
        self._chrf = need("sacrebleu.metrics.chrf", "chrF").CHRF(**self.config.model_dump())

    def score_block(self, block: Block, fitted: object) -> BlockScores:
        """Score rows; see `Metric.score_block`."""
        groups = [present(references) for references in block.references]
        pairs = [(text, other) for text, others in zip(block.candidates, groups, strict=True) for other in others]
        given, places = placed(text for pair in pairs for text in pair)
        counted = [count_ngrams(units, places, np.full(len(pairs), 2), n) for units, n in self._units(given)]
        candidates, others, matches = np.concatenate(counted, axis=1)
        # Nothing is compared with a reference that has no n-gram.
        orders = np.stack([np.where(others > 0, candidates, 0.0), others, matches], axis=1)
        statistics = np.concatenate(orders).T  # order by order, characters first (pairs, 3 * orders)
        values = self._scores(orders)
        many = np.array([len(others) for others in groups], dtype=np.int64)
        if len(pairs) > len(block):  # of several references, the first of those with the highest score counts
            first = np.cumsum(many) - many
            highest = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, first), many))
            chosen = highest[np.searchsorted(highest, first)]
            values, statistics = values[chosen], statistics[chosen]
        return block_scores(block, values, statistics)

    def _units(self, texts: Iterable[str]) -> Iterator[tuple[Words, int]]:
        """Yield texts cut into characters, and into words if these count, each with the longest n-gram's length."""
        config, texts = self.config, list(map(self._chrf._preprocess_segment, texts))
        yield letters_of(texts if config.whitespace else ["".join(text.split()) for text in texts]), config.char_order
        if config.word_order:
            yield numbered(map(self._chrf._remove_punctuation, texts)), config.word_order

    def score_product(self, candidates: Sequence[str], references: Sequence[str], fitted: object) -> Values | None:
        """Count each text's n-grams once, if there is room for those of all texts; see `Metric.score_product`."""
        if _PER_LETTER * sum(map(len, (*candidates, *references))) > self.encoders.budget // 4:
            return None
        texts, places = placed([*candidates, *(text if text.strip() else "" for text in references)])
        left, right = places[: len(candidates)], places[len(candidates) :]
        ngrams = chain.from_iterable(starmap(ngrams_of, self._units(texts)))
        return self._scores((n.totals[left][:, None], n.totals[right][None, :], n.shared(left, right)) for n in ngrams)

    def _scores(self, counts: Iterable[Sequence[Values] | Values]) -> Values:
        """Return F-scores of n-grams order by order: numbers in candidates and in references, and matches.

        The same operations in the same order as in sacreBLEU, so that the scores are the same bit for bit.
        """
        tiny, factor = 1e-16, self.config.beta**2
        smoothed = effective = precision = recall = np.zeros(())
        for candidate, reference, match in counts:
            some, other = (candidate > 0) & (reference > 0), reference > 0
            p = np.where(some, match / np.where(some, candidate, 1), tiny)
            r = np.where(other, match / np.where(other, reference, 1), tiny)
            if self.config.eps_smoothing:
                under = factor * p + r
                smoothed = smoothed + np.where(under > 0, (1 + factor) * p * r / np.where(under > 0, under, 1), tiny)
                continue
            precision, recall = precision + np.where(some, p, 0.0), recall + np.where(some, r, 0.0)
            effective = effective + some
        if self.config.eps_smoothing:
            return np.asarray(100 * smoothed / int(self._chrf.order))
        precision, recall = (total / np.maximum(effective, 1) for total in (precision, recall))
        under = factor * precision + recall
        return np.asarray(100 * ((1 + factor) * precision * recall / np.where(under > 0, under, 1)))

    def system_score(self, statistics: Values) -> float:
        """Return corpus chrF."""
        return float(self._chrf._compute_score_from_stats([int(value) for value in statistics]).score)
