"""``bsx factors``: how alike sentence pairs are in meaning, structure, words and word forms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from bsx.cli.messages import say
from bsx.cli.options import Download, Format, Registry
from bsx.cli.output import progress_bar, show


def factors(
    file: Annotated[Path, typer.Argument(help="Sentence pairs: .tsv (unquoted), .csv, .jsonl or .parquet.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Table to write: all columns and one a factor.", writable=True)
    ],
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
    download: Download = False,
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
    registry: Registry = None,
    format: Format = "text",
) -> None:
    """Score sentence pairs by linguistic factors; `bsx disentangle` explains metrics by them."""
    from bsx.analysis.factors.base import Resources
    from bsx.jobs.factoring import factors as run

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
        found = run(
            file,
            output,
            factors,
            lang=lang,
            sentence1=sentence1,
            sentence2=sentence2,
            preset=preset,
            resources=resources,
            nan=nan,
            prefix=prefix,
            registry=registry,
        )
    say(found.notes)
    show(found.summary, found.to_text, format)
