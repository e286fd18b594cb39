"""``bsx registry``: make a model or language a first-class citizen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import say
from bsx.cli.options import Format, take, take_keywords, with_settings
from bsx.cli.output import group, progress_bar, show
from bsx.jobs.settings.layers import BaselineSettings, TuneSettings
from bsx.jobs.settings.shared import LANG

registry = group()
Overlay = Annotated[Path | None, typer.Option("--registry", help="Overlay folder to read and write; the user's own.")]
_NOT_HERE = ("model", "lang", "layer", "all_layers", "rescale", "baseline", "registry", "final_norm")


@registry.callback(invoke_without_command=True)
def show_help(context: typer.Context) -> None:
    """Tune a model's layer, compute its baseline, validate registry files."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@registry.command()
@with_settings(*_NOT_HERE)
@with_settings(config=TuneSettings, before="plot")
def tune(
    model: Annotated[str, typer.Argument(help="Registry name or alias, folder, or hub id.")],
    data: Annotated[list[str], typer.Option(help="Table with candidates, references and human scores; repeatable.")],
    lang: Annotated[str, typer.Option("-l", "--lang", help=LANG)],
    plot: Annotated[
        Path | None, typer.Option(help="Draw correlation over layers: .png, .svg or .pdf.", writable=True)
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write layer and evidence to the overlay registry.")] = False,
    registry: Overlay = None,
    format: Format = "text",
    **settings: Any,
) -> None:
    """Score human-judged data with every layer and choose the one that agrees best."""
    from bsx.catalog.overlay import overlay_folder
    from bsx.jobs.tuning import tune as run

    if write:
        overlay_folder(registry)  # a folder that cannot be written to is refused before anything is computed
    how, config = take_keywords(settings, TuneSettings), take(settings, ScorerConfig)
    with progress_bar() as report:
        result = run(model, data, lang, registry=registry, settings=config, progress=report, **how)
    say(result.notes)
    if plot is not None:
        from bsx.analysis.present.families.layers import layer_chart
        from bsx.analysis.present.pictures import picture

        picture(layer_chart(result.agreement, title=f"{result.model}: {', '.join(result.data)}")).save(plot)
    show(result.to_dict(), result.to_text, format)
    file = result.write(registry) if write else None
    if file is not None:
        print(f"written: {file}", file=sys.stderr)


@registry.command()
@with_settings(*_NOT_HERE, "idf", "multi_ref")
@with_settings(config=BaselineSettings, before="registry")
def baseline(
    model: Annotated[str, typer.Argument(help="Registry name or alias.")],
    corpus: Annotated[str, typer.Option(help="Sentences of the language, one per line.")],
    lang: Annotated[str, typer.Option("-l", "--lang", help="Their language.")],
    registry: Overlay = None,
    format: Format = "text",
    **settings: Any,
) -> None:
    """Compute a rescaling baseline: the mean scores of random pairs of sentences, for every layer."""
    from bsx.jobs.baselines import baseline as run

    how, config = take_keywords(settings, BaselineSettings), take(settings, ScorerConfig)
    with progress_bar() as report:
        result = run(
            model,
            lang=lang,
            corpus=corpus,
            registry=registry,
            settings=config,
            progress=report,
            notify=lambda line: say([line]),
            **how,
        )
    show(result.to_dict(), result.to_text, format)
    if result.file is not None:
        print(f"written: {result.file}", file=sys.stderr)


@registry.command()
def evidence(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="A model that the cards' metrics ran on, or a metric.")],
    cards: Annotated[list[Path], typer.Option("--from", help="Card that bsx card wrote as JSON; repeatable.")],
    registry: Overlay = None,
    format: Format = "text",
) -> None:
    """Add what metric cards measured to a model's or metric's entry, as evidence that bsx models ranks by."""
    from bsx.catalog.overlay import overlay_folder
    from bsx.jobs.carding.evidence import add_evidence

    overlay_folder(registry)  # a folder that cannot be written to is refused before anything is read
    found = add_evidence(name, cards, registry=registry)
    show(found.to_dict(), found.to_text, format)
    print(f"written: {found.file}", file=sys.stderr)


@registry.command()
def validate(
    folder: Annotated[str | None, typer.Argument(help="An overlay folder; the registry in use unless given.")] = None,
) -> None:
    """Read every file of the registry and report all problems."""
    from bsx.catalog.catalog import load_registry
    from bsx.catalog.datasets import load_dataset_catalog
    from bsx.errors import RegistryError
    from bsx.jobs.metrics import overlaid_code

    named = Path(folder) if folder is not None else None
    catalog = load_registry(named)
    problems, notes = overlaid_code(catalog)
    problems = [*catalog.check(), *problems]
    say([*filter(None, (catalog.replacement(*entry) for entry in catalog.replaced)), *notes])
    datasets = 0
    try:
        datasets = len(load_dataset_catalog(named).entries)
    except RegistryError as error:
        problems.append(error)
    if problems:
        raise RegistryError(f"{len(problems)} problem{'s' * (len(problems) > 1)}: " + " | ".join(map(str, problems)))
    kinds = [kind for kind, _ in catalog.origins]
    counts = ", ".join(
        f"{kinds.count(kind)} {kind}s" for kind in ("model", "language", "metric", "ensemble", "baseline")
    )
    print(f"{counts}, {datasets} datasets: all valid")


@registry.command()
def schema(
    kind: Annotated[str, typer.Argument(help="model, language, metric, ensemble, baseline, family or dataset.")],
) -> None:
    """Print the JSON Schema of a kind of registry file, for editors."""
    from bsx.catalog.schema import schema_text

    print(schema_text(kind), end="")
