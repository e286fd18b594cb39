"""``bsx probe``: what each layer of a model knows, side by side with how well it agrees with human judgments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli.options import Full, TableFormat, take, take_keywords, whole_numbers, with_settings
from bsx.cli.output import FORMS, progress_bar, write_shown
from bsx.jobs.settings.layers import PeopleColumns, ProbePlan

_SCORING = (
    "all_layers",
    "idf",
    "rescale",
    "baseline",
    "multi_ref",
    "specials",
    "leading_space",
    "prefix",
    "long",
    "strict",
)


@with_settings("lang", "layer", *_SCORING)
@with_settings("layers", "train_sizes", config=ProbePlan, before="judged")
@with_settings(config=PeopleColumns, before="plot")
def probe(
    files: Annotated[
        list[str], typer.Argument(help="Tasks: sentence TAB label on each line, or SentEval's three columns.")
    ],
    layers: Annotated[str, typer.Option(help="Layers: all, or numbers like 0,3,6.")] = "all",
    tokens: Annotated[bool, typer.Option("--tokens", help="Files of word TAB label, an empty line between.")] = False,
    test_data: Annotated[
        list[str] | None,
        typer.Option(help="Further file to test the probes of one task on, as in another language; may be repeated."),
    ] = None,
    parallel: Annotated[
        bool, typer.Option("--parallel", help="Their sentences translate the task's, line by line.")
    ] = False,
    train_sizes: Annotated[str, typer.Option(help="Further sizes of the training part, like 100,1000.")] = "",
    judged: Annotated[str | None, typer.Option(help="Human-judged table: adds the agreement of each layer.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw everything over layers: .png, .svg or .pdf.", writable=True)
    ] = None,
    format: TableFormat = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write a row a task and layer: .tsv .csv .jsonl .parquet; or the tables: .txt .md .tex .json .html.",
            writable=True,
        ),
    ] = None,
    full: Full = False,
    **settings: Any,
) -> None:
    """Fit probes on every layer's frozen vectors: what does it know, and does it know more than a control task?"""
    from bsx.data.output import PICTURES
    from bsx.errors import InputError
    from bsx.jobs.probing.run import probe as run
    from bsx.jobs.probing.run import save_rows

    rows = (".tsv", ".csv", ".jsonl", ".parquet")
    for path, suffixes in ((plot, PICTURES), (output, tuple(dict.fromkeys((*rows, *FORMS))))):
        if path is not None and path.suffix not in suffixes:
            raise InputError(f"{path}: the name must end in {', '.join(suffixes)}")
    chosen: dict[str, object] = {}
    if layers != "all":
        chosen["layers"] = tuple(sorted(whole_numbers("--layers", layers)))
    if train_sizes:
        chosen["train_sizes"] = tuple(sorted(whole_numbers("--train-sizes", train_sizes, lowest=2)))
    plan = take({**settings, **chosen}, ProbePlan)
    people, config = take_keywords(settings, PeopleColumns), take(settings, ScorerConfig)
    with progress_bar() as report:
        found = run(
            files,
            plan,
            tokens=tokens,
            test_data=test_data or (),
            parallel=parallel,
            judged=judged,
            settings=config,
            progress=report,
            **people,
        )
    if plot is not None:
        found.plot(plot)
    if output is not None and output.suffix in rows:
        save_rows(found, output)
        output = None
    read = [*files, *(test_data or ()), *([judged] if judged is not None else [])]
    write_shown(found, read, format, output, full=full)
