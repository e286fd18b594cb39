"""Scores of pairs and triples: which columns, which metrics, and which rows hang together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bsx.analysis.stats.folds import Rows, units
from bsx.bertscore.config import ScorerConfig
from bsx.data.sidecar import lower_by_sidecar
from bsx.errors import InputError
from bsx.jobs.metrics import open_metrics
from bsx.jobs.settings.adversarial import FoolSettings
from bsx.metrics.failures import RowScores, score_all
from bsx.metrics.summary import about
from bsx.support.progress import Progress
from bsx.support.settings import set_fields
from bsx.support.untyped import Settings

if TYPE_CHECKING:
    from bsx.metrics.base import Metric


def open_distinct(named: Sequence[str], settings: ScorerConfig | None, columns: Iterable[str]) -> list[Metric]:
    """Build metrics that are to score; raise InputError for one that is asked for twice, or called like a column."""
    metrics = open_metrics(named, settings if settings is not None else ScorerConfig())
    wanted = [*columns, *(metric.spec for metric in metrics)]
    for metric in metrics:
        if wanted.count(metric.spec) > 1:
            raise InputError(f"the metric {metric.spec} is asked for twice")
    return metrics


@dataclass(eq=False)
class OwnScores:
    """Scores of one file.

    Attributes:
        metrics: those that score here.
        skip: whether to go on without rows on which one fails.
        progress: called with phase, done and total.
        signatures: metric -> signature.
        failed: whether a metric failed on some row.
    """

    metrics: list[Metric]
    skip: bool
    progress: Progress | None
    signatures: dict[str, str] = field(default_factory=dict)
    failed: bool = False

    @classmethod
    def open(
        cls,
        named: Sequence[str],
        columns: Sequence[str],
        settings: ScorerConfig | None,
        skip: bool,
        progress: Progress | None,
    ) -> OwnScores:
        """Build the metrics that are to score.

        Raises:
            InputError: if there are none but settings for them, or one is called like a column, or reads sources.
        """
        if not named:
            for name in set_fields(settings):
                raise InputError(f"`{name}=` goes with `metrics=`")
            return cls([], skip, progress)
        metrics = open_distinct(named, settings, columns)
        for metric in metrics:
            if "reference" not in metric.needs or "source" in metric.needs:
                raise InputError(f"{metric.spec} reads sources, and there are none here: leave it out")
        return cls(metrics, skip, progress)

    def of(
        self, candidates: Sequence[str], references: Sequence[str], where: Callable[[int], str], notes: list[str]
    ) -> list[RowScores]:
        """Score texts with every metric; notes go to ``notes``."""
        if not self.metrics:
            return []
        found = score_all(
            self.metrics, candidates, references, skip_errors=self.skip, where=where, progress=self.progress
        )
        for one in found:
            self.signatures[one.metric] = one.signature
            self.failed = self.failed or bool(one.failed)
            notes += one.notes
        return found

    def asked(self, test: FoolSettings) -> Settings:
        """Return what the analysis is called with; rows on which a metric failed are left out."""
        asked: Settings = {**test}
        del asked["skip_errors"]
        return {**asked, "nan": "omit"} if self.failed else asked

    def about(self) -> list[str]:
        """Return what the metrics say of themselves."""
        return about(self.metrics)


def tied_rows(sides: Sequence[Sequence[str]], how: str, notes: list[str]) -> Rows | None:
    """Return the set of each row (n,): rows that share a text, whichever side it is on, directly or over other rows."""
    if how == "none" or not sides:
        return None
    n = len(sides[0])
    rows = [str(row) for row in range(n)] * len(sides)
    of = units([[text for side in sides for text in side], rows], n * len(sides))[:n]
    sizes = np.bincount(of)
    sizes = sizes[sizes > 0]
    if sizes.max() == 1 or len(sizes) == 1:
        if n > 1 and len(sizes) == 1:
            notes.append("all rows hang together by shared texts: they are taken as independent, which they are not")
        return None
    notes.append(
        f"{int(sizes[sizes > 1].sum())} of {n} rows share a text with another: intervals and tests take their "
        f"{len(sizes)} sets as independent, not the rows (`cluster=none` takes the rows); the largest has {sizes.max()}"
    )
    return of


def turned_columns(file: Path, columns: Sequence[str], lower: Sequence[str]) -> tuple[set[str], list[str]]:
    """Return the columns of which lower is better, as the caller or the table's sidecar says, and notes."""
    for name in lower:
        if name not in columns:
            raise InputError(f"`lower={name}`: is none of the columns of scores ({', '.join(columns)})")
    known = [name for name in lower_by_sidecar(file) if name in columns and name not in lower]
    notes = [f"lower is better for {name}, as {file}.signatures.json says: its sign is turned" for name in known]
    return {*lower, *known}, [*(f"the sign of {name} is turned: lower is better" for name in lower), *notes]
