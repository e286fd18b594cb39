"""MoverScore's components in every combination, beside human scores: Table 9 of the BERTScore paper on one's data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, field_validator

from bsx.analysis.stats.rowwise import pearson_rows
from bsx.analysis.stats.validate import vectors
from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import find_language
from bsx.data.corpus import MemoryCorpus
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.jobs.layers import LANG, JudgedColumns, read_judged
from bsx.jobs.tables import Watched
from bsx.metrics.embedding.ablation import MATCHINGS, grid
from bsx.metrics.run import score_corpus
from bsx.metrics.summary import about
from bsx.support.aligned import text_table
from bsx.support.progress import Progress, told
from bsx.support.settings import Option, part, settled

Row = dict[str, str | float | None]


class AblationSettings(RunConfig, JudgedColumns, Watched):
    """Settings of `ablate`."""

    table: Annotated[str, Field(description="Table of human-judged segments."), Option(argument=True)]
    model: Annotated[str, Field(description="Encoder: a registry name, a folder, or a hub id."), Option(("-m",))]
    lang: Annotated[str, Field(description=LANG), Option(("-l",))] = "en"
    mnli_model: Annotated[str | None, Field(description="Encoder fine-tuned on MNLI, for the rows with MNLI.")] = None
    layer: Annotated[
        int | None, Field(ge=0, description="Layer without power means; the model's best unless given.")
    ] = None
    long_idf: Annotated[
        Mapping[str, Path] | Sequence[str],
        Field(description="GROUP=FILE: all references of a group's test set, one text per line (IDF-L)."),
    ] = {}

    @field_validator("long_idf", mode="after")
    @classmethod
    def _by_group(cls, value: Mapping[str, Path] | Sequence[str]) -> Mapping[str, Path]:
        if isinstance(value, Mapping):
            return value
        if not all("=" in pair for pair in value):
            raise ValueError("write GROUP=FILE")
        return {group: Path(file) for group, _, file in (pair.partition("=") for pair in value)}


@dataclass(frozen=True)
class Ablation:
    """Correlations of all combinations.

    Attributes:
        rows: ``components``, ``matching``, a correlation for each group (None where there is none), and their ``mean``.
        notes: what the reader should know.
        n: segments.
    """

    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    n: int = 0

    def to_dict(self) -> dict[str, object]:
        """Return the rows, for other programs."""
        return {"results": self.rows}

    def to_text(self) -> str:
        """Return between what the correlations lie, and a table."""
        return f"{self._answer()}\n\n{self._table()}"

    def _answer(self) -> str:
        """Say how combinations compare with the one without components; there is no test."""
        means = {
            (row["components"], row["matching"]): float(row["mean"]) for row in self.rows if row["mean"] is not None
        }
        if not means:
            return "No combination has a correlation with human judgments in every group."
        (low, least), (high, most) = (choose(means.items(), key=lambda item: item[1]) for choose in (min, max))
        groups = len(self.rows[0]) - len(("components", "matching", "mean"))
        first = self.rows[0]["components"]
        others = {(what, how): mean for (what, how), mean in means.items() if what != first and (first, how) in means}
        more = sum(mean > means[first, how] for (_, how), mean in others.items())
        among = f"the mean Pearson correlation of {groups} groups" if groups > 1 else "Pearson correlation"
        said = f"On {self.n:,} segments, {among} with human judgments is {least:.3f} ({_of(low)}) to "
        said += f"{most:.3f} ({_of(high)})."
        if others:
            said += f" {more} of {len(others)} combinations are higher than {first}, which has no component, under the "
            said += "same matching."
        return f"{said} No difference is tested."

    def _table(self) -> str:
        groups = [name for name in self.rows[0] if name not in ("components", "matching")]
        rows = [["components", "matching", *groups]]
        for row in self.rows:
            figures = ("-" if row[name] is None else f"{row[name]:.3f}" for name in groups)
            rows.append([str(row["components"]), str(row["matching"]), *figures])
        return text_table(rows, "llr")


@settled(AblationSettings)
def ablate(settings: AblationSettings) -> Ablation:
    """Correlate every combination with human scores, for three ways of matching.

    Args:
        settings: see `AblationSettings`.

    Raises:
        InputError: for a table that cannot be used, such as one with a group of two rows or of one human score, or for
            a group of ``long_idf`` that it does not have.
    """
    progress = told(settings.progress)
    catalog = load_registry(settings.registry)
    judged = read_judged([settings.table], settings, find_language(settings.lang, catalog).code)
    groups = list(dict.fromkeys(judged.groups))
    long_idf = settings.long_idf if isinstance(settings.long_idf, Mapping) else {}  # always one: see the validator
    for name in long_idf:
        if name not in groups:
            raise InputError(f"long_idf: {name!r} is none of the groups {', '.join(groups)}")
    entry = catalog.find(settings.model)
    layer = settings.layer
    if layer is None and entry is not None and isinstance(entry.layer, int):
        layer = entry.layer
    humans = {group: [h for h, of in zip(judged.human, judged.groups, strict=True) if of == group] for group in groups}
    for group, human in humans.items():
        vectors({f"group {group!r}, human scores": human}, varied=True)
    figures: dict[tuple[str, str, str], float | None] = {}
    notes = list(judged.notes)
    run = part(settings, RunConfig) | {"registry": catalog}
    for group, human in humans.items():
        encoders = Encoders(lang=settings.lang, **run)
        combinations = list(grid(settings.model, layer, long_idf=long_idf.get(group), mnli=settings.mnli_model))
        metrics = {(row.name, m): row.metric(m, encoders) for row in combinations for m in MATCHINGS}
        chosen = [i for i, name in enumerate(judged.groups) if name == group]
        corpus = MemoryCorpus(
            {"candidate": [judged.candidates[i] for i in chosen]}, [judged.references[i] for i in chosen]
        )
        notes += about(list(metrics.values()))
        scores = score_corpus(list(metrics.values()), corpus, progress=_renamed(progress, group))
        for (components, matching), metric in metrics.items():
            values = scores[metric.spec]["candidate"].values
            r = float(pearson_rows(values, np.array(human)))
            figures[components, matching, group] = None if math.isnan(r) else r
    rows: list[Row] = []
    for components, matching in dict.fromkeys((components, matching) for components, matching, _ in figures):
        by_group = {group: figures.get((components, matching, group)) for group in groups}
        known = [value for value in by_group.values() if value is not None]
        mean = sum(known) / len(known) if len(known) == len(groups) else None
        rows.append({"components": components, "matching": matching, **by_group, "mean": mean})
    return Ablation(rows, list(dict.fromkeys(notes)), len(judged.human))


def _of(combination: tuple[str | float | None, str | float | None]) -> str:
    return f"{combination[0]}, {combination[1]}"


def _renamed(progress: Progress | None, phase: str) -> Progress | None:
    return None if progress is None else lambda _, done, total: progress(phase, done, total)
