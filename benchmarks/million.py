"""A million pairs from Parquet to Parquet: time and memory, beside those of a tenth of them.

Run: python benchmarks/million.py [--sizes 100000,1000000] [--layer 4] [--home FOLDER] [--output FILE.json]

Each size is a process of its own, `bsx score … -o …`, on distinct pairs: English sentences of Tatoeba with a
number behind each text. The model is MiniLM at its own layer. While it runs, its resident memory is read every
second. The largest run is done again, killed five times at random moments, and gone on with by --resume: its output
must be the same to the byte. OMP_NUM_THREADS says how many threads compute.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from speed import WMT17, machine

TATOEBA = WMT17.parent.parent / "mono" / "tatoeba"
BATCH = 50_000


def write_pairs(path: Path, size: int) -> None:
    """Write distinct pairs, in row groups as other programs write them."""
    import pyarrow
    import pyarrow.parquet

    files = sorted(TATOEBA.glob("*.eng"))
    sentences = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    columns_of = (sentences, sentences[1:] + sentences[:1])
    schema = pyarrow.schema([("candidate", pyarrow.string()), ("reference", pyarrow.string())])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, size, BATCH):
            rows = range(start, min(start + BATCH, size))
            columns = [[f"{column[i % len(column)]} {i}" for i in rows] for column in columns_of]
            writer.write_table(pyarrow.table(columns, schema=schema))


def command(data: Path, output: Path, layer: int, *more: str) -> list[str]:
    settings = ["-m", "minilm", "--layer", str(layer), "--encoder", "memory=1GB", "--device", "cpu"]
    return [sys.executable, "-m", "bsx", "score", *settings, str(data), "-o", str(output), *more]


def resident(process: int) -> float:
    """Return the resident memory of a process in MiB; NaN once it has ended."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), float("nan"))


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(data: Path, output: Path, layer: int) -> dict[str, Any]:
    """Run to the end; return seconds, CPU seconds and memory: the peak, and the median of each tenth of the run."""
    start, before, memory = time.perf_counter(), cpu_of_children(), []
    process = subprocess.Popen(command(data, output, layer), stdout=subprocess.DEVNULL)
    while process.poll() is None:
        if (now := resident(process.pid)) == now:
            memory.append(now)
        time.sleep(1)
    assert process.returncode == 0
    tenths = [memory[len(memory) * i // 10 : len(memory) * (i + 1) // 10] for i in range(10)]
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(cpu_of_children() - before, 1),
        "peak_mib": round(max(memory)),
        "mib_by_tenth": [round(statistics.median(part)) for part in tenths if part],
    }


def killed_and_resumed(data: Path, output: Path, layer: int, seconds: float, kills: int) -> list[int]:
    """Kill a run at random moments, go on with it, and return how many blocks each kill left."""
    rng = random.Random(1)  # noqa: S311 - when to kill is no secret
    left = []
    for _ in range(kills):
        process = subprocess.Popen(command(data, output, layer, "--resume"), stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.2, 1.0) * seconds / kills)
        process.send_signal(signal.SIGKILL)
        process.wait()
        left.append(len(list(output.with_name(output.name + ".partial").glob("block-*.npz"))))
    subprocess.run(command(data, output, layer, "--resume"), stdout=subprocess.DEVNULL, check=True)
    return left


def digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100000,1000000")
    parser.add_argument("--layer", type=int, default=4)
    parser.add_argument(
        "--home", type=Path, help="where to keep the tables while it runs; a temporary folder unless given"
    )
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    if not TATOEBA.is_dir():
        raise SystemExit(f"{TATOEBA}: not there; its English sentences are what is scored")
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
            "same_bytes": digest(home / "parts.parquet") == digest(home / "whole.parquet"),
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
