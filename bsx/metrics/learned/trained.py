"""Metrics trained on human scores with ``bsx train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries.metrics import MetricEntry
from bsx.errors import InputError
from bsx.metrics.blocks import Block, BlockScores, Pairs, PairScores
from bsx.metrics.core import MetricConfig, MultiRef
from bsx.metrics.embedding.base import EncoderMetric
from bsx.train.config import Inputs
from bsx.train.encoder import find_again, limited_tokenizer
from bsx.train.record import SavedModel
from bsx.train.scoring import score_pairs

_NEEDS: dict[Inputs, frozenset[str]] = {
    "reference": frozenset({"candidate", "reference"}),
    "source": frozenset({"candidate", "source"}),
    "both": frozenset({"candidate", "reference", "source"}),
}


class TrainedConfig(MetricConfig):
    """Settings of a trained metric."""

    positional: ClassVar[str | None] = "folder"

    folder: Annotated[Path | None, Field(description="The folder of the trained metric.")] = None
    report: Annotated[
        Literal["score", "spread"],
        Field(description="The mean of its networks, or their standard deviation: how unsure they are."),
    ] = "score"
    multi_ref: MultiRef = "best"

    def reads(self, entry: MetricEntry, catalog: Catalog) -> frozenset[str]:
        """Return what it was trained to compare candidates with."""
        return _NEEDS[_open(self.folder).record.settings.inputs]


def _open(folder: Path | None) -> SavedModel:
    if folder is None:
        raise InputError("trained: say which folder, one that `bsx train` made: trained:FOLDER")
    return SavedModel.open(folder.expanduser())


class Trained(EncoderMetric[TrainedConfig]):
    """Mean score of networks that were trained on human scores. Source: Mathur et al. 2019, sections 3.2 and 3.3."""

    Config = TrainedConfig

    @classmethod
    def lacks(cls) -> str | None:
        """Nothing comes with bsx that it could score with."""
        return "a folder of bsx train"

    def setup(self) -> None:
        """Read the folder, load the networks, and find the encoder they were trained on."""
        config = self.config
        self.saved = _open(config.folder)
        record = self.saved.record
        if config.report == "spread" and len(record.members) < 2:
            raise InputError(f"{self.spec}: has one network; a spread needs two or more (`bsx train … --seeds 1,2,3`)")
        self.located = find_again(record.encoder, self.encoders, self.spec)
        self.depth = self.located.architecture.depth
        self.tokenizer = limited_tokenizer(self.located, record.encoder.max_pieces)
        self.use_layers(range(1, self.depth + 1))
        self._networks = [network.to(self.encoders.device) for network in self.saved.networks()]

    @property
    def higher_is_better(self) -> bool:
        """Scores rise with quality; a higher spread says less."""
        return self.config.report == "score"

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
            "inputs": record.settings.inputs,
        }

    def score_block(self, block: Block, fitted: object) -> BlockScores:
        """Score rows; one without content gets the lowest score of the training data. See `Metric.score_block`."""
        scored = super().score_block(block, fitted)
        missing = np.isnan(scored.values)
        scored.undefined = missing & ~scored.empty
        scored.values[missing] = self.saved.record.low if self.config.report == "score" else 0.0
        return scored

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`."""
        states = self.states(pairs.texts)
        lost = states.lost
        states = states.select(~self.tokenizer.is_special[states.ids])
        sides = [pairs.right] if pairs.sources is None else [pairs.right, pairs.sources]
        others = np.stack(sides, axis=1)
        present = (states.lengths[pairs.left] > 0) & (states.lengths[others] > 0).all(axis=1)
        values = np.full((len(self._networks), len(pairs.left)), np.nan)
        for row, (network, member) in enumerate(zip(self._networks, self.saved.record.members, strict=True)):
            raw = score_pairs(network, states, pairs.left[present], others[present])
            values[row, present] = member.shift + member.scale * raw
        if self.config.report == "spread":
            return PairScores(self._spread(values, pairs.rows), lost)
        return PairScores(values.mean(axis=0), lost)

    def _spread(self, values: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the networks' standard deviation about each row's score, at the pairs that the score is of.

        Args:
            values: (networks, pairs).
            rows: row of each pair (pairs,).
        """
        spread = np.full(values.shape[1], np.nan)
        mean = values.mean(axis=0)
        for row in np.unique(rows):
            at = np.flatnonzero((rows == row) & ~np.isnan(mean))
            if not len(at):
                continue
            if self.reduction == "mean":  # the networks' means over the references
                spread[at] = values[:, at].mean(axis=1).std(ddof=1)
            else:
                best = at[np.argmax(mean[at])]
                spread[best] = values[:, best].std(ddof=1)
        return spread
