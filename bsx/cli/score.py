"""``bsx score``: candidates against references."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bsx.cli.messages import say
from bsx.cli.options import with_settings
from bsx.cli.progress import progress_bar
from bsx.data.open import open_corpus
from bsx.errors import InputError

if TYPE_CHECKING:
    from bsx.bertscore.scored import ScoredWindow
    from bsx.bertscore.scorer import Scorer
    from bsx.data.corpus import Corpus
    from bsx.data.output import ScoreTable


@with_settings()
def score(
    candidates: Annotated[
        list[str] | None, typer.Option("-c", "--candidates", help="File of candidates, one a line; one -c a system.")
    ] = None,
    references: Annotated[
        list[str] | None, typer.Option("-r", "--references", help="File of references, one a line; repeatable.")
    ] = None,
    sources: Annotated[
        str | None, typer.Option("-s", "--sources", help="File of sources, one a line, for metrics that need them.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Table instead: .tsv (unquoted), .csv, .jsonl or .parquet.")] = None,
    candidate: Annotated[
        list[str] | None, typer.Option(help="Candidate column of --data; one a system. [candidate]")
    ] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="Reference column of --data; repeatable. [reference]")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Source column of --data. [source]")] = None,
    id: Annotated[str | None, typer.Option(help="Column of --data that names the segments.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write one row a segment: .tsv, .csv, .jsonl or .parquet.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="Metrics instead of BERTScore's three figures: NAME[:field=value,…][,NAME…]; see bsx metrics."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a run that was stopped with the same -o left off.")
    ] = False,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print the summary.")] = "text",
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Where --metric runs: in this process, or on a Ray cluster.")
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="Ray cluster, host:port or ray://host:port; one on this machine unless given.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that score, with --engine ray.")] = 1,
    **settings: Any,
) -> None:
    """Score candidates against references; a file called - is standard input."""
    from bsx.cli.summary import Summary

    if engine == "local" and (address is not None or workers > 1):
        raise InputError(f"--{'workers' if address is None else 'address'} goes with --engine ray")
    if engine == "ray" and resume:
        raise InputError("--resume goes with --engine local")
    if engine == "ray" and not metric:
        raise InputError("--engine ray scores with named metrics: add --metric bertscore, or others (bsx metrics)")
    if metric:
        from bsx.cli.score_metrics import Cluster, Input, score_metrics

        given = Input(candidates or [], references or [], sources, data, candidate or [], reference or [], source, id)
        cluster = Cluster(address, workers) if engine == "ray" else None
        score_metrics(metric, given, output, resume, format, settings, cluster)
        return
    if sources is not None or source is not None:
        raise InputError("BERTScore reads no sources; --metric names metrics that do (bsx metrics lists them)")
    from bsx.bertscore.windows import survey
    from bsx.cli.resume import WINDOWS, keeping, kept_blocks

    files = (candidates or [], references or [], data, candidate or [], reference or [], id)
    with contextlib.ExitStack() as stack:
        corpus = stack.enter_context(open_corpus(*files, output=output))
        plan = survey(corpus)  # all of the input is checked before a model is loaded
        if settings.get("lang") == "auto":
            settings["lang"] = _detect(corpus)
        journal = stack.enter_context(keeping(output, resume))
        table = _open_table(output, stack)
        scorer = _load_scorer(settings)
        summary = Summary(corpus.systems, scorer.layers, scorer.config.all_layers)
        with progress_bar() as report:
            if scorer.config.idf:
                plan = scorer.survey(corpus, progress=report)
            signature = scorer.signature(plan)

            def windows(start: int, settings: dict[str, int]) -> Iterator[ScoredWindow]:
                return scorer.stream(corpus, plan, progress=report, start=start, **settings)

            kept = {"window_tokens": scorer.window_tokens}
            for window in kept_blocks(
                journal, table, resume, corpus, plan.segments, [signature], kept, windows, WINDOWS
            ):
                summary.add(window)
                if table is not None:
                    _write(table, window, corpus.systems, scorer)
        if table is not None:
            table.signature = str(signature)
    result = summary.to_dict(scorer.model, signature)
    print(json.dumps(result, ensure_ascii=False) if format == "json" else summary.to_text(result))
    say((*scorer.notes, *summary.notes(scorer.tokenizer.max_tokens)))


def _detect(corpus: Corpus) -> str:
    from bsx.data.detect import detect_language

    found = detect_language(text for segment in corpus for text in segment.references)
    print(f"bsx: note: language detected from the references: {found}", file=sys.stderr)
    return found.code


def _open_table(output: Path | None, stack: contextlib.ExitStack) -> ScoreTable | None:
    if output is None:
        return None
    from bsx.data.output import ScoreTable

    return stack.enter_context(ScoreTable(output))


def _load_scorer(settings: dict[str, Any]) -> Scorer:
    from bsx.bertscore.scorer import Scorer

    return Scorer(**settings)


def _write(table: ScoreTable, window: ScoredWindow, systems: tuple[str, ...], scorer: Scorer) -> None:
    for i, name in enumerate(window.ids):
        for k, system in enumerate(systems):
            for position, layer in enumerate(scorer.layers):
                precision, recall, f1 = (float(value) for value in window.scores[position, i, k])
                row: dict[str, Any] = {"id": name}
                if len(systems) > 1:
                    row["system"] = system
                if scorer.config.all_layers:
                    row["layer"] = layer
                table.write({**row, "precision": precision, "recall": recall, "f1": f1})
