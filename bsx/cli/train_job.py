"""One training from the command line: data read, encoder found, network fitted."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bsx.catalog.catalog import load_registry
from bsx.cli.train_input import Columns, Data, read_data
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.support.settings import build_config
from bsx.train.config import Architecture, TrainConfig
from bsx.train.data import Instances
from bsx.train.encoder import FrozenEncoder
from bsx.train.record import ModelRecord
from bsx.train.run import train_metric

Report = Callable[[str, int, int], None]


def note(line: str) -> None:
    """Print a line on standard error."""
    print(f"bsx: {line}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def kept_on_interrupt(folder: Path, how: str) -> Iterator[None]:
    """Say at Ctrl-C what is kept, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if folder.is_dir():
            note(f"note: {folder} keeps what is done; {how}")
        raise


def number_list(option: str, text: str) -> list[int]:
    """Return the whole numbers in a list like ``1,2,3``, each once, as they stand.

    Raises:
        InputError: if it holds anything else.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InputError(f"{option} {text}: write whole numbers separated by commas, like 1,2,3")
    return list(dict.fromkeys(int(part) for part in parts))


@dataclass(frozen=True, eq=False)
class Job:
    """Everything a training needs but its folder and seeds.

    Attributes:
        architecture: which network.
        config: settings.
        data: ``train``, ``valid`` and perhaps ``test``.
        encoder: the frozen encoder.
        encoders: what it comes from, to score with.
        vectors: folder for its vectors; inside the metric's folder unless given.
    """

    architecture: Architecture
    config: TrainConfig
    data: Mapping[str, Data]
    encoder: FrozenEncoder
    encoders: Encoders
    vectors: Path | None

    @classmethod
    def read(
        cls,
        architecture: Architecture,
        files: Mapping[str, Sequence[str]],
        columns: Columns,
        model: str,
        settings: Mapping[str, Any],
        vectors: Path | None,
    ) -> Job:
        """Check settings, read all data, then find the encoder.

        Raises:
            InputError: naming what is wrong.
        """
        own = {name: value for name, value in settings.items() if name in TrainConfig.model_fields}
        run = {name: value for name, value in settings.items() if name not in own}
        config = build_config(own, TrainConfig)
        data = {name: read_data(paths, columns, config.inputs) for name, paths in files.items()}
        scored = all(part.instances.scores is not None for part in data.values())
        if scored and (columns.outputs or columns.references):
            raise InputError("--outputs and --references go with preferences, which none of the tables holds")
        for line in (line for part in data.values() for line in part.notes):
            note(f"note: {line}")
        encoders = Encoders(model=model, registry=load_registry(run.pop("registry", None)), **run)
        encoder = FrozenEncoder(encoders, max_pieces=config.max_pieces)
        return cls(architecture, config, data, encoder, encoders, vectors)

    @property
    def files(self) -> list[Path]:
        """Everything that was read."""
        return list(dict.fromkeys(file for part in self.data.values() for file in part.files))

    def run(
        self,
        output: Path,
        seeds: Sequence[int],
        *,
        instances: Instances | None = None,
        resume: bool = False,
        report: Report | None = None,
        notify: Callable[[str], None] | None = None,
    ) -> ModelRecord:
        """Train on all training data, or on the instances given; see `bsx.train.run.train`."""
        return train_metric(
            self.architecture,
            instances if instances is not None else self.data["train"].instances,
            self.data["valid"].instances,
            encoder=self.encoder,
            output=output,
            seeds=seeds,
            config=self.config,
            resume=resume,
            vectors=self.vectors,
            report=report,
            notify=notify,
            files={name: self.data[name].files for name in ("train", "valid")},
        )
