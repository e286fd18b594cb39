"""``bsx registry``: are its files valid, and what may stand in them?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bsx.analysis.factors.zoo import get_factor
from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.metrics import FactorEntry, MetricEntry
from bsx.cli.output import say
from bsx.errors import BsxError, MissingExtraError, RegistryError
from bsx.metrics.base import config_of, find_metric


def validate(
    folder: Annotated[str | None, typer.Argument(help="An overlay folder; the registry in use unless given.")] = None,
) -> None:
    """Read every file of the registry and report all problems."""
    from bsx.catalog.datasets import load_datasets
    from bsx.catalog.depths import DepthRule
    from bsx.catalog.entries import read_lists
    from bsx.catalog.published import published_metrics
    from bsx.catalog.thresholds import StudyEntry

    named = Path(folder) if folder is not None else None
    catalog = load_registry(named)
    problems, notes = _overlaid_code(catalog)
    problems = [*catalog.check(), *problems]
    say([*filter(None, (catalog.replacement(*entry) for entry in catalog.replaced)), *notes])
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
    from bsx.catalog.schema import schema_text

    print(schema_text(kind), end="")


def _overlaid_code(catalog: Catalog) -> tuple[list[BsxError], list[str]]:
    """Return what is wrong with the code and settings that overlays' metrics and factors name, and whose is not bsx's.

    A class that needs a package which is not installed passes.
    """
    problems: list[BsxError] = []
    notes = []
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
            continue
        except BsxError as error:
            problems.append(error if str(file) in str(error) else type(error)(f"{file}: {error}"))
            continue
        if not entry.implementation.startswith("bsx."):
            notes.append(f"{kind} {entry.name} runs code that does not come with bsx: {entry.implementation}")
    return problems, notes
