"""What training makes small."""

from __future__ import annotations

import torch
from torch.nn import functional


def squared_error(predicted: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error of standardised scores (batch,). Source: Mathur et al. 2019, section 3.2."""
    return functional.mse_loss(predicted, wanted)


def ranking_loss(better: torch.Tensor, worse: torch.Tensor) -> torch.Tensor:
    """Return the mean of log(1 + exp(s_worse - s_better)), for the scores of preferred and other candidates (batch,).

    Source: Burges et al. 2005 (RankNet), equation 3 with a target probability of 1.
    """
    return functional.softplus(worse - better).mean()
