"""How every metric that runs without a hub agrees with people on WMT17 segments into English, and what it costs.

Run from the repository: ``.venv/bin/python benchmarks/metrics.py --data daseg-wmt17.tsv -o benchmarks/agreement/…md``.
The table needs columns lp, source, reference, candidate, human. Costs are CPU seconds of this process (all threads)
for one metric alone with its encoder loaded, so that other work on the machine hardly shows.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import platform
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from bsx.analysis.stats.rowwise import pearson_rows
from bsx.data.corpus import MemoryCorpus
from bsx.data.output import atomic_text
from bsx.encode.session import Encoders
from bsx.match import transport
from bsx.metrics.base import get_metric, get_metrics
from bsx.metrics.results import score_corpus

METRICS = (
    "bertscore",
    "bertscore:measure=precision",
    "bertscore:measure=recall",
    "bertscore:idf=true",
    "bertr",
    "moverscore:ngram=1",
    "moverscore:ngram=2",
    "moverscore:ngram=1,idf=false",
    "moverscore:ngram=2,idf=false",
    "moverscore-v2",
    "moverscore-v2:idf=false",
    "sentence",
    "sbert-wk",
    "sbert-wk:mode=last-mean",
    "muse-v3",
    "xmoverscore",
    "xmoverscore-v2:layer=4",
    "sentbleu",
    "sentbleu:variant=moses",
    "chrf",
    "chrf++",
    "ter",
    "rouge-l",
    "meteor:synonyms=false",
)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in rows if row["lp"].endswith("-en")]


def corpus_of(rows: list[dict[str, str]]) -> MemoryCorpus:
    columns = {name: [row[name] for row in rows] for name in ("candidate", "reference", "source")}
    return MemoryCorpus({"candidate": columns["candidate"]}, columns["reference"], columns["source"])


def agreement(rows: list[dict[str, str]], model: str) -> dict[str, dict[str, float]]:
    """Return r of every metric for each language pair; all metrics share one encoding of the texts."""
    found: dict[str, dict[str, float]] = {spec: {} for spec in METRICS}
    for lp in dict.fromkeys(row["lp"] for row in rows):
        part = [row for row in rows if row["lp"] == lp]
        human = np.array([float(row["human"]) for row in part])
        metrics = get_metrics(list(METRICS), model=model)
        scores = score_corpus(metrics, corpus_of(part))
        for metric in metrics:
            sign = 1 if metric.higher_is_better else -1
            found[metric.spec][lp] = sign * float(pearson_rows(scores[metric.spec]["candidate"].values, human))
    return found


def cost(spec: str, rows: list[dict[str, str]], model: str) -> tuple[float, float]:
    """Return CPU seconds per 1,000 rows of one metric alone, and the share of them that transport takes."""
    spent = [0.0]
    inner = transport.transport_costs

    def timed(*arguments: object, **settings: object) -> object:
        start = time.process_time()
        try:
            return inner(*arguments, **settings)  # type: ignore[arg-type]
        finally:
            spent[0] += time.process_time() - start

    for name in ("moverscore", "xmoverscore"):
        importlib.import_module(f"bsx.metrics.embedding.{name}").transport_costs = timed  # type: ignore[attr-defined]
    metric = get_metric(spec, encoders=Encoders(model=model))
    metric.score(["warm up"], ["warm it up"], ["warm"])
    spent[0], start = 0.0, time.process_time()
    score_corpus([metric], corpus_of(rows))
    total = time.process_time() - start
    return 1000 * total / len(rows), spent[0] / total


def earlier(table: Path, pairs: list[str]) -> dict[str, dict[str, float]]:
    """Return the agreements in a table that this script has written."""
    rows = [
        line.strip("| ").split(" | ") for line in table.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"
    ]
    return {row[0].strip("`"): dict(zip(pairs, map(float, row[1:]), strict=False)) for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--cost-rows", type=int, default=560, help="rows that costs are measured on")
    parser.add_argument("--reuse", type=Path, help="take r from this earlier table, measure costs only")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    rows = read(arguments.data)
    pairs = list(dict.fromkeys(row["lp"] for row in rows))
    lines = []
    found = agreement(rows, arguments.model) if arguments.reuse is None else earlier(arguments.reuse, pairs)
    for spec in METRICS:
        seconds, share = cost(spec, rows[: arguments.cost_rows], arguments.model)
        mean = sum(found[spec].values()) / len(pairs)
        cells = " | ".join(f"{found[spec][lp]:.3f}" for lp in pairs)
        moved = f"{100 * share:.1f}%" if share else ""
        lines.append(f"| `{spec}` | {cells} | {mean:.3f} | {seconds:.2f} | {moved} |")
        print(lines[-1], flush=True)
    again = ", costs in a second run with `--reuse`" if arguments.reuse is not None else ""
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "POT", "sacrebleu", "nltk"))
    with atomic_text(arguments.output) as stream:
        stream.write(
            f"""# Metrics and people: WMT17 segments into English

Pearson's r with direct assessment, {len(rows)} segments, encoder {arguments.model} for every metric that has one (none
has its paper's model here). Signs are such that higher is better. `xmoverscore` compares source and candidate with an
English encoder and no mapping: its row shows that it runs, not what it can do. Cost: CPU seconds per 1,000 pairs, all
threads ({torch.get_num_threads()}), one metric alone on the first {arguments.cost_rows} segments; last column: the
share of that time spent in optimal transport.

| metric | {" | ".join(pairs)} | mean | CPU s / 1,000 | transport |
|---|{"---|" * (len(pairs) + 3)}
{chr(10).join(lines)}

Made by `benchmarks/metrics.py --data {arguments.data.name} --model {arguments.model}`{again}; {platform.machine()},
{platform.system()}, Python {platform.python_version()}, {packages}.
"""
        )


if __name__ == "__main__":
    main()
