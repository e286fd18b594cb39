"""Figure 3 and Table 6 of Kaster, Zhao & Eger 2021 from the triples and scores that its authors published.

Figure 3 is a picture: how often each metric prefers the paraphrase is computed here, with no printed figure beside it.
Table 6 has the mean lexical overlaps. It says 100 triples for PAWS; its figures are the means over all 300.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypedDict

from bsx.analysis.adversarial.build_triples import clean_table6, lexical_overlap, overlaps
from bsx.analysis.adversarial.triples import TriplePreference, prefer_paraphrase
from bsx.analysis.datasets.triples import Triple, TripleTable, load_triples
from bsx.errors import InputError
from bsx.support.aligned import text_table

TOLERANCE = 0.01
WHY_300 = "the table says 100 triples, but its figures are the means over all 300; over its first 100 they are others"


class TripleFacts(TypedDict):
    """What is published of one set of triples: how many, how many the table says, the overlaps printed."""

    triples: int
    printed_n: int
    overlap: list[str]


@dataclass(frozen=True)
class Rates:
    """How often metrics prefer the paraphrase on one set.

    Attributes:
        name: of the set.
        n: triples.
        metrics: one a metric.
    """

    name: str
    n: int
    metrics: tuple[TriplePreference, ...]


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
    """

    name: str
    pair: str
    paper: str
    printed_n: int
    ours: float
    n: int
    first: float | None
    raw: float

    @property
    def off(self) -> bool:
        """Whether ours is more than `TOLERANCE` from the printed figure."""
        return abs(self.ours - float(self.paper)) > TOLERANCE


@dataclass(frozen=True)
class TripleReproduction:
    """Everything recomputed from the triples.

    Attributes:
        rates: one a set: Freitag, all of PAWS, and as much of PAWS as the paper speaks of.
        overlaps: the cells of Table 6; empty if NLTK was not to be used.
    """

    rates: tuple[Rates, ...]
    overlaps: tuple[OverlapCell, ...]

    @property
    def ok(self) -> bool:
        """Whether no cell of Table 6 is off."""
        return not any(cell.off for cell in self.overlaps)

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain values for JSON."""
        figure3 = [
            {
                "set": part.name,
                "n": part.n,
                "metric": one.metric,
                "mean_paraphrase": one.mean_paraphrase,
                "mean_nonparaphrase": one.mean_nonparaphrase,
                "first": one.prefers_paraphrase,
                "ties": one.ties,
                "rate": one.rate,
                "low": one.ci[0],
                "high": one.ci[1],
                "margin": one.mean_margin,
                "margin_low": one.margin_ci[0],
                "margin_high": one.margin_ci[1],
                "p": one.p,
                "p_two_sided": one.p_two_sided,
                "confidence": 0.95,
            }
            for part in self.rates
            for one in part.metrics
        ]
        table6 = [{**asdict(cell), "off": cell.off} for cell in self.overlaps]
        return {"figure3": figure3, "table6": table6}


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
        raise InputError(f"{folder}: has no {missing[0]}, though it has other triples of the paper")
    rates, cells = [], []
    for name, facts in printed.items():
        table = load_triples(files[name], metrics)
        if len(table.triples) != facts["triples"]:
            raise InputError(f"{files[name]}: has {len(table.triples)} triples, {facts['triples']} were published")
        rates += [_rates(name, table, n) for n in dict.fromkeys((facts["triples"], facts["printed_n"]))]
        if lex:
            cells += _overlaps(name, table.triples, facts)
    return TripleReproduction(tuple(rates), tuple(cells))


def _rates(name: str, table: TripleTable, n: int) -> Rates:
    scores = {metric: (good[:n], bad[:n]) for metric, (good, bad) in table.scores.items()}
    return Rates(name, n, prefer_paraphrase(scores).results)


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
        )
        for i, (pair, paper) in enumerate(zip(("A-B", "A-C"), facts["overlap"], strict=True))
    ]


def triples_text(result: TripleReproduction, names: Mapping[str, str]) -> list[str]:
    """Return blocks of text: preference rates, then overlaps as printed and ours; ``names`` are the paper's."""
    lines = ["Figure 3, share of triples with m(A, B) > m(A, C) and its 95 % Wilson interval (the paper prints none)"]
    rows = [["", *(f"| {part.name} {part.n}" for part in result.rates)]]
    for cells in zip(*(part.metrics for part in result.rates), strict=True):
        shown = (f"| {c.rate:.4f} [{c.ci[0]:.3f}, {c.ci[1]:.3f}]" for c in cells)
        rows.append([names.get(cells[0].metric, cells[0].metric), *shown])
    blocks = ["\n".join([*lines, text_table(rows, "l")])]
    if result.overlaps:
        lines = ["Table 6, mean lexical overlap (paper / ours)"]
        for c in result.overlaps:
            first = f", first {c.printed_n}: {c.first:.4f}" if c.first is not None else ""
            lines.append(
                f"  {c.name} {c.pair}: {c.paper} / {c.ours:.4f} over {c.n}{first}; without clean-up {c.raw:.4f}"
                f"{' !' if c.off else ''}"
            )
        if any(c.first is not None for c in result.overlaps):
            lines.append(f"  {WHY_300[0].upper()}{WHY_300[1:]}.")
        blocks.append("\n".join(lines))
    return blocks
