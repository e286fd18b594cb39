"""MoverScore's components in every combination, beside human scores: Table 9 of the BERTScore paper on one's data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

import numpy as np

from bsx.analysis.stats.rowwise import pearson_rows
from bsx.analysis.stats.validate import vectors
from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import language_code
from bsx.data.corpus import MemoryCorpus
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.jobs.judged import read_judged
from bsx.jobs.settings.layers import AblationSettings
from bsx.metrics.embedding.ablation import MATCHINGS, grid
from bsx.metrics.run import score_corpus
from bsx.metrics.summary import about
from bsx.support.aligned import text_table
from bsx.support.progress import Progress, Watch, told
from bsx.support.settings import complete, takes

Row = dict[str, str | float | None]


@dataclass(frozen=True)
class Ablation:
    """Correlations of all combinations.

    Attributes:
        rows: ``components``, ``matching``, a correlation for each group (None where there is none), and their ``mean``.
        notes: what the reader should know.
    """

    rows: list[Row]
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, object]:
        """Return the rows, for other programs."""
        return {"results": self.rows}

    def to_text(self) -> str:
        """Return a table, for people."""
        groups = [name for name in self.rows[0] if name not in ("components", "matching")]
        rows = [["components", "matching", *groups]]
        for row in self.rows:
            figures = ("-" if row[name] is None else f"{row[name]:.3f}" for name in groups)
            rows.append([str(row["components"]), str(row["matching"]), *figures])
        return text_table(rows, "llr")


@takes(AblationSettings)
def ablate(
    data: str,
    model: str,
    *,
    long_idf: Mapping[str, Path] | None = None,
    progress: Watch = None,
    **how: Unpack[AblationSettings],
) -> Ablation:
    """Correlate every combination with human scores, for three ways of matching.

    Args:
        data: table of human-judged segments.
        model: the encoder.
        long_idf: group -> file of all references of its test set, a text a line.
        progress: called with a group's name, done and total; True draws bars.
        **how: columns of the table, models, and where to run.

    Raises:
        InputError: for a table that cannot be used, such as one with a group of two rows or of one human score, or for
            a group of ``long_idf`` that it does not have.
    """
    progress = told(progress)
    asked = complete(how, AblationSettings)
    judged = read_judged([data], asked, language_code(asked["lang"]))
    groups = list(dict.fromkeys(judged.groups))
    files = dict(long_idf or {})
    for name in files:
        if name not in groups:
            raise InputError(f"`long_idf={name}`: write GROUP=FILE with one of the groups {', '.join(groups)}")
    catalog = load_registry()
    entry = catalog.find(model)
    layer = asked["layer"]
    if layer is None and entry is not None and isinstance(entry.layer, int):
        layer = entry.layer
    humans = {group: [h for h, of in zip(judged.human, judged.groups, strict=True) if of == group] for group in groups}
    for group, human in humans.items():
        vectors({f"group {group!r}, column {asked['human']!r}": human}, varied=True)
    figures: dict[tuple[str, str, str], float | None] = {}
    notes = list(judged.notes)
    for group, human in humans.items():
        encoders = Encoders(lang=asked["lang"], device=asked["device"], registry=catalog)
        combinations = list(grid(model, layer, long_idf=files.get(group), mnli=asked["mnli_model"]))
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
        found = {group: figures.get((components, matching, group)) for group in groups}
        known = [value for value in found.values() if value is not None]
        mean = sum(known) / len(known) if len(known) == len(groups) else None
        rows.append({"components": components, "matching": matching, **found, "mean": mean})
    return Ablation(rows, list(dict.fromkeys(notes)))


def _renamed(progress: Progress | None, phase: str) -> Progress | None:
    return None if progress is None else lambda _, done, total: progress(phase, done, total)
