"""What metrics have in common whose checkpoint is a regression model of its own: BLEURT and MetricX."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import torch

from bsx.catalog.entries.models import Source
from bsx.encode.batching import default_batch_tokens, pad, plan_batches
from bsx.encode.model import identified
from bsx.errors import InputError, ModelUnavailableError
from bsx.metrics.base import PairMetric
from bsx.metrics.core import ConfigT, Values
from bsx.models.files import fetch, find
from bsx.support.arrays import finite, gathered, tensor
from bsx.support.tensors import load_weights
from bsx.support.untyped import JsonObject, Untyped, blaming


def locate_resource(name: str, purpose: str) -> tuple[Path, str]:
    """Return the folder of a checkpoint, and its name and shortened digest for a signature.

    It is named by a folder, taken as it is, or by a hub id, looked for in the cache and on the hub.

    Raises:
        InputError: if it is neither a folder with a checkpoint nor a hub id.
        ModelUnavailableError: if the hub cannot be reached and the files are not here.
    """
    if Path(name).is_dir():
        source = Source(path=name)
    elif name.count("/") == 1 and not name.startswith((".", "/", "~")):
        source = Source(hub=name, revision="main")
    else:
        raise InputError(f"{purpose}: {name!r} is neither a folder nor a hub id like owner/name")
    folder = find(source)
    if folder is None:
        if source.hub is None:
            raise InputError(f"{purpose}: {name} holds no config.json with weights next to it")
        try:
            folder = fetch(source)
        except ModelUnavailableError as error:
            raise ModelUnavailableError(f"{purpose}: the model {name} is not on this machine: {error}") from error
    result = identified(source, folder, name)
    shown = name if source.path is None else Path(os.path.realpath(folder)).name
    return folder, f"{shown}@{result.label}"


class Regression(PairMetric[ConfigT]):
    """A metric that reads both texts as one sequence, by a model of its own; its configuration has a field ``model``.

    Attributes:
        title: what users call it.
        architectures: what its checkpoints say as ``model_type``.
        size_field: the field of their ``config.json`` with the size of a token's vector.
    """

    shares_model = False
    _packages = ("transformers",)
    title: ClassVar[str]
    architectures: ClassVar[tuple[str, ...]]
    size_field: ClassVar[str]

    def setup(self) -> None:
        """Find the checkpoint and read its configuration."""
        name = getattr(self.config, "model", None) or self.entry.model
        self.folder, self._identity = locate_resource(str(name), self.name)
        with blaming(f"{self.folder}: its config.json cannot be used"):
            self.checkpoint: JsonObject = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
            kind = self.checkpoint.get("model_type")
            if kind not in self.architectures:
                known = " or ".join(self.architectures)
                raise InputError(f"{self.folder}: is a {kind} checkpoint, not {self.title}'s, which are {known}")
            self.dimensions, self.limit = int(self.checkpoint[self.size_field]), self.most_tokens()

    @abstractmethod
    def most_tokens(self) -> int:
        """Return how many tokens it reads at most."""

    @property
    def bytes_per_token(self) -> int:
        """Nothing is kept, but a batch's activations must fit."""
        return 8 * self.dimensions

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the checkpoint's identity, and what runs it."""
        return {
            "model": self._identity,
            "limit": self.limit,
            "dtype": "fp32",
            "backend": f"torch-{torch.__version__.partition('+')[0]}",
            **super().signature_fields(fitted),
        }

    @cached_property
    def model(self) -> Untyped:
        """What `build` makes of the checkpoint's weights."""
        with blaming(f"{self.folder}: its config.json or its weights cannot be used"):
            return self.build({name: weight.float() for name, weight in load_weights(self.folder).items()})

    @abstractmethod
    def build(self, weights: dict[str, torch.Tensor]) -> Untyped:
        """Return the model with the checkpoint's weights, on the run's device."""

    def load(self, model: torch.nn.Module, weights: dict[str, torch.Tensor], unused: tuple[str, ...]) -> None:
        """Give a model its weights, but those whose names end as nothing reads; refuse what is missing or left over."""
        on_meta = next(model.parameters()).is_meta
        missing, unexpected = model.load_state_dict(weights, strict=False, assign=on_meta)
        unexpected = [name for name in unexpected if not name.endswith(unused)]
        if missing or unexpected:
            what = f"lack {missing[0]}" if missing else f"hold {unexpected[0]}, which {self.title} has not"
            raise self.bad_weights(what)

    def bad_weights(self, what: str) -> InputError:
        """Return the error that says what the weights lack or hold."""
        where = f"{self.folder}: is no {self.title} checkpoint"
        return InputError(f"{where}: its weights (model.safetensors, or .bin) {what}")

    def score_sequences(
        self,
        sequences: Sequence[Sequence[int]],
        pad_id: int,
        forward: Callable[[list[int], torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> Values:
        """Return the scores of sequences of token ids (sequences,), short ones filled up with ``pad_id``.

        ``forward`` returns the scores (batch,) of some, given which they are, their ids and mask (batch, tokens); those
        that are no finite numbers are refused.
        """
        device = self.encoders.device
        budget = self.encoders.config.batch_tokens or default_batch_tokens(device, self.dimensions)
        scores = []
        for batch in plan_batches([len(ids) for ids in sequences], budget):
            ids, present = pad([sequences[i] for i in batch], pad_id, device)
            padded = tensor(ids)
            mask = torch.ones_like(padded) if present is None else tensor(present)
            with torch.inference_mode():
                scores.append((batch, forward(batch, padded, mask).double()))
        values = gathered(scores, len(sequences))
        if not finite(values):
            raise InputError(f"{self.folder}: its weights (model.safetensors, or .bin) make scores that are no numbers")
        return values
