"""ROUGE by the package rouge-score, and ROUGE-L as the COCO captioning toolkit has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from bsx.metrics.base import PairMetric
from bsx.metrics.blocks import Pairs, PairScores, Values
from bsx.metrics.core import MetricConfig, MultiRef
from bsx.support.optional import need
from bsx.support.untyped import Untyped

_BETA = 1.2


class RougeConfig(MetricConfig):
    """Settings of ROUGE."""

    variant: Annotated[
        Literal["rouge1", "rouge2", "rougeL", "rougeLsum", "coco"],
        Field(
            description="Which ROUGE, in the package's names; coco: ROUGE-L of the COCO captioning toolkit, of "
            "white-space tokens with their case, recall weighing more (beta 1.2)."
        ),
    ] = "rougeL"
    measure: Annotated[Literal["f1", "precision", "recall"], Field(description="Which of the three figures.")] = "f1"
    stemmer: Annotated[bool, Field(description="Compare Porter stems (English).")] = False
    tokenizer: Annotated[
        Literal["ascii", "whitespace"],
        Field(description="ascii: runs of a-z and 0-9, as the package has it; whitespace: for any other language."),
    ] = "ascii"
    multi_ref: MultiRef = "best"

    @model_validator(mode="after")
    def _consistent(self) -> RougeConfig:
        if self.stemmer and (self.variant == "coco" or self.tokenizer == "whitespace"):
            other = "variant=coco" if self.variant == "coco" else "tokenizer=whitespace"
            raise ValueError(f"{other} reads words as they are: stemmer cannot be combined with it")
        if self.variant == "coco" and self.multi_ref != "best":
            raise ValueError("variant=coco takes the best precision and recall over references: multi_ref=best")
        return self


class _Whitespace:
    """White-space tokens in lower case, for scripts that the package's own tokenizer does not know."""

    def tokenize(self, text: str) -> list[str]:
        return text.lower().split()


class _Tokens:
    """White-space tokens as they are."""

    def tokenize(self, text: str) -> list[str]:
        return text.split()


class Rouge(PairMetric[RougeConfig]):
    """Longest common subsequence, or n-gram overlap, of words. Source: Lin 2004; Google's rouge-score computes it."""

    Config = RougeConfig

    def setup(self) -> None:
        """Build the package's scorer."""
        config = self.config
        module = need("rouge_score.rouge_scorer", "ROUGE")
        if config.variant == "coco":
            self._tokenizer: Untyped = _Tokens()
        elif config.tokenizer == "whitespace":
            self._tokenizer = _Whitespace()
        else:
            self._tokenizer = need("rouge_score.tokenizers", "ROUGE").DefaultTokenizer(config.stemmer)
        self._kind = "rougeL" if config.variant == "coco" else config.variant
        self._scorer = module.RougeScorer([self._kind], use_stemmer=config.stemmer, tokenizer=self._tokenizer)

    def memory(self, candidate: str, other: str) -> int:
        """Return the bytes of its table of common subsequences, with a cell for each two words; see `Metric.memory`."""
        cells = len(candidate.split()) * len(other.split()) if self._kind.startswith("rougeL") else 0
        return super().memory(candidate, other) + 9 * cells

    @property
    def languages(self) -> list[str] | str:
        """Only the package's tokenizer is made for one language."""
        as_they_are = self.config.tokenizer == "whitespace" or self.config.variant == "coco"
        return "any" if as_they_are else super().languages

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the package's version, and what coco cuts words with."""
        from importlib.metadata import version

        cut = {"tokenizer": "cased-whitespace"} if self.config.variant == "coco" else {}
        return {**cut, "rouge_score": version("rouge_score")}

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`. Undefined where the tokenizer finds no word in a text."""
        figure = {"f1": "fmeasure"}.get(self.config.measure, self.config.measure)
        texts = pairs.texts
        rows = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
        results = [self._scorer.score(texts[j], texts[i])[self._kind] for i, j in rows]
        if self.config.variant == "coco":
            return PairScores(_coco(results, pairs.rows, self.config.measure))
        words = np.array([bool(self._tokenizer.tokenize(text)) for text in texts])
        values = [getattr(item, figure) for item in results]
        return PairScores(np.where(words[pairs.left] & words[pairs.right], values, np.nan))


def _coco(scores: Sequence[Untyped], rows: NDArray[np.int64], measure: str) -> Values:
    """Return a row's score at each of its pairs: the highest precision and recall over its references count.

    Source: Lin 2004 for the F measure; Chen et al. 2015, Microsoft COCO Captions, for beta and the references.
    """
    _, row = np.unique(rows, return_inverse=True)
    best = np.zeros((2, row.max(initial=-1) + 1))
    for side, name in zip(best, ("precision", "recall"), strict=True):
        np.maximum.at(side, row, [getattr(item, name) for item in scores])
    precision, recall = best
    weighted = recall + _BETA**2 * precision
    f = np.divide((1 + _BETA**2) * precision * recall, weighted, out=np.zeros_like(weighted), where=weighted > 0)
    chosen: Values = {"precision": precision, "recall": recall, "f1": f}[measure]
    return chosen[row]
