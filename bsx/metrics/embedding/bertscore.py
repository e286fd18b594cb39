"""BERTScore as a metric of the zoo: the scorer of `bsx.bertscore.scorer`, one of its three figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from bsx.bertscore.scorer import Scorer
from bsx.bertscore.windows import Plan
from bsx.data.corpus import Corpus, Segment
from bsx.metrics.base import Metric
from bsx.metrics.blocks import Block, BlockScores, Values
from bsx.metrics.core import MetricConfig
from bsx.support.signature import Signature


class BertScoreConfig(MetricConfig):
    """Settings of BERTScore; those of `bsx.Scorer` that change a score."""

    measure: Annotated[Literal["f1", "precision", "recall"], Field(description="Which of the three figures.")] = "f1"
    model: Annotated[str | None, Field(description="Encoder; the run's, or that of the language.")] = None
    layer: Annotated[int | None, Field(ge=0, description="Layer; the model's best unless given.")] = None
    idf: Annotated[bool, Field(description="Weight tokens by their idf in the references.")] = False
    rescale: Annotated[bool, Field(description="Rescale by the model's baseline for the language.")] = False
    multi_ref: Annotated[
        Literal["columnwise", "best"],
        Field(description="Several references: the highest of each figure, or all from the one with the best F1."),
    ] = "columnwise"
    specials: Annotated[
        Literal["match", "exclude", "bert-score"], Field(description="Whether special tokens may be matched.")
    ] = "match"
    long: Annotated[
        Literal["truncate", "window"], Field(description="Texts beyond the model's limit: cut, or read in windows.")
    ] = "truncate"


class BertScore(Metric[BertScoreConfig]):
    """BERTScore. Source: Zhang et al. 2020, section 3."""

    Config = BertScoreConfig

    def setup(self) -> None:
        """Build the scorer on the run's encoders."""
        config = self.config
        model = config.model or self.encoders.model
        settings = config.model_dump(exclude={"measure", "model"})
        self._scorer = Scorer(model, lang=self.encoders.lang, encoders=self.encoders, **settings)

    @property
    def bytes_per_token(self) -> int:
        """One layer's vector, held twice while matching."""
        return 8 * self._scorer.embedder.dimensions

    @property
    def notes(self) -> tuple[str, ...]:
        """What the scorer says about its model."""
        return self._scorer.notes

    def signature(self, fitted: Plan | None = None, references: tuple[int, int] | None = None) -> Signature:
        """Return the scorer's signature and which figure it is."""
        inner = self._scorer.signature(fitted)
        return Signature((*inner.fields, ("measure", self.config.measure)))

    def fit(self, corpus: Corpus) -> Plan:
        """Count idf weights on the references, if they are wanted."""
        return self._scorer.survey(corpus)

    @property
    def _figure(self) -> int:
        return ("precision", "recall", "f1").index(self.config.measure)

    def score_product(self, candidates: Sequence[str], references: Sequence[str], fitted: Plan) -> Values:
        """Score every candidate against every reference; see `Metric.score_product`."""
        scores = self._scorer.score_product(candidates, references, fitted)[0]
        undefined = np.isnan(scores).any(axis=-1)
        return np.where(undefined, np.nan, scores[..., self._figure].astype(np.float64))

    def score_block(self, block: Block, fitted: Plan) -> BlockScores:
        """Score rows; see `Metric.score_block`."""
        rows = zip(block.candidates, block.references, strict=True)
        segments = [Segment(str(i), (text,), references) for i, (text, references) in enumerate(rows)]
        window = self._scorer.score_segments(segments, fitted)
        values = window.scores[0, :, 0, self._figure].astype(np.float64)
        values[window.unweighted[:, 0]] = np.nan
        return BlockScores(values, window.empty[:, 0], window.tokens_lost[:, 0])
