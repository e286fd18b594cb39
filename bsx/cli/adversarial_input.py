"""What the commands of ``bsx adversarial`` share: scores from columns of a file, and from metrics that are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.encode.run_config import RunConfig
from bsx.errors import InputError
from bsx.metrics.failures import RowScores, score_all

if TYPE_CHECKING:
    from bsx.metrics.base import Metric

LEFT_OUT = set(ScorerConfig.model_fields) - {*RunConfig.model_fields, "model", "lang"}
Names = Annotated[str | None, typer.Option(help="Columns with scores, separated by commas.")]
Score = Annotated[
    list[str] | None,
    typer.Option(help="Score the texts with these metrics: NAME[:field=value,…][,NAME…]; see bsx metrics."),
]
Lower = Annotated[str | None, typer.Option(help="Columns of --metrics of which lower is better: their sign is turned.")]
Skip = Annotated[bool, typer.Option("--skip-errors", help="Leave out rows on which a metric fails, and name them.")]
Nan = Annotated[Literal["error", "omit"], typer.Option(help="Refuse missing scores, or leave out such rows.")]
Correction = Annotated[
    Literal["none", "holm", "bh"], typer.Option(help="Correct the tests' p for the number of metric pairs.")
]
Confidence = Annotated[float, typer.Option(help="Level of the intervals.")]
Resamples = Annotated[int, typer.Option(help="Resamples of bootstrap intervals.")]
Seed = Annotated[int, typer.Option(help="Seed of resamples and folds.")]
Format = Annotated[Literal["text", "json"], typer.Option("--format", help="How to print.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write the result to this file instead.")]


def names(given: str | None) -> list[str]:
    """Cut a list of columns at its commas; those inside ``name:field=value,field=value`` stay."""
    from bsx.catalog.specs import split_specs

    return [] if given is None else list(split_specs(given))


def open_all(score: Sequence[str] | None, columns: Sequence[str], settings: Mapping[str, Any]) -> list[Metric]:
    """Build the metrics of ``--score``.

    Raises:
        InputError: if there is none but settings for them, or one is called like a column.
    """
    if not score:
        if settings:
            raise InputError(f"--{next(iter(settings)).replace('_', '-')} goes with --score")
        return []
    from bsx.cli.messages import say
    from bsx.jobs.metrics import open_metrics
    from bsx.support.settings import build_config

    metrics = open_metrics(score, build_config(settings, ScorerConfig))
    say(note for metric in metrics for note in metric.notes)
    wanted = [*columns, *(metric.spec for metric in metrics)]
    for metric in metrics:
        if wanted.count(metric.spec) > 1:
            raise InputError(f"the metric {metric.spec} is asked for twice")
        if "reference" not in metric.needs or "source" in metric.needs:
            raise InputError(f"{metric.spec} reads sources, and there are none here: leave it out")
    return metrics


def run_all(
    metrics: Sequence[Metric],
    candidates: Sequence[str],
    references: Sequence[str],
    *,
    skip_errors: bool,
    where: Callable[[int], str],
) -> list[RowScores]:
    """Score texts with every metric, with a progress bar."""
    from bsx.cli.progress import progress_bar

    if not metrics:
        return []
    with progress_bar() as report:
        return score_all(metrics, candidates, references, skip_errors=skip_errors, where=where, progress=report)


def turned(file: Path, columns: Sequence[str], lower: str | None) -> tuple[set[str], list[str]]:
    """Return the columns of which lower is better, as the user or the sidecar of ``bsx score`` says, and notes.

    Raises:
        InputError: if one of them is not among the columns.
    """
    from bsx.data.sidecar import lower_by_sidecar

    said = names(lower)
    for name in said:
        if name not in columns:
            raise InputError(f"--lower {name}: is none of the columns of --metrics ({', '.join(columns)})")
    known = [name for name in lower_by_sidecar(file) if name in columns and name not in said]
    notes = [f"lower is better for {name}, as {file}.signatures.json says: its sign is turned" for name in known]
    return {*said, *known}, [*(f"the sign of {name} is turned: lower is better" for name in said), *notes]
