"""The three networks: BiLSTM, BiLSTM with attention, ESIM. Source: Mathur et al. 2019, sections 3.2 and 3.3."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from bsx.train.config import Architecture, Difference, TrainConfig
from bsx.train.modules import BiLstm, ScalarMix, attend, dropped, linear, pooled


@dataclass(frozen=True)
class Encoded:
    """States of texts.

    Attributes:
        states: (texts, tokens, 2 * hidden), 0 at padding.
        lengths: tokens of each text (texts,); at least 1.
    """

    states: torch.Tensor
    lengths: torch.Tensor

    def take(self, rows: torch.Tensor) -> Encoded:
        """Return the states of some texts (rows,), padded no further than they need."""
        lengths = self.lengths[rows]
        return Encoded(self.states[rows, : int(lengths.max())], lengths)


class Network(nn.Module):
    """What the three have in common: mix, encoder and regressor.

    Args:
        layers: layers of the frozen encoder that are mixed.
        dimensions: size of its vectors.
        sides: what a candidate is compared with: 1 for reference or source, 2 for both.
        config: sizes, dropout, and how vectors differ.
        rng: of the first weights.
    """

    features: int
    """Features of one comparison, in units of the hidden size."""

    def __init__(self, layers: int, dimensions: int, sides: int, config: TrainConfig, rng: torch.Generator) -> None:
        super().__init__()
        self.hidden, self.dropout, self.difference = config.hidden, config.dropout, config.difference
        self.mix = ScalarMix(layers)
        self.encoder = BiLstm(dimensions, config.hidden)
        self.encoder.initialise(rng)
        self._build(rng)
        self.regressor = linear(sides * self.features * config.hidden, config.hidden, rng)
        self.output = linear(config.hidden, 1, rng)

    def _build(self, rng: torch.Generator) -> None:
        """Make further parts."""

    def encode(self, vectors: torch.Tensor, lengths: torch.Tensor, rng: torch.Generator | None = None) -> Encoded:
        """Encode texts.

        Args:
            vectors: the frozen encoder's vectors (layers, tokens, dim), text after text.
            lengths: tokens of each text (texts,).
            rng: of dropout; None in scoring.
        """
        rows = self.mix(vectors).split(lengths.tolist())
        padded = dropped(pad_sequence(list(rows), batch_first=True), self.dropout, rng, over_time=True)
        return Encoded(self.encoder(padded, lengths), lengths)

    @abstractmethod
    def compare(self, other: Encoded, candidate: Encoded, rng: torch.Generator | None) -> torch.Tensor:
        """Return features (batch, features * hidden) of a candidate beside a reference or source."""

    def forward(
        self, candidate: Encoded, others: Sequence[Encoded], rng: torch.Generator | None = None
    ) -> torch.Tensor:
        """Return standardised scores (batch,) of candidates beside each of the texts they are compared with."""
        features = torch.cat([self.compare(other, candidate, rng) for other in others], dim=-1)
        hidden = torch.relu(self.regressor(dropped(features, self.dropout, rng)))
        scores: torch.Tensor = self.output(dropped(hidden, self.dropout, rng))
        return scores[:, 0]


def _difference(a: torch.Tensor, b: torch.Tensor, kind: Difference) -> torch.Tensor:
    return a - b if kind == "signed" else (a - b).abs()


def _contrast(candidate: torch.Tensor, other: torch.Tensor, kind: Difference) -> torch.Tensor:
    """Return [v_t; v_r; v_t * v_r; v_t - v_r] (Mathur et al. 2019, equation 5)."""
    return torch.cat([candidate, other, candidate * other, _difference(candidate, other, kind)], dim=-1)


class BiLstmNetwork(Network):
    """Each text becomes one vector, the maximum and mean of its states; the texts do not see each other."""

    features = 16

    def compare(self, other: Encoded, candidate: Encoded, rng: torch.Generator | None) -> torch.Tensor:
        """Contrast the two vectors; see `Network.compare`."""
        sides = pooled(candidate.states, candidate.lengths), pooled(other.states, other.lengths)
        return _contrast(*sides, self.difference)


class AttentionNetwork(Network):
    """As `BiLstmNetwork`, of the states that each text sees in the other."""

    features = 16

    def compare(self, other: Encoded, candidate: Encoded, rng: torch.Generator | None) -> torch.Tensor:
        """Contrast what the two see in each other; see `Network.compare`."""
        by_other, by_candidate = attend(other.states, other.lengths, candidate.states, candidate.lengths)
        sides = pooled(by_candidate, candidate.lengths), pooled(by_other, other.lengths)
        return _contrast(*sides, self.difference)


class EsimNetwork(Network):
    """Enhanced sequential inference (Chen et al. 2017): a second BiLSTM reads each text beside what it sees."""

    features = 8

    def _build(self, rng: torch.Generator) -> None:
        self.projection = linear(8 * self.hidden, self.hidden, rng)
        self.composition = BiLstm(self.hidden, self.hidden)
        self.composition.initialise(rng)

    def compare(self, other: Encoded, candidate: Encoded, rng: torch.Generator | None) -> torch.Tensor:
        """Compose both sides; see `Network.compare`."""
        by_other, by_candidate = attend(other.states, other.lengths, candidate.states, candidate.lengths)
        sides = ((other, by_other), (candidate, by_candidate))
        return torch.cat([self._compose(side, seen, rng) for side, seen in sides], dim=-1)

    def _compose(self, side: Encoded, seen: torch.Tensor, rng: torch.Generator | None) -> torch.Tensor:
        h = side.states
        enhanced = torch.relu(
            self.projection(torch.cat([h, seen, _difference(h, seen, self.difference), h * seen], dim=-1))
        )
        states = self.composition(dropped(enhanced, self.dropout, rng, over_time=True), side.lengths)
        return pooled(states, side.lengths)


NETWORKS: dict[Architecture, type[Network]] = {
    "bilstm": BiLstmNetwork,
    "bilstm-attention": AttentionNetwork,
    "esim": EsimNetwork,
}


def build_network(
    architecture: Architecture, config: TrainConfig, *, layers: int, dimensions: int, seed: int
) -> Network:
    """Return a network with the first weights of a seed; see `Network`."""
    rng = torch.Generator().manual_seed(seed)
    return NETWORKS[architecture](layers, dimensions, 2 if config.inputs == "both" else 1, config, rng)
