"""Metrics trained on WMT16 direct assessment into English, validated on WMT15, tested on WMT17.

Run from the repository: ``.venv/bin/python benchmarks/trained.py --data FOLDER --work FOLDER -o
benchmarks/agreement/trained-metrics.md``. The folder of data holds daseg-wmt15.tsv, -wmt16.tsv and -wmt17.tsv with the
columns lp, source, reference, candidate, human. What is trained is kept in the work folder; a later run goes on there.
``--curve`` adds the table of a learning curve, the output of ``bsx train curve … --format json``.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import sys
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.stats.rowwise import pearson_rows
from bsx.analysis.stats.significance import williams
from bsx.data.corpus import MemoryCorpus
from bsx.data.output import atomic_text
from bsx.encode.session import Encoders
from bsx.metrics.base import get_metrics
from bsx.metrics.results import score_corpus
from bsx.networks.config import ARCHITECTURES
from bsx.networks.data import Instances
from bsx.networks.encoder import FrozenEncoder
from bsx.networks.record import ModelRecord, SavedModel
from bsx.networks.run import train_metric
from bsx.networks.scoring import predict
from bsx.networks.vectors import VectorStore

Rows = list[dict[str, str]]
Scores = NDArray[np.float64]
UNTRAINED = ("bertr", "bertscore", "chrf", "sentbleu")
YEARS = {"train": 16, "valid": 15, "test": 17}


def read(path: Path) -> Rows:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in rows if row["lp"].endswith("-en")]


def instances(rows: Rows) -> Instances:
    columns = {name: [row[name] for row in rows] for name in ("candidate", "reference")}
    return Instances.scored(columns["candidate"], [float(row["human"]) for row in rows], columns["reference"])


def untrained(rows: Rows, model: str) -> dict[str, Scores]:
    metrics = get_metrics(list(UNTRAINED), model=model, device="cpu", backend="torch")
    texts = {name: [row[name] for row in rows] for name in ("candidate", "reference")}
    found = score_corpus(metrics, MemoryCorpus({"candidate": texts["candidate"]}, texts["reference"]))
    return {metric.spec: found[metric.spec]["candidate"].values for metric in metrics}


def networks(folder: Path, test: Instances, store: VectorStore) -> list[Scores]:
    """Return the scores of each network of a trained metric."""
    saved = SavedModel.open(folder)
    record, device = saved.record, store.encoder.view.device
    return [
        record.shift + record.scale * predict(network.to(device), test, store, size=64) for network in saved.networks()
    ]


def table(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def agreement(scores: Scores, rows: Rows) -> dict[str, float]:
    """Return r for each language pair."""
    human = np.array([float(row["human"]) for row in rows])
    lps = np.array([row["lp"] for row in rows])
    return {lp: float(pearson_rows(scores[lps == lp], human[lps == lp])) for lp in dict.fromkeys(lps.tolist())}


def correlations(scores: dict[str, Scores], single: dict[str, list[Scores]], rows: Rows) -> str:
    lines = []
    for name, values in scores.items():
        r = list(agreement(values, rows).values())
        each = ""
        if name in single:
            means = [np.mean(list(agreement(part, rows).values())) for part in single[name]]
            each = ", ".join(f"{mean:.3f}" for mean in means)
        lines.append([f"`{name}`", *(f"{value:.3f}" for value in r), f"{np.mean(r):.3f}", each])
    pairs = list(dict.fromkeys(row["lp"] for row in rows))
    return table(["metric", *pairs, "mean", "mean of each network"], lines)


def tests(scores: dict[str, Scores], rows: Rows, trained: list[str]) -> str:
    """Return the outcome of Williams tests of every trained metric against all others, in every language pair."""
    human = np.array([float(row["human"]) for row in rows])
    lps = np.array([row["lp"] for row in rows])
    lines = []
    for a, b in product(trained, scores):
        if a == b or (b in trained and trained.index(b) < trained.index(a)):
            continue
        cells = []
        for lp in dict.fromkeys(lps.tolist()):
            found = williams(scores[a][lps == lp], scores[b][lps == lp], human[lps == lp])
            mark = "**" if found.p_two_sided < 0.05 else ""
            cells.append(f"{mark}{found.difference:+.3f}{mark} ({found.p_two_sided:.3f})")
        better = sum("**+" in cell for cell in cells)
        worse = sum("**-" in cell for cell in cells)
        lines.append([f"`{a}`", f"`{b}`", *cells, f"{better} / {worse}"])
    return table(["a", "b", *dict.fromkeys(lps.tolist()), "better / worse"], lines)


def trainings(records: dict[str, ModelRecord]) -> str:
    lines = [
        [
            f"`{name}`",
            str(m.seed),
            str(len(m.log)),
            str(m.best.epoch),
            f"{m.best.loss:.3f}",
            f"{m.best.valid:.3f}",
        ]
        for name, record in records.items()
        for m in record.members
    ]
    lines += [[f"`{name}`", "mean", "", "", "", f"{record.ensemble_valid:.3f}"] for name, record in records.items()]
    return table(["metric", "seed", "epochs", "best", "loss there", "r on WMT15"], lines)


def curve_table(curve: dict[str, Any]) -> str:
    rows = [
        [
            str(p["instances"]),
            f"{p['estimate']:.3f}",
            f"{p['low']:.3f} to {p['high']:.3f}",
            ", ".join(f"{value:.3f}" for value in p["values"]),
        ]
        for p in curve["points"]
    ]
    return table(["instances", "mean r", "95 % interval over seeds", "seeds"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--curve", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    rows = {name: read(arguments.data / f"daseg-wmt{year}.tsv") for name, year in YEARS.items()}
    parts = {name: instances(part) for name, part in rows.items()}
    encoder = FrozenEncoder(Encoders(model=arguments.model, device="cpu", backend="torch"))
    vectors = arguments.work / "vectors"
    records = {}
    for architecture in ARCHITECTURES:
        records[architecture] = train_metric(
            architecture,
            parts["train"],
            parts["valid"],
            encoder=encoder,
            output=arguments.work / architecture,
            seeds=[int(seed) for seed in arguments.seeds.split(",")],
            resume=True,
            vectors=vectors,
            notify=lambda line, name=architecture: print(f"{name}: {line}", file=sys.stderr, flush=True),  # type: ignore[misc]
        )
    store = VectorStore(vectors, encoder)
    store.add(parts["test"].used_texts())
    single = {f"trained:{name}": networks(arguments.work / name, parts["test"], store) for name in ARCHITECTURES}
    trained = {name: np.mean(each, axis=0) for name, each in single.items()}
    scores = {**untrained(rows["test"], arguments.model), **trained}
    text = (Path(__file__).parent / "trained-notes.md").read_text(encoding="utf-8")
    curve = "" if arguments.curve is None else curve_table(json.loads(arguments.curve.read_text(encoding="utf-8")))
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "sacrebleu"))
    filled = text.format(
        correlations=correlations(scores, single, rows["test"]),
        tests=tests(scores, rows["test"], list(trained)),
        trainings=trainings(records),
        curve=curve,
        command=f"benchmarks/trained.py --data DATA --work WORK --seeds {arguments.seeds} --curve CURVE",
        machine=f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}, {packages}",
    )
    with atomic_text(arguments.output) as stream:
        stream.write(filled)


if __name__ == "__main__":
    main()
