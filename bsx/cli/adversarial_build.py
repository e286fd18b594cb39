"""``bsx adversarial build-triples``: triples from paraphrase pairs, or by changing the places of nouns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.cli.adversarial_input import Format
from bsx.errors import InputError


def build_triples(
    file: Annotated[Path, typer.Argument(help="paws: labelled pairs; nouns: texts and their paraphrases.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Table to write: .tsv, .csv, .jsonl or .parquet.")],
    how: Annotated[
        Literal["paws", "nouns"], typer.Option(help="From pairs that share sentences, or by permuting nouns.")
    ] = "paws",
    lang: Annotated[str, typer.Option("-l", "--lang", help="Language of the texts.")] = "en",
    keep: Annotated[int, typer.Option(min=1, help="paws: how many triples to keep.")] = 300,
    by: Annotated[
        Literal["difference", "overlap"],
        typer.Option(help="paws: keep the largest differences of overlap, or the least overlaps of A and B."),
    ] = "difference",
    anchor: Annotated[str, typer.Option(help="nouns: column of anchors.")] = "anchor",
    paraphrase: Annotated[str, typer.Option(help="nouns: column of paraphrases.")] = "paraphrase",
    tagger: Annotated[
        str, typer.Option(help="nouns: stanza, nltk (as published), or a CoNLL-U file with parses of the anchors.")
    ] = "stanza",
    stanza_dir: Annotated[Path | None, typer.Option(help="nouns: stanza's models.")] = None,
    download: Annotated[bool, typer.Option("--download", help="nouns: let stanza fetch its model.")] = False,
    seed: Annotated[int, typer.Option(help="nouns: seed of the permutations.")] = 42,
    format: Format = "text",
) -> None:
    """Build triples of an anchor, a paraphrase and a misleading sentence, for `bsx adversarial triples`."""
    from bsx.analysis.adversarial.build_triples import build_paws, lexical_overlap, overlaps, permute_nouns
    from bsx.data.output import FORMATS, ScoreTable

    if output.suffix not in FORMATS:
        raise InputError(f"{output}: cannot tell the format; the name must end in {', '.join(FORMATS)}")
    overlap = lexical_overlap(lang)
    summary: dict[str, Any] = {"how": how, "lang": lang}
    if how == "paws":
        from bsx.analysis.datasets.pairs import load_pairs

        table = load_pairs(file)
        labels = [int(label) for label in table.numbers("label")]
        rows = list(zip(table.texts("candidate"), table.texts("reference"), labels, strict=True))
        triples = build_paws(rows, overlap=overlap, keep=keep, by=by)
        summary |= {"keep": keep, "by": by, "pairs": len(rows), "triples": len(triples)}
    else:
        from bsx.data.tables import TableFile

        segments = list(TableFile(file, [anchor, paraphrase], []))
        anchors, paraphrases = ([segment.candidates[side] for segment in segments] for side in (0, 1))
        made = permute_nouns(anchors, paraphrases, _tagger(tagger, lang, stanza_dir, download), seed=seed)
        triples = made.triples
        summary |= {
            "tagger": tagger,
            "seed": seed,
            "texts": len(anchors),
            "triples": len(triples),
            "fewer_than_two_nouns": list(made.dropped),
            "same_words": list(made.same),
        }
    low, high = overlaps(triples, overlap)
    summary |= {"overlap_paraphrase": float(low.mean()), "overlap_nonparaphrase": float(high.mean())}
    with ScoreTable(output) as written:
        for triple in triples:
            for label, text in ((0, triple.nonparaphrase), (1, triple.paraphrase)):
                written.write({"label": label, "sentence1": triple.anchor, "sentence2": text})
    print(json.dumps(summary, ensure_ascii=False) if format == "json" else _text(summary))


def _tagger(name: str, lang: str, folder: Path | None, download: bool) -> Any:
    from bsx.analysis.adversarial.taggers import conllu_tagger, nltk_tagger, stanza_tagger

    if name == "stanza":
        return stanza_tagger(lang, folder=folder, download=download)
    if name == "nltk":
        return nltk_tagger()
    return conllu_tagger(Path(name))


def _text(summary: dict[str, Any]) -> str:
    lines = [f"{summary['triples']} triples"]
    if summary["how"] == "nouns":
        lines.append(f"{len(summary['fewer_than_two_nouns'])} of {summary['texts']} texts have fewer than two nouns")
        lines.append(f"{len(summary['same_words'])} triples have the words of A: equal nouns changed places")
    lines.append(
        f"mean overlap with the anchor: paraphrase {summary['overlap_paraphrase']:.4f}, "
        f"non-paraphrase {summary['overlap_nonparaphrase']:.4f}"
    )
    return "\n".join(lines)
