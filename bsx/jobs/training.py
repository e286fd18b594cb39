"""A metric of one's own from human judgments: tables read, networks fitted, more judgments."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.analysis.agreement.learning_curve import LearningCurve, Sample, learning_curve
from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import language_code
from bsx.data.long import COLUMN, ColumnNames
from bsx.data.tables import Table
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.frames.settings import Reported
from bsx.jobs.layers import LANG
from bsx.support.progress import Progress, Say, told
from bsx.support.settings import BaseSettings, Interval, Option, Seed, part, settled
from bsx.train.config import Architecture, TrainConfig
from bsx.train.data import Instances
from bsx.train.encoder import FrozenEncoder
from bsx.train.result import TrainedMetric
from bsx.train.vectors import VectorStore

if TYPE_CHECKING:  # PyTorch comes with it
    from bsx.train.record import ModelRecord


class TrainingColumns(BaseSettings):
    """What tables of training data call things."""

    candidate: Annotated[str, Field(description="Column of candidates."), COLUMN] = "candidate"
    reference: Annotated[str, Field(description="Column of references."), COLUMN] = "reference"
    human: Annotated[
        ColumnNames,
        Field(description="Columns of human scores; several are several judgments, whose mean is learned. [human]"),
    ] = ("human",)
    lang: Annotated[str | None, Field(description=LANG), Option(("-l",))] = None


class _Training(TrainingColumns):
    """What every training needs: a network, data, an encoder, a folder."""

    architecture: Annotated[Architecture, Field(description="Which network."), Option(argument=True)]
    tables: Annotated[
        Sequence[str],
        Field(min_length=1, description="Tables of training data."),
        Option(argument=True, metavar="TABLE"),
    ]
    valid: Annotated[Sequence[str], Field(min_length=1, description="Tables of validation data.")]
    output: Annotated[
        Path,
        Field(description="Folder to save the metric in, or all metrics of a curve."),
        Option(("-o",), writable=True, folder=True),
    ]
    model: Annotated[str, Field(description="Frozen encoder: a registry name, a folder, or a hub id."), Option(("-m",))]
    vector_cache: Annotated[
        Path | None, Field(description="Folder that keeps the encoder's vectors for other trainings.")
    ] = None


class TrainSettings(RunConfig, TrainConfig, _Training, Reported):
    """Settings of `train`."""

    seeds: Annotated[Sequence[Seed], Field(description="One network a seed, like 1,2,3.")] = (1,)
    resume: Annotated[bool, Field(description="Go on with the folder's training, or add seeds.")] = False


class CurveSettings(Interval, RunConfig, TrainConfig, _Training, Reported):
    """Settings of `train_curve`."""

    test_data: Annotated[Sequence[str], Field(min_length=1, description="Tables that agreement is measured on.")]
    sizes: Annotated[
        Sequence[Annotated[int, Field(ge=1, le=10**9)]],
        Field(description="Numbers of training instances, like 100,1000."),
    ]
    judgments: Annotated[
        Sequence[Annotated[int, Field(ge=0, le=10**9)]],
        Field(description="Judgments of each instance, like 1,3, drawn from several columns; 0: all."),
    ] = (0,)
    seeds: Annotated[Sequence[Seed], Field(description="Repetitions with other draws.")] = (1, 2, 3)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Instances with what else their tables say.

    Attributes:
        instances: the instances; their score is the mean of their judgments.
        judgments: (n, columns of human scores), NaN where a cell is blank.
        groups: language pair of each, or ``all``.
        notes: what the user should know.
    """

    instances: Instances
    judgments: NDArray[np.float64]
    groups: list[str]
    notes: list[str]


def read_data(files: Sequence[str], columns: TrainingColumns) -> TrainingData:
    """Read tables of human scores as one set of instances.

    Raises:
        InputError: naming file and line of what is wrong, or if nothing is left.
    """
    target = None if columns.lang is None else language_code(columns.lang)
    kept: list[tuple[str, str, list[float], str]] = []
    notes = []
    for table in map(Table, files):
        wanted = [columns.candidate, columns.reference, *columns.human]
        if target is not None or "lp" in table.columns:
            wanted.append("lp")
        table.require(*wanted)
        rows, left_out = 0, 0
        for row in table.rows(*wanted, only=True):
            rows += 1
            candidate = row.text(columns.candidate)
            reference = row.texts(columns.reference)[0] if row[columns.reference] else row.text(columns.reference)
            judged = [row.number(column) for column in columns.human]
            if all(map(math.isnan, judged)):
                raise InputError(f"{row.where} has no human score in {', '.join(columns.human)}; every row needs one")
            group = row.name("lp") if "lp" in row else "all"
            if target is not None and group.rpartition("-")[2] != target:
                left_out += 1
            else:
                kept.append((candidate, reference, judged, group))
        if not rows:
            raise InputError("has a header but no rows", file=table.name)
        if left_out:
            notes.append(f"{table.name}: left out {left_out} rows that do not go into {target}")
    if not kept:
        raise InputError(f"{', '.join(files)}: there is no row that goes into {target}")
    candidates, references, judged_rows, groups = map(list, zip(*kept, strict=True))
    judgments = np.array(judged_rows, dtype=np.float64)
    instances = Instances.scored(candidates, np.nanmean(judgments, axis=1), references)
    return TrainingData(instances, judgments, groups, notes)


