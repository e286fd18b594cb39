"""``bsx train``: a metric of one's own from human scores; ``bsx ensemble``: metrics beside the best of them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bsx.analysis.ensembles.settings import EnsembleSettings
from bsx.cli.messages import say
from bsx.cli.options import Column, Full, Output, TableFormat, take, take_keywords, whole_numbers, with_settings
from bsx.cli.output import group, progress_bar
from bsx.encode.run_config import RunConfig
from bsx.jobs.settings.combining import EnsembleColumns, TrainingColumns
from bsx.support.json_text import to_json
from bsx.train.config import ARCHITECTURES, Architecture, TrainConfig

if TYPE_CHECKING:
    from bsx.jobs.training.run import TrainingJob

Vectors = Annotated[Path | None, typer.Option(help="Folder that keeps the encoder's vectors for other trainings.")]

train = group(no_args_is_help=True)
_HELP = {
    "esim": "Train ESIM: each text is read again beside what it sees in the other.",
    "bilstm": "Train a BiLSTM: the vectors of two texts are compared, which do not see each other.",
    "bilstm-attention": "Train a BiLSTM with attention between the two texts.",
}


def _command(architecture: Architecture) -> Any:
    @with_settings(config=RunConfig)
    @with_settings(config=TrainConfig)
    @with_settings("outputs", "references", config=TrainingColumns, before="outputs")
    def command(
        train: Annotated[list[str], typer.Option("--train", help="Table of training data; repeatable.")],
        valid: Annotated[list[str], typer.Option("--valid", help="Table of validation data; repeatable.")],
        output: Annotated[
            Path, typer.Option("-o", "--output", help="Folder to save the metric in.", writable=True, file_okay=False)
        ],
        model: Annotated[str, typer.Option("-m", "--model", help="Frozen encoder: registry name, folder or hub id.")],
        seeds: Annotated[str, typer.Option("--seed", "--seeds", help="One network a seed, like 1,2,3.")] = "1",
        outputs: Annotated[
            list[str] | None, typer.Option(help="Systems' outputs that DARR data are about; repeatable.")
        ] = None,
        references: Annotated[list[str] | None, typer.Option(help="Their references, a file for each.")] = None,
        vectors: Vectors = None,
        resume: Annotated[
            bool, typer.Option("--resume", help="Go on with the folder's training, or add seeds.")
        ] = False,
        format: Annotated[Literal["text", "json"], typer.Option(help="How to print.")] = "text",
        **settings: Any,
    ) -> None:
        columns = take({**settings, "outputs": outputs or (), "references": references or ()}, TrainingColumns)
        job = _read(architecture, {"train": train, "valid": valid}, columns, model, settings, vectors)
        with kept_on_interrupt(output, "the same command with --resume goes on from there"), progress_bar() as report:
            record = job.run(output, whole_numbers("--seeds", seeds), resume=resume, report=report, notify=_tell)
        if format == "json":
            from bsx.support.provenance import provenance

            origin = provenance("train", job.files)
            print(to_json({"output": str(output), **record.to_dict(), "provenance": origin}))
            return
        print(f"{record.to_text()}\nscore with trained:{output}")

    command.__doc__ = _HELP[architecture]
    return command


def _read(
    architecture: Architecture,
    files: Mapping[str, Sequence[str]],
    columns: TrainingColumns,
    model: str,
    settings: dict[str, Any],
    vectors: Path | None,
) -> TrainingJob:
    from bsx.jobs.training.run import TrainingJob

    config, run = take(settings, TrainConfig), take(settings, RunConfig)
    job = TrainingJob.read(architecture, files, columns, model, config, run, vectors)
    say(job.notes)
    return job


def _tell(line: str) -> None:
    print(f"bsx: {line}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def kept_on_interrupt(folder: Path, how: str) -> Iterator[None]:
    """Say at Ctrl-C what is kept, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if folder.is_dir():
            say([f"{folder} keeps what is done; {how}"])
        raise


