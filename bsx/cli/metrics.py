"""``bsx metrics``: the zoo, one of its metrics, and the three jobs that go with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bsx.cli.messages import say, spelled
from bsx.cli.options import Format, Registry, specs, take_keywords, with_settings
from bsx.cli.output import group, progress_bar, refuse_before_command
from bsx.cli.output import show as show_result
from bsx.jobs.settings.layers import AblationSettings, SweepSettings
from bsx.support.aligned import text_table

if TYPE_CHECKING:
    from bsx.jobs.ablation import Ablation
    from bsx.jobs.layers import LayerSweep
from bsx.support.json_text import to_json

metrics = group()
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:N or mps.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Write a table: .tsv, .csv, .jsonl or .parquet.", writable=True)
]


@metrics.callback(invoke_without_command=True)
def list_metrics(
    context: typer.Context,
    needs: Annotated[
        Literal["reference", "source"] | None, typer.Option(help="Only metrics that compare candidates with this.")
    ] = None,
    registry: Registry = None,
    format: Format = "text",
) -> None:
    """List all metrics, those of other installed packages included."""
    if refuse_before_command(context):
        return
    from bsx.catalog.catalog import load_registry
    from bsx.metrics.inventory import inventory

    catalog = load_registry(registry)
    say(f"left out of the registry: {problem}" for problem in catalog.problems)
    rows = [
        {**row, "runs": spelled(row["runs"])} for row in inventory(catalog) if needs is None or needs in row["needs"]
    ]
    if format == "json":
        print(to_json({"metrics": rows}))
        return
    cells = [["name", "needs", "extra", "runs here", "title"]]
    for row in rows:
        with_what = "+".join(need for need in row["needs"] if need != "candidate")
        title = row["title"] + ("" if row["higher_is_better"] else " (lower is better)")
        cells.append([row["name"], with_what, row["extra"] or "", row["runs"], title])
    print(text_table(cells, "l"))


@metrics.command()
def show(
    name: Annotated[str, typer.Argument(help="A metric's name.")], registry: Registry = None, format: Format = "text"
) -> None:
    """Show everything about one metric: what it needs, its settings with their defaults, whom to cite."""
    from bsx.catalog.catalog import load_registry
    from bsx.metrics.inventory import describe

    details = describe(name, load_registry(registry))
    details["runs"] = spelled(details["runs"])
    if format == "json":
        print(to_json(details))
        return
    from bsx.catalog.entries.evidence import Evidence
    from bsx.models.evidence import spelled_figure

    settings: list[dict[str, object]] = details.pop("settings")
    figures = [Evidence.model_validate(figure) for figure in details.pop("evidence")]
    for field, value in details.items():
        print(f"{field}: {', '.join(value) if isinstance(value, list) else '' if value is None else value}")
    for figure in figures:
        print(f"evidence: {spelled_figure(figure, whole=True)}")
    print("settings:")
    for setting in settings:
        print(f"  {setting['name']}={setting['default']}  ({setting['type']}) {setting['help']}")


@metrics.command()
@with_settings(config=SweepSettings, before="plot")
def layers(
    data: Annotated[list[str], typer.Option(help="Table of human-judged segments; repeatable.")],
    model: Annotated[str, typer.Option("-m", "--model", help="Encoder.")],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metrics", help="Metrics with a field layer, as for bsx score --metrics. [bertscore]"),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it: .png, .svg or .pdf.", writable=True)] = None,
    output: Output = None,
    format: Format = "text",
    **settings: Any,
) -> None:
    """Score human-judged data with every layer, for any metrics that have layers; each text is encoded once."""
    from bsx.jobs.layers import sweep_layers

    how = take_keywords(settings, SweepSettings)
    with progress_bar() as report:
        found = sweep_layers(specs(metric or ["bertscore"]), data, model, progress=report, **how)
    _finish(found, found.rows(), output, format)
    if plot is not None:
        from bsx.analysis.present.layers import metric_layer_chart
        from bsx.analysis.present.pictures import picture

        picture(metric_layer_chart(found.results, title=f"{model}: {', '.join(found.data)}")).save(plot)


@metrics.command()
@with_settings(config=AblationSettings, before="output")
def ablation(
    data: Annotated[str, typer.Option(help="Table of human-judged segments.")],
    model: Annotated[str, typer.Option("-m", "--model", help="Encoder.")],
    long_idf: Annotated[
        list[str] | None,
        typer.Option(help="GROUP=FILE: all references of a group's test set, one text per line (IDF-L); repeatable."),
    ] = None,
    output: Output = None,
    format: Format = "text",
    **settings: Any,
) -> None:
    """Correlate every combination of MoverScore's components with human scores, for three ways of matching."""
    from bsx.errors import InputError
    from bsx.jobs.ablation import ablate

    files: dict[str, Path] = {}
    for part in long_idf or []:
        name, equals, file = part.partition("=")
        if not equals:
            raise InputError(f"--long-idf {part}: write GROUP=FILE")
        files[name] = Path(file)
    how = take_keywords(settings, AblationSettings)
    with progress_bar() as report:
        found = ablate(data, model, long_idf=files, progress=report, **how)
    _finish(found, found.rows, output, format)


def _finish(
    found: Ablation | LayerSweep, rows: Sequence[Mapping[str, object]], output: Path | None, format: str
) -> None:
    if output is not None:
        from bsx.data.output import ScoreTable

        with ScoreTable(output) as table:
            for row in rows:
                table.write(dict(row))
    say(found.notes)
    show_result(found.to_dict(), found.to_text, format)


@metrics.command("fit-alignment")
def fit_alignment(
    source: Annotated[str, typer.Option("-s", "--source", help="File of source sentences, one per line.")],
    target: Annotated[str, typer.Option("-t", "--target", help="File of their translations, one per line.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where to write the map (.safetensors).", writable=True)
    ],
    model: Annotated[str | None, typer.Option("-m", "--model", help="Encoder of both languages.")] = None,
    layer: Annotated[int | None, typer.Option(help="Layer; the top one unless given.")] = None,
    kind: Annotated[
        Literal["clp", "umd"], typer.Option(help="An orthogonal matrix, or one direction to remove.")
    ] = "clp",
    links: Annotated[
        str | None,
        typer.Option(help="File of word links, i-j pairs on each line; by mutual nearest vectors unless given."),
    ] = None,
    pairs: Annotated[int, typer.Option(help="Use this many sentence pairs, the first ones.")] = 2000,
    max_words: Annotated[int, typer.Option(help="Leave out pairs with a longer side.")] = 100,
    lang: Annotated[
        str | None, typer.Option("-l", "--lang", help="The two languages, source first: de-en; kept with the map.")
    ] = None,
    device: Device = "auto",
    registry: Registry = None,
) -> None:
    """Fit the map that xmoverscore:mapping=…,mapping_file=… applies to the source's vectors."""
    from bsx.jobs.alignment import fit_alignment as fit

    with progress_bar() as report:
        mapping = fit(
            source,
            target,
            output,
            model=model,
            layer=layer,
            kind=kind,
            links=links,
            pairs=pairs,
            max_words=max_words,
            lang=lang,
            device=device,
            registry=registry,
            progress=report,
        )
    for name, value in mapping.facts.items():
        print(f"{name}: {value}")
    print(f"{output}: {kind} map {mapping.digest}")
