"""Table 6 of Kaster, Zhao & Eger 2021: mean lexical overlaps, from the triples that its authors published.

The table says 100 triples for PAWS; its figures are the means over all 300.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.published.table import FactsPart, Figure, same_count
from bsx.analysis.adversarial.build_triples import clean_table6, lexical_overlap, overlaps
from bsx.analysis.datasets.triples import Triple, load_triples

WHY_300 = "the table says 100 triples, but its figures are the means over all 300; over its first 100 they are others"


class TripleFacts(FactsPart):
    """What is published of one set of triples: how many, how many the table says, the overlaps printed."""

    triples: int
    printed_n: int
    overlap: list[str]


def overlap_figures(files: Mapping[str, Path], printed: Mapping[str, TripleFacts]) -> Iterator[Figure]:
    """Yield the mean overlaps after the paper's clean-up.

    Args:
        files: set -> file with the columns label, sentence1, sentence2.
        printed: the part ``triples`` of the published figures.

    Raises:
        InputError: if a file has other columns or another number of triples.
    """
    for name, facts in printed.items():
        triples = load_triples(files[name], []).triples
        same_count(files[name], len(triples), facts.triples, "triples")
        clean = [
            Triple(clean_table6(t.anchor), clean_table6(t.paraphrase), clean_table6(t.nonparaphrase)) for t in triples
        ]
        means = (values.mean() for values in overlaps(clean, lexical_overlap("en")))
        for pair, paper, mean in zip(("A-B", "A-C"), facts.overlap, means, strict=True):
            at = {"table": "6", "part": name, "metric": "overlap", "term": pair}
            yield Figure(at, float(paper), float(mean), reason=WHY_300 if facts.printed_n < facts.triples else "")
