"""EffEval (Larionov et al. 2023): correlations of metrics with many encoders, from the published segment scores."""

from __future__ import annotations

import glob
import re
from pathlib import Path

import numpy as np

from benchmarks.published.table import FactsPart, Figure, LeftOut, PublishedFacts, Work, read_facts, same_count
from bsx.analysis.datasets.wmt import load_wmt_da
from bsx.analysis.stats.correlation import pearson
from bsx.data import cells
from bsx.data.columns import read_columns
from bsx.data.lines import line_list
from bsx.errors import InputError
from bsx.support.checks import Array


class PublisherFacts(FactsPart):
    """A set in the publisher's repository: the folder of its texts, and its language pairs in the scores' order."""

    folder: str
    pairs: list[str]


class EffevalFacts(PublishedFacts):
    """``effeval.yaml``: ``rows`` and the publisher's layout of each set."""

    rows: dict[str, int]
    publisher: dict[str, PublisherFacts]


FACTS = read_facts("effeval", EffevalFacts)


def recompute(work: Work) -> list[Figure]:
    """Return r of every metric and encoder with people, as `benchmarks.published.__main__.reproduce` wants them."""
    path = work.find("effeval/published.tsv", "effeval/results/efficient-transformer-metrics")
    if path.is_dir():
        return _from_results(work, path)
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
                raise InputError(f"has no row of set {name}", file=path)
            columns = read_columns(file, ["human", *(column for column, _ in own)], ["lp", "id"])
            human = np.asarray(columns["human"], dtype=np.float64)
            same_count(file, len(human), count)
            for place, (column, r) in enumerate(own):
                work.step(f"effeval {name}", place, len(own))
                metric, _, encoder = column.partition("-")
                at = {"set": name, "metric": metric, "encoder": encoder}
                figures.append(Figure(at, r, pearson(np.asarray(columns[column], dtype=np.float64), human).estimate))
    return figures


def _from_results(work: Work, folder: Path) -> list[Figure]:
    """Return the same from the publisher's files of results, each of them beside the scores of its last run."""
    figures = []
    for name, facts in FACTS.publisher.items():
        with work.part(name):
            judged = load_wmt_da(work.find(f"effeval/datasets/{facts.folder}"))
            rows = [judged.where(lp=pair) for pair in facts.pairs]
            human = np.concatenate([part.numbers("human") for part in rows])
            same_count(Path(facts.folder), len(human), FACTS.rows[name])
            files = sorted(folder.glob(f"*/*/*-{name}-*.txt"))
            without = 0
            for place, file in enumerate(files):
                work.step(f"effeval {name}", place, len(files))
                scores = _last_scores(file, len(human))
                if scores is None:
                    without += 1
                    continue
                metric, _, encoder = file.stem.partition(f"-{name}-")[0].partition("-")
                at = {"set": name, "metric": metric, "encoder": encoder.removeprefix("wmd-")}
                figures.append(
                    Figure({**at, "machine": file.parts[-3]}, _last_printed(file), pearson(scores, human).estimate)
                )
            if without:
                reason = f"{without} of the {len(files)} files of results have no file of {len(human):,} scores"
                work.left_out.append(LeftOut(what=f"{name}: results without scores", reason=reason))
    return figures


def _last_printed(file: Path) -> float:
    """Return the correlation of the last run in a file of results."""
    for line in reversed(line_list(file)):
        what, _, value = line.partition(":")
        if what == "pearson correlation":
            return cells.finite(value.strip(), f"{file}: {what}")
    raise InputError("has no line 'pearson correlation: …'", file=file)


def _last_scores(file: Path, count: int) -> Array | None:
    """Return the scores of the last run over the whole set (count,), or None."""
    runs = {
        float(match[1]): path
        for path in (file.parent / "scores").glob(f"{glob.escape(file.stem)}-*.txt")
        if (match := re.fullmatch(r"(\d+(?:\.\d+)?)", path.stem.removeprefix(f"{file.stem}-")))
    }
    for _, path in sorted(runs.items(), reverse=True):
        lines = line_list(path)
        if len(lines) == count:
            return np.array([cells.number(line, f"{path}: line {at}") for at, line in enumerate(lines, start=1)])
    return None
