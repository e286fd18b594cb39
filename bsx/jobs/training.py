"""A metric of one's own from human judgments: tables read, networks fitted, more judgments."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.analysis.agreement.learning_curve import LearningCurve, Sample, learning_curve
from bsx.analysis.datasets.systems import load_system_outputs
from bsx.analysis.datasets.wmt import load_darr
from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import language_code
from bsx.data.tables import Table
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.jobs.layers import LANG
from bsx.jobs.tables import Reported
from bsx.support.progress import Progress, Say, told
from bsx.support.settings import BaseSettings, Option, part, settled
from bsx.train.config import Architecture, Inputs, TrainConfig
from bsx.train.data import Instances
from bsx.train.encoder import FrozenEncoder
from bsx.train.vectors import VectorStore

if TYPE_CHECKING:  # PyTorch comes with it
    from bsx.train.record import ModelRecord

_PREFERENCE = ("better", "worse")


class TrainingColumns(BaseSettings):
    """What tables of training data call things, and where the texts of preferences are."""

    candidate: Annotated[str, Field(description="Column of candidates.")] = "candidate"
    reference: Annotated[str, Field(description="Column of references.")] = "reference"
    source: Annotated[str, Field(description="Column of sources.")] = "source"
    human: Annotated[
        Sequence[str],
        Field(description="Columns of human scores; several are several judgments, whose mean is learned. [human]"),
    ] = ("human",)
    lang: Annotated[str | None, Field(description=LANG), Option(("-l",))] = None
    outputs: Annotated[Sequence[str], Field(description="Systems' outputs that DARR data are about.")] = ()
    references: Annotated[Sequence[str], Field(description="Their references, a file for each.")] = ()


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

    seeds: Annotated[Sequence[int], Field(description="One network a seed, like 1,2,3.")] = (1,)
    resume: Annotated[bool, Field(description="Go on with the folder's training, or add seeds.")] = False


class CurveSettings(RunConfig, TrainConfig, _Training, Reported):
    """Settings of `train_curve`."""

    test_data: Annotated[Sequence[str], Field(min_length=1, description="Tables that agreement is measured on.")]
    sizes: Annotated[Sequence[int], Field(description="Numbers of training instances, like 100,1000.")]
    judgments: Annotated[
        Sequence[int], Field(description="Judgments of each instance, like 1,3, drawn from several columns; 0: all.")
    ] = (0,)
    seeds: Annotated[Sequence[int], Field(description="Repetitions with other draws.")] = (1, 2, 3)
    confidence: Annotated[float, Field(gt=0, lt=1, description="Level of the intervals over seeds.")] = 0.95


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Instances with what else their tables say.

    Attributes:
        instances: the instances; their score is the mean of their judgments.
        judgments: (n, columns of human scores), NaN where a cell is blank; (n, 0) for preferences.
        groups: language pair of each, or ``all``.
        files: what was read.
        notes: what the user should know.
    """

    instances: Instances
    judgments: NDArray[np.float64]
    groups: list[str]
    files: list[Path]
    notes: list[str] = field(default_factory=list)


def read_data(files: Sequence[str], columns: TrainingColumns, inputs: Inputs) -> TrainingData:
    """Read tables of one kind, scored or preferences, as one set of instances.

    Raises:
        InputError: naming file and line of what is wrong, or if nothing is left.
    """
    tables = [Table(name) for name in files]
    preferences = [columns.human[0] not in t.columns and set(_PREFERENCE) <= set(t.columns) for t in tables]
    if len(set(preferences)) > 1:
        raise InputError(f"{', '.join(files)}: some hold human scores and others preferences: give one kind")
    parts = [
        _read_preferences(table, columns, inputs) if preferences[0] else _read_scored(table, columns, inputs)
        for table in tables
    ]
    rows: dict[str, list[str]] = {name: [] for name in ("candidate", *_PREFERENCE, "reference", "source")}
    judgments, groups, notes = [], [], []
    target = None if columns.lang is None else language_code(columns.lang)
    for name, read in zip(files, parts, strict=True):
        keep = [i for i, lp in enumerate(read.groups) if target is None or lp.rpartition("-")[2] == target]
        if len(keep) < len(read.groups):
            notes.append(f"{name}: left out {len(read.groups) - len(keep)} rows that do not go into {target}")
        for key, values in read.texts.items():
            rows[key] += [values[i] for i in keep]
        judgments.append(read.judgments[keep])
        groups += [read.groups[i] for i in keep]
    if not groups:
        which = "whose language pair outputs covers" if preferences[0] and columns.outputs else "with data"
        into = f" and goes into {target}" if target is not None else ""
        raise InputError(f"{', '.join(files)}: there is no row {which}{into}")
    sides = {key: rows[key] if rows[key] else None for key in ("reference", "source")}
    judged = np.concatenate(judgments)
    if preferences[0]:
        built = Instances.preferences(rows["better"], rows["worse"], sides["reference"], sides["source"], inputs=inputs)
    else:
        built = Instances.scored(
            rows["candidate"], np.nanmean(judged, axis=1), sides["reference"], sides["source"], inputs=inputs
        )
    named = [*files, *(columns.outputs if preferences[0] else ()), *(columns.references if preferences[0] else ())]
    return TrainingData(built, judged, groups, [Path(name) for name in dict.fromkeys(named)], notes)