def _begin(
    settings: TrainSettings | CurveSettings, **files: Sequence[str]
) -> tuple[dict[str, TrainingData], FrozenEncoder, Callable[..., ModelRecord]]:
    """Read all data, then find the encoder; return both, and what trains; say what of the data was left out."""
    data = {name: read_data(paths, settings) for name, paths in files.items()}
    run = part(settings, RunConfig) | {"registry": load_registry(settings.registry)}
    encoder = FrozenEncoder(Encoders(model=settings.model, **run))
    for note in (note for read in data.values() for note in read.notes):
        settings.say(f"note: {note}")

    def fit(
        instances: Instances,
        output: Path,
        seeds: Sequence[int],
        *,
        resume: bool,
        report: Progress | None,
        notify: Say | None = None,
    ) -> ModelRecord:
        from bsx.train.run import train_metric

        return train_metric(
            settings.architecture,
            instances,
            data["valid"].instances,
            encoder=encoder,
            output=output,
            seeds=seeds,
            config=TrainConfig(**part(settings, TrainConfig)),
            resume=resume,
            vectors=settings.vector_cache,
            report=report,
            notify=notify,
        )

    return data, encoder, fit


def files_of(settings: TrainSettings | CurveSettings) -> list[Path]:
    """Return everything that a training reads."""
    test = settings.test_data if isinstance(settings, CurveSettings) else ()
    return [Path(name) for name in dict.fromkeys([*settings.tables, *settings.valid, *test])]


@settled(TrainSettings)
def train(settings: TrainSettings) -> TrainedMetric:
    """Train a metric on tables of human scores; ``trained:FOLDER`` scores with it.

    Args:
        settings: see `TrainSettings`; ``say`` is called after each epoch too.

    Raises:
        InputError: for data that cannot be used, or a folder that holds a training already.
    """
    data, _, fit = _begin(settings, train=settings.tables, valid=settings.valid)
    record = fit(
        data["train"].instances,
        settings.output,
        settings.seeds,
        resume=settings.resume,
        report=told(settings.progress),
        notify=settings.say,
    )
    content = json.loads(record.model_dump_json(exclude={"format", "versions"}))  # a figure that is not defined is None
    return TrainedMetric(output=str(settings.output), **content)


@settled(CurveSettings)
def train_curve(settings: CurveSettings) -> LearningCurve:
    """Train on growing parts of the training data and measure agreement with human judgments on ``test``.

    Args:
        settings: see `CurveSettings`; a later run goes on in its folder; ``say`` is called before each training too.

    Raises:
        InputError: for sizes beyond the data.
    """
    from bsx.train.scoring import score_instances

    data, encoder, fit = _begin(settings, train=settings.tables, valid=settings.valid, test=settings.test_data)
    tested, trained_on = data["test"], data["train"]
    progress = told(settings.progress)

    @functools.cache
    def stored() -> VectorStore:  # only when the first training comes, for which everything was found right
        store = VectorStore(settings.vector_cache or settings.output / "vectors", encoder)
        store.add(tested.instances.used_texts(), progress)
        return store

    def trained(sample: Sample) -> NDArray[np.float64]:
        store = stored()
        size, judgments = len(sample.rows), sample.judgments or "all"
        folder = settings.output / f"{settings.architecture}-{size}-{judgments}-seed{sample.seed}"
        settings.say(f"{size} instances, {judgments} judgments each, seed {sample.seed}")
        instances = trained_on.instances.take(sample.rows).with_scores(sample.scores)
        fit(instances, folder, [sample.seed], resume=True, report=progress)
        return score_instances(folder, tested.instances, store)

    curve = learning_curve(
        trained,
        trained_on.judgments,
        tested.instances.scores,
        tested.groups,
        sizes=settings.sizes,
        per_instance=settings.judgments,
        seeds=settings.seeds,
        confidence=settings.confidence,
    )
    return replace(curve, architecture=settings.architecture, model=encoder.record.model)
