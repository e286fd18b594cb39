"""Sentence similarity in the Massive Text Embedding Benchmark, for the two sentence encoders that need no hub."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from benchmarks.published.table import FactsPart, Figure, PublishedFacts, Work, read_facts
from bsx.analysis.datasets.pairs import load_paws, load_stsb
from bsx.analysis.stats.correlation import pearson, spearman
from bsx.analysis.stats.detection import cuts
from bsx.data.columns import read_columns
from bsx.data.lines import NamedFile
from bsx.errors import DataUnavailableError, InputError
from bsx.support.checks import Array


class TaskFacts(FactsPart):
    """A task: its name and split there, its texts here, the figures compared."""

    task: str
    split: str
    kind: Literal["stsb", "paws"]
    file: str
    languages: list[str]
    figures: list[str]


class MtebFacts(PublishedFacts):
    """``mteb.yaml``."""

    models: dict[str, str]
    tasks: list[TaskFacts]


FACTS = read_facts("mteb", MtebFacts)


def recompute(work: Work) -> list[Figure]:
    """Return the figures of both models on the splits whose texts are at hand."""
    file = work.find("published/mteb-sts.tsv", "mteb/results")
    published = _results(work, file) if file.is_dir() else _table(file)
    rounds = [(model, task, language) for task in FACTS.tasks for language in task.languages for model in FACTS.models]
    figures = []
    for place, (model, task, language) in enumerate(rounds):
        work.step("mteb", place, len(rounds))
        wanted = {
            name: published[key]
            for name in task.figures
            if (key := (model, task.task, language, task.split, name)) in published
        }
        if not wanted:  # not published for every language
            continue
        with work.part(f"{task.task} {language}"):
            load = load_stsb if task.kind == "stsb" else load_paws
            pairs = load(work.find(task.file.format(language)))
            left, right = (pairs.texts(name) for name in ("candidate", "reference"))
            cosines = work.score(FACTS.models[model], left, right).values
            ours = (
                _similarity(pairs.numbers("human"), cosines)
                if task.kind == "stsb"
                else _paraphrase(pairs.numbers("label"), cosines)
            )
            at = {"model": model.rpartition("/")[2], "task": task.task, "language": language}
            figures += [Figure({**at, "figure": name}, value, ours[name]) for name, value in wanted.items()]
    return figures


Published: TypeAlias = "dict[tuple[str, ...], float]"
"""(model, task, language, split, figure) -> value."""


def _table(path: Path) -> Published:
    keys = ["model", "task", "subset", "split", "metric"]
    table = read_columns(path, ["value"], keys)
    return {tuple(map(str, row[:5])): float(row[5]) for row in zip(*(table[k] for k in (*keys, "value")), strict=True)}


def _results(work: Work, folder: Path) -> Published:
    """Read the publisher's files: ``ORGANISATION__MODEL/REVISION/TASK.json``, of which some revisions have others.

    A revision is the commit of the model; folders of other names hold results of before revisions were noted, or of
    other people.
    """
    found: Published = {}
    for model in FACTS.models:
        for task in FACTS.tasks:
            pattern = f"{model.replace('/', '__')}/*/{task.task}.json"
            files = [file for file in sorted(folder.glob(pattern)) if re.fullmatch("[0-9a-f]{40}", file.parent.name)]
            if len(files) != 1:
                raise DataUnavailableError(f"needs one {pattern} of a revision, has {len(files)}", file=folder)
            file = NamedFile(files[0])
            try:
                for scores in file.json()["scores"][task.split]:
                    key = model, task.task, str(scores["hf_subset"]), task.split
                    found |= {(*key, name): float(scores[name]) for name in task.figures if name in scores}
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(f"is not a result of {task.task} on the split {task.split}", file=file.name) from error
    return found


def _similarity(human: Array, cosines: Array) -> dict[str, float]:
    return {"cosine_pearson": pearson(cosines, human).estimate, "cosine_spearman": spearman(cosines, human).estimate}


def _paraphrase(labels: Array, cosines: Array) -> dict[str, float]:
    """Return average precision, and the best accuracy and F1 over thresholds between neighbouring scores."""
    order, ends = cuts(cosines)
    true = np.cumsum(labels[order])[ends]
    called, positive = ends + 1.0, labels.sum()
    precision, recall = true / called, true / positive
    right = true + (len(labels) - positive) - (called - true)
    # Where precision and recall are both 0, so is F1.
    f1 = 2 * true / (called + positive)
    return {
        "cosine_ap": float(np.sum(np.diff(recall, prepend=0.0) * precision)),
        "cosine_accuracy": float(right.max() / len(labels)),
        "cosine_f1": float(f1.max()),
    }
