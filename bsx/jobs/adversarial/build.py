"""Triples of an anchor, a paraphrase and a misleading sentence, built from labelled pairs or by permuting nouns."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bsx.analysis.datasets.pairs import load_pairs
from bsx.analysis.datasets.triples import Triple
from bsx.data.files import TableFile
from bsx.data.output import ScoreTable, check_table
from bsx.data.run import as_one_run
from bsx.support.settings import in_range, refuse_idle

if TYPE_CHECKING:
    from bsx.analysis.adversarial.build_triples import Tagger


@dataclass(frozen=True)
class BuiltTriples:
    """Triples, and how they came about.

    Attributes:
        triples: what was built.
        summary: settings, counts and mean overlaps.
    """

    triples: tuple[Triple, ...]
    summary: dict[str, object]

    def to_text(self) -> str:
        """Return the summary, for people."""
        found = self.summary
        lines = [f"{found['triples']} triples"]
        if found["how"] == "nouns":
            few, same = found["fewer_than_two_nouns"], found["same_words"]
            assert isinstance(few, list) and isinstance(same, list)  # noqa: S101, PT018 - for the type checker
            lines.append(f"{len(few)} of {found['texts']} texts have fewer than two nouns")
            lines.append(f"{len(same)} triples have the words of A: equal nouns changed places")
        low, high = found["overlap_paraphrase"], found["overlap_nonparaphrase"]
        return "\n".join([*lines, f"mean overlap with the anchor: paraphrase {low:.4f}, non-paraphrase {high:.4f}"])


@in_range
@as_one_run
def build_triples(
    file: Path,
    output: Path,
    *,
    how: Literal["paws", "nouns"] = "paws",
    lang: str = "en",
    keep: int = 300,
    by: Literal["difference", "overlap"] = "difference",
    anchor: str = "anchor",
    paraphrase: str = "paraphrase",
    tagger: str = "stanza",
    parser_dir: Path | None = None,
    download: bool = False,
    seed: int = 42,
) -> BuiltTriples:
    """Build triples of an anchor, a paraphrase and a misleading sentence, and write them as a table.

    Args:
        file: labelled pairs for ``paws``; texts and their paraphrases for ``nouns``.
        output: table to write.
        how: from pairs that share sentences, or by permuting nouns.
        lang: language of the texts.
        keep: ``paws``: how many triples to keep.
        by: ``paws``: keep the largest differences of overlap, or the least overlaps of A and B.
        anchor: ``nouns``: column of anchors.
        paraphrase: ``nouns``: column of paraphrases.
        tagger: ``nouns``: ``stanza``, ``nltk`` (as published), or a CoNLL-U file with parses of the anchors.
        parser_dir: ``nouns``: stanza's models.
        download: ``nouns``: let stanza fetch its model.
        seed: ``nouns``: of the permutations.

    Raises:
        InputError: for tables that cannot be read or written.
    """
    from bsx.analysis.adversarial.build_triples import build_paws, lexical_overlap, overlaps, permute_nouns

    given: dict[str, object] = {"anchor": anchor, "paraphrase": paraphrase, "tagger": tagger, "parser_dir": parser_dir}
    given |= {"download": download, "seed": seed, "keep": keep, "by": by}
    usual = {name: one.default for name, one in inspect.signature(build_triples).parameters.items()}
    idle = ("keep", "by") if how == "nouns" else ("anchor", "paraphrase", "tagger", "parser_dir", "download", "seed")
    refuse_idle(given, usual, f"with `how={how}`", *idle)
    if tagger != "stanza":
        refuse_idle(given, usual, f"with `tagger={tagger}`", "parser_dir", "download")
    check_table(output)
    overlap = lexical_overlap(lang)
    summary: dict[str, object] = {"how": how, "lang": lang}
    if how == "paws":
        table = load_pairs(file)
        labels = [int(label) for label in table.numbers("label")]
        rows = list(zip(table.texts("candidate"), table.texts("reference"), labels, strict=True))
        triples = build_paws(rows, overlap=overlap, keep=keep, by=by)
        summary |= {"keep": keep, "by": by, "pairs": len(rows), "triples": len(triples)}
    else:
        segments = list(TableFile(file, [anchor, paraphrase], []))
        anchors, paraphrases = ([segment.candidates[side] for segment in segments] for side in (0, 1))
        made = permute_nouns(anchors, paraphrases, _tagger(tagger, lang, parser_dir, download), seed=seed)
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
    return BuiltTriples(triples, summary)


def _tagger(name: str, lang: str, folder: Path | None, download: bool) -> Tagger:
    from bsx.analysis.adversarial.taggers import conllu_tagger, nltk_tagger, stanza_tagger

    if name == "stanza":
        return stanza_tagger(lang, folder=folder, download=download)
    return nltk_tagger() if name == "nltk" else conllu_tagger(Path(name))
