"""What probing reads: tasks, and human judgments to lay beside them."""

from __future__ import annotations

from collections.abc import Sequence

from bsx.analysis.probing.tasks import ProbingTask, read_sentences, read_tokens
from bsx.analysis.stats.layers import LayerAgreement, Statistic, layer_agreement
from bsx.bertscore.scorer import Scorer
from bsx.data.lines import NamedFile
from bsx.errors import InputError
from bsx.jobs.judged import Judged
from bsx.support.progress import Progress

_SAMPLE = 1  # seed of the sentences that are drawn if their number is limited


def read_tasks(files: Sequence[str], *, tokens: bool, limit: int | None) -> list[ProbingTask]:
    """Read tasks, all of them before anything is computed.

    Raises:
        InputError: for a malformed file, or two tasks of one name.
    """
    read = read_tokens if tokens else read_sentences
    tasks = [read(NamedFile(name)) for name in files]
    names = [task.name for task in tasks]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two files would both be the task {name!r}: rename one (a task is named up to the dot)")
    return [task if limit is None else task.sample(limit, _SAMPLE) for task in tasks]


def agreement(
    scorer: Scorer, judged: Judged, statistic: Statistic, progress: Progress | None
) -> tuple[LayerAgreement, str]:
    """Return how a scorer of all layers agrees with people, layer by layer, and its signature."""
    scores = scorer.score(judged.candidates, judged.references, progress=progress)
    result = layer_agreement(
        scores.precision, scores.recall, scores.f1, judged.human, judged.groups, statistic=statistic
    )
    return result, str(scores.signature)