@dataclass(frozen=True, eq=False)
class _Part:
    texts: dict[str, list[str]]
    judgments: NDArray[np.float64]
    groups: list[str]


def _read_texts(
    table: Table, candidates: Sequence[str], columns: TrainingColumns, inputs: Inputs, human: Sequence[str] = ()
) -> _Part:
    sides = {"reference": columns.reference, "source": columns.source}
    named = dict(zip(_PREFERENCE if len(candidates) == 2 else ("candidate",), candidates, strict=True))
    named |= {side: column for side, column in sides.items() if inputs in (side, "both")}
    if columns.lang is not None and "lp" not in table.columns:
        raise InputError(f"has no column 'lp', which lang needs; it has {', '.join(table.columns)}", file=table.name)
    wanted = [*named.values(), *human, *(["lp"] if "lp" in table.columns else [])]
    table.require(*wanted)
    texts: dict[str, list[str]] = {key: [] for key in named}
    judgments, groups = [], []
    for row in table.rows(*wanted, only=True):
        for key, column in named.items():
            several = row.texts(column) if key == "reference" and row[column] else [row.text(column)]
            texts[key].append(several[0])
        judged = [row.number(column) for column in human]
        if human and all(map(math.isnan, judged)):
            raise InputError(f"{row.where} has no human score in {', '.join(human)}; every row needs one")
        judgments.append(judged)
        groups.append(row.name("lp") if "lp" in row else "all")
    if not groups:
        raise InputError("has a header but no rows", file=table.name)
    return _Part(texts, np.array(judgments, dtype=np.float64), groups)


def _read_scored(table: Table, columns: TrainingColumns, inputs: Inputs) -> _Part:
    return _read_texts(table, [columns.candidate], columns, inputs, columns.human)


def _read_preferences(table: Table, columns: TrainingColumns, inputs: Inputs) -> _Part:
    """Read texts from the table itself, or, with systems' outputs, those that its systems wrote."""
    if not columns.outputs:
        return _read_texts(table, _PREFERENCE, columns, inputs)
    if len(columns.outputs) != len(columns.references):
        raise InputError("outputs and references go together: one file of references for each of outputs")
    wanted = load_darr(table.name)
    outputs: dict[tuple[str, str, str], tuple[str, str, str]] = {}
    for file, references in zip(columns.outputs, columns.references, strict=True):
        written = load_system_outputs(file, references)
        sources = written.texts("source") if "source" in written else [""] * len(written)
        keys = zip(written.texts("lp"), written.texts("segment"), written.texts("system"), strict=True)
        values = zip(written.texts("candidate"), written.texts("reference"), sources, strict=True)
        outputs.update(zip(keys, values, strict=True))
    pairs = {lp for lp, _, _ in outputs}
    texts: dict[str, list[str]] = {key: [] for key in (*_PREFERENCE, "reference", "source")}
    groups = []
    for row in wanted.rows():
        if row["lp"] not in pairs:  # outputs say which language pairs are wanted
            continue
        texts_of_sides = [outputs.get((row["lp"], str(row["segment"]), str(row[side]))) for side in _PREFERENCE]
        if None in texts_of_sides:
            side = _PREFERENCE[texts_of_sides.index(None)]
            raise InputError(f"no output of {row[side]} for segment {row['segment']} of {row['lp']}", file=table.name)
        better, worse = (value for value in texts_of_sides if value is not None)
        for key, text in zip(texts, (better[0], worse[0], better[1], better[2]), strict=True):
            texts[key].append(text)
        groups.append(row["lp"])
    if inputs == "reference":
        del texts["source"]
    if inputs == "source":
        del texts["reference"]
    return _Part(texts, np.zeros((len(groups), 0)), groups)


