"""How much faster two workers of a Ray cluster on this machine score than one.

Run: python benchmarks/ray_scaling.py [--workers 1,2] [--pairs 2400] [--repeats 2] [--output FILE.json]

`bsx.cluster.dataset.score_dataset` scores distinct WMT17 pairs with BERTScore (MiniLM, layer 6) by workers of one
core and one thread each. Workers take a while to start and to load the model, whatever they score, so the rate is
that between the fifth and the ninth tenth of the rows as they arrive. Numbers of workers take turns; figures are
medians. Efficiency is the rate of n workers over n times the rate of one. There must be a core for each worker and
little else to do on the machine: reading, and what Ray itself does, run beside them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
from speed import WMT17, machine, read_pairs

BATCH = 100  # rows


def rate(ray: Any, pairs: list[dict[str, str]], workers: int) -> float:
    """Return the pairs a second that arrive once all workers are at work."""
    from bsx.cluster.dataset import score_dataset

    dataset = ray.data.from_items(pairs, override_num_blocks=-(-len(pairs) // BATCH)).materialize()
    scored = score_dataset(
        dataset, "bertscore:layer=6", model="minilm", device="cpu", workers=workers, cpus=1, batch_rows=BATCH
    )
    arrived, marks, rows = [0.5, 0.9], [], 0
    for batch in scored.dataset.iter_batches(batch_size=None, prefetch_batches=0):
        rows += len(batch["candidate"])
        if len(marks) < len(arrived) and rows >= arrived[len(marks)] * len(pairs):
            marks.append((rows, time.perf_counter()))
    assert rows == len(pairs), rows
    (first, start), (last, end) = marks
    return (last - first) / (end - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--pairs", type=int, default=2400)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    numbers = [int(number) for number in arguments.workers.split(",")]
    import ray

    from bsx.cluster.dataset import connect

    connect(None, max(numbers))
    ray.data.DataContext.get_current().enable_progress_bars = False
    columns = read_pairs(WMT17)
    texts = zip(*(itertools.cycle(column) for column in columns), strict=False)
    # Distinct texts: a worker encodes one that it has met before only once.
    pairs = [
        {"candidate": f"{c} {i}", "reference": f"{r} {i}"}
        for i, (c, r) in zip(range(arguments.pairs), texts, strict=False)
    ]
    rates: dict[int, list[float]] = {number: [] for number in numbers}
    for _ in range(arguments.repeats):
        for number in numbers:
            rates[number].append(rate(ray, pairs, number))
            print(f"{number} workers: {rates[number][-1]:.1f} pairs a second", flush=True)
    ray.shutdown()
    medians = {number: statistics.median(values) for number, values in rates.items()}
    result = {
        "machine": {**machine(), "threads": 1, "ray": ray.__version__},
        "model": "minilm, layer 6",
        "pairs": arguments.pairs,
        "repeats": arguments.repeats,
        "pairs_per_second": {str(number): round(value, 1) for number, value in medians.items()},
        "efficiency": {str(n): round(value / n * numbers[0] / medians[numbers[0]], 3) for n, value in medians.items()},
    }
    print(json.dumps(result, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
