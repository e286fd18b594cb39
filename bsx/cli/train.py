"""``bsx train``: a metric of one's own from human scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bsx.cli.options import with_settings
from bsx.cli.train_curve import curve
from bsx.encode.run_config import RunConfig
from bsx.train.config import ARCHITECTURES, Architecture, TrainConfig

if TYPE_CHECKING:
    from bsx.train.record import ModelRecord

train = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
_HELP = {
    "esim": "Train ESIM: each text is read again beside what it sees in the other.",
    "bilstm": "Train a BiLSTM: the vectors of two texts are compared, which do not see each other.",
    "bilstm-attention": "Train a BiLSTM with attention between the two texts.",
}


def _command(architecture: Architecture) -> Any:
    @with_settings(config=RunConfig)
    @with_settings(config=TrainConfig)
    def command(
        train: Annotated[list[str], typer.Option("--train", help="Table of training data; repeatable.")],
        valid: Annotated[list[str], typer.Option("--valid", help="Table of validation data; repeatable.")],
        output: Annotated[Path, typer.Option("-o", "--output", help="Folder to save the metric in.")],
        model: Annotated[str, typer.Option("-m", "--model", help="Frozen encoder: registry name, folder or hub id.")],
        seeds: Annotated[str, typer.Option("--seed", "--seeds", help="One network a seed, like 1,2,3.")] = "1",
        candidate: Annotated[str, typer.Option(help="Column of candidates.")] = "candidate",
        reference: Annotated[str, typer.Option(help="Column of references.")] = "reference",
        source: Annotated[str, typer.Option(help="Column of sources.")] = "source",
        human: Annotated[
            list[str] | None, typer.Option(help="Column of human scores; repeat it for several judgments: their mean.")
        ] = None,
        lang: Annotated[str | None, typer.Option("-l", "--lang", help="Keep rows whose lp goes into it.")] = None,
        outputs: Annotated[
            list[str] | None, typer.Option(help="Systems' outputs that DARR data are about; repeatable.")
        ] = None,
        references: Annotated[list[str] | None, typer.Option(help="Their references, a file for each.")] = None,
        vectors: Annotated[
            Path | None, typer.Option(help="Folder that keeps the encoder's vectors for other trainings.")
        ] = None,
        resume: Annotated[
            bool, typer.Option("--resume", help="Go on with the folder's training, or add seeds.")
        ] = False,
        format: Annotated[Literal["text", "json"], typer.Option(help="How to print.")] = "text",
        **settings: Any,
    ) -> None:
        from bsx.cli.progress import progress_bar
        from bsx.cli.train_input import Columns
        from bsx.cli.train_job import Job, kept_on_interrupt, note, number_list

        columns = Columns(candidate, reference, source, human or ["human"], lang, outputs or (), references or ())
        job = Job.read(architecture, {"train": train, "valid": valid}, columns, model, settings, vectors)
        with kept_on_interrupt(output, "the same command with --resume goes on from there"), progress_bar() as report:
            record = job.run(output, number_list("--seeds", seeds), resume=resume, report=report, notify=note)
        if format == "json":
            print(json.dumps(_document(record, job.files, output), ensure_ascii=False))
            return
        print(_text(record, output))

    command.__doc__ = _HELP[architecture]
    return command


def _document(record: ModelRecord, files: list[Path], output: Path) -> dict[str, Any]:
    from bsx.support.provenance import provenance

    content = json.loads(record.model_dump_json(exclude={"format", "versions"}))  # a missing figure becomes null
    return {"output": str(output), **content, "provenance": provenance("train", files)}


def _text(record: ModelRecord, output: Path) -> str:
    lines = [f"{'seed':>5}  {'epochs':>6}  {'best':>4}  {record.statistic:>8}"]
    for member in record.members:
        lines.append(f"{member.seed:>5}  {len(member.log):>6}  {member.best_epoch:>4}  {member.valid:8.4f}")
    lines.append(f"{'mean of networks':<18}   {record.ensemble_valid:8.4f}")
    data = f"{record.train.instances} training, {record.valid.instances} validation instances"
    return "\n".join(
        [*lines, f"{record.architecture} on {record.encoder.model}: {data}", f"score with trained:{output}"]
    )


for _name in ARCHITECTURES:
    train.command(_name, help=_HELP[_name])(_command(_name))
train.command()(curve)
