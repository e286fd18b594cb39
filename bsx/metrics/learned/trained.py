"""Metrics trained on human scores with ``bsx train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bsx.errors import InputError
from bsx.metrics.core import Block, BlockScores, MetricConfig, MultiRef, Pairs, PairScores
from bsx.metrics.embedding.base import EncoderMetric
from bsx.networks.encoder import find_again, limited_tokenizer
from bsx.networks.record import SavedModel
from bsx.networks.scoring import score_pairs


class TrainedConfig(MetricConfig):
    """Settings of a trained metric."""

    positional: ClassVar[str | None] = "folder"

    folder: Annotated[Path | None, Field(description="The folder of the trained metric.")] = None
    multi_ref: MultiRef = "best"


class Trained(EncoderMetric[TrainedConfig]):
    """Mean score of networks that were trained on human scores. Source: Mathur et al. 2019, sections 3.2 and 3.3."""

    Config = TrainedConfig

    @classmethod
    def lacks(cls) -> str | None:
        """Nothing comes with bsx that it could score with."""
        return "a folder of bsx train"

    def setup(self) -> None:
        """Read the folder, load the networks, and find the encoder they were trained on."""
        if self.config.folder is None:
            raise InputError("trained: say which folder, one that `bsx train` made: trained:FOLDER")
        self.saved = SavedModel.open(self.config.folder.expanduser())
        record = self.saved.record
        self.located = find_again(record.encoder, self.encoders, self.spec)
        self.depth = self.located.architecture.depth
        self.tokenizer = limited_tokenizer(self.located, record.encoder.max_pieces)
        self.use_layers(range(1, self.depth + 1))
        self._networks = [network.to(self.encoders.device) for network in self.saved.networks()]

    @property
    def notes(self) -> tuple[str, ...]:
        """Say when the encoder runs in another number format than in training."""
        trained, now = self.saved.record.encoder.dtype, self.encoders.signed_dtype
        if now == trained:
            return ()
        return (f"{self.spec}: was trained on vectors in {trained}, the encoder runs in {now} now",)

    @property
    def bytes_per_token(self) -> int:
        """States of the encoder and of one network, held twice while they are worked on."""
        return super().bytes_per_token + 16 * self.saved.record.settings.hidden

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the encoder's fields, and what stands for the networks."""
        record = self.saved.record
        return {
            **super().signature_fields(fitted),
            "folder": f"{record.architecture}@{self.saved.digest}",
            "seeds": len(record.members),
        }

    def score_block(self, block: Block, fitted: object) -> BlockScores:
        """Score rows; one without content gets the lowest score of the training data. See `Metric.score_block`."""
        scored = super().score_block(block, fitted)
        missing = np.isnan(scored.values)
        scored.undefined = missing & ~scored.empty
        scored.values[missing] = self.saved.record.low
        return scored

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`."""
        states = self.states(pairs.texts)
        states = states.select(~self.tokenizer.is_special[states.ids])
        present = (states.lengths[pairs.left] > 0) & (states.lengths[pairs.right] > 0)
        record, left, right = self.saved.record, pairs.left[present], pairs.right[present]
        outputs = [record.shift + record.scale * score_pairs(each, states, left, right) for each in self._networks]
        values = np.full(len(pairs.left), np.nan)
        values[present] = np.mean(outputs, axis=0)
        return PairScores(values, states.lost)
