"""A metric of one's own from human scores: data read, encoder found, networks fitted; what more data would bring."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.agreement.learning_curve import LearningCurve, Sample, learning_curve
from bsx.analysis.stats import validate
from bsx.catalog.catalog import load_registry
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.jobs.settings.combining import TrainingColumns
from bsx.jobs.training.data import TrainingData, read_data
from bsx.support.progress import Progress, Watch, told
from bsx.support.settings import in_range, set_fields
from bsx.train.config import Architecture, TrainConfig
from bsx.train.data import Instances
from bsx.train.encoder import FrozenEncoder
from bsx.train.record import ModelRecord
from bsx.train.run import train_metric
from bsx.train.scoring import score_instances
from bsx.train.vectors import VectorStore


@dataclass(frozen=True, eq=False)
class TrainingJob:
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
    data: Mapping[str, TrainingData]
    encoder: FrozenEncoder
    encoders: Encoders
    vectors: Path | None

    @classmethod
    def read(
        cls,
        architecture: Architecture,
        files: Mapping[str, Sequence[str]],
        columns: TrainingColumns,
        model: str,
        config: TrainConfig,
        run: RunConfig,
        vectors: Path | None,
    ) -> TrainingJob:
        """Read all data, then find the encoder.

        Args:
            architecture: which network.
            files: tables for ``train``, ``valid`` and perhaps ``test``.
            columns: what they call things.
            model: the frozen encoder.
            config: settings of the training.
            run: where the encoder runs.
            vectors: folder for its vectors; inside the metric's folder unless given.

        Raises:
            InputError: naming what is wrong.
        """
        data = {name: read_data(paths, columns, config.inputs) for name, paths in files.items()}
        scored = all(part.instances.scores is not None for part in data.values())
        if scored and (columns.outputs or columns.references):
            raise InputError("`outputs=` and `references=` go with preferences, which none of the tables holds")
        encoders = Encoders(model=model, registry=load_registry(run.registry), **set_fields(run, "registry"))
        encoder = FrozenEncoder(encoders, max_pieces=config.max_pieces)
        return cls(architecture, config, data, encoder, encoders, vectors)

    @property
    def files(self) -> list[Path]:
        """Everything that was read."""
        return list(dict.fromkeys(file for part in self.data.values() for file in part.files))

    @property
    def notes(self) -> list[str]:
        """What the user should know about the data."""
        return [line for part in self.data.values() for line in part.notes]

    def run(
        self,
        output: Path,
        seeds: Sequence[int],
        *,
        instances: Instances | None = None,
        resume: bool = False,
        report: Progress | None = None,
        notify: Callable[[str], None] | None = None,
    ) -> ModelRecord:
        """Train on all training data, or on the instances given; see `bsx.train.run.train_metric`."""
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

    @in_range
    def curve(
        self,
        output: Path,
        *,
        sizes: Sequence[int],
        per_instance: Sequence[int] = (0,),
        seeds: Sequence[int] = (1, 2, 3),
        confidence: float = 0.95,
        report: Progress | None = None,
        notify: Callable[[str], None] | None = None,
    ) -> LearningCurve:
        """Train on growing parts of the training data and measure agreement with human judgments on ``test``.

        Args:
            output: folder for the trainings; a later run goes on there.
            sizes: numbers of training instances.
            per_instance: judgments of each instance, drawn from several columns of human scores; 0 for all.
            seeds: of repetitions with other draws.
            confidence: level of the intervals over seeds.
            report: called with phase, done and total.
            notify: called with a line before each training.

        Raises:
            InputError: for data of preferences, or sizes beyond the data.
        """
        tested, trained_on = self.data["test"], self.data["train"]
        if tested.instances.scores is None or trained_on.instances.scores is None:
            raise InputError("a learning curve needs human scores, not preferences")
        validate.settings(confidence=confidence)

        @functools.cache
        def stored() -> VectorStore:  # only when the first training comes, for which everything was found right
            store = VectorStore(self.vectors or output / "vectors", self.encoder, self.config.precision)
            store.add(tested.instances.used_texts(), report)
            return store

        def trained(sample: Sample) -> NDArray[np.float64]:
            store = stored()
            part = trained_on.instances.take(sample.rows).with_scores(sample.scores)
            folder = output / f"{self.architecture}-{len(sample.rows)}-{sample.judgments or 'all'}-seed{sample.seed}"
            if notify is not None:
                notify(f"{len(sample.rows)} instances, {sample.judgments or 'all'} judgments each, seed {sample.seed}")
            self.run(folder, [sample.seed], instances=part, resume=True, report=report)
            return score_instances(folder, tested.instances, store)

        found = learning_curve(
            trained,
            trained_on.judgments,
            tested.instances.scores,
            tested.groups,
            sizes=sizes,
            per_instance=per_instance,
            seeds=seeds,
            confidence=confidence,
        )
        return replace(found, architecture=self.architecture, model=self.encoder.record.model)


def train(
    architecture: Architecture,
    data: Sequence[str],
    valid: Sequence[str],
    output: Path,
    model: str,
    *,
    seeds: Sequence[int] = (1,),
    columns: TrainingColumns | None = None,
    config: TrainConfig | None = None,
    run: RunConfig | None = None,
    vectors: Path | None = None,
    resume: bool = False,
    progress: Watch = None,
    notify: Callable[[str], None] | None = None,
) -> ModelRecord:
    """Train a metric on tables of human scores or preferences.

    Args:
        architecture: which network.
        data: tables of training data.
        valid: tables of validation data.
        output: folder to save the metric in; ``trained:FOLDER`` scores with it.
        model: the frozen encoder: registry name, folder or hub id.
        seeds: one network each.
        columns: what the tables call things.
        config: settings of the training.
        run: where the encoder runs.
        vectors: folder that keeps the encoder's vectors for other trainings.
        resume: go on with the folder's training, or add seeds.
        progress: called with phase, done and total; True draws bars.
        notify: called with a line after each epoch.

    Raises:
        InputError: for data that cannot be used, or a folder that holds a training already.
    """
    progress = told(progress)
    job = TrainingJob.read(
        architecture,
        {"train": data, "valid": valid},
        columns if columns is not None else TrainingColumns(),
        model,
        config if config is not None else TrainConfig(),
        run if run is not None else RunConfig(),
        vectors,
    )
    return job.run(output, seeds, resume=resume, report=progress, notify=notify)
