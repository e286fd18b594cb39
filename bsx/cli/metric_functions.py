"""Metrics for commands that score texts of their own making: built once, with one encoder for all on one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bsx.cli.messages import say

if TYPE_CHECKING:
    from bsx.metrics.base import Metric


def open_metrics(named: Sequence[str], settings: dict[str, Any]) -> list[Metric]:
    """Build metrics from what the user wrote; each is called with `Metric.score(candidates, references)`.

    Args:
        named: specs, each perhaps several with commas between: ``bertscore:layer=6,chrf``.
        settings: of the run: model, language, device, …, as `bsx.cli.options.with_settings` collects them.

    Raises:
        InputError: for an unknown or wrongly spelled metric.
    """
    from bsx.catalog.catalog import load_registry
    from bsx.catalog.specs import split_specs
    from bsx.metrics.zoo import get_metrics

    run = dict(settings)
    metrics = get_metrics(
        [spec for part in named for spec in split_specs(part)], registry=load_registry(run.pop("registry", None)), **run
    )
    say(note for metric in metrics for note in metric.notes)
    return metrics
