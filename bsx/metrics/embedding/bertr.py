"""BERTR: recall of contextual embeddings."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from bsx.encode.states import normalise
from bsx.errors import InputError
from bsx.match.greedy import FlatVectors, match_pairs
from bsx.match.ngrams import Units
from bsx.metrics.core import MetricConfig, MultiRef, Pairs, PairScores
from bsx.metrics.embedding.base import EncoderMetric

_MODELS = {"en": "bert-base-uncased", "zh": "bert-base-chinese"}


class BertRConfig(MetricConfig):
    """Settings of BERTR."""

    model: Annotated[str | None, Field(description="Encoder; the paper's for the language unless given.")] = None
    layer: Annotated[int | None, Field(ge=0, le=10_000, description="Layer; the top one unless given.")] = None
    specials: Annotated[
        Literal["exclude", "include"],
        Field(description="Special tokens: leave them out, or treat them as words (the paper does not say)."),
    ] = "exclude"
    multi_ref: MultiRef = "best"


class BertR(EncoderMetric[BertRConfig]):
    """Mean over reference tokens of the highest cosine with a candidate token. Source: Mathur et al. 2019, section 3.1.

    Its models: bert-base-uncased for English, bert-base-chinese for Chinese, multilingual BERT for other languages.
    """

    Config = BertRConfig
    takes_context = True

    def setup(self) -> None:
        """Find the encoder for the language."""
        default = None
        if self.config.model is None and self.encoders.model is None:
            if self.encoders.language is None:
                raise InputError("bertr: say which language the texts are in (lang) or which model to use (model)")
            default = _MODELS.get(self.encoders.language.code, "bert-base-multilingual-cased")
        self.open_model(default=default)
        self.use_layers([self.depth if self.config.layer is None else self.config.layer])

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`."""
        states = self.states(pairs.texts)
        if self.config.specials == "exclude":
            states = states.select(~self.tokenizer.is_special[states.ids])
        masses = np.ones(len(states.ids), dtype=np.float32)
        units = Units(normalise(states.vectors[0]), masses, states.offsets, states.lengths)
        values = np.full(len(pairs.left), np.nan)
        present = (states.lengths[pairs.left] > 0) & (states.lengths[pairs.right] > 0)
        values[present] = match_pairs(FlatVectors.of(units), pairs.left[present], pairs.right[present])[0, :, 1]
        return PairScores(values, states.lost)