for _name in ARCHITECTURES:
    train.command(_name, help=_HELP[_name])(_command(_name))


@train.command()
@with_settings(config=RunConfig)
@with_settings("loss", config=TrainConfig)
@with_settings("outputs", "references", config=TrainingColumns, before="confidence")
def curve(
    architecture: Annotated[Literal["esim", "bilstm", "bilstm-attention"], typer.Argument(help="Which network.")],
    train: Annotated[list[str], typer.Option("--train", help="Table of training data; repeatable.")],
    valid: Annotated[list[str], typer.Option("--valid", help="Table of validation data; repeatable.")],
    test: Annotated[list[str], typer.Option("--test", help="Table that agreement is measured on; repeatable.")],
    sizes: Annotated[str, typer.Option(help="Numbers of training instances, like 100,1000.")],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help="Folder for the trainings; a later run goes on there.",
            writable=True,
            file_okay=False,
        ),
    ],
    model: Annotated[str, typer.Option("-m", "--model", help="Frozen encoder: registry name, folder or hub id.")],
    judgments: Annotated[
        str, typer.Option(help="Judgments of each instance, like 1,3, drawn from several --human; 0: all.")
    ] = "0",
    seeds: Annotated[str, typer.Option("--seed", "--seeds", help="Repetitions with other draws.")] = "1,2,3",
    vectors: Vectors = None,
    confidence: Annotated[float, typer.Option(help="Level of the intervals over seeds.")] = 0.95,
    plot: Annotated[Path | None, typer.Option(help="Draw the curve: .png, .svg or .pdf.", writable=True)] = None,
    format: TableFormat = None,
    full: Full = False,
    **settings: Any,
) -> None:
    """Train on growing parts of the data and measure agreement with human judgments (Mathur et al. 2019, figure 1)."""
    from bsx.cli.output import write_shown
    from bsx.data.output import check_picture

    if plot is not None:
        check_picture(plot)
    numbers = {
        "sizes": whole_numbers("--sizes", sizes),
        "per_instance": whole_numbers("--judgments", judgments),
        "seeds": whole_numbers("--seeds", seeds),
    }
    columns = take(settings, TrainingColumns)
    files = {"train": train, "valid": valid, "test": test}
    job = _read(architecture, files, columns, model, settings, vectors)
    with kept_on_interrupt(output, "the same command goes on from there"), progress_bar() as report:
        found = job.curve(output, **numbers, confidence=confidence, report=report, notify=_tell)
    if plot is not None:
        found.plot(plot)
    write_shown(found, job.files, format, None, full=full)


@with_settings(config=EnsembleSettings)
@with_settings(config=EnsembleColumns, before="format")
def ensemble(
    file: Annotated[Path, typer.Argument(help="Table of scores: .tsv (unquoted), .csv, .jsonl, .parquet.")],
    column: Column = None,
    human: Annotated[str | None, typer.Option(help="Column of human scores. [human, human_z or z]")] = None,
    scores_out: Annotated[
        Path | None,
        typer.Option(help="Write the table with the ensemble's scores: .tsv, .csv, .jsonl, .parquet.", writable=True),
    ] = None,
    format: TableFormat = None,
    output: Output = None,
    full: Full = False,
    **settings: Any,
) -> None:
    """Combine metrics: gains over the best of them with intervals and tests, fitted weights by cross-validation."""
    from bsx.cli.output import names, write_shown
    from bsx.jobs.combining.run import ensemble as combine
    from bsx.jobs.combining.save import place_of

    more = take_keywords(settings, EnsembleColumns)
    found = combine(
        file,
        names(column),
        human,
        scores_out=scores_out,
        settings=take(settings, EnsembleSettings),
        **more,
    )
    files = [path for path in (file, more["fit"], more["profiles"]) if path is not None]
    write_shown(found, files, format, output, full=full)
    if (save := more["save"]) is not None:
        print(f"bsx: saved {place_of(save, more['registry'])}; use it as --metric ensemble:{save}", file=sys.stderr)
