"""``bsx registry``: are its files valid, and what may stand in them?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

from bsx.analysis.factors.zoo import get_factor
from bsx.catalog.catalog import load_registry
from bsx.catalog.datasets import DatasetEntry, load_datasets
from bsx.catalog.depths import DepthRule
from bsx.catalog.entries import read_lists
from bsx.catalog.entries.metrics import EnsembleEntry, FactorEntry, JudgeEntry, MetricEntry
from bsx.catalog.entries.models import Baseline, Family, LanguageEntry, ModelEntry
from bsx.catalog.entries.perturbations import PerturbationWords
from bsx.catalog.protocols import ProtocolEntry
from bsx.catalog.published import PublishedEntry, published_metrics
from bsx.catalog.thresholds import StudyEntry
from bsx.cli.output import say
from bsx.errors import BsxError, MissingExtraError, RegistryError, UnknownNameError
from bsx.metrics.base import config_of, find_metric

KINDS: dict[str, Any] = {
    "model": ModelEntry,
    "language": list[LanguageEntry],
    "baseline": Baseline,
    "metric": MetricEntry,
    "factor": FactorEntry,
    "ensemble": EnsembleEntry,
    "judge": JudgeEntry,
    "perturbation": PerturbationWords,
    "family": dict[str, Family],
    "depth": list[DepthRule],
    "dataset": list[DatasetEntry],
    "threshold": list[StudyEntry],
    "protocol": list[ProtocolEntry],
    "published": list[PublishedEntry],
}
"""Kinds of the registry's files -> what validates one."""


def validate(
    folder: Annotated[str | None, typer.Argument(help="An overlay folder; the registry in use unless given.")] = None,
) -> None:
    """Read every file of the registry and report all problems."""
    named = Path(folder) if folder is not None else None
    catalog = load_registry(named)
    problems: list[BsxError] = [*catalog.check()]
    notes = [*filter(None, (catalog.replacement(*entry) for entry in catalog.replaced))]
    entries: list[MetricEntry | FactorEntry] = [*catalog.metrics.values(), *catalog.factors.values()]
    for entry in entries:
        kind = "metric" if isinstance(entry, MetricEntry) else "factor"
        file = catalog.origins[kind, entry.name]
        if file.is_relative_to(catalog.folders[0]):
            continue
        try:
            if isinstance(entry, MetricEntry):
                config_of(find_metric(entry.name, catalog)[0], entry, {}, {})
            else:
                for preset in entry.presets:
                    get_factor(entry.name, preset=preset, registry=catalog)
        except MissingExtraError:
            continue  # what needs a package that is not installed passes
        except BsxError as error:
            problems.append(error if str(file) in str(error) else type(error)(f"{file}: {error}"))
            continue
        if not entry.implementation.startswith("bsx."):
            notes.append(f"{kind} {entry.name} runs code that does not come with bsx: {entry.implementation}")
    say(notes)
    datasets = curves = published = 0
    try:
        read_lists(DepthRule, catalog.folders)
        datasets = len(load_datasets(named))
        published = len(published_metrics(catalog))
        curves = sum(len(study.curves) for study in read_lists(StudyEntry, catalog.folders).values())
    except RegistryError as error:
        problems.append(error)
    if problems:
        raise RegistryError(f"{len(problems)} problem{'s' * (len(problems) > 1)}: " + " | ".join(map(str, problems)))
    kinds = [kind for kind, _ in catalog.origins]
    counted = ("model", "language", "metric", "ensemble", "baseline")
    counts = ", ".join(f"{kinds.count(kind)} {kind}s" for kind in counted)
    print(f"{counts}, {published} published metrics, {datasets} datasets, {curves} curves of differences: all valid")


def schema(
    kind: Annotated[
        str,
        typer.Argument(
            help="model, language, metric, ensemble, baseline, perturbation, family, depth, dataset, threshold "
            "or published."
        ),
    ],
) -> None:
    """Print the JSON Schema of a kind of registry file, for editors."""
    if kind not in KINDS:
        raise UnknownNameError(f"unknown kind {kind!r}: one of {', '.join(KINDS)}")
    content = {"$schema": "https://json-schema.org/draft/2020-12/schema", **TypeAdapter(KINDS[kind]).json_schema()}
    print(json.dumps(content, indent=2))
