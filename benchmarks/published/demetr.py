"""DEMETR (Karpinska et al. 2022): how many rows it has, and how chrF2 does on parts of it."""

from __future__ import annotations

from collections import Counter

import numpy as np

from benchmarks.published.table import Figure, PublishedFacts, Work, read_facts
from bsx.analysis.datasets.challenge import MinimalPair, load_challenge


class DemetrFacts(PublishedFacts):
    """``demetr.yaml``."""

    operations: dict[str, int]
    tenth: dict[str, dict[str, int]]
    fifth: dict[str, float]
    whole: int


FACTS = read_facts("demetr", DemetrFacts)


def recompute(work: Work) -> list[Figure]:
    """Return the numbers of rows, and how often chrF2 is right by severity."""
    file = work.find("demetr/demetr.tsv.gz", "demetr.tsv", "demetr/dataset")
    pairs = load_challenge(file).pairs
    rows = Counter(pair.phenomenon for pair in pairs)
    figures = [Figure({"figure": "rows", "part": name}, count, rows[name]) for name, count in FACTS.operations.items()]
    if file.is_dir():
        figures.append(Figure({"figure": "rows", "part": "all 35 operations"}, FACTS.whole, len(pairs)))
    order = {name: place for place, name in enumerate(FACTS.operations)}
    chosen = sorted((pair for pair in pairs if pair.phenomenon in order), key=lambda pair: order[pair.phenomenon])
    with work.part("chrF2"):
        tenth = _right(work, chosen[::10])
        for severity, counts in FACTS.tenth.items():
            for name, count in counts.items():
                at = {"figure": f"chrF2, every tenth row: {name}", "part": severity}
                figures.append(Figure(at, count, tenth[severity][name]))
        if file.is_dir():
            by_operation = {name: [pair for pair in pairs if pair.phenomenon == name] for name in rows}
            fifth = _right(work, [pair for own in by_operation.values() for pair in own[::5]])
            for severity, share in FACTS.fifth.items():
                at = {"figure": "chrF2, every fifth row of an operation: share right", "part": severity}
                ours = fifth[severity]["right"] / fifth[severity]["rows"]
                figures.append(Figure(at, share, ours, tolerance=0.001))
    return figures


def _right(work: Work, pairs: list[MinimalPair]) -> dict[str, dict[str, int]]:
    """Return severity -> rows, right and ties of chrF2."""
    references = [pair.reference or "" for pair in pairs]
    good, bad = (
        work.score("chrf", [getattr(pair, kind) for pair in pairs], references).values for kind in ("good", "bad")
    )
    found = {}
    for severity in dict.fromkeys(pair.severity for pair in pairs):
        own = np.array([pair.severity == severity for pair in pairs])
        right, ties = (int(np.count_nonzero(mask & own)) for mask in (good > bad, good == bad))
        found[severity] = {"rows": int(own.sum()), "right": right, "ties": ties}
    return found
