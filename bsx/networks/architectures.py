"""The three networks: BiLSTM, BiLSTM with attention, ESIM. Source: Mathur et al. 2019, sections 3.2 and 3.3."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from bsx.networks.config import Architecture, TrainConfig


def dropped(x: torch.Tensor, share: float, rng: torch.Generator | None, *, over_time: bool = False) -> torch.Tensor:
    """Return x with a share of its units set to 0 and the others scaled up.

    Source: Gal & Ghahramani 2016 for one mask over time (variational dropout).

    Args:
        x: (batch, tokens, dim) if ``over_time``, else (batch, dim).
        share: how many units to drop.
        rng: of the mask; None returns x as it is (scoring).
        over_time: use the same mask for all tokens of a text.
    """
    if rng is None or share == 0:
        return x
    shape = (x.shape[0], 1, x.shape[2]) if over_time else x.shape
    mask = torch.rand(shape, generator=rng, device=x.device) >= share
    return x * (mask / (1 - share))


class ScalarMix(nn.Module):
    """gamma * sum_l softmax(s)_l h_l, without layer norm. Source: Peters et al. 2018, equation 1."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.gamma = nn.Parameter(torch.ones(1))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Mix states (layers, tokens, dim) to (tokens, dim)."""
        layers, tokens, dim = states.shape
        # One product of a row with a matrix: much faster here than a contraction of three axes.
        mixed = torch.softmax(self.weights, dim=0)[None, :] @ states.reshape(layers, tokens * dim)
        return self.gamma * mixed.reshape(tokens, dim)


def mask_of(lengths: torch.Tensor, longest: int) -> torch.Tensor:
    """Return which positions are tokens (batch, longest), given how many tokens each text has (batch,)."""
    return torch.arange(longest, device=lengths.device)[None, :] < lengths[:, None]


class BiLstm(nn.Module):
    """One layer of LSTM in each direction over padded sequences.

    The backward direction reads each sequence from its own last token on, so that padding changes nothing. That is
    faster on a CPU than packed sequences, and gives the same states.

    Args:
        inputs: size of an input vector.
        hidden: units of each direction.
        rng: of the first weights: Xavier-uniform ones of inputs, orthogonal ones of states; biases are 0, but 1 for the
            forget gate.
    """

    def __init__(self, inputs: int, hidden: int, rng: torch.Generator) -> None:
        super().__init__()
        self.ahead = nn.LSTM(inputs, hidden, batch_first=True)
        self.back = nn.LSTM(inputs, hidden, batch_first=True)
        for lstm in (self.ahead, self.back):
            weights = dict(lstm.named_parameters())
            nn.init.xavier_uniform_(weights["weight_ih_l0"], generator=rng)
            nn.init.orthogonal_(weights["weight_hh_l0"], generator=rng)
            nn.init.zeros_(weights["bias_ih_l0"])
            nn.init.zeros_(weights["bias_hh_l0"])
            with torch.no_grad():  # gates in PyTorch's order: input, forget, cell, output
                weights["bias_hh_l0"][hidden : 2 * hidden] = 1.0

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return states (batch, tokens, 2 * hidden), 0 at padding, of x (batch, tokens, dim) with lengths (batch,)."""
        positions = torch.arange(x.shape[1], device=x.device)[None, :]
        last = lengths[:, None] - 1
        order = torch.where(positions <= last, last - positions, positions)
        rows = torch.arange(len(x), device=x.device)[:, None]
        ahead: torch.Tensor = self.ahead(x)[0]
        back: torch.Tensor = self.back(x[rows, order])[0][rows, order]
        return torch.cat([ahead, back], dim=-1) * (positions <= last)[:, :, None]


def pooled(states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return [max; mean] over the tokens of each text (batch, 2 * dim) of states (batch, tokens, dim)."""
    mask = mask_of(lengths, states.shape[1])[:, :, None]
    highest = states.masked_fill(~mask, -torch.inf).amax(dim=1)
    mean = (states * mask).sum(dim=1) / lengths[:, None].to(states.dtype)
    return torch.cat([highest, mean], dim=-1)


def linear(inputs: int, outputs: int, rng: torch.Generator) -> nn.Linear:
    """Return a linear layer with Xavier-uniform weights and biases 0."""
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight, generator=rng)
    nn.init.zeros_(layer.bias)
    return layer


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


