"""The Eval4NLP 2021 shared task (Fomicheva et al. 2021): how well a baseline's word scores find errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bsx.analysis.explanations.marks import sentence_figures
from bsx.analysis.published.table import Figure, PublishedFacts, Work, read_facts
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.support.checks import Array


class Eval4nlpFacts(PublishedFacts):
    """``eval4nlp.yaml``: figures, and the sentences that have both kinds of tags, by language pair."""

    cells: dict[str, dict[str, float]]
    sentences: dict[str, int]


FACTS = read_facts("eval4nlp", Eval4nlpFacts)


def recompute(work: Work) -> list[Figure]:
    """Return AUC, average precision and recall at top-K of the published explanations."""
    figures = []
    for pair, cells in FACTS.cells.items():
        with work.part(pair):
            file = work.find(f"eval4nlp/{pair}-dev.tsv")
            rows = [sentence_figures(scores, tags) for tags, scores in _sentences(file) if 0 < tags.sum() < len(tags)]
            if len(rows) != FACTS.sentences[pair]:
                raise InputError(
                    f"{file}: {len(rows)} sentences have words of both kinds, {FACTS.sentences[pair]} were published"
                )
            means = np.mean(rows, axis=0)
            figures += [
                Figure({"pair": pair, "figure": name}, published, float(ours))
                for (name, published), ours in zip(cells.items(), means, strict=True)
            ]
    return figures


def _sentences(file: Path) -> list[tuple[Array, Array]]:
    table = Table(file)
    table.require("target_tags", "xmover_shap")
    found = []
    for row in table.rows():
        try:
            tags, scores = (
                np.array([float(part) for part in row.text(name).split()]) for name in ("target_tags", "xmover_shap")
            )
        except ValueError as error:
            raise InputError(f"{row.where}: tags and scores are numbers between spaces ({error})") from error
        if len(tags) != len(scores) or not set(tags) <= {0.0, 1.0}:
            raise InputError(f"{row.where}: {len(tags)} tags of 0 and 1 are due for {len(scores)} scores")
        found.append((tags, scores))
    return found
