"""What ``bsx probe`` reads: lists of numbers, tasks, and human judgments to lay beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bsx.analysis.probing.tasks import ProbingTask, read_sentences, read_tokens
from bsx.analysis.stats.layers import LayerAgreement, Statistic, layer_agreement
from bsx.bertscore.scorer import Scorer
from bsx.catalog.catalog import Catalog
from bsx.catalog.languages import find_language
from bsx.cli.judged import Judged, read_judged
from bsx.data.lines import NamedFile
from bsx.errors import InputError
from bsx.support.progress import Progress

_SAMPLE = 1  # seed of --limit


def numbers(option: str, text: str, *, lowest: int) -> tuple[int, ...]:
    """Return the whole numbers in a list like ``0,3,6``, sorted, each once.

    Raises:
        InputError: if it holds anything else.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    wrong = [part for part in parts if not part.isdecimal() or int(part) < lowest]
    if wrong or (text and not parts):
        raise InputError(f"{option} {text}: write whole numbers from {lowest}, separated by commas")
    return tuple(sorted({int(part) for part in parts}))


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


@dataclass(frozen=True)
class Judgments:
    """Human-judged segments, and where they are from."""

    table: Judged

    @classmethod
    def read(
        cls, file: str, candidate: str, reference: str, human: str, group: str | None, lang: str, registry: Catalog
    ) -> Judgments:
        """Read a table; see `bsx.cli.judged.read_judged`."""
        return cls(read_judged([file], candidate, reference, human, group, find_language(lang, registry).code))

    def agreement(
        self, model: str, statistic: Statistic, settings: dict[str, Any], progress: Progress | None
    ) -> tuple[LayerAgreement, str]:
        """Return how BERTScore agrees with people on each layer, and its signature."""
        scores = Scorer(model, all_layers=True, **settings).score(
            self.table.candidates, self.table.references, progress=progress
        )
        result = layer_agreement(
            scores.precision, scores.recall, scores.f1, self.table.human, self.table.groups, statistic=statistic
        )
        return result, str(scores.signature)
