"""A trained metric in a folder: weights as safetensors, everything else as YAML."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from bsx.catalog.entries import plain_yaml, sealed
from bsx.data.lines import NamedFile
from bsx.data.output import atomic_text
from bsx.data.seen import SEEN, SeenRows
from bsx.errors import InputError
from bsx.networks.architectures import Network, build_network
from bsx.networks.config import Architecture, TrainConfig
from bsx.networks.encoder import EncoderRecord
from bsx.support.provenance import file_digest
from bsx.support.tensors import load_tensors

MODEL = "model.yaml"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Epoch(_Record):
    """What one epoch did.

    Attributes:
        epoch: its number, from 1.
        loss: mean training loss, dropout included.
        valid: Pearson's r on the validation data; NaN if all predictions were the same.
        learning_rate: that it was trained with.
    """

    epoch: int
    loss: float
    valid: float
    learning_rate: float


def best_epoch(log: Sequence[Epoch]) -> Epoch | None:
    """Return the first epoch of the highest validation figure; None if no epoch has one."""
    return max((epoch for epoch in log if not math.isnan(epoch.valid)), key=lambda epoch: epoch.valid, default=None)


class DataRecord(_Record):
    """Data of a training.

    Attributes:
        instances: how many were used.
        left_out: how many had a text without content.
        digest: sha256 of texts and scores, in order.
    """

    instances: int
    left_out: int = 0
    digest: str


class MemberRecord(_Record):
    """One network of the ensemble.

    Attributes:
        seed: what it was trained with.
        file: its weights, after the best epoch.
        sha256: of that file.
        log: all its epochs.
    """

    seed: Annotated[int, Field(ge=0, lt=2**64)]
    file: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    sha256: str
    log: Annotated[list[Epoch], Field(min_length=1)]

    @property
    def best(self) -> Epoch:
        """The epoch its weights are of."""
        return best_epoch(self.log) or self.log[0]


class ModelRecord(_Record):
    """Everything about a trained metric but its weights.

    Attributes:
        format: version of this layout.
        architecture: which network.
        settings: of the training.
        encoder: the frozen encoder.
        train: training data.
        valid: validation data.
        scale: standard deviation of the training scores; score = shift + scale * a network's output.
        shift: their mean.
        low: what an empty text scores: the lowest training score.
        ensemble_valid: Pearson's r of the mean of all networks on the validation data; None before the last is trained.
        members: the networks.
        rows: sha256 of the file with digests of the rows of both; None if they were not kept.
        versions: of what computed.
    """

    format: Literal[2] = 2
    architecture: Architecture
    settings: TrainConfig
    encoder: EncoderRecord
    train: DataRecord
    valid: DataRecord
    scale: FiniteFloat
    shift: FiniteFloat
    low: FiniteFloat
    ensemble_valid: float | None = None
    members: list[MemberRecord] = []
    rows: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    versions: dict[str, str]

    def write(self, file: Path) -> None:
        """Write the record as YAML, all or nothing."""
        import yaml

        with atomic_text(file, internal=True) as stream:
            stream.write(sealed(yaml.safe_dump(self.model_dump(), sort_keys=False, allow_unicode=True, width=120)))

    @classmethod
    def read(cls, file: Path) -> ModelRecord:
        """Read what `write` wrote.

        Raises:
            InputError: if the file is missing, or says anything else than such a record.
        """
        try:
            return cls.model_validate(plain_yaml(NamedFile(file)))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise InputError(f"is no record of a trained metric: {where or 'it'}: {first['msg']}", file=file) from error


@dataclass(frozen=True)
class SavedModel:
    """A trained metric's folder, and what its record says."""

    folder: Path
    record: ModelRecord

    @classmethod
    def open(cls, folder: Path) -> SavedModel:
        """Read a folder that training has finished; weights are read by `networks`.

        Raises:
            InputError: if it is none, or its training is not finished.
        """
        if not (folder / MODEL).is_file():
            raise InputError(
                f"is no folder of a trained metric (it has no {MODEL}); `bsx train` makes one", file=folder
            )
        record = ModelRecord.read(folder / MODEL)
        if record.ensemble_valid is None or not record.members:
            raise InputError("its training was interrupted: resume goes on with it", file=folder)
        return cls(folder, record)

    @cached_property
    def digest(self) -> str:
        """Twelve hexadecimal digits that stand for everything that changes a score, the encoder included."""
        keep = self.record.model_dump(include={"architecture", "settings", "scale", "shift", "low"})
        keep["encoder"] = self.record.encoder.model_dump(exclude={"model", "config"})  # the field model shows it
        keep["members"] = [member.sha256 for member in self.record.members]
        return hashlib.sha256(json.dumps(keep, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def seen(self) -> SeenRows | None:
        """Digests of the rows that it learned from; None if they were not kept.

        Raises:
            InputError: if the file is not the one that training wrote.
        """
        return SeenRows.read(self.folder / SEEN, self.record.rows)

    def networks(self) -> list[Network]:
        """Load all networks, ready to score.

        Raises:
            InputError: if a file is missing or is not the one that training wrote.
        """
        config, encoder = self.record.settings, self.record.encoder
        loaded = []
        for member in self.record.members:
            file = self.folder / member.file
            if not file.is_file():
                raise InputError(f"is missing; {MODEL} names it", file=file)
            if file_digest(file) != member.sha256:
                raise InputError(f"is damaged or was changed: its sha256 is not the one in {MODEL}", file=file)
            weights = load_tensors(file)[0]
            try:
                network = build_network(
                    self.record.architecture,
                    config,
                    layers=encoder.layers,
                    dimensions=encoder.dimensions,
                    seed=member.seed,
                )
                network.load_state_dict(weights)
            except RuntimeError as error:
                raise InputError(
                    f"{self.folder / MODEL}: describes another network than {file.name} holds the weights of: "
                    "restore it, or train again"
                ) from error
            loaded.append(network.requires_grad_(False))
        return loaded
