"""CLB: what a metric says of text that means the same in two languages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.factors.base import Factor, FactorConfig, FactorScores, Resources, SentencePairs, Values
from bsx.errors import InputError

Score = Callable[[Sequence[str], Sequence[str]], ArrayLike]


def cross_lingual_bias(score: Score, sources: Sequence[str], translations: Sequence[str]) -> Values:
    """Return a metric's own score of each source with its good translation (n,).

    A metric without a bias between the languages would give all of them about the same high score. Source: Kaster,
    Zhao & Eger 2021, section 3; they took machine translations. The factor belongs to one metric: each metric is
    explained with its own.

    Args:
        score: called once with distinct sources and their translations, returns a number for each pair.
        sources: n texts.
        translations: n translations of them; equal pairs are scored once.

    Raises:
        InputError: if the numbers differ, or the metric returns another number of scores.
    """
    if len(sources) != len(translations):
        raise InputError(f"clb: {len(sources)} sources, {len(translations)} translations")
    pairs = list(dict.fromkeys(zip(sources, translations, strict=True)))
    values = np.asarray(score([source for source, _ in pairs], [text for _, text in pairs]), dtype=np.float64)
    if values.shape != (len(pairs),):
        raise InputError(f"clb: the metric returned {values.shape} scores for {len(pairs)} pairs")
    result = dict(zip(pairs, values.tolist(), strict=True))
    return np.array([result[pair] for pair in zip(sources, translations, strict=True)], dtype=np.float64)


class CrossLingualBias(Factor):
    """A column of a metric's scores of parallel text; `cross_lingual_bias` computes one with any metric.

    Source: Kaster, Zhao & Eger 2021, section 3.
    """

    Config = FactorConfig
    reads = frozenset({"parallel_scores"})

    def compute(self, pairs: SentencePairs, resources: Resources) -> FactorScores:
        """Return the column; see `Factor.compute`."""
        column = resources.parallel_scores
        if column is None:
            present = ", ".join(map(repr, pairs.columns)) or "none"
            raise InputError(
                "clb: name the column with the metric's scores of the first sentences and their translations "
                f"(parallel_scores); the columns are {present}"
            )
        return FactorScores(pairs.numbers(column), {"column": column})
