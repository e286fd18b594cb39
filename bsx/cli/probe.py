"""``bsx probe``: what each layer of a model knows, side by side with how well it agrees with people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import say
from bsx.cli.options import whole_numbers, with_settings
from bsx.cli.output import progress_bar
from bsx.support.json_text import to_json

_SCORING = ("all_layers", "idf", "rescale", "baseline", "multi_ref", "specials", "leading_space", "long", "strict")


@with_settings("lang", "layer", *_SCORING)
def probe(
    files: Annotated[
        list[str], typer.Argument(help="Tasks: sentence TAB label on each line, or SentEval's three columns.")
    ],
    layers: Annotated[str, typer.Option(help="Layers: all, or numbers like 0,3,6.")] = "all",
    probe: Annotated[Literal["logistic", "mlp"], typer.Option(help="Classifier.")] = "logistic",
    pooling: Annotated[
        Literal["mean", "cls", "max"], typer.Option(help="From the vectors of tokens to that of a sentence.")
    ] = "mean",
    specials: Annotated[bool, typer.Option("--specials", help="Let special tokens take part in mean and max.")] = False,
    tokens: Annotated[bool, typer.Option("--tokens", help="Files of word TAB label, an empty line between.")] = False,
    control: Annotated[bool, typer.Option("--control/--no-control", help="Run the control task too.")] = True,
    train_sizes: Annotated[str, typer.Option(help="Further sizes of the training part, like 100,1000.")] = "",
    limit: Annotated[
        int | None, typer.Option(min=10, help="Use this many sentences of a file, drawn at random.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Repeat with so many seeds: 1, 2, …")] = 3,
    resamples: Annotated[int, typer.Option(min=10, help="Bootstrap resamples.")] = 1000,
    judged: Annotated[str | None, typer.Option(help="Human-judged table: adds the agreement of each layer.")] = None,
    human: Annotated[str, typer.Option(help="Its column of human scores.")] = "human",
    candidate: Annotated[str, typer.Option(help="Its column of candidates.")] = "candidate",
    reference: Annotated[str, typer.Option(help="Its column of references.")] = "reference",
    group: Annotated[str | None, typer.Option(help="Its column of groups to average over; lp if there is one.")] = None,
    lang: Annotated[str, typer.Option("-l", "--lang", help="Keep its rows whose lp goes into this language.")] = "en",
    statistic: Annotated[Literal["pearson", "kendall"], typer.Option(help="Correlation with people.")] = "pearson",
    plot: Annotated[
        Path | None, typer.Option(help="Draw everything over layers: .png, .svg or .pdf.", writable=True)
    ] = None,
    format: Annotated[Literal["text", "json", "csv", "latex"], typer.Option(help="How to print.")] = "text",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write a row a task and layer: .tsv .csv .jsonl .parquet.", writable=True),
    ] = None,
    **settings: Any,
) -> None:
    """Fit probes on every layer's frozen vectors: what does it know, and does it know more than a control task?"""
    from bsx.data.picture import PICTURES
    from bsx.errors import InputError
    from bsx.jobs.probing.input import PeopleTable
    from bsx.jobs.probing.run import ProbePlan
    from bsx.jobs.probing.run import probe as run
    from bsx.jobs.probing.tables import as_csv, as_json, write_table
    from bsx.jobs.probing.text import as_latex, as_text
    from bsx.support.settings import build_config

    for path, suffixes in ((plot, PICTURES), (output, (".tsv", ".csv", ".jsonl", ".parquet"))):
        if path is not None and path.suffix not in suffixes:
            raise InputError(f"{path}: the name must end in {', '.join(suffixes)}")
    plan = ProbePlan(
        layers=None if layers == "all" else tuple(sorted(whole_numbers("--layers", layers))),
        probe=probe,
        pooling=pooling,
        specials=specials,
        control=control,
        train_sizes=tuple(sorted(whole_numbers("--train-sizes", train_sizes, lowest=2))) if train_sizes else (),
        limit=limit,
        seeds=repeats,
        resamples=resamples,
    )
    people = None
    if judged is not None:
        people = PeopleTable(judged, candidate, reference, human, group, lang, statistic)
    config = build_config(settings, ScorerConfig)
    with progress_bar() as report:
        findings = run(files, plan, tokens=tokens, people=people, settings=config, progress=report)
    say(findings.notes)
    if plot is not None:
        from bsx.analysis.probing.plots import draw_probes

        draw_probes(findings.results, plot, title=f"{findings.model}: {probe} probes", people=findings.beside)
    if output is not None:
        write_table(findings, output)
    shown = {"text": as_text, "csv": as_csv, "latex": as_latex}
    print(to_json(as_json(findings)) if format == "json" else shown[format](findings))
