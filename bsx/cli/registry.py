"""``bsx registry``: make a model or language a first-class citizen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bsx.analysis.baseline import run as baselines
from bsx.analysis.baseline.run import BaselineSettings
from bsx.analysis.tune import run as layers
from bsx.analysis.tune.run import NO_LAYER, TuneSettings
from bsx.cli.options import Plot, Printed, command
from bsx.cli.output import answer, group, say

registry = group(no_args_is_help=True)


@registry.command()
@command(TuneSettings, leave_out=NO_LAYER)
def tune(settings: TuneSettings, plot: Plot = None, format: Printed = "text") -> None:
    """Score human-judged data with every layer and choose the one that agrees best."""
    answer(layers.tune, settings, settings.tables, format, plot=plot, say=lambda line: say([line]))


@registry.command()
@command(BaselineSettings, leave_out=(*NO_LAYER, "idf", "multi_ref"))
def baseline(settings: BaselineSettings, format: Printed = "text") -> None:
    """Compute a rescaling baseline: the mean scores of random pairs of sentences, for every layer."""
    answer(baselines.baseline, settings, [settings.corpus], format, say=lambda line: say([line]))


@registry.command()
def validate(
    folder: Annotated[str | None, typer.Argument(help="An overlay folder; the registry in use unless given.")] = None,
) -> None:
    """Read every file of the registry and report all problems."""
    from bsx.catalog.catalog import load_registry
    from bsx.catalog.datasets import load_dataset_catalog
    from bsx.catalog.published import published_metrics
    from bsx.catalog.thresholds import studies
    from bsx.cli.overlays import overlaid_code
    from bsx.errors import RegistryError

    named = Path(folder) if folder is not None else None
    catalog = load_registry(named)
    problems, notes = overlaid_code(catalog)
    problems = [*catalog.check(), *problems]
    say([*filter(None, (catalog.replacement(*entry) for entry in catalog.replaced)), *notes])
    datasets = curves = published = 0
    try:
        datasets = len(load_dataset_catalog(named).entries)
        published = len(published_metrics(catalog))
        curves = sum(len(study.curves) for study in studies(catalog).values())
    except RegistryError as error:
        problems.append(error)
    if problems:
        raise RegistryError(f"{len(problems)} problem{'s' * (len(problems) > 1)}: " + " | ".join(map(str, problems)))
    kinds = [kind for kind, _ in catalog.origins]
    counts = ", ".join(
        f"{kinds.count(kind)} {kind}s" for kind in ("model", "language", "metric", "ensemble", "baseline")
    )
    print(f"{counts}, {published} published metrics, {datasets} datasets, {curves} curves of differences: all valid")


@registry.command()
def schema(
    kind: Annotated[
        str,
        typer.Argument(
            help="model, language, metric, ensemble, baseline, perturbation, family, dataset, threshold or published."
        ),
    ],
) -> None:
    """Print the JSON Schema of a kind of registry file, for editors."""
    from bsx.catalog.schema import schema_text

    print(schema_text(kind), end="")
