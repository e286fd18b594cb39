"""A trained metric in a folder: weights as safetensors, everything else as YAML."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bsx.data.lines import NamedFile, sealed
from bsx.data.output import atomic_text
from bsx.data.seen import SEEN, SeenRows
from bsx.errors import InputError
from bsx.support.aligned import text_table
from bsx.support.provenance import file_digest
from bsx.train.config import Architecture, TrainConfig
from bsx.train.encoder import EncoderRecord
from bsx.train.networks import Network, build_network
from bsx.train.resume_state import Epoch, read_tensors

MODEL = "model.yaml"
PLAN = "plan.yaml"


Finite = Annotated[float, Field(ge=-1e100, le=1e100)]
"""A number that others may be multiplied with; no score is further from 0."""
Seed = Annotated[int, Field(ge=0, lt=2**64)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FileRecord(_Record):
    """A file that was read: its name and its sha256."""

    name: str
    sha256: str


class DataRecord(_Record):
    """Data of a training.

    Attributes:
        files: what was read, where it came from files.
        instances: how many were used.
        left_out: how many had a text without content.
        digest: sha256 of texts and scores, in order.
    """

    files: list[FileRecord] = []
    instances: int
    left_out: int = 0
    digest: str


class MemberRecord(_Record):
    """One network of the ensemble.

    Attributes:
        seed: what it was trained with.
        file: its weights.
        sha256: of that file.
        scale: score = shift + scale * the network's output.
        shift: see ``scale``.
        best_epoch: the epoch its weights are of.
        valid: its agreement on the validation data.
        log: all its epochs.
    """

    seed: Seed
    file: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    sha256: str
    scale: Finite
    shift: Finite
    best_epoch: int
    valid: float
    log: list[Epoch]


class ModelRecord(_Record):
    """Everything about a trained metric but its weights.

    Attributes:
        format: version of this layout.
        architecture: which network.
        settings: of the training.
        encoder: the frozen encoder.
        train: training data.
        valid: validation data.
        statistic: what validation measures: Pearson's r, or tau over preferences.
        low: what an empty text scores: the lowest score of the training data, or, for preferences, of the validation.
        ensemble_valid: agreement of the mean of all networks on the validation data.
        members: the networks.
        rows: sha256 of the file with digests of the rows of both; None of before they were kept.
        versions: of what computed.
    """

    format: Literal[1] = 1
    architecture: Architecture
    settings: TrainConfig
    encoder: EncoderRecord
    train: DataRecord
    valid: DataRecord
    statistic: Literal["pearson", "tau"]
    low: Finite = 0.0
    ensemble_valid: float | None = None
    members: list[MemberRecord] = []
    rows: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    versions: dict[str, str]

    def to_dict(self) -> dict[str, object]:
        """Return the record for other programs, without versions; a missing figure is None."""
        content: dict[str, object] = json.loads(self.model_dump_json(exclude={"format", "versions"}))
        return content

    def to_text(self) -> str:
        """Return what the metric reached on the validation data, and a row a network."""
        rows = [["seed", "epochs", "best", self.statistic]]
        for member in self.members:
            rows.append([str(member.seed), str(len(member.log)), str(member.best_epoch), f"{member.valid:.4f}"])
        rows.append(["mean of networks", "", "", f"{self.ensemble_valid:.4f}"])
        several = len(self.members) > 1
        told = (
            f"{self.architecture} on {self.encoder.model}, trained on {self.train.instances:,} instances: "
            f"{'the mean of its networks' if several else 'it'} reaches {self.statistic} {self.ensemble_valid:.4f} on "
            f"the {self.valid.instances:,} validation instances.\nThese chose the epochs: measure agreement on other "
            "data (bsx meta)."
        )
        return f"{told}\n\n{text_table(rows)}"

    def write(self, file: Path) -> None:
        """Write the record as YAML, all or nothing."""
        import yaml

        with atomic_text(file, own=True) as stream:
            stream.write(sealed(yaml.safe_dump(self.model_dump(), sort_keys=False, allow_unicode=True, width=120)))


def read_record(file: Path) -> ModelRecord:
    """Read what `ModelRecord.write` wrote.

    Raises:
        InputError: if the file is missing, or says anything else than such a record.
    """
    try:
        return ModelRecord.model_validate(NamedFile(file).yaml())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"is no record of a trained metric: {where or 'it'}: {first['msg']}", file=file) from error


def member_file(seed: int) -> str:
    """Return what the weights of a seed are called."""
    return f"seed-{seed}.safetensors"


@dataclass(frozen=True)
class SavedModel:
    """A trained metric's folder.

    Attributes:
        folder: where it is.
        record: what it says.
    """

    folder: Path
    record: ModelRecord

    @classmethod
    def open(cls, folder: Path) -> SavedModel:
        """Read a folder that training has finished; weights are read by `networks`.

        Raises:
            InputError: if it is none, or its training is not finished.
        """
        if not (folder / MODEL).is_file():
            if (folder / PLAN).is_file():
                raise InputError("its training was interrupted: resume goes on with it", file=folder)
            raise InputError(
                f"is no folder of a trained metric (it has no {MODEL}); `bsx train` makes one", file=folder
            )
        record = read_record(folder / MODEL)
        if not record.members:
            raise InputError(f"{folder / MODEL}: names no members")
        return cls(folder, record)

    @cached_property
    def digest(self) -> str:
        """Twelve hexadecimal digits that stand for everything that changes a score, the encoder included."""
        keep = self.record.model_dump(include={"architecture", "settings", "low"})
        if self.record.settings.difference == "signed":
            del keep["settings"]["difference"]  # digests of metrics from before there was a choice
        keep["encoder"] = self.record.encoder.model_dump(exclude={"model", "config"})  # the field model shows it
        keep["members"] = [(m.sha256, m.scale, m.shift) for m in self.record.members]
        return hashlib.sha256(json.dumps(keep, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def seen(self) -> SeenRows | None:
        """Digests of the rows that it learned from; None of a folder from before they were kept.

        Raises:
            InputError: if the file is not the one that training wrote.
        """
        return SeenRows.read(self.folder / SEEN, self.record.rows)

    def networks(self) -> list[Network]:
        """Load all networks, ready to score.

        Raises:
            InputError: if a file is missing or is not the one that training wrote.
        """
        record = self.record
        loaded = []
        for member in record.members:
            file = self.folder / member.file
            if not file.is_file():
                raise InputError(f"is missing; {MODEL} names it", file=file)
            if file_digest(file) != member.sha256:
                raise InputError(f"is damaged or was changed: its sha256 is not the one in {MODEL}", file=file)
            weights = read_tensors(file)[0]
            encoder, hidden = record.encoder, record.settings.hidden
            other = InputError(
                f"{self.folder / MODEL}: describes another network than {file.name} holds the weights of: "
                "restore it, or train again"
            )
            # All other sizes follow from these: nothing is built that is larger than its file.
            sizes = {"mix.weights": [encoder.layers], "encoder.ahead.weight_ih_l0": [4 * hidden, encoder.dimensions]}
            if any(name not in weights or list(weights[name].shape) != size for name, size in sizes.items()):
                raise other
            try:
                network = build_network(
                    record.architecture,
                    record.settings,
                    layers=encoder.layers,
                    dimensions=encoder.dimensions,
                    seed=member.seed,
                )
                network.load_state_dict(weights)
            except RuntimeError as error:
                raise other from error
            loaded.append(network.requires_grad_(False))
        return loaded
