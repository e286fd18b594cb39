"""The state of an unfinished training in one safetensors file, from which it goes on exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict

from bsx.data.output import atomic_path
from bsx.errors import InputError
from bsx.support.tensors import digest_of, load_tensors, save_tensors
from bsx.support.untyped import JsonObject

Weights = dict[str, torch.Tensor]
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class Epoch(BaseModel):
    """What one epoch did.

    Attributes:
        epoch: its number, from 1.
        loss: mean training loss, dropout included.
        valid: agreement on the validation data; NaN if all predictions were the same.
        learning_rate: that it was trained with.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    epoch: int
    loss: float
    valid: float
    learning_rate: float


@dataclass
class Progress:
    """How far a training is. Epoch e's random numbers depend on the seed and e alone, so none need be kept.

    Attributes:
        learning_rate: of the next epoch.
        best: weights after the best epoch so far; empty before the first.
        log: finished epochs.
        best_epoch: its number; 0 if no epoch had a validation figure.
    """

    learning_rate: float
    best: Weights = field(default_factory=dict)
    log: list[Epoch] = field(default_factory=list)
    best_epoch: int = 0

    @property
    def best_valid(self) -> float:
        """The best validation figure so far; minus infinity if there is none."""
        return self.log[self.best_epoch - 1].valid if self.best_epoch else -float("inf")

    @property
    def waited(self) -> int:
        """Epochs since the best one."""
        return len(self.log) - self.best_epoch


def write_tensors(file: Path, tensors: Weights, facts: Mapping[str, object]) -> None:
    """Write tensors and what belongs to them to a safetensors file that appears when it is complete."""
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    said = json.dumps(facts)
    with atomic_path(file, own=True) as temporary:
        save_tensors(whole, temporary, {"bsx": said, "sha256": digest_of(whole, said)})


def read_tensors(file: Path) -> tuple[Weights, JsonObject]:
    """Read what `write_tensors` wrote.

    Raises:
        InputError: if the file is missing or damaged.
    """
    tensors, metadata = load_tensors(file)
    said = metadata.pop("bsx", "")
    if metadata not in ({}, {"sha256": digest_of(tensors, said)}):  # files of before have none
        raise InputError("is damaged: its sha256 is not the one that was written", file=file)
    try:
        return tensors, dict(json.loads(said))
    except (ValueError, TypeError) as error:
        raise InputError(f"is missing or damaged ({error})", file=file) from error


def save_progress(file: Path, network: torch.nn.Module, optimiser: torch.optim.Optimizer, progress: Progress) -> None:
    """Write everything the next epoch depends on."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    tensors |= {f"best.{name}": value for name, value in progress.best.items()}
    for number, state in optimiser.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{name}": state[name] for name in _MOMENTS}
    facts = {
        "learning_rate": progress.learning_rate,
        "best_epoch": progress.best_epoch,
        "log": [epoch.model_dump() for epoch in progress.log],
    }
    write_tensors(file, tensors, facts)


def load_progress(file: Path, network: torch.nn.Module, optimiser: torch.optim.Optimizer) -> Progress:
    """Bring network and optimiser to where `save_progress` found them.

    Raises:
        InputError: if the file is damaged or of another network.
    """
    tensors, facts = read_tensors(file)
    parts: dict[str, Weights] = {"network": {}, "best": {}, "adam": {}}
    try:
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        network.load_state_dict(parts["network"])
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in parts["adam"].items():
            number, _, moment = name.partition(".")
            moments.setdefault(int(number), {})[moment] = tensor
        optimiser.load_state_dict({**optimiser.state_dict(), "state": moments})
        log = [Epoch(**epoch) for epoch in facts["log"]]
        return Progress(float(facts["learning_rate"]), parts["best"], log, int(facts["best_epoch"]))
    except (RuntimeError, LookupError, TypeError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"is no state of this training ({said}); remove it to train this seed anew", file=file
        ) from error
