"""What each layer of a model knows: encode sentences once for all layers, fit probes, compare with judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from bsx.analysis.present.forms import records_of
from bsx.analysis.probe.classifiers import Probe
from bsx.analysis.probe.experiment import TestData, probe_layers
from bsx.analysis.probe.result import ProbedModel, ProbeResult
from bsx.analysis.probe.tasks import ProbingTask, check_label, is_treebank, read_sentences, read_tokens, read_treebank
from bsx.analysis.stats.layers import Statistic
from bsx.analysis.tune.run import JudgedColumns, layers_and_judgments
from bsx.bertscore.scorer import Scorer
from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import find_language
from bsx.data.lines import NamedFile
from bsx.data.output import ScoreTable
from bsx.data.sources import AnyTable
from bsx.encode.features import Features, Pooling, pooled_features
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.frames.judged import LANG, read_judged
from bsx.frames.settings import Watched
from bsx.support.optional import need
from bsx.support.progress import reporter
from bsx.support.provenance import VERSION, Signature
from bsx.support.result import Result
from bsx.support.settings import Option, Resamples95, part, refuse_idle, settled

_SAMPLE = 1  # seed of the sentences that are drawn if their number is limited
_DETAIL = Option(folded="detail")


class ProbeSettings(RunConfig, JudgedColumns, Watched):
    """Settings of `probe`."""

    python_only = ("strict",)

    tasks: Annotated[
        Sequence[str],
        Field(min_length=1, description="Tasks: sentence TAB label on each line, or SentEval's three columns."),
        Option(argument=True, metavar="TASK"),
    ]
    model: Annotated[
        str | None, Field(description="Model: a registry name, a folder, or a hub id."), Option(("-m",))
    ] = None
    tokens: Annotated[
        bool, Field(description="Files of word TAB label, an empty line between, or CoNLL-U (.conllu).")
    ] = False
    labels: Annotated[
        tuple[str, ...],
        Field(
            min_length=1,
            description="Labels to read from CoNLL-U, each a task: upos, xpos, deprel, head-distance, depth, or a "
            "feature such as Number.",
        ),
    ] = ("upos",)
    layers: Annotated[
        tuple[Annotated[int, Field(ge=0, le=10_000)], ...] | None,
        Field(description="Layers to probe, like 0,3,6; all unless given."),
    ] = None
    probe: Annotated[Probe, Field(description="Classifier.")] = "logistic"
    pooling: Annotated[
        Literal["mean", "cls", "max"], Field(description="From the vectors of tokens to that of a sentence."), _DETAIL
    ] = "mean"
    control_task: Annotated[bool, Field(description="Run the control task too."), _DETAIL] = True
    test_data: Annotated[
        Sequence[str],
        Field(description="Further files to test the probes of one task on, as in other languages."),
    ] = ()
    parallel: Annotated[
        bool,
        Field(
            description="Their sentences translate the task's, line by line: translations of sentences that are "
            "trained on are not tested."
        ),
        _DETAIL,
    ] = False
    train_sizes: Annotated[
        tuple[Annotated[int, Field(ge=2, le=10**9)], ...],
        Field(description="Further sizes of the training part, like 100,1000."),
    ] = ()
    limit: Annotated[
        int | None, Field(ge=10, le=10**9, description="Use this many sentences of a file, drawn at random.")
    ] = None
    repeats: Annotated[int, Field(ge=1, le=10_000, description="Repeat with so many seeds: 1, 2, …")] = 3
    resamples: Resamples95 = 1000
    judged: Annotated[
        AnyTable | None, Field(description="Table of human judgments: adds how each layer agrees with them.")
    ] = None
    lang: Annotated[str, Field(description=LANG), Option(("-l",))] = "en"
    statistic: Annotated[Statistic, Field(description="Correlation with human judgments.")] = "pearson"

    @field_validator("labels")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(check_label, value)))

    @field_validator("layers", "train_sizes")
    @classmethod
    def _sorted(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return None if value is None else tuple(sorted(set(value)))


def read_tasks(settings: ProbeSettings) -> tuple[list[ProbingTask], list[ProbingTask]]:
    """Read tasks, and further files to test the probes of a single one on, before anything is computed.

    Raises:
        InputError: for a malformed file, two of one name, further files of several tasks, or files that cannot be
            parallel.
    """

    def read(name: str) -> list[ProbingTask]:
        file = NamedFile(name)
        if not is_treebank(name):
            return [read_tokens(file) if settings.tokens else read_sentences(file)]
        if not settings.tokens:
            raise InputError("is CoNLL-U, where words have labels: give tokens too", file=name)
        return read_treebank(file, settings.labels)

    def refuse_several(count: str) -> None:
        raise InputError(
            f"test_data is for the probes of one task, and there are {count}: give one", setting="test_data"
        )

    tasks = [task for name in settings.tasks for task in read(name)]
    names = [task.name for task in tasks]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two files would both be the task {name!r}: rename one (a task is named up to the dot)")
    if settings.test_data and len(tasks) > 1:
        refuse_several(str(len(tasks)))
    if settings.parallel and not settings.test_data:
        raise InputError("parallel is about further files: give test_data too", setting="parallel")
    others: list[ProbingTask] = []
    for name in settings.test_data:
        further = read(name)
        if len(further) > 1:
            refuse_several(f"{len(further)} labels")
        other = replace(further[0], name=Path(NamedFile(name).name).name)
        if any(other.name == known.name for known in others):
            raise InputError(f"two files to test on are called {other.name}: rename one")
        others.append(other.translating(tasks[0]) if settings.parallel else other)
    if (limit := settings.limit) is None:
        return tasks, others
    # One seed: of parallel files the same sentences are drawn.
    return [task.sample(limit, _SAMPLE) for task in tasks], [other.sample(limit, _SAMPLE) for other in others]


def _usable(task: ProbingTask, features: Features) -> tuple[ProbingTask, NDArray[np.float32], list[str]]:
    """Leave out words without a label and items that the model has no token for, and say so."""
    notes = [f"{features.truncated} texts are longer than the model reads and were cut"] if features.truncated else []
    labelled = np.array([label != "" for label in task.labels])
    keep = features.present & labelled
    if unlabelled := int((~labelled).sum()):
        notes.append(f"left out {unlabelled} of {len(labelled)} words, which have no such label")
    if unread := int((labelled & ~keep).sum()):
        notes.append(f"left out {unread} items of which the model reads no token")
    if keep.all():
        return task, features.vectors, notes
    return task.select(keep.tolist()), features.vectors[:, keep], notes


@settled(ProbeSettings)
def probe(settings: ProbeSettings) -> ProbedModel:
    """Fit probes on every layer's frozen vectors.

    Args:
        settings: see `ProbeSettings`.

    Raises:
        InputError: for a malformed file or table, or without a model.
    """
    if settings.judged is None:
        columns = (*JudgedColumns.model_fields, "lang", "statistic")
        refuse_idle(settings, "without judged", *columns)
    if settings.tokens:
        refuse_idle(settings, "with tokens", "pooling")
    if not any(map(is_treebank, (*settings.tasks, *settings.test_data))):
        refuse_idle(settings, "without a file in CoNLL-U", "labels")
    tasks, others = read_tasks(settings)
    sklearn = need("sklearn", "probing")
    registry, progress = load_registry(settings.registry), reporter(settings.progress)
    code = find_language(settings.lang, registry).code
    judged = None if settings.judged is None else read_judged([settings.judged], settings, code, settings.group)
    run = part(settings, RunConfig) | {"registry": registry}
    encoders = Encoders(model=settings.model, **run)
    located = encoders.locate(None)
    depth = located.architecture.depth
    chosen = tuple(range(depth + 1)) if settings.layers is None else settings.layers
    view = encoders.encoder(located, final_norm=True).view(chosen)
    tokenizer = located.tokenizer()
    results: list[ProbeResult] = []
    notes: list[str] = []
    budget = encoders.budget // (2 + len(others))

    def encode(task: ProbingTask) -> Features:
        bar = progress and (lambda phase, done, total: progress(f"{phase} {task.name}", done, total))
        pooling: Pooling = "words" if task.tokens else settings.pooling
        return pooled_features(task.sentences, tokenizer, view, pooling=pooling, budget=budget, progress=bar)

    further: list[TestData] = []
    for other in others:
        other, vectors, left_out = _usable(other, encode(other))
        further.append(TestData(other.name, vectors, other.labels, other.groups, other.types))
        notes += [f"{other.name}: {note}" for note in left_out]
    read: tuple[tuple[str, ...], ...] | None = None
    for task in tasks:
        if task.sentences != read:  # several labels of one treebank need its vectors once
            features, read = encode(task), task.sentences
        task, vectors, left_out = _usable(task, features)
        try:
            result = probe_layers(
                vectors,
                task.labels,
                groups=task.groups,
                parts=task.parts,
                types=task.types if settings.control_task else None,
                probe=settings.probe,
                train_sizes=settings.train_sizes,
                seeds=range(1, settings.repeats + 1),
                resamples=settings.resamples,
                layers=chosen,
                task=task.name,
                test_data=further,
                progress=progress and (lambda name, done, of: progress(f"probing {name}", done, of)),
            )
        except InputError as error:
            raise InputError(f"{task.name}: {error}") from error
        if (most := task.ceiling) < 1:
            left_out.append(
                f"copies of one sentence have different labels: no probe can be right on more than {most:.1%}"
            )
        notes += [f"{task.name}: {note}" for note in (*left_out, *result.notes)]
        results.append(replace(result, notes=()))
    beside = None
    if judged is not None and settings.model is not None:
        scorer = Scorer(model=settings.model, all_layers=True, **run)
        beside = layers_and_judgments(scorer, judged, settings.statistic, progress=progress)
        notes += [*judged.notes, *beside.notes]
        beside = replace(beside, notes=())
    fields = {
        "probe": settings.probe,
        "control_task": settings.control_task,
        "model": located.identity,
        "layer": f"{'all' if settings.layers is None else ','.join(map(str, chosen))}/{depth}",
        "vector": "word" if tasks[0].tokens else settings.pooling,
        "limit": "no" if settings.limit is None else settings.limit,
        "seeds": settings.repeats,
        "long": f"truncate@{tokenizer.max_tokens}",
        "dtype": encoders.signed_dtype,
        "tokenizer": tokenizer.backend,
        "sklearn": sklearn.__version__,
        "bsx": VERSION,
    }
    model, notes = located.choice.name, [*notes, *encoders.notes]
    signatures = {model: str(Signature.of(fields))}
    return ProbedModel(model, settings.probe, tuple(results), beside, signatures=signatures, notes=tuple(notes))


def save_rows(probed: Result, path: Path) -> None:
    """Write a row a task and layer, with the signature beside it."""
    rows = records_of(probed)
    columns = {name: None for row in rows for name in row}  # a size may be beyond one task's training part
    with ScoreTable(path) as table:
        table.signature = "\n".join(probed.signatures.values())
        for row in rows:
            table.write({name: row.get(name) for name in columns})
