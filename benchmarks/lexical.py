"""Metrics on words and characters compared with sacreBLEU and rouge-score: speed, in turns, and the same digits.

Run: python benchmarks/lexical.py [--turns 10] [--share 1.0] [--metrics ter] [--output benchmarks/results/lexical.json]
     python benchmarks/lexical.py --parts runs --run-turns 5 --output benchmarks/results/lexical.json

Pairs are those of `million.wmt`. In each turn each side scores the same further pairs, `bsx` through `Metric.score` and
the others by the calls of theirs that count each pair once: the statistics of the corpus, its score, and the score of
each segment from its statistics (sacreBLEU); `score` of each pair (rouge-score). Ratios are of sums over all turns, and
the least and greatest of a turn; wall and CPU time both, because other work hardly shows in CPU time. OMP_NUM_THREADS
says how many threads compute.

The part `runs` times the whole command ``bsx score TABLE -o OUTPUT``, by one process (``--encoder spread=off``) and by
one for each core (``--encoder device=cpu,cpu``), in turns, and compares the bytes of what they write. CPU time is that
of all processes together. METEOR is without synonyms, because WordNet is not everywhere.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from million import cpu_of_children, wmt, write_pairs
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from speed import machine

from bsx.metrics.base import get_metric

Scores = list[float]
PAIRS = {"chrf": 100_000, "bleu": 100_000, "chrf++": 20_000, "ter": 10_000, "rouge-l": 50_000}
RUNS = [
    ("ter", 50_000),
    ("ter", 100_000),
    ("meteor:synonyms=false", 50_000),
    ("rouge-l", 100_000),
    ("bleu", 100_000),
    ("chrf", 100_000),
]
UNASKED = {"ter", "meteor:synonyms=false"}


def by_sacrebleu(kind: Any) -> Callable[[list[str], list[str]], Scores]:
    def scores(candidates: list[str], references: list[str]) -> Scores:
        statistics = kind._extract_corpus_statistics(candidates, [references])
        kind._aggregate_and_compute(statistics)
        return [kind._compute_score_from_stats(list(row)).score for row in statistics]

    return scores


def by_rouge_score(candidates: list[str], references: list[str]) -> Scores:
    scorer = RougeScorer(["rougeL"])
    rows = zip(references, candidates, strict=True)
    return [float(scorer.score(reference, candidate)["rougeL"].fmeasure) for reference, candidate in rows]


PEERS = {
    "chrf": by_sacrebleu(CHRF()),
    "chrf++": by_sacrebleu(CHRF(word_order=2)),
    "bleu": by_sacrebleu(BLEU(effective_order=True)),
    "ter": by_sacrebleu(TER()),
    "rouge-l": by_rouge_score,
}


def timed(score: Callable[[list[str], list[str]], Any], *texts: list[str]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    scores = score(*texts)
    return scores, time.perf_counter() - wall, time.process_time() - cpu


def compare(spec: str, pairs: int, turns: int) -> dict[str, Any]:
    metric, peer = get_metric(spec), PEERS[spec]
    metric.score(["warm up"], ["warm it up"])
    size, same, walls, cpus = pairs // turns, True, [], []
    for turn in range(turns):
        texts = [list(column) for column in zip(*wmt(turn * size, (turn + 1) * size), strict=True)]
        sides = {"bsx": metric.score, "peer": peer}
        order = list(sides) if turn % 2 else list(reversed(sides))
        found = {name: timed(sides[name], *texts) for name in order}
        same &= found["bsx"][0].values.tolist() == found["peer"][0]
        walls.append((found["bsx"][1], found["peer"][1]))
        cpus.append((found["bsx"][2], found["peer"][2]))
    result: dict[str, Any] = {"pairs": size * turns, "same_digits": bool(same)}
    for name, times in (("wall", walls), ("cpu", cpus)):
        ours, theirs = (sum(side) for side in zip(*times, strict=True))
        ratios = sorted(other / own for own, other in times)
        result[name] = {
            "bsx_us": round(1e6 * ours / result["pairs"], 1),
            "peer_us": round(1e6 * theirs / result["pairs"], 1),
            "ratio": round(theirs / ours, 2),
            "least": round(ratios[0], 2),
            "greatest": round(ratios[-1], 2),
        }
    return result


def compare_runs(spec: str, rows: int, turns: int) -> dict[str, Any]:
    """Time the command with one process and with one for each core."""
    sides = {
        "one": ["--encoder", "spread=off"],
        "several": ["--encoder", f"device={','.join(['cpu'] * (os.cpu_count() or 1))}"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    cpu = dict.fromkeys(sides, 0.0)
    with tempfile.TemporaryDirectory() as home:
        table = Path(home, "pairs.parquet")
        write_pairs(table, rows, wmt)
        for turn in range(turns):
            for name in list(sides) if turn % 2 else reversed(sides):
                out = ["-o", str(Path(home, f"{name}.tsv"))]
                call = [sys.executable, "-m", "bsx", "score", str(table), "--metrics", spec, *sides[name], *out]
                start, before = time.perf_counter(), cpu_of_children()
                subprocess.run(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
                seconds[name].append(time.perf_counter() - start)
                cpu[name] += cpu_of_children() - before
        same = Path(home, "one.tsv").read_bytes() == Path(home, "several.tsv").read_bytes()
    ratios = sorted(one / other for one, other in zip(seconds["one"], seconds["several"], strict=True))
    return {
        "metric": spec,
        "rows": rows,
        "unasked": spec in UNASKED,
        **{f"{name}_seconds": round(sum(times) / turns, 2) for name, times in seconds.items()},
        **{f"{name}_cpu_seconds": round(total / turns, 2) for name, total in cpu.items()},
        "ratio": round(sum(seconds["one"]) / sum(seconds["several"]), 2),
        "least": round(ratios[0], 2),
        "greatest": round(ratios[-1], 2),
        "same_bytes": same,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--run-turns", type=int, default=5)
    parser.add_argument("--parts", default="packages,runs", help="what to measure; others keep their results")
    parser.add_argument("--share", type=float, default=1.0, help="of the pairs, for a quick look")
    parser.add_argument(
        "--metrics", nargs="+", choices=PAIRS, default=list(PAIRS), help="the others stay in the output"
    )
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    hardware = machine()
    hardware["versions"] = {name: version(name) for name in ("sacrebleu", "rouge-score", "nltk", "numpy")}
    result: dict[str, Any] = {}
    if arguments.output and arguments.output.exists():
        result = json.loads(arguments.output.read_text())
    if "packages" in arguments.parts.split(","):
        if set(arguments.metrics) == set(PAIRS):
            result |= {"machine": hardware, "turns": arguments.turns, "metrics": {}}
        elif (result["machine"]["processor"], result["turns"]) != (hardware["processor"], arguments.turns):
            parser.error("the others were measured elsewhere, or in other turns: measure all")
        for spec in arguments.metrics:
            result["metrics"][spec] = compare(spec, int(PAIRS[spec] * arguments.share), arguments.turns)
            print(spec, json.dumps(result["metrics"][spec]), flush=True)
    if "runs" in arguments.parts.split(","):
        result["runs"] = {"machine": hardware, "turns": arguments.run_turns, "rows": []}
        for spec, rows in RUNS:
            result["runs"]["rows"].append(compare_runs(spec, int(rows * arguments.share), arguments.run_turns))
            print(json.dumps(result["runs"]["rows"][-1]), flush=True)
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
