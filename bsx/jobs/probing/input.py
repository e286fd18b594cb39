"""What probing reads: tasks, and human judgments to lay beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bsx.analysis.probing.tasks import ProbingTask, read_sentences, read_tokens
from bsx.analysis.stats.layers import LayerAgreement, Statistic, layer_agreement
from bsx.bertscore.scorer import Scorer
from bsx.data.lines import NamedFile
from bsx.errors import InputError
from bsx.jobs.judged import Judged
from bsx.support.progress import Progress

_SAMPLE = 1  # seed of the sentences that are drawn if their number is limited


def read_tasks(
    files: Sequence[str],
    *,
    tokens: bool,
    limit: int | None,
    test_data: Sequence[str] = (),
    parallel: bool = False,
) -> tuple[list[ProbingTask], list[ProbingTask]]:
    """Read tasks, and further files to test the probes of a single one on, before anything is computed.

    Args:
        files: the tasks.
        tokens: whether they are about words.
        limit: how many sentences to draw of each; of parallel files the same ones.
        test_data: the further files; each is named as its file is.
        parallel: whether these translate the task's sentences, line by line.

    Raises:
        InputError: for a malformed file, two of one name, further files of several tasks, or files that cannot be
            parallel.
    """
    read = read_tokens if tokens else read_sentences
    tasks = [read(NamedFile(name)) for name in files]
    names = [task.name for task in tasks]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two files would both be the task {name!r}: rename one (a task is named up to the dot)")
    if test_data and len(tasks) > 1:
        raise InputError(f"`test_data=` is for the probes of one task, and there are {len(tasks)}: give one")
    if parallel and not test_data:
        raise InputError("`parallel=True` is about further files: give `test_data=` too")
    others: list[ProbingTask] = []
    for name in test_data:
        file = NamedFile(name)
        other = replace(read(file), name=Path(file.name).name)
        if any(other.name == one.name for one in others):
            raise InputError(f"two files to test on are called {other.name}: rename one")
        others.append(other.translating(tasks[0]) if parallel else other)
    if limit is None:
        return tasks, others
    return [task.sample(limit, _SAMPLE) for task in tasks], [other.sample(limit, _SAMPLE) for other in others]


def agreement(
    scorer: Scorer, judged: Judged, statistic: Statistic, progress: Progress | None
) -> tuple[LayerAgreement, str]:
    """Return how a scorer of all layers agrees with people, layer by layer, and its signature."""
    scores = scorer.score(judged.candidates, judged.references, progress=progress)
    result = layer_agreement(
        scores.precision, scores.recall, scores.f1, judged.human, judged.groups, statistic=statistic
    )
    return result, str(scores.signature)
