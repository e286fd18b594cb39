"""Settings of a training."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from bsx.support.settings import BaseSettings, Option

Architecture = Literal["esim", "bilstm", "bilstm-attention"]
_PYTHON = Option(python=True)  # as published, unless a program says otherwise
_NETWORK = Option(folded="network")
ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)


class TrainConfig(BaseSettings):
    """Settings of a training; the defaults are those of Mathur et al. 2019."""

    hidden: Annotated[
        int, Field(ge=1, le=10**6, description="Units of each direction of a BiLSTM, and of hidden layers."), _NETWORK
    ] = 300
    dropout: Annotated[
        float, Field(ge=0, lt=1, description="Share of units that are dropped in training."), _NETWORK
    ] = 0.5
    difference: Annotated[
        Literal["signed", "absolute"],
        Field(description="How two vectors differ: signed, as in the paper, or absolute."),
        _NETWORK,
    ] = "signed"
    learning_rate: Annotated[float, Field(gt=0, le=1e12, description="First learning rate of Adam."), _PYTHON] = 4e-4
    batch_size: Annotated[int, Field(ge=1, le=10**6, description="Instances of a training batch."), _PYTHON] = 32
    epochs: Annotated[int, Field(ge=1, le=10**6, description="Most epochs."), _NETWORK] = 75
    patience: Annotated[
        int, Field(ge=1, le=10**6, description="Stop after so many epochs without a better validation."), _PYTHON
    ] = 4