@dataclass(frozen=True, eq=False)
class _Begun:
    """Data and encoder of a training, before anything is computed.

    Attributes:
        settings: its settings.
        data: ``train``, ``valid`` and perhaps ``test``.
        encoder: the frozen encoder.
    """

    settings: TrainSettings | CurveSettings
    data: dict[str, TrainingData]
    encoder: FrozenEncoder

    def fit(
        self,
        output: Path,
        seeds: Sequence[int],
        instances: Instances,
        *,
        resume: bool,
        progress: Progress | None,
        say: Say | None,
    ) -> ModelRecord:
        """Train on the instances; see `bsx.train.run.train_metric`."""
        from bsx.train.run import train_metric

        return train_metric(
            self.settings.architecture,
            instances,
            self.data["valid"].instances,
            encoder=self.encoder,
            output=output,
            seeds=seeds,
            config=TrainConfig(**part(self.settings, TrainConfig)),
            resume=resume,
            vectors=self.settings.vector_cache,
            report=progress,
            notify=say,
            files={name: self.data[name].files for name in ("train", "valid")},
        )


def _begin(settings: TrainSettings | CurveSettings, **files: Sequence[str]) -> _Begun:
    """Read all data, then find the encoder; say what of the data was left out."""
    data = {name: read_data(paths, settings, settings.inputs) for name, paths in files.items()}
    scored = all(read.instances.scores is not None for read in data.values())
    if scored and (settings.outputs or settings.references):
        raise InputError("outputs and references need preferences, which none of the tables holds")
    run = part(settings, RunConfig) | {"registry": load_registry(settings.registry)}
    encoder = FrozenEncoder(Encoders(model=settings.model, **run), max_pieces=settings.max_pieces)
    for note in (note for read in data.values() for note in read.notes):
        settings.say(f"note: {note}")
    return _Begun(settings, data, encoder)


def files_of(settings: TrainSettings | CurveSettings) -> list[Path]:
    """Return everything that a training reads."""
    test = settings.test_data if isinstance(settings, CurveSettings) else ()
    named = [*settings.tables, *settings.valid, *test, *settings.outputs, *settings.references]
    return [Path(name) for name in dict.fromkeys(named)]


@settled(TrainSettings)
def train(settings: TrainSettings) -> ModelRecord:
    """Train a metric on tables of human scores or preferences; ``trained:FOLDER`` scores with it.

    Args:
        settings: see `TrainSettings`; ``say`` is called after each epoch too.

    Raises:
        InputError: for data that cannot be used, or a folder that holds a training already.
    """
    begun = _begin(settings, train=settings.tables, valid=settings.valid)
    instances = begun.data["train"].instances
    return begun.fit(
        settings.output,
        settings.seeds,
        instances,
        resume=settings.resume,
        progress=told(settings.progress),
        say=settings.say,
    )


@settled(CurveSettings)
def train_curve(settings: CurveSettings) -> LearningCurve:
    """Train on growing parts of the training data and measure agreement with human judgments on ``test``.

    Args:
        settings: see `CurveSettings`; a later run goes on in its folder; ``say`` is called before each training too.

    Raises:
        InputError: for data of preferences, or sizes beyond the data.
    """
    from bsx.train.scoring import score_instances

    begun = _begin(settings, train=settings.tables, valid=settings.valid, test=settings.test_data)
    tested, trained_on = begun.data["test"], begun.data["train"]
    if tested.instances.scores is None or trained_on.instances.scores is None:
        raise InputError("a learning curve needs human scores, not preferences")
    progress = told(settings.progress)

    @functools.cache
    def stored() -> VectorStore:  # only when the first training comes, for which everything was found right
        folder = settings.vector_cache or settings.output / "vectors"
        store = VectorStore(folder, begun.encoder, settings.vector_precision)
        store.add(tested.instances.used_texts(), progress)
        return store

    def trained(sample: Sample) -> NDArray[np.float64]:
        store = stored()
        instances = trained_on.instances.take(sample.rows).with_scores(sample.scores)
        size, judgments = len(sample.rows), sample.judgments or "all"
        folder = settings.output / f"{settings.architecture}-{size}-{judgments}-seed{sample.seed}"
        settings.say(f"{size} instances, {judgments} judgments each, seed {sample.seed}")
        begun.fit(folder, [sample.seed], instances, resume=True, progress=progress, say=None)
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
    return replace(curve, architecture=settings.architecture, model=begun.encoder.record.model)
