"""What there is to say about every metric, without loading any model."""

from __future__ import annotations

import json

from bsx.catalog.catalog import Catalog, Registry, load_registry
from bsx.catalog.entries.metrics import MetricEntry
from bsx.catalog.entries.models import Source
from bsx.errors import BsxError
from bsx.metrics.base import find_metric, metric_names, plugins
from bsx.metrics.embedding.base import EncoderMetric
from bsx.models.files import is_here
from bsx.support.optional import EXTRAS, installed, runs_encoders
from bsx.support.untyped import JsonObject


def inventory(catalog: Catalog) -> list[JsonObject]:
    """Return one row a metric: name, title, needs, direction, extra, languages, model, and whether it runs here.

    A metric whose code cannot be imported is listed with its error; it spoils nothing else.
    """
    rows = []
    for name in metric_names(catalog):
        try:
            rows.append(_row(find_metric(name, catalog)[1], catalog))
        except (BsxError, ImportError, AttributeError) as error:
            broken = catalog.metrics.get(name)
            title, needs = (broken.title, list(broken.needs)) if broken else (f"of {plugins()[name].value}", [])
            nothing = {"higher_is_better": True, "extra": None, "languages": "any", "model": None}
            rows.append(
                {"name": name, "title": title, "needs": needs, **nothing, "runs": f"no: {error}", "citation": ""}
            )
    return rows


def list_metrics(registry: Registry = None) -> list[str]:
    """Return the names of all metrics, as `bsx.get_metric` takes them, of a registry or with a folder laid over it."""
    return metric_names(load_registry(registry))


def _row(entry: MetricEntry, catalog: Catalog) -> JsonObject:
    names = ("name", "title", "needs", "higher_is_better", "extra", "languages", "model")
    fields = {name: getattr(entry, name) for name in names}
    return {**fields, "needs": list(entry.needs), "runs": runs_here(entry, catalog), "citation": entry.citation}


def runs_here(entry: MetricEntry, catalog: Catalog) -> str:
    """Say whether a metric runs on this machine as it is: ``yes``, or what is missing."""
    if any(extra == entry.extra and not installed(module) for module, extra in EXTRAS.items()):
        return f"needs the extra {entry.extra}"
    kind = find_metric(entry.name, catalog)[0]
    if (lacking := kind.lacks()) is not None:
        return f"needs {lacking}"
    if (package := getattr(kind, "package", None)) is not None:
        return f"needs python= with {package.name}"
    if "model" in kind.Config.model_fields and not runs_encoders():
        return "needs the extra onnx"
    if entry.model is None:
        return "with model or lang" if "model" in kind.Config.model_fields else "yes"
    known = catalog.find(entry.model)
    source = known.source if known is not None else Source(hub=entry.model, revision="main")
    if is_here(source):
        return "yes"
    return "needs its model, or model" if issubclass(kind, EncoderMetric) else "needs its model"


def describe(name: str, catalog: Catalog) -> JsonObject:
    """Return everything about one metric, its settings with type, default and help included.

    Raises:
        UnknownNameError: for an unknown metric; lists near names.
    """
    kind, entry = find_metric(name, catalog)
    settings = []
    schemas = kind.Config.model_json_schema()["properties"]
    for field, info in kind.Config.model_fields.items():
        default = entry.defaults.get(field, info.default)
        shown = json.dumps(default) if isinstance(default, bool) else "" if default is None else str(default)
        help_text = info.description or ""
        settings.append({"name": field, "type": _type(schemas[field]), "default": shown, "help": help_text})
    low, high = ("unbounded" if end is None else f"{end:g}" for end in (entry.low, entry.high))
    return {
        **_row(entry, catalog),
        "range": f"{low} to {high}",
        "languages_source": entry.languages_source,
        "evidence": [evidence.model_dump(exclude_none=True) for evidence in entry.evidence],
        "notes": entry.notes,
        "settings": settings,
    }


def _type(schema: JsonObject) -> str:
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    options = [_type(part) for part in schema.get("anyOf", []) if part.get("type") != "null"]
    return options[0] if options else str(schema.get("format", schema.get("type", "text")))
