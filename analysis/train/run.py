"""A metric of one's own from human judgments: tables read, networks fitted, more judgments."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.analysis.train.curve import LearningCurve, Sample, learning_curve
from bsx.analysis.train.result import TrainedMetric
from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import language_code
from bsx.data.frame import PAIR
from bsx.data.long import ColumnNames
from bsx.data.sources import AnyTable
from bsx.encode.run_config import RARE, RunConfig
from bsx.encode.session import Encoders
from bsx.frames.judged import LANG, Judged, JudgedTexts, read_judged
from bsx.frames.settings import Reported
from bsx.networks.config import Architecture, TrainConfig
from bsx.networks.data import Instances
from bsx.networks.encoder import FrozenEncoder
from bsx.networks.vectors import VectorStore
from bsx.support.progress import reporter
from bsx.support.settings import Interval, Option, Seed, part, settled

if TYPE_CHECKING:  # PyTorch comes with it
    from bsx.networks.record import ModelRecord


class TrainingColumns(JudgedTexts):
    """What tables of training data call things."""

    human: Annotated[
        ColumnNames,
        Field(
            description="Columns of human scores; several are several judgments, whose mean is learned. "
            "[human, human_z or z]"
        ),
    ] = ()
    lang: Annotated[str | None, Field(description=LANG), Option(("-l",))] = None


class _Training(TrainingColumns):
    """What every training needs: a network, data, an encoder, a folder."""

    architecture: Annotated[
        Architecture,
        Field(description="esim and bilstm-attention see the other text, bilstm reads each by itself."),
        Option(argument=True),
    ]
    tables: Annotated[
        Sequence[AnyTable],
        Field(min_length=1, description="Tables of training data."),
        Option(argument=True, metavar="TABLE"),
    ]
    valid: Annotated[Sequence[AnyTable], Field(min_length=1, description="Tables of validation data.")]
    output: Annotated[
        Path,
        Field(description="Folder to save the metric in, or all metrics of a curve."),
        Option(("-o",), writable=True, folder=True),
    ]
    model: Annotated[str, Field(description="Frozen encoder: a registry name, a folder, or a hub id."), Option(("-m",))]
    vector_cache: Annotated[
        Path | None, Field(description="Folder that keeps the encoder's vectors for other trainings."), RARE
    ] = None


class TrainSettings(RunConfig, TrainConfig, _Training, Reported):
    """Settings of `train`."""

    seeds: Annotated[Sequence[Seed], Field(description="One network a seed, like 1,2,3.")] = (1,)
    resume: Annotated[bool, Field(description="Go on with the folder's training, or add seeds.")] = False


class CurveSettings(Interval, RunConfig, TrainConfig, _Training, Reported):
    """Settings of `train_curve`."""

    test_data: Annotated[Sequence[AnyTable], Field(min_length=1, description="Tables that agreement is measured on.")]
    sizes: Annotated[
        Sequence[Annotated[int, Field(ge=1, le=10**9)]],
        Field(description="Numbers of training instances, like 100,1000."),
    ]
    judgments: Annotated[
        Sequence[Annotated[int, Field(ge=0, le=10**9)]],
        Field(description="Judgments of each instance, like 1,3, drawn from several columns; 0: all."),
    ] = (0,)
    seeds: Annotated[Sequence[Seed], Field(description="Repetitions with other draws.")] = (1, 2, 3)


def _begin(
    settings: TrainSettings | CurveSettings, **tables: Sequence[AnyTable]
) -> tuple[dict[str, Judged], dict[str, Instances], FrozenEncoder, Callable[..., ModelRecord]]:
    """Read all data, then find the encoder; return both, and what trains; say what of the data was left out.

    The score of an instance is the mean of its judgments.
    """
    code = None if settings.lang is None else language_code(settings.lang)
    group = None if code is None else PAIR
    data = {name: read_judged(given, settings, code, group, separate=False) for name, given in tables.items()}
    instances = {
        name: Instances.scored(
            read.texts.candidates, np.nanmean(read.human, axis=1), [first for first, *_ in read.texts.references or ()]
        )
        for name, read in data.items()
    }
    run = part(settings, RunConfig) | {"registry": load_registry(settings.registry)}
    encoder = FrozenEncoder(Encoders(model=settings.model, **run))
    for note in (note for read in data.values() for note in read.notes):
        settings.say(note)

    from bsx.networks.run import train_metric

    fit = functools.partial(
        train_metric,
        settings.architecture,
        valid=instances["valid"],
        encoder=encoder,
        config=TrainConfig(**part(settings, TrainConfig)),
        vectors=settings.vector_cache,
        report=reporter(settings.progress),
    )
    return data, instances, encoder, fit


@contextlib.contextmanager
def kept_on_interrupt(settings: TrainSettings | CurveSettings, how: str) -> Iterator[None]:
    """Say at Ctrl-C what is kept, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if settings.output.is_dir():
            settings.say(f"{settings.output} keeps what is done; {how}")
        raise


@settled(TrainSettings)
def train(settings: TrainSettings) -> TrainedMetric:
    """Train a metric on tables of human scores; ``trained:FOLDER`` scores with it.

    Args:
        settings: see `TrainSettings`; ``say`` is called after each epoch too.

    Raises:
        InputError: for data that cannot be used, or a folder that holds a training already.
    """
    _, instances, _, fit = _begin(settings, train=settings.tables, valid=settings.valid)
    with kept_on_interrupt(settings, "the same with resume goes on from there"):
        record = fit(
            train=instances["train"],
            output=settings.output,
            seeds=settings.seeds,
            resume=settings.resume,
            notify=settings.say,
        )
    content = json.loads(record.model_dump_json(exclude={"format", "versions"}))  # a figure that is not defined is None
    return TrainedMetric(output=str(settings.output), **content)


@settled(CurveSettings)
def train_curve(settings: CurveSettings) -> LearningCurve:
    """Train on growing parts of the data and measure agreement with human judgments (Mathur et al. 2019, figure 1).

    Args:
        settings: see `CurveSettings`; a later run goes on in its folder; ``say`` is called before each training too.

    Raises:
        InputError: for sizes beyond the data.
    """
    from bsx.networks.scoring import score_instances

    data, read, encoder, fit = _begin(settings, train=settings.tables, valid=settings.valid, test=settings.test_data)

    @functools.cache
    def stored() -> VectorStore:  # only when the first training comes, for which everything was found right
        store = VectorStore(settings.vector_cache or settings.output / "vectors", encoder)
        store.add(read["test"].used_texts(), reporter(settings.progress))
        return store

    def trained(sample: Sample) -> NDArray[np.float64]:
        store = stored()
        size, judgments = len(sample.rows), sample.judgments or "all"
        folder = settings.output / f"{settings.architecture}-{size}-{judgments}-seed{sample.seed}"
        settings.say(f"{size} instances, {judgments} judgments each, seed {sample.seed}")
        instances = replace(read["train"].take(sample.rows), scores=sample.scores)
        fit(train=instances, output=folder, seeds=[sample.seed], resume=True)
        return score_instances(folder, read["test"], store)

    with kept_on_interrupt(settings, "the same goes on from there"):
        curve = learning_curve(
            trained,
            data["train"].human,
            read["test"].scores,
            data["test"].groups,
            sizes=settings.sizes,
            per_instance=settings.judgments,
            seeds=settings.seeds,
            confidence=settings.confidence,
        )
    return replace(curve, architecture=settings.architecture, model=encoder.record.model)
