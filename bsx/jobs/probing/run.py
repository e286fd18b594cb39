"""What each layer of a model knows: encode sentences once for all layers, fit probes, compare with judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.present.forms import records_of
from bsx.analysis.probing.beside_people import probe_with_agreement
from bsx.analysis.probing.experiment import probe_layers
from bsx.analysis.probing.result import ProbedModel, ProbeResult
from bsx.analysis.probing.tasks import ProbingTask
from bsx.analysis.probing.transfer import TestData
from bsx.analysis.stats.layers import Statistic
from bsx.bertscore.config import ScorerConfig
from bsx.bertscore.scorer import Scorer
from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.languages import find_language
from bsx.data.output import ScoreTable
from bsx.encode.features import Features, sentence_features, word_features
from bsx.encode.session import Encoders
from bsx.encode.shared import LayerView
from bsx.encode.tokenizer import Tokenizer
from bsx.errors import InputError
from bsx.jobs.judged import Judged, read_judged
from bsx.jobs.probing.input import agreement, read_tasks
from bsx.jobs.settings.layers import PeopleColumns, ProbePlan
from bsx.support.optional import need
from bsx.support.progress import Progress, Watch, told
from bsx.support.settings import complete, refuse_idle, set_fields, takes
from bsx.support.signature import Signature


def _run(
    plan: ProbePlan,
    tasks: Sequence[ProbingTask],
    others: Sequence[ProbingTask],
    judged: Judged | None,
    statistic: Statistic,
    settings: ScorerConfig,
    registry: Catalog,
    progress: Progress | None,
) -> ProbedModel:
    run = set_fields(settings, "model", "final_norm", "registry")
    encoders = Encoders(model=settings.model, registry=registry, **run)
    located = encoders.locate(None)
    depth = located.architecture.depth
    chosen = tuple(range(depth + 1)) if plan.layers is None else plan.layers
    view = encoders.encoder(located, final_norm=settings.final_norm).view(chosen)
    tokenizer = located.tokenizer()
    results: list[ProbeResult] = []
    notes: list[str] = []
    budget = encoders.budget // (2 + len(others))
    further: list[TestData] = []
    for other in others:
        other, found, said = _without_vectorless(other, _encode(plan, other, tokenizer, view, budget, progress))
        further.append(TestData(other.name, found, other.labels, other.groups, other.types))
        notes += [f"{other.name}: {note}" for note in said]
    for task in tasks:
        features = _encode(plan, task, tokenizer, view, budget, progress)
        task, vectors, said = _without_vectorless(task, features)
        result = _probe(plan, task, vectors, chosen, further, progress)
        notes += [f"{task.name}: {note}" for note in (*said, *_ceiling(task), *result.notes)]
        results.append(replace(result, ceiling=task.ceiling, notes=()))
    beside = None
    if judged is not None and settings.model is not None:
        scorer = Scorer(all_layers=True, **{**set_fields(settings), "registry": registry})
        people, signature = agreement(scorer, judged, statistic, progress)
        beside = replace(probe_with_agreement(results, people), data=judged.names[0], signature=signature)
        notes += [*judged.notes, *people.notes]
    fields = _fields(plan, encoders.dtype, located.identity, tokenizer, chosen, depth, tasks[0])
    model, notes = located.choice.name, [*notes, *encoders.notes]
    signatures = {model: str(Signature.of(fields))}
    return ProbedModel(model, plan.probe, tuple(results), beside, signatures=signatures, notes=tuple(notes))


def _encode(
    plan: ProbePlan, task: ProbingTask, tokenizer: Tokenizer, view: LayerView, budget: int, report: Progress | None
) -> Features:
    bar = None if report is None else lambda phase, done, total: report(f"{phase} {task.name}", done, total)
    if task.tokens:
        return word_features(task.sentences, tokenizer, view, budget=budget, progress=bar)
    texts = [text for (text,) in task.sentences]
    return sentence_features(
        texts, tokenizer, view, pooling=plan.pooling, specials=plan.specials, budget=budget, progress=bar
    )


def _probe(
    plan: ProbePlan,
    task: ProbingTask,
    vectors: NDArray[np.float32],
    layers: tuple[int, ...],
    further: Sequence[TestData],
    report: Progress | None,
) -> ProbeResult:
    try:
        return probe_layers(
            vectors,
            task.labels,
            groups=task.groups,
            parts=task.parts,
            types=task.types if plan.control else None,
            probe=plan.probe,
            train_sizes=plan.train_sizes,
            seeds=range(1, plan.repeats + 1),
            resamples=plan.resamples,
            layers=layers,
            task=task.name,
            test_data=further,
            progress=None if report is None else lambda name, done, of: report(f"probing {name}", done, of),
        )
    except InputError as error:
        raise InputError(f"{task.name}: {error}") from error


def _fields(
    plan: ProbePlan,
    dtype: str,
    model: str,
    tokenizer: Tokenizer,
    layers: tuple[int, ...],
    depth: int,
    task: ProbingTask,
) -> dict[str, object]:
    import sklearn

    from bsx.support.provenance import VERSION

    pooled = plan.pooling if plan.pooling == "cls" else f"{plan.pooling}{'+specials' if plan.specials else ''}"
    return {
        "probe": plan.probe,
        "control": plan.control,
        "model": model,
        "layer": f"{'all' if plan.layers is None else ','.join(map(str, layers))}/{depth}",
        "vector": "word" if task.tokens else pooled,
        "limit": "no" if plan.limit is None else plan.limit,
        "seeds": plan.repeats,
        "long": f"truncate@{tokenizer.max_tokens}",
        "dtype": dtype,
        "tokenizer": tokenizer.backend,
        "sklearn": sklearn.__version__,
        "bsx": VERSION,
    }


def _without_vectorless(task: ProbingTask, features: Features) -> tuple[ProbingTask, NDArray[np.float32], list[str]]:
    """Leave out items that the model has no token for, and say so."""
    notes = [f"{features.truncated} texts are longer than the model reads and were cut"] if features.truncated else []
    if features.found.all():
        return task, features.vectors, notes
    notes.append(f"left out {int((~features.found).sum())} items of which the model reads no token")
    return task.select(features.found.tolist()), features.vectors[:, features.found], notes


def _ceiling(task: ProbingTask) -> list[str]:
    if task.ceiling == 1:
        return []
    return [f"copies of one sentence have different labels: no probe can be right on more than {task.ceiling:.1%}"]


@takes(PeopleColumns)
def probe(
    files: Sequence[str],
    plan: ProbePlan | None = None,
    *,
    tokens: bool = False,
    test_data: Sequence[str] = (),
    parallel: bool = False,
    judged: str | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **people: Unpack[PeopleColumns],
) -> ProbedModel:
    """Fit probes on every layer's frozen vectors.

    Args:
        files: tasks: ``sentence TAB label`` a line, or SentEval's three columns.
        plan: the experiment.
        tokens: whether the files hold ``word TAB label``, with an empty line between sentences.
        test_data: further files of a single task, as in other languages, to test its probes on.
        parallel: whether their sentences translate the task's, line by line: translations of sentences that are
            trained on are then not tested.
        judged: table of human judgments, to lay the agreement of each layer beside.
        settings: model, and where and within what limits to run.
        progress: called with phase, done and total; True draws bars.
        **people: columns of ``judged``, and how agreement is measured.

    Raises:
        InputError: for a malformed file or table, or without a model.
    """
    progress = told(progress)
    plan, settings = plan or ProbePlan(), settings or ScorerConfig()
    asked = complete(people, PeopleColumns)
    if judged is None:
        refuse_idle(asked, PeopleColumns, "without `judged=`")
    if tokens:
        refuse_idle(
            vars(plan),
            ProbePlan,
            "with `tokens=True`",
            "pooling",
            "specials",
        )
    elif plan.pooling == "cls":
        refuse_idle(vars(plan), ProbePlan, "with `pooling='cls'`", "specials")
    tasks, others = read_tasks(files, tokens=tokens, limit=plan.limit, test_data=test_data, parallel=parallel)
    need("sklearn", "probing")
    registry = load_registry(settings.registry)
    table = None if judged is None else read_judged([judged], asked, find_language(asked["lang"], registry).code)
    return _run(plan, tasks, others, table, asked["statistic"], settings, registry, progress)


def save_rows(found: ProbedModel, path: Path) -> None:
    """Write a row a task and layer, with the signature beside it."""
    rows = records_of(found)
    columns = {name: None for row in rows for name in row}  # a size may be beyond one task's training part
    with ScoreTable(path) as table:
        table.signature = found.signatures[found.model]
        for row in rows:
            table.write({name: row.get(name) for name in columns})
