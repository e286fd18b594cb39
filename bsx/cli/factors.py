"""``bsx factors``: how alike sentence pairs are in meaning, structure, words and word forms."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean, pstdev
from typing import Annotated, Any, Literal

import typer

from bsx.cli.messages import say
from bsx.cli.progress import progress_bar
from bsx.errors import InputError


def factors(
    file: Annotated[Path, typer.Argument(help="Sentence pairs: .tsv (unquoted), .csv, .jsonl or .parquet.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Table to write: all columns and one a factor.")],
    factors: Annotated[
        str, typer.Option(help="Factors, name:field=value,… each, separated by commas.")
    ] = "syn,lex,mor",
    lang: Annotated[str, typer.Option("-l", "--lang", help="Language of both sides, or of each: de-en.")] = "en",
    sentence1: Annotated[str, typer.Option(help="Column of first sentences, LEX's reference.")] = "sentence1",
    sentence2: Annotated[str, typer.Option(help="Column of second sentences.")] = "sentence2",
    preset: Annotated[str | None, typer.Option(help="Settings by name, e.g. kaster2021.")] = None,
    human: Annotated[str | None, typer.Option(metavar="COL", help="Human judgements, for sem.")] = None,
    translation: Annotated[
        str | None, typer.Option(metavar="COL", help="Translations of sentence1 into sentence2's language, for lex.")
    ] = None,
    dictionary: Annotated[
        Path | None, typer.Option(help="File with word TAB translation on each line, for lex instead.")
    ] = None,
    parallel: Annotated[str | None, typer.Option(metavar="COL", help="Scores of parallel text, for clb.")] = None,
    parses1: Annotated[Path | None, typer.Option(help="CoNLL-U file with parses of sentence1.")] = None,
    parses2: Annotated[Path | None, typer.Option(help="The same of sentence2.")] = None,
    parser: Annotated[Literal["stanza", "spacy"], typer.Option(help="Parser, where no parses are given.")] = "stanza",
    stanza_dir: Annotated[Path | None, typer.Option("--stanza-dir", "--parser-dir", help="Its models.")] = None,
    download: Annotated[bool, typer.Option("--download", help="Let stanza fetch its model.")] = False,
    vectors: Annotated[Path | None, typer.Option(help="Word vectors, .vec or .bin, for mor.")] = None,
    train_vectors: Annotated[bool, typer.Option("--train-vectors", help="Train them on these sentences.")] = False,
    lexicon: Annotated[Path | None, typer.Option(help="Morphological lexicon; built from tags otherwise.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder to keep parses and vectors in; go on from there.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes for tree distances.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the lexicon's draws.")] = 42,
    nan: Annotated[
        Literal["keep", "omit", "error"], typer.Option(help="Pairs without a value: write nan, leave out, or refuse.")
    ] = "keep",
    prefix: Annotated[str, typer.Option(help="Put this before the names of the new columns.")] = "",
    registry: Annotated[Path | None, typer.Option(help="Folder laid over the registry.")] = None,
    format: Annotated[Literal["text", "json"], typer.Option("--format", help="How to print the summary.")] = "text",
) -> None:
    """Score sentence pairs by linguistic factors; `bsx disentangle` explains metrics by them."""
    import numpy as np

    from bsx.analysis.factors.base import Resources, SentencePairs
    from bsx.analysis.factors.zoo import get_factors
    from bsx.data.output import FORMATS, ScoreTable
    from bsx.data.tables import TableFile

    made = get_factors(factors, preset=preset, registry=registry)
    if output.suffix not in FORMATS:
        raise InputError(f"{output}: cannot tell the format; the name must end in {', '.join(FORMATS)}")
    if (parses1 is None) != (parses2 is None):
        raise InputError("parses come for both sides: give --parses1 and --parses2")
    table = TableFile(file, [sentence1, sentence2], [], keep_rows=True)
    names = {factor.spec: prefix + factor.spec for factor in made}
    for name in names.values():
        if name in table.columns:
            raise InputError(f"{file}: has a column {name!r} already: choose another name with --prefix")
    segments = list(table)
    rows: list[dict[str, Any]] = [dict(segment.row or {}) for segment in segments]
    columns = {name: [row[name] for row in rows] for name in table.columns if name not in (sentence1, sentence2)}
    lang1, dash, lang2 = lang.partition("-")
    first, second = ([segment.candidates[side] for segment in segments] for side in (0, 1))
    pairs = SentencePairs(first, second, lang1, lang2 if dash else lang1, columns)
    with progress_bar() as report:
        resources = Resources(
            human=human,
            translation=translation,
            dictionary=dictionary,
            parallel=parallel,
            parses1=parses1,
            parses2=parses2,
            parser=parser,
            parser_dir=stanza_dir,
            download=download,
            vectors=vectors,
            train_vectors=train_vectors,
            lexicon=lexicon,
            cache=cache,
            jobs=jobs,
            seed=seed,
            progress=report,
        )
        results = {names[factor.spec]: factor.compute(pairs, resources) for factor in made}
    kept = {name: scores for name, scores in results.items() if scores.excluded is None}
    missing = np.isnan([scores.values for scores in kept.values()]) if kept else np.zeros((0, len(rows)), dtype=bool)
    if nan == "error" and missing.any():
        factor, row = (int(index) for index in np.argwhere(missing)[0])
        raise InputError(f"{list(kept)[factor]}: row {row + 1} has no value; --nan keep writes nan, omit leaves it out")
    say(note for scores in results.values() for note in scores.notes)
    wanted = ~missing.any(axis=0) if nan == "omit" else np.ones(len(rows), dtype=bool)
    summary = {
        "pairs": len(rows),
        "written": int(wanted.sum()),
        "lang": lang,
        "preset": preset,
        "nan": nan,
        "factors": [_describe(name, scores) for name, scores in results.items()],
    }
    with ScoreTable(output, _types(table, kept) if output.suffix == ".parquet" else None) as written:
        for index in np.flatnonzero(wanted):
            written.write(rows[index] | {name: float(scores.values[index]) for name, scores in kept.items()})
        written.sidecar = summary
    print(json.dumps(summary, ensure_ascii=False) if format == "json" else _text(summary))


def _describe(name: str, scores: Any) -> dict[str, Any]:
    present = [value for value in scores.values.tolist() if value == value]
    mean, sd = (fmean(present), pstdev(present)) if present else (None, None)
    found = {"factor": name, "n": len(present), "mean": mean, "sd": sd}
    return {**found, "excluded": scores.excluded, "settings": scores.details}


def _types(table: Any, kept: dict[str, Any]) -> dict[str, Any]:
    import pyarrow

    return {**table.types(), **{name: pyarrow.float64() for name in kept}}


def _text(summary: dict[str, Any]) -> str:
    width = max(len(entry["factor"]) for entry in summary["factors"])
    lines = [f"{'factor':<{max(width, 6)}}  {'n':>7}  {'mean':>8}  {'sd':>8}"]
    for entry in summary["factors"]:
        figures = (
            "excluded" if entry["excluded"] else f"{entry['mean']:8.4f}  {entry['sd']:8.4f}" if entry["n"] else "-"
        )
        lines.append(f"{entry['factor']:<{max(width, 6)}}  {entry['n']:>7}  {figures}")
    return "\n".join(lines)
