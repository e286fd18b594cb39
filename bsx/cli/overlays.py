"""The code that metrics and factors of overlays name."""

from __future__ import annotations

from bsx.analysis.factors.zoo import get_factor
from bsx.catalog.catalog import Catalog
from bsx.catalog.entries.metrics import FactorEntry, MetricEntry
from bsx.errors import BsxError, MissingExtraError
from bsx.metrics.base import config_of, find_metric


def overlaid_code(catalog: Catalog) -> tuple[list[BsxError], list[str]]:
    """Look at the code and settings that overlays' metrics and factors name.

    A class that needs a package which is not installed passes.

    Returns:
        What is wrong: code that an overlay may not run, that is not there, settings that it does not have. And one
        sentence for each entry whose code is not bsx's.
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
