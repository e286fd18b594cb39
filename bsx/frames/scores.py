"""Metrics that score texts which a job made itself: opened once, called as often as there are tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bsx.encode.run_config import EncoderSettings
from bsx.errors import InputError
from bsx.frames.settings import MetricSettings, TextColumns
from bsx.support.checks import Array
from bsx.support.progress import Progress
from bsx.support.settings import part, set_fields

if TYPE_CHECKING:
    from bsx.metrics.base import Metric


@dataclass(eq=False)
class TableScores:
    """Metrics' scores of rows of texts, higher is better.

    Attributes:
        values: metric -> scores (rows,); NaN where there is none.
        signatures: metric -> signature.
        notes: what the user should know.
        failed: whether a metric failed on some rows, which were left out.
    """

    values: dict[str, Array] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failed: bool = False


def open_distinct(settings: MetricSettings, columns: Iterable[str] = (), *useful: str) -> list[Metric]:
    """Build the metrics that are to score; none if none is named.

    Args:
        settings: the metrics, and where they run.
        columns: of scores that are there already.
        useful: settings that have an effect without metrics too.

    Raises:
        InputError: for an unknown metric, one that is named twice or called like a column, or settings of metrics where
            none is named.
    """
    if not settings.metrics:
        for name in set_fields(settings, *useful):
            if name in MetricSettings.model_fields or name in TextColumns.model_fields:
                raise InputError(f"{name} has no effect without metrics: leave it out", setting=name)
        return []
    from bsx.catalog.specs import split_specs
    from bsx.metrics.base import get_metrics

    specs = [spec for text in settings.metrics for spec in split_specs(text)]
    metrics = get_metrics(specs, **part(settings, EncoderSettings))
    wanted = [*columns, *(metric.spec for metric in metrics)]
    for metric in metrics:
        if wanted.count(metric.spec) > 1:
            raise InputError(f"the metric {metric.spec} is asked for twice", setting="metrics")
    return metrics


def score_texts(
    metrics: Sequence[Metric],
    candidates: Sequence[str],
    references: Sequence[str] | None,
    sources: Sequence[str] | None = None,
    *,
    skip_errors: bool = False,
    where: Callable[[int], str] = lambda place: f"row {place + 1}",
    progress: Progress | None = None,
) -> TableScores:
    """Score rows of texts with metrics that are open, and so may score several tables.

    Args:
        metrics: of `open_distinct`; none give no scores.
        candidates: n texts.
        references: n texts; None if there are none.
        sources: n texts; None if there are none.
        skip_errors: leave rows out on which a metric fails instead of ending.
        where: says where a row is, for messages.
        progress: called with phase, done and total.

    Raises:
        InputError: for a metric that fails.
    """
    if not metrics:
        return TableScores()
    from bsx.metrics.failures import score_all

    rows = score_all(metrics, candidates, references, sources, skip_errors=skip_errors, where=where, progress=progress)
    return TableScores(
        {row.metric: row.values for row in rows},
        {row.metric: row.signature for row in rows},
        [note for row in rows for note in row.notes],
        any(row.failed for row in rows),
    )
