"""How every metric that runs without a hub agrees with people on WMT17 segments into English, and what it costs.

Run from the repository: ``.venv/bin/python benchmarks/metrics.py --data daseg-wmt17.tsv -o benchmarks/agreement/…md``.
The table needs columns lp, source, reference, candidate, human. Costs are CPU seconds of this process (all threads)
for one metric alone with its encoder loaded, so that other work on the machine hardly shows.
"""

from __future__ import annotations

import argparse
import csv
import platform
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from bsx.analysis.layers import pearson

from bsx.encoders import Encoders
from bsx.match import transport
from bsx.metrics.run import score_corpus
from bsx.metrics.zoo import get_metric
from bsx.table import atomic_text
from bsx.text import MemoryCorpus

METRICS = (
    "bertscore", "bertscore:measure=precision", "bertscore:measure=recall", "bertscore:idf=true", "bertr",
    "moverscore:ngram=1", "moverscore:ngram=2", "moverscore:ngram=1,idf=false", "moverscore:ngram=2,idf=false",
    "moverscore-v2", "moverscore-v2:idf=false", "sentence", "sbert-wk", "sbert-wk:mode=last-mean",
    "xmoverscore", "xmoverscore-v2:layer=4", "sentbleu", "sentbleu:variant=moses", "chrf", "chrf++", "ter", "rouge-l",
    "meteor:synonyms=false",
)  # fmt: skip


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in rows if row["lp"].endswith("-en")]


def measure(spec: str, rows: list[dict[str, str]], model: str) -> tuple[dict[str, float], float, float]:
    """Return r for each language pair, CPU seconds per 1,000 rows, and the share of them that transport takes."""
    spent = [0.0]
    inner = transport.transport_costs

    def timed(*arguments: object, **settings: object) -> object:
        start = time.process_time()
        try:
            return inner(*arguments, **settings)  # type: ignore[arg-type]
        finally:
            spent[0] += time.process_time() - start

    metric = get_metric(spec, encoders=Encoders(model=model))
    for name in ("moverscore", "xmoverscore"):
        module = __import__(f"bsx.metrics.{name}", fromlist=["transport_costs"])
        module.transport_costs = timed
    metric.score(["warm up"], ["warm it up"], ["warm"])
    spent[0], total, found = 0.0, 0.0, {}
    for lp in dict.fromkeys(row["lp"] for row in rows):
        part = [row for row in rows if row["lp"] == lp]
        columns = {name: [row[name] for row in part] for name in ("candidate", "reference", "source")}
        corpus = MemoryCorpus({"candidate": columns["candidate"]}, columns["reference"], columns["source"])
        start = time.process_time()
        values = score_corpus([metric], corpus)[metric.spec]["candidate"].values
        total += time.process_time() - start
        sign = 1 if metric.higher_is_better else -1
        found[lp] = sign * float(pearson(values, np.array([float(row["human"]) for row in part])))
    return found, 1000 * total / len(rows), spent[0] / total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    rows = read(arguments.data)
    pairs = list(dict.fromkeys(row["lp"] for row in rows))
    lines = []
    for spec in METRICS:
        found, cost, share = measure(spec, rows, arguments.model)
        mean = sum(found.values()) / len(found)
        cells = " | ".join(f"{found[lp]:.3f}" for lp in pairs)
        moved = f"{100 * share:.1f}%" if share else ""
        lines.append(f"| `{spec}` | {cells} | {mean:.3f} | {cost:.2f} | {moved} |")
        print(lines[-1], flush=True)
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "POT", "sacrebleu", "nltk"))
    with atomic_text(arguments.output) as stream:
        stream.write(
            f"""# Metrics and people: WMT17 segments into English

Pearson's r with direct assessment, {len(rows)} segments, encoder {arguments.model} for every metric that has one (none
has its paper's model here). Signs are such that higher is better. `xmoverscore` compares source and candidate with an
English encoder and no mapping: its row shows that it runs, not what it can do. Cost: CPU seconds per 1,000 pairs, all
threads, one metric alone; the last column is the share of that time spent in optimal transport.

| metric | {" | ".join(pairs)} | mean | CPU s / 1,000 | transport |
|---|{"---|" * (len(pairs) + 3)}
{chr(10).join(lines)}

Made by `benchmarks/metrics.py --data {arguments.data.name} --model {arguments.model}`; {platform.machine()},
{platform.system()}, Python {platform.python_version()}, {packages}.
"""
        )


if __name__ == "__main__":
    main()
