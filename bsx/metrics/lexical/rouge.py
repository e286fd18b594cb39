"""ROUGE by the package rouge-score."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from bsx.metrics.base import PairMetric
from bsx.metrics.blocks import Pairs, PairScores
from bsx.metrics.core import MetricConfig, MultiRef
from bsx.support.optional import need


class RougeConfig(MetricConfig):
    """Settings of ROUGE."""

    variant: Annotated[
        Literal["rouge1", "rouge2", "rougeL", "rougeLsum"], Field(description="Which ROUGE, in the package's names.")
    ] = "rougeL"
    measure: Annotated[Literal["f1", "precision", "recall"], Field(description="Which of the three figures.")] = "f1"
    stemmer: Annotated[bool, Field(description="Compare Porter stems (English).")] = False
    tokenizer: Annotated[
        Literal["ascii", "whitespace"],
        Field(description="ascii: runs of a-z and 0-9, as the package has it; whitespace: for any other language."),
    ] = "ascii"
    multi_ref: MultiRef = "best"


class _Whitespace:
    """White-space tokens in lower case, for scripts that the package's own tokenizer does not know."""

    def tokenize(self, text: str) -> list[str]:
        return text.lower().split()


class Rouge(PairMetric[RougeConfig]):
    """Longest common subsequence, or n-gram overlap, of words. Source: Lin 2004; Google's rouge-score computes it."""

    Config = RougeConfig

    def setup(self) -> None:
        """Build the package's scorer."""
        config = self.config
        module = need("rouge_score.rouge_scorer", "ROUGE")
        ascii_only = need("rouge_score.tokenizers", "ROUGE").DefaultTokenizer(config.stemmer)
        self._tokenizer = _Whitespace() if config.tokenizer == "whitespace" else ascii_only
        self._scorer = module.RougeScorer([config.variant], use_stemmer=config.stemmer, tokenizer=self._tokenizer)

    def memory(self, candidate: str, other: str) -> int:
        """Return the bytes of its table of common subsequences, with a cell for each two words; see `Metric.memory`."""
        cells = len(candidate.split()) * len(other.split()) if self.config.variant.startswith("rougeL") else 0
        return super().memory(candidate, other) + 9 * cells

    @property
    def languages(self) -> list[str] | str:
        """Only the package's tokenizer is made for one language."""
        return "any" if self.config.tokenizer == "whitespace" else super().languages

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the package's version."""
        from importlib.metadata import version

        return {"rouge_score": version("rouge_score")}

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`. Undefined where the tokenizer finds no word in a text."""
        figure = {"f1": "fmeasure"}.get(self.config.measure, self.config.measure)
        texts = pairs.texts
        rows = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
        values = [getattr(self._scorer.score(texts[j], texts[i])[self.config.variant], figure) for i, j in rows]
        words = np.array([bool(self._tokenizer.tokenize(text)) for text in texts])
        return PairScores(np.where(words[pairs.left] & words[pairs.right], values, np.nan))
