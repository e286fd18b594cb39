"""How much faster two workers of a Ray cluster on this machine score than one.

Run: python benchmarks/ray_scaling.py [--workers 1,2] [--sizes 600,3000] [--repeats 3] [--output FILE.json]

`bsx.distributed.score_dataset` scores distinct WMT17 pairs with BERTScore (MiniLM, layer 6) by workers of one core and
one thread each. Starting workers and loading models takes as long for few pairs as for many, so each number of workers
scores two sizes, and its rate is the difference of the pairs over the difference of the times. Numbers of workers take
turns; figures are medians. Efficiency is the rate of n workers over n times the rate of one. There must be a core for
each worker and little else to do on the machine: reading, and what Ray itself does, run beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
from speed import WMT17, machine, read_pairs


def seconds(ray: Any, pairs: list[dict[str, str]], workers: int) -> float:
    """Return how long a data set takes from its rows to its scores, workers' start included."""
    from bsx.distributed import score_dataset

    dataset = ray.data.from_items(pairs, override_num_blocks=8 * workers).materialize()
    start = time.perf_counter()
    scored = score_dataset(
        dataset, "bertscore:layer=6", model="minilm", device="cpu", workers=workers, cpus=1, batch_rows=64
    )
    rows = scored.dataset.materialize().count()
    assert rows == len(pairs), rows
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--sizes", default="600,3000")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    numbers = [int(number) for number in arguments.workers.split(",")]
    few, many = (int(size) for size in arguments.sizes.split(","))
    import ray

    from bsx.distributed import connect

    connect(None, max(numbers))
    ray.data.DataContext.get_current().enable_progress_bars = False
    columns = read_pairs(WMT17)
    pairs = [
        {"candidate": f"{c} {i // len(columns[0])}", "reference": f"{r} {i // len(columns[0])}"}
        for i in range(many)
        for c, r in [(columns[0][i % len(columns[0])], columns[1][i % len(columns[0])])]
    ]
    rates: dict[int, list[float]] = {number: [] for number in numbers}
    for _ in range(arguments.repeats):
        for number in numbers:
            short = seconds(ray, pairs[:few], number)
            long = seconds(ray, pairs, number)
            rates[number].append((many - few) / (long - short))
            print(f"{number} workers: {few} pairs {short:.1f} s, {many} pairs {long:.1f} s", flush=True)
    ray.shutdown()
    medians = {number: statistics.median(values) for number, values in rates.items()}
    result = {
        "machine": {**machine(), "threads": 1, "ray": ray.__version__},
        "model": "minilm, layer 6",
        "sizes": [few, many],
        "repeats": arguments.repeats,
        "pairs_per_second": {str(number): round(rate, 1) for number, rate in medians.items()},
        "efficiency": {str(n): round(rate / n * numbers[0] / medians[numbers[0]], 3) for n, rate in medians.items()},
    }
    print(json.dumps(result, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