def attend(a: Encoded, b: Encoded) -> tuple[Encoded, Encoded]:
    """Return what each token of one text sees in the other: dot-product attention in both directions.

    Source: Mathur et al. 2019, equations 7 to 9. The weights of a weighted sum add up to 1, as in the authors' code;
    the paper prints the normaliser over the other index.

    Returns:
        Of b, for each token of a (batch, tokens of a, 2 * hidden), and of a, for each token of b.
    """
    similarity = a.states @ b.states.transpose(1, 2)
    a_mask, b_mask = (mask_of(side.lengths, side.states.shape[1]) for side in (a, b))
    over_b = similarity.masked_fill(~b_mask[:, None, :], -torch.inf).softmax(dim=2)
    over_a = similarity.masked_fill(~a_mask[:, :, None], -torch.inf).softmax(dim=1)
    return Encoded(over_b @ b.states, a.lengths), Encoded(over_a.transpose(1, 2) @ a.states, b.lengths)


class Network(nn.Module):
    """What the three have in common: a mix of the frozen encoder's layers, a BiLSTM and a regressor."""

    features: int
    """Features of one comparison, in units of the hidden size."""

    def __init__(self, layers: int, dimensions: int, config: TrainConfig, rng: torch.Generator) -> None:
        super().__init__()
        self.hidden, self.dropout, self.difference = config.hidden, config.dropout, config.difference
        self.mix = ScalarMix(layers)
        self.encoder = BiLstm(dimensions, config.hidden, rng)
        self._build(rng)
        self.regressor = linear(self.features * config.hidden, config.hidden, rng)
        self.output = linear(config.hidden, 1, rng)

    def _build(self, rng: torch.Generator) -> None:
        """Make further parts."""

    def encode(self, vectors: torch.Tensor, lengths: torch.Tensor, rng: torch.Generator | None = None) -> Encoded:
        """Encode texts of so many tokens each (texts,), of their frozen vectors (layers, tokens, dim) in that order."""
        rows = self.mix(vectors).split(lengths.tolist())
        padded = dropped(pad_sequence(list(rows), batch_first=True), self.dropout, rng, over_time=True)
        return Encoded(self.encoder(padded, lengths), lengths)

    def contrast(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return how two vectors differ, as the settings say."""
        return a - b if self.difference == "signed" else (a - b).abs()

    @abstractmethod
    def compare(self, candidate: Encoded, reference: Encoded, rng: torch.Generator | None) -> torch.Tensor:
        """Return features (batch, features * hidden) of candidates beside their references."""

    def forward(self, candidate: Encoded, reference: Encoded, rng: torch.Generator | None = None) -> torch.Tensor:
        """Return standardised scores (batch,) of candidates beside their references."""
        features = self.compare(candidate, reference, rng)
        hidden = torch.relu(self.regressor(dropped(features, self.dropout, rng)))
        scores: torch.Tensor = self.output(dropped(hidden, self.dropout, rng))
        return scores[:, 0]


class BiLstmNetwork(Network):
    """Each text becomes one vector, the maximum and mean of its states; the texts do not see each other."""

    features = 16

    def compare(self, candidate: Encoded, reference: Encoded, rng: torch.Generator | None) -> torch.Tensor:
        """Return [v_t; v_r; v_t * v_r; v_t - v_r] (Mathur et al. 2019, equation 5); see `Network.compare`."""
        a, b = (pooled(side.states, side.lengths) for side in (candidate, reference))
        return torch.cat([a, b, a * b, self.contrast(a, b)], dim=-1)


class AttentionNetwork(BiLstmNetwork):
    """As `BiLstmNetwork`, of the states that each text sees in the other."""

    def compare(self, candidate: Encoded, reference: Encoded, rng: torch.Generator | None) -> torch.Tensor:
        """Compare what the two see in each other; see `Network.compare`."""
        by_reference, by_candidate = attend(reference, candidate)
        return super().compare(by_candidate, by_reference, rng)


class EsimNetwork(Network):
    """Enhanced sequential inference (Chen et al. 2017): a second BiLSTM reads each text beside what it sees."""

    features = 8

    def _build(self, rng: torch.Generator) -> None:
        self.projection = linear(8 * self.hidden, self.hidden, rng)
        self.composition = BiLstm(self.hidden, self.hidden, rng)

    def compare(self, candidate: Encoded, reference: Encoded, rng: torch.Generator | None) -> torch.Tensor:
        """Compose both sides; see `Network.compare`."""
        composed = []
        for side, seen in zip((reference, candidate), attend(reference, candidate), strict=True):
            h, a = side.states, seen.states
            enhanced = torch.relu(self.projection(torch.cat([h, a, self.contrast(h, a), h * a], dim=-1)))
            states = self.composition(dropped(enhanced, self.dropout, rng, over_time=True), side.lengths)
            composed.append(pooled(states, side.lengths))
        return torch.cat(composed, dim=-1)


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
    return NETWORKS[architecture](layers, dimensions, config, rng)
