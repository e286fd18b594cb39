"""Metrics for jobs that score texts of their own making: built once, with one encoder for all on one model."""

from __future__ import annotations

from collections.abc import Sequence

from bsx.bertscore.config import ScorerConfig
from bsx.catalog.catalog import load_registry
from bsx.catalog.specs import split_specs
from bsx.metrics.base import Metric
from bsx.metrics.zoo import get_metrics
from bsx.support.settings import set_fields


def open_metrics(named: Sequence[str], settings: ScorerConfig) -> list[Metric]:
    """Build metrics; each is called with `Metric.score(candidates, references)`.

    Args:
        named: specs, each perhaps several with commas between: ``bertscore:layer=6,chrf``.
        settings: model, language, and where and within what limits to run.

    Raises:
        InputError: for an unknown or wrongly spelled metric.
    """
    specs = [spec for part in named for spec in split_specs(part)]
    return get_metrics(specs, registry=load_registry(settings.registry), **set_fields(settings, "registry"))
