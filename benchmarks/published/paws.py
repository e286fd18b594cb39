"""Lexical metrics on PAWS-QQP, as Zhang et al. 2020 took them for paraphrase detectors."""

from __future__ import annotations

from benchmarks.published.table import FactsPart, Figure, PublishedFacts, Work, read_facts, same_count
from bsx.analysis.datasets.pairs import load_paws
from bsx.analysis.stats.detection import roc_auc


class PawsCell(FactsPart):
    """A figure, the metric that has it, and which sentence that takes for the candidate."""

    published: float
    metric: str
    first_is_candidate: bool = False


class PawsFacts(PublishedFacts):
    """``paws.yaml``."""

    rows: int
    cells: dict[str, PawsCell]


FACTS = read_facts("paws", PawsFacts)


def recompute(work: Work) -> list[Figure]:
    """Return the area under the ROC curve of every metric."""
    file = work.find("paws/paws-qqp-dev.tsv")
    pairs = load_paws(file)
    same_count(file, len(pairs), FACTS.rows)
    first, second = pairs.texts("candidate"), pairs.texts("reference")
    labels = pairs.numbers("label")
    figures = []
    for place, (name, cell) in enumerate(FACTS.cells.items()):
        work.step("paws", place, len(FACTS.cells))
        scored = work.score(cell.metric, *((first, second) if cell.first_is_candidate else (second, first)))
        sign = 1 if scored.higher_is_better else -1
        figures.append(Figure({"metric": name}, cell.published, roc_auc(labels, sign * scored.values).estimate))
    return figures
