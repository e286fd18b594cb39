"""``bsx train curve``: what would more training data bring?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.cli.options import with_settings
from bsx.encode.run_config import RunConfig
from bsx.train.config import TrainConfig


@with_settings(config=RunConfig)
@with_settings("loss", config=TrainConfig)
def curve(
    architecture: Annotated[Literal["esim", "bilstm", "bilstm-attention"], typer.Argument(help="Which network.")],
    train: Annotated[list[str], typer.Option("--train", help="Table of training data; repeatable.")],
    valid: Annotated[list[str], typer.Option("--valid", help="Table of validation data; repeatable.")],
    test: Annotated[list[str], typer.Option("--test", help="Table that agreement is measured on; repeatable.")],
    sizes: Annotated[str, typer.Option(help="Numbers of training instances, like 100,1000.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the trainings; a later run goes on there.")
    ],
    model: Annotated[str, typer.Option("-m", "--model", help="Frozen encoder: registry name, folder or hub id.")],
    judgments: Annotated[
        str, typer.Option(help="Judgments of each instance, like 1,3, drawn from several --human; 0: all.")
    ] = "0",
    seeds: Annotated[str, typer.Option("--seed", "--seeds", help="Repetitions with other draws.")] = "1,2,3",
    candidate: Annotated[str, typer.Option(help="Column of candidates.")] = "candidate",
    reference: Annotated[str, typer.Option(help="Column of references.")] = "reference",
    source: Annotated[str, typer.Option(help="Column of sources.")] = "source",
    human: Annotated[
        list[str] | None, typer.Option(help="Column of human scores; repeat it for several judgments.")
    ] = (None),
    lang: Annotated[str | None, typer.Option("-l", "--lang", help="Keep rows whose lp goes into it.")] = None,
    confidence: Annotated[float, typer.Option(help="Level of the intervals over seeds.")] = 0.95,
    plot: Annotated[Path | None, typer.Option(help="Draw the curve: .png, .svg or .pdf.")] = None,
    format: Annotated[Literal["text", "json", "csv"], typer.Option(help="How to print.")] = "text",
    **settings: Any,
) -> None:
    """Train on growing parts of the data and measure agreement with people (Mathur et al. 2019, figure 1)."""
    from bsx.analysis.agreement.learning_curve import Sample, learning_curve
    from bsx.analysis.agreement.plots import draw_learning_curve
    from bsx.cli.progress import progress_bar
    from bsx.cli.train_input import Columns
    from bsx.cli.train_job import Job, kept_on_interrupt, note, number_list
    from bsx.data.picture import check_picture
    from bsx.errors import InputError
    from bsx.train.scoring import score_instances
    from bsx.train.vectors import VectorStore

    if plot is not None:
        check_picture(plot)
    wanted = number_list("--sizes", sizes), number_list("--judgments", judgments), number_list("--seeds", seeds)
    columns = Columns(candidate, reference, source, human or ["human"], lang)
    files = {"train": train, "valid": valid, "test": test}
    job = Job.read(architecture, files, columns, model, settings, output / "vectors")
    tested = job.data["test"]
    if tested.instances.scores is None or job.data["train"].instances.scores is None:
        raise InputError("a learning curve needs human scores, not preferences")
    with kept_on_interrupt(output, "the same command goes on from there"), progress_bar() as report:
        store = VectorStore(output / "vectors", job.encoder, job.config.precision)
        store.add(tested.instances.used_texts(), report)

        def trained(sample: Sample) -> Any:
            part = job.data["train"].instances.take(sample.rows).with_scores(sample.scores)
            folder = output / f"{architecture}-{len(sample.rows)}-{sample.judgments or 'all'}-seed{sample.seed}"
            note(f"{len(sample.rows)} instances, {sample.judgments or 'all'} judgments each, seed {sample.seed}")
            job.run(folder, [sample.seed], instances=part, resume=True, report=report)
            return score_instances(folder, tested.instances, store)

        found = learning_curve(
            trained,
            job.data["train"].judgments,
            tested.instances.scores,
            tested.groups,
            sizes=wanted[0],
            per_instance=wanted[1],
            seeds=wanted[2],
            confidence=confidence,
        )
    if plot is not None:
        draw_learning_curve(found, plot, title=f"{architecture} on {job.encoder.record.model}")
    if format == "json":
        from bsx.support.provenance import provenance

        document = {"architecture": architecture, **found.to_dict(), "provenance": provenance("train-curve", job.files)}
        print(json.dumps(document, ensure_ascii=False))
        return
    print(found.to_text() if format == "text" else found.to_csv().rstrip("\n"))
