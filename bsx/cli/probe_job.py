"""What ``bsx probe`` does: encode each sentence once for all layers, fit probes, ask how people agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bsx.analysis.probing.beside_people import SideBySide, probe_with_agreement
from bsx.analysis.probing.classifiers import Probe
from bsx.analysis.probing.experiment import ProbeResult, probe_layers
from bsx.analysis.probing.tasks import ProbingTask
from bsx.analysis.stats.layers import Statistic
from bsx.cli.probe_input import Judgments
from bsx.cli.progress import progress_bar
from bsx.encode.features import Features, Pooling, sentence_features, word_features
from bsx.encode.session import Encoders
from bsx.encode.shared import LayerView
from bsx.encode.tokenizer import Tokenizer
from bsx.errors import InputError
from bsx.support.optional import need
from bsx.support.progress import Progress
from bsx.support.signature import Signature


@dataclass(frozen=True)
class Findings:
    """What came out.

    Attributes:
        model: name of the model.
        signature: what the probes were computed with.
        tasks: the tasks as they were used.
        results: a result a task.
        beside: the results beside the agreement with people, if there are judgments.
        people: what that agreement is of: data, groups, segments, signature.
        notes: what the reader should know.
    """

    model: str
    signature: str
    tasks: list[ProbingTask]
    results: list[ProbeResult]
    beside: SideBySide | None
    people: dict[str, Any] | None
    notes: list[str]


@dataclass(frozen=True)
class Plan:
    """The experiment: the options of ``bsx probe``."""

    layers: tuple[int, ...] | None
    probe: Probe
    pooling: Pooling
    specials: bool
    control: bool
    train_sizes: tuple[int, ...]
    limit: int | None
    seeds: int
    resamples: int

    def run(
        self, tasks: list[ProbingTask], people: Judgments | None, statistic: Statistic, settings: dict[str, Any]
    ) -> Findings:
        """Run it.

        Args:
            tasks: what to probe.
            people: human judgments to compare with.
            statistic: the correlation with them.
            settings: model, registry, and where and within what limits to run.
        """
        need("sklearn", "probing")
        model, final_norm = settings.get("model"), settings.get("final_norm", True)
        run = {name: value for name, value in settings.items() if name not in ("model", "final_norm")}
        encoders = Encoders(model=model, **run)
        located = encoders.locate(None)
        depth = located.architecture.depth
        chosen = tuple(range(depth + 1)) if self.layers is None else self.layers
        view = encoders.encoder(located, final_norm=final_norm).view(chosen)
        tokenizer = located.tokenizer()
        used, results, notes = [], [], []
        with progress_bar() as report:
            for task in tasks:
                features = self._encode(task, tokenizer, view, encoders.budget // 2, report)
                task, vectors, said = _without_vectorless(task, features)
                result = self._probe(task, vectors, chosen, report)
                notes += [f"{task.name}: {note}" for note in (*said, *_ceiling(task), *result.notes)]
                used.append(task)
                results.append(result)
            beside, facts = None, None
            if people is not None and model is not None:
                scoring = {name: value for name, value in settings.items() if name != "model"}
                agreement, signature = people.agreement(model, statistic, scoring, report)
                beside = probe_with_agreement(results, agreement)
                notes += people.table.notes
                facts = {
                    "data": people.table.names[0],
                    "groups": list(agreement.groups),
                    "n": agreement.n,
                    "best_layer": agreement.best_layer,
                    "signature": signature,
                }
        fields = self._fields(encoders.dtype, view.backend, located.identity, tokenizer, chosen, depth, tasks[0])
        signature = str(Signature.of(fields))
        notes += encoders.notes
        return Findings(located.choice.name, signature, used, results, beside, facts, notes)

    def _encode(
        self, task: ProbingTask, tokenizer: Tokenizer, view: LayerView, budget: int, report: Progress | None
    ) -> Features:
        bar = None if report is None else lambda phase, done, total: report(f"{phase} {task.name}", done, total)
        if task.tokens:
            return word_features(task.sentences, tokenizer, view, budget=budget, progress=bar)
        texts = [text for (text,) in task.sentences]
        return sentence_features(
            texts, tokenizer, view, pooling=self.pooling, specials=self.specials, budget=budget, progress=bar
        )

    def _probe(
        self,
        task: ProbingTask,
        vectors: np.ndarray[Any, np.dtype[np.float32]],
        layers: tuple[int, ...],
        report: Progress | None,
    ) -> ProbeResult:
        try:
            return probe_layers(
                vectors,
                task.labels,
                groups=task.groups,
                parts=task.parts,
                types=task.types if self.control else None,
                probe=self.probe,
                train_sizes=self.train_sizes,
                seeds=range(1, self.seeds + 1),
                resamples=self.resamples,
                layers=layers,
                task=task.name,
                progress=None if report is None else lambda name, done, of: report(f"probing {name}", done, of),
            )
        except InputError as error:
            raise InputError(f"{task.name}: {error}") from error

    def _fields(
        self,
        dtype: str,
        backend: str,
        model: str,
        tokenizer: Tokenizer,
        layers: tuple[int, ...],
        depth: int,
        task: ProbingTask,
    ) -> dict[str, object]:
        import sklearn
        import transformers

        from bsx.support.provenance import bsx_version

        pooled = self.pooling if self.pooling == "cls" else f"{self.pooling}{'+specials' if self.specials else ''}"
        return {
            "probe": self.probe,
            "control": self.control,
            "model": model,
            "layer": f"{'all' if self.layers is None else ','.join(map(str, layers))}/{depth}",
            "vector": "word" if task.tokens else pooled,
            "limit": "no" if self.limit is None else self.limit,
            "seeds": self.seeds,
            "long": f"truncate@{tokenizer.max_tokens}",
            "dtype": dtype,
            "backend": backend,
            "tokenizer": tokenizer.backend,
            "transformers": transformers.__version__,
            "sklearn": sklearn.__version__,
            "bsx": bsx_version(),
        }


def _without_vectorless(
    task: ProbingTask, features: Features
) -> tuple[ProbingTask, np.ndarray[Any, np.dtype[np.float32]], list[str]]:
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
