"""EffEval (Larionov et al. 2023): correlations of metrics with many encoders, from the published segment scores."""

from __future__ import annotations

import numpy as np

from bsx.analysis.published.table import Figure, PublishedFacts, Work, read_facts, same_count
from bsx.analysis.stats.correlation import pearson
from bsx.data.columns import Labels, read_columns
from bsx.errors import InputError
from bsx.support.checks import Array


class EffevalFacts(PublishedFacts):
    """``effeval.yaml``: ``rows`` and ``texts`` of each set."""

    rows: dict[str, int]
    texts: dict[str, str]


FACTS = read_facts("effeval", EffevalFacts)


def recompute(work: Work) -> list[Figure]:
    """Return r of every metric and encoder with people, as `bsx.analysis.published.harness.reproduce` wants them."""
    path = work.find("effeval/published.tsv")
    published = read_columns(path, ["pearson"], ["set", "column"])
    figures = []
    for name, count in FACTS.rows.items():
        with work.part(name):
            file = work.find(f"effeval/{name}.tsv")
            own = [
                (column, float(r))
                for of, column, r in zip(published["set"], published["column"], published["pearson"], strict=True)
                if of == name
            ]
            if not own:
                raise InputError(f"{path}: has no row of set {name}")
            columns = read_columns(file, ["human", *(column for column, _ in own)], ["lp", "id"])
            human = np.asarray(columns["human"], dtype=np.float64)
            same_count(file, len(human), count)
            for place, (column, r) in enumerate(own):
                work.step(f"effeval {name}", place, len(own))
                metric, _, encoder = column.partition("-")
                at = {"set": name, "metric": metric, "encoder": encoder}
                figures.append(Figure(at, r, pearson(np.asarray(columns[column], dtype=np.float64), human).estimate))
            if work.beside:
                figures += _beside(work, name, columns, human)
    return figures


def _beside(work: Work, name: str, columns: dict[str, Array | Labels], human: Array) -> list[Figure]:
    """Return r of metrics that are computed here, on the texts of the same rows."""
    figures = []
    with work.part(f"metrics beside those of {name}"):
        file = work.find(FACTS.texts[name])
        texts = read_columns(file, [], ["lp", "id"], ["candidate", "reference"])
        places = {key: place for place, key in enumerate(zip(texts["lp"], texts["id"], strict=True))}
        keys = list(zip(columns["lp"], columns["id"], strict=True))
        lost = next((key for key in keys if key not in places), None)
        if lost is not None:
            raise InputError(f"{file}: has no row with lp {lost[0]} and id {lost[1]}, which {name}.tsv has")
        kinds = ("candidate", "reference")
        candidates, references = ([str(texts[kind][places[key]]) for key in keys] for kind in kinds)
        for spec in work.beside:
            at = {"set": name, "metric": spec, "encoder": ""}
            figures.append(Figure(at, None, work.agreement(spec, candidates, references, human)))
    return figures
