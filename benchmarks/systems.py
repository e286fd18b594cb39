"""Ten systems on one reference set, and the same again: bsx against bert-score 0.3.13.

Run: python benchmarks/systems.py [--segments 300] [--repeats 3] [--output FILE.json]

The systems are ten versions of WMT17 candidates, the words of each text rotated by 0 to 9, against the same references.
Three things are timed, alternating, the figure is the median: bert-score called once a system;
`bsx.Scorer.score_systems` without a cache; the same with a cache that an earlier run filled. Models are loaded before,
but for the run from the cache, which loads none. Whole processes (imports, model and all) are timed too, for one
system: that is what a repeated command costs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from speed import WMT17, machine, read_pairs, time_of

SYSTEMS = 10
WHOLE = {
    "bsx": (
        "import sys, bsx; c, r = (open(f, encoding='utf-8').read().splitlines() for f in sys.argv[1:3]); "
        "s = bsx.Scorer(model='minilm', layer=6, cache=sys.argv[3]); s.score(c, r); print(s.encoders.sequences_encoded)"
    ),
    "bert-score": (
        "import sys, bert_score; c, r = (open(f, encoding='utf-8').read().splitlines() for f in sys.argv[1:3]); "
        "bert_score.score(c, r, model_type=sys.argv[3], num_layers=6); print(0)"
    ),
}


def systems_of(candidates: list[str]) -> dict[str, list[str]]:
    """Return ten systems whose texts differ but are as long: the words of each text rotated."""

    def rotated(text: str, by: int) -> str:
        words = text.split()
        by %= max(1, len(words))
        return " ".join([*words[by:], *words[:by]])

    return {f"system{k}": [rotated(text, k) for text in candidates] for k in range(SYSTEMS)}


def process_time(package: str, *arguments: object) -> tuple[float, int]:
    """Return how long a process of its own takes, and how many sequences it encoded."""
    start = time.perf_counter()
    command = [sys.executable, "-W", "ignore", "-c", WHOLE[package], *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, int(done.stdout.split()[-1])


def main() -> None:
    import bert_score
    import numpy as np
    from transformers.utils import logging

    import bsx
    from bsx.catalog.catalog import shipped
    from bsx.models.files import find

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    folder = find(shipped().model("minilm").source)
    candidates, references = (column[: arguments.segments] for column in read_pairs(WMT17))
    systems = systems_of(candidates)
    times: dict[str, list[float]] = {name: [] for name in ("bert-score", "bsx", "bsx from the cache")}
    whole: dict[str, list[float]] = {name: [] for name in ("bert-score", "bsx from the cache")}
    with tempfile.TemporaryDirectory() as home:
        theirs = bert_score.BERTScorer(model_type=str(folder), num_layers=6)
        ours = bsx.Scorer(model="minilm", layer=6)
        filling = bsx.Scorer(model="minilm", layer=6, cache=home)
        cold = filling.score_systems(systems, references)
        filling.encoders.flush()
        for name, column in zip("cr", (candidates, references), strict=True):
            (Path(home) / f"{name}.txt").write_text("".join(f"{t}\n" for t in column), encoding="utf-8")
        files = [Path(home) / "c.txt", Path(home) / "r.txt"]
        gap: float = 0.0
        for _ in range(arguments.repeats):
            scored: list[Any] = []

            def one_by_one(scored: list[Any] = scored) -> None:
                scored += [theirs.score(texts, references)[2].numpy() for texts in systems.values()]

            times["bert-score"].append(time_of(one_by_one))
            times["bsx"].append(time_of(ours.score_systems, systems, references))

            def again() -> None:
                reader = bsx.Scorer(model="minilm", layer=6, cache=home)
                warm = reader.score_systems(systems, references)
                assert reader.encoders.sequences_encoded == 0
                assert all(np.array_equal(warm[name].f1, cold[name].f1) for name in systems)

            times["bsx from the cache"].append(time_of(again))
            gap = max(gap, *(float(np.abs(cold[n].f1 - f1).max()) for n, f1 in zip(systems, scored, strict=True)))
            whole["bert-score"].append(process_time("bert-score", *files, folder)[0])
            seconds, encoded = process_time("bsx", *files, home)
            assert encoded == 0
            whole["bsx from the cache"].append(seconds)
        used = sum(file.stat().st_size for file in Path(home).rglob("*.safetensors"))
    medians = {name: statistics.median(values) for name, values in times.items()}
    processes = {name: statistics.median(values) for name, values in whole.items()}
    result = {
        "machine": machine(),
        "model": "minilm, layer 6",
        "systems": SYSTEMS,
        "segments": len(references),
        "repeats": arguments.repeats,
        "seconds": {name: round(value, 2) for name, value in medians.items()},
        "times_bert_score": {name: round(medians["bert-score"] / value, 1) for name, value in medians.items()},
        "whole_process_one_system_seconds": {name: round(value, 2) for name, value in processes.items()},
        "whole_process_times_bert_score": round(processes["bert-score"] / processes["bsx from the cache"], 1),
        "largest_f1_difference": gap,
        "cache_mib": round(used / 2**20, 1),
    }
    print(json.dumps(result, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
