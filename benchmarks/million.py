"""Millions of pairs from Parquet to Parquet: time and memory, compared with those of fewer.

Run: python benchmarks/million.py [--sizes 100000,1000000] [--layer 4] [--home FOLDER] [--output FILE.json]
     python benchmarks/million.py --metrics chrf --sizes 1000000,5000000 --kills 1 --output FILE.json

Each size is a process of its own, `bsx score … -o …`, on distinct pairs: English sentences of Tatoeba with a
number behind each text. The model is MiniLM at its own layer. With --metrics, the pairs are those of WMT15 to WMT17
into English, a candidate with one of its words exchanged and a number behind the reference each time they come again.
While it runs, the resident memory of it and its workers is read every second, and so is the bar of progress: what it
says is left after a tenth is compared with what was. The largest run is done again, killed at random moments, and gone
on with by --resume: its output must be the same to the byte. OMP_NUM_THREADS says how many threads compute.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pty
import random
import re
import resource
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from cpu import read
from speed import WMT17, machine

Pairs: TypeAlias = list[tuple[str, str]]

TATOEBA = WMT17.parent.parent / "mono" / "tatoeba"
BATCH = 50_000


def tatoeba(start: int, end: int) -> Pairs:
    """Return pairs of sentences with their number."""
    column = sentences()
    return [(f"{column[i % len(column)]} {i}", f"{column[(i + 1) % len(column)]} {i}") for i in range(start, end)]


@cache
def sentences() -> list[str]:
    files = sorted(TATOEBA.glob("*.eng"))
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]


@cache
def translations() -> Pairs:
    rows = [row for year in (15, 16, 17) for row in read(year, WMT17.parent)]
    return [(row["candidate"], row["reference"]) for row in rows]


def wmt(start: int, end: int) -> Pairs:
    """Return pairs of WMT, with a word exchanged and a number from the second time on."""
    known = translations()
    pairs = []
    for i in range(start, end):
        candidate, reference = known[i % len(known)]
        if again := i // len(known):
            words, others = candidate.split(), known[(7 * i + again) % len(known)][0].split()
            words[again % len(words)] = others[again % len(others)]
            candidate, reference = " ".join(words), f"{reference} {again}"
        pairs.append((candidate, reference))
    return pairs


def write_pairs(path: Path, size: int, pairs_of: Callable[[int, int], Pairs]) -> None:
    """Write distinct pairs, in row groups as other programs write them."""
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema([("candidate", pyarrow.string()), ("reference", pyarrow.string())])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, size, BATCH):
            columns = [list(column) for column in zip(*pairs_of(start, min(start + BATCH, size)), strict=True)]
            writer.write_table(pyarrow.table(columns, schema=schema))


def command(data: Path, output: Path, what: list[str], *more: str) -> list[str]:
    return [sys.executable, "-m", "bsx", "score", *what, "--encoder", "device=cpu", str(data), "-o", str(output), *more]


def resident(process: int) -> float:
    """Return the resident memory of a process and its children in MiB; NaN once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        tasks = Path(f"/proc/{process}/task").iterdir()
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return float("nan")
    own = next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), float("nan"))
    return own + sum(memory for child in children if (memory := resident(child)) == memory)


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


BAR = re.compile(r"scoring[^/]*?(\d+)/(\d+) +(\d+:\d\d:\d\d)")
STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def estimate(bar: str) -> float | None:
    """Return the seconds that a bar says are left of scoring, from a tenth of it on; None before."""
    found = BAR.findall(STYLE.sub("", bar))
    if not found or int(found[-1][0]) < int(found[-1][1]) / 10:
        return None
    return float(sum(int(part) * 60**i for i, part in enumerate(reversed(found[-1][2].split(":")))))


def measure(data: Path, output: Path, what: list[str]) -> dict[str, Any]:
    """Run to the end; return seconds, CPU seconds and memory: the peak, and the median of each tenth of the run."""
    start, before, memory = time.perf_counter(), cpu_of_children(), []
    watched, terminal = pty.openpty()  # bars are drawn in terminals only
    process = subprocess.Popen(command(data, output, what), stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    said, left, bar = 0.0, None, ""
    while process.poll() is None:
        if (now := resident(process.pid)) == now:
            memory.append(now)
        time.sleep(1)
        while select.select([watched], [], [], 0)[0]:
            try:
                bar = (bar + os.read(watched, 65536).decode("utf-8", "replace"))[-1000:]
            except OSError:  # its end, of a terminal
                break
        if left is None and (left := estimate(bar)) is not None:
            said = time.perf_counter()
    assert process.returncode == 0
    os.close(watched)
    tenths = [memory[len(memory) * i // 10 : len(memory) * (i + 1) // 10] for i in range(10)]
    return {
        "left_after_a_tenth": None if left is None else {"said": left, "was": round(time.perf_counter() - said, 1)},
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(cpu_of_children() - before, 1),
        "peak_mib": round(max(memory)),
        "mib_by_tenth": [round(statistics.median(part)) for part in tenths if part],
    }


def killed_and_resumed(data: Path, output: Path, what: list[str], seconds: float, kills: int) -> list[int]:
    """Kill a run at random moments, go on with it, and return how many blocks each kill left."""
    rng = random.Random(1)  # noqa: S311 - when to kill is no secret
    left = []
    for _ in range(kills):
        process = subprocess.Popen(command(data, output, what, "--resume"), stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.2, 1.0) * seconds / kills)
        process.send_signal(signal.SIGKILL)
        process.wait()
        left.append(len(list(output.with_name(output.name + ".partial").glob("block-*.npz"))))
    subprocess.run(command(data, output, what, "--resume"), stdout=subprocess.DEVNULL, check=True)
    return left


def digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100000,1000000")
    parser.add_argument("--layer", type=int, default=4)
    parser.add_argument("--metrics", help="metrics to score with, in place of BERTScore with MiniLM")
    parser.add_argument(
        "--home", type=Path, help="where to keep the tables while it runs; a temporary folder unless given"
    )
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    texts = WMT17.parent if arguments.metrics else TATOEBA
    if not texts.is_dir():
        raise SystemExit(f"{texts}: not there; its sentences are what is scored")
    what = ["-m", "minilm", "--layer", str(arguments.layer), "--encoder", "memory=1GB"]
    if arguments.metrics:
        what = ["--metrics", arguments.metrics]
    sizes = [int(size) for size in arguments.sizes.split(",")]
    result: dict[str, Any] = {
        "machine": machine(),
        "model": arguments.metrics or f"minilm, layer {arguments.layer}",
        "runs": {},
    }
    with tempfile.TemporaryDirectory(dir=arguments.home) as name:
        home = Path(name)
        for size in sizes:
            write_pairs(home / "pairs.parquet", size, wmt if arguments.metrics else tatoeba)
            run = measure(home / "pairs.parquet", home / "whole.parquet", what)
            run["pairs_per_second"] = round(size / run["seconds"], 1)
            result["runs"][str(size)] = run
            print(size, json.dumps(run), flush=True)
            if arguments.output:  # what is known if it is stopped before the end
                arguments.output.write_text(json.dumps(result, indent=2) + "\n")
        blocks = killed_and_resumed(
            home / "pairs.parquet", home / "parts.parquet", what, run["seconds"], arguments.kills
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
