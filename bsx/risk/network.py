"""The network behind trained risks, to be trained: `bsx.risk.explainer` computes the same without PyTorch."""

from __future__ import annotations

import torch
from torch import nn


class RiskNetwork(nn.Module):
    """A layer on each word, one on each word with its two neighbours, and a logit.

    Args:
        inputs: size of what is known of a word.
        hidden: units of both layers.

    Attributes:
        centre: mean of each input over the training words (inputs,).
        spread: its standard deviation.
    """

    centre: torch.Tensor
    spread: torch.Tensor

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(inputs))
        self.register_buffer("spread", torch.ones(inputs))
        self.entrance = nn.Linear(inputs, hidden)
        self.neighbours = nn.Conv1d(hidden, hidden, 3, padding=1)
        self.exit = nn.Linear(hidden, 1)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """Return logits (texts, words) of inputs (texts, words, inputs), of which some (texts, words) are words."""
        known = words[..., None].to(x.dtype)
        x = self.dropout((x - self.centre) / self.spread * known)
        hidden = torch.relu(self.entrance(x)) * known
        beside = torch.relu(self.neighbours(hidden.transpose(1, 2)).transpose(1, 2)) * known
        logits: torch.Tensor = self.exit(self.dropout(hidden + beside))
        return logits[..., 0]
