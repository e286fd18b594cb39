"""Figure 3 and Table 6 of Kaster, Zhao & Eger 2021 from the triples and scores that its authors published.

Figure 3 is a picture: how often each metric prefers the paraphrase is computed here, with no printed figure beside it.
Table 6 has the mean lexical overlaps. It says 100 triples for PAWS; its figures are the means over all 300.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from bsx.analysis.adversarial.build_triples import clean_table6, lexical_overlap, overlaps
from bsx.analysis.adversarial.triples import TriplePreference, prefer_paraphrase
from bsx.analysis.datasets.triples import Triple, TripleTable, load_triples
from bsx.errors import InputError

TOLERANCE = 0.01
WHY_300 = "the table says 100 triples, but its figures are the means over all 300; over its first 100 they are others"


class TripleFacts(TypedDict):
    """What is published of one set of triples: how many, how many the table says, the overlaps printed."""

    triples: int
    printed_n: int
    overlap: list[str]


@dataclass(frozen=True, kw_only=True)
class Rate(TriplePreference):
    """How often a metric prefers the paraphrase on one set, with 95 % intervals.

    Attributes:
        set: its name; all other fields are those of `bsx.analysis.adversarial.triples.TriplePreference`.
    """

    set: str


@dataclass(frozen=True)
class OverlapCell:
    """One mean lexical overlap of Table 6.

    Attributes:
        name: of the set.
        pair: ``A-B`` or ``A-C``.
        paper: as printed.
        printed_n: number of triples as printed.
        ours: recomputed after the clean-up, over all triples.
        n: triples it is the mean of.
        first: the same over as many triples as are printed; None where that is all of them.
        raw: recomputed from the texts as they are, over all triples.
        off: whether ours is more than `TOLERANCE` from the printed figure.
    """

    name: str
    pair: str
    paper: str
    printed_n: int
    ours: float
    n: int
    first: float | None
    raw: float
    off: bool


@dataclass(frozen=True)
class TripleReproduction:
    """Everything recomputed from the triples.

    Attributes:
        figure3: one a metric and set: Freitag, all of PAWS, and as much of PAWS as the paper speaks of.
        table6: its cells; empty if NLTK was not to be used.
    """

    figure3: tuple[Rate, ...]
    table6: tuple[OverlapCell, ...]


def reproduce_triples(
    folder: Path, printed: Mapping[str, TripleFacts], metrics: Sequence[str], *, lex: bool = True
) -> TripleReproduction | None:
    """Recompute preference rates and overlaps.

    Args:
        folder: has ``freitag.tsv`` and ``paws.tsv`` with the columns label, sentence1, sentence2 and a column a metric.
        printed: the part ``triples`` of the published figures.
        metrics: columns of the metrics.
        lex: recompute overlaps too; needs NLTK.

    Returns:
        The figures, or None if the folder holds neither file.

    Raises:
        InputError: if one of the files is missing, has other columns or another number of triples.
    """
    files = {name: folder / f"{name}.tsv" for name in printed}
    missing = [file.name for file in files.values() if not file.is_file()]
    if len(missing) == len(files):
        return None
    if missing:
        raise InputError(f"has no {missing[0]}, though it has other triples of the paper", file=folder)
    rates: list[Rate] = []
    cells: list[OverlapCell] = []
    for name, facts in printed.items():
        table = load_triples(files[name], metrics)
        if len(table.triples) != facts["triples"]:
            raise InputError(f"{files[name]}: has {len(table.triples)} triples, {facts['triples']} were published")
        for n in dict.fromkeys((facts["triples"], facts["printed_n"])):
            rates += _rates(name, table, n)
        if lex:
            cells += _overlaps(name, table.triples, facts)
    return TripleReproduction(tuple(rates), tuple(cells))


def _rates(name: str, table: TripleTable, n: int) -> list[Rate]:
    scores = {metric: (good[:n], bad[:n]) for metric, (good, bad) in table.scores.items()}
    return [Rate(set=name, **vars(one)) for one in prefer_paraphrase(scores).results]


def _overlaps(name: str, triples: Sequence[Triple], facts: TripleFacts) -> list[OverlapCell]:
    overlap, n = lexical_overlap("en"), facts["printed_n"]
    raw = overlaps(triples, overlap)
    clean = overlaps(
        [Triple(clean_table6(t.anchor), clean_table6(t.paraphrase), clean_table6(t.nonparaphrase)) for t in triples],
        overlap,
    )
    return [
        OverlapCell(
            name,
            pair,
            paper,
            n,
            float(clean[i].mean()),
            len(triples),
            float(clean[i][:n].mean()) if n < len(triples) else None,
            float(raw[i].mean()),
            abs(float(clean[i].mean()) - float(paper)) > TOLERANCE,
        )
        for i, (pair, paper) in enumerate(zip(("A-B", "A-C"), facts["overlap"], strict=True))
    ]
