"""A million pairs from Parquet to Parquet: time and peak memory, beside those of a tenth of them.

Run: python benchmarks/million.py [--sizes 100000,1000000] [--layer 0] [--home FOLDER] [--output FILE.json]

Each size is a process of its own, `bsx score --data … -o …`, on distinct pairs: WMT17 segments with a number behind
each text. The model is MiniLM cut at layer 0 (its embedding layer), so that a million pairs take minutes: how long a
deeper layer takes, benchmarks/speed.py measures; the memory of a run does not depend on it beyond the weights. The
largest run is done again, killed twice at random moments, and gone on with by --resume: its output must be the same to
the byte.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from speed import WMT17, machine, read_pairs

BATCH = 50_000
PROGRAM = """
import resource, sys, time
from bsx.cli.main import _status
start = time.perf_counter()
status = _status()
print(status, time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def write_pairs(path: Path, size: int) -> None:
    """Write distinct pairs, in row groups as other programs write them."""
    import pyarrow
    import pyarrow.parquet

    candidates, references = read_pairs(WMT17)
    schema = pyarrow.schema([("candidate", pyarrow.string()), ("reference", pyarrow.string())])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, size, BATCH):
            rows = range(start, min(start + BATCH, size))
            columns = [[f"{column[i % len(column)]} {i}" for i in rows] for column in (candidates, references)]
            writer.write_table(pyarrow.table(columns, schema=schema))


def command(data: Path, output: Path, layer: int, *more: str) -> list[str]:
    settings = ["-m", "minilm", "--layer", str(layer), "--memory", "1GB", "--device", "cpu"]
    return [sys.executable, "-c", PROGRAM, "score", *settings, "--data", str(data), "-o", str(output), *more]


def measure(data: Path, output: Path, layer: int) -> dict[str, float]:
    done = subprocess.run(command(data, output, layer), capture_output=True, text=True, check=True)
    status, seconds, mib = done.stdout.split()[-3:]
    assert status == "0", done.stderr
    return {"seconds": round(float(seconds), 1), "peak_mib": round(float(mib))}


def killed_and_resumed(data: Path, output: Path, layer: int, seconds: float, kills: int) -> list[int]:
    """Kill a run at random moments, go on with it, and return how many blocks each kill left."""
    rng = random.Random(1)  # noqa: S311 - when to kill is no secret
    left = []
    for _ in range(kills):
        process = subprocess.Popen(command(data, output, layer, "--resume"), stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 0.9) * seconds / kills)
        process.send_signal(signal.SIGKILL)
        process.wait()
        left.append(len(list(output.with_name(output.name + ".partial").glob("block-*.npz"))))
    subprocess.run(command(data, output, layer, "--resume"), stdout=subprocess.DEVNULL, check=True)
    return left


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100000,1000000")
    parser.add_argument("--layer", type=int, default=0)
    parser.add_argument(
        "--home", type=Path, help="where to keep the tables while it runs; a temporary folder unless given"
    )
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    result: dict[str, Any] = {"machine": machine(), "model": f"minilm, layer {arguments.layer}", "runs": {}}
    with tempfile.TemporaryDirectory(dir=arguments.home) as name:
        home = Path(name)
        for size in sizes:
            write_pairs(home / "pairs.parquet", size)
            run = measure(home / "pairs.parquet", home / "whole.parquet", arguments.layer)
            run["pairs_per_second"] = round(size / run["seconds"], 1)
            result["runs"][str(size)] = run
            print(size, json.dumps(run), flush=True)
        blocks = killed_and_resumed(
            home / "pairs.parquet", home / "parts.parquet", arguments.layer, run["seconds"], arguments.kills
        )
        result["killed_and_resumed"] = {
            "size": sizes[-1],
            "blocks_left_by_each_kill": blocks,
            "same_bytes": (home / "parts.parquet").read_bytes() == (home / "whole.parquet").read_bytes(),
        }
        print(json.dumps(result["killed_and_resumed"]), flush=True)
    first, last = (result["runs"][str(size)]["peak_mib"] for size in (sizes[0], sizes[-1]))
    result["peak_ratio"] = round(last / first, 3)
    result["load_average"] = [round(value, 1) for value in os.getloadavg()]
    print(json.dumps(result, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
