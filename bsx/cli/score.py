"""``bsx score``: candidates against references; ``bsx match``: which tokens match; ``bsx mbr``: the best of many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import say
from bsx.cli.options import (
    OF_ONE_METRIC,
    DataDir,
    Segment,
    System,
    TestSet,
    one_spec,
    specs,
    take,
    take_keywords,
    with_settings,
)
from bsx.cli.output import progress_bar
from bsx.errors import InputError
from bsx.jobs.settings.combining import MbrSettings
from bsx.support.json_text import to_json

if TYPE_CHECKING:
    from bsx.jobs.scoring.by_language import ScoredLanguages


@with_settings()
def score(
    candidates: Annotated[
        list[str] | None,
        typer.Option("-c", "--candidates", help="File of candidates, one per line; repeat it for several systems."),
    ] = None,
    references: Annotated[
        list[str] | None, typer.Option("-r", "--references", help="File of references, one per line; repeatable.")
    ] = None,
    sources: Annotated[
        str | None, typer.Option("-s", "--sources", help="File of sources, one per line, for metrics that need them.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Table instead: .tsv (unquoted), .csv, .jsonl or .parquet.")] = None,
    test_set: TestSet = None,
    data_dir: DataDir = None,
    candidate: Annotated[
        list[str] | None, typer.Option(help="Candidate column of --data; one per system. [candidate]")
    ] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="Reference column of --data; repeatable. [reference]")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Source column of --data. [source]")] = None,
    system: System = None,
    segment: Segment = None,
    document: Annotated[
        str | None, typer.Option(help="Column of --data that names the documents, for --context.")
    ] = None,
    lang_column: Annotated[
        str | None, typer.Option(help="Column of --data that names each row's language, instead of --lang.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write one row per segment: .tsv, .csv, .jsonl or .parquet.", writable=True
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics",
            help="Metrics instead of BERTScore's three figures: NAME[:field=value,…][,NAME…]; see bsx metrics.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a run that was stopped with the same -o left off.")
    ] = False,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 1 if a system scores worse: SCORE=VALUE, a metric as it is printed, or bertscore.f1 and "
            "its like. Repeatable."
        ),
    ] = None,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print the summary.")] = "text",
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Where to score: in this process, or on a Ray cluster.")
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="Ray cluster, host:port or ray://host:port; one on this machine unless given.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that score, with --engine ray.")] = 1,
    **settings: Any,
) -> None:
    """Score candidates against references; a file called - is standard input."""
    from bsx.jobs.scoring.by_language import score_languages
    from bsx.jobs.scoring.input import Input
    from bsx.jobs.scoring.run import Cluster, ScoredFiles, score_files

    cluster = Cluster(address, workers)
    if engine == "local" and (address is not None or workers > 1):
        raise InputError(f"--{'workers' if address is None else 'address'} goes with --engine ray")
    given = Input(
        candidates=candidates or (),
        references=references or (),
        sources=sources,
        data=data,
        candidate=candidate or (),
        reference=reference or (),
        source=source,
        id=segment,
        system=system,
        document=document,
        lang_column=lang_column,
        test_set=test_set,
        data_dir=data_dir,
    )
    if lang_column is not None and (resume or fail_under or engine == "ray"):
        other = "resume" if resume else "fail-under" if fail_under else "engine ray"
        raise InputError(f"--lang-column does not go with --{other}")
    scored: ScoredFiles | ScoredLanguages
    with progress_bar() as report:
        shared: dict[str, Any] = {"output": output, "progress": report, "say": lambda note: say([note])}
        shared["settings"] = take(settings, ScorerConfig)
        if lang_column is not None:
            scored = score_languages(given, specs(metric) or None, **shared)
        else:
            shared |= {
                "resume": resume,
                "fail_under": fail_under or (),
                "cluster": cluster if engine == "ray" else None,
            }
            scored = score_files(given, specs(metric) or None, **shared)
    result = scored.to_dict()
    print(to_json(result) if format == "json" else scored.to_text(result))
    say(scored.notes())
    if isinstance(scored, ScoredFiles) and (missed := scored.shortfalls(result)):
        say(missed)
        raise typer.Exit(1)


@with_settings("all_layers", "batch_tokens", "context", "idf", "memory", "multi_ref")
def match(
    candidate: Annotated[str, typer.Argument(help="The candidate text.")],
    reference: Annotated[str, typer.Argument(help="The reference text.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the alignment as JSON.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw a heatmap: .png, .svg, .pdf or .html.", writable=True)] = None,
    **settings: Any,
) -> None:
    """Show the token alignment behind a score."""
    from bsx.analysis.present.families.scores import FORMATS, draw_alignment, match_text

    if plot is not None and plot.suffix not in FORMATS:
        raise InputError(f"{plot}: cannot draw this format; the name must end in {', '.join(FORMATS)}")
    from bsx.bertscore.scorer import Scorer

    scorer = Scorer(**settings)
    alignment = scorer.align(candidate, reference)
    if plot is not None:
        draw_alignment(alignment, plot)
    print(to_json(alignment.to_dict()) if as_json else match_text(alignment))
    say(scorer.metric.doubts)


@with_settings(config=MbrSettings)
@with_settings(*OF_ONE_METRIC, config=ScorerConfig)
def mbr(
    file: Annotated[
        Path,
        typer.Argument(
            help="Lists of candidates, a row each: .tsv (unquoted), .csv, .jsonl, .parquet, or Moses' n-best format."
        ),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metrics", help="The metric that decides: NAME[:field=value,…]; see bsx metrics. [bertscore]"),
    ] = None,
    references: Annotated[
        Path | None,
        typer.Option("-r", "--references", help="The same lists with texts that candidates are held against."),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="Decisions, one row a list: .tsv, .csv, .jsonl, .parquet.", writable=True),
    ] = Path("-"),
    matrix_out: Annotated[
        Path | None, typer.Option(help="Write the scores behind them: .jsonl, one line a list.", writable=True)
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a run that was stopped with the same -o left off.")
    ] = False,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print the summary.")] = "text",
    **settings: Any,
) -> None:
    """Choose from each list the candidate that a metric expects to be best (minimum Bayes risk decoding)."""
    from bsx.jobs.deciding import mbr
    from bsx.support.provenance import provenance

    with progress_bar() as report:
        found = mbr(
            file,
            output,
            metric=one_spec(metric) or "bertscore",
            references=references,
            matrix_out=matrix_out,
            resume=resume,
            progress=report,
            say=lambda note: say([note]),
            **take_keywords(settings, MbrSettings),
            settings=take(settings, ScorerConfig),
        )
    read = [str(name) for name in (file, references) if name is not None]
    origin = provenance("mbr", read, found.summary["signatures"])
    print(to_json({**found.to_dict(), "provenance": origin}) if format == "json" else found.to_text())
    say(found.notes)
