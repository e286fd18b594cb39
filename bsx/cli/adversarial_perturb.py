"""``bsx adversarial perturb``: how far scores fall when texts are changed on purpose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import say
from bsx.cli.options import with_settings
from bsx.cli.progress import progress_bar
from bsx.encode.run_config import RunConfig
from bsx.errors import InputError

LEFT_OUT = set(ScorerConfig.model_fields) - {*RunConfig.model_fields, "model", "lang"}


@with_settings(*LEFT_OUT, config=ScorerConfig)
def perturb(
    file: Annotated[
        str | None, typer.Argument(help="Table of texts: .tsv (unquoted), .csv, .jsonl, .parquet; - is stdin.")
    ] = None,
    score: Annotated[
        list[str] | None, typer.Option(help="Metrics: NAME[:field=value,…][,NAME…]; see bsx metrics.")
    ] = None,
    candidate: Annotated[
        str | None, typer.Option(help="Column of texts to change; the references themselves unless given.")
    ] = None,
    reference: Annotated[str, typer.Option(help="Column of references.")] = "reference",
    source: Annotated[str | None, typer.Option(help="Column of sources, for the perturbation source.")] = None,
    perturbation: Annotated[
        str, typer.Option(help="Perturbations, separated by commas; all: those that can be applied.")
    ] = "all",
    strength: Annotated[str, typer.Option(help="Shares of words or letters, separated by commas.")] = "0.1,0.3",
    control: Annotated[
        str, typer.Option(help="Perturbation that keeps the meaning, to measure others against.")
    ] = "no-punctuation",
    parses: Annotated[Path | None, typer.Option(help="CoNLL-U file with parses of the texts to change.")] = None,
    parser: Annotated[Literal["stanza", "spacy"] | None, typer.Option(help="Or parse them with this.")] = None,
    parser_dir: Annotated[Path | None, typer.Option("--parser-dir", "--stanza-dir", help="Its models.")] = None,
    download: Annotated[bool, typer.Option("--download", help="Let stanza fetch its model.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of perturbations and resamples.")] = 1,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples, and swaps of the tests.")] = 1000,
    confidence: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    correction: Annotated[
        Literal["none", "holm", "bh"], typer.Option(help="Correct p for the number of tests.")
    ] = "none",
    worst: Annotated[int, typer.Option(min=0, help="Worst rows to keep for each result (JSON).")] = 3,
    save: Annotated[
        Path | None, typer.Option(help="Keep changed texts and scores: .tsv, .csv, .jsonl or .parquet.")
    ] = None,
    skip_errors: Annotated[bool, typer.Option("--skip-errors", help="Go on without rows a metric fails on.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List the perturbations and stop.")] = False,
    format: Annotated[Literal["text", "json"], typer.Option("--format", help="How to print.")] = "text",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file instead.")] = None,
    **settings: Any,
) -> None:
    """Change texts on purpose and measure how far each metric's scores fall, beside a change that keeps the meaning."""
    from bsx.analysis.adversarial.robustness import robustness
    from bsx.cli.perturb_job import MetricFunctions, find_parses, read_texts
    from bsx.cli.perturb_output import listing, read_strengths, save_cases
    from bsx.cli.results import write_result
    from bsx.data.output import FORMATS
    from bsx.support.provenance import provenance

    if list_all:
        write_result(listing(format), output)
        return
    if file is None or not score:
        raise InputError("give FILE with texts and --score METRICS; --list shows the perturbations")
    if save is not None and save.suffix not in FORMATS:
        raise InputError(f"{save}: cannot tell the format; the name must end in {', '.join(FORMATS)}")
    names = None if perturbation == "all" else [name.strip() for name in perturbation.split(",") if name.strip()]
    lang, cache = settings.get("lang"), settings.get("cache")
    if lang == "auto":
        raise InputError("--lang auto: perturbations have rules by language; say which it is")
    texts = read_texts(file, candidate, reference, source)
    column = candidate or reference
    with progress_bar() as report:
        found, origin = find_parses(
            texts,
            column,
            lang,
            parses,
            parser,
            parser_dir,
            download,
            None if cache is None else Path(cache) / "parses",
            report,
        )
        metrics = MetricFunctions.open(score, settings, texts.sources, skip=skip_errors)
        result = robustness(
            texts.references,
            metrics.functions,
            names,
            candidates=texts.candidates,
            sources=texts.sources,
            parses=found,
            lang=lang,
            strengths=read_strengths(strength),
            control=control,
            seed=seed,
            resamples=resamples,
            confidence=confidence,
            correction=correction,
            worst=worst,
            nan="omit" if skip_errors else "error",
            progress=report,
        )
    notes = [*metrics.notes, *result.notes]
    notes += [f"{name} is left out: it {why}" for name, why in result.left_out.items()]
    if metrics.skipped:
        first = metrics.skipped[0]
        notes.append(
            f"{len(metrics.skipped)} texts are left out because a metric failed on them, the first {first['metric']} "
            f"on row {first['row']}: {first['error']}"
        )
    if save is not None:
        save_cases(result, texts.references, texts.clean, save)
    read: list[str | Path] = [file, *([parses] if parses is not None else [])]
    content = result.to_dict() | {
        "skipped": metrics.skipped,
        "settings": {**result.settings, "column": column, "parses": origin},
        "notes": notes,
        "provenance": provenance("adversarial-perturb", read, metrics.signatures),
    }
    write_result(json.dumps(content, ensure_ascii=False) if format == "json" else result.to_text(), output)
    say(notes)
