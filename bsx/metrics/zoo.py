"""Finding a metric by name: the registry's, and those that other installed packages bring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.metrics import MetricEntry
from bsx.catalog.specs import UNNAMED, class_of, naming, read_spec, split_specs
from bsx.encode.session import Encoders, SharedSettings
from bsx.errors import InputError, RegistryError, UnknownNameError, did_you_mean
from bsx.metrics.base import Metric
from bsx.metrics.core import MetricConfig
from bsx.support.settings import build_config, read_spelled, settled, user_only

GROUP = "bsx.metrics"


def plugins() -> dict[str, EntryPoint]:
    """Return the metrics of other installed packages: name -> entry point in the group ``bsx.metrics``."""
    return {point.name: point for point in entry_points(group=GROUP)}


def metric_names(catalog: Catalog | None = None) -> list[str]:
    """Return the names of all metrics, those of other packages included."""
    catalog = catalog if catalog is not None else load_registry()
    return sorted({*catalog.metrics, *plugins()})


def find_metric(name: str, catalog: Catalog) -> tuple[type[Metric], MetricEntry]:
    """Return the class and the entry of a metric.

    Raises:
        UnknownNameError: listing near names, or saying that there are published scores of it only.
        RegistryError: if its entry names code that is not there, or that it may not run; see `class_of`.
    """
    entry = catalog.metric(name)
    if entry is not None:
        kind = class_of(catalog, entry, Metric)
    elif name in plugins():
        kind = plugins()[name].load()
        entry = getattr(kind, "entry", None)
        if isinstance(entry, MetricEntry) and entry.name != name:
            raise RegistryError(f"metric {name!r}: its entry is called {entry.name!r}; both names must be the same")
    else:
        from bsx.catalog.published import refuse_published

        refuse_published(name, catalog)
        known = metric_names(catalog)
        near = did_you_mean(name, known)
        raise UnknownNameError(f"unknown metric {name!r}.{near} `bsx metrics` lists all of them.")
    if not (isinstance(kind, type) and issubclass(kind, Metric) and isinstance(entry, MetricEntry)):
        raise RegistryError(
            f"metric {name!r}: {kind!r} is not a subclass of bsx.metrics.base.Metric with an entry of type MetricEntry"
        )
    return kind, entry


def needs_of(spec: str, catalog: Catalog) -> frozenset[str]:
    """Return what a metric with these settings reads, without loading any model.

    Raises:
        UnknownNameError: for an unknown metric; lists near names.
        InputError: for wrong settings.
    """
    name, spelled = read_spec(spec)
    kind, entry = find_metric(name, catalog)
    return config_of(kind, entry, spelled, {}).reads(entry, catalog)


def check_from_file(spec: str, file: str | Path, catalog: Catalog) -> None:
    """Refuse a metric that a file names with settings that only the user may give; see `UserOnly`.

    Args:
        spec: ``name:field=value,…`` as it stands in the file.
        file: where it stands, for the message.
        catalog: the registry to look the metric up in.

    Raises:
        InputError: naming file, metric and setting.
    """
    name, spelled = read_spec(spec)
    kind, _ = find_metric(name, catalog)
    for field in _with_fields(kind, spelled, {}):
        if user_only(kind.Config, field):
            raise InputError(
                f"the member {spec!r} sets {field}, which decides what code runs here, and a file may not: "
                f"name the member {name} there, and give {field} under `defaults:` of that metric's entry in your own "
                "registry",
                file=file,
            )


def config_of(
    kind: type[Metric], entry: MetricEntry, spelled: Mapping[str, str], settings: Mapping[str, object]
) -> MetricConfig:
    """Return a metric's settings: the class's defaults, then the entry's, then what the user says.

    Args:
        kind: the metric's class.
        entry: its entry.
        spelled: settings as texts, from a command line.
        settings: settings as Python values.

    Raises:
        InputError: naming the metric and every setting that is wrong.
    """
    try:
        named = _with_fields(kind, spelled, settings)
        read = {name: read_spelled(kind.Config, name, text) for name, text in named.items()}
        return build_config({**entry.defaults, **read, **settings}, kind.Config)
    except InputError as error:
        raise InputError(f"metric {entry.name}: {error}") from error


def _with_fields(kind: type[Metric], spelled: Mapping[str, str], settings: Mapping[str, object]) -> dict[str, str]:
    """Return spelled settings with the field of the one that lacks it."""
    if UNNAMED not in spelled:
        return dict(spelled)
    field = kind.Config.positional
    if field is None:
        raise InputError(f"{spelled[UNNAMED]!r} is not field=value")
    if field in spelled or field in settings:
        raise InputError(f"{field} is given twice")
    return {name or field: text for name, text in spelled.items()}


def get_metric(spec: str, *, encoders: Encoders | None = None, **settings: object) -> Metric:
    """Return a metric, ready to score.

    Args:
        spec: a name, or ``name:field=value,…`` as on the command line; some metrics take ``name:value``.
        encoders: encoders to share with other metrics; they say where to run, the language, and the registry.
        settings: the metric's settings by name; see its ``Config``.

    Raises:
        UnknownNameError: for an unknown metric; lists near names.
        InputError: for wrong settings.
        MissingExtraError: naming the pip command, if a package it needs is not installed.
        ModelUnavailableError: if its model is neither here nor to be had.

    >>> get_metric("chrf").score(["a small cat"], ["the small cat"]).values.round(1).tolist()
    [66.4]
    """
    name, spelled = read_spec(spec)
    encoders = encoders if encoders is not None else Encoders()
    if not isinstance(encoders, Encoders):
        raise InputError(f"encoders is a {type(encoders).__name__}: give bsx.Encoders(…)")
    both = [field for field in settings if field in spelled]
    if both:
        raise InputError(f"metric {name}: {both[0]} is given twice")
    kind, entry = find_metric(name, encoders.catalog)
    config = config_of(kind, entry, spelled, settings)
    if settings:
        said = {**spelled, **settings}
        texts = {field: str(value).lower() if isinstance(value, bool) else str(value) for field, value in said.items()}
        spec = f"{name}:" + ",".join(f"{field}={text}" if field else text for field, text in texts.items())
    return kind(entry, config, encoders, spec)


@settled(SharedSettings)
def get_metrics(specs: str | Iterable[str], settings: SharedSettings) -> list[Metric]:
    """Return several metrics that share encoders.

    Args:
        specs: names or ``name:field=value``, as a list or as one comma-separated text.
        settings: encoders to share beyond this call, or what to make some of; see `bsx.encode.session.SharedSettings`.

    Raises:
        InputError: as `get_metric`, or if a metric is named twice.
    """
    encoders = settings.opened()
    if not isinstance(specs, Iterable):
        raise InputError(f"metrics are named by texts, such as 'chrf' (got {specs!r})")
    names: Sequence[str] = split_specs(specs) if isinstance(specs, str) else list(specs)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"metrics are named by texts, such as 'chrf' (got {name!r})")
    if not names:
        raise InputError("name at least one metric; `bsx metrics` lists them")
    results = []
    for name in names:
        with naming(name, among=len(names)):
            results.append(get_metric(name, encoders=encoders))
    return results
